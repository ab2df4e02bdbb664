#pragma once

#include "lib/graph/op.h"
#include "lib/lang/apply_private.h"

/* The arguments of a call of an op, assigned to its ports and attributes. */
struct dfg_arranged {
	const struct dfg_op *op;
	const struct dfg_signature *signature;
	const struct dfg_argument *port[DFG_PORT_MAX]; /* by input port, none NULL; borrowed from the call site */
	enum dfg_dtype param[DFG_PARAM_MAX];           /* by type parameter: the dtype that the arguments imply, or none */
	struct dfg_attr *attr;                         /* those given, in the arena */
	uint32_t n_attr;
};

/* Assigns the arguments. DFG_DATA: one is missing, unknown, given twice or of the wrong kind. */
DFG_MUST_CHECK struct dfg_err *dfg_op_arrange(
	struct dfg_eval *eval, const struct dfg_op *op, const struct dfg_call_site *site, struct dfg_arranged *out);

/* The inputs as edges, lists of tensors flattened, in the order of the ports; in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_op_inputs(
	struct dfg_eval *eval, const struct dfg_arranged *arranged, struct dfg_edge **out_edge, uint32_t *out_n);

/* Calls the op: builds its node, in order with the other accesses to the states that it reads or writes. */
DFG_MUST_CHECK struct dfg_err *dfg_op_apply(
	struct dfg_eval *eval, const struct dfg_op *op, const struct dfg_call_site *site, struct dfg_datum *out_datum);

/* The results of a node: a tensor, a list, or a TUPLE of these by output port. */
DFG_MUST_CHECK struct dfg_err *dfg_op_results(struct dfg_eval *eval, uint32_t node, struct dfg_datum *out_datum);
