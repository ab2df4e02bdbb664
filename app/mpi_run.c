#define _GNU_SOURCE /* pipe2 */
#include "app/mpi_run.h"

#include "app/working.h"
#include "lib/base/build_id.h"
#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "remote/address.h"
#include "remote/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	HOST = 80,
	LAUNCHER_SECONDS = 900, /* until the launcher connects, which reads the graph first */
	END_SECONDS = 10,       /* for the status to reach all ranks */
	LOOK_MS = 20,
};

/* The record that each rank gathers first, of 256 bytes in every version. */
struct greeting {
	char version[16], build[24], host[HOST], machine[DFG_MACHINE_SIZE];
};
_Static_assert(sizeof(struct greeting) == 256, "all versions of dfg gather as many bytes");

/* This process as a rank. There is one, which signal handlers see. */
static struct rank {
	struct dfg_mpi_run_options options;
	uint32_t number, size;
	char secret[DFG_SECRET_SIZE];
	struct greeting me, *all; /* all: by rank */
	struct dfg_mpi *mpi;
	pthread_mutex_t lock;        /* guards `working` once it serves */
	struct dfg_working *working; /* NULL: it has ended */
	struct dfg_err *failure;     /* the reason why it is not a worker */
	struct dfg_event never;      /* is not signalled: to sleep */
	struct dfg_event event;      /* of a change of the fields below */
	atomic_bool orphaned, served;
	/* rank 0 */
	pid_t launcher;
	int lines;         /* a pipe to the launcher */
	int life;          /* a pipe that ends with the launcher */
	atomic_bool met;   /* the ranks have met */
	atomic_int status; /* of the launcher; -1: it runs */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static volatile sig_atomic_t asked_to_leave;

/* The launcher decides what a signal means: it is told, if the signal came to rank 0, and else gets it from mpirun too. */
static void on_signal(int number)
{
	int error = errno;
	if (self.launcher)
		kill(self.launcher, number);
	else if (number == SIGTERM)
		asked_to_leave = 1;
	errno = error;
}

static void catch_signals(void)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
	for (int i = 0; i < 3; i++)
		sigaction(caught[i], &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART}, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static struct dfg_err *start_thread(void *(*run)(void *arg))
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, NULL))
		return DFG_ERR(DFG_MEMORY, "cannot start a thread");
	pthread_detach(thread);
	return NULL;
}

/*
 * Takes the launcher's status. Before the ranks have met, MPI may wait for one that never comes: then only a death that
 * mpirun cannot overlook ends the others.
 */
static void *watch_launcher(void *arg)
{
	char byte;
	int status;
	while (read(self.life, &byte, 1) < 0 && errno == EINTR)
		continue;
	while (waitpid(self.launcher, &status, 0) < 0 && errno == EINTR)
		continue;
	status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	atomic_store(&self.status, status);
	dfg_event_signal(&self.event);
	for (int waited_ms = 0; !atomic_load(&self.met) && waited_ms < END_SECONDS * 1000; waited_ms += LOOK_MS)
		dfg_event_wait_until(&self.never, 0, dfg_now() + (uint64_t)LOOK_MS * 1000000);
	if (!atomic_load(&self.met))
		raise(SIGKILL);
	return arg;
}

static void write_line(const char *line)
{
	/* a launcher that has ended reads nothing: its status says why */
	dfg_err_free(dfg_fs_write_all(self.lines, "the launcher's pipe", line, strlen(line)));
	dfg_err_free(dfg_fs_write_all(self.lines, "the launcher's pipe", "\n", 1));
}

static void put_failure(const struct dfg_err *err, struct dfg_json_out *json)
{
	const size_t most = 500;
	char text[501];
	snprintf(text, sizeof text, "%.*s", (int)most, err->text);
	dfg_json_key(json, "error"), dfg_json_string(json, text);
	dfg_json_key(json, "code"), dfg_json_uint(json, (uint64_t)err->code);
}

