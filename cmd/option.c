#include "cmd/option.h"

#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/base/size.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Finds a row by name or letter, first in the command's rows, then in the global ones. */
static const struct dfg_opt *find(const struct dfg_opt *rows, const char *name, size_t length, char letter)
{
	for (const struct dfg_opt *o = rows; o && (o->name || o->rows); o++) {
		const struct dfg_opt *within = o->rows ? find(o->rows, name, length, letter) : NULL;
		if (within)
			return within;
		if (!o->name)
			continue;
		if (name ? strlen(o->name) == length && !memcmp(o->name, name, length) : letter && o->letter == letter)
			return o;
	}
	return NULL;
}

static const struct dfg_opt *find_any(const struct dfg_cmd *cmd, const char *name, size_t length, char letter)
{
	const struct dfg_opt *o = find(cmd->options, name, length, letter);
	return o ? o : find(dfg_global_options, name, length, letter);
}

static void each(const struct dfg_opt *rows, void (*see)(void *arg, const struct dfg_opt *row), void *arg)
{
	for (const struct dfg_opt *o = rows; o && (o->name || o->rows); o++)
		if (o->rows)
			each(o->rows, see, arg);
		else
			see(arg, o);
}

void dfg_options_each(const struct dfg_cmd *cmd, void (*see)(void *arg, const struct dfg_opt *row), void *arg)
{
	each(cmd->options, see, arg);
	each(dfg_global_options, see, arg);
}

static void offer(void *nearest, const struct dfg_opt *row)
{
	dfg_nearest_offer(nearest, row->name);
}

/* The other commands that have the option: "run, test"; empty: none. */
static void list_owners(const char *name, char *words, size_t size)
{
	size_t length = 0;
	words[0] = '\0';
	for (const struct dfg_cmd *const *cmd = dfg_commands; *cmd && length < size; cmd++)
		if (find((*cmd)->options, name, strlen(name), 0))
			length += (size_t)snprintf(words + length, size - length, "%s%s", length ? ", " : "", (*cmd)->name);
}

static struct dfg_err *no_option(const struct dfg_cmd *cmd, const char *name, size_t length)
{
	char word[64];
	size_t n = length < sizeof word ? length : sizeof word - 1;
	memcpy(word, name, n);
	word[n] = '\0';
	char owners[128];
	list_owners(word, owners, sizeof owners);
	if (*owners)
		return DFG_ERR(DFG_USAGE, "unknown option '--%s', which only these commands have: %s", word, owners);
	struct dfg_nearest nearest = {.word = word};
	dfg_options_each(cmd, offer, &nearest);
	if (nearest.best)
		return DFG_ERR(DFG_USAGE, "unknown option '--%s'; did you mean '--%s'?", word, nearest.best);
	return DFG_ERR(DFG_USAGE, "unknown option '--%s'", word);
}

static struct dfg_err *set_number(const struct dfg_opt *o, const char *text)
{
	char *end;
	errno = 0;
	if (o->real)
		*o->real = strtod(text, &end);
	else
		*o->number = strtoll(text, &end, 10);
	bool below = o->real ? !(*o->real >= (double)o->least) : *o->number < o->least;
	if (end == text || *end)
		return DFG_ERR(DFG_USAGE, "--%s requires a number, not '%s'", o->name, text);
	if (errno)
		return DFG_ERR(DFG_USAGE, "--%s: the number '%s' is out of range", o->name, text);
	if (below)
		return DFG_ERR(DFG_USAGE, "--%s must be at least %lld, not '%s'", o->name, (long long)o->least, text);
	return NULL;
}

static struct dfg_err *set_size(const struct dfg_opt *o, const char *text)
{
	DFG_TRY(dfg_err_note(dfg_parse_size(text, o->size), "--%s", o->name));
	if (*o->size < (uint64_t)o->least)
		return DFG_ERR(DFG_USAGE, "--%s must be at least %lld, not '%s'", o->name, (long long)o->least, text);
	return NULL;
}

static struct dfg_err *add_word(struct dfg_words_list *list, const char *text)
{
	if (!dfg_reserve(&list->word, &list->capacity, list->count + 2, sizeof *list->word))
		return dfg_no_memory("the options");
	list->word[list->count++] = text;
	return NULL;
}

