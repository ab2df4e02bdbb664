#include "app/test_case.h"

#include "app/distributed.h"
#include "formats/compare.h"
#include "lib/lang/lang.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

/* Tolerance of results in each type; integers and all others must be exact. */
static struct dfg_tolerance tolerance_of(enum dfg_dtype dtype)
{
	switch (dtype) {
	case DFG_F16:
		return (struct dfg_tolerance){.rtol = 2e-3, .atol = 1e-3};
	case DFG_BF16:
		return (struct dfg_tolerance){.rtol = 2e-2, .atol = 1e-2};
	case DFG_F64:
	case DFG_C128:
		return (struct dfg_tolerance){.rtol = 1e-7, .atol = 1e-9};
	default:
		return (struct dfg_tolerance){.rtol = 1e-5, .atol = 1e-6};
	}
}

static struct dfg_err *compare(const struct dfg_case *line, const struct dfg_tensor *got)
{
	for (uint32_t i = 0; i < line->n_want; i++) {
		struct dfg_tolerance tolerance = tolerance_of(line->want[i].dtype);
		DFG_TRY(dfg_err_note(dfg_compare(&got[i], &line->want[i], &tolerance), "output %u", i));
	}
	return NULL;
}

static struct dfg_err *run_op_case(struct dfg_case *line, struct dfg_session *session)
{
	struct dfg_plan *plan;
	struct dfg_edge *fetch = dfg_arena_zeros(&line->arena, line->n_want + 1, sizeof *fetch);
	struct dfg_tensor *got = dfg_arena_zeros(&line->arena, line->n_want + 1, sizeof *got);
	if (!fetch || !got)
		return dfg_no_memory("the results of the case");
	for (uint32_t i = 0; i < line->n_want; i++)
		fetch[i] = (struct dfg_edge){line->node, (int32_t)i};
	struct dfg_step step = {.fetch = fetch, .n_fetch = line->n_want, .target = &line->node, .n_target = 1};
	DFG_TRY(dfg_session_plan(session, &step, &plan));
	DFG_TRY(dfg_plan_run(plan, NULL, got));
	struct dfg_err *err = compare(line, got);
	for (uint32_t i = 0; i < line->n_want; i++)
		dfg_tensor_release(&got[i]);
	return err;
}

/* On a device the graph is loaded as that of a case is. */
static struct dfg_err *load(struct dfg_case *line, const struct dfg_test_options *options, struct dfg_facts *facts,
	struct dfg_session_options *session)
{
	struct dfg_distributed *distributed = options->distributed;
	if (!distributed || !distributed->options.devices)
		return NULL;
	return dfg_distributed_load(distributed, &line->graph, facts, NULL, session);
}

static struct dfg_err *verify_and_run(struct dfg_case *line, const struct dfg_test_options *options)
{
	struct dfg_session *session;
	struct dfg_session_options own = options->session;
	struct dfg_facts facts = {.arena = &line->arena};
	struct dfg_err *err = dfg_verify(&line->graph, &(struct dfg_verify_options){.unknown_ops = true}, &facts);
	if (!err)
		err = load(line, options, &facts, &own);
	dfg_facts_release(&facts);
	DFG_TRY(err);
	DFG_TRY(dfg_session_new(&line->graph, &own, &session));
	err = run_op_case(line, session);
	dfg_session_free(session);
	return err;
}

/* A case that expects an error passes with that error only; it must be one of invalid data. */
static struct dfg_err *judge(const struct dfg_case *line, struct dfg_err *err)
{
	if (!line->error)
		return err;
	if (!err)
		return DFG_ERR(DFG_NEGATIVE, "expected error '%s', but there was none", line->error);
	if (err->code != DFG_DATA)
		return err;
	if (!strstr(err->text, line->error))
		return dfg_err_note(err, "expected error '%s', but the error is", line->error);
	dfg_err_free(err);
	return NULL;
}

/* Runs the line with its untyped literals in dtype; skips it if dtype cannot represent its numbers. */
static struct dfg_err *run_in(const char *text, enum dfg_dtype dtype, const struct dfg_test_options *options)
{
	struct dfg_case line = {0};
	struct dfg_err *unfit = dfg_case_parse(text, dtype, &line), *err = NULL;
	if (!unfit)
		err = judge(&line, verify_and_run(&line, options));
	dfg_err_free(unfit);
	dfg_case_release(&line);
	return dfg_err_note(err, "in %s", dfg_dtype_name(dtype));
}

/* Whether the op has a kernel in dtype and its declaration allows it. */
static bool takes(const struct dfg_op *op, enum dfg_dtype dtype)
{
	const struct dfg_signature *signature;
	struct dfg_err *err = dfg_op_signature(op, &signature);
	bool allowed = !err && signature->n_param && signature->param[0].types & dfg_dtype_bit(dtype);
	dfg_err_free(err);
	return allowed && dfg_op_computes(op, dtype);
}

struct dfg_err *dfg_test_line(const char *text, const struct dfg_test_options *options)
{
	static const enum dfg_dtype other[] = {
		DFG_F64, DFG_F16, DFG_BF16, DFG_I8, DFG_I16, DFG_I32, DFG_I64, DFG_U8, DFG_U16};
	struct dfg_case line = {0};
	struct dfg_err *err = dfg_case_parse(text, DFG_NO_DTYPE, &line);
	if (!err)
		err = judge(&line, verify_and_run(&line, options));
	const struct dfg_op *op = !err && line.flexible ? line.graph.node[line.node].op : NULL;
	dfg_case_release(&line);
	for (size_t i = 0; op && !err && i < sizeof other / sizeof *other; i++)
		if (takes(op, other[i]))
			err = run_in(text, other[i], options);
	return err;
}
