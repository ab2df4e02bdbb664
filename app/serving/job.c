#include "app/serving/serving_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dfg_serving_job *dfg_job_new(struct dfg_served *served, struct dfg_web_request *request, const char *protocol)
{
	struct dfg_serving_job *job = dfg_zeros(1, sizeof *job);
	if (!job) {
		dfg_serving_error(served, request, protocol, 503, "no memory for the request");
		return NULL;
	}
	job->request = request;
	job->served = served;
	job->live = dfg_served_live(served);
	job->protocol = protocol;
	job->feed = dfg_arena_zeros(&job->arena, job->live->n_in, sizeof *job->feed);
	job->output = dfg_arena_zeros(&job->arena, job->live->n_out, sizeof *job->output);
	job->value = dfg_arena_zeros(&job->arena, job->live->n_out, sizeof *job->value);
	job->is_binary = dfg_arena_zeros(&job->arena, job->live->n_out, sizeof *job->is_binary);
	job->needed = dfg_arena_zeros(&job->arena, job->live->n_in, sizeof *job->needed);
	if (job->feed && job->output && job->value && job->is_binary && job->needed)
		return job;
	dfg_job_refuse(job, 0, dfg_no_memory("the request"));
	return NULL;
}

void dfg_job_free(struct dfg_serving_job *job)
{
	for (uint32_t i = 0; job->feed && i < job->live->n_in; i++)
		dfg_tensor_release(&job->feed[i]);
	struct dfg_serving *serving = job->served->serving;
	bool is_counted = dfg_stream_is_counted(job);
	for (uint32_t i = 0; job->value && i < job->n_output; i++)
		dfg_tensor_release(&job->value[i]);
	if (job->stream)
		dfg_stream_release(job);
	dfg_live_model_unref(job->live);
	dfg_arena_release(&job->arena);
	dfg_free(job);
	if (is_counted)
		dfg_stream_uncount(serving);
}

/* 422: the request's data caused it. */
int dfg_job_status(const struct dfg_err *err)
{
	switch (err->code) {
	case DFG_DATA:
		return 422;
	case DFG_MEMORY:
	case DFG_STOPPED:
		return 503;
	case DFG_DEADLINE:
		return 504;
	default:
		return 500;
	}
}

void dfg_job_refuse(struct dfg_serving_job *job, int status, struct dfg_err *err)
{
	dfg_serving_error(job->served, job->request, job->protocol, status ? status : dfg_job_status(err), "%s", err->text);
	dfg_err_free(err);
	dfg_job_free(job);
}

/* "a, b" for a message. */
static struct dfg_words names_of(const struct dfg_serving_port *port, uint32_t count)
{
	struct dfg_words words = {""};
	size_t at = 0;
	for (uint32_t i = 0; i < count && at + 4 < sizeof words.s; i++)
		at += (size_t)snprintf(words.s + at, sizeof words.s - at, "%s%.40s", i ? ", " : "", port[i].name);
	return words;
}

/* Clients may leave out the ":0" of a tensor, or add it. */
static bool is_name_of(const struct dfg_serving_port *port, const char *name)
{
	size_t length = strlen(name), own = strlen(port->name);
	if (length > 2 && !strcmp(name + length - 2, ":0"))
		length -= 2;
	if (own > 2 && !strcmp(port->name + own - 2, ":0"))
		own -= 2;
	return own == length && !memcmp(port->name, name, length);
}

struct dfg_err *dfg_job_find_input(struct dfg_serving_job *job, const char *name, uint32_t *out_input)
{
	const struct dfg_live_model *live = job->live;
	for (*out_input = 0; *out_input < live->n_in; ++*out_input)
		if (is_name_of(&live->in[*out_input], name))
			return NULL;
	return DFG_ERR(DFG_DATA, "model '%.100s' has no input '%.200s'; its inputs are: %s", job->served->name, name,
		names_of(live->in, live->n_in).s);
}

/* The only input that the output needs; -1: it needs none or several. */
static int64_t only_need(const struct dfg_live_model *live, const struct dfg_serving_port *out)
{
	int64_t only = -1;
	for (uint32_t i = 0; i < live->n_in; i++) {
		if (out->needs[i] && only >= 0)
			return -1;
		if (out->needs[i])
			only = i;
	}
	return only;
}

