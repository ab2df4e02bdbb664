#pragma once

#include "lib/base/pool.h"
#include "remote/shm.h"
#include "remote/shm_ring.h"

#include "lib/base/mem.h"

#include <poll.h>
#include <pthread.h>

/* The parts of remote/shm.h: a link (shm_link.c), how it writes (shm_write.c) and reads (shm_read.c), who runs it (shm.c). */

enum {
	FRAME_MOST = 64 << 10, /* of a tensor, in one frame */
	SMALL_MOST = 32 << 10, /* what is larger may be overtaken */
};

enum frame_type { FRAME_MESSAGE = 1, FRAME_MORE };

/*
 * What stands in the ring: a head, of a new message its key's iterations and its tensor's dims, bytes of the tensor, and
 * zeros up to a multiple of 8. A tensor that one frame does not hold goes on in frames of its own; one at a time, with
 * whole messages between them. Strings are their lengths, 8 bytes each, then their bytes.
 */
struct shm_frame {
	uint32_t count; /* bytes of the tensor in this frame */
	uint8_t type, kind, dead, dtype;
	uint32_t number;
	uint8_t depth, rank;
	uint16_t zero;
	uint64_t step, bytes; /* of the whole tensor */
};
_Static_assert(sizeof(struct shm_frame) == 32, "no holes");

static inline size_t frame_length(uint32_t depth, int rank, size_t count)
{
	return sizeof(struct shm_frame) + sizeof(int64_t) * (depth + (uint32_t)rank) + (count + 7) / 8 * 8;
}

/* A message that waits to be written, or is half written. */
struct outgoing {
	struct outgoing *next;
	const struct dfg_message *message; /* the sender's, or own */
	void *packed;                      /* strings as they go over; owned */
	const uint8_t *payload;
	uint64_t bytes, sent;
	bool begun;
	struct dfg_message own;
};

/* A message that comes. */
struct incoming {
	struct dfg_message message;
	uint8_t *packed; /* strings as they came; owned */
	uint8_t *to;
	uint64_t bytes, got;
};

struct shm_link {
	struct dfg_link link; /* first: a link is one of these */
	struct dfg_shm *shm;
	struct shm_link *next; /* of shm's */
	atomic_int refs;       /* its owner, and shm's thread */
	int fd;                /* the socket: a byte wakes the peer, its end is the peer's */
	struct ring_segment *segment;
	struct ring_end *here, *there;
	struct dfg_link_sink sink;
	size_t tensor_bytes;
	atomic_bool lost;         /* set with `reading` held */
	atomic_bool fault;        /* the reader's position is impossible: found while writing, told by who reads */
	_Atomic uint64_t read_to; /* in.at, for who would know whether there is something to read */
	atomic_bool polled;       /* since shm's thread last asked */
	bool watched;             /* it was; this and what follows are the thread's own notes */
	uint32_t heard;           /* of the peer's beats: 0 until it has taken the link */
	uint64_t heard_at;
	atomic_uint empty; /* polls in a row that found nothing */

	pthread_mutex_t reading; /* of what follows, and of calls of the sink */
	struct ring_reader in;
	bool half_read;
	struct incoming incoming; /* where one is half read */
	size_t given;             /* bytes read since the peer was last asked whether it waits for room */
	bool closed;

	pthread_mutex_t writing; /* of what follows */
	struct ring_writer out;

	pthread_mutex_t queue; /* of what follows: held for moments only, so that no sender waits for another's bytes */
	struct outgoing *small, **last_small;
	struct outgoing *large, **last_large; /* and what must stay behind these */
	atomic_int queued;
};

/* shm_write.c */

DFG_MUST_CHECK struct dfg_err *shm_link_send(struct dfg_link *link, const struct dfg_message *message);

/* Writes of what waits what there is room for, some of it at least; true where something was. Any thread. */
bool shm_link_push(struct shm_link *link);

/* Waits something that could be written now? */
bool shm_link_could_push(struct shm_link *link);
void shm_link_drop_queue(struct shm_link *link); /* with `writing` held */

/* A byte through the socket where the peer sleeps. What it shall see was stored before. */
void shm_link_wake(struct shm_link *link);

/* shm_read.c */

/* Reads what is there, some of it at least; *out_some where something was delivered. With `reading` held; an error is the link's end. */
DFG_MUST_CHECK struct dfg_err *shm_link_read(struct shm_link *link, bool *out_some);

/* shm_link.c */

