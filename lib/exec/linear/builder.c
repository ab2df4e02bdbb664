#include "lib/exec/linear/builder_private.h"

#define BYTES_MOST ((size_t)1 << 46) /* of a value that is worth a plan */

/* Questions that every step of building a program asks of a slot or a record. */

size_t dfg_laying_bytes(const struct laying *laying, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	size_t bytes = 0;
	struct dfg_err *err = dfg_shape_bytes(&fact->shape, fact->dtype, &bytes);
	dfg_err_free(err);
	return err ? BYTES_MOST : bytes;
}

bool dfg_laying_fits(const struct laying *laying, uint32_t slot)
{
	const struct dfg_fact *fact = &laying->fact[slot];
	return dfg_is_plain(fact->dtype) && dfg_shape_known(&fact->shape) && !laying->plan->is_ref[slot] &&
		   dfg_laying_bytes(laying, slot) < BYTES_MOST;
}

/* A constant of a branch or a loop, which waits for its predicate only. */
bool dfg_laying_constant(const struct laying *laying, const struct record *record)
{
	return record->role == DFG_CONST && laying->plan->preset[dfg_record_out(laying->plan, record, 0)].dtype;
}

/* Small integers that follow from shapes: the node need not run. */
bool dfg_laying_known(const struct laying *laying, const struct record *record)
{
	if (record->role != DFG_PLAIN || !record->n_out || record->call->op->flags & (DFG_STATEFUL | DFG_BLOCKING) ||
		laying->plan->session->options.no_opt)
		return false;
	for (int i = 0; i < record->n_out; i++)
		if (!dfg_known_whole(laying->fact[dfg_record_out(laying->plan, record, i)].known))
			return false;
	return true;
}

uint32_t dfg_laying_over(const struct course *course, uint32_t one, uint32_t two)
{
	if (one == (uint32_t)UNWRITTEN || one == two)
		return two;
	while (one != NEVER && two != NEVER && one != two) {
		bool first = course->guard[one].depth >= course->guard[two].depth;
		uint32_t *deeper = first ? &one : &two;
		*deeper = course->guard[*deeper].depth ? course->guard[*deeper].parent : NEVER;
	}
	return one == two ? one : NEVER;
}

void dfg_laying_join(struct laying *laying, uint32_t one, uint32_t two)
{
	one = dfg_group_of(laying, one), two = dfg_group_of(laying, two);
	laying->group[two] = one;
	laying->first[one] = laying->first[two] < laying->first[one] ? laying->first[two] : laying->first[one];
	laying->last[one] = laying->last[two] > laying->last[one] ? laying->last[two] : laying->last[one];
	if (laying->under[two] != (uint32_t)UNWRITTEN)
		laying->under[one] = dfg_laying_over(laying->course, laying->under[one], laying->under[two]);
}
