#define FLEET_ROOM 8192
#include "tests/unit/partitioned.h"
#include "tests/unit/scatter.h"

#include "formats/array.h"
#include "formats/graphdef.h"
#include "formats/json.h"
#include "lib/pass/grad.h"
#include "lib/pass/lower.h"
#include "lib/pass/partition.h"
#include "lib/pass/verify.h"

#include <dirent.h>

/*
 * The recorded cases of control flow and training, cut by chance: every part passes verify, and run together, in threads
 * of this process, they compute what one session does, to the bit.
 */
struct recorded {
	const char *directory;
	struct dfg_arena arena;
	struct dfg_json *json;
	struct dfg_graph_file file;
	struct dfg_facts facts;
	struct dfg_edge gradient[16];
	uint32_t gradients;
};

static const char *const devices[] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

static struct dfg_err *differentiate(struct recorded *r, struct dfg_builder *builder)
{
	const struct dfg_json *grad = dfg_json_get(r->json, "grad"), *order = dfg_json_get(grad, "order");
	struct dfg_edge by[16], of[16];
	uint32_t n_of = 1;
	for (const struct dfg_json *name = dfg_json_get(grad, "wrt")->first; name; name = name->next)
		DFG_TRY(dfg_graph_edge(&r->file.graph, name->string, &by[r->gradients++]));
	DFG_TRY(dfg_graph_edge(&r->file.graph, dfg_json_get(grad, "of")->string, of));
	for (int64_t i = 0; i < (order ? order->integer : 1); i++) {
		DFG_TRY(dfg_grad_edges(builder, of, n_of, by, r->gradients, r->gradient));
		memcpy(of, r->gradient, sizeof of);
		n_of = r->gradients;
	}
	return NULL;
}

static struct dfg_err *recorded_open(struct recorded *r, const char *directory)
{
	struct dfg_blob blob;
	struct dfg_builder builder;
	*r = (struct recorded){.directory = directory};
	DFG_TRY(dfg_blob_open(dfg_arena_print(&r->arena, "%s/case.json", directory), 0, &blob));
	struct dfg_err *err = dfg_json_read(blob.bytes, blob.size, &r->arena, &r->json);
	dfg_blob_close(&blob);
	if (err)
		return err;
	const struct dfg_graph_options options = {0};
	DFG_TRY(dfg_graph_open(dfg_arena_print(&r->arena, "%s/graph.pb", directory), &options, &r->file));
	DFG_TRY(dfg_lower_whole(&r->file.graph));
	if (dfg_json_get(r->json, "grad")) {
		DFG_TRY(dfg_verify(&r->file.graph, NULL, NULL));
		DFG_TRY(dfg_builder_init(&builder, &r->file.graph));
		err = differentiate(r, &builder);
		dfg_builder_release(&builder);
		if (err)
			return err;
	}
	return dfg_verify(&r->file.graph, NULL, &r->facts);
}

static void recorded_close(struct recorded *r)
{
	dfg_facts_release(&r->facts);
	dfg_graph_close(&r->file);
	dfg_arena_release(&r->arena);
}

/* What a step asks for, by name: "y:0", "^train". */
struct asked {
	struct dfg_arrays feeds;
	const char *name[64];
	uint32_t names;
};

static void ask_json(struct asked *asked, struct recorded *r, const struct dfg_json *list, const char *mark)
{
	for (const struct dfg_json *name = list ? list->first : NULL; name; name = name->next)
		asked->name[asked->names++] = dfg_arena_print(&r->arena, "%s%s", mark, name->string);
}

static struct asked ask(struct recorded *r, const struct dfg_json *step, bool gradients)
{
	struct asked asked = {0};
	const struct dfg_json *feeds = dfg_json_get(step, "feeds");
	if (feeds)
		succeeds(dfg_arrays_read(dfg_arena_print(&r->arena, "%s/%s", r->directory, feeds->string), &asked.feeds));
	if (!gradients) {
		ask_json(&asked, r, dfg_json_get(step, "fetch"), "");
		ask_json(&asked, r, dfg_json_get(step, "targets"), "^");
	}
	for (uint32_t i = 0; i < r->gradients && gradients; i++)
		asked.name[asked.names++] = dfg_graph_tensor_name(&r->file.graph, r->gradient[i]);
	return asked;
}

