#include "app/test_case.h"
#include "app/test_record.h"

#include "app/distributed.h"
#include "cmd/cmd.h"
#include "cmd/junit.h"
#include "cmd/launch_table.h"
#include "cmd/remat.h"
#include "cmd/ranks.h"
#include "cmd/shared_options.h"
#include "lib/base/io.h"
#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "lib/base/text.h"

#include <errno.h>
#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct dfg_words_list tags;
static const char *junit_path;
static struct dfg_test_options test_options;
static struct dfg_launch_table launch_table;
static struct dfg_devices devices;
static struct dfg_arena devices_arena;

static const char *record_path;
static struct dfg_run_options record_options = DFG_RUN_DEFAULTS;
static struct dfg_test_record recording; /* its tolerances */

/* Options that have an effect only with --record. */
static const struct dfg_opt record_rows[] = {
	{"feed", .takes = "NAME=VALUE", .list = &record_options.feed,
		.help = "With --record: give tensor NAME a value, as for dfg run."},
	{"fetch", 'f', .takes = "NAME", .list = &record_options.fetch,
		.help = "With --record: expect tensor NAME; may be a list with commas (the outputs that G declares)."},
	{"target", .takes = "NODE", .list = &record_options.target, .help = "With --record: run NODE for its effect."},
	{"load", .takes = "SRC", .list = &record_options.load,
		.help = "With --record: set the variables from a checkpoint or array file."},
	{"init", .takes = "NODE", .text = &record_options.init,
		.help = "With --record: run NODE first to set the variables."},
	{"rtol", .takes = "R", .real = &recording.rtol,
		.help = "With --record: let floats differ by R times the expected magnitude (0)."},
	{"atol", .takes = "A", .real = &recording.atol, .help = "With --record: let floats differ by A (0)."},
	{0},
};

static const struct dfg_opt options[] = {
	{"tag", .takes = "PATTERN", .list = &tags, .help = "Run only cases with a tag that matches PATTERN."},
	{"junit", .takes = "FILE", .text = &junit_path,
		.help = "Also write the results to FILE, in the XML form of JUnit."},
	{"record", .takes = "DIR", .text = &record_path,
		.help = "Run a step of the graph G, and write it with its results as a case to the folder DIR."},
	{.rows = record_rows},
	{.rows = dfg_remat_options},
	{.rows = dfg_execution_options},
	{.rows = dfg_device_options},
	{.rows = dfg_placement_options},
	{.rows = dfg_distribution_options},
	{.rows = dfg_replication_options},
	{0},
};

/* Numbers of passed and failed cases, in total and by tag. */
struct count {
	uint32_t passed, failed;
};
struct report {
	struct count all;
	struct dfg_map tag;
	struct count *by_tag;
	size_t capacity;
	struct dfg_arena arena;
	struct dfg_junit junit; /* with --junit */
};

static void add_result(struct count *count, bool passed)
{
	count->passed += passed;
	count->failed += !passed;
}

/* Whether one of the tags (one per line) matches a --tag; without --tag all match. */
static bool wanted(const char *lines)
{
	bool any = !tags.count;
	for (const char *s = lines, *end; !any && s && (end = strchr(s, '\n')); s = end + 1) {
		char tag[256];
		snprintf(tag, sizeof tag, "%.*s", (int)(end - s), s);
		for (size_t i = 0; i < tags.count; i++)
			any |= !fnmatch(tags.word[i], tag, 0);
	}
	return any;
}