static void tell_failure(const struct dfg_err *err)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	put_failure(err, &json);
	dfg_json_close(&json, '}');
	if (json.text.s)
		write_line(json.text.s);
	dfg_text_release(&json.text);
}

static void greet(struct greeting *me)
{
	snprintf(me->version, sizeof me->version, "dfg %s", DFG_VERSION);
	snprintf(me->build, sizeof me->build, "%s", dfg_build_id());
	if (gethostname(me->host, sizeof me->host - 1))
		snprintf(me->host, sizeof me->host, "?");
	dfg_ranks_machine(me->machine);
}

static bool all_on_one_machine(void)
{
	for (uint32_t i = 1; i < self.size; i++)
		if (memcmp(self.all[i].machine, self.all[0].machine, sizeof self.all[i].machine) != 0)
			return false;
	return true;
}

/* A record from another version need not end its texts. */
static void end_texts(struct greeting *greeting)
{
	greeting->version[sizeof greeting->version - 1] = greeting->build[sizeof greeting->build - 1] = '\0';
	greeting->host[sizeof greeting->host - 1] = '\0';
}

static struct dfg_err *check_versions(void)
{
	struct greeting *all = self.all;
	for (uint32_t i = 0; i < self.size; i++) {
		end_texts(&all[i]);
		bool same = !strcmp(all[i].version, all[0].version);
		if (!same)
			return DFG_ERR(DFG_PROTOCOL, "rank %u (%s) runs %s, but rank 0 (%s) runs %s", i, all[i].host,
				all[i].version, all[0].host, all[0].version);
		if (!dfg_build_ids_agree(all[i].build, all[0].build))
			return DFG_ERR(DFG_PROTOCOL, "rank %u (%s) and rank 0 (%s) run different builds of %s: %s and %s", i,
				all[i].host, all[0].host, all[i].version, all[i].build, all[0].build);
	}
	return NULL;
}

static void orphaned(void *arg, enum dfg_code code, const char *why)
{
	(void)arg, (void)code, (void)why;
	atomic_store(&self.orphaned, true);
	dfg_event_signal(&self.event);
}

static struct dfg_err *open_working(void)
{
	bool one = all_on_one_machine(), memory = one && strcmp(self.options.transport, "libcurl") != 0;
	const struct dfg_working_options options = {.number = self.number,
		.lanes = 1,
		.stride = 1,
		.lease = self.options.lease,
		.patience = LAUNCHER_SECONDS,
		.transport = memory ? "shm" : self.options.transport,
		.address = one ? "127.0.0.1" : "0.0.0.0",
		.secret = self.secret,
		.orphaned = orphaned};
	return dfg_working_open(&options, &self.working);
}

static void put_hello(const struct dfg_err *failure, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	dfg_ranks_put_self(self.number, self.me.host, json);
	if (failure)
		put_failure(failure, json);
	else
		dfg_working_hello(self.working, json);
	dfg_json_close(json, '}');
}

/* All say where they listen, or why they do not. Each knows then whether all do. */
static struct dfg_err *exchange_hellos(void)
{
	struct dfg_json_out json = {0};
	char mine[DFG_RANK_LINE] = "", *all = dfg_zeros(self.size, DFG_RANK_LINE);
	self.failure = open_working();
	put_hello(self.failure, &json);
	struct dfg_err *err = all ? dfg_text_check(&json.text) : dfg_no_memory("the ranks");
	if (!err && json.text.length >= DFG_RANK_LINE)
		err = DFG_ERR(DFG_CONFIG, "the message with the address of this rank has %zu characters, the limit is %d",
			json.text.length, DFG_RANK_LINE - 1);
	if (!err) {
		memcpy(mine, json.text.s, json.text.length);
		err = dfg_mpi_gather(self.mpi, mine, DFG_RANK_LINE, all);
	}
	for (uint32_t i = 0; i < self.size && !err && self.launcher; i++)
		write_line(all + (size_t)i * DFG_RANK_LINE);
	dfg_text_release(&json.text);
	dfg_free(all);
	return err;
}

