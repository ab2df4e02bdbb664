#include "remote/ssh_config_private.h"

#include "remote/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Conditions of Match, by the rules of ssh_config(5). */

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

bool dfg_ssh_config_match_names(const struct dfg_ssh_line *line, const char *host)
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

/* Whether a name matches a comma-separated list of patterns, by the rules of a Host line. */
static bool match_list(char *patterns, const char *name)
{
	struct dfg_ssh_line line = {.count = 1};
	for (char *rest, *one = strtok_r(patterns, ",", &rest); one && line.count < DFG_SSH_WORDS_MOST;
		 one = strtok_r(NULL, ",", &rest))
		line.word[line.count++] = one;
	return dfg_ssh_config_match_names(&line, name);
}

/* A Match line while it is evaluated. */
struct matching {
	struct dfg_ssh_reading now; /* the reading, with defaults for settings that were not read so far */
	struct dfg_ssh_entry entry; /* of now */
	const char *unknown;        /* the first condition that is not supported; NULL: none */
	bool holds;                 /* all conditions so far hold */
};

typedef struct dfg_err *condition_fn(struct matching *m, char *argument, bool *out_holds);

static struct dfg_err *is_any(struct matching *m, char *argument, bool *out_holds)
{
	(void)m, (void)argument;
	*out_holds = true;
	return NULL;
}

static struct dfg_err *is_host(struct matching *m, char *argument, bool *out_holds)
{
	*out_holds = match_list(argument, m->entry.host_name);
	return NULL;
}

static struct dfg_err *is_original_host(struct matching *m, char *argument, bool *out_holds)
{
	*out_holds = match_list(argument, m->now.wish->host);
	return NULL;
}

static struct dfg_err *is_user(struct matching *m, char *argument, bool *out_holds)
{
	*out_holds = match_list(argument, m->entry.user);
	return NULL;
}

static struct dfg_err *is_local_user(struct matching *m, char *argument, bool *out_holds)
{
	*out_holds = match_list(argument, m->now.local_user);
	return NULL;
}

/* Runs a command without input and output. */
static struct dfg_err *run_command(const char *command, bool *out_succeeds)
{
	enum { SECONDS = 10 };
	char how[60] = "";
	struct dfg_process process = {0};
	char *const argument[] = {"sh", "-c", (char *)command, NULL};
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_UNAVAILABLE), "cannot open /dev/null: %s", strerror(errno));
	struct dfg_err *err = dfg_process_spawn("/bin/sh", argument, (int[]){null, null, null}, &process.pid);
	close(null);
	const pid_t group = process.pid;
	if (!err && !dfg_process_wait(&process, SECONDS, how, sizeof how)) {
		err = DFG_ERR(DFG_UNAVAILABLE, "the command of Match exec did not end within %d s", SECONDS);
		kill(-group, SIGKILL);
		(void)dfg_process_wait(&process, SECONDS, how, sizeof how);
	}
	*out_succeeds = !strcmp(how, "exited with status 0");
	return err;
}

/* As in ssh, the command is not run where a condition before it does not hold. */
static struct dfg_err *succeeds(struct matching *m, char *argument, bool *out_holds)
{
	const char *command;
	*out_holds = false;
	if (!m->holds || m->unknown)
		return NULL;
	DFG_TRY(dfg_ssh_config_command(&m->now, argument, &command));
	return run_command(command, out_holds);
}

static const struct condition {
	const char *name;
	condition_fn *holds; /* NULL: not supported */
	bool alone;          /* it has no argument */
} conditions[] = {
	{"all", is_any, true},
	{"host", is_host, false},
	{"originalhost", is_original_host, false},
	{"user", is_user, false},
	{"localuser", is_local_user, false},
	{"exec", succeeds, false},
	{"canonical", NULL, true},
	{"final", NULL, true},
	{"localnetwork", NULL, false},
	{"tagged", NULL, false},
	{"command", NULL, false},
	{"sessiontype", NULL, false},
	{"version", NULL, false},
};

static struct dfg_err *not_supported(const char *name)
{
	return DFG_ERR(
		DFG_CONFIG, "Match %.40s is not supported; use all, host, originalhost, user, localuser and exec", name);
}

static const struct condition *find_condition(const char *name)
{
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
		if (!strcasecmp(name, conditions[i].name))
			return &conditions[i];
	return NULL;
}

/* Evaluates the condition that is word *io_at of the line, and skips its argument, which may follow '=' in the same word. */
static struct dfg_err *evaluate(struct matching *m, const struct dfg_ssh_line *line, size_t *io_at)
{
	const char *name = line->word[*io_at];
	char *value = strchr(name, '=');
	const bool negated = *name == '!';
	if (value)
		*value++ = '\0';
	const struct condition *condition = find_condition(name += negated);
	bool holds = true;
	if (!condition)
		return not_supported(name);
	if (condition->holds == is_any && !value && *io_at + 1 < line->count)
		value = line->word[*io_at + 1];
	if (condition->holds == is_any && value)
		return DFG_ERR(
			DFG_CONFIG, "Match all is followed by '%.40s', but must be the last condition of its line", value);
	if (!condition->alone && !value && ++*io_at == line->count)
		return DFG_ERR(DFG_CONFIG, "Match %s requires a value", condition->name);
	if (!condition->holds) {
		m->unknown = m->unknown ? m->unknown : name;
		return NULL;
	}
	DFG_TRY(condition->holds(m, value ? value : line->word[*io_at], &holds));
	m->holds &= holds != negated;
	return NULL;
}

/* The values that conditions see: the settings so far, else their defaults. */
static struct dfg_err *settle(const struct dfg_ssh_reading *r, struct matching *m)
{
	m->entry = *r->entry;
	m->now = *r;
	m->now.entry = &m->entry;
	m->entry.user = m->entry.user ? m->entry.user : r->local_user;
	m->entry.port = m->entry.port ? m->entry.port : DFG_SSH_DEFAULT_PORT;
	return dfg_ssh_config_host_name(r, &m->entry.host_name);
}

/*
 * A block with a condition that is not supported could contain any option for this host, so it is an error and not
 * skipped, unless another condition of the line does not hold.
 */
struct dfg_err *dfg_ssh_config_match(const struct dfg_ssh_reading *r, const struct dfg_ssh_line *line, bool *out_holds)
{
	struct matching m = {.holds = true};
	DFG_TRY(settle(r, &m));
	for (size_t i = 1; i < line->count; i++)
		DFG_TRY(evaluate(&m, line, &i));
	*out_holds = m.holds;
	return m.holds && m.unknown ? not_supported(m.unknown) : NULL;
}
