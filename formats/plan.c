#include "formats/plan.h"

#include "formats/checkpoint.h"
#include "lib/base/folder.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANIFEST_MOST = 1 << 30 };
static const char manifest_name[] = "manifest.json", begins[] = "{\"format\":\"dfg plan\",";

/* Such as "manifest.json", "w0.pb", "w17.pb". */
bool dfg_plan_folder_has(const char *name)
{
	size_t digits = name[0] == 'w' ? strspn(name + 1, "0123456789") : 0;
	return !strcmp(name, manifest_name) || (digits && !strcmp(name + 1 + digits, ".pb"));
}

bool dfg_plan_folder_is(const char *path)
{
	return dfg_folder_holds(path, "w0.pb") || (dfg_folder_holds(path, manifest_name) && !dfg_checkpoint_is(path));
}

/* Joins "PLAN/NAME" with one slash. */
static const char *path_in(const char *path, const char *name, struct dfg_arena *arena)
{
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	return dfg_arena_print(arena, "%.*s/%s", (int)length, path, name);
}

static struct dfg_err *read_manifest(const char *path, struct dfg_plan_folder *plan)
{
	struct dfg_blob blob;
	const char *name = path_in(path, manifest_name, &plan->arena);
	if (!name)
		return dfg_no_memory("the plan");
	if (!dfg_folder_holds(path, manifest_name) && dfg_folder_holds(path, "w0.pb"))
		return DFG_ERR(DFG_NO_INPUT, "%s: has a part of a plan (w0.pb), but no manifest.json", path);
	DFG_TRY(dfg_blob_open_plain(name, MANIFEST_MOST, &blob));
	struct dfg_err *err = dfg_err_note(dfg_plan_folder_read(blob.bytes, blob.size, plan), "%s", name);
	dfg_blob_close(&blob);
	return err;
}

struct dfg_err *dfg_plan_folder_blocks(const char *path, uint32_t *out_blocks)
{
	struct dfg_plan_folder plan = {0};
	struct dfg_err *err = read_manifest(path, &plan);
	*out_blocks = plan.blocks;
	dfg_plan_folder_close(&plan);
	return err;
}

struct dfg_err *dfg_plan_folder_launch(const char *path, struct dfg_plan_launch *out_launch)
{
	struct dfg_plan_folder plan = {0};
	struct dfg_err *err = read_manifest(path, &plan);
	*out_launch = plan.launch;
	dfg_plan_folder_close(&plan);
	return err;
}

struct dfg_err *dfg_plan_folder_size(const char *path, uint32_t *out_workers, uint32_t *out_shards)
{
	static const char server[] = "/job:ps/";
	struct dfg_plan_folder plan = {0};
	struct dfg_err *err = read_manifest(path, &plan);
	*out_workers = 0;
	*out_shards = plan.shards;
	for (uint32_t i = 0; i < plan.parts.parts && !err; i++)
		*out_workers += strncmp(plan.device[i], server, sizeof server - 1) != 0;
	dfg_plan_folder_close(&plan);
	return err;
}

static struct dfg_err *open_part(const char *path, struct dfg_plan_folder *plan, uint32_t i)
{
	char name[24];
	snprintf(name, sizeof name, "w%u.pb", i);
	plan->parts.part[i].source = path_in(path, name, &plan->arena);
	if (!plan->parts.part[i].source)
		return dfg_no_memory("the plan");
	return dfg_blob_open_plain(plan->parts.part[i].source, 0, &plan->blob[i]);
}

struct hashing {
	const struct dfg_blob *blob;
	uint8_t (*digest)[DFG_SHA256];
};

static void hash_one(void *arg, int64_t i)
{
	const struct hashing *hashing = arg;
	struct dfg_sha256 sha;
	dfg_sha256_init(&sha);
	dfg_sha256_add(&sha, hashing->blob[i].bytes, hashing->blob[i].size);
	dfg_sha256_end(&sha, hashing->digest[i]);
}

/* Checks all hashes first, on all processors, before any content is parsed. */
static struct dfg_err *hash_parts(struct dfg_plan_folder *plan)
{
	struct dfg_pool *pool;
	uint32_t parts = plan->parts.parts;
	struct hashing hashing = {plan->blob, dfg_arena_zeros(&plan->arena, parts, sizeof *hashing.digest)};
	if (!hashing.digest)
		return dfg_no_memory("the plan");
	DFG_TRY(dfg_pool_new(0, &pool));
	dfg_pool_parallel(pool, parts, hash_one, &hashing);
	dfg_pool_free(pool);
	for (uint32_t i = 0; i < parts; i++)
		if (memcmp(hashing.digest[i], plan->digest[i], DFG_SHA256) != 0)
			return DFG_ERR(DFG_DATA,
				"%s: differs from the file that manifest.json lists: its sha256 is %s, expected %s",
				plan->parts.part[i].source, dfg_sha256_words(hashing.digest[i]).s, dfg_sha256_words(plan->digest[i]).s);
	return NULL;
}