static struct dfg_err *set_option(const struct dfg_opt *o, const char *text)
{
	if (!*text) /* probably an unset variable of a script */
		return DFG_ERR(
			DFG_USAGE, "%s%s requires %s, not an empty string", o->name[0] == '-' ? "" : "--", o->name, o->takes);
	if (o->given)
		*o->given = true;
	if (o->text)
		*o->text = text;
	else if (o->list)
		return add_word(o->list, text);
	else if (o->size)
		return set_size(o, text);
	else
		return set_number(o, text);
	return NULL;
}

/* Whether the option has no argument: a flag, or a counter (-v), which may be repeated. */
static bool takes_nothing(const struct dfg_opt *o)
{
	return !o->takes;
}

static void raise_flag(const struct dfg_opt *o)
{
	if (o->flag)
		*o->flag = true;
	else
		++*o->number;
}

/* *args is at "--name..."; moves it past the words used. */
static struct dfg_err *parse_long(const struct dfg_cmd *cmd, char ***args)
{
	const char *name = *(*args)++ + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);
	const struct dfg_opt *o = find_any(cmd, name, length, 0);
	if (!o)
		return no_option(cmd, name, length);
	if (takes_nothing(o)) {
		if (equals)
			return DFG_ERR(DFG_USAGE, "--%s takes no value", o->name);
		raise_flag(o);
		return NULL;
	}
	const char *text = equals ? equals + 1 : **args;
	if (!text)
		return DFG_ERR(DFG_USAGE, "--%s requires %s", o->name, o->takes);
	*args += !equals;
	return set_option(o, text);
}

/* *args is at "-abc". */
static struct dfg_err *parse_letters(const struct dfg_cmd *cmd, char ***args)
{
	const char *letters = *(*args)++ + 1;
	for (; *letters; letters++) {
		const struct dfg_opt *o = find_any(cmd, NULL, 0, *letters);
		if (!o)
			return DFG_ERR(DFG_USAGE, "unknown option '-%c'", *letters);
		if (takes_nothing(o)) {
			raise_flag(o);
			continue;
		}
		const char *text = letters[1] ? letters + 1 : **args;
		if (!text)
			return DFG_ERR(DFG_USAGE, "-%c requires %s", *letters, o->takes);
		*args += !letters[1];
		return set_option(o, text);
	}
	return NULL;
}

/* A row may have a name that begins with one dash: "-MD" is one word, not letters. */
static const struct dfg_opt *find_word(const struct dfg_cmd *cmd, const char *arg)
{
	const struct dfg_opt *o = find_any(cmd, arg, strlen(arg), 0);
	return o && o->name[0] == '-' ? o : NULL;
}

static struct dfg_err *parse_one(const struct dfg_cmd *cmd, char ***args)
{
	const struct dfg_opt *word = find_word(cmd, **args);
	if (!word)
		return (**args)[1] == '-' ? parse_long(cmd, args) : parse_letters(cmd, args);
	++*args;
	if (takes_nothing(word)) {
		raise_flag(word);
		return NULL;
	}
	return **args ? set_option(word, *(*args)++) : DFG_ERR(DFG_USAGE, "%s requires %s", word->name, word->takes);
}

static struct dfg_err *check_operands(const struct dfg_cmd *cmd, char **operands, int count)
{
	if (count < cmd->least)
		return DFG_ERR(DFG_USAGE, "requires %s", cmd->operands);
	if (cmd->most >= 0 && count > cmd->most)
		return DFG_ERR(DFG_USAGE, "unexpected operand '%s'", operands[cmd->most]);
	for (int i = 0; i < count; i++)
		if (!*operands[i])
			return DFG_ERR(DFG_USAGE, "operand %d is empty", i + 1);
	return NULL;
}

struct dfg_err *dfg_options_parse(const struct dfg_cmd *cmd, char **args, char **operands)
{
	int count = 0;
	bool ended = false;
	while (*args) {
		if (!ended && !strcmp(*args, "--")) {
			ended = true;
			args++;
		} else if (!ended && (*args)[0] == '-' && (*args)[1]) {
			DFG_TRY(parse_one(cmd, &args));
			if (dfg_globals.help)
				return NULL;
		} else {
			operands[count++] = *args++;
		}
	}
	operands[count] = NULL;
	return check_operands(cmd, operands, count);
}