static struct dfg_err *count_tags(struct report *report, const struct dfg_text *lines, bool passed)
{
	for (const char *s = lines->s, *end; s && (end = strchr(s, '\n')); s = end + 1) {
		const char *name = dfg_arena_copy(&report->arena, s, (size_t)(end - s));
		uint32_t number;
		if (!name || !dfg_map_put(&report->tag, name, (size_t)(end - s), &number, NULL) ||
			!dfg_reserve(&report->by_tag, &report->capacity, report->tag.count, sizeof *report->by_tag))
			return dfg_no_memory("the counts of the tags");
		add_result(&report->by_tag[number], passed);
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static void print_failure(const char *name, struct dfg_err *err)
{
	struct dfg_text text = {0};
	for (const struct dfg_err *e = err; e && (e == err || dfg_globals.verbose); e = e->next) {
		dfg_text_add(&text, e == err ? "FAIL " : "     ");
		dfg_text_printable(&text, name, strlen(name), "");
		dfg_text_add(&text, ": %s\n", e->text);
	}
	dfg_print(&text);
	dfg_text_release(&text);
	dfg_err_free(err);
}

static void add_junit(
	struct report *report, const char *group, const char *name, double begin, const struct dfg_err *err)
{
	if (junit_path)
		dfg_junit_add(&report->junit, group, name, dfg_seconds() - begin, err);
}

static struct dfg_err *run_case(struct report *report, const char *directory)
{
	struct dfg_text lines = {0};
	const double begin = dfg_seconds();
	struct dfg_err *err = dfg_test_tags(directory, &lines);
	if (!err && !wanted(lines.s)) {
		dfg_text_release(&lines);
		return NULL;
	}
	if (!err)
		err = dfg_test_case(directory, &test_options);
	add_result(&report->all, !err);
	add_junit(report, "case", directory, begin, err);
	struct dfg_err *counted = count_tags(report, &lines, !err);
	if (err)
		print_failure(base_name(directory), err);
	dfg_text_release(&lines);
	return counted;
}

/* Runs a file of op cases, one per line; "#" begins a comment. Their tag is the file's name. */
static struct dfg_err *run_file(struct report *report, const char *path)
{
	struct dfg_text tag = {0};
	FILE *file = fopen(path, "r");
	if (!file)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_INPUT), "%s: %s", path, strerror(errno));
	dfg_text_printable(&tag, base_name(path), strlen(base_name(path)) - strlen(".t"), "");
	dfg_text_put(&tag, "\n", 1);
	char *line = NULL;
	size_t capacity = 0;
	struct dfg_err *counted = NULL;
	while (!counted && wanted(tag.s) && getline(&line, &capacity, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!line[strspn(line, " \t")] || *line == '#')
			continue;
		const double begin = dfg_seconds();
		struct dfg_err *err = dfg_test_line(line, &test_options);
		add_result(&report->all, !err);
		add_junit(report, path, line, begin, err);
		counted = count_tags(report, &tag, !err);
		if (err)
			print_failure(line, err);
	}
	if (!counted && ferror(file))
		counted = DFG_ERR(DFG_IO, "%s: cannot be read", path);
	free(line);
	fclose(file);
	dfg_text_release(&tag);
	return counted;
}

