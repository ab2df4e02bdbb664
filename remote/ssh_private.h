#pragma once

#include "remote/hosts.h"
#include "remote/libssh.h"
#include "remote/ssh_config.h"

/* What the parts of remote/ssh*.c know of each other. */

/* A connection to a machine. Used by one thread at a time, and never waits but in dfg_ssh_turn(). */
struct dfg_ssh {
	ssh_session session;
	int fd, lent; /* of the connection: ours, and its duplicate that libssh has; 0: none */
	struct dfg_ssh_entry entry;
	struct dfg_arena arena;
	struct dfg_ssh_jump *jump; /* that carries it; NULL: none */
	struct dfg_ssh_wish wish;  /* what was asked for */
	char address[64];          /* numeric, that was connected to; the name there is where a jump carries it */
	double seconds;            /* each wait may take */
	uint64_t last_deadline;    /* of all waits; ns, UINT64_MAX: none */
	uint64_t deadline;         /* of the present wait; ns */
};

/*
 * ssh config, way, keys of the host and of the user. Each wait takes some seconds at most, and none goes past the deadline
 * (ns; 0: none). The error is not prefixed with the host's name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_open(
	const struct dfg_ssh_wish *wish, double seconds, uint64_t deadline, struct dfg_ssh *out_ssh);
void dfg_ssh_shut(struct dfg_ssh *ssh);

/* What follows may take ssh->seconds. */
void dfg_ssh_begin(struct dfg_ssh *ssh);

/* Waits until libssh has something to do, at most 100 ms; DFG_UNAVAILABLE, "... did not WHAT within 10 s". */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_turn(struct dfg_ssh *ssh, const char *what);

/* A TCP connection, tried at each address of the name; out_address is where it went. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_dial(
	const char *host, uint16_t port, double seconds, int *out_fd, char out_address[static 64]);

/* A descriptor that leads to host:port through `ssh`, which now belongs to the jump. */
struct dfg_ssh_jump;
DFG_MUST_CHECK struct dfg_err *dfg_ssh_jump_open(
	struct dfg_ssh *ssh, const char *host, uint16_t port, int *out_fd, struct dfg_ssh_jump **out_jump);
void dfg_ssh_jump_close(struct dfg_ssh_jump *jump);

/* The kinds of keys to ask the host for: those in the known_hosts first. In ssh's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_known_kinds(struct dfg_ssh *ssh, const char **out_kinds);

/* DFG_REFUSED unless the host's key is in the known_hosts. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_known_check(struct dfg_ssh *ssh);

/* Agent, then keys. DFG_REFUSED, naming what was tried. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_login(struct dfg_ssh *ssh);
