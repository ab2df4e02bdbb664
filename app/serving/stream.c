#include "app/serving/serving_private.h"

#include "lib/base/mem.h"

#include <string.h>

/*
 * Answers as server-sent events: one for each iteration of a loop, with the elements that it yields to the requested
 * outputs, while the loop runs; then one with the other outputs. A stream has a thread of its own, so that one whose client
 * reads slowly delays no other request.
 */
static const char protocol[] = "stream";

enum {
	UNSENT_MOST = 256 << 10, /* bytes of events that are not sent yet, beyond which the step waits */
	LOOK_NS = 250000000,     /* the time after which a waiting step looks for other reasons to end */
};

/* Elements of one output, of iterations that overlap, from the index of the next event on. No dtype: it has not come. */
struct elements {
	struct dfg_tensor *at;
	size_t first, end, allocated;
	int64_t next; /* the index of at[first] */
};

struct dfg_serving_stream {
	const struct dfg_array_stack **stack; /* by requested output; NULL: it is not streamed */
	struct elements *elements;            /* by requested output */
	pthread_mutex_t lock;                 /* guards the rest while the step runs */
	bool is_counted, is_begun, is_stalled;
	uint64_t events;
};

/* Whether the output's element that comes next is there. */
static bool is_ready(const struct elements *elements)
{
	return elements->first < elements->end && elements->at[elements->first].dtype;
}

static struct dfg_err *keep(struct elements *elements, int64_t index, const struct dfg_tensor *value)
{
	if (index < elements->next)
		return DFG_ERR(DFG_DATA, "element %lld is written a second time", (long long)index);
	size_t offset = (size_t)(index - elements->next), left = elements->end - elements->first;
	if (elements->first > left) {
		memmove(elements->at, elements->at + elements->first, left * sizeof *elements->at);
		elements->first = 0;
		elements->end = left;
	}
	if (!dfg_reserve(&elements->at, &elements->allocated, elements->first + offset + 1, sizeof *elements->at))
		return dfg_no_memory("the elements of a stream");
	while (elements->end <= elements->first + offset)
		elements->at[elements->end++] = (struct dfg_tensor){0};
	return dfg_tensor_share(value, &elements->at[elements->first + offset]);
}

static struct dfg_err *check(void *arg)
{
	const struct dfg_serving_job *job = arg;
	if (atomic_load(&job->served->serving->ends_streams))
		return DFG_ERR(DFG_STOPPED, "the server is shutting down");
	return dfg_job_check_time(job);
}

/* The step waits while the client has many bytes to read; it may take its time if it reads at all. */
static struct dfg_err *wait_for_client(struct dfg_serving_job *job)
{
	double timeout = job->served->serving->options.timeout;
	uint64_t moved = dfg_now();
	for (size_t unsent, before = SIZE_MAX;; before = unsent) {
		unsent = dfg_web_wait(job->request, UNSENT_MOST, before, dfg_now() + LOOK_NS);
		if (unsent <= UNSENT_MOST)
			return NULL;
		DFG_TRY(check(job));
		if (unsent < before)
			moved = dfg_now();
		job->stream->is_stalled = dfg_now() > moved + (uint64_t)(timeout * 1e9);
		if (job->stream->is_stalled)
			return DFG_ERR(DFG_DEADLINE, "the client has read nothing for %g s", timeout);
	}
}

static void begin(struct dfg_serving_job *job)
{
	const struct dfg_web_answer answer = {
		.status = 200, .type = "text/event-stream", .field = "cache-control: no-store"};
	if (job->stream->is_begun)
		return;
	job->stream->is_begun = true;
	dfg_web_begin(job->request, &answer);
	pthread_mutex_lock(&job->served->lock);
	dfg_histogram_add(
		&job->served->first_event, (double)(dfg_now() - job->request->begin_ns) / 1e9, dfg_seconds_bounds);
	pthread_mutex_unlock(&job->served->lock);
}

/* Sends JSON as the data of an event; takes it. */
static void send_event(struct dfg_serving_job *job, const char *type, struct dfg_json_out *json)
{
	struct dfg_text text = {0};
	begin(job);
	if (type)
		dfg_text_add(&text, "event: %s\n", type);
	dfg_text_put(&text, "data: ", 6);
	if (json->text.length)
		dfg_text_put(&text, json->text.s, json->text.length);
	dfg_text_put(&text, "\n\n", 2);
	text.short_of_memory |= json->text.short_of_memory;
	dfg_text_release(&json->text);
	dfg_web_put(job->request, &text);
	job->stream->events++;
}

