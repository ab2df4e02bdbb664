#pragma once

#include "lib/base/pool.h"
#include "remote/shm.h"
#include "remote/shm_ring.h"

#include "lib/base/mem.h"

#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

/*
 * The parts of remote/shm.h: a link (shm_link.c), how it writes (shm_write.c) and reads (shm_read.c), and the thread
 * that runs links (shm_run.c).
 */

enum {
	FRAME_MOST = 64 << 10, /* bytes of a tensor in one frame */
	SMALL_MOST = 32 << 10, /* bytes; larger tensors may be overtaken */
};

enum frame_type { FRAME_MESSAGE = 1, FRAME_MORE };

/*
 * The contents of the ring: frames. A frame is a head, for a new message its key's iterations and its tensor's dims,
 * bytes of the tensor, and zeros up to a multiple of 8. A tensor that one frame does not hold continues in frames of
 * its own; one at a time, with complete messages between them. Strings are their lengths, 8 bytes each, then their
 * bytes.
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

/* A message that waits to be written, or is partly written. */
struct outgoing {
	struct outgoing *next;
	const struct dfg_message *message; /* the sender's, or `own` */
	void *packed;                      /* strings in the wire format; owned */
	const uint8_t *payload;
	uint64_t bytes, sent;
	bool begun;
	struct dfg_message own;
};

/* A message that is being received. */
struct incoming {
	struct dfg_message message;
	uint8_t *packed; /* strings in the wire format; owned */
	uint8_t *to;
	uint64_t bytes, got;
};

struct shm_link {
	struct dfg_link link; /* first member: a dfg_link * of this kind is one of these */
	struct dfg_shm *shm;
	struct shm_link *next; /* in shm's list */
	atomic_int refs;       /* its owner, and shm's thread */
	int fd;                /* the socket: a byte wakes the peer; end of file means that the peer ended */
	struct ring_segment *segment;
	struct ring_end *here, *there;
	struct dfg_link_sink sink;
	size_t tensor_bytes;
	atomic_bool lost;         /* set while `reading` is held */
	atomic_bool fault;        /* the reader's position is impossible: found by a writer, reported by the next reader */
	_Atomic uint64_t read_to; /* in.at, for threads that only check whether there is something to read */
	atomic_bool polled;       /* since shm's thread last asked */
	bool watched;             /* polled at that time; this and the fields down to heard_at belong to shm's thread */
	uint32_t heard;           /* the peer's heartbeat count: 0 until it has accepted the link */
	uint64_t heard_at;
	atomic_uint empty; /* consecutive polls that found nothing */

	pthread_mutex_t reading; /* guards the fields below, and calls of the sink */
	struct ring_reader in;
	bool half_read;
	struct incoming incoming; /* the message that is being read, if half_read */
	size_t given;             /* bytes read since the peer was last checked for waiting on space in the ring */
	bool closed;

	pthread_mutex_t writing; /* guards the fields below */
	struct ring_writer out;

	pthread_mutex_t queue; /* guards the fields below: held briefly, so that no sender waits for another's bytes */
	struct outgoing *small, **last_small;
	struct outgoing *large, **last_large; /* large tensors, and the messages that must not overtake them */
	atomic_int queued;
};

/* shm_write.c */

DFG_MUST_CHECK struct dfg_err *shm_link_send(struct dfg_link *link, const struct dfg_message *message);

DFG_MUST_CHECK struct dfg_err *shm_link_pass(struct dfg_link *link, uint64_t tag, int fd);

/* Writes waiting messages while the ring has space; true where some bytes were written. Any thread. */
bool shm_link_push(struct shm_link *link);

/* Whether a waiting message could be written now. */
bool shm_link_could_push(struct shm_link *link);
void shm_link_drop_queue(struct shm_link *link); /* the caller holds `writing` */

/* Sends a byte through the socket if the peer sleeps, after the stores that the peer must see. */
void shm_link_wake(struct shm_link *link);

/* shm_read.c */

/*
 * Reads available frames; *out_some is set where a message was delivered. The caller holds `reading`; an error ends the
 * link.
 */
DFG_MUST_CHECK struct dfg_err *shm_link_read(struct shm_link *link, bool *out_some);

/* shm_link.c */

/* Takes the socket and the mapped segment: on failure it closes and unmaps them. */
DFG_MUST_CHECK struct dfg_err *shm_link_new(struct dfg_shm *shm, const struct dfg_shm_options *options, uint32_t peer,
	int fd, struct ring_segment *segment, bool connected, struct shm_link **out_link);
