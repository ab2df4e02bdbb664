#include "lib/exec/linear/builder_private.h"

#define BYTES_MOST ((size_t)1 << 46) /* a larger value has no fixed address */

/* Properties of slots and nodes that all parts of the program builder use. */

size_t dfg_slot_bytes(const struct program_builder *builder, uint32_t slot)
{
	const struct dfg_inferred *fact = &builder->fact[slot];
	size_t bytes = 0;
	struct dfg_err *err = dfg_shape_bytes(&fact->shape, fact->dtype, &bytes);
	dfg_err_free(err);
	return err ? BYTES_MOST : bytes;
}

bool dfg_slot_has_fixed_size(const struct program_builder *builder, uint32_t slot)
{
	const struct dfg_inferred *fact = &builder->fact[slot];
	return dfg_is_plain(fact->dtype) && dfg_shape_known(&fact->shape) && !builder->plan->is_ref[slot] &&
		   dfg_slot_bytes(builder, slot) < BYTES_MOST;
}

bool dfg_is_bound_constant(const struct program_builder *builder, const struct plan_node *node)
{
	return node->role == DFG_CONST && builder->plan->preset[dfg_plan_node_out(builder->plan, node, 0)].dtype;
}

bool dfg_is_known_node(const struct program_builder *builder, const struct plan_node *node)
{
	if (node->role != DFG_PLAIN || !node->n_out || node->call->op->flags & (DFG_STATEFUL | DFG_BLOCKING) ||
		builder->plan->session->options.no_opt)
		return false;
	for (int i = 0; i < node->n_out; i++)
		if (!dfg_known_whole(builder->fact[dfg_plan_node_out(builder->plan, node, i)].known))
			return false;
	return true;
}

uint32_t dfg_condition_over(const struct schedule *schedule, uint32_t one, uint32_t two)
{
	if (one == (uint32_t)UNWRITTEN || one == two)
		return two;
	while (one != UNREACHABLE && two != UNREACHABLE && one != two) {
		bool first = schedule->condition[one].depth >= schedule->condition[two].depth;
		uint32_t *deeper = first ? &one : &two;
		*deeper = schedule->condition[*deeper].depth ? schedule->condition[*deeper].parent : UNREACHABLE;
	}
	return one == two ? one : UNREACHABLE;
}

void dfg_alias_join(struct program_builder *builder, uint32_t one, uint32_t two)
{
	one = dfg_alias_class(builder, one), two = dfg_alias_class(builder, two);
	builder->alias_class[two] = one;
	builder->first[one] = builder->first[two] < builder->first[one] ? builder->first[two] : builder->first[one];
	builder->last[one] = builder->last[two] > builder->last[one] ? builder->last[two] : builder->last[one];
	if (builder->dominating[two] != (uint32_t)UNWRITTEN)
		builder->dominating[one] =
			dfg_condition_over(builder->schedule, builder->dominating[one], builder->dominating[two]);
}
