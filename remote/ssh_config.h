#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the user's ssh config says of a host, by OpenSSH's rules: the first value of an option counts, IdentityFile
 * collects. Read by us and not by libssh, so that nothing in it can start a program: a host that needs ProxyCommand is
 * refused, and so is a Match block whose condition is not about names. Strings live in the arena.
 */
struct dfg_ssh_entry {
	const char *host_name; /* to connect to; never NULL */
	const char *user;      /* never NULL */
	uint16_t port;         /* never 0 */
	struct dfg_ssh_words {
		const char **word;
		size_t count, room;
	} identity, known_hosts, global_known_hosts; /* files; identities in the order they are tried */
	bool accept_new;            /* a host without a key in any known_hosts is believed and written down */
	bool identities_only;       /* the agent is not asked */
	const char *identity_agent; /* socket of it; NULL: what SSH_AUTH_SOCK names; "none" */
	const char *host_key_alias; /* what known_hosts calls it; NULL: by its name and port */
	const char *proxy_jump;     /* "user@host:port,..."; NULL: none */
	unsigned connect_seconds;   /* that a host may be silent; 0: it does not say */
	const char *note;           /* what was passed over, for the user; NULL: nothing */
};

/* Whom to look for. What is not NULL or 0 goes before the file's. */
struct dfg_ssh_wish {
	const char *file; /* as ssh -F; NULL: ~/.ssh/config, if there is one */
	const char *host; /* valid as dfg_worker_host's */
	const char *user;
	uint16_t port;
	const char *jump; /* the way there, whatever the file says */
};

/* DFG_CONFIG with FILE:LINE; DFG_NO_INPUT where a named file is not there. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_config_read(
	const struct dfg_ssh_wish *wish, struct dfg_arena *arena, struct dfg_ssh_entry *out_entry);

/* "user@host:port" of ProxyJump, ssh://user@host:port too; end: of the piece. Zero where it does not say. */
struct dfg_ssh_hop {
	const char *user, *host;
	uint16_t port;
};
DFG_MUST_CHECK struct dfg_err *dfg_ssh_hop_read(
	const char *text, const char *end, struct dfg_arena *arena, struct dfg_ssh_hop *out_hop);
