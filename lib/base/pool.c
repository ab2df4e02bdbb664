#include "lib/base/pool.h"

#include "lib/base/mem.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS = 2000, THREADS_MOST = 1024 };

/* Parts of a loop, handed out one by one. Lives on the stack of the caller, who waits until nobody works on it. */
struct job {
	struct job *next;
	void (*part)(void *arg, int64_t i);
	void *arg;
	int64_t n;
	atomic_llong at;
	atomic_int workers; /* changed under the lock */
};

struct dfg_pool {
	int threads;
	enum dfg_denormals denormals;
	pthread_mutex_t lock; /* of what follows */
	struct job *jobs;     /* newest first: the innermost loop ends first */
	struct dfg_task *tasks, **last_task;
	pthread_t *thread;
	int made, named;
	bool stop;
	struct dfg_event work; /* there may be something to do */
	struct dfg_event done; /* a worker left a job */
};

static _Thread_local int thread_number;

int dfg_pool_thread(void)
{
	return thread_number;
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *until)
{
	syscall(SYS_futex, (void *)word, operation | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void sleep_on(struct dfg_event *event, uint32_t seen, const struct timespec *until)
{
	atomic_fetch_add(&event->sleepers, 1);
	if (atomic_load(&event->word) == seen)
		futex(&event->word, FUTEX_WAIT_BITSET, seen, until);
	atomic_fetch_sub(&event->sleepers, 1);
}

static void wait(struct dfg_event *event, uint32_t seen, const struct timespec *until)
{
	for (int i = 0; i < SPINS; i++) {
		if (atomic_load_explicit(&event->word, memory_order_acquire) != seen)
			return;
		dfg_pause_briefly();
	}
	sleep_on(event, seen, until);
}

/*
 * Threads that end their parts of a job at the same time meet here; what they do under the lock takes less time than to
 * put one of them to sleep.
 */
static void lock(struct dfg_pool *pool)
{
	for (int i = 0; i < SPINS / 10; i++) {
		if (!pthread_mutex_trylock(&pool->lock))
			return;
		dfg_pause_briefly();
	}
	pthread_mutex_lock(&pool->lock);
}

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

uint64_t dfg_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

double dfg_seconds(void)
{
	return (double)dfg_now() / 1e9;
}

void dfg_event_wait(struct dfg_event *event, uint32_t seen)
{
	wait(event, seen, NULL);
}

void dfg_event_wait_until(struct dfg_event *event, uint32_t seen, uint64_t ns)
{
	const struct timespec until = time_of(ns);
	wait(event, seen, &until);
}

void dfg_event_sleep(struct dfg_event *event, uint32_t seen, uint64_t ns)
{
	const struct timespec until = time_of(ns);
	sleep_on(event, seen, ns ? &until : NULL);
}

/* Wakes as many sleepers as `most`. */
static void signal_some(struct dfg_event *event, uint32_t most)
{
	atomic_fetch_add(&event->word, 1);
	if (atomic_load(&event->sleepers))
		futex(&event->word, FUTEX_WAKE, most, NULL);
}

void dfg_event_signal(struct dfg_event *event)
{
	signal_some(event, INT_MAX);
}

static void work_on(struct job *job)
{
	int64_t i;
	while ((i = atomic_fetch_add_explicit(&job->at, 1, memory_order_relaxed)) < job->n)
		job->part(job->arg, i);
}

static void delist(struct dfg_pool *pool, struct job *job)
{
	for (struct job **at = &pool->jobs; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			return;
		}
}

/* Does the first thing that there is; false where there was nothing. Called, and returns, with the lock held. */
static bool do_something(struct dfg_pool *pool)
{
	struct job *job = pool->jobs;
	if (job) {
		atomic_fetch_add(&job->workers, 1);
		pthread_mutex_unlock(&pool->lock);
		work_on(job);
		lock(pool);
		delist(pool, job);
		if (atomic_fetch_sub(&job->workers, 1) == 1)
			dfg_event_signal(&pool->done);
		return true;
	}
	struct dfg_task *task = pool->tasks;
	if (!task)
		return false;
	if (!(pool->tasks = task->next))
		pool->last_task = &pool->tasks;
	pthread_mutex_unlock(&pool->lock);
	task->begin(task);
	lock(pool);
	return true;
}

static void *live(void *arg)
{
	struct dfg_pool *pool = arg;
	(void)dfg_float_mode_set(pool->denormals);
	lock(pool);
	thread_number = ++pool->named;
	while (!pool->stop) {
		uint32_t seen = atomic_load(&pool->work.word);
		if (do_something(pool))
			continue;
		pthread_mutex_unlock(&pool->lock);
		dfg_event_wait(&pool->work, seen);
		lock(pool);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* With the lock held. A system that gives no more threads leaves the pool smaller. Signals are for the caller's. */
static void start(struct dfg_pool *pool)
{
	if (pool->thread || !(pool->thread = dfg_zeros((size_t)pool->threads, sizeof *pool->thread)))
		return;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (pool->made < pool->threads - 1 && !pthread_create(&pool->thread[pool->made], NULL, live, pool))
		pool->made++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct dfg_err *dfg_pool_new(int threads, struct dfg_pool **out_pool)
{
	struct dfg_pool *pool = dfg_zeros(1, sizeof *pool);
	if (!pool)
		return dfg_no_memory("the thread pool");
	if (pthread_mutex_init(&pool->lock, NULL)) {
		dfg_free(pool);
		return dfg_no_memory("the thread pool");
	}
	threads = threads > 0 ? threads : dfg_threads_allowed();
	pool->threads = threads < THREADS_MOST ? threads : THREADS_MOST;
	pool->denormals = DFG_KEEP;
	pool->last_task = &pool->tasks;
	*out_pool = pool;
	return NULL;
}

void dfg_pool_free(struct dfg_pool *pool)
{
	if (!pool)
		return;
	lock(pool);
	pool->stop = true;
	dfg_event_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (int i = 0; i < pool->made; i++)
		pthread_join(pool->thread[i], NULL);
	dfg_free(pool->thread);
	pthread_mutex_destroy(&pool->lock);
	dfg_free(pool);
}

int dfg_pool_threads(const struct dfg_pool *pool)
{
	return pool->threads;
}

void dfg_pool_set_denormals(struct dfg_pool *pool, enum dfg_denormals denormals)
{
	pool->denormals = denormals;
}

static void wait_for_workers(struct dfg_pool *pool, struct job *job)
{
	for (;;) {
		uint32_t seen = atomic_load(&pool->done.word);
		if (!atomic_load_explicit(&job->workers, memory_order_acquire))
			return;
		dfg_event_wait(&pool->done, seen);
	}
}

void dfg_pool_parallel(struct dfg_pool *pool, int64_t n, void (*part)(void *arg, int64_t i), void *arg)
{
	if (n <= 1 || pool->threads <= 1) {
		for (int64_t i = 0; i < n; i++)
			part(arg, i);
		return;
	}
	struct job job = {.part = part, .arg = arg, .n = n};
	lock(pool);
	start(pool);
	job.next = pool->jobs;
	pool->jobs = &job;
	pthread_mutex_unlock(&pool->lock);
	signal_some(&pool->work, n < pool->threads ? (uint32_t)n - 1 : (uint32_t)pool->threads);
	work_on(&job);
	lock(pool);
	delist(pool, &job);
	pthread_mutex_unlock(&pool->lock);
	wait_for_workers(pool, &job);
}

void dfg_pool_submit(struct dfg_pool *pool, struct dfg_task *task)
{
	lock(pool);
	start(pool);
	task->next = NULL;
	*pool->last_task = task;
	pool->last_task = &task->next;
	pthread_mutex_unlock(&pool->lock);
	dfg_event_signal(&pool->work);
}

bool dfg_pool_take_back(struct dfg_pool *pool, struct dfg_task *task)
{
	bool found = false;
	lock(pool);
	for (struct dfg_task **at = &pool->tasks; *at && !found; at = &(*at)->next)
		if (*at == task) {
			if (!(*at = task->next))
				pool->last_task = at;
			found = true;
			break;
		}
	pthread_mutex_unlock(&pool->lock);
	return found;
}
