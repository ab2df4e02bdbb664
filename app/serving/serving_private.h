#pragma once

/* Shared by the files of app/serving. */
#include "app/run.h"
#include "app/serving/serving.h"
#include "formats/json.h"
#include "lib/base/pool.h"
#include "lib/pass/verify/array_stack.h"
#include "lib/pass/verify/row_independence.h"
#include "remote/tls.h"
#include "remote/web/web.h"

#include <pthread.h>

/* An input or output of a model. */
struct dfg_serving_port {
	const char *name; /* as clients spell it */
	struct dfg_edge edge;
	enum dfg_dtype dtype;
	struct dfg_shape shape;          /* may be partly unknown */
	bool *needs;                     /* of an output: which inputs it depends on */
	struct dfg_row_verdict *verdict; /* of an output: whether requests may share a step that computes it */
	struct dfg_array_stack stack;    /* of an output that stacks what a loop yields; others have no writers */
	/* Whether the step of an output cannot wait, and takes a time that only shapes, all of them known, decide: quick.c */
	bool is_bounded, is_static;
};

/* A model with one set of weights. Requests hold references to it, so that newer weights can replace it meanwhile. */
struct dfg_live_model {
	atomic_uint refs;
	struct dfg_arena arena; /* of the options */
	struct dfg_run_options options;
	struct dfg_run run;
	struct dfg_serving_port *in, *out;
	uint32_t n_in, n_out;
	struct dfg_feeds feeds; /* the edges of the inputs, without values */
	uint64_t version;       /* the step of its checkpoint; 1 without one */
	atomic_size_t quick;    /* steps fed with this many bytes, or fewer, are quick: quick.c */
};

/* Requests of one kind, as /metrics counts them. */
enum { DFG_SERVING_BUCKETS = 14, DFG_SERVING_COUNTS = 128 };
struct dfg_serving_histogram {
	uint64_t bucket[DFG_SERVING_BUCKETS + 1];
	double sum;
};

/* One name that is served. */
struct dfg_served {
	const char *name, *path, *source; /* source: of its variables; NULL: none */
	struct dfg_serving *serving;
	pthread_mutex_t lock; /* guards the rest */
	uint64_t mark;        /* of the state in which the sources were last looked at; only the main thread asks */
	struct dfg_live_model *live;
	struct dfg_serving_job *first, **last; /* that wait, in the order of their arrival */
	uint32_t waiting;
	uint64_t round, last_round; /* those of the last job taken, and of the last in the list: queue.c */
	bool is_running;            /* a step runs; of a model that writes state, one at a time */
	uint64_t steps;
	uint64_t events; /* of streams that have ended */
	struct dfg_serving_histogram seconds, queued, rows, first_event;
	/* By protocol (a static string) and status. */
	struct dfg_serving_count {
		const char *protocol;
		int status;
		uint64_t count;
	} count[DFG_SERVING_COUNTS];
};

struct dfg_serving {
	struct dfg_serving_options options;
	struct dfg_arena arena;
	struct dfg_served *served;
	size_t n_served;
	struct dfg_served other; /* counts the requests that name no model */
	char *token;             /* NULL: none */
	bool is_loopback;
	const char *policy; /* the Content-Security-Policy of the page */
	struct dfg_web *web;
	struct dfg_tls *tls; /* NULL: none */
	pthread_t *thread;
	int n_threads;
	pthread_mutex_t lock; /* with `work`: guards `jobs` and `stop` */
	pthread_cond_t work;
	uint64_t jobs;    /* that wait, of all models */
	int pushed;       /* jobs of which no thread was told yet; of the web server's thread */
	uint64_t look_ns; /* time at which a waiting job may be late; of the web server's thread */
	int64_t streams;  /* that wait or run, of all models; guarded by `lock` */
	bool stop;
	struct dfg_serving_recorder *recorder; /* of the trace that is being recorded; guarded by `lock` */
	pthread_cond_t traced;                 /* with `lock`: a step of the trace has ended, or the recorder */
	bool draws;                            /* a picture is being drawn; guarded by `lock`, with `traced` */
	atomic_bool is_traced;                 /* the next step may have to be recorded */
	atomic_bool draining, ends_streams;
	atomic_int running;
	uint64_t begin_ns;
};

/*
 * A request for a step. Its memory is in its arena, but for tensors, which it owns. `answer` writes the body of the
 * answer from the values of the outputs, in the form of the request's protocol.
 */