static struct dfg_err *read_part(struct dfg_plan_folder *plan, uint32_t i, const struct dfg_graph_options *options)
{
	const struct dfg_blob *blob = &plan->blob[i];
	struct dfg_graph *graph = &plan->parts.part[i];
	const char *source = graph->source;
	struct dfg_err *err = dfg_graphdef_read(blob->bytes, blob->size, options, &plan->arena, graph);
	graph->source = source;
	if (!err && graph->count != plan->nodes[i])
		err = DFG_ERR(
			DFG_DATA, "has %u nodes, but manifest.json says %llu", graph->count, (unsigned long long)plan->nodes[i]);
	return dfg_err_note(err, "%s", source);
}

static uint32_t count_buckets(const struct dfg_plan_folder *plan)
{
	uint32_t buckets = 0;
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		for (uint32_t n = 0; n < plan->parts.part[i].count; n++) {
			const struct dfg_op *op = plan->parts.part[i].node[n].op;
			buckets += op && op->flags & DFG_CONTRIBUTES;
		}
	return buckets;
}

/* Notes files that look like parts but are not listed; they may be of another plan. */
struct noting {
	const struct dfg_plan_folder *plan;
	const struct dfg_notes *notes;
};

static struct dfg_err *note_extra(void *arg, const char *name)
{
	const struct noting *noting = arg;
	char words[300];
	bool is_named = *name != 'w' || strtoull(name + 1, NULL, 10) < noting->plan->parts.parts;
	if (!dfg_plan_folder_has(name) || is_named)
		return NULL;
	snprintf(words, sizeof words, "'%.200s' is not part of this plan: manifest.json does not list it", name);
	noting->notes->note(noting->notes->arg, words);
	return NULL;
}

static struct dfg_err *check_all(const char *path, const struct dfg_graph_options *options, struct dfg_faults *faults,
	const struct dfg_plan_folder *plan)
{
	struct noting noting = {plan, options ? &options->notes : NULL};
	struct dfg_faults first = {.left = 1};
	if (noting.notes && noting.notes->note)
		DFG_TRY(dfg_folder_each(path, note_extra, &noting));
	dfg_plan_folder_check(plan, faults ? faults : &first);
	return first.err;
}

struct dfg_err *dfg_plan_folder_open(const char *path, const struct dfg_graph_options *options,
	struct dfg_faults *faults, struct dfg_plan_folder *out_plan)
{
	*out_plan = (struct dfg_plan_folder){.device = NULL};
	struct dfg_err *err = read_manifest(path, out_plan);
	for (uint32_t i = 0; !err && i < out_plan->parts.parts; i++)
		err = open_part(path, out_plan, i);
	if (!err)
		err = hash_parts(out_plan);
	for (uint32_t i = 0; !err && i < out_plan->parts.parts; i++)
		err = read_part(out_plan, i, options);
	if (!err && count_buckets(out_plan) != out_plan->buckets)
		err = DFG_ERR(DFG_DATA, "%s: the parts have %u buckets of gradients, but manifest.json says %u", path,
			count_buckets(out_plan), out_plan->buckets);
	if (!err)
		err = check_all(path, options, faults, out_plan);
	if (err)
		dfg_plan_folder_close(out_plan);
	return err;
}

void dfg_plan_folder_close(struct dfg_plan_folder *plan)
{
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		dfg_blob_close(&plan->blob[i]);
	dfg_parts_release(&plan->parts);
	dfg_arena_release(&plan->arena);
	*plan = (struct dfg_plan_folder){.device = NULL};
}

struct dfg_err *dfg_plan_folder_join(struct dfg_plan_folder *plan, struct dfg_graph *out_graph)
{
	const struct dfg_graph **part = dfg_arena_zeros(&plan->arena, plan->parts.parts, sizeof *part);
	if (!part)
		return dfg_no_memory("the plan");
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		part[i] = &plan->parts.part[i];
	return dfg_parts_join(part, plan->parts.parts, &plan->arena, out_graph);
}

static struct dfg_err *see_one(void *any, const char *name)
{
	(void)name;
	*(bool *)any = true;
	return NULL;
}

/* The folder will be replaced, so it must be a plan or not exist; its file names must be those of a plan. */
static struct dfg_err *check_place(const struct dfg_folder *folder, struct dfg_arena *arena)
{
	bool any = false, is = false;
	struct dfg_blob blob = {0};
	const char *manifest = path_in(folder->path, manifest_name, arena);
	if (!manifest)
		return dfg_no_memory("the plan");
	if (folder->exists)
		DFG_TRY(dfg_folder_each(folder->path, see_one, &any));
	if (!any)
		return NULL;
	if (dfg_folder_holds(folder->path, manifest_name)) {
		DFG_TRY(dfg_blob_open(manifest, 0, &blob));
		is = blob.size >= sizeof begins - 1 && !memcmp(blob.bytes, begins, sizeof begins - 1);
		dfg_blob_close(&blob);
	}
	return is ? NULL : DFG_ERR(DFG_NO_OUTPUT, "%s: is not a plan, and is not replaced", folder->path);
}

