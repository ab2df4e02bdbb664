#define _GNU_SOURCE
#include "remote/shm_link.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * One thread runs all links of a process: it reads and writes for links that no other thread polls, polls for some
 * microseconds after the last movement, then sleeps in the kernel until a socket, the listener or the eventfd wakes it.
 */
enum {
	AWAKE_NS = 50000,      /* polling after the last movement */
	WATCH_NS = 200000,     /* between two checks whether another thread still polls */
	LOOK_NS = 10000000,    /* between two checks of the sockets, during constant movement */
	HELLO_NS = 2000000000, /* limit for the hello of a peer that has connected */
	BEATS = 6,             /* heartbeats in a lease */
};

void shm_nudge(struct dfg_shm *shm)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&shm->resting))
		(void)!write(shm->nudge, &(uint64_t){1}, sizeof(uint64_t)); /* the eventfd is full: the thread is awake */
}

static void changed(struct dfg_shm *shm)
{
	atomic_fetch_add(&shm->changes, 1);
	shm_nudge(shm);
}

bool shm_run(struct dfg_shm *shm, struct shm_link *link)
{
	pthread_mutex_lock(&shm->lock);
	bool fits = shm->n_links < LINKS_MOST;
	if (fits) {
		link->next = shm->links;
		shm->links = link;
		shm->n_links++;
	}
	pthread_mutex_unlock(&shm->lock);
	if (fits)
		changed(shm);
	return fits;
}

void shm_forget(struct dfg_shm *shm, struct shm_link *link)
{
	pthread_mutex_lock(&shm->lock);
	for (struct shm_link **at = &shm->links; *at; at = &(*at)->next)
		if (*at == link) {
			*at = link->next;
			shm->n_links--;
			break;
		}
	pthread_mutex_unlock(&shm->lock);
	changed(shm);
}

/* The thread: its list of links. */

static void stop_running(struct dfg_shm *shm)
{
	while (shm->n_running)
		shm_link_unref(shm->running[--shm->n_running]);
}

static void run_those_there_are(struct dfg_shm *shm)
{
	unsigned changes = atomic_load(&shm->changes);
	if (changes == shm->seen_changes)
		return;
	shm->seen_changes = changes;
	stop_running(shm);
	pthread_mutex_lock(&shm->lock);
	for (struct shm_link *link = shm->links; link; link = link->next) {
		atomic_fetch_add(&link->refs, 1);
		shm->running[shm->n_running++] = link;
	}
	pthread_mutex_unlock(&shm->lock);
}

/* Links that other threads poll are left to them. */
static bool move_all(struct dfg_shm *shm)
{
	bool moved = false, some;
	for (size_t i = 0; i < shm->n_running; i++) {
		struct shm_link *link = shm->running[i];
		if (!(link->watched = atomic_exchange_explicit(&link->polled, false, memory_order_relaxed)))
			moved |= shm_link_move(link, &some);
	}
	return moved;
}

/* The thread: connecting peers. */

void shm_drop_arrival(struct arrival *arrival)
{
	munmap(arrival->segment, sizeof *arrival->segment);
	close(arrival->fd);
	dfg_free(arrival);
}

struct arrival *shm_take_arrival(struct dfg_shm *shm, uint32_t peer)
{
	for (struct arrival **at = &shm->arrivals, *arrival; (arrival = *at); at = &arrival->next)
		if (arrival->peer == peer) {
			*at = arrival->next;
			shm->n_arrivals--;
			return arrival;
		}
	return NULL;
}

/* A peer that connects again has abandoned its earlier connection. */
static bool keep_arrival(struct dfg_shm *shm, struct arrival *arrival)
{
	pthread_mutex_lock(&shm->lock);
	struct arrival *before = shm_take_arrival(shm, arrival->peer);
	bool kept = shm->n_arrivals < LINKS_MOST;
	if (kept) {
		arrival->next = shm->arrivals;
		shm->arrivals = arrival;
		shm->n_arrivals++;
		pthread_cond_broadcast(&shm->arrived);
	}
	pthread_mutex_unlock(&shm->lock);
	if (before)
		shm_drop_arrival(before);
	return kept;
}

