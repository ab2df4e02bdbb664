#pragma once

#include "lib/exec/session.h"
#include "remote/control.h"

/* A worker, as the others know it. */
struct dfg_peer {
	const char *name;        /* of the hosts file, or "w1": for messages */
	const char *device;      /* in full */
	const char *transport;   /* of the link to it, as --transport calls it; "" where there is none */
	const char *address;     /* where its hub listens; "" where it has none */
	const char *fingerprint; /* of its hub's key; "" where it is on loopback, without TLS */
	const char *shm;         /* where processes of its host find it; "" where it has no such place */
};

/* What a worker is told before all else. */
struct dfg_worker_config {
	uint32_t self, workers;
	struct dfg_peer *peer;              /* by number */
	struct dfg_session_options session; /* what is a number in it */
	bool trace;
	double lease;   /* seconds of the launcher's silence after which a worker ends; 0: any */
	double seconds; /* in which the links to the other workers must be made */
};

/*
 * Seconds after which a link among so many workers is lost by silence: the lease, or more where there are many. In that
 * time each shows four times to each other that it is there, which for 64 workers of one machine would take most of a
 * processor; and the launcher watches each worker at the lease itself.
 */
double dfg_worker_config_link_lease(double lease, uint32_t workers);

void dfg_worker_config_put(struct dfg_packet *packet, const struct dfg_worker_config *setup);

/* Text lives as long as the packet; the rest is the arena's. */
DFG_MUST_CHECK struct dfg_err *dfg_worker_config_get(
	struct dfg_packet *packet, struct dfg_arena *arena, struct dfg_worker_config *out_setup);
