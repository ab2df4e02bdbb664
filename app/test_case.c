#include "app/test_case.h"

#include "app/distributed.h"
#include "app/test_form.h"
#include "app/variables.h"
#include "formats/array.h"
#include "formats/bundle.h"
#include "formats/compare.h"
#include "formats/graphdef.h"
#include "formats/json.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/verify/verify.h"

#include <stdio.h>
#include <string.h>

/* A running case. Its resources are zero until allocated. */
struct test_case {
	const char *directory;
	const struct dfg_test_options *options;
	struct dfg_arena arena;
	struct dfg_json *json;
	struct dfg_model model;
	struct dfg_edge *gradient; /* gradient edges, by "wrt" of the case's "grad" */
	bool ran;                  /* the failed step had begun to run; an earlier error counts as one on loading */
	bool earlier;              /* the failed step is not the last one */
	bool unreadable;           /* the error is in the case's arrays, not in its graph */
};

/* One step: feeds from an npz, then fetches and targets. */
struct test_step {
	const struct dfg_json *json;
	const char *names; /* key of the JSON member that lists the fetches */
	struct dfg_arrays feeds, want;
	struct dfg_edge *feed, *fetch;
	struct dfg_tensor *value, *result;
	uint32_t *target, n_feed, n_fetch, n_target;
};

static const char *path_of(struct test_case *test, const char *name)
{
	return dfg_arena_print(&test->arena, "%s/%s", test->directory, name);
}

static struct dfg_err *read_json(struct test_case *test)
{
	struct dfg_blob blob;
	const char *path = path_of(test, "case.json");
	if (!path)
		return dfg_no_memory("the test case");
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	struct dfg_err *err = dfg_json_read(blob.bytes, blob.size, &test->arena, &test->json);
	dfg_blob_close(&blob);
	if (!err)
		err = dfg_test_form(test->json);
	return dfg_err_note(err, "%s", path);
}

static struct dfg_err *load(struct test_case *test)
{
	const char *path = path_of(test, "graph.pb");
	if (!path)
		return dfg_no_memory("the test case");
	struct dfg_graph_options options = {0};
	DFG_TRY(dfg_graph_open(path, &options, &test->model.file));
	struct dfg_verify_options verify = {.marked = &test->model.file.graph};
	DFG_TRY(dfg_lower_whole(&test->model.file.graph));
	return dfg_verify(&test->model.file.graph, &verify, NULL);
}

/* Reads the arrays that the step's JSON names under `key`; none if it has no such member. */
static struct dfg_err *read_arrays(
	struct test_case *test, const struct dfg_json *step, const char *key, struct dfg_arrays *out_arrays)
{
	const struct dfg_json *name = dfg_json_get(step, key);
	if (!name)
		return NULL;
	const char *path = path_of(test, name->string);
	struct dfg_err *err = path ? dfg_arrays_read(path, out_arrays) : dfg_no_memory("the test case");
	test->unreadable |= err != NULL;
	return err;
}

static struct dfg_err *bind_feeds(struct test_case *test, struct test_step *step)
{
	step->n_feed = (uint32_t)step->feeds.count;
	step->feed = dfg_arena_zeros(&test->arena, step->n_feed, sizeof *step->feed);
	step->value = dfg_arena_zeros(&test->arena, step->n_feed, sizeof *step->value);
	if (!step->feed || !step->value)
		return dfg_no_memory("the test case");
	for (uint32_t i = 0; i < step->n_feed; i++) {
		DFG_TRY(dfg_graph_edge(&test->model.file.graph, step->feeds.array[i].name, &step->feed[i]));
		step->value[i] = step->feeds.array[i].tensor;
	}
	return NULL;
}

static struct dfg_err *bind_names(struct test_case *test, struct test_step *step)
{
	const struct dfg_json *fetch = dfg_json_get(step->json, "fetch"), *targets = dfg_json_get(step->json, "targets");
	uint32_t n_fetch = fetch ? (uint32_t)fetch->count : 0, n_target = targets ? (uint32_t)targets->count : 0;
	step->fetch = dfg_arena_zeros(&test->arena, n_fetch, sizeof *step->fetch);
	step->result = dfg_arena_zeros(&test->arena, n_fetch, sizeof *step->result);
	step->target = dfg_arena_zeros(&test->arena, n_target, sizeof *step->target);
	if (!step->fetch || !step->result || !step->target)
		return dfg_no_memory("the test case");
	for (const struct dfg_json *name = fetch ? fetch->first : NULL; name; name = name->next)
		DFG_TRY(dfg_graph_edge(&test->model.file.graph, name->string, &step->fetch[step->n_fetch++]));
	for (const struct dfg_json *name = targets ? targets->first : NULL; name; name = name->next) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_edge(&test->model.file.graph, name->string, &edge));
		step->target[step->n_target++] = edge.node;
	}
	return NULL;
}

static struct dfg_tolerance tolerance_of(const struct dfg_json *json)
{
	const struct dfg_json *rtol = dfg_json_get(json, "rtol"), *atol = dfg_json_get(json, "atol");
	return (struct dfg_tolerance){.rtol = rtol ? rtol->number : 0, .atol = atol ? atol->number : 0};
}

