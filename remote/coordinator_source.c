#include "remote/coordinator_private.h"

#include "formats/array.h"

uint32_t dfg_coordinator_home(const struct dfg_coordinator *coordinator, uint32_t node)
{
	return coordinator->home[node].worker;
}

/* A node with clones on several workers is fed on each of them, but the file is on one worker. */
static struct dfg_err *check_alone(struct dfg_coordinator *coordinator, uint32_t node)
{
	struct dfg_arena scratch = {0};
	struct dfg_err *err = NULL;
	const char *name = coordinator->graph->node[node].name;
	for (uint32_t w = 0; w < coordinator->width && !err; w++) {
		const char *clone = dfg_clone_name(&scratch, w, name);
		if (!clone)
			err = dfg_no_memory("the name of a clone");
		else if (dfg_graph_find(&coordinator->parts->part[w], clone) != DFG_NONE)
			err = DFG_ERR(DFG_DATA, "'%s' is a constant that %s has a copy of: feed it with a file of this machine",
				name, coordinator->options.peer[w].name);
	}
	dfg_arena_release(&scratch);
	return err;
}

static struct dfg_err *get_source(
	struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_coordinator_source *out_source)
{
	struct dfg_packet *answer = &coordinator->state[worker].answer;
	out_source->number = dfg_packet_get_u32(answer);
	uint64_t dtype = dfg_packet_get(answer);
	dfg_packet_get_shape(answer, &out_source->all.shape);
	DFG_TRY(dfg_packet_check(answer));
	if (!dtype || dtype >= DFG_DTYPES || !dfg_shape_known(&out_source->all.shape))
		return DFG_ERR(DFG_PROTOCOL, "%s gave no valid dtype for a file", coordinator->options.peer[worker].name);
	out_source->all.dtype = (enum dfg_dtype)dtype;
	return NULL;
}

static struct dfg_err *open_source(struct dfg_coordinator *coordinator, uint32_t worker, const char *spec,
	const struct dfg_array_input *input, struct dfg_coordinator_source *out_source)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_SOURCE};
	dfg_packet_put_text(&packet, spec);
	dfg_packet_put(&packet, input->dtype);
	dfg_packet_put_shape(&packet, &input->shape);
	dfg_coordinator_ask(coordinator, worker, &packet);
	struct dfg_err *err = dfg_coordinator_answers_in(coordinator, spec);
	if (err && err->code == DFG_DATA) /* the other codes already name the worker */
		return dfg_err_note(err, "%s", coordinator->options.peer[worker].name);
	if (err)
		return err;
	err = get_source(coordinator, worker, out_source);
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

struct dfg_err *dfg_coordinator_open(struct dfg_coordinator *coordinator, uint32_t node, const char *spec,
	const struct dfg_array_input *input, struct dfg_coordinator_source *out_source)
{
	*out_source = (struct dfg_coordinator_source){0};
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = check_alone(coordinator, node);
	if (!err)
		err = open_source(coordinator, coordinator->home[node].worker, spec, input, out_source);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}