struct dfg_serving_job {
	struct dfg_arena arena;
	struct dfg_serving_job *next;
	struct dfg_web_request *request;
	struct dfg_served *served;
	struct dfg_live_model *live;
	const char *protocol;
	struct dfg_tensor *feed;  /* by input of the model; no dtype: not given yet */
	uint32_t *output;         /* numbers of the requested outputs */
	struct dfg_tensor *value; /* by requested output */
	uint32_t n_output;
	bool *needed;          /* by input: an output depends on it */
	int64_t rows;          /* of each input, if the job may share a step; 0: it may not */
	size_t bounded_bytes;  /* of the inputs, if they bound the time of the step; 0: they do not */
	uint64_t round;        /* its position among the waiting jobs: queue.c */
	const char *id;        /* of KServe's protocol; NULL: none */
	bool *is_binary;       /* of KServe's: whether a requested output is sent as bytes after the JSON */
	const uint8_t *binary; /* of KServe's: the bytes after the JSON that no input has taken yet */
	size_t binary_size;
	bool by_row;                       /* of TensorFlow's: the request had instances */
	struct dfg_serving_stream *stream; /* the answer is events; NULL: it is one body */
	const struct dfg_array_codec *codec;
	struct dfg_err *(*answer)(struct dfg_serving_job *job, struct dfg_web_answer *out_answer);
	uint64_t begin_ns, deadline_ns; /* deadline 0: none */
};

/* live_model.c */
DFG_MUST_CHECK struct dfg_err *dfg_live_model_open(const struct dfg_served *served, struct dfg_live_model **out_live);
/* A number that changes when a source does: a newer checkpoint of a directory, or another file. */
uint64_t dfg_served_mark(const struct dfg_served *served);
void dfg_live_model_unref(struct dfg_live_model *live);            /* NULL is fine */
struct dfg_live_model *dfg_served_live(struct dfg_served *served); /* a new reference */
/* Whether the text is the version that is live, which is *out_version, as it is written: without sign or leading zeros. */
bool dfg_served_has_version(struct dfg_served *served, const char *text, size_t length, uint64_t *out_version);

/* job.c. Errors of these become answers: dfg_job_refuse(). */
/* NULL: memory is short, and the request is answered. */
struct dfg_serving_job *dfg_job_new(struct dfg_served *served, struct dfg_web_request *request, const char *protocol);
/* The number of an input; DFG_DATA lists the inputs if there is none of that name. */
DFG_MUST_CHECK struct dfg_err *dfg_job_find_input(struct dfg_serving_job *job, const char *name, uint32_t *out_input);
/*
 * The input for which a value without a name is: the only one, or the only one of which by itself an output can be computed.
 * NULL: there is none, or there are several.
 */
const char *dfg_job_only_input(const struct dfg_serving_job *job);
/* Gives an input its value. Takes the tensor, also on failure; errors do not name the input. */
DFG_MUST_CHECK struct dfg_err *dfg_job_feed(struct dfg_serving_job *job, uint32_t input, struct dfg_tensor *tensor);
DFG_MUST_CHECK struct dfg_err *dfg_job_fetch(struct dfg_serving_job *job, const char *name);
/* Checks that all inputs are given, chooses all outputs if none is, and queues the job. */
void dfg_job_submit(struct dfg_serving_job *job);
/* Reads the JSON object in the first `size` bytes of the body, and the request from it, and submits or refuses the job. */
void dfg_job_submit_json(struct dfg_serving_job *job, size_t size,
	struct dfg_err *(*read)(struct dfg_serving_job *job, const struct dfg_json *root));
/* Answers with the status that fits the error, which is taken, and frees the job. */
void dfg_job_refuse(struct dfg_serving_job *job, int status, struct dfg_err *err);
void dfg_job_free(struct dfg_serving_job *job);
int dfg_job_status(const struct dfg_err *err); /* the status for an error of a step */
/* The time of X-Timeout or grpc-timeout, 0 without both; false: malformed, as the rule says. */
#define DFG_SERVING_TIMEOUT_RULE \
	"X-Timeout must be a number of seconds above 0, and grpc-timeout up to 8 digits and a unit, one of HMSmun"
bool dfg_serving_timeout(const struct dfg_web_request *request, uint64_t *out_ns);
/* Whether two jobs, the first of which has rows, may share a step. */
bool dfg_job_joins(const struct dfg_serving_job *first, const struct dfg_serving_job *job);

/* queue.c */
DFG_MUST_CHECK struct dfg_err *dfg_serving_start(struct dfg_serving *serving);
void dfg_serving_stop(struct dfg_serving *serving);
/* False: the queue is full. On the web server's thread, which then calls dfg_serving_settle(): it wakes those who run jobs. */
bool dfg_serving_push(struct dfg_serving_job *job);
uint64_t dfg_serving_settle(void *arg);

/* Lets the next step of a model that writes state run. */
void dfg_served_end_turn(struct dfg_served *served);