const char *dfg_job_only_input(const struct dfg_serving_job *job)
{
	const struct dfg_live_model *live = job->live;
	int64_t only = live->n_in == 1 ? 0 : -1;
	for (uint32_t i = 0; i < live->n_out && live->n_in > 1; i++) {
		int64_t input = only_need(live, &live->out[i]);
		if (input >= 0 && only >= 0 && input != only)
			return NULL;
		if (input >= 0)
			only = input;
	}
	return only < 0 ? NULL : live->in[only].name;
}

struct dfg_err *dfg_job_feed(struct dfg_serving_job *job, uint32_t input, struct dfg_tensor *tensor)
{
	const struct dfg_serving_port *port = &job->live->in[input];
	struct dfg_err *err = NULL;
	if (job->feed[input].dtype)
		err = DFG_ERR(DFG_DATA, "it is given more than once");
	else if (tensor->dtype != port->dtype || !dfg_shape_fits(&tensor->shape, &port->shape))
		err = DFG_ERR(DFG_DATA, "its value is %s, expected %s", dfg_type_words(tensor->dtype, &tensor->shape).s,
			dfg_type_words(port->dtype, &port->shape).s);
	if (err)
		dfg_tensor_release(tensor);
	else
		job->feed[input] = *tensor;
	return err;
}

struct dfg_err *dfg_job_fetch(struct dfg_serving_job *job, const char *name)
{
	const struct dfg_live_model *live = job->live;
	for (uint32_t i = 0; i < live->n_out; i++) {
		if (!is_name_of(&live->out[i], name))
			continue;
		for (uint32_t k = 0; k < job->n_output; k++)
			if (job->output[k] == i)
				return DFG_ERR(DFG_DATA, "output '%.200s' is asked for twice", name);
		job->output[job->n_output++] = i;
		return NULL;
	}
	return DFG_ERR(DFG_DATA, "model '%.100s' has no output '%.200s'; its outputs are: %s", job->served->name, name,
		names_of(live->out, live->n_out).s);
}

/* The first input that an output needs and that is not given, or -1. */
static int64_t lacks(const struct dfg_serving_job *job, const struct dfg_serving_port *out)
{
	for (uint32_t i = 0; i < job->live->n_in; i++)
		if (out->needs[i] && !job->feed[i].dtype)
			return i;
	return -1;
}

static struct dfg_err *is_missing(const struct dfg_serving_job *job, int64_t input)
{
	const struct dfg_serving_port *port = &job->live->in[input];
	return DFG_ERR(
		DFG_DATA, "input '%.200s' is missing: it is %s", port->name, dfg_type_words(port->dtype, &port->shape).s);
}

/* Whether an output that can be computed may have rows. */
static bool any_with_rows(const struct dfg_serving_job *job)
{
	for (uint32_t i = 0; i < job->live->n_out; i++)
		if (job->live->out[i].shape.rank && lacks(job, &job->live->out[i]) < 0)
			return true;
	return false;
}

/*
 * Without a list of outputs, the request is for all that can be computed from its inputs; scalars, such as a loss, are left
 * out of an answer by rows.
 */
static struct dfg_err *choose_outputs(struct dfg_serving_job *job)
{
	const struct dfg_live_model *live = job->live;
	int64_t missing = -1;
	for (uint32_t i = 0; i < job->n_output; i++)
		if ((missing = lacks(job, &live->out[job->output[i]])) >= 0)
			return is_missing(job, missing);
	if (job->n_output)
		return NULL;
	bool only_rows = job->by_row && any_with_rows(job);
	for (uint32_t i = 0; i < live->n_out; i++) {
		int64_t input = lacks(job, &live->out[i]);
		if (input < 0 && !(only_rows && !live->out[i].shape.rank))
			job->output[job->n_output++] = i;
		else if (input >= 0 && missing < 0)
			missing = input;
	}
	return job->n_output ? NULL : is_missing(job, missing);
}

