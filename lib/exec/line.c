#include "lib/exec/plan.h"

#include <string.h>

static uint32_t in_slot(const struct context *context, const struct record *record, int i)
{
	return context->plan->slot[record->first + (uint32_t)i];
}

static uint32_t out_slot(const struct context *context, const struct record *record, int i)
{
	return context->plan->slot[record->first + record->n_in + (uint32_t)i];
}

/* Output i gets what input j is: a reference, or the ref. A borrowed value stays borrowed: it outlives the step. */
static void pass(struct context *context, const struct record *record, int i, int j)
{
	uint32_t from = in_slot(context, record, j), to = out_slot(context, record, i);
	context->ref[to] = context->ref[from];
	context->tensor[to] = context->tensor[from];
	dfg_buffer_ref(context->tensor[to].buffer);
}

static void kill_outputs(struct context *context, const struct record *record)
{
	for (int i = 0; i < record->n_out; i++)
		context->dead[out_slot(context, record, i)] = true;
}

static struct dfg_err *run_switch(struct context *context, const struct record *record)
{
	const struct dfg_tensor *predicate = context->at[record->first + 1];
	if (dfg_shape_count(&predicate->shape) != 1)
		return DFG_ERR(
			DFG_DATA, "the predicate must be a scalar, not %s", dfg_type_words(predicate->dtype, &predicate->shape).s);
	bool taken = *(const bool *)predicate->data;
	context->death[record - context->plan->record].predicate = taken;
	pass(context, record, taken, 0);
	context->dead[out_slot(context, record, !taken)] = true;
	return NULL;
}

/* Takes the one live input; all dead is seen before. */
static struct dfg_err *run_merge(struct context *context, const struct record *record)
{
	int live = -1;
	for (int i = 0; i < record->n_in; i++) {
		if (context->dead[in_slot(context, record, i)])
			continue;
		if (live >= 0)
			return DFG_ERR(DFG_DATA, "inputs %d and %d are both live", live, i);
		live = i;
	}
	pass(context, record, 0, live);
	struct dfg_tensor *index = context->at[record->first + record->n_in + 1];
	DFG_TRY(dfg_tensor_new(DFG_I32, &DFG_SHAPE_SCALAR, index));
	*(int32_t *)index->data = live;
	return NULL;
}

static struct dfg_err *run_role(struct context *context, const struct record *record)
{
	switch (record->role) {
	case DFG_SWITCH:
		return run_switch(context, record);
	case DFG_MERGE:
		return run_merge(context, record);
	case DFG_IDENTITY:
	case DFG_PLACEHOLDER_DEFAULT:
	case DFG_LOOP_COND:
		for (int i = 0; i < record->n_out; i++)
			pass(context, record, i, i);
		return NULL;
	case DFG_CONST:
	case DFG_NO_OP:
	case DFG_CONTROL_TRIGGER:
		return NULL;
	default:
		return DFG_ERR(DFG_DATA, "cannot run outside a loop");
	}
}

static struct dfg_err *run_kernel(struct context *context, const struct record *record, struct dfg_tensor *const *in)
{
	struct dfg_tensor *const *at = context->at + record->first;
	struct dfg_kernel ctx = {record->call, in ? in : at, at + record->n_in, &dfg_exec_host, context};
	context->record = record;
	struct dfg_err *err = record->run(&ctx);
	if (context->scratch.chunk)
		dfg_arena_release(&context->scratch);
	return err;
}

/* A ref that is read gives its value at the turn of the reader. */
static struct dfg_err *run_reading_refs(struct context *context, const struct record *record)
{
	struct dfg_tensor *const *at = context->at + record->first;
	struct dfg_tensor *value = dfg_zeros(record->n_in, sizeof *value + sizeof(void *));
	if (!value)
		return DFG_ERR(DFG_MEMORY, "out of memory");
	struct dfg_tensor **in = (struct dfg_tensor **)(value + record->n_in);
	struct dfg_err *err = NULL;
	for (int i = 0; i < record->n_in && !err; i++) {
		uint32_t slot = in_slot(context, record, i);
		bool is_ref = context->plan->kind[slot] == SLOT_REF;
		in[i] = is_ref ? &value[i] : at[i];
		if (is_ref)
			err = dfg_variable_read(context->ref[slot], &value[i]);
	}
	if (!err && record->run)
		err = run_kernel(context, record, in);
	else if (!err)
		err = dfg_tensor_share(in[0], at[record->n_in]);
	for (int i = 0; i < record->n_in; i++)
		dfg_tensor_release(&value[i]);
	dfg_free(value);
	return err;
}

struct death dfg_death_of(const struct context *context, uint32_t slot)
{
	uint32_t r = context->plan->maker[slot];
	struct death death = context->death[r];
	return death.killer ? death : (struct death){r + 1, death.predicate};
}

/* Strict nodes die of one dead input; a Merge of all; a ControlTrigger of none. */
static bool is_dead(const struct context *context, const struct record *record, struct death *out_death)
{
	const struct dfg_plan *plan = context->plan;
	int dead = 0;
	if (record->role == DFG_CONTROL_TRIGGER)
		return false;
	for (int i = 0; i < record->n_in; i++) {
		uint32_t slot = in_slot(context, record, i);
		if (context->dead[slot] && !dead++)
			*out_death = dfg_death_of(context, slot);
	}
	if (record->role == DFG_MERGE)
		return dead == record->n_in;
	for (uint32_t i = 0; i < record->n_control && !dead; i++) {
		uint32_t before = plan->control[record->first_control + i];
		if (context->death[before].killer) {
			*out_death = context->death[before];
			dead++;
		}
	}
	return dead;
}

static struct dfg_err *run_record(struct context *context, const struct record *record)
{
	struct death death = {0};
	if (record->may_die && is_dead(context, record, &death)) {
		kill_outputs(context, record);
		context->death[record - context->plan->record] = death;
		return NULL;
	}
	if (record->reads_ref)
		return run_reading_refs(context, record);
	return record->run ? run_kernel(context, record, NULL) : run_role(context, record);
}

struct dfg_err *dfg_line_run(struct context *context)
{
	const struct dfg_plan *plan = context->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		struct dfg_err *err = run_record(context, record);
		if (err)
			return dfg_call_note(err, record->call);
		for (uint32_t i = 0; i < record->n_release; i++)
			dfg_tensor_release(&context->tensor[plan->release[record->first_release + i]]);
	}
	return NULL;
}
