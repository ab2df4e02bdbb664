#define CLUSTER_ASKED 8192
#include "tests/unit/partitioned.h"
#include "tests/unit/recorded.h"
#include "tests/unit/scatter.h"

#include "lib/pass/partition/partition.h"

/*
 * The recorded cases of control flow and training, cut by chance: every part passes verify, and run together, in threads
 * of this process, they compute what one session does, to the bit.
 */
static const char *const devices[] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

static struct dfg_err *run_parts(struct cluster *cluster, const struct asked *asked, struct dfg_tensor *out)
{
	cluster_step_begin(cluster);
	for (size_t i = 0; i < asked->feeds.count; i++)
		cluster_feed(cluster, asked->feeds.array[i].name, &asked->feeds.array[i].tensor);
	for (uint32_t i = 0; i < asked->names; i++)
		cluster_fetch(cluster, asked->name[i], i);
	struct dfg_err *err = cluster_step(cluster, out);
	assert_true(err || !cluster->left);
	return err;
}

static void run_steps(struct recorded *r, struct cluster *cluster, const struct dfg_session_options *options)
{
	struct dfg_session *session;
	const struct dfg_json *steps = dfg_json_get(r->json, "steps");
	bool good = true;
	succeeds(dfg_session_new(&r->file.graph, options, &session));
	for (const struct dfg_json *step = steps ? steps->first : NULL; step && good; step = step->next)
		for (int gradients = 0; gradients < (!step->next && r->gradients ? 2 : 1) && good; gradients++) {
			struct dfg_tensor whole[64] = {0}, parts[64] = {0};
			struct asked asked = ask(r, step, gradients);
			struct dfg_err *one = run_whole(r, session, &asked, whole), *other = run_parts(cluster, &asked, parts);
			good = agree(r, &asked, one, other, whole, parts);
			dfg_arrays_release(&asked.feeds);
		}
	dfg_session_free(session);
}

static void run_placed(struct recorded *r, const struct dfg_placed *placed, uint32_t n, uint64_t seed)
{
	static struct cluster cluster;
	struct dfg_arena arena = {0};
	struct dfg_parts parts;
	const struct dfg_graph *part[3];
	const struct dfg_place_options place = {.device = devices, .devices = n};
	const struct dfg_session_options options = {
		.threads = (int)(seed % 2) + 1, .timeout = 600, .random_schedule = true, .schedule_seed = seed};
	struct dfg_err *err = dfg_partition(&r->file.graph, &r->facts, placed, &place, &arena, &parts);
	for (uint32_t d = 0; d < n && !err; d++) {
		part[d] = &parts.part[d];
		if (part[d]->count)
			err = dfg_err_note(dfg_verify(part[d], NULL, NULL), "part %u", d);
	}
	if (err)
		fail_msg("%s: %s", r->directory, err->text);
	cluster_begin(&cluster, part, n, &options, false);
	run_steps(r, &cluster, &options);
	cluster_end(&cluster);
	dfg_parts_release(&parts);
	dfg_arena_release(&arena);
}

/* Where iterations overlap and read a variable that the next one changes, the order is fixed only one at a time. */
static void fix_order(const struct recorded *r)
{
	size_t length = strlen(r->directory), tail = strlen("/while-prune");
	if (length < tail || strcmp(r->directory + length - tail, "/while-prune"))
		return;
	for (uint32_t n = 0; n < r->file.graph.count; n++) {
		const struct dfg_node *node = &r->file.graph.node[n];
		for (uint32_t a = 0; a < node->n_attr; a++)
			if (!strcmp(node->attr[a].name, "parallel_iterations"))
				((struct dfg_attr *)&node->attr[a])->value.i = 1;
	}
}

/* PLACEMENTS=n says how often each is cut. */
static void run_case(const char *directory)
{
	const char *often = getenv("PLACEMENTS");
	int placements = often ? atoi(often) : 2;
	struct recorded r;
	struct scatter scatter;
	struct dfg_err *err = recorded_open(&r, directory);
	if (!err && !dfg_json_get(r.json, "error")) {
		struct dfg_placed *placed = calloc(r.file.graph.count, sizeof *placed);
		fix_order(&r);
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

static void cases_of_control_flow_are_the_same_in_parts(void **state)
{
	(void)state;
	run_folder("flow", run_case);
}

static void cases_of_training_are_the_same_in_parts(void **state)
{
	(void)state;
	run_folder("train", run_case);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_of_control_flow_are_the_same_in_parts),
		cmocka_unit_test(cases_of_training_are_the_same_in_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
