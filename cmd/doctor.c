#define _GNU_SOURCE
#include "cmd/cmd.h"

#include "formats/json.h"
#include "kernels/blas.h"
#include "lib/base/pool.h"
#include "lib/graph/op.h"

#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct dfg_opt options[] = {
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{0},
};

/* What was found, and what is wrong with it; NULL: nothing. */
struct finding {
	const char *what;
	char value[160];
	const char *wrong;
};

/* The widest vector code that the kernels have for this processor. */
static void look_at_processor(struct finding *f)
{
#if defined __x86_64__
	__builtin_cpu_init();
	bool wide = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
	snprintf(f->value, sizeof f->value, "%s", wide ? "x86-64 with AVX-512" : avx2 ? "x86-64 with AVX2" : "x86-64");
	f->wrong = avx2 ? NULL : "no AVX2: kernels run at a quarter of their speed";
#else
	snprintf(f->value, sizeof f->value, "no x86-64");
	f->wrong = "kernels are plain C here";
#endif
}

static void look_at_threads(struct finding *f)
{
	int allowed = dfg_threads_allowed();
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	snprintf(f->value, sizeof f->value, "%d of %ld processors", allowed, all);
}

static void look_at_memory(struct finding *f)
{
	double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	snprintf(f->value, sizeof f->value, "%.1f GiB", bytes / (1 << 30));
}

static void look_at_huge_pages(struct finding *f)
{
	static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
	FILE *file = fopen(path, "r");
	char line[80] = "unknown";
	if (file && !fgets(line, sizeof line, file))
		strncpy(line, "unknown", sizeof line - 1);
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = '\0';
	snprintf(f->value, sizeof f->value, "%s", line);
	f->wrong = strstr(line, "[never]") ? "large tensors pay for each small page" : NULL;
}

static void look_at_blas(struct finding *f)
{
	const char *name = dfg_blas_name();
	snprintf(f->value, sizeof f->value, "%s", name);
	f->wrong = strstr(name, "OpenBLAS") ? NULL : "large products run on plain loops: install libopenblas0-pthread";
}

static void look_at_files(struct finding *f)
{
	struct rlimit limit = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(f->value, sizeof f->value, "%llu open files", (unsigned long long)limit.rlim_cur);
	f->wrong = limit.rlim_cur < 64 ? "too few to run" : NULL;
}

static void look_at_protobuf(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "protobuf-c %s", protobuf_c_version());
}

static void look_at_ops(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "%zu", dfg_ops_count);
}

static const struct {
	const char *what;
	void (*look)(struct finding *f);
} looks[] = {
	{"processor", look_at_processor},
	{"threads", look_at_threads},
	{"memory", look_at_memory},
	{"huge pages", look_at_huge_pages},
	{"limits", look_at_files},
	{"matrix products", look_at_blas},
	{"messages", look_at_protobuf},
	{"operations", look_at_ops},
};

static struct dfg_err *print_json(const struct finding *finding, size_t count)
{
	struct dfg_json_out out = {0};
	dfg_json_open(&out, '{');
	for (size_t i = 0; i < count; i++) {
		dfg_json_key(&out, finding[i].what), dfg_json_open(&out, '{');
		dfg_json_key(&out, "value"), dfg_json_string(&out, finding[i].value);
		dfg_json_key(&out, "wrong");
		if (finding[i].wrong)
			dfg_json_string(&out, finding[i].wrong);
		else
			dfg_json_null(&out);
		dfg_json_close(&out, '}');
	}
	dfg_json_close(&out, '}');
	struct dfg_err *err = dfg_text_check(&out.text);
	if (!err)
		puts(out.text.s);
	dfg_text_release(&out.text);
	return err;
}

static struct dfg_err *doctor(char **operands, int *out_status)
{
	(void)operands;
	enum { COUNT = sizeof looks / sizeof *looks };
	struct finding finding[COUNT] = {0};
	for (size_t i = 0; i < COUNT; i++) {
		finding[i].what = looks[i].what;
		looks[i].look(&finding[i]);
		*out_status |= finding[i].wrong != NULL;
	}
	if (dfg_globals.json)
		return print_json(finding, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		printf("%-16s %s%s%s\n", finding[i].what, finding[i].value, finding[i].wrong ? " -- " : "",
			finding[i].wrong ? finding[i].wrong : "");
	return NULL;
}

const struct dfg_cmd dfg_cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "say what this machine can do, and what is wrong with it",
	.options = options,
	.run = doctor,
};