/*
 * quick.c: steps of a few microseconds, which the thread of the web server runs itself, because waking another takes longer.
 *
 * The walk that found the inputs of an output has given `seen` of the nodes on its way the number `walk`.
 */
void dfg_quick_find(struct dfg_live_model *live, struct dfg_serving_port *out, const uint32_t *seen, uint32_t walk);
void dfg_quick_prepare(struct dfg_serving_job *job); /* sets bounded_bytes */
/* Notes the time of a step. */
void dfg_quick_learn(struct dfg_live_model *live, size_t bytes, uint64_t ns);
/* The rows, of jobs of which this is the first, that a quick step can have; 0: it is not quick. */
int64_t dfg_quick_rows(const struct dfg_serving_job *first);

/* step.c: runs the jobs of a list in one step, answers and frees them. */
void dfg_serving_run(struct dfg_serving_job *jobs);

/* A step of a job. Only the inputs that the outputs need are fed. All lists are in the job's arena. */
struct dfg_fed_step {
	struct dfg_step step;
	struct dfg_edge *feed, *fetch;
	struct dfg_tensor *feeds, *fetches; /* the feeds of one job are borrowed */
};
DFG_MUST_CHECK struct dfg_err *dfg_fed_step_make(struct dfg_serving_job *job, struct dfg_fed_step *out);
/* Runs it; the caller releases the fetches if it succeeds. */
DFG_MUST_CHECK struct dfg_err *dfg_fed_step_run(
	struct dfg_serving_job *jobs, struct dfg_fed_step *own, const struct dfg_step_control *control);
/* Errors of a job whose deadline has passed (DFG_DEADLINE) or whose client is gone (DFG_STOPPED). */
DFG_MUST_CHECK struct dfg_err *dfg_job_check_time(const struct dfg_serving_job *job);
/* Refuses the jobs whose time is over, before the step. */
struct dfg_serving_job *dfg_jobs_drop_late(struct dfg_serving_job *jobs);
/* The number of rows of the first input whose leading dimension has no declared size; 1: there is none. */
int64_t dfg_job_count_rows(const struct dfg_serving_job *job);
void dfg_served_count_step(struct dfg_served *served, int64_t rows);

/* stream.c: jobs whose answers are events, one for each iteration of a loop that yields. */
void dfg_stream_post(struct dfg_served *served, struct dfg_web_request *request);
/* Chooses the requested outputs that are streamed; DFG_DATA if there are none. */
DFG_MUST_CHECK struct dfg_err *dfg_stream_choose(struct dfg_serving_job *job);
/* Counts the stream; false: there are too many. One that is counted is uncounted after all else of its job is freed. */
bool dfg_stream_count(struct dfg_serving_job *job);
bool dfg_stream_is_counted(const struct dfg_serving_job *job);
void dfg_stream_uncount(struct dfg_serving *serving);
void dfg_stream_release(struct dfg_serving_job *job); /* frees what its arena does not hold */
/* Runs the job on a thread of its own, which ends the turn of its model, and answers and frees it. */
void dfg_stream_run(struct dfg_serving_job *job);

/* tracing.c: a step between begin and end; the event function is that of its control if it has a recorder. */
struct dfg_serving_traced {
	struct dfg_serving_recorder *recorder; /* NULL: the step is not traced */
	uint32_t number;                       /* of the step in the trace */
};
struct dfg_serving_traced dfg_serving_trace_begin(const struct dfg_serving_job *jobs);
void dfg_serving_trace_event(void *traced, const struct dfg_trace_event *event);
void dfg_serving_trace_end(struct dfg_serving_traced *traced);
void dfg_serving_trace(struct dfg_serving *serving, struct dfg_web_request *request);
void dfg_serving_trace_stop(
	struct dfg_serving *serving); /* waits for the recorder and the picture, after the server drains */

/* drawing.c */
void dfg_serving_draw(struct dfg_serving *serving, struct dfg_web_request *request);

/* routes.c */
/* The model of that name; NULL: there is none. */
struct dfg_served *dfg_serving_find(struct dfg_serving *serving, const char *name);
void dfg_serving_handle(void *arg, struct dfg_web_request *request);
void dfg_serving_refuse(
	void *arg, const struct dfg_web_request *request, int status, const char *why, struct dfg_web_answer *out_answer);