/* Whether output k is streamed by the loop. */
static bool is_of_loop(const struct dfg_serving_job *job, uint32_t k, uint32_t loop)
{
	return job->stream->stack[k] && job->stream->stack[k]->loop == loop;
}

/* Sends the next element of each output of the loop. */
static struct dfg_err *send_iteration(struct dfg_serving_job *job, uint32_t loop)
{
	struct dfg_json_out json = {0};
	struct dfg_err *err = NULL;
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "outputs"), dfg_json_open(&json, '[');
	for (uint32_t k = 0; k < job->n_output; k++) {
		struct elements *elements = &job->stream->elements[k];
		if (!is_of_loop(job, k, loop))
			continue;
		if (!err)
			err = dfg_kserve_put_output(&json, &job->live->out[job->output[k]], &elements->at[elements->first], false);
		dfg_tensor_release(&elements->at[elements->first++]);
		elements->next++;
	}
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	if (err) {
		dfg_text_release(&json.text);
		return err;
	}
	send_event(job, NULL, &json);
	return wait_for_client(job);
}

static bool is_loop_ready(const struct dfg_serving_job *job, uint32_t loop)
{
	for (uint32_t k = 0; k < job->n_output; k++)
		if (is_of_loop(job, k, loop) && !is_ready(&job->stream->elements[k]))
			return false;
	return true;
}

static bool is_written_by(const struct dfg_array_stack *stack, const char *node)
{
	for (uint32_t i = 0; stack && i < stack->n_writer; i++)
		if (!strcmp(stack->writer[i], node))
			return true;
	return false;
}

static struct dfg_err *take_element(void *arg, const char *node, int64_t index, const struct dfg_tensor *value)
{
	struct dfg_serving_job *job = arg;
	struct dfg_serving_stream *stream = job->stream;
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&stream->lock);
	for (uint32_t k = 0; k < job->n_output && !err; k++) {
		if (!is_written_by(stream->stack[k], node))
			continue;
		err = keep(&stream->elements[k], index, value);
		while (!err && is_loop_ready(job, stream->stack[k]->loop))
			err = send_iteration(job, stream->stack[k]->loop);
	}
	pthread_mutex_unlock(&stream->lock);
	return err;
}

/* Fetches only the flow of a streamed output: it comes when all elements are written, and their stack is not needed. */
static struct dfg_err *run_step(struct dfg_serving_job *job)
{
	const struct dfg_step_control control = {.check = check, .element = take_element, .arg = job};
	struct dfg_fed_step own;
	DFG_TRY(dfg_fed_step_make(job, &own));
	for (uint32_t k = 0; k < job->n_output; k++)
		if (job->stream->stack[k])
			own.fetch[k] = job->stream->stack[k]->flow;
	dfg_served_count_step(job->served, dfg_job_count_rows(job));
	DFG_TRY(dfg_fed_step_run(job, &own, &control));
	for (uint32_t k = 0; k < job->n_output; k++)
		job->value[k] = own.fetches[k];
	return NULL;
}

static struct dfg_err *send_done(struct dfg_serving_job *job)
{
	struct dfg_json_out json = {0};
	struct dfg_err *err = NULL;
	dfg_kserve_begin_answer(&json, job);
	for (uint32_t k = 0; k < job->n_output && !err; k++)
		if (!job->stream->stack[k])
			err = dfg_kserve_put_output(&json, &job->live->out[job->output[k]], &job->value[k], false);
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	if (err)
		dfg_text_release(&json.text);
	else
		send_event(job, "done", &json);
	return err;
}

/* Takes the error. */
static void send_error(struct dfg_serving_job *job, struct dfg_err *err)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "error"), dfg_json_string(&json, err->text);
	dfg_json_close(&json, '}');
	dfg_err_free(err);
	send_event(job, "error", &json);
}

static void count(struct dfg_serving_job *job, int status)
{
	struct dfg_served *served = job->served;
	dfg_served_count(served, protocol, status);
	pthread_mutex_lock(&served->lock);
	served->events += job->stream->events;
	dfg_histogram_add(&served->seconds, (double)(dfg_now() - job->request->begin_ns) / 1e9, dfg_seconds_bounds);
	pthread_mutex_unlock(&served->lock);
}

