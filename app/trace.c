#include "app/trace.h"

#include "formats/json.h"
#include "lib/base/io.h"
#include "lib/base/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Events come from any thread and are written immediately: their data does not outlive the call, and there may be many.
 */
struct dfg_trace {
	pthread_mutex_t lock;
	struct dfg_out out;
	struct dfg_json_out json; /* output not yet written to the file */
	struct dfg_err *err;      /* the first write error */
	uint64_t begin_ns;        /* time at which the trace was opened; no event is earlier */
	int named;                /* number of workers already named; -1: processes have names of their own */
	size_t left;              /* bytes that may still be written */
	uint64_t dropped;         /* events that were not */
};

static void write_out(struct dfg_trace *trace)
{
	struct dfg_text *text = &trace->json.text;
	if (!trace->err)
		trace->err = dfg_text_check(text);
	if (!trace->err)
		trace->err = dfg_out_write(&trace->out, text->s, text->length);
	trace->left -= text->length < trace->left ? text->length : trace->left;
	text->length = 0;
}

/* Writes to the file, or to `text` where it is not NULL. */
static struct dfg_err *new_trace(const char *path, struct dfg_text *text, size_t most, struct dfg_trace **out_trace)
{
	struct dfg_trace *trace = dfg_zeros(1, sizeof *trace);
	if (!trace || pthread_mutex_init(&trace->lock, NULL)) {
		dfg_free(trace);
		return dfg_no_memory("the trace");
	}
	trace->left = most;
	struct dfg_err *err = text ? dfg_out_open_memory(text, &trace->out) : dfg_out_open(path, false, &trace->out);
	if (err) {
		dfg_trace_free(trace);
		return err;
	}
	trace->begin_ns = dfg_now();
	dfg_json_open(&trace->json, '{');
	dfg_json_key(&trace->json, "traceEvents");
	dfg_json_open(&trace->json, '[');
	*out_trace = trace;
	return NULL;
}

struct dfg_err *dfg_trace_new(const char *path, struct dfg_trace **out_trace)
{
	return new_trace(path, NULL, SIZE_MAX, out_trace);
}

struct dfg_err *dfg_trace_new_memory(struct dfg_text *text, size_t most_bytes, struct dfg_trace **out_trace)
{
	DFG_TRY(new_trace(NULL, text, most_bytes, out_trace));
	(*out_trace)->named = -1;
	return NULL;
}

static void print_args(struct dfg_json_out *json, const struct dfg_coordinator_event *all)
{
	const struct dfg_trace_event *event = &all->node;
	dfg_json_key(json, "args");
	dfg_json_open(json, '{');
	dfg_json_key(json, "op");
	dfg_json_string(json, event->op);
	dfg_json_key(json, "frame");
	dfg_json_string(json, event->frame ? event->frame : "");
	dfg_json_key(json, "iteration");
	dfg_json_open(json, '[');
	for (int i = 0; i < event->depth; i++)
		dfg_json_int(json, event->iteration[i]);
	dfg_json_close(json, ']');
	dfg_json_key(json, "dead");
	dfg_json_bool(json, event->dead);
	if (event->transfer) {
		dfg_json_key(json, "tensor");
		dfg_json_bytes(json, all->tensor.s, all->tensor.length);
	}
	dfg_json_close(json, '}');
}

/* Microseconds since the start, not below 0: clocks of other hosts are known within some microseconds only. */
static double since(const struct dfg_trace *trace, uint64_t ns)
{
	return ns > trace->begin_ns ? (double)(ns - trace->begin_ns) / 1000 : 0;
}

/* Names a process for viewers, which would show its number. */
static void name_process(struct dfg_json_out *json, int process, const char *name)
{
	dfg_json_open(json, '{');
	dfg_json_key(json, "name"), dfg_json_string(json, "process_name");
	dfg_json_key(json, "ph"), dfg_json_string(json, "M");
	dfg_json_key(json, "pid"), dfg_json_int(json, process);
	dfg_json_key(json, "args"), dfg_json_open(json, '{');
	dfg_json_key(json, "name"), dfg_json_string(json, name);
	dfg_json_close(json, '}');
	dfg_json_close(json, '}');
}

static void print_head(struct dfg_trace *trace, struct dfg_string name, const char *category, const char *phase,
	const struct dfg_coordinator_event *event)
{
	struct dfg_json_out *json = &trace->json;
	dfg_json_open(json, '{');
	dfg_json_key(json, "name");
	dfg_json_bytes(json, name.s, name.length);
	dfg_json_key(json, "cat");
	dfg_json_string(json, category);
	dfg_json_key(json, "ph");
	dfg_json_string(json, phase);
	dfg_json_key(json, "pid");
	dfg_json_int(json, event->worker);
	dfg_json_key(json, "tid");
	dfg_json_int(json, event->node.thread);
	dfg_json_key(json, "ts");
}

/*
 * A flow arrow from the start of a transfer to its end: both have its tensor as name, and its step, number and iterations as
 * id.
 */
static void print_flow(struct dfg_trace *trace, const struct dfg_coordinator_event *event)
{
	struct dfg_json_out *json = &trace->json;
	struct dfg_text id = {0};
	dfg_text_add(&id, "%llu.%u", (unsigned long long)event->step, event->node.transfer - 1);
	for (int i = 0; i < event->node.depth; i++)
		dfg_text_add(&id, ".%lld", (long long)event->node.iteration[i]);
	print_head(trace, event->tensor, "transfer", event->node.sends ? "s" : "f", event);
	dfg_json_f64(json, since(trace, event->node.sends ? event->node.begin_ns : event->node.end_ns));
	if (!event->node.sends) {
		dfg_json_key(json, "bp");
		dfg_json_string(json, "e");
	}
	dfg_json_key(json, "id");
	dfg_json_string(json, id.s ? id.s : "");
	dfg_json_close(json, '}');
	dfg_text_release(&id);
}

