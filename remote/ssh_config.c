#include "remote/ssh_config_private.h"

#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/text.h"
#include "remote/hosts.h"
#include "remote/ssh_stream.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20, DEPTH_MOST = 16 };

static struct dfg_err *add_word(struct dfg_ssh_reading *r, struct dfg_ssh_words *words, const char *word)
{
	if (words->count == words->capacity) {
		size_t capacity = words->capacity ? 2 * words->capacity : 4;
		const char **more = dfg_arena_zeros(r->arena, capacity, sizeof *more);
		if (!more)
			return dfg_no_memory("the ssh configuration");
		for (size_t i = 0; i < words->count; i++)
			more[i] = words->word[i];
		words->word = more;
		words->capacity = capacity;
	}
	words->word[words->count++] = word;
	return NULL;
}

/* The value of a token such as %h in a path or a HostName; NULL: unknown. */
static const char *token(const struct dfg_ssh_reading *r, char letter, char number[static 16])
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

static struct dfg_err *bad_token(const char *percent, bool in_command)
{
	return DFG_ERR(DFG_CONFIG, "'%.2s' is not supported here; the tokens that can be used are %s", percent,
		in_command ? "%% %h %n %p %r" : "%% %d %h %i %n %p %r %u");
}

/* A command can contain only tokens whose values are checked, since a shell reads it; the shell also expands its ~. */
static struct dfg_err *expand(const struct dfg_ssh_reading *r, const char *from, bool command, const char **out_text)
{
	struct dfg_text text = {0};
	char number[16] = "";
	if (!command && from[0] == '~' && from[1] == '/') {
		dfg_text_add(&text, "%s", r->home);
		from++;
	}
	for (; *from; from++) {
		const bool known = *from == '%' && from[1] && (!command || strchr("%hnpr", from[1]));
		const char *value = known ? token(r, from[1], number) : NULL;
		if (*from == '%' && !value) {
			dfg_text_release(&text);
			return bad_token(from, command);
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

struct dfg_err *dfg_ssh_config_expand(const struct dfg_ssh_reading *r, const char *from, const char **out_text)
{
	return expand(r, from, false, out_text);
}

struct dfg_err *dfg_ssh_config_command(const struct dfg_ssh_reading *r, const char *from, const char **out_text)
{
	return expand(r, from, true, out_text);
}

/* Expands tokens in paths, after the whole configuration was read, with the final values. */
static struct dfg_err *expand_all(const struct dfg_ssh_reading *r, struct dfg_ssh_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		DFG_TRY(dfg_ssh_config_expand(r, words->word[i], &words->word[i]));
	return NULL;
}

static struct dfg_err *read_port(const char *text, size_t length, uint16_t *out_port)
{
	char digits[6] = ""; /* the text may end with `length`, without a 0 */
	if (length < sizeof digits)
		memcpy(digits, text, length);
	unsigned long port = digits[strspn(digits, "0123456789")] ? 0 : strtoul(digits, NULL, 10);
	if (port < 1 || port > 65535)
		return DFG_ERR(DFG_CONFIG, "'%.*s' is not a port, 1 to 65535", (int)(length < 40 ? length : 40), text);
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

static struct dfg_err *note(struct dfg_ssh_reading *r, const char *text)
{
	if (!r->entry->note)
		r->entry->note = text;
	return NULL;
}

/* The supported options. Each function is called for a line that applies to the host. */

static struct dfg_err *set_host_name(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	if (!r->entry->host_name)
		r->entry->host_name = line->word[1];
	return NULL;
}

static struct dfg_err *set_port(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	return r->entry->port ? NULL : read_port(line->word[1], strlen(line->word[1]), &r->entry->port);
}

static struct dfg_err *set_user(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	if (r->entry->user)
		return NULL;
	if (!dfg_host_name_valid(line->word[1], strlen(line->word[1])))
		return DFG_ERR(DFG_CONFIG,
			"'%.80s' is not a user: use letters, digits, '.', '_' and '-', and do not begin with '-'", line->word[1]);
	r->entry->user = line->word[1];
	return NULL;
}

static struct dfg_err *add_identity(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	return add_word(r, &r->entry->identity, line->word[1]);
}

static struct dfg_err *set_files(
	struct dfg_ssh_reading *r, const struct dfg_ssh_line *line, struct dfg_ssh_words *files, bool *set)
{
	bool late = *set;
	*set = true;
	for (size_t i = 1; !late && i < line->count; i++)
		if (strcasecmp(line->word[i], "none"))
			DFG_TRY(add_word(r, files, line->word[i]));
	return NULL;
}

static struct dfg_err *set_known_hosts(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	return set_files(r, line, &r->entry->known_hosts, &r->known_set);
}

static struct dfg_err *set_global_known_hosts(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	return set_files(r, line, &r->entry->global_known_hosts, &r->global_set);
}

static struct dfg_err *set_strict(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
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

static struct dfg_err *set_identities_only(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	if (r->only_set)
		return NULL;
	r->only_set = true;
	return read_yes(line->word[1], &r->entry->identities_only);
}

static struct dfg_err *set_identity_agent(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	if (!r->entry->identity_agent)
		r->entry->identity_agent = line->word[1];
	return NULL;
}

static struct dfg_err *set_host_key_alias(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	if (!r->entry->host_key_alias)
		r->entry->host_key_alias = line->word[1];
	return NULL;
}

static struct dfg_err *set_connect_timeout(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
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
static bool proxy_is_set(const struct dfg_ssh_reading *r)
{
	return r->proxy_none || r->entry->proxy_command || r->entry->proxy_jump;
}

static struct dfg_err *set_proxy_jump(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	if (proxy_is_set(r))
		return NULL;
	r->proxy_none = !strcasecmp(line->word[1], "none");
	r->entry->proxy_jump = r->proxy_none ? NULL : line->word[1];
	return NULL;
}

/* The remainder of the line, since a shell reads it; its tokens are expanded after the whole configuration was read. */
static struct dfg_err *set_proxy_command(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	const char *command = line->word[1];
	if (proxy_is_set(r))
		return NULL;
	for (const char *s = strchr(command, '%'); s; s = strchr(s + 2, '%'))
		if (!s[1] || !strchr("%hnpr", s[1]))
			return bad_token(s, true);
	r->proxy_none = !strcasecmp(command, "none");
	r->entry->proxy_command = r->proxy_none ? NULL : command;
	return NULL;
}

static struct dfg_err *refuse_fdpass(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line)
{
	bool yes;
	(void)r;
	DFG_TRY(read_yes(line->word[1], &yes));
	return yes ? DFG_ERR(
					 DFG_CONFIG, "ProxyUseFdpass is not supported: give a ProxyCommand that passes the bytes itself")
			   : NULL;
}

static const struct setting {
	const char *keyword;
	struct dfg_err *(*set)(struct dfg_ssh_reading *r, const struct dfg_ssh_line *line);
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
	{"ProxyUseFdpass", refuse_fdpass},
};

/*
 * The keyword ends at a blank or at '='; words may be in double quotes; '#' at the beginning of a word ends the line.
 */
static struct dfg_err *split(char *s, struct dfg_ssh_line *line)
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
		if (line->count == DFG_SSH_WORDS_MOST)
			return DFG_ERR(DFG_CONFIG, "the line has more than %d words, the limit", DFG_SSH_WORDS_MOST);
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

static struct dfg_err *read_file(struct dfg_ssh_reading *r, const char *path, bool holds);

/* A relative name is in ~/.ssh; patterns are the shell's; a missing file is not an error. */
static struct dfg_err *include(struct dfg_ssh_reading *r, const char *name, bool holds)
{
	glob_t found;
	const char *path;
	DFG_TRY(dfg_ssh_config_expand(r, name, &path));
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

/* A line whose keyword is not in the table is ignored: ssh has many options. */
static const struct setting *find_setting(const char *keyword, size_t length)
{
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		if (!strncasecmp(keyword, settings[i].keyword, length) && !settings[i].keyword[length])
			return &settings[i];
	return NULL;
}

/* Keyword and remainder of a line, without blanks around them. */
static void split_whole(char *s, struct dfg_ssh_line *line)
{
	char *value = s + strcspn(s, " \t\r\f="), *end = s + strlen(s);
	while (end > value && strchr(" \t\r\f", end[-1]))
		*--end = '\0';
	char *begin = value + strspn(value, " \t\r\f=");
	*line = (struct dfg_ssh_line){.word = {s, begin}, .count = 1 + (*begin != '\0')};
	*value = '\0';
}

static struct dfg_err *read_block(
	struct dfg_ssh_reading *r, const struct dfg_ssh_line *line, bool *out_holds, bool around)
{
	*out_holds = around;
	if (around && !strcasecmp(line->word[0], "Match"))
		return dfg_ssh_config_match(r, line, out_holds);
	*out_holds = around && dfg_ssh_config_match_names(line, r->wish->host);
	return NULL;
}

static struct dfg_err *read_line(struct dfg_ssh_reading *r, char *text, bool *holds, bool around)
{
	struct dfg_ssh_line line;
	text += strspn(text, " \t\r\f");
	const struct setting *setting = find_setting(text, strcspn(text, " \t\r\f=\"#"));
	if (setting && setting->set == set_proxy_command)
		split_whole(text, &line);
	else
		DFG_TRY(split(text, &line));
	if (!line.count)
		return NULL;
	if (line.count == 1)
		return DFG_ERR(DFG_CONFIG, "%.40s has no value", line.word[0]);
	if (!strcasecmp(line.word[0], "Match") || !strcasecmp(line.word[0], "Host"))
		return read_block(r, &line, holds, around);
	for (size_t i = 1; !strcasecmp(line.word[0], "Include") && i < line.count; i++)
		DFG_TRY(include(r, line.word[i], *holds));
	setting = *holds ? find_setting(line.word[0], strlen(line.word[0])) : NULL;
	return setting ? setting->set(r, &line) : NULL;
}

static struct dfg_err *read_file(struct dfg_ssh_reading *r, const char *path, bool holds)
{
	struct dfg_blob blob;
	if (r->depth == DEPTH_MOST)
		return DFG_ERR(DFG_CONFIG, "%s: files include each other", path);
	const char *from;
	DFG_TRY(dfg_ssh_stream_path(path, r->arena, &from));
	DFG_TRY(dfg_blob_open(from, FILE_MOST, &blob));
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

static struct dfg_err *find_home(struct dfg_ssh_reading *r)
{
	char capacity[4096];
	struct passwd passwd = {0}, *found = NULL;
	getpwuid_r(getuid(), &passwd, capacity, sizeof capacity, &found);
	const char *home = getenv("HOME");
	r->local_user = dfg_arena_print(r->arena, "%s", found ? found->pw_name : "root");
	if (!home || !*home)
		home = found ? found->pw_dir : "/";
	r->home = dfg_arena_copy(r->arena, home, strlen(home));
	return r->home && r->local_user ? NULL : dfg_no_memory("the ssh configuration");
}

/* As in ssh, the user's own file is refused if others can write it. */
static struct dfg_err *read_own(struct dfg_ssh_reading *r)
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
		return DFG_ERR(DFG_CONFIG, "%s: users other than its owner can write it: chmod go-w", path);
	return read_file(r, path, true);
}

static struct dfg_err *set_defaults(struct dfg_ssh_reading *r)
{
	static const char *const identity[] = {"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"};
	struct dfg_ssh_entry *entry = r->entry;
	if (!entry->port)
		entry->port = DFG_SSH_DEFAULT_PORT;
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
struct dfg_err *dfg_ssh_config_host_name(const struct dfg_ssh_reading *r, const char **out_name)
{
	const char *name = r->wish->host;
	struct dfg_ssh_entry given = *r->entry;
	struct dfg_ssh_reading by_given = *r;
	by_given.entry = &given;
	given.host_name = name;
	if (r->entry->host_name)
		DFG_TRY(dfg_ssh_config_expand(&by_given, r->entry->host_name, &name));
	size_t length = strlen(name);
	if (!dfg_host_name_valid(name, length) && !dfg_host_address_valid(name, length))
		return DFG_ERR(DFG_CONFIG, "HostName '%.80s' is neither a name nor an address", name);
	*out_name = name;
	return NULL;
}

/* A socket, or the variable that names one. */
static struct dfg_err *set_agent(struct dfg_ssh_reading *r)
{
	const char **agent = &r->entry->identity_agent;
	if (*agent && !strcmp(*agent, "SSH_AUTH_SOCK"))
		*agent = NULL;
	if (!*agent || **agent != '$')
		return *agent ? dfg_ssh_config_expand(r, *agent, agent) : NULL;
	const char *value = getenv(*agent + 1);
	*agent = value ? dfg_arena_copy(r->arena, value, strlen(value)) : "none";
	return *agent ? NULL : dfg_no_memory("the ssh configuration");
}

struct dfg_err *dfg_ssh_config_read(
	const struct dfg_ssh_wish *wish, struct dfg_arena *arena, struct dfg_ssh_entry *out_entry)
{
	struct dfg_ssh_reading r = {.wish = wish, .arena = arena, .entry = out_entry};
	*out_entry = (struct dfg_ssh_entry){.user = wish->user, .port = wish->port, .proxy_jump = wish->jump};
	DFG_TRY(find_home(&r));
	DFG_TRY(wish->file ? read_file(&r, wish->file, true) : read_own(&r));
	DFG_TRY(set_defaults(&r));
	DFG_TRY(dfg_ssh_config_host_name(&r, &out_entry->host_name));
	DFG_TRY(expand_all(&r, &out_entry->identity));
	DFG_TRY(expand_all(&r, &out_entry->known_hosts));
	DFG_TRY(expand_all(&r, &out_entry->global_known_hosts));
	if (out_entry->proxy_command)
		DFG_TRY(dfg_ssh_config_command(&r, out_entry->proxy_command, &out_entry->proxy_command));
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
