#include "remote/coordinator_private.h"

#include "remote/batch_rows.h"

#include <string.h>

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
			err = DFG_ERR(DFG_DATA,
				"'%s' is a constant of which %s has a copy, so it cannot be fed rows of a file on another host: feed a "
				"file of this machine",
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
	out_source->digest = dfg_packet_get_u32(answer);
	DFG_TRY(dfg_packet_check(answer));
	if (!dtype || dtype >= DFG_DTYPES || !dfg_shape_known(&out_source->all.shape))
		return DFG_ERR(
			DFG_PROTOCOL, "%s sent an invalid dtype for a file of samples", coordinator->options.peer[worker].name);
	out_source->all.dtype = (enum dfg_dtype)dtype;
	return NULL;
}

static struct dfg_err *note_source(
	struct dfg_coordinator *coordinator, uint32_t worker, const char *spec, const struct dfg_array_input *input)
{
	size_t length = strlen(spec) + 1;
	char *copy = dfg_zeros(length, 1);
	if (!copy || !dfg_reserve(&coordinator->source, &coordinator->source_capacity, coordinator->sources + 1,
					 sizeof *coordinator->source)) {
		dfg_free(copy);
		return dfg_no_memory("a file of samples");
	}
	memcpy(copy, spec, length);
	coordinator->source[coordinator->sources++] = (struct opened_source){worker, copy, input->dtype, input->shape};
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

struct dfg_err *dfg_coordinator_open_again(struct dfg_coordinator *coordinator, const struct opened_source *source)
{
	struct dfg_coordinator_source again = {0};
	struct dfg_array_input input = {.dtype = source->dtype, .shape = source->shape};
	return open_source(coordinator, source->worker, source->spec, &input, &again);
}

struct dfg_err *dfg_coordinator_open(struct dfg_coordinator *coordinator, uint32_t node, const char *spec,
	const struct dfg_array_input *input, struct dfg_coordinator_source *out_source)
{
	*out_source = (struct dfg_coordinator_source){0};
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = check_alone(coordinator, node);
	if (!err)
		err = open_source(coordinator, coordinator->home[node].worker, spec, input, out_source);
	if (!err)
		err = note_source(coordinator, coordinator->home[node].worker, spec, input);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

struct dfg_err *dfg_coordinator_open_on(struct dfg_coordinator *coordinator, uint32_t worker, const char *spec,
	const struct dfg_array_input *input, struct dfg_coordinator_source *out_source)
{
	*out_source = (struct dfg_coordinator_source){0};
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = open_source(coordinator, worker, spec, input, out_source);
	if (!err)
		err = note_source(coordinator, worker, spec, input);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

bool dfg_coordinator_feeds_one(struct dfg_coordinator *coordinator, uint32_t node)
{
	struct dfg_err *err = check_alone(coordinator, node);
	bool alone = !err;
	dfg_err_free(err);
	return alone;
}

static struct dfg_err *get_rows(struct dfg_coordinator *coordinator, struct dfg_coordinator_rows *rows)
{
	struct dfg_packet *answer = &coordinator->state[rows->worker].answer;
	struct dfg_shape shape = rows->like->shape;
	shape.dim[0] = rows->n;
	dfg_packet_get_tensor(answer, &rows->batch);
	DFG_TRY(dfg_packet_check(answer));
	if (rows->batch.dtype != rows->like->dtype || !dfg_shape_equal(&rows->batch.shape, &shape))
		return DFG_ERR(DFG_PROTOCOL, "%s sent rows of %s, expected %s", coordinator->options.peer[rows->worker].name,
			dfg_type_words(rows->batch.dtype, &rows->batch.shape).s, dfg_type_words(rows->like->dtype, &shape).s);
	return NULL;
}

static struct dfg_err *ask_rows(struct dfg_coordinator *coordinator, const struct dfg_coordinator_rows *rows)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_ROWS};
	struct dfg_tensor numbers = {0};
	DFG_TRY(dfg_rows_new(rows->like, rows->source, 0, rows->order, rows->n, &numbers));
	dfg_rows_put(&packet, &numbers, rows->worker);
	dfg_tensor_release(&numbers);
	dfg_coordinator_ask(coordinator, rows->worker, &packet);
	return NULL;
}

/* One request of each worker; *out_more tells whether some remain for workers with several. */
static struct dfg_err *request_round(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_rows *rows, size_t count, bool *asked, bool *out_more)
{
	struct dfg_err *err = NULL;
	memset(asked, 0, count * sizeof *asked);
	*out_more = false;
	for (size_t i = 0; !err && i < count; i++) {
		bool busy = false;
		for (size_t k = 0; k < i; k++)
			busy |= asked[k] && rows[k].worker == rows[i].worker;
		*out_more |= !rows[i].taken && busy;
		asked[i] = !rows[i].taken && !busy;
		if (asked[i])
			err = ask_rows(coordinator, &rows[i]);
	}
	struct dfg_err *failed = dfg_coordinator_answers_in(coordinator, "samples");
	if (failed && failed->code == DFG_DATA && coordinator->blamed != DFG_NONE) /* the other codes name the worker */
		failed = dfg_err_note(failed, "%s", coordinator->options.peer[coordinator->blamed].name);
	if (err || failed) {
		dfg_coordinator_drop_answers(coordinator);
		return dfg_err_join(err, failed);
	}
	for (size_t i = 0; !err && i < count; i++) {
		rows[i].taken |= asked[i];
		if (asked[i])
			err = get_rows(coordinator, &rows[i]);
	}
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

struct dfg_err *dfg_coordinator_request_rows(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_rows *rows, size_t count)
{
	bool more = true, *asked = dfg_zeros(count, sizeof *asked);
	if (!asked)
		return dfg_no_memory("the requests of rows");
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&coordinator->request_lock);
	while (!err && more)
		err = request_round(coordinator, rows, count, asked, &more);
	pthread_mutex_unlock(&coordinator->request_lock);
	dfg_free(asked);
	return err;
}
