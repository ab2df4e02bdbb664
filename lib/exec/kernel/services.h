#pragma once

#include "lib/exec/plan/plan.h"

/*
 * What runs kernels. A runner is used by one thread at a time. A ref travels as a tensor without a buffer whose
 * data is the variable, and whose dtype is DFG_NO_DTYPE.
 */
struct runner {
	struct dfg_session *session;
	const struct plan_node *node;
	uint32_t in_place; /* bit i: nobody else reads input i, its room may become an output's */
	char *scratch;     /* kept from kernel to kernel; what does not fit has blocks of its own */
	size_t scratch_room, scratch_used;
	struct extra *extra;
	bool took;                 /* a kernel took, or gave, a buffer: set only */
	struct executor *executor; /* that it works for; NULL: an activation */
	struct dfg_err *(*pause)(struct runner *runner, struct dfg_pause **out_pause); /* of the executor; NULL: none */
	struct dfg_pause *paused,
		*pausing; /* of the kernel that runs: the pause it comes after, and the one it asked for */
};
void dfg_runner_release(struct runner *runner);
static inline bool dfg_is_ref(const struct dfg_tensor *tensor)
{
	return !tensor->dtype && tensor->data;
}

/* Runs the node's kernel. Refs among the inputs that are read give their value at this moment. */
DFG_MUST_CHECK struct dfg_err *dfg_runner_run(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out);

/* The guard alone, of a node whose row is called by itself. */
DFG_MUST_CHECK struct dfg_err *dfg_runner_check_domain(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out);

/* to becomes what from is, with a reference of its own where the buffer is counted; or the value of a ref. */
DFG_MUST_CHECK struct dfg_err *dfg_forward_value(const struct dfg_tensor *from, bool as_ref, struct dfg_tensor *to);

/* The output of a Switch that lives: by a bool, or by a number of which those out of range mean the last. */
DFG_MUST_CHECK struct dfg_err *dfg_select_output(const struct dfg_tensor *predicate, int n_out, int *out_chosen);

/* The same bits. TensorFlow's own gradients merge a constant with what is sometimes dead: see node.may_agree. */
bool dfg_same_value(const struct dfg_tensor *one, const struct dfg_tensor *two);

/* A scalar with a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_scalar(
	struct dfg_session *session, enum dfg_dtype dtype, struct dfg_tensor *out_tensor);