/* Where all ranks meet: what one does here, each does. */
static struct dfg_err *meet(void)
{
	char count[40];
	self.size = dfg_mpi_size(self.mpi);
	self.number = dfg_mpi_rank(self.mpi);
	if (!(self.all = dfg_zeros(self.size, sizeof *self.all)))
		return dfg_no_memory("the ranks");
	DFG_TRY(dfg_mpi_gather(self.mpi, &self.me, sizeof self.me, self.all));
	if ((self.failure = check_versions())) {
		if (self.launcher)
			tell_failure(self.failure);
		return NULL;
	}
	DFG_TRY(dfg_mpi_broadcast(self.mpi, self.secret, sizeof self.secret));
	snprintf(count, sizeof count, "{\"ranks\":%u}", self.size);
	if (self.launcher)
		write_line(count);
	return exchange_hellos();
}

static void *serve(void *arg)
{
	struct dfg_err *err = dfg_working_serve(self.working);
	dfg_err_free(err); /* the launcher has lost this worker, and tells that */
	pthread_mutex_lock(&self.lock);
	struct dfg_working *working = self.working;
	self.working = NULL;
	pthread_mutex_unlock(&self.lock);
	dfg_working_close(working); /* so that the launcher knows that it has ended */
	atomic_store(&self.served, true);
	dfg_event_signal(&self.event);
	return arg;
}

static void sleep_until_change(uint32_t seen, uint32_t ms)
{
	dfg_event_wait_until(&self.event, seen, dfg_now() + (uint64_t)ms * 1000000);
}

/* Rank 0 waits for the launcher's status and sends it to all ranks. False: not all have received it in time. */
static bool end_first(int *out_status)
{
	uint32_t seen;
	while (seen = atomic_load(&self.event.word), (*out_status = atomic_load(&self.status)) < 0)
		sleep_until_change(seen, 1000);
	uint64_t until = dfg_now() + (uint64_t)END_SECONDS * 1000000000;
	struct dfg_err *err = dfg_mpi_send_status(self.mpi, *out_status);
	bool sent = !err;
	dfg_err_free(err);
	while (sent && !dfg_mpi_sent_status(self.mpi)) {
		if (dfg_now() >= until)
			return false;
		sleep_until_change(atomic_load(&self.event.word), 1);
	}
	return sent;
}

/* The worker leaves an elastic run after its step. In any other run this does nothing: the launcher ends the worker. */
static void leave_run(void)
{
	asked_to_leave = 0;
	pthread_mutex_lock(&self.lock);
	if (self.working)
		dfg_working_leave(self.working);
	pthread_mutex_unlock(&self.lock);
}

/* Each other rank waits for the status from rank 0, which comes soon after the launcher is lost if rank 0 is there. */
static struct dfg_err *end_other(int *out_status)
{
	uint64_t until = UINT64_MAX;
	DFG_TRY(dfg_mpi_await_status(self.mpi));
	for (;;) {
		uint32_t seen = atomic_load(&self.event.word);
		bool over = atomic_load(&self.served) || atomic_load(&self.orphaned) || self.failure;
		if (dfg_mpi_got_status(self.mpi, out_status))
			return NULL;
		if (asked_to_leave)
			leave_run();
		if (over && until == UINT64_MAX)
			until = dfg_now() + (uint64_t)END_SECONDS * 1000000000;
		if (dfg_now() >= until)
			return DFG_ERR(DFG_UNAVAILABLE,
				"the launcher is lost, and rank 0 did not report its exit status within %d s", END_SECONDS);
		sleep_until_change(seen, over ? 1 : LOOK_MS);
	}
}

/* MPI_Finalize waits for ranks that may be lost. */
static void *end_anyway(void *arg)
{
	sleep(END_SECONDS);
	self.options.leave(*(int *)arg);
	return NULL;
}