static void *run_stream(void *arg)
{
	struct dfg_serving_job *job = arg;
	struct dfg_err *err = run_step(job);
	int status = 200;
	dfg_served_end_turn(job->served);
	if (!err)
		err = send_done(job);
	if (err && !job->stream->is_begun) {
		dfg_job_refuse(job, 0, err);
		return NULL;
	}
	if (err) {
		status = dfg_job_status(err);
		send_error(job, err);
	}
	count(job, status);
	dfg_web_end(job->request, !job->stream->is_stalled);
	dfg_job_free(job);
	return NULL;
}

void dfg_stream_run(struct dfg_serving_job *job)
{
	struct dfg_served *served = job->served;
	pthread_t thread;
	job = dfg_jobs_drop_late(job);
	if (job && !pthread_create(&thread, NULL, run_stream, job)) {
		pthread_detach(thread);
		return;
	}
	if (job)
		dfg_job_refuse(job, 0, DFG_ERR(DFG_MEMORY, "cannot start a thread for the stream"));
	dfg_served_end_turn(served);
}

struct dfg_err *dfg_stream_choose(struct dfg_serving_job *job)
{
	struct dfg_serving_stream *stream = job->stream;
	bool any = false;
	stream->stack = dfg_arena_zeros(&job->arena, job->n_output, sizeof *stream->stack);
	stream->elements = dfg_arena_zeros(&job->arena, job->n_output, sizeof *stream->elements);
	if (!stream->stack || !stream->elements)
		return dfg_no_memory("the request");
	for (uint32_t k = 0; k < job->n_output; k++) {
		const struct dfg_serving_port *port = &job->live->out[job->output[k]];
		if (job->is_binary[job->output[k]])
			return DFG_ERR(
				DFG_DATA, "output '%.200s': binary_data is not possible, because events are text", port->name);
		stream->stack[k] = port->stack.n_writer ? &port->stack : NULL;
		any |= stream->stack[k] != NULL;
	}
	job->rows = 0;
	return any ? NULL
			   : DFG_ERR(DFG_DATA,
					 "no requested output of model '%.100s' stacks what a loop yields, so there is nothing to stream; "
					 "/v2/models/NAME/infer gives the outputs at once",
					 job->served->name);
}

bool dfg_stream_count(struct dfg_serving_job *job)
{
	struct dfg_serving *serving = job->served->serving;
	pthread_mutex_lock(&serving->lock);
	job->stream->is_counted = serving->streams < serving->options.most_streams;
	serving->streams += job->stream->is_counted;
	pthread_mutex_unlock(&serving->lock);
	return job->stream->is_counted;
}

void dfg_stream_release(struct dfg_serving_job *job)
{
	struct dfg_serving_stream *stream = job->stream;
	for (uint32_t k = 0; stream->elements && k < job->n_output; k++) {
		struct elements *elements = &stream->elements[k];
		for (size_t i = elements->first; i < elements->end; i++)
			dfg_tensor_release(&elements->at[i]);
		dfg_free(elements->at);
	}
	pthread_mutex_destroy(&stream->lock);
}

void dfg_stream_uncount(struct dfg_serving *serving)
{
	pthread_mutex_lock(&serving->lock);
	serving->streams--;
	pthread_cond_broadcast(&serving->work);
	pthread_mutex_unlock(&serving->lock);
}

bool dfg_stream_is_counted(const struct dfg_serving_job *job)
{
	return job->stream && job->stream->is_counted;
}

void dfg_stream_post(struct dfg_served *served, struct dfg_web_request *request)
{
	if (strcmp(request->method, "POST") != 0) {
		dfg_serving_error(served, request, protocol, 405, "the method of %.200s must be POST", request->path);
		return;
	}
	struct dfg_serving_job *job = dfg_job_new(served, request, protocol);
	if (!job)
		return;
	job->stream = dfg_arena_zeros(&job->arena, 1, sizeof *job->stream);
	if (!job->stream) {
		dfg_job_refuse(job, 0, dfg_no_memory("the request"));
		return;
	}
	pthread_mutex_init(&job->stream->lock, NULL);
	dfg_job_submit_json(job, request->size, dfg_kserve_read_request);
}