/* Number of parts written concurrently: one is encoded while another is synced. */
enum { GROUP = 16 };
struct writing {
	const struct dfg_graph *part;
	struct dfg_out out[GROUP];
	struct dfg_sha256 sha[GROUP];
	struct dfg_err *err[GROUP];
};

static void write_one(void *arg, int64_t i)
{
	struct writing *writing = arg;
	dfg_sha256_init(&writing->sha[i]);
	writing->out[i].sha = &writing->sha[i];
	writing->err[i] = dfg_graphdef_write(&writing->part[i], &writing->out[i]);
	if (!writing->err[i])
		writing->err[i] = dfg_out_commit(&writing->out[i]);
}

static struct dfg_err *open_group(struct dfg_folder *folder, const struct dfg_plan_folder *plan, uint32_t first,
	uint32_t count, struct writing *writing)
{
	writing->part = &plan->parts.part[first];
	for (uint32_t i = 0; i < count; i++) {
		char name[24];
		const char *path;
		snprintf(name, sizeof name, "w%u.pb", first + i);
		DFG_TRY(dfg_folder_file(folder, name, &path));
		DFG_TRY(dfg_out_open(path, false, &writing->out[i]));
	}
	return NULL;
}

static struct dfg_err *write_group(
	struct dfg_folder *folder, struct dfg_plan_folder *plan, uint32_t first, uint32_t count, struct dfg_pool *pool)
{
	struct writing writing = {.part = NULL};
	struct dfg_err *err = open_group(folder, plan, first, count, &writing);
	if (!err)
		dfg_pool_parallel(pool, count, write_one, &writing);
	for (uint32_t i = 0; i < count; i++)
		err = dfg_err_join(err, writing.err[i]);
	for (uint32_t i = 0; i < count && !err; i++)
		dfg_sha256_end(&writing.sha[i], plan->digest[first + i]);
	for (uint32_t i = 0; i < count; i++)
		dfg_out_release(&writing.out[i]);
	return err;
}

static struct dfg_err *write_parts(struct dfg_folder *folder, struct dfg_plan_folder *plan)
{
	struct dfg_pool *pool;
	struct dfg_err *err = NULL;
	uint32_t parts = plan->parts.parts, count;
	DFG_TRY(dfg_pool_new(0, &pool));
	for (uint32_t first = 0; first < parts && !err; first += count) {
		count = parts - first < GROUP ? parts - first : GROUP;
		err = write_group(folder, plan, first, count, pool);
	}
	dfg_pool_free(pool);
	return err;
}

static struct dfg_err *write_manifest(struct dfg_folder *folder, const struct dfg_plan_folder *plan)
{
	struct dfg_out out;
	const char *path;
	DFG_TRY(dfg_folder_file(folder, manifest_name, &path));
	DFG_TRY(dfg_out_open(path, false, &out));
	struct dfg_err *err = dfg_plan_folder_print(plan, &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

static struct dfg_err *write_all(struct dfg_folder *folder, struct dfg_plan_folder *plan)
{
	uint32_t parts = plan->parts.parts;
	DFG_TRY(check_place(folder, &plan->arena));
	plan->digest = dfg_arena_zeros(&plan->arena, parts, sizeof *plan->digest);
	plan->nodes = dfg_arena_zeros(&plan->arena, parts, sizeof *plan->nodes);
	if (!plan->digest || !plan->nodes)
		return dfg_no_memory("the plan");
	for (uint32_t i = 0; i < parts; i++)
		plan->nodes[i] = plan->parts.part[i].count;
	plan->buckets = count_buckets(plan);
	DFG_TRY(write_parts(folder, plan));
	DFG_TRY(write_manifest(folder, plan));
	return dfg_folder_commit(folder);
}

struct dfg_err *dfg_plan_folder_save(const char *path, bool if_changed, const struct dfg_parts *parts,
	const char *const *device, uint32_t shards, uint32_t blocks, const struct dfg_plan_launch *launch)
{
	struct dfg_plan_folder plan = {
		.parts = *parts, .device = (const char **)device, .shards = shards, .blocks = blocks};
	struct dfg_folder folder;
	if (launch)
		plan.launch = *launch;
	DFG_TRY(dfg_folder_open(path, if_changed, dfg_plan_folder_has, &folder));
	struct dfg_err *err = dfg_folder_end(&folder, write_all(&folder, &plan));
	dfg_arena_release(&plan.arena);
	return err;
}