/* The rows of the job's inputs, 0 if it may not share a step: an output forbids that, or the inputs' rows differ. */
static int64_t shared_rows(const struct dfg_serving_job *job)
{
	int64_t rows = -1;
	for (uint32_t k = 0; k < job->n_output; k++)
		if (job->live->out[job->output[k]].verdict->kind == DFG_ROWS_MIXED)
			return 0;
	for (uint32_t i = 0; i < job->live->n_in; i++) {
		const struct dfg_shape *shape = &job->feed[i].shape;
		if (!job->needed[i])
			continue;
		if (shape->rank < 1 || (rows >= 0 && shape->dim[0] != rows))
			return 0;
		rows = shape->dim[0];
	}
	return rows > 0 ? rows : 0;
}

static void find_needed(struct dfg_serving_job *job)
{
	for (uint32_t i = 0; i < job->live->n_in; i++)
		for (uint32_t k = 0; k < job->n_output; k++)
			job->needed[i] |= job->live->out[job->output[k]].needs[i];
	job->rows = shared_rows(job);
	dfg_quick_prepare(job);
}

bool dfg_job_joins(const struct dfg_serving_job *first, const struct dfg_serving_job *job)
{
	if (!job->rows || job->live != first->live || job->n_output != first->n_output ||
		memcmp(job->output, first->output, job->n_output * sizeof *job->output) != 0)
		return false;
	for (uint32_t i = 0; i < job->live->n_in; i++) {
		struct dfg_shape shape = first->feed[i].shape;
		if (!first->needed[i])
			continue;
		shape.dim[0] = job->rows;
		if (!dfg_shape_equal(&shape, &job->feed[i].shape))
			return false;
	}
	return true;
}

bool dfg_serving_timeout(const struct dfg_web_request *request, uint64_t *out_ns)
{
	const char *text = dfg_web_field(request, "x-timeout");
	char *end;
	if (!dfg_grpc_timeout(request, out_ns))
		return false;
	if (!text)
		return true;
	double seconds = strtod(text, &end);
	if (end == text || *end || !(seconds > 0) || seconds > 1e6)
		return false;
	*out_ns = (uint64_t)(seconds * 1e9);
	return true;
}

static bool set_deadline(struct dfg_serving_job *job)
{
	uint64_t ns;
	if (!dfg_serving_timeout(job->request, &ns))
		return false;
	if (ns)
		job->deadline_ns = job->request->begin_ns + ns;
	return true;
}

void dfg_job_submit(struct dfg_serving_job *job)
{
	struct dfg_err *err = choose_outputs(job);
	find_needed(job);
	if (!err && job->stream)
		err = dfg_stream_choose(job);
	if (err) {
		dfg_job_refuse(job, 422, err);
	} else if (!set_deadline(job)) {
		dfg_job_refuse(job, 400, DFG_ERR(DFG_DATA, DFG_SERVING_TIMEOUT_RULE));
	} else if (job->stream && !dfg_stream_count(job)) {
		dfg_job_refuse(job, 429,
			DFG_ERR(DFG_DATA, "there are already %lld streams (--max-streams)",
				(long long)job->served->serving->options.most_streams));
	} else if (!dfg_serving_push(job)) {
		dfg_job_refuse(job, 429,
			DFG_ERR(DFG_DATA, "model '%.100s' already has %lld waiting requests", job->served->name,
				(long long)job->served->serving->options.queue));
	}
}

void dfg_job_submit_json(struct dfg_serving_job *job, size_t size,
	struct dfg_err *(*read)(struct dfg_serving_job *job, const struct dfg_json *root))
{
	struct dfg_json *root;
	struct dfg_err *err = dfg_json_read(job->request->body, size, &job->arena, &root);
	bool is_malformed = err || root->kind != DFG_JSON_OBJECT;
	if (!err && is_malformed)
		err = DFG_ERR(DFG_DATA, "the body must be a JSON object, not %s", dfg_json_kind_name(root->kind));
	if (!err)
		err = read(job, root);
	if (err)
		dfg_job_refuse(job, is_malformed && err->code == DFG_DATA ? 400 : 0, err);
	else
		dfg_job_submit(job);
}