/* Answers with a shared segment. Takes the socket on success. */
static struct dfg_err *welcome(struct dfg_shm *shm, int fd, const struct hello *hello)
{
	int memory;
	struct arrival *arrival = dfg_zeros(1, sizeof *arrival);
	if (!arrival)
		return dfg_no_memory("a link");
	*arrival = (struct arrival){.peer = hello->self, .fd = fd};
	struct dfg_err *err = shm_segment_new(&memory, &arrival->segment);
	if (err) {
		dfg_free(arrival);
		return err;
	}
	struct hello answer = shm_hello(&shm->options, shm->secret);
	err = shm_hello_send(fd, &answer, memory);
	close(memory);
	if (!err && keep_arrival(shm, arrival))
		return NULL;
	arrival->fd = -1;
	shm_drop_arrival(arrival);
	return err ? err
			   : DFG_ERR(DFG_MEMORY, "more than %d workers, the limit, wait for a link over shared memory", LINKS_MOST);
}

/* Errors of an unauthenticated peer are reported to it alone. */
static void greet(struct dfg_shm *shm, int fd)
{
	int none;
	struct hello hello;
	struct dfg_err *err = shm_hello_receive(fd, 0, &hello, &none);
	if (none >= 0)
		close(none);
	if (!err)
		err = shm_hello_check(&hello, shm->secret);
	if (!err)
		err = welcome(shm, fd, &hello);
	if (!err)
		return;
	struct hello refusal = {.refused = err->code};
	dfg_err_free(shm_hello_send(fd, &refusal, -1));
	dfg_err_free(err);
	close(fd);
}

static void let_in(struct dfg_shm *shm)
{
	int fd = accept4(shm->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	struct dfg_err *err = shm_same_user(fd);
	if (err || shm->n_strangers == STRANGERS_MOST) {
		dfg_err_free(err);
		close(fd);
		return;
	}
	shm->stranger[shm->n_strangers++] = (struct stranger){fd, dfg_now() + HELLO_NS};
}

/* Reads the hellos of the strangers at fds[2]; closes those that are too late. */
static void attend(struct dfg_shm *shm, size_t n)
{
	struct stranger *stranger = shm->stranger;
	uint64_t now = dfg_now();
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (shm->fds[2 + i].revents)
			greet(shm, stranger[i].fd);
		else if (stranger[i].until < now)
			close(stranger[i].fd);
		else
			stranger[kept++] = stranger[i];
	}
	shm->n_strangers = kept;
}

/* The thread: sleeping. */

/* A descriptor comes with its tag. */
static void take_passed(struct shm_link *link, bool valid, uint64_t tag, int fd)
{
	if (valid && link->sink.passed)
		link->sink.passed(link->sink.arg, link->link.peer, tag, fd);
	else
		close(fd);
}

/* The peer woke us, or has ended. A polling thread may have stopped since. */
static void read_wakeups(struct shm_link *link)
{
	uint64_t tag = 0;
	ssize_t got = 1;
	for (int most = 64, fd; most && got > 0; most--) {
		bool cut;
		got = shm_packet_receive(link->fd, &tag, sizeof tag, &fd, &cut);
		if (fd >= 0)
			take_passed(link, got == sizeof tag && !cut, tag, fd);
	}
	atomic_store(&link->polled, false);
	if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
		shm_link_end(
			link, DFG_ERR(DFG_UNAVAILABLE, "%s has closed the link or ended", dfg_peer_words(link->link.peer).s));
}

/* Waits for all sockets, at most for the timeout. */
static void wait_for_sockets(struct dfg_shm *shm, const struct timespec *timeout)
{
	struct pollfd *fds = shm->fds;
	size_t strangers = shm->n_strangers, first = 2 + strangers;
	fds[0] = (struct pollfd){.fd = shm->nudge, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = shm->listener, .events = POLLIN};
	for (size_t i = 0; i < strangers; i++)
		fds[2 + i] = (struct pollfd){.fd = shm->stranger[i].fd, .events = POLLIN};
	for (size_t i = 0; i < shm->n_running; i++) {
		struct shm_link *link = shm->running[i];
		fds[first + i] = (struct pollfd){.fd = atomic_load(&link->lost) ? -1 : link->fd, .events = POLLIN};
	}
	if (ppoll(fds, first + shm->n_running, timeout, NULL) < 0)
		return;
	if (fds[0].revents)
		(void)!read(shm->nudge, &(uint64_t){0}, sizeof(uint64_t));
	for (size_t i = 0; i < shm->n_running; i++)
		if (fds[first + i].revents)
			read_wakeups(shm->running[i]);
	attend(shm, strangers);
	if (fds[1].revents)
		let_in(shm);
}

