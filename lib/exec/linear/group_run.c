#include "lib/exec/linear/group_private.h"

#include "lib/exec/linear/activation_private.h"

static struct dfg_err *take_output(struct activation *activation, uint32_t slot)
{
	struct dfg_tensor *out = &activation->tensor[slot];
	struct dfg_buffer *buffer;
	dfg_tensor_release(out);
	*out = activation->program->start[slot];
	DFG_TRY(dfg_buffer_pool_take(activation->plan->session->buffers, out->dtype, out->capacity, &buffer));
	out->buffer = buffer;
	out->data = buffer->data;
	activation->runner.took = true;
	return NULL;
}

static struct dfg_err *check_input(const struct dfg_tensor *in, const struct dfg_inferred *type)
{
	if (in->dtype == type->dtype && dfg_shape_equal(&in->shape, &type->shape))
		return NULL;
	return DFG_ERR(DFG_BUG, "an input is %s, but was inferred to be %s", dfg_type_words(in->dtype, &in->shape).s,
		dfg_type_words(type->dtype, &type->shape).s);
}

struct dfg_err *dfg_group_run(struct activation *activation, const struct instruction *instruction)
{
	const struct group *group = instruction->group;
	struct dfg_tensor *const *at = activation->at + instruction->first;
	const uint32_t *use = activation->program->use + instruction->first;
	const void *in[INPUTS_MOST];
	void *out[MEMBERS_MOST];
	for (int i = 0; i < instruction->n_in; i++) {
		DFG_TRY(check_input(at[i], &group->type[i]));
		in[i] = at[i]->data;
	}
	for (int i = 0; i < instruction->n_out; i++) {
		uint32_t slot = use[instruction->n_in + i];
		if (!activation->program->in_block[slot])
			DFG_TRY(take_output(activation, slot));
		out[i] = at[instruction->n_in + i]->data;
	}
	if (group->attention)
		return dfg_attention_run(activation, group->attention, at, out[0]);
	struct dfg_kernel ctx = {.host = dfg_runner_services(), .runner = &activation->runner};
	dfg_tile_run(&group->tile, &ctx, in, out);
	return NULL;
}

void dfg_group_write_in_place(struct program_builder *builder, const struct instruction *instruction, uint32_t o)
{
	const uint32_t *use = builder->program->use + instruction->first;
	for (int k = 0; k < instruction->n_out; k++) {
		uint32_t out = use[instruction->n_in + k];
		for (int i = 0; i < instruction->n_in && builder->storage[out] == out; i++) {
			if (builder->storage[use[i]] == DFG_NONE || !dfg_is_last_use(builder, instruction, o, i) ||
				!dfg_tile_may_overwrite(&instruction->group->tile, i, k))
				continue;
			builder->storage[out] = builder->storage[use[i]];
			dfg_alias_join(builder, use[i], out);
		}
	}
}
