#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The settings of a host in the user's ssh config, by OpenSSH's rules (ssh_config(5)): the first value of an option
 * counts, IdentityFile collects. The file is parsed here and not by libssh, so that an option that cannot be followed is
 * an error, and no other program is started than those of Match exec and ProxyCommand. Strings live in the arena.
 */
struct dfg_ssh_entry {
	const char *host_name; /* to connect to; never NULL */
	const char *user;      /* never NULL */
	uint16_t port;         /* never 0 */
	struct dfg_ssh_words {
		const char **word;
		size_t count, capacity;
	} identity, known_hosts, global_known_hosts; /* files; identities in the order they are tried */
	bool accept_new;            /* a host without a key in any known_hosts is trusted, and its key is added */
	bool identities_only;       /* the agent's keys count only if they are those of identity files */
	const char *identity_agent; /* socket of the agent, or "none"; NULL: the one in SSH_AUTH_SOCK */
	const char *host_key_alias; /* its name in known_hosts; NULL: its host name and port */
	const char *proxy_jump;     /* "user@host:port,..."; NULL: none */
	const char *proxy_command;  /* a program for /bin/sh, whose stdin and stdout are the connection; NULL: none */
	unsigned connect_seconds;   /* seconds for which a host may be silent; 0: not given */
	const char *note;           /* a warning for the user about ignored options; NULL: none */
};

/* The host to look up. Fields that are not NULL or 0 override the file's. */
struct dfg_ssh_wish {
	const char *file; /* as ssh -F; NULL: ~/.ssh/config, if there is one */
	const char *host; /* valid as dfg_worker_host's */
	const char *user;
	uint16_t port;
	const char *jump; /* the jump hosts, overriding the file's */
};

/* DFG_CONFIG with FILE:LINE; DFG_NO_INPUT where a named file does not exist. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_config_read(
	const struct dfg_ssh_wish *wish, struct dfg_arena *arena, struct dfg_ssh_entry *out_entry);

/*
 * One hop of ProxyJump: "user@host:port" or ssh://user@host:port; end: the end of its text. Fields that are not given
 * are zero.
 */
struct dfg_ssh_hop {
	const char *user, *host;
	uint16_t port;
};
DFG_MUST_CHECK struct dfg_err *dfg_ssh_hop_read(
	const char *text, const char *end, struct dfg_arena *arena, struct dfg_ssh_hop *out_hop);
