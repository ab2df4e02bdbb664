#include "tests/fuzz.d/targets.h"

#include "lib/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct dfg_fuzz_target dfg_fuzz_targets[] = {
	{.name = "graphdef", .examine = dfg_fuzz_graphdef, .is_protobuf = true},
	{.name = "pbtxt", .examine = dfg_fuzz_pbtxt},
	{.name = "language", .examine = dfg_fuzz_language},
	{.name = "npy", .examine = dfg_fuzz_npy},
	{.name = "npz", .examine = dfg_fuzz_npz, .repair = dfg_fuzz_repair_npz},
	{.name = "safetensors", .examine = dfg_fuzz_safetensors},
	{.name = "csv", .examine = dfg_fuzz_csv},
	{.name = "idx", .examine = dfg_fuzz_idx},
	{.name = "netcdf", .examine = dfg_fuzz_netcdf},
	{.name = "json", .examine = dfg_fuzz_json},
	{.name = "hosts", .examine = dfg_fuzz_hosts},
	{.name = "ssh_config", .examine = dfg_fuzz_ssh_config},
	{.name = "plan", .examine = dfg_fuzz_plan},
	{.name = "checkpoint", .examine = dfg_fuzz_checkpoint, .repair = dfg_fuzz_repair_checkpoint},
	{.name = "bundle", .examine = dfg_fuzz_bundle, .repair = dfg_fuzz_repair_bundle},
	{.name = "frames", .examine = dfg_fuzz_frames, .repair = dfg_fuzz_repair_frames},
	{.name = "packets", .examine = dfg_fuzz_packets},
	{.name = "http1", .examine = dfg_fuzz_http1},
	{.name = "kserve", .examine = dfg_fuzz_kserve, .is_protobuf = true},
	{.name = "predict", .examine = dfg_fuzz_predict, .is_protobuf = true},
	{0},
};

enum { MEMORY = 512 << 20 };

const struct dfg_fuzz_target *dfg_fuzz_target_find(const char *name)
{
	for (const struct dfg_fuzz_target *target = dfg_fuzz_targets; target->name; target++)
		if (!strcmp(target->name, name))
			return target;
	return NULL;
}

static struct dfg_mem_limit limit;
static char folder[256];

static void remove_folder(void)
{
	char command[sizeof folder + 16];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	if (system(command))
		perror(folder);
}

void dfg_fuzz_begin(void)
{
	const char *parent = getenv("TMPDIR");
	snprintf(folder, sizeof folder, "%s/dfg-fuzz-XXXXXX",
		parent                     ? parent
		: access("/dev/shm", W_OK) ? "/tmp"
								   : "/dev/shm");
	dfg_fuzz_require(mkdtemp(folder), "a folder for files can be made");
	atexit(remove_folder);
	dfg_mem_limit_init(&limit, dfg_mem, MEMORY);
	dfg_mem = &limit.base;
}

void dfg_fuzz_require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: it does not hold that %s\n", what);
	abort();
}

void dfg_fuzz_end(struct dfg_err *err)
{
	for (const struct dfg_err *e = err; e; e = e->next)
		if (e->code == DFG_BUG) {
			fprintf(stderr, "fuzz: %s:%d: %s\n", e->file, e->line, e->text);
			abort();
		}
	dfg_err_free(err);
}

const char *dfg_fuzz_folder(void)
{
	return folder;
}

const char *dfg_fuzz_file(const char *name, const uint8_t *bytes, size_t size)
{
	static char path[sizeof folder + 128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	dfg_fuzz_require(file && fwrite(bytes, 1, size, file) == size && !fclose(file), "a file can be written");
	return path;
}

struct dfg_fuzz_parts dfg_fuzz_split(const uint8_t *bytes, size_t size)
{
	const size_t head = size < 2 ? size : 2;
	size_t first = head < 2 ? 0 : bytes[0] | (size_t)bytes[1] << 8;
	if (first > size - head)
		first = size - head;
	return (struct dfg_fuzz_parts){
		.first = bytes + head,
		.second = bytes + head + first,
		.first_size = first,
		.second_size = size - head - first,
	};
}