/* One end, "b" or "e", of a span on the track of a bucket. */
static void print_end(struct dfg_trace *trace, const struct dfg_coordinator_event *event, struct dfg_string name,
	const char *phase, uint64_t ns)
{
	struct dfg_json_out *json = &trace->json;
	char id[16];
	snprintf(id, sizeof id, "%u", event->node.bucket - 1);
	print_head(trace, name, "bucket", phase, event);
	dfg_json_f64(json, since(trace, ns));
	dfg_json_key(json, "id2"), dfg_json_open(json, '{');
	dfg_json_key(json, "local"), dfg_json_string(json, id);
	dfg_json_close(json, '}');
	dfg_json_key(json, "args"), dfg_json_open(json, '{');
	dfg_json_key(json, "bucket"), dfg_json_int(json, event->node.bucket - 1);
	if (*event->node.node)
		dfg_json_key(json, "tensor"), dfg_json_string(json, event->node.node);
	dfg_json_close(json, '}');
	dfg_json_close(json, '}');
}

/* A span from one time to another, unless this replica has not contributed: then one of them is 0. */
static void print_span(struct dfg_trace *trace, const struct dfg_coordinator_event *event, const char *name,
	uint64_t begin_ns, uint64_t end_ns)
{
	const struct dfg_string text = {name, strlen(name)};
	if (!begin_ns || !end_ns)
		return;
	print_end(trace, event, text, "b", begin_ns);
	print_end(trace, event, text, "e", end_ns);
}

/* The spans of a bucket in one step, which nest: asynchronous events, whose id in their process is the bucket's number. */
static void print_bucket(struct dfg_trace *trace, const struct dfg_coordinator_event *event)
{
	const struct dfg_trace_event *bucket = &event->node;
	char name[32];
	int length = snprintf(name, sizeof name, "bucket %u", bucket->bucket - 1);
	const struct dfg_string all = {name, (size_t)length};
	print_end(trace, event, all, "b", bucket->begin_ns);
	print_span(trace, event, "contribute", bucket->sent_ns ? bucket->begin_ns : 0, bucket->sent_ns);
	print_span(trace, event, "reduce", bucket->sent_ns, bucket->reduced_ns);
	print_span(trace, event, "apply", bucket->reduced_ns, bucket->end_ns);
	print_end(trace, event, all, "e", bucket->end_ns);
}

static void print_node(struct dfg_trace *trace, const struct dfg_coordinator_event *event)
{
	struct dfg_json_out *json = &trace->json;
	print_head(trace, (struct dfg_string){event->node.node, strlen(event->node.node)}, "op", "X", event);
	dfg_json_f64(json, since(trace, event->node.begin_ns));
	dfg_json_key(json, "dur");
	dfg_json_f64(json, (double)(event->node.end_ns - event->node.begin_ns) / 1000);
	print_args(json, event);
	dfg_json_close(json, '}');
	if (event->node.transfer)
		print_flow(trace, event);
}

void dfg_trace_name(struct dfg_trace *trace, int process, const char *name)
{
	pthread_mutex_lock(&trace->lock);
	name_process(&trace->json, process, name);
	write_out(trace);
	pthread_mutex_unlock(&trace->lock);
}

void dfg_trace_worker_event(void *arg, const struct dfg_coordinator_event *event)
{
	struct dfg_trace *trace = arg;
	pthread_mutex_lock(&trace->lock);
	for (; trace->named >= 0 && trace->named <= (int)event->worker; trace->named++) {
		char name[16];
		snprintf(name, sizeof name, "w%d", trace->named);
		name_process(&trace->json, trace->named, name);
	}
	if (!trace->left)
		trace->dropped++;
	else if (event->node.bucket)
		print_bucket(trace, event);
	else
		print_node(trace, event);
	write_out(trace);
	pthread_mutex_unlock(&trace->lock);
}

void dfg_trace_event(void *arg, const struct dfg_trace_event *event)
{
	const struct dfg_coordinator_event all = {.node = *event};
	dfg_trace_worker_event(arg, &all);
}

struct dfg_err *dfg_trace_end(struct dfg_trace *trace)
{
	dfg_json_close(&trace->json, ']');
	dfg_json_key(&trace->json, "displayTimeUnit");
	dfg_json_string(&trace->json, "ms");
	if (trace->dropped) {
		dfg_json_key(&trace->json, "otherData"), dfg_json_open(&trace->json, '{');
		dfg_json_key(&trace->json, "dropped_events"), dfg_json_uint(&trace->json, trace->dropped);
		dfg_json_close(&trace->json, '}');
	}
	dfg_json_close(&trace->json, '}');
	dfg_text_put(&trace->json.text, "\n", 1);
	write_out(trace);
	struct dfg_err *err = trace->err;
	trace->err = NULL;
	return err ? err : dfg_out_commit(&trace->out);
}

void dfg_trace_free(struct dfg_trace *trace)
{
	if (!trace)
		return;
	pthread_mutex_destroy(&trace->lock);
	dfg_text_release(&trace->json.text);
	dfg_out_release(&trace->out);
	dfg_err_free(trace->err);
	dfg_free(trace);
}
