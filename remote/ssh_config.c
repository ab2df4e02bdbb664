#include "remote/ssh_config.h"

#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/text.h"
#include "remote/hosts.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20, DEPTH_MOST = 16, WORDS_MOST = 64, DEFAULT_PORT = 22 };

/* The user whose settings are read, for ~ and %d. */
struct reading {
	const struct dfg_ssh_wish *wish;
	struct dfg_arena *arena;
	struct dfg_ssh_entry *entry;
	const char *home;
	const char *local_user;
	const char *proxy_command; /* ProxyCommand's program; NULL: none */
	bool proxy_none;           /* set to "none", which later values do not change */
	bool strict_set, only_set, known_set, global_set;
	int depth;
};

/* A line: a keyword and its arguments. */
struct line {
	char *word[WORDS_MOST];
	size_t count;
};

static struct dfg_err *add_word(struct reading *r, struct dfg_ssh_words *words, const char *word)
{
	if (words->count == words->room) {
		size_t room = words->room ? 2 * words->room : 4;
		const char **more = dfg_arena_zeros(r->arena, room, sizeof *more);
		if (!more)
			return dfg_no_memory("the ssh configuration");
		for (size_t i = 0; i < words->count; i++)
			more[i] = words->word[i];
		words->word = more;
		words->room = room;
	}
	words->word[words->count++] = word;
	return NULL;
}

