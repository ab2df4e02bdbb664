#pragma once

#include "lib/exec/plan/plan.h"

/*
 * The context in which kernels run. A runner is used by one thread at a time. A ref is represented as a tensor without
 * a buffer, whose data points to the variable and whose dtype is DFG_NO_DTYPE.
 */
struct runner {
	struct dfg_session *session;
	const struct plan_node *node;
	uint32_t in_place; /* bit i: no other node reads input i, so an output may use its buffer */
	char *scratch;     /* kept from kernel to kernel; requests that do not fit have blocks of their own */
	size_t scratch_capacity, scratch_used;
	struct extra *extra;
	struct held_block *held;                       /* blocks of prepared inputs that the running kernel uses */
	const struct dfg_step_control *const *control; /* of the running step: where its watch has it */
	bool took;                                     /* a kernel took or gave away a buffer; never reset here */
	struct executor *executor;                     /* the executor that it works for; NULL: an activation */
	/* the executor's; NULL: kernels cannot suspend */
	struct dfg_err *(*pause)(struct runner *runner, struct dfg_pause **out_pause);
	struct dfg_pause *paused,
		*pausing; /* of the running kernel: the pause that it resumes from, and the one that it requested */
};
void dfg_runner_release(struct runner *runner);
static inline bool dfg_is_ref(const struct dfg_tensor *tensor)
{
	return !tensor->dtype && tensor->data;
}

/* The services of a runner, for code that calls kernels' functions without a node. */
const struct dfg_kernel_services *dfg_runner_services(void);

/* Runs the node's kernel. An input ref that is read gives the variable's value at this moment. */
DFG_MUST_CHECK struct dfg_err *dfg_runner_run(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out);

/* Runs only the domain check of a node whose row is called directly. */
DFG_MUST_CHECK struct dfg_err *dfg_runner_check_domain(
	struct runner *runner, const struct plan_node *node, struct dfg_tensor *const *in, struct dfg_tensor *const *out);

/* Sets `to` to the value of `from`, with a reference of its own if the buffer is counted; or to the value of a ref. */
DFG_MUST_CHECK struct dfg_err *dfg_forward_value(const struct dfg_tensor *from, bool as_ref, struct dfg_tensor *to);

/* The value on the host: that of a ref, a copy of one on a device, or a reference of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_host_value(const struct dfg_tensor *tensor, struct dfg_tensor *out_value);

/*
 * Gives fetch i of the plan, whose live value is in the tensor, a reference of its own; of a ref, the value that its
 * variable has now; of one on a device, a copy. An error names the fetched node.
 */
DFG_MUST_CHECK struct dfg_err *dfg_share_fetch(
	const struct dfg_plan *plan, uint32_t i, const struct dfg_tensor *tensor, struct dfg_tensor *out_fetch);

/*
 * The live output of a Switch: chosen by a bool, or by a number; a number out of range chooses the last output. The
 * predicate may be a ref.
 */
DFG_MUST_CHECK struct dfg_err *dfg_select_output(const struct dfg_tensor *predicate, int n_out, int *out_chosen);

/* The keys of a Save or a Load: scalars of i32 or i64, or refs to such. DFG_DATA if one is not a scalar. */
DFG_MUST_CHECK struct dfg_err *dfg_read_keys(struct dfg_tensor *const *in, int keys, int64_t *out_key);

/*
 * Whether both are equal bit for bit. TensorFlow's gradients merge a constant with a value that may be dead: see
 * node.may_agree.
 */
bool dfg_same_value(const struct dfg_tensor *one, const struct dfg_tensor *two);

/* A scalar with a buffer of its own. */
DFG_MUST_CHECK struct dfg_err *dfg_scalar(
	struct dfg_session *session, enum dfg_dtype dtype, struct dfg_tensor *out_tensor);