/* One session. */
static struct dfg_err *run_whole(
	struct recorded *r, struct dfg_session *session, const struct asked *asked, struct dfg_tensor *out)
{
	struct dfg_edge feed[64], fetch[64];
	uint32_t target[64];
	struct dfg_tensor value[64];
	uint32_t place[64];
	struct dfg_tensor result[64] = {0};
	struct dfg_plan *plan;
	struct dfg_step step = {.feed = feed, .fetch = fetch, .target = target};
	for (; step.n_feed < asked->feeds.count; step.n_feed++) {
		DFG_TRY(dfg_graph_edge(&r->file.graph, asked->feeds.array[step.n_feed].name, &feed[step.n_feed]));
		value[step.n_feed] = asked->feeds.array[step.n_feed].tensor;
	}
	for (uint32_t i = 0; i < asked->names; i++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_edge(&r->file.graph, asked->name[i], &edge));
		if (edge.port == DFG_CONTROL) {
			target[step.n_target++] = edge.node;
			continue;
		}
		place[step.n_fetch] = i;
		fetch[step.n_fetch++] = edge;
	}
	DFG_TRY(dfg_session_plan(session, &step, &plan));
	DFG_TRY(dfg_plan_run(plan, value, result));
	for (uint32_t i = 0; i < step.n_fetch; i++)
		out[place[i]] = result[i];
	return NULL;
}

static struct dfg_err *run_parts(struct fleet *fleet, const struct asked *asked, struct dfg_tensor *out)
{
	fleet_step_begin(fleet);
	for (size_t i = 0; i < asked->feeds.count; i++)
		fleet_feed(fleet, asked->feeds.array[i].name, &asked->feeds.array[i].tensor);
	for (uint32_t i = 0; i < asked->names; i++)
		fleet_fetch(fleet, asked->name[i], i);
	struct dfg_err *err = fleet_step(fleet, out);
	assert_true(err || !fleet->left);
	return err;
}

static bool same_bits(const struct dfg_tensor *a, const struct dfg_tensor *b)
{
	if (a->dtype != b->dtype || !dfg_shape_equal(&a->shape, &b->shape))
		return false;
	if (a->dtype != DFG_STRING)
		return !dfg_tensor_bytes(a) || !memcmp(a->data, b->data, dfg_tensor_bytes(a));
	for (int64_t i = 0; i < dfg_shape_count(&a->shape); i++) {
		struct dfg_string one = ((struct dfg_string *)a->data)[i], other = ((struct dfg_string *)b->data)[i];
		if (one.length != other.length || memcmp(one.s, other.s, one.length) != 0)
			return false;
	}
	return true;
}

/* Values and errors agree; false where there was an error, and the case ends. */
static bool agree(const struct recorded *r, const struct asked *asked, struct dfg_err *one, struct dfg_err *other,
	struct dfg_tensor *whole, struct dfg_tensor *parts)
{
	if (!one != !other)
		fail_msg("%s: '%s' in one session, '%s' in parts", r->directory, one ? one->text : "no error",
			other ? other->text : "no error");
	for (uint32_t i = 0; i < asked->names && !one; i++) {
		if (*asked->name[i] != '^' && !same_bits(&whole[i], &parts[i]))
			fail_msg("%s: %s is another in parts", r->directory, asked->name[i]);
		dfg_tensor_release(&whole[i]);
		dfg_tensor_release(&parts[i]);
	}
	bool good = !one;
	dfg_err_free(one);
	dfg_err_free(other);
	return good;
}

