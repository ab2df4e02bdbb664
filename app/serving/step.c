#include "app/serving/serving_private.h"

/* A step of one job, or of several jobs, whose inputs are joined along axis 0. */

/* The time for which a client that has closed its side of the connection may still read an answer. */
static const uint64_t GRACE_NS = 1000000000;

struct dfg_err *dfg_job_check_time(const struct dfg_serving_job *job)
{
	uint64_t gone = atomic_load(&job->request->gone_ns), now = job->deadline_ns || gone ? dfg_now() : 0;
	if (job->deadline_ns && now > job->deadline_ns)
		return DFG_ERR(DFG_DEADLINE, "the deadline of the request passed");
	if (gone && now > gone + GRACE_NS)
		return DFG_ERR(DFG_STOPPED, "the client closed the connection");
	return NULL;
}

/* A step ends early when no job waits for its results any more. Returns the error of the first job then. */
static struct dfg_err *check_jobs(void *arg)
{
	struct dfg_err *err = NULL;
	for (const struct dfg_serving_job *job = arg; job; job = job->next) {
		struct dfg_err *own = dfg_job_check_time(job);
		if (!own) {
			dfg_err_free(err);
			return NULL;
		}
		if (err)
			dfg_err_free(own);
		else
			err = own;
	}
	return err;
}

struct dfg_err *dfg_fed_step_make(struct dfg_serving_job *job, struct dfg_fed_step *out)
{
	const struct dfg_live_model *live = job->live;
	struct dfg_arena *arena = &job->arena;
	*out = (struct dfg_fed_step){.feed = dfg_arena_zeros(arena, live->n_in, sizeof *out->feed),
		.fetch = dfg_arena_zeros(arena, job->n_output, sizeof *out->fetch),
		.feeds = dfg_arena_zeros(arena, live->n_in, sizeof *out->feeds),
		.fetches = dfg_arena_zeros(arena, job->n_output, sizeof *out->fetches)};
	if (!out->feed || !out->fetch || !out->feeds || !out->fetches)
		return dfg_no_memory("the request");
	for (uint32_t i = 0; i < job->n_output; i++)
		out->fetch[i] = live->out[job->output[i]].edge;
	out->step = (struct dfg_step){.feed = out->feed, .fetch = out->fetch, .n_fetch = job->n_output};
	for (uint32_t i = 0; i < live->n_in; i++)
		if (job->needed[i]) {
			out->feed[out->step.n_feed] = live->in[i].edge;
			out->feeds[out->step.n_feed++] = job->feed[i];
		}
	return NULL;
}

struct dfg_err *dfg_fed_step_run(
	struct dfg_serving_job *jobs, struct dfg_fed_step *own, const struct dfg_step_control *control)
{
	struct dfg_plan *plan;
	DFG_TRY(dfg_session_plan(jobs->live->run.model.session, &own->step, &plan));
	struct dfg_serving_traced traced = dfg_serving_trace_begin(jobs);
	struct dfg_step_control all = *control;
	all.trace = traced.recorder ? dfg_serving_trace_event : NULL;
	all.trace_arg = &traced;
	size_t bytes = 0;
	for (uint32_t i = 0; i < own->step.n_feed; i++)
		bytes += dfg_tensor_bytes(&own->feeds[i]);
	atomic_fetch_add(&jobs->served->serving->running, 1);
	uint64_t begin = dfg_now();
	struct dfg_err *err = dfg_plan_run_controlled(plan, own->feeds, &all, own->fetches);
	dfg_quick_learn(jobs->live, bytes, dfg_now() - begin);
	atomic_fetch_sub(&jobs->served->serving->running, 1);
	dfg_serving_trace_end(&traced);
	return err;
}

static struct dfg_err *run_plan(struct dfg_serving_job *jobs, struct dfg_fed_step *own)
{
	return dfg_fed_step_run(jobs, own, &(struct dfg_step_control){.check = check_jobs, .arg = jobs});
}

static struct dfg_err *run_alone(struct dfg_serving_job *job)
{
	struct dfg_fed_step own;
	DFG_TRY(dfg_fed_step_make(job, &own));
	DFG_TRY(run_plan(job, &own));
	for (uint32_t i = 0; i < job->n_output; i++)
		job->value[i] = own.fetches[i];
	return NULL;
}

/* Joins the values of each input. On failure there is nothing to release. */
static struct dfg_err *join_feeds(struct dfg_serving_job *jobs, size_t count, struct dfg_fed_step *own)
{
	struct dfg_tensor *part = dfg_arena_zeros(&jobs->arena, count, sizeof *part);
	struct dfg_err *err = part ? NULL : dfg_no_memory("the requests");
	uint32_t done = 0;
	for (uint32_t i = 0; !err && i < jobs->live->n_in; i++) {
		size_t n = 0;
		if (!jobs->needed[i])
			continue;
		for (const struct dfg_serving_job *job = jobs; job; job = job->next)
			part[n++] = job->feed[i];
		err = dfg_tensor_concatenate(part, n, &own->feeds[done]);
		done += !err;
	}
	while (err && done)
		dfg_tensor_release(&own->feeds[--done]);
	return err;
}

