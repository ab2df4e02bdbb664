#pragma once

#include "remote/ssh_config.h"

/* Shared by remote/ssh_config*.c. */

enum { DFG_SSH_WORDS_MOST = 64, DFG_SSH_DEFAULT_PORT = 22 };

/* A line: a keyword and its arguments, whose text may be changed. */
struct dfg_ssh_line {
	char *word[DFG_SSH_WORDS_MOST];
	size_t count;
};

/* The settings that were read so far, and the user whose they are. */
struct dfg_ssh_reading {
	const struct dfg_ssh_wish *wish;
	struct dfg_arena *arena;
	struct dfg_ssh_entry *entry;
	const char *home; /* for ~ and %d */
	const char *local_user;
	bool proxy_none; /* ProxyJump or ProxyCommand is "none", which later values do not change */
	bool strict_set, only_set, known_set, global_set;
	int depth; /* of files that include each other */
};

/* Expands ~/ and tokens such as %h, by the values of the entry. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_config_expand(
	const struct dfg_ssh_reading *r, const char *from, const char **out_text);

/* The host to connect to, by the settings so far: HostName, else the given name. DFG_CONFIG unless it is valid. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_config_host_name(const struct dfg_ssh_reading *r, const char **out_name);

/*
 * Expands the tokens %% %h %n %p %r of a command by the values of the entry, which are checked, since a shell reads the
 * result.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_config_command(
	const struct dfg_ssh_reading *r, const char *from, const char **out_text);

/* Whether the host matches a Host line: at least one pattern and none that is negated by '!'. */
bool dfg_ssh_config_match_names(const struct dfg_ssh_line *line, const char *host);

/* Whether a Match line holds. DFG_CONFIG where that depends on a condition that is not supported. */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_config_match(
	const struct dfg_ssh_reading *r, const struct dfg_ssh_line *line, bool *out_holds);