static bool is_idle(struct dfg_shm *shm)
{
	if (atomic_load(&shm->stop) || atomic_load(&shm->changes) != shm->seen_changes)
		return false;
	for (size_t i = 0; i < shm->n_running; i++)
		if (!shm->running[i]->watched && shm_link_could_move(shm->running[i]))
			return false;
	return true;
}

static void set_asleep(struct dfg_shm *shm, bool asleep)
{
	for (size_t i = 0; i < shm->n_running; i++)
		if (asleep && !shm->running[i]->watched)
			atomic_fetch_or(&shm->running[i]->here->asleep, RING_THREAD_ASLEEP);
		else if (!asleep)
			atomic_fetch_and(&shm->running[i]->here->asleep, ~(uint32_t)RING_THREAD_ASLEEP);
}

static uint64_t lease_ns(const struct dfg_shm *shm)
{
	return (uint64_t)shm->options.lease_ms * 1000000;
}

static uint64_t beat_ns(const struct dfg_shm *shm)
{
	return lease_ns(shm) / BEATS;
}

static void rest(struct dfg_shm *shm)
{
	uint64_t ns = beat_ns(shm);
	for (size_t i = 0; i < shm->n_running; i++)
		if (shm->running[i]->watched)
			ns = ns < WATCH_NS ? ns : WATCH_NS;
	set_asleep(shm, true);
	atomic_store(&shm->resting, true);
	atomic_thread_fence(memory_order_seq_cst); /* store the request to be woken before the last check */
	if (is_idle(shm))
		wait_for_sockets(shm, &(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)});
	atomic_store(&shm->resting, false);
	set_asleep(shm, false);
}

/*
 * Increments our heartbeat, and checks those of the peers. If this process was stopped itself, the peers get time to
 * show theirs.
 */
static void beat(struct dfg_shm *shm, uint64_t now)
{
	bool was_away = now - shm->beat_at > lease_ns(shm) / 2;
	uint64_t patience = (uint64_t)atomic_load(&shm->patience_ms) * 1000000;
	uint64_t most = patience > lease_ns(shm) ? patience : lease_ns(shm);
	shm->beat_at = now;
	for (size_t i = 0; i < shm->n_running; i++) {
		struct shm_link *link = shm->running[i];
		uint32_t beats = atomic_load(&link->there->beats);
		atomic_fetch_add(&link->here->beats, 1);
		if (beats != link->heard || was_away)
			link->heard_at = now;
		link->heard = beats;
		if (beats && now - link->heard_at > most && !atomic_load(&link->lost))
			shm_link_end(link, DFG_ERR(DFG_UNAVAILABLE, "%s has been silent for %.1f s",
								   dfg_peer_words(link->link.peer).s, (double)(now - link->heard_at) / 1e9));
	}
}

static void *live(void *arg)
{
	struct dfg_shm *shm = arg;
	while (!atomic_load(&shm->stop)) {
		run_those_there_are(shm);
		bool moved = move_all(shm);
		uint64_t now = dfg_now();
		if (moved)
			shm->moved_at = now;
		if (now - shm->beat_at > beat_ns(shm))
			beat(shm, now);
		if (now - shm->looked_at > LOOK_NS) {
			wait_for_sockets(shm, &(struct timespec){0});
			shm->looked_at = now;
		} else if (now - shm->moved_at > AWAKE_NS) {
			rest(shm);
		} else if (!moved) {
			sched_yield(); /* the peer may need this core */
		}
	}
	stop_running(shm);
	return NULL;
}

/* The thread blocks all signals, which are for the caller's threads. */
struct dfg_err *shm_start(struct dfg_shm *shm)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	int failed = pthread_create(&shm->thread, NULL, live, shm);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? DFG_ERR(DFG_MEMORY, "cannot start the thread for shared memory") : NULL;
}

void shm_stop(struct dfg_shm *shm)
{
	atomic_store(&shm->stop, true);
	shm_nudge(shm);
	pthread_join(shm->thread, NULL);
}