/* Each fetch must have one expected array, and each expected array must be fetched. */
static struct dfg_err *check_names(const struct test_step *step)
{
	const char *file = dfg_json_get(step->json, "expect")->string;
	const struct dfg_json *first = dfg_json_get(step->json, step->names)->first, *name;
	for (name = first; name; name = name->next)
		if (!dfg_arrays_find(&step->want, name->string))
			return DFG_ERR(DFG_NEGATIVE, "'%s' is fetched, but %s has no array of this name", name->string, file);
	for (size_t i = 0; i < step->want.count; i++) {
		const char *wanted = step->want.array[i].name;
		for (name = first; name && strcmp(name->string, wanted);)
			name = name->next;
		if (!name)
			return DFG_ERR(DFG_NEGATIVE, "%s has an array '%s', which the step does not fetch", file, wanted);
	}
	return NULL;
}

static struct dfg_err *judge(const struct test_step *step)
{
	struct dfg_tolerance tolerance = tolerance_of(step->json);
	if (!dfg_json_get(step->json, "expect"))
		return NULL;
	DFG_TRY(check_names(step));
	const struct dfg_json *name = dfg_json_get(step->json, step->names)->first;
	for (uint32_t i = 0; name; name = name->next, i++) {
		const struct dfg_tensor *want = &dfg_arrays_find(&step->want, name->string)->tensor;
		DFG_TRY(dfg_err_note(dfg_compare(&step->result[i], want, &tolerance), "%s", name->string));
	}
	return NULL;
}

static struct dfg_err *execute(struct test_case *test, struct test_step *step)
{
	struct dfg_step asked = {
		.feed = step->feed,
		.n_feed = step->n_feed,
		.fetch = step->fetch,
		.n_fetch = step->n_fetch,
		.target = step->target,
		.n_target = step->n_target,
	};
	const struct dfg_feeds feeds = {step->feed, step->value, step->n_feed, step->n_feed};
	struct dfg_plan *plan;
	DFG_TRY(dfg_variables_init(&test->model, &asked, &feeds));
	DFG_TRY(dfg_session_plan(test->model.session, &asked, &plan));
	test->ran = true;
	DFG_TRY(dfg_plan_run(plan, step->value, step->result));
	struct dfg_err *err = judge(step);
	for (uint32_t i = 0; i < step->n_fetch; i++)
		dfg_tensor_release(&step->result[i]);
	return err;
}

/* Sets the step's fetches to the case's gradients. */
static struct dfg_err *bind_gradients(struct test_case *test, struct test_step *step, const struct dfg_json *grad)
{
	step->n_fetch = (uint32_t)dfg_json_get(grad, "wrt")->count;
	step->fetch = test->gradient;
	step->n_target = 0;
	step->json = grad;
	step->names = "wrt";
	step->result = dfg_arena_zeros(&test->arena, step->n_fetch, sizeof *step->result);
	dfg_arrays_release(&step->want);
	return step->result ? read_arrays(test, grad, "expect", &step->want) : dfg_no_memory("the test case");
}

/* `grad` is the case's "grad", or NULL if the step uses its own fetches. */
static struct dfg_err *run_step(struct test_case *test, const struct dfg_json *json, const struct dfg_json *grad)
{
	struct test_step step = {.json = json, .names = "fetch"};
	test->ran = false;
	test->earlier = json->next != NULL;
	struct dfg_err *err = read_arrays(test, json, "feeds", &step.feeds);
	if (!err)
		err = read_arrays(test, json, "expect", &step.want);
	if (!err)
		err = bind_feeds(test, &step);
	if (!err)
		err = bind_names(test, &step);
	if (!err && grad)
		err = bind_gradients(test, &step, grad);
	if (!err)
		err = execute(test, &step);
	dfg_arrays_release(&step.feeds);
	dfg_arrays_release(&step.want);
	return err;
}

/*
 * Adds the derivatives requested by the case to its graph: order 2 differentiates the sum of all first derivatives with
 * respect to the same names, and so on.
 */
static struct dfg_err *differentiate(struct test_case *test, const struct dfg_json *grad, struct dfg_builder *builder)
{
	const struct dfg_json *wrt = dfg_json_get(grad, "wrt"), *order = dfg_json_get(grad, "order");
	const struct dfg_grad_options options = {.remat = test->options->remat};
	uint32_t n = 0, n_of = 1;
	struct dfg_edge *by = dfg_arena_zeros(&test->arena, wrt->count, sizeof *by);
	struct dfg_edge *of = dfg_arena_zeros(&test->arena, wrt->count + 1, sizeof *of);
	test->gradient = dfg_arena_zeros(&test->arena, wrt->count, sizeof *test->gradient);
	if (!by || !of || !test->gradient)
		return dfg_no_memory("the test case");
	for (const struct dfg_json *name = wrt->first; name; name = name->next)
		DFG_TRY(dfg_graph_edge(&test->model.file.graph, name->string, &by[n++]));
	DFG_TRY(dfg_graph_edge(&test->model.file.graph, dfg_json_get(grad, "of")->string, of));
	for (int64_t i = 0; i < (order ? order->integer : 1); i++) {
		DFG_TRY(dfg_grad_dense(builder, of, n_of, by, n, &options, test->gradient));
		memcpy(of, test->gradient, n * sizeof *of);
		n_of = n;
	}
	return NULL;
}