static void run_steps(struct recorded *r, struct fleet *fleet, const struct dfg_session_options *options)
{
	struct dfg_session *session;
	const struct dfg_json *steps = dfg_json_get(r->json, "steps");
	bool good = true;
	succeeds(dfg_session_new(&r->file.graph, options, &session));
	for (const struct dfg_json *step = steps ? steps->first : NULL; step && good; step = step->next)
		for (int gradients = 0; gradients < (!step->next && r->gradients ? 2 : 1) && good; gradients++) {
			struct dfg_tensor whole[64] = {0}, parts[64] = {0};
			struct asked asked = ask(r, step, gradients);
			struct dfg_err *one = run_whole(r, session, &asked, whole), *other = run_parts(fleet, &asked, parts);
			good = agree(r, &asked, one, other, whole, parts);
			dfg_arrays_release(&asked.feeds);
		}
	dfg_session_free(session);
}

static void run_placed(struct recorded *r, const struct dfg_placed *placed, uint32_t n, uint64_t seed)
{
	static struct fleet fleet;
	struct dfg_arena arena = {0};
	struct dfg_parts parts;
	const struct dfg_graph *part[3];
	const struct dfg_place_options place = {.device = devices, .devices = n};
	const struct dfg_session_options options = {
		.threads = (int)(seed % 2) + 1, .timeout = 60, .random_schedule = true, .schedule_seed = seed};
	struct dfg_err *err = dfg_partition(&r->file.graph, &r->facts, placed, &place, &arena, &parts);
	for (uint32_t d = 0; d < n && !err; d++) {
		part[d] = &parts.part[d];
		if (part[d]->count)
			err = dfg_err_note(dfg_verify(part[d], NULL, NULL), "part %u", d);
	}
	if (err)
		fail_msg("%s: %s", r->directory, err->text);
	fleet_begin(&fleet, part, n, &options, false);
	run_steps(r, &fleet, &options);
	fleet_end(&fleet);
	dfg_parts_release(&parts);
	dfg_arena_release(&arena);
}

static void run_case(const char *directory, int placements)
{
	struct recorded r;
	struct scatter scatter;
	struct dfg_err *err = recorded_open(&r, directory);
	if (!err && !dfg_json_get(r.json, "error")) {
		struct dfg_placed *placed = calloc(r.file.graph.count, sizeof *placed);
		scatter_begin(&scatter, &r.file.graph, &r.facts);
		for (int i = 0; i < placements; i++) {
			uint32_t n = 2 + (uint32_t)i % 2;
			scatter_place(&scatter, n, placed);
			run_placed(&r, placed, n, (uint64_t)i);
		}
		scatter_end(&scatter);
		free(placed);
	}
	dfg_err_free(err);
	recorded_close(&r);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* CASE=words chooses cases, PLACEMENTS=n says how often each is cut. */
static void run_folder(const char *folder)
{
	char *name[1000], path[600];
	size_t names = 0;
	const char *only = getenv("CASE"), *placements = getenv("PLACEMENTS"), *root = getenv("ROOT");
	snprintf(path, sizeof path, "%s/tests/cases/%s", root ? root : ".", folder);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir)) && names < 1000;)
		if (*entry->d_name != '.' && (!only || strstr(entry->d_name, only)))
			name[names++] = strdup(entry->d_name);
	closedir(dir);
	qsort(name, names, sizeof *name, by_name);
	for (size_t i = 0; i < names; i++) {
		snprintf(path, sizeof path, "%s/tests/cases/%s/%s", root ? root : ".", folder, name[i]);
		run_case(path, placements ? atoi(placements) : 2);
		free(name[i]);
	}
}

static void cases_of_control_flow_are_the_same_in_parts(void **state)
{
	(void)state;
	run_folder("flow");
}

static void cases_of_training_are_the_same_in_parts(void **state)
{
	(void)state;
	run_folder("train");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_of_control_flow_are_the_same_in_parts),
		cmocka_unit_test(cases_of_training_are_the_same_in_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