static struct dfg_err *be_rank(int *out_status)
{
	static int status;
	pthread_t last;
	DFG_TRY(dfg_mpi_init(&self.mpi));
	DFG_TRY(meet());
	atomic_store(&self.met, true);
	if (!self.launcher)
		catch_signals();
	if (!self.failure)
		DFG_TRY(start_thread(serve));
	bool all = true;
	if (self.launcher)
		all = end_first(&status);
	else
		DFG_TRY(end_other(&status));
	*out_status = status;
	if (all && !pthread_create(&last, NULL, end_anyway, &status))
		dfg_mpi_free(self.mpi, true);
	return NULL;
}

/* Rank 0 starts the process that continues the command, in a process group of its own, so that it gets a signal once. */
static struct dfg_err *fork_launcher(int *out_lines)
{
	int lines[2], life[2];
	const char *hydra = getenv("PMI_FD");
	if (pipe2(lines, O_CLOEXEC) || pipe2(life, O_CLOEXEC))
		return DFG_ERR(DFG_MEMORY, "cannot create a pipe: %s", strerror(errno));
	self.launcher = fork();
	if (self.launcher < 0)
		return DFG_ERR(DFG_MEMORY, "cannot start the launcher: %s", strerror(errno));
	if (!self.launcher) {
		setpgid(0, 0);
		close(lines[1]);
		close(life[0]); /* life[1] stays open as long as the launcher lives */
		if (hydra)
			close((int)strtol(hydra, NULL, 10)); /* by which mpirun knows when the rank ends */
		*out_lines = lines[0];
		return NULL;
	}
	close(lines[0]);
	close(life[1]);
	self.lines = lines[1];
	self.life = life[0];
	return NULL;
}

static struct dfg_err *make_ranks(int lines, struct dfg_ranks **out_ranks)
{
	static struct dfg_ranks ranks = {.what = "rank", .in_memory = true};
	ranks.fd = lines;
	ranks.seconds = self.options.timeout;
	memcpy(ranks.secret, self.secret, sizeof ranks.secret);
	*out_ranks = &ranks;
	return NULL;
}

static struct dfg_err *begin_first(struct dfg_ranks **out_ranks)
{
	int lines = -1;
	DFG_TRY(dfg_secret_make(self.secret));
	DFG_TRY(fork_launcher(&lines));
	if (!self.launcher)
		return make_ranks(lines, out_ranks);
	catch_signals();
	atomic_store(&self.status, -1);
	return start_thread(watch_launcher);
}

/* After an error in rank 0, the launcher reports it, and the rank ends with the launcher's status. */
static void end_by_launcher(struct dfg_err *err, int *out_status)
{
	uint32_t seen;
	tell_failure(err);
	close(self.lines);
	atomic_store(&self.met, true);
	while (seen = atomic_load(&self.event.word), (*out_status = atomic_load(&self.status)) < 0)
		sleep_until_change(seen, 1000);
	dfg_err_free(err);
}

struct dfg_err *dfg_mpi_run(const struct dfg_mpi_run_options *options, struct dfg_ranks **out_ranks, int *out_status)
{
	self.options = *options;
	*out_ranks = NULL;
	greet(&self.me);
	if (!dfg_mpi_environment(&self.number, &self.size))
		return DFG_ERR(DFG_USAGE,
			"--hosts mpi requires mpirun or srun, as in `mpirun -n 4 dfg run ...`: the environment has no rank");
	if (self.number == 0) {
		DFG_TRY(begin_first(out_ranks));
		if (*out_ranks)
			return NULL;
	}
	struct dfg_err *err = be_rank(out_status);
	if (err && self.launcher) {
		end_by_launcher(err, out_status);
		return NULL;
	}
	return dfg_err_note(err, "rank %u (%s)", self.number, self.me.host);
}