/* Answers with {"error": TEXT}. */
void dfg_serving_error(struct dfg_served *served, struct dfg_web_request *request, const char *protocol, int status,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Answers 404 and lists the models. */
void dfg_serving_refuse_model(struct dfg_serving *serving, struct dfg_web_request *request, const char *protocol,
	const char *name, size_t length);
/* Counts and answers; the JSON is taken. */
void dfg_serving_reply(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, struct dfg_web_answer *answer);
/* Adds {"error": TEXT} and a line feed. */
void dfg_serving_put_error(struct dfg_text *body, const char *text);
/* The version of a model, which is a string in JSON. */
void dfg_serving_put_version(struct dfg_json_out *json, const char *key, const struct dfg_live_model *live);
void dfg_serving_reply_json(
	struct dfg_served *served, struct dfg_web_request *request, const char *protocol, struct dfg_json_out *json);

/* Handlers of a protocol; `rest` is the path after the model's name and version. */
void dfg_kserve_server(struct dfg_serving *serving, struct dfg_web_request *request);
void dfg_kserve_model(struct dfg_served *served, struct dfg_web_request *request, const char *rest);
void dfg_tensorflow_model(struct dfg_served *served, struct dfg_web_request *request, const char *rest);
void dfg_arrays_run(struct dfg_served *served, struct dfg_web_request *request);
void dfg_kserve_grpc(struct dfg_serving *serving, struct dfg_web_request *request, const char *name);
void dfg_tensorflow_grpc(struct dfg_serving *serving, struct dfg_web_request *request, const char *name);
void dfg_serving_metrics(struct dfg_serving *serving, struct dfg_web_request *request);

/* grpc.c */
bool dfg_grpc_is(const struct dfg_web_request *request);
/* Makes an answer the gRPC error that corresponds to a status of HTTP. */
void dfg_grpc_fail(struct dfg_web_answer *answer, int status, const char *text);
/* The time of the field grpc-timeout, 0 without one; false: malformed. */
bool dfg_grpc_timeout(const struct dfg_web_request *request, uint64_t *out_ns);

/* kserve.c: the protocol's names of types; NULL and DFG_NO_DTYPE: it has no such type. */
const char *dfg_kserve_name(enum dfg_dtype dtype);
enum dfg_dtype dfg_kserve_dtype(const char *name);
/* Reads the inputs, the outputs and the id of a request from its JSON. */
DFG_MUST_CHECK struct dfg_err *dfg_kserve_read_request(struct dfg_serving_job *job, const struct dfg_json *root);
/* The members of an answer before its outputs, whose list is open; and an output. */
void dfg_kserve_begin_answer(struct dfg_json_out *json, const struct dfg_serving_job *job);
DFG_MUST_CHECK struct dfg_err *dfg_kserve_put_output(
	struct dfg_json_out *json, const struct dfg_serving_port *port, const struct dfg_tensor *value, bool is_binary);

/* kserve_binary.c: tensors as bytes, little-endian in C order; a string has its length before it, as u32. */
/* Divides the body into JSON and bytes, by a header field of the request. */
DFG_MUST_CHECK struct dfg_err *dfg_kserve_divide(struct dfg_serving_job *job, size_t *out_json_size);
/* Takes the next `size` bytes for an input. */
DFG_MUST_CHECK struct dfg_err *dfg_kserve_take(struct dfg_serving_job *job, uint64_t size, enum dfg_dtype dtype,
	const struct dfg_shape *shape, struct dfg_tensor *out_tensor);
uint64_t dfg_kserve_binary_size(const struct dfg_tensor *tensor);
void dfg_kserve_put(struct dfg_text *out, const struct dfg_tensor *tensor);

/* page.c */
DFG_MUST_CHECK struct dfg_err *dfg_serving_make_policy(struct dfg_serving *serving);
void dfg_serving_show_page(struct dfg_serving *serving, struct dfg_web_request *request);
void dfg_serving_show_status(struct dfg_serving *serving, struct dfg_web_request *request);

/* metrics.c */
void dfg_served_count(struct dfg_served *served, const char *protocol, int status);
void dfg_histogram_add(struct dfg_serving_histogram *histogram, double value, const double *bounds);
extern const double dfg_seconds_bounds[DFG_SERVING_BUCKETS], dfg_rows_bounds[DFG_SERVING_BUCKETS];

/* tensor_json.c */
/* Reads elements, flat in C order or nested by `shape`, which is known. DFG_DATA says which element is wrong. */
DFG_MUST_CHECK struct dfg_err *dfg_json_to_tensor(
	const struct dfg_json *data, enum dfg_dtype dtype, const struct dfg_shape *shape, struct dfg_tensor *out_tensor);
/* The shape of nested lists. DFG_DATA where they are ragged. */
DFG_MUST_CHECK struct dfg_err *dfg_json_shape(const struct dfg_json *data, struct dfg_shape *out_shape);

/* A query's or path's text with %XX and, in a query, '+' decoded, in the arena. NULL: malformed, or no memory. */
const char *dfg_url_decode(struct dfg_arena *arena, const char *text, size_t length, bool is_query);
/* The value of the query's parameter; NULL: none. */
const char *dfg_url_parameter(struct dfg_arena *arena, const char *query, const char *name);
