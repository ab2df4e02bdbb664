#pragma once

#include "lib/exec/group/group.h"
#include "lib/exec/session.h"
#include "remote/control.h"

/* A worker, as known to the others. */
struct dfg_peer {
	const char *name;        /* from the hosts file, or "w1": for messages */
	const char *device;      /* its full device name */
	const char *transport;   /* transport of the link to it, by its --transport name; "" where there is none */
	const char *address;     /* address on which its HTTP links listen; "" where they do not */
	const char *fingerprint; /* fingerprint of its key; "" on loopback, without TLS */
	const char *shm;         /* address of its shared memory links for processes of its host; "" where it has none */
};

/* The first request to a worker: the configuration of the run. */
struct dfg_worker_config {
	uint32_t self, workers;
	uint32_t replicas; /* replica r is the workers [r, r + 1) * workers / replicas, in the order of parts */
	bool spmd; /* single program, multiple data: all replicas run each step, and divide parallel loops among them */
	uint32_t servers;                   /* the last parts of each replica, which are lanes of parameter servers */
	bool async;                         /* each replica updates the variables of its lanes by itself */
	uint64_t staleness;                 /* how many steps a replica may be ahead of the slowest one; 0: no limit */
	bool verify_staleness;              /* each read of a variable is checked to be within the limit */
	struct dfg_peer *peer;              /* by number */
	struct dfg_session_options session; /* its numeric options */
	uint32_t shards;                    /* of a batch; 0: 1 */
	bool shared; /* replicas reduce in memory that they share, where the shapes of the values are known */
	enum dfg_algorithm algorithm; /* by which they reduce; shm: values of other shapes are an error */
	bool trace;
	bool elastic;   /* replicas may leave */
	double lease;   /* seconds of the launcher's silence after which a worker ends; 0: no limit */
	double seconds; /* limit for making the links to the other workers */
};

/*
 * Seconds of silence after which a link among `workers` workers is lost: the lease, or more where there are many. Each
 * worker sends four heartbeats to each other one in that time, which for 64 workers of one machine at the lease itself
 * would take most of a processor; the launcher watches each worker at the lease.
 */
double dfg_worker_config_link_lease(double lease, uint32_t workers);

/* Writes a worker's entry; text that is read lives as long as the packet. */
void dfg_peer_put(struct dfg_packet *packet, const struct dfg_peer *peer);
void dfg_peer_get(struct dfg_packet *packet, struct dfg_peer *out_peer);

void dfg_worker_config_put(struct dfg_packet *packet, const struct dfg_worker_config *config);

/* Text lives as long as the packet; the other memory is the arena's. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_config_get(
	struct dfg_packet *packet, struct dfg_arena *arena, struct dfg_worker_config *out_setup);
