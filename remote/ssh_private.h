#pragma once

#include "remote/hosts.h"
#include "remote/libssh.h"
#include "remote/ssh_config.h"

/* Shared by remote/ssh*.c. */

/* A connection to a machine. Used by one thread at a time; only dfg_ssh_turn() waits. */
struct dfg_ssh {
	ssh_session session;
	int fd, lent; /* socket of the connection: ours, and its duplicate that libssh closes; 0: none */
	struct dfg_ssh_entry entry;
	struct dfg_arena arena;
	struct dfg_ssh_jump *jump;   /* the jump host's connection that carries it; NULL: none */
	struct dfg_ssh_proxy *proxy; /* the program that carries it; NULL: none */
	struct dfg_ssh_wish wish;    /* the options of the lookup */
	/* numeric address that was connected to; the host's name where a jump host or a program resolves it */
	char address[64];
	double seconds;         /* limit of each wait */
	uint64_t last_deadline; /* limit of all waits; ns, UINT64_MAX: none */
	uint64_t deadline;      /* limit of the present wait; ns */
};

/*
 * Reads the ssh config, connects, checks the host's key and authenticates the user. Each wait takes at most `seconds`,
 * and none goes past the deadline (ns; 0: none). The error lacks the host's name.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_open(
	const struct dfg_ssh_wish *wish, double seconds, uint64_t deadline, struct dfg_ssh *out_ssh);
void dfg_ssh_shut(struct dfg_ssh *ssh);

/* Starts a new wait of at most ssh->seconds. */
void dfg_ssh_begin(struct dfg_ssh *ssh);

/*
 * Waits until libssh has something to do, at most 100 ms; DFG_UNAVAILABLE, "... did not WHAT within 10 s", at the
 * deadline.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_turn(struct dfg_ssh *ssh, const char *what);

/* A TCP connection; tries each address of the name. out_address is the one that was connected. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_dial(
	const char *host, uint16_t port, double seconds, int *out_fd, char out_address[static 64]);

/* A descriptor that leads to host:port through `ssh`, which the jump takes. */
struct dfg_ssh_jump;
DFG_MUST_CHECK struct dfg_err *dfg_ssh_jump_open(
	struct dfg_ssh *ssh, const char *host, uint16_t port, int *out_fd, struct dfg_ssh_jump **out_jump);
void dfg_ssh_jump_close(struct dfg_ssh_jump *jump);

/* A descriptor that is the stdin and stdout of ProxyCommand's program, which /bin/sh runs. */
struct dfg_ssh_proxy;
DFG_MUST_CHECK struct dfg_err *dfg_ssh_proxy_open(const char *command, int *out_fd, struct dfg_ssh_proxy **out_proxy);

/*
 * The connection failed with err, which is taken: the result tells how the program failed, or is err with its last
 * words. *out_failed: the program ended, and its status is not 0.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_proxy_explain(
	struct dfg_ssh_proxy *proxy, struct dfg_err *err, bool *out_failed);

/* Writes how the program ended, and its last words; nothing where it runs. */
void dfg_ssh_proxy_tell_end(struct dfg_ssh_proxy *proxy, char *out_words, size_t size);

/* Ends the program, by force where it does not end by itself; its descriptor was closed before. NULL is allowed. */
void dfg_ssh_proxy_close(struct dfg_ssh_proxy *proxy);

/* The types of host keys to ask for, those in known_hosts first. Allocated in ssh's arena. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_known_kinds(struct dfg_ssh *ssh, const char **out_kinds);

/* DFG_REFUSED unless the host's key is in known_hosts. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_known_check(struct dfg_ssh *ssh);

/*
 * Puts an agent of ours between the session and the agent at this socket: each answer takes at most ssh->seconds, and
 * with IdentitiesOnly only the keys of the identity files are offered. *out_agent is NULL where the agent cannot be
 * reached, or no public key of an identity file is known.
 */
struct dfg_ssh_agent;
DFG_MUST_CHECK struct dfg_err *dfg_ssh_agent_open(
	struct dfg_ssh *ssh, const char *path, struct dfg_ssh_agent **out_agent);

/* False where the agent did not answer in time. NULL is allowed. */
bool dfg_ssh_agent_close(struct dfg_ssh_agent *agent);

/* Authenticates with the agent, then with key files. DFG_REFUSED, naming what was tried. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_login(struct dfg_ssh *ssh);
