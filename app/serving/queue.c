#include "app/serving/serving_private.h"

#include <stdlib.h>

/* The seconds for which a client that ended its side of the connection may still read an answer. */
static const uint64_t GRACE_NS = 1000000000;

static void push(struct dfg_served *served, struct dfg_serving_job *job)
{
	job->next = NULL;
	*served->last = job;
	served->last = &job->next;
	served->waiting++;
}

static struct dfg_serving_job *pop(struct dfg_served *served)
{
	struct dfg_serving_job *job = served->first;
	if (!job)
		return NULL;
	served->first = job->next;
	if (!served->first)
		served->last = &served->first;
	served->waiting--;
	return job;
}

bool dfg_serving_push(struct dfg_serving_job *job)
{
	struct dfg_served *served = job->served;
	struct dfg_serving *serving = served->serving;
	pthread_mutex_lock(&served->lock);
	bool is_full = served->waiting >= (uint64_t)serving->options.queue;
	job->begin_ns = dfg_now();
	if (!is_full)
		push(served, job);
	pthread_mutex_unlock(&served->lock);
	if (is_full)
		return false;
	pthread_mutex_lock(&serving->lock);
	serving->jobs++;
	pthread_cond_signal(&serving->work);
	pthread_mutex_unlock(&serving->lock);
	return true;
}

static struct dfg_err *check_in_time(const struct dfg_serving_job *job, uint64_t now)
{
	uint64_t gone = atomic_load(&job->request->gone_ns);
	if (job->deadline_ns && now > job->deadline_ns)
		return DFG_ERR(DFG_DEADLINE, "the deadline of the request passed");
	if (gone && now > gone + GRACE_NS)
		return DFG_ERR(DFG_STOPPED, "the client has gone");
	return NULL;
}

/* The step of a job: only the inputs that its outputs need are fed. */
struct job_step {
	struct dfg_edge *feed, *fetch;
	struct dfg_tensor *value; /* of the feeds; borrowed */
	uint32_t n_feed;
};

static struct dfg_err *make_step(struct dfg_serving_job *job, struct job_step *out_step)
{
	const struct dfg_live_model *live = job->live;
	struct dfg_arena *arena = &job->arena;
	*out_step = (struct job_step){.feed = dfg_arena_zeros(arena, live->n_in, sizeof *out_step->feed),
		.fetch = dfg_arena_zeros(arena, job->n_output, sizeof *out_step->fetch),
		.value = dfg_arena_zeros(arena, live->n_in, sizeof *out_step->value)};
	if (!out_step->feed || !out_step->fetch || !out_step->value)
		return dfg_no_memory("the request");
	for (uint32_t i = 0; i < job->n_output; i++)
		out_step->fetch[i] = live->out[job->output[i]].edge;
	for (uint32_t i = 0; i < live->n_in; i++) {
		bool is_needed = false;
		for (uint32_t k = 0; k < job->n_output && !is_needed; k++)
			is_needed = live->out[job->output[k]].needs[i];
		if (is_needed) {
			out_step->feed[out_step->n_feed] = live->in[i].edge;
			out_step->value[out_step->n_feed++] = job->feed[i];
		}
	}
	return NULL;
}

static struct dfg_err *run_plan(struct dfg_serving_job *job)
{
	struct job_step own;
	struct dfg_plan *plan;
	DFG_TRY(make_step(job, &own));
	struct dfg_step step = {.feed = own.feed, .n_feed = own.n_feed, .fetch = own.fetch, .n_fetch = job->n_output};
	DFG_TRY(dfg_session_plan(job->live->run.model.session, &step, &plan));
	return dfg_plan_run(plan, own.value, job->value);
}

/* The extent of the first input whose leading dimension is not declared; 1: there is none. */
static int64_t rows_of(const struct dfg_serving_job *job)
{
	for (uint32_t i = 0; i < job->live->n_in; i++) {
		const struct dfg_shape *declared = &job->live->in[i].shape, *given = &job->feed[i].shape;
		if (job->feed[i].dtype && declared->rank > 0 && declared->dim[0] < 0)
			return given->dim[0];
	}
	return 1;
}