/* Rows [first, first + n) as a tensor that shares the buffer. */
static struct dfg_err *take_rows(const struct dfg_tensor *all, int64_t first, int64_t n, struct dfg_tensor *out)
{
	DFG_TRY(dfg_tensor_share(all, out));
	int64_t row = all->shape.dim[0] ? dfg_shape_count(&all->shape) / all->shape.dim[0] : 0;
	out->data = dfg_tensor_at(out, first * row);
	out->shape.dim[0] = n;
	out->capacity = dfg_tensor_bytes(out);
	return NULL;
}

/* Gives each job its rows of an output, or the whole of an output that does not depend on the inputs. */
static struct dfg_err *divide_fetch(
	struct dfg_serving_job *jobs, int64_t rows, uint32_t i, const struct dfg_tensor *all)
{
	bool has_rows = jobs->live->out[jobs->output[i]].verdict->kind == DFG_ROWS_EACH;
	int64_t first = 0;
	if (has_rows && (all->shape.rank < 1 || all->shape.dim[0] != rows))
		return DFG_ERR(DFG_BUG, "internal error: output '%.200s' is %s, but the batch has %lld rows",
			jobs->live->out[jobs->output[i]].name, dfg_type_words(all->dtype, &all->shape).s, (long long)rows);
	for (struct dfg_serving_job *job = jobs; job; first += job->rows, job = job->next)
		DFG_TRY(has_rows ? take_rows(all, first, job->rows, &job->value[i]) : dfg_tensor_share(all, &job->value[i]));
	return NULL;
}

static struct dfg_err *run_joined(struct dfg_serving_job *jobs, size_t count, int64_t rows)
{
	struct dfg_fed_step own;
	DFG_TRY(dfg_fed_step_make(jobs, &own));
	DFG_TRY(join_feeds(jobs, count, &own));
	struct dfg_err *err = run_plan(jobs, &own);
	for (uint32_t i = 0; i < own.step.n_feed; i++)
		dfg_tensor_release(&own.feeds[i]);
	if (err)
		return err;
	for (uint32_t i = 0; i < jobs->n_output; i++) {
		if (!err)
			err = divide_fetch(jobs, rows, i, &own.fetches[i]);
		dfg_tensor_release(&own.fetches[i]);
	}
	return err;
}

/* Answers with the values of the step, or its error, and frees the job. */
static void answer(struct dfg_serving_job *job, struct dfg_err *err)
{
	struct dfg_web_answer out = {.status = 200, .type = "application/json"};
	if (!err && job->deadline_ns && dfg_now() > job->deadline_ns)
		err = DFG_ERR(DFG_DEADLINE, "the deadline of the request passed");
	if (!err)
		err = job->answer(job, &out);
	if (err) {
		dfg_text_release(&out.body);
		dfg_job_refuse(job, 0, err);
		return;
	}
	dfg_serving_reply(job->served, job->request, job->protocol, &out);
	dfg_job_free(job);
}

/* The number of rows of the first input whose leading dimension has no declared size; 1: there is none. */
int64_t dfg_job_count_rows(const struct dfg_serving_job *job)
{
	for (uint32_t i = 0; i < job->live->n_in; i++) {
		const struct dfg_shape *declared = &job->live->in[i].shape, *given = &job->feed[i].shape;
		if (job->feed[i].dtype && declared->rank > 0 && declared->dim[0] < 0)
			return given->dim[0];
	}
	return 1;
}

void dfg_served_count_step(struct dfg_served *served, int64_t rows)
{
	pthread_mutex_lock(&served->lock);
	served->steps++;
	dfg_histogram_add(&served->rows, (double)rows, dfg_rows_bounds);
	pthread_mutex_unlock(&served->lock);
}

/* Refuses the jobs whose time is over, before the step. */
struct dfg_serving_job *dfg_jobs_drop_late(struct dfg_serving_job *jobs)
{
	uint64_t now = dfg_now();
	for (struct dfg_serving_job **at = &jobs; *at;) {
		struct dfg_serving_job *job = *at;
		struct dfg_err *err = dfg_job_check_time(job);
		if (!err) {
			pthread_mutex_lock(&job->served->lock);
			dfg_histogram_add(&job->served->queued, (double)(now - job->begin_ns) / 1e9, dfg_seconds_bounds);
			pthread_mutex_unlock(&job->served->lock);
			at = &job->next;
			continue;
		}
		*at = job->next;
		dfg_job_refuse(job, 0, err);
	}
	return jobs;
}

void dfg_serving_run(struct dfg_serving_job *jobs)
{
	size_t count = 0;
	int64_t rows = 0;
	bool joined = false;
	jobs = dfg_jobs_drop_late(jobs);
	for (const struct dfg_serving_job *job = jobs; job; job = job->next, count++)
		rows += job->rows;
	if (count > 1) {
		/* An error may be due to one of them: after it each job has a step, and an error, of its own. */
		struct dfg_err *err = run_joined(jobs, count, rows);
		joined = !err;
		dfg_err_free(err);
		if (joined)
			dfg_served_count_step(jobs->served, rows);
	}
	while (jobs) {
		struct dfg_serving_job *job = jobs;
		struct dfg_err *err = NULL;
		jobs = job->next;
		job->next = NULL;
		if (!joined) {
			for (uint32_t i = 0; i < job->n_output; i++)
				dfg_tensor_release(&job->value[i]);
			dfg_served_count_step(job->served, dfg_job_count_rows(job));
			err = run_alone(job);
		}
		answer(job, err);
	}
}