/* Takes the socket, and the segment, mapped: it is unmapped where this fails, and the socket closed. */
DFG_MUST_CHECK struct dfg_err *shm_link_new(struct dfg_shm *shm, const struct dfg_shm_options *options, uint32_t peer,
	int fd, struct ring_segment *segment, bool connected, struct shm_link **out_link);
void shm_link_unref(struct shm_link *link);

/* Reads and writes once; true where something moved. *out_some where something was delivered. */
bool shm_link_move(struct shm_link *link, bool *out_some);

/* Would that move anything? Asked when the peer has been told to wake us, before we sleep. */
bool shm_link_could_move(struct shm_link *link);

/* The peer is no more: delivers what still is in the ring, then tells err. Takes it. */
void shm_link_end(struct shm_link *link, struct dfg_err *err);

/* shm_hello.c: how two processes come to share memory. Who connects says hello, who accepts answers with the segment. */

struct hello {
	char magic[8];
	uint32_t version, bytes; /* of the segment: another build has another layout */
	uint32_t self;           /* who speaks */
	uint32_t refused;        /* an answer's: enum dfg_code; the rest is zero */
	char secret[DFG_SECRET_ROOM - 1];
};
struct hello shm_hello(const struct dfg_shm_options *options, const char *secret);

/* Of a peer's: DFG_PROTOCOL for another build, DFG_REFUSED for another secret; DFG_MEMORY where the peer is short of it. */
DFG_MUST_CHECK struct dfg_err *shm_hello_check(const struct hello *hello, const char *secret);

/* A peer whose process is not this user's is DFG_REFUSED. */
DFG_MUST_CHECK struct dfg_err *shm_same_user(int fd);

/* One packet with hello in it, and a descriptor where fd is not -1. Waits until ns, of the monotonic clock; *out_fd -1: none. */
DFG_MUST_CHECK struct dfg_err *shm_hello_send(int socket, const struct hello *hello, int fd);
DFG_MUST_CHECK struct dfg_err *shm_hello_receive(int socket, uint64_t ns, struct hello *out_hello, int *out_fd);

/* A new segment, and its descriptor; one that a peer made, which nobody can cut short under us. */
DFG_MUST_CHECK struct dfg_err *shm_segment_new(int *out_fd, struct ring_segment **out_segment);
DFG_MUST_CHECK struct dfg_err *shm_segment_map(int fd, struct ring_segment **out_segment);

/* shm_run.c: the thread that runs all links of a process. */

enum {
	LINKS_MOST = 1024,   /* and peers that wait to be accepted */
	STRANGERS_MOST = 64, /* who have connected and not said hello yet */
};

/* Who has connected, and has not said hello. */
struct stranger {
	int fd;
	uint64_t until;
};

/* A peer that waits to be accepted. */
struct arrival {
	struct arrival *next;
	uint32_t peer;
	int fd;
	struct ring_segment *segment;
};

struct dfg_shm {
	struct dfg_shm_options options;
	_Atomic uint32_t patience_ms;
	char secret[DFG_SECRET_ROOM - 1];
	char host[DFG_SHM_ADDRESS], address[DFG_SHM_ADDRESS];
	int listener, nudge;
	pthread_t thread;
	atomic_bool resting, stop;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t arrived;
	struct arrival *arrivals;
	struct shm_link *links;
	size_t n_links, n_arrivals;
	atomic_uint changes; /* of the links */

	/* The thread's own. */
	struct stranger stranger[STRANGERS_MOST];
	struct shm_link *running[LINKS_MOST];
	struct pollfd fds[2 + STRANGERS_MOST + LINKS_MOST]; /* the nudge, the listener, strangers, links */
	size_t n_strangers, n_running;
	uint64_t moved_at, looked_at, beat_at;
	unsigned seen_changes;
};

DFG_MUST_CHECK struct dfg_err *shm_start(struct dfg_shm *shm);
void shm_stop(struct dfg_shm *shm);

/* It has something to do. */
void shm_nudge(struct dfg_shm *shm);

/* A link to run; false where there are too many. One that is not to be run any more. */
bool shm_run(struct dfg_shm *shm, struct shm_link *link);
void shm_forget(struct dfg_shm *shm, struct shm_link *link);

/* With the lock held: a peer that has come, the caller's from now on; NULL where it has not. */
struct arrival *shm_take_arrival(struct dfg_shm *shm, uint32_t peer);
void shm_drop_arrival(struct arrival *arrival);