static bool is_there(const char *directory, const char *name)
{
	char path[4096];
	struct stat stat_;
	return snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path && !stat(path, &stat_);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static struct dfg_err *run_tree(struct report *report, const char *directory);

/* Runs a folder or a file of op cases; other files are skipped. */
static struct dfg_err *run_entry(struct report *report, const char *directory, const char *name)
{
	char path[4096];
	struct stat stat_;
	const char *dot = strrchr(name, '.');
	if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
		return DFG_ERR(DFG_NO_INPUT, "%s: the path of '%s' is too long", directory, name);
	bool there = !stat(path, &stat_);
	if (there && S_ISDIR(stat_.st_mode))
		return run_tree(report, path);
	return dot && !strcmp(dot, ".t") ? run_file(report, path) : NULL;
}

/*
 * Runs the cases below the directory, in order of their names. Symbolic links are followed until the path is too long.
 */
static struct dfg_err *run_tree(struct report *report, const char *directory)
{
	if (is_there(directory, "case.json"))
		return run_case(report, directory);
	struct dirent **entry = NULL;
	int count = scandir(directory, &entry, visible, alphasort);
	struct dfg_err *err = count < 0 ? DFG_ERR(DFG_NO_INPUT, "%s: is not a directory of cases", directory) : NULL;
	for (int i = 0; i < count; i++) {
		if (!err)
			err = run_entry(report, directory, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return err;
}

static void print_report(const struct report *report)
{
	for (size_t i = 0; i < report->tag.count; i++)
		dfg_talk("%-24.*s %6u passed, %u failed", (int)report->tag.name[i].length, report->tag.name[i].s,
			report->by_tag[i].passed, report->by_tag[i].failed);
	fflush(stderr);
	dfg_printf("%u passed, %u failed\n", report->all.passed, report->all.failed);
}

/* A failure to start the workers, or to open the device, is one error, before the first case. */
static struct dfg_err *start_workers(struct dfg_distributed *distributed)
{
	if (!dfg_shared.placement.hosts && !devices.provider)
		return NULL;
	const struct dfg_distributed_options options = {&dfg_shared.placement, &dfg_shared.distribution,
		dfg_shared.replication.n_replicas, dfg_shared.replication.checks, NULL,
		(uint32_t)dfg_shared.replication.min_replicas, dfg_shared.replication.all_reduce, &dfg_shared.execution,
		&dfg_stderr, dfg_launch_table_watch(&launch_table), dfg_shared.replication.servers, false, false, 0,
		devices.provider ? &devices : NULL};
	DFG_TRY(dfg_distributed_open(&options, distributed));
	test_options.distributed = distributed;
	return dfg_distributed_start(distributed, &test_options.session);
}

static struct dfg_err *check_record(char **operands)
{
	const struct dfg_run_options *o = &record_options;
	if (!(recording.rtol >= 0) || !(recording.atol >= 0))
		return DFG_ERR(DFG_USAGE, "--rtol and --atol must be at least 0");
	if (!record_path && (o->feed.count || o->fetch.count || o->target.count || o->load.count || o->init ||
							recording.rtol > 0 || recording.atol > 0))
		return DFG_ERR(DFG_USAGE, "--feed, --fetch, --target, --load, --init and tolerances require --record");
	if (record_path && operands[1])
		return DFG_ERR(DFG_USAGE, "--record takes one graph: leave out %s", operands[1]);
	if (record_path &&
		(tags.count || junit_path || dfg_shared.placement.hosts || dfg_shared.device || !strcmp(operands[0], "-")))
		return DFG_ERR(DFG_USAGE, "--record takes a file, without --tag, --junit, --hosts and --device");
	return NULL;
}

static struct dfg_err *record(const char *graph)
{
	const struct dfg_test_record how = {.graph = graph,
		.folder = record_path,
		.options = &record_options,
		.execution = &dfg_shared.execution,
		.input = {.report = &dfg_stderr},
		.rtol = recording.rtol,
		.atol = recording.atol};
	dfg_limit_memory();
	return dfg_name_memory_limit(dfg_test_record_write(&how), graph);
}

static struct dfg_err *test_all(char **operands, int *out_status)
{
	struct report report = {0};
	struct dfg_distributed distributed = {0};
	DFG_TRY(dfg_remat_policy(&test_options.remat));
	DFG_TRY(dfg_execution_session(&dfg_shared.execution, &test_options.session));
	DFG_TRY(dfg_check_hosts_given());
	DFG_TRY(dfg_find_devices(NULL, &devices_arena, &devices));
	if (devices.provider)
		test_options.session.no_opt =
			true; /* the host would fold constants, which are all that op cases compute with */
	if (dfg_shared.replication.parts.count)
		return DFG_ERR(DFG_USAGE, "--shard-variable is for dfg run and dfg partition");
	DFG_TRY(dfg_replication_default(&dfg_shared.replication, &dfg_shared.placement, NULL, &dfg_stderr));
	DFG_TRY(dfg_replication_check(&dfg_shared.replication, dfg_shared.placement.hosts));
	if (dfg_shared.replication.quorum || dfg_shared.replication.async)
		return DFG_ERR(DFG_USAGE, "--sync %s is for dfg run: it makes results depend on timing",
			dfg_shared.replication.sync ? dfg_shared.replication.sync : "quorum");
	test_options.session.shards = dfg_shared.replication.n_shards; /* feeds are the same in every shard */
	dfg_limit_memory();
	struct dfg_err *err = junit_path ? dfg_out_try(junit_path) : NULL;
	if (!err)
		err = start_workers(&distributed);
	for (; *operands && !err; operands++)
		err = run_tree(&report, *operands);
	if (!err && !report.all.passed && !report.all.failed)
		err = DFG_ERR(DFG_NO_INPUT, "no cases found");
	if (!err && junit_path)
		err = dfg_junit_write(&report.junit, junit_path);
	if (!err)
		print_report(&report);
	*out_status = report.all.failed ? DFG_NEGATIVE : 0;
	dfg_distributed_close(&distributed);
	dfg_arena_release(&devices_arena);
	dfg_junit_release(&report.junit);
	dfg_map_release(&report.tag);
	dfg_free(report.by_tag);
	dfg_arena_release(&report.arena);
	return err;
}

static struct dfg_err *test(char **operands, int *out_status)
{
	DFG_TRY(check_record(operands));
	if (record_path)
		return record(*operands);
	struct dfg_err *err = dfg_ranks_begin(0);
	if (!err)
		err = test_all(operands, out_status);
	dfg_ranks_end();
	return err;
}

const struct dfg_cmd dfg_cmd_test = {
	.name = "test",
	.operands = "DIR...|G",
	.summary = "run recorded cases, or record one",
	.options = options,
	.least = 1,
	.most = -1,
	.run = test,
};