static struct dfg_err *add_gradients(struct test_case *test, const struct dfg_json *grad)
{
	struct dfg_builder builder;
	DFG_TRY(dfg_builder_init(&builder, &test->model.file.graph));
	struct dfg_err *err = differentiate(test, grad, &builder);
	dfg_builder_release(&builder);
	return err;
}

/* Opens a local session, or loads the graph on the workers in place of the last case's. */
static struct dfg_err *open_session(struct test_case *test)
{
	struct dfg_session_options session = test->options->session;
	struct dfg_facts facts = {.arena = &test->arena};
	struct dfg_err *err = NULL;
	session.files = &dfg_bundle_files;
	if (test->options->distributed) {
		err = dfg_verify(&test->model.file.graph, NULL, &facts);
		if (!err)
			err = dfg_distributed_load(test->options->distributed, &test->model.file.graph, &facts, NULL, &session);
		dfg_facts_release(&facts);
	}
	return err ? err : dfg_session_new(&test->model.file.graph, &session, &test->model.session);
}

/* Sets the variables from the file that the case names. */
static struct dfg_err *load_variables(struct test_case *test)
{
	struct dfg_arrays arrays = {0};
	struct dfg_err *err = read_arrays(test, test->json, "load", &arrays);
	if (!err && arrays.count)
		err = dfg_variables_load(&test->model, &arrays, dfg_json_get(test->json, "load")->string, NULL, 0);
	dfg_arrays_release(&arrays);
	return err;
}

static struct dfg_err *run_steps(struct test_case *test)
{
	const struct dfg_json *steps = dfg_json_get(test->json, "steps"), *last = NULL;
	const struct dfg_json *grad = dfg_json_get(test->json, "grad");
	int number = 0;
	if (grad)
		DFG_TRY(dfg_err_note(add_gradients(test, grad), "grad"));
	DFG_TRY(open_session(test));
	DFG_TRY(load_variables(test));
	for (const struct dfg_json *step = steps ? steps->first : NULL; step; last = step, step = step->next)
		DFG_TRY(dfg_err_note(run_step(test, step, NULL), "step %d", number++));
	return grad && last ? dfg_err_note(run_step(test, last, grad), "grad") : NULL;
}

static bool mentions(const struct dfg_err *err, const char *word)
{
	while (err && !strstr(err->text, word))
		err = err->next;
	return err;
}

/*
 * A case with "error" passes if it fails with an error that contains all given words. Only invalid data can be
 * expected: a result that differs, a missing file and a bug of dfg are failures.
 */
static struct dfg_err *expect_error(const struct test_case *test, const struct dfg_json *promise, struct dfg_err *err)
{
	const struct dfg_json *words = dfg_json_get(promise, "mentions");
	if (!err)
		return DFG_ERR(DFG_NEGATIVE, "an error was expected, but there was none");
	if (err->code != DFG_DATA || test->unreadable)
		return err;
	if (test->earlier)
		return dfg_err_note(err, "the error was expected in the last step, but came earlier");
	for (const struct dfg_json *word = words ? words->first : NULL; word; word = word->next)
		if (!mentions(err, word->string))
			return dfg_err_note(err, "the error does not mention '%s'", word->string);
	dfg_err_free(err);
	return NULL;
}

static struct dfg_err *run_test_case(struct test_case *test)
{
	const struct dfg_json *promise = dfg_json_get(test->json, "error");
	const struct dfg_json *at = dfg_json_get(promise, "at");
	struct dfg_err *err = load(test);
	if (!err)
		err = run_steps(test);
	if (!promise)
		return err;
	if (test->ran && at && !strcmp(at->string, "load"))
		return err ? dfg_err_note(err, "the error was expected on loading, but came when the graph ran")
				   : DFG_ERR(DFG_NEGATIVE, "an error was expected on loading, but there was none");
	return expect_error(test, promise, err);
}

struct dfg_err *dfg_test_case(const char *directory, const struct dfg_test_options *options)
{
	struct test_case test = {.directory = directory, .options = options, .model.only_declared = true};
	struct dfg_err *err = read_json(&test);
	if (!err)
		err = run_test_case(&test);
	dfg_model_close(&test.model);
	dfg_arena_release(&test.arena);
	return err;
}

struct dfg_err *dfg_test_tags(const char *directory, struct dfg_text *out_tags)
{
	struct test_case test = {.directory = directory};
	struct dfg_err *err = read_json(&test);
	const struct dfg_json *tags = err ? NULL : dfg_json_get(test.json, "tags");
	for (const struct dfg_json *tag = tags ? tags->first : NULL; tag; tag = tag->next)
		dfg_text_add(out_tags, "%s\n", tag->string);
	dfg_arena_release(&test.arena);
	return err;
}