/* Patterns with '*' and '?' only, as in ssh_config(5): no brackets, no escapes. */
static bool match(const char *pattern, const char *s)
{
	const char *star = NULL, *again = NULL;
	while (*s) {
		if (*pattern == '*')
			star = pattern++, again = s;
		else if (*pattern == '?' || (*pattern && *pattern == *s))
			pattern++, s++;
		else if (star)
			pattern = star + 1, s = ++again;
		else
			return false;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* Whether the host matches a Host line: at least one pattern and none that is negated by '!'. */
static bool match_any(const struct line *line, const char *host)
{
	bool any = false;
	for (size_t i = 1; i < line->count; i++) {
		const char *pattern = line->word[i];
		if (*pattern == '!' && match(pattern + 1, host))
			return false;
		any |= *pattern != '!' && match(pattern, host);
	}
	return any;
}

/* The value of a token such as %h in a path or a HostName; NULL: unknown. */
static const char *token(const struct reading *r, char letter, char number[static 16])
{
	struct dfg_text text = {0};
	switch (letter) {
	case '%':
		return "%";
	case 'd':
		return r->home;
	case 'h':
		return r->entry->host_name;
	case 'n':
		return r->wish->host;
	case 'r':
		return r->entry->user;
	case 'u':
		return r->local_user;
	case 'p':
	case 'i':
		dfg_text_add(&text, "%u", letter == 'p' ? r->entry->port : (unsigned)getuid());
		strncpy(number, text.s ? text.s : "", 15);
		dfg_text_release(&text);
		return number;
	}
	return NULL;
}

static struct dfg_err *expand(const struct reading *r, const char *from, const char **out_text)
{
	struct dfg_text text = {0};
	char number[16] = "";
	if (from[0] == '~' && from[1] == '/') {
		dfg_text_add(&text, "%s", r->home);
		from++;
	}
	for (; *from; from++) {
		const char *value = *from == '%' ? token(r, from[1], number) : NULL;
		if (*from == '%' && !value) {
			dfg_text_release(&text);
			return DFG_ERR(DFG_CONFIG, "'%%%.1s' is not supported; use %%%% %%d %%h %%i %%n %%p %%r %%u", from + 1);
		}
		dfg_text_put(&text, value ? value : from, value ? strlen(value) : 1);
		from += value != NULL;
	}
	struct dfg_err *err = dfg_text_check(&text);
	if (!err && !(*out_text = dfg_arena_copy(r->arena, text.s ? text.s : "", text.length)))
		err = dfg_no_memory("the ssh configuration");
	dfg_text_release(&text);
	return err;
}

/* Expands tokens in paths, after the whole configuration was read, with the final values. */
static struct dfg_err *expand_all(const struct reading *r, struct dfg_ssh_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		DFG_TRY(expand(r, words->word[i], &words->word[i]));
	return NULL;
}

static struct dfg_err *read_port(const char *text, size_t length, uint16_t *out_port)
{
	char digits[6] = "";
	if (length < sizeof digits && strspn(text, "0123456789") >= length)
		memcpy(digits, text, length);
	unsigned long port = strtoul(digits, NULL, 10);
	if (port < 1 || port > 65535)
		return DFG_ERR(DFG_CONFIG, "'%.*s' is not a port", (int)(length < 40 ? length : 40), text);
	*out_port = (uint16_t)port;
	return NULL;
}

static struct dfg_err *read_yes(const char *text, bool *out_yes)
{
	*out_yes = !strcasecmp(text, "yes") || !strcasecmp(text, "true");
	if (!*out_yes && strcasecmp(text, "no") && strcasecmp(text, "false"))
		return DFG_ERR(DFG_CONFIG, "'%.40s' is neither yes nor no", text);
	return NULL;
}

static struct dfg_err *note(struct reading *r, const char *text)
{
	if (!r->entry->note)
		r->entry->note = text;
	return NULL;
}

/* The supported options. Each function is called for a line that applies to the host. */

static struct dfg_err *set_host_name(struct reading *r, const struct line *line)
{
	if (!r->entry->host_name)
		r->entry->host_name = line->word[1];
	return NULL;
}

static struct dfg_err *set_port(struct reading *r, const struct line *line)
{
	return r->entry->port ? NULL : read_port(line->word[1], strlen(line->word[1]), &r->entry->port);
}

static struct dfg_err *set_user(struct reading *r, const struct line *line)
{
	if (r->entry->user)
		return NULL;
	if (!dfg_host_name_valid(line->word[1], strlen(line->word[1])))
		return DFG_ERR(DFG_CONFIG,
			"'%.80s' is not a user: use letters, digits, '.', '_' and '-', and do not begin with '-'", line->word[1]);
	r->entry->user = line->word[1];
	return NULL;
}

static struct dfg_err *add_identity(struct reading *r, const struct line *line)
{
	return add_word(r, &r->entry->identity, line->word[1]);
}

static struct dfg_err *set_files(struct reading *r, const struct line *line, struct dfg_ssh_words *files, bool *set)
{
	bool late = *set;
	*set = true;
	for (size_t i = 1; !late && i < line->count; i++)
		if (strcasecmp(line->word[i], "none"))
			DFG_TRY(add_word(r, files, line->word[i]));
	return NULL;
}

static struct dfg_err *set_known_hosts(struct reading *r, const struct line *line)
{
	return set_files(r, line, &r->entry->known_hosts, &r->known_set);
}

static struct dfg_err *set_global_known_hosts(struct reading *r, const struct line *line)
{
	return set_files(r, line, &r->entry->global_known_hosts, &r->global_set);
}

static struct dfg_err *set_strict(struct reading *r, const struct line *line)
{
	bool yes;
	const char *word = line->word[1];
	if (r->strict_set)
		return NULL;
	r->strict_set = true;
	r->entry->accept_new = !strcasecmp(word, "accept-new");
	if (r->entry->accept_new || !strcasecmp(word, "ask"))
		return NULL;
	if (!strcasecmp(word, "off") || !strcasecmp(word, "no"))
		return note(r, "StrictHostKeyChecking no is ignored: host keys are always checked");
	return read_yes(word, &yes);
}

static struct dfg_err *set_identities_only(struct reading *r, const struct line *line)
{
	if (r->only_set)
		return NULL;
	r->only_set = true;
	return read_yes(line->word[1], &r->entry->identities_only);
}

static struct dfg_err *set_identity_agent(struct reading *r, const struct line *line)
{
	if (!r->entry->identity_agent)
		r->entry->identity_agent = line->word[1];
	return NULL;
}

static struct dfg_err *set_host_key_alias(struct reading *r, const struct line *line)
{
	if (!r->entry->host_key_alias)
		r->entry->host_key_alias = line->word[1];
	return NULL;
}

static struct dfg_err *set_connect_timeout(struct reading *r, const struct line *line)
{
	const char *word = line->word[1];
	const size_t length = strlen(word);
	if (r->entry->connect_seconds || !strcasecmp(word, "none"))
		return NULL;
	if (strspn(word, "0123456789") < length || length > 6 || !strtoul(word, NULL, 10))
		return DFG_ERR(DFG_CONFIG, "ConnectTimeout must be a number of seconds, not '%.40s'", word);
	r->entry->connect_seconds = (unsigned)strtoul(word, NULL, 10);
	return NULL;
}

/* ProxyJump and ProxyCommand are one option: the first one counts. */
static bool proxy_is_set(const struct reading *r)
{
	return r->proxy_none || r->proxy_command || r->entry->proxy_jump;
}

static struct dfg_err *set_proxy_jump(struct reading *r, const struct line *line)
{
	if (proxy_is_set(r))
		return NULL;
	r->proxy_none = !strcasecmp(line->word[1], "none");
	r->entry->proxy_jump = r->proxy_none ? NULL : line->word[1];
	return NULL;
}

static struct dfg_err *set_proxy_command(struct reading *r, const struct line *line)
{
	if (proxy_is_set(r))
		return NULL;
	r->proxy_none = !strcasecmp(line->word[1], "none");
	r->proxy_command = r->proxy_none ? NULL : line->word[1];
	return NULL;
}

static const struct setting {
	const char *keyword;
	struct dfg_err *(*set)(struct reading *r, const struct line *line);
} settings[] = {
	{"HostName", set_host_name},
	{"Port", set_port},
	{"User", set_user},
	{"IdentityFile", add_identity},
	{"UserKnownHostsFile", set_known_hosts},
	{"GlobalKnownHostsFile", set_global_known_hosts},
	{"StrictHostKeyChecking", set_strict},
	{"IdentitiesOnly", set_identities_only},
	{"IdentityAgent", set_identity_agent},
	{"HostKeyAlias", set_host_key_alias},
	{"ConnectTimeout", set_connect_timeout},
	{"ProxyJump", set_proxy_jump},
	{"ProxyCommand", set_proxy_command},
};

/*
 * The keyword ends at a blank or at '='; words may be in double quotes; '#' at the beginning of a word ends the line.
 */
static struct dfg_err *split(char *s, struct line *line)
{
	line->count = 0;
	for (;;) {
		s += strspn(s, " \t\r\f");
		if (line->count == 1 && *s == '=')
			s += 1 + strspn(s + 1, " \t");
		if (!*s || *s == '#')
			return NULL;
		bool quoted = *s == '"';
		s += quoted;
		if (line->count == WORDS_MOST)
			return DFG_ERR(DFG_CONFIG, "more than %d words", WORDS_MOST);
		line->word[line->count++] = s;
		s += quoted ? strcspn(s, "\"") : strcspn(s, line->count == 1 ? " \t\r\f=" : " \t\r\f");
		if (quoted && !*s)
			return DFG_ERR(DFG_CONFIG, "a quote is not closed");
		if (line->count == 1 && *s == '=')
			memmove(s + 1, s, strlen(s) + 1);
		if (*s)
			*s++ = '\0';
	}
}

static struct dfg_err *read_file(struct reading *r, const char *path, bool holds);

/* A relative name is in ~/.ssh; patterns are the shell's; a missing file is not an error. */
static struct dfg_err *include(struct reading *r, const char *name, bool holds)
{
	glob_t found;
	const char *path;
	DFG_TRY(expand(r, name, &path));
	if (*path != '/' && !(path = dfg_arena_print(r->arena, "%s/.ssh/%s", r->home, path)))
		return dfg_no_memory("the ssh configuration");
	int status = glob(path, 0, NULL, &found);
	if (status)
		return status == GLOB_NOSPACE ? dfg_no_memory("the ssh configuration") : NULL;
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < found.gl_pathc; i++)
		err = read_file(r, found.gl_pathv[i], holds);
	globfree(&found);
	return err;
}

/* Whether a name matches a comma-separated list of patterns in a Match line, by the rules of match_any(). */
static bool match_list(char *patterns, const char *name)
{
	struct line line = {.count = 1};
	for (char *rest, *one = strtok_r(patterns, ",", &rest); one && line.count < WORDS_MOST;
		 one = strtok_r(NULL, ",", &rest))
		line.word[line.count++] = one;
	return match_any(&line, name);
}

/*
 * Match: `all`, and lists of patterns for conditions that need no program. A block with another condition could contain
 * any option for this host, so it is an error and not skipped.
 */
static struct dfg_err *read_match(const struct reading *r, const struct line *line, bool *out_holds)
{
	*out_holds = true;
	if (line->count == 2 && !strcasecmp(line->word[1], "all"))
		return NULL;
	for (size_t i = 1; i < line->count; i += 2) {
		const char *host = r->entry->host_name ? r->entry->host_name : r->wish->host;
		const char *name = !strcasecmp(line->word[i], "host")           ? host
						   : !strcasecmp(line->word[i], "originalhost") ? r->wish->host
						   : !strcasecmp(line->word[i], "localuser")    ? r->local_user
						   : !strcasecmp(line->word[i], "user") ? r->entry->user ? r->entry->user : r->local_user
																: NULL;
		if (!name || i + 1 == line->count)
			return DFG_ERR(DFG_CONFIG, "Match %.40s is not supported; use all, host, originalhost, user and localuser",
				line->word[i]);
		*out_holds = match_list(line->word[i + 1], name) && *out_holds;
	}
	return NULL;
}

static struct dfg_err *read_line(struct reading *r, char *text, bool *holds, bool around)
{
	struct line line;
	DFG_TRY(split(text, &line));
	if (!line.count)
		return NULL;
	if (line.count == 1)
		return DFG_ERR(DFG_CONFIG, "%.40s has no value", line.word[0]);
	bool is_match = !strcasecmp(line.word[0], "Match");
	if (is_match || !strcasecmp(line.word[0], "Host")) {
		bool fits = !is_match && match_any(&line, r->wish->host);
		if (is_match && around)
			DFG_TRY(read_match(r, &line, &fits));
		*holds = around && fits;
		return NULL;
	}
	if (!strcasecmp(line.word[0], "Include")) {
		for (size_t i = 1; i < line.count; i++)
			DFG_TRY(include(r, line.word[i], *holds));
		return NULL;
	}
	for (size_t i = 0; *holds && i < sizeof settings / sizeof *settings; i++)
		if (!strcasecmp(line.word[0], settings[i].keyword))
			return settings[i].set(r, &line);
	return NULL;
}

static struct dfg_err *read_file(struct reading *r, const char *path, bool holds)
{
	struct dfg_blob blob;
	if (r->depth == DEPTH_MOST)
		return DFG_ERR(DFG_CONFIG, "%s: files include each other", path);
	DFG_TRY(dfg_blob_open(path, FILE_MOST, &blob));
	char *text = dfg_arena_copy(r->arena, blob.bytes, blob.size);
	size_t size = blob.size;
	dfg_blob_close(&blob);
	if (!text)
		return dfg_no_memory("the ssh configuration");
	const bool around = holds;
	struct dfg_err *err = NULL;
	r->depth++;
	int number = 0;
	for (char *s = text, *end = text + size; !err && s < end;) {
		size_t length = strcspn(s, "\n");
		char *copy = dfg_arena_zeros(r->arena, length + 2, 1); /* one more character, which split() needs */
		if (!copy)
			return dfg_no_memory("the ssh configuration");
		memcpy(copy, s, length);
		err = dfg_err_note(read_line(r, copy, &holds, around), "%s:%d", path, ++number);
		s += length + 1;
	}
	r->depth--;
	return err;
}

static struct dfg_err *find_home(struct reading *r)
{
	char room[4096];
	struct passwd passwd = {0}, *found = NULL;
	getpwuid_r(getuid(), &passwd, room, sizeof room, &found);
	const char *home = getenv("HOME");
	r->local_user = dfg_arena_print(r->arena, "%s", found ? found->pw_name : "root");
	if (!home || !*home)
		home = found ? found->pw_dir : "/";
	r->home = dfg_arena_copy(r->arena, home, strlen(home));
	return r->home && r->local_user ? NULL : dfg_no_memory("the ssh configuration");
}

/* As in ssh, the user's own file is refused if others can write it. */
static struct dfg_err *read_own(struct reading *r)
{
	struct stat stat_;
	const char *path = dfg_arena_print(r->arena, "%s/.ssh/config", r->home);
	if (!path)
		return dfg_no_memory("the ssh configuration");
	if (stat(path, &stat_))
		return errno == ENOENT || errno == ENOTDIR
				   ? NULL
				   : DFG_ERR(dfg_code_of_errno(errno, DFG_CONFIG), "cannot read %s: %s", path, strerror(errno));
	if ((stat_.st_uid && stat_.st_uid != getuid()) || (stat_.st_mode & 022))
		return DFG_ERR(DFG_CONFIG, "%s: others can write it: chmod go-w it", path);
	return read_file(r, path, true);
}

static struct dfg_err *set_defaults(struct reading *r)
{
	static const char *const identity[] = {"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"};
	struct dfg_ssh_entry *entry = r->entry;
	if (!entry->port)
		entry->port = DEFAULT_PORT;
	if (!entry->user)
		entry->user = r->local_user;
	for (size_t i = entry->identity.count ? 3 : 0; i < 3; i++)
		DFG_TRY(add_word(r, &entry->identity, identity[i]));
	if (!r->known_set) {
		DFG_TRY(add_word(r, &entry->known_hosts, "~/.ssh/known_hosts"));
		DFG_TRY(add_word(r, &entry->known_hosts, "~/.ssh/known_hosts2"));
	}
	if (!r->global_set) {
		DFG_TRY(add_word(r, &entry->global_known_hosts, "/etc/ssh/ssh_known_hosts"));
		DFG_TRY(add_word(r, &entry->global_known_hosts, "/etc/ssh/ssh_known_hosts2"));
	}
	return NULL;
}

/* %h in HostName is the given name; in paths it is HostName. */
static struct dfg_err *set_address(struct reading *r)
{
	struct dfg_ssh_entry *entry = r->entry;
	const char *name = entry->host_name;
	entry->host_name = r->wish->host;
	if (name)
		DFG_TRY(expand(r, name, &entry->host_name));
	size_t length = strlen(entry->host_name);
	if (!dfg_host_name_valid(entry->host_name, length) && !dfg_host_address_valid(entry->host_name, length))
		return DFG_ERR(DFG_CONFIG, "HostName '%.80s' is neither a name nor an address", entry->host_name);
	return NULL;
}

/* A socket, or the variable that names one. */
static struct dfg_err *set_agent(struct reading *r)
{
	const char **agent = &r->entry->identity_agent;
	if (*agent && !strcmp(*agent, "SSH_AUTH_SOCK"))
		*agent = NULL;
	if (!*agent || **agent != '$')
		return *agent ? expand(r, *agent, agent) : NULL;
	const char *value = getenv(*agent + 1);
	*agent = value ? dfg_arena_copy(r->arena, value, strlen(value)) : "none";
	return *agent ? NULL : dfg_no_memory("the ssh configuration");
}

struct dfg_err *dfg_ssh_config_read(
	const struct dfg_ssh_wish *wish, struct dfg_arena *arena, struct dfg_ssh_entry *out_entry)
{
	struct reading r = {.wish = wish, .arena = arena, .entry = out_entry};
	*out_entry = (struct dfg_ssh_entry){.user = wish->user, .port = wish->port, .proxy_jump = wish->jump};
	DFG_TRY(find_home(&r));
	DFG_TRY(wish->file ? read_file(&r, wish->file, true) : read_own(&r));
	if (r.proxy_command)
		return DFG_ERR(DFG_CONFIG, "ProxyCommand is not supported, because it starts a program: use ProxyJump");
	DFG_TRY(set_defaults(&r));
	DFG_TRY(set_address(&r));
	DFG_TRY(expand_all(&r, &out_entry->identity));
	DFG_TRY(expand_all(&r, &out_entry->known_hosts));
	DFG_TRY(expand_all(&r, &out_entry->global_known_hosts));
	return set_agent(&r);
}

struct dfg_err *dfg_ssh_hop_read(
	const char *text, const char *end, struct dfg_arena *arena, struct dfg_ssh_hop *out_hop)
{
	*out_hop = (struct dfg_ssh_hop){0};
	if (end - text > 6 && !strncmp(text, "ssh://", 6))
		text += 6;
	const char *at = memchr(text, '@', (size_t)(end - text)), *host = at ? at + 1 : text;
	const char *close = host < end && *host == '[' ? memchr(host, ']', (size_t)(end - host)) : NULL;
	const char *colon = memchr(close ? close : host, ':', (size_t)(end - (close ? close : host)));
	const char *host_end = colon ? colon : end;
	bool brackets = close && close + 1 == host_end;
	size_t length = (size_t)(host_end - host) - 2 * brackets;
	host += brackets;
	if ((at && !dfg_host_name_valid(text, (size_t)(at - text))) ||
		!(dfg_host_name_valid(host, length) || (brackets && dfg_host_address_valid(host, length))))
		return DFG_ERR(DFG_CONFIG, "ProxyJump must be USER@HOST:PORT, not '%.*s'", (int)(end - text), text);
	if (colon)
		DFG_TRY(read_port(colon + 1, (size_t)(end - colon - 1), &out_hop->port));
	if (at && !(out_hop->user = dfg_arena_copy(arena, text, (size_t)(at - text))))
		return dfg_no_memory("the ssh configuration");
	out_hop->host = dfg_arena_copy(arena, host, length);
	return out_hop->host ? NULL : dfg_no_memory("the ssh configuration");
}