void shm_link_unref(struct shm_link *link);

/* Reads and writes once; true where bytes were moved. *out_some is set where a message was delivered. */
bool shm_link_move(struct shm_link *link, bool *out_some);

/* Whether shm_link_move would move bytes. Called after the peer was asked to wake us, before we sleep. */
bool shm_link_could_move(struct shm_link *link);

/* The peer has ended: delivers the messages that are still in the ring, then reports err to the sink. Takes err. */
void shm_link_end(struct shm_link *link, struct dfg_err *err);

/* shm_hello.c: the handshake. The connecting process sends a hello, the accepting one answers with the segment. */

struct hello {
	char magic[8];
	uint32_t version, bytes; /* bytes of the segment, whose layout depends on the build */
	uint32_t self;           /* the number of the sender */
	uint32_t refused;        /* in an answer: an enum dfg_code, the other fields are then zero; 0: accepted */
	char secret[DFG_SECRET_SIZE - 1];
};
struct hello shm_hello(const struct dfg_shm_options *options, const char *secret);

/*
 * Checks a peer's hello: DFG_PROTOCOL for a different build, DFG_REFUSED for a wrong secret, DFG_MEMORY where the peer
 * lacks memory.
 */
DFG_MUST_CHECK struct dfg_err *shm_hello_check(const struct hello *hello, const char *secret);

/* DFG_REFUSED where the peer's process belongs to another user. */
DFG_MUST_CHECK struct dfg_err *shm_same_user(int fd);

/*
 * Sends or receives a packet, without blocking, and with it a descriptor, which is -1 where there is none. The result is
 * that of the system call: the bytes moved, 0 at the end, or -1 with errno. *out_cut: the system had no number for a
 * descriptor, or the packet was longer.
 */
ssize_t shm_packet_send(int socket, const void *bytes, size_t length, int fd);
ssize_t shm_packet_receive(int socket, void *out_bytes, size_t length, int *out_fd, bool *out_cut);

/*
 * Sends or receives one packet with a hello, and a descriptor unless fd is -1. Receive waits until `ns` of the
 * monotonic clock; *out_fd is -1 where no descriptor came.
 */
DFG_MUST_CHECK struct dfg_err *shm_hello_send(int socket, const struct hello *hello, int fd);
DFG_MUST_CHECK struct dfg_err *shm_hello_receive(int socket, uint64_t ns, struct hello *out_hello, int *out_fd);

/*
 * A new segment and its descriptor; or maps one that a peer made, sealed so that it cannot be truncated while mapped.
 */
DFG_MUST_CHECK struct dfg_err *shm_segment_new(int *out_fd, struct ring_segment **out_segment);
DFG_MUST_CHECK struct dfg_err *shm_segment_map(int fd, struct ring_segment **out_segment);

/* shm_run.c: the thread that runs all links of a process. */

enum {
	LINKS_MOST = 1024,   /* links, and as many peers that wait to be accepted */
	STRANGERS_MOST = 64, /* peers that have connected and not sent a hello yet */
};

/* A peer that has connected and not sent a hello yet. */
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
	char secret[DFG_SECRET_SIZE - 1];
	char host[DFG_SHM_ADDRESS], address[DFG_SHM_ADDRESS];
	int listener, nudge;
	pthread_t thread;
	atomic_bool resting, stop;

	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t arrived;
	struct arrival *arrivals;
	struct shm_link *links;
	size_t n_links, n_arrivals;
	atomic_uint changes; /* number of changes of the list of links */

	/* Used only by the thread. */
	struct stranger stranger[STRANGERS_MOST];
	struct shm_link *running[LINKS_MOST];
	struct pollfd fds[2 + STRANGERS_MOST + LINKS_MOST]; /* the eventfd, the listener, strangers, links */
	size_t n_strangers, n_running;
	uint64_t moved_at, looked_at, beat_at;
	unsigned seen_changes;
};

DFG_MUST_CHECK struct dfg_err *shm_start(struct dfg_shm *shm);
void shm_stop(struct dfg_shm *shm);

/* Wakes the thread. */
void shm_nudge(struct dfg_shm *shm);

/* Adds a link to run; false where there are too many. Removes a link. */
bool shm_run(struct dfg_shm *shm, struct shm_link *link);
void shm_forget(struct dfg_shm *shm, struct shm_link *link);

/* The caller holds the lock and owns the result: a peer that has connected; NULL where it has not. */
struct arrival *shm_take_arrival(struct dfg_shm *shm, uint32_t peer);
void shm_drop_arrival(struct arrival *arrival);
