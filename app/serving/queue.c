#include "app/serving/serving_private.h"

#include <stdlib.h>

static const uint64_t LOOK_NS =
	250000000; /* the time after which waiting jobs are looked at for clients that are gone */

/*
 * Jobs of a model wait in the order of their rounds: a connection with many requests has one in each round, so that it
 * does not delay those of others. The current round is that of the last job taken.
 */
static void push_job(struct dfg_served *served, struct dfg_serving_job *job)
{
	struct dfg_serving_job **at = served->last;
	served->last_round = served->first ? served->last_round : 0;
	uint64_t connection = job->request->connection;
	job->round = served->round;
	for (struct dfg_serving_job *other = connection ? served->first : NULL; other; other = other->next)
		if (other->request->connection == connection && other->round >= job->round)
			job->round = other->round + 1;
	if (served->last_round > job->round)
		for (at = &served->first; *at && (*at)->round <= job->round; at = &(*at)->next)
			;
	else
		served->last_round = job->round;
	job->next = *at;
	*at = job;
	if (!job->next)
		served->last = &job->next;
	served->waiting++;
}

/* Takes the job at *at out of the list. */
static struct dfg_serving_job *unlink_at(struct dfg_served *served, struct dfg_serving_job **at)
{
	struct dfg_serving_job *job = *at;
	*at = job->next;
	if (!*at)
		served->last = at;
	job->next = NULL;
	served->waiting--;
	return job;
}

/* The same, for a step. */
static struct dfg_serving_job *take_at(struct dfg_served *served, struct dfg_serving_job **at)
{
	struct dfg_serving_job *job = unlink_at(served, at);
	if (job->round > served->round)
		served->round = job->round;
	return job;
}

bool dfg_serving_push(struct dfg_serving_job *job)
{
	struct dfg_served *served = job->served;
	struct dfg_serving *serving = served->serving;
	uint64_t deadline = job->deadline_ns; /* another thread may run and free the job as soon as it is in the list */
	pthread_mutex_lock(&served->lock);
	bool is_full = served->waiting >= (uint64_t)serving->options.queue;
	job->begin_ns = dfg_now();
	if (!is_full)
		push_job(served, job);
	pthread_mutex_unlock(&served->lock);
	if (is_full)
		return false;
	pthread_mutex_lock(&serving->lock);
	serving->jobs++;
	pthread_mutex_unlock(&serving->lock);
	serving->pushed++;
	if (deadline && deadline < serving->look_ns)
		serving->look_ns = deadline;
	return true;
}

/* Takes the jobs out that nobody waits for any more, lowers *until to the next deadline, and returns the number of them. */
static uint64_t unlink_late(struct dfg_served *served, struct dfg_serving_job **out_late, uint64_t *until)
{
	uint64_t count = 0;
	pthread_mutex_lock(&served->lock);
	for (struct dfg_serving_job **at = &served->first; *at;) {
		struct dfg_serving_job *job = *at;
		struct dfg_err *err = dfg_job_check_time(job);
		if (err) {
			dfg_err_free(err);
			*out_late = unlink_at(served, at);
			out_late = &(*out_late)->next;
			count++;
			continue;
		}
		if (job->deadline_ns && job->deadline_ns < *until)
			*until = job->deadline_ns;
		at = &job->next;
	}
	pthread_mutex_unlock(&served->lock);
	return count;
}

/* Refuses the jobs whose deadline passed or whose client is gone while all threads are busy, so that they hold no place. */
static void refuse_late(struct dfg_serving *serving)
{
	uint64_t count = 0;
	serving->look_ns = dfg_now() + LOOK_NS;
	for (size_t i = 0; i < serving->n_served; i++) {
		struct dfg_serving_job *late = NULL;
		count += unlink_late(&serving->served[i], &late, &serving->look_ns);
		for (struct dfg_serving_job *next; late; late = next) {
			next = late->next;
			dfg_job_refuse(late, 0, dfg_job_check_time(late));
		}
	}
	if (!count)
		return;
	pthread_mutex_lock(&serving->lock);
	serving->jobs -= count;
	pthread_cond_broadcast(&serving->work); /* threads that end wait for the last job to go */
	pthread_mutex_unlock(&serving->lock);
}

/* The rows of the jobs that could share a step with the first one, itself included, up to the limit. */
static int64_t count_rows(const struct dfg_served *served)
{
	const struct dfg_serving_job *first = served->first;
	int64_t rows = first->rows, most = served->serving->options.most_batch;
	for (const struct dfg_serving_job *job = first->next; job && rows < most; job = job->next)
		if (dfg_job_joins(first, job) && job->rows <= most - rows)
			rows += job->rows;
	return rows;
}