static struct dfg_err *run_step(struct dfg_serving_job *job, struct dfg_web_answer *answer)
{
	uint64_t begin = dfg_now();
	struct dfg_served *served = job->served;
	DFG_TRY(check_in_time(job, begin));
	atomic_fetch_add(&served->serving->running, 1);
	struct dfg_err *err = run_plan(job);
	atomic_fetch_sub(&served->serving->running, 1);
	pthread_mutex_lock(&served->lock);
	served->steps++;
	dfg_histogram_add(&served->queued, (double)(begin - job->begin_ns) / 1e9, dfg_seconds_bounds);
	dfg_histogram_add(&served->rows, (double)rows_of(job), dfg_rows_bounds);
	pthread_mutex_unlock(&served->lock);
	return err ? err : job->answer(job, answer);
}

static void run_job(struct dfg_serving_job *job)
{
	struct dfg_web_answer answer = {.status = 200, .type = "application/json"};
	struct dfg_err *err = run_step(job, &answer);
	if (err) {
		dfg_text_release(&answer.body);
		dfg_job_refuse(job, 0, err);
		return;
	}
	dfg_serving_reply(job->served, job->request, job->protocol, &answer);
	dfg_job_free(job);
}

/* A job of the next model that has one and may run it, or NULL. */
static struct dfg_serving_job *take_job(struct dfg_serving *serving, size_t *turn)
{
	struct dfg_serving_job *job = NULL;
	for (size_t i = 0; i < serving->n_served && !job; i++) {
		struct dfg_served *served = &serving->served[(*turn)++ % serving->n_served];
		pthread_mutex_lock(&served->lock);
		job = serving->options.stateful && served->is_running ? NULL : pop(served);
		served->is_running |= job != NULL;
		pthread_mutex_unlock(&served->lock);
	}
	return job;
}

/* Lets the next step of a model that writes state run. */
static void end_turn(struct dfg_served *served)
{
	struct dfg_serving *serving = served->serving;
	if (!serving->options.stateful)
		return;
	pthread_mutex_lock(&served->lock);
	served->is_running = false;
	pthread_mutex_unlock(&served->lock);
	pthread_mutex_lock(&serving->lock);
	pthread_cond_signal(&serving->work);
	pthread_mutex_unlock(&serving->lock);
}

static void *work(void *arg)
{
	struct dfg_serving *serving = arg;
	size_t turn = 0;
	pthread_mutex_lock(&serving->lock);
	for (;;) {
		struct dfg_serving_job *job = serving->jobs ? take_job(serving, &turn) : NULL;
		if (!job && serving->stop)
			break;
		if (!job) {
			pthread_cond_wait(&serving->work, &serving->lock);
			continue;
		}
		serving->jobs--;
		pthread_mutex_unlock(&serving->lock);
		struct dfg_served *served = job->served;
		run_job(job);
		end_turn(served);
		pthread_mutex_lock(&serving->lock);
	}
	pthread_mutex_unlock(&serving->lock);
	return NULL;
}

struct dfg_err *dfg_serving_start(struct dfg_serving *serving)
{
	int threads =
		serving->options.execution->threads ? (int)serving->options.execution->threads : dfg_threads_allowed();
	serving->thread = dfg_arena_zeros(&serving->arena, (size_t)threads, sizeof *serving->thread);
	if (!serving->thread)
		return dfg_no_memory("the threads");
	for (; serving->n_threads < threads; serving->n_threads++)
		if (pthread_create(&serving->thread[serving->n_threads], NULL, work, serving))
			return DFG_ERR(DFG_MEMORY, "cannot start a thread");
	return NULL;
}

void dfg_serving_stop(struct dfg_serving *serving)
{
	pthread_mutex_lock(&serving->lock);
	serving->stop = true;
	pthread_cond_broadcast(&serving->work);
	pthread_mutex_unlock(&serving->lock);
	for (int i = 0; i < serving->n_threads; i++)
		pthread_join(serving->thread[i], NULL);
	serving->n_threads = 0;
}