/* The time until which the first job waits for others to join it; 0: it waits no longer. */
static uint64_t waits_until(const struct dfg_served *served)
{
	const struct dfg_serving_options *options = &served->serving->options;
	const struct dfg_serving_job *first = served->first;
	uint64_t until = first->begin_ns + (uint64_t)(options->most_delay * 1e6);
	bool is_over = !first->rows || options->most_delay <= 0 || served->serving->stop || until <= dfg_now();
	return is_over || count_rows(served) >= options->most_batch ? 0 : until;
}

/* The first job and those that join it, up to `most` rows. */
static struct dfg_serving_job *take_joined(struct dfg_served *served, int64_t most, uint64_t *out_count)
{
	struct dfg_serving_job *first = take_at(served, &served->first), **last = &first->next;
	int64_t rows = first->rows;
	*out_count = 1;
	for (struct dfg_serving_job **at = &served->first; first->rows && *at && rows < most;) {
		if (!dfg_job_joins(first, *at) || (*at)->rows > most - rows) {
			at = &(*at)->next;
			continue;
		}
		rows += (*at)->rows;
		*last = take_at(served, at);
		last = &(*last)->next;
		++*out_count;
	}
	return first;
}

/* Runs the next step of a model on this thread, if it is quick. False: there is none. */
static bool run_quick(struct dfg_served *served)
{
	struct dfg_serving *serving = served->serving;
	struct dfg_serving_job *jobs = NULL;
	uint64_t count = 0;
	pthread_mutex_lock(&served->lock);
	int64_t rows = served->first ? dfg_quick_rows(served->first) : 0;
	if (rows && !waits_until(served))
		jobs = take_joined(served, rows, &count);
	pthread_mutex_unlock(&served->lock);
	if (!jobs)
		return false;
	pthread_mutex_lock(&serving->lock);
	serving->jobs -= count;
	pthread_mutex_unlock(&serving->lock);
	serving->pushed -= count < (uint64_t)serving->pushed ? (int)count : serving->pushed;
	dfg_serving_run(jobs);
	return true;
}

/* A thread is woken for each job that this one does not run itself. */
uint64_t dfg_serving_settle(void *arg)
{
	struct dfg_serving *serving = arg;
	if (dfg_now() >= serving->look_ns)
		refuse_late(serving);
	for (size_t i = 0; i < serving->n_served && serving->pushed; i++)
		while (run_quick(&serving->served[i]))
			;
	for (int i = 0; i < serving->pushed && i < serving->n_threads; i++)
		pthread_cond_signal(&serving->work);
	serving->pushed = 0;
	return serving->look_ns;
}

/*
 * The jobs of the next step of the next model that has one and may run it, or NULL; then *out_until is the time until
 * which jobs wait for others, 0 if none does.
 */
static struct dfg_serving_job *take_jobs(
	struct dfg_serving *serving, size_t *next, uint64_t *out_count, uint64_t *out_until)
{
	struct dfg_serving_job *jobs = NULL;
	*out_until = 0;
	for (size_t i = 0; i < serving->n_served && !jobs; i++) {
		struct dfg_served *served = &serving->served[(*next)++ % serving->n_served];
		pthread_mutex_lock(&served->lock);
		bool may_run = served->first && !(serving->options.stateful && served->is_running);
		uint64_t until = may_run ? waits_until(served) : 0;
		if (may_run && !until)
			jobs = take_joined(served, serving->options.most_batch, out_count);
		if (until && (!*out_until || until < *out_until))
			*out_until = until;
		served->is_running |= jobs != NULL;
		pthread_mutex_unlock(&served->lock);
	}
	return jobs;
}

void dfg_served_end_turn(struct dfg_served *served)
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

static void wait_for_work(struct dfg_serving *serving, uint64_t until)
{
	const struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
	if (until)
		pthread_cond_timedwait(&serving->work, &serving->lock, &at);
	else
		pthread_cond_wait(&serving->work, &serving->lock);
}

static void *work(void *arg)
{
	struct dfg_serving *serving = arg;
	size_t next = 0;
	uint64_t count, until = 0;
	pthread_mutex_lock(&serving->lock);
	for (;;) {
		struct dfg_serving_job *jobs = serving->jobs ? take_jobs(serving, &next, &count, &until) : NULL;
		if (!jobs && serving->stop && !serving->jobs)
			break;
		if (!jobs) {
			wait_for_work(serving, serving->jobs ? until : 0);
			continue;
		}
		serving->jobs -= count;
		pthread_mutex_unlock(&serving->lock);
		struct dfg_served *served = jobs->served;
		if (jobs->stream) {
			dfg_stream_run(jobs);
		} else {
			dfg_serving_run(jobs);
			dfg_served_end_turn(served);
		}
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
	atomic_store(&serving->ends_streams, true);
	pthread_mutex_lock(&serving->lock);
	while (serving->streams)
		pthread_cond_wait(&serving->work, &serving->lock);
	pthread_mutex_unlock(&serving->lock);
	dfg_serving_trace_stop(serving);
}
