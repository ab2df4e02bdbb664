#include "lib/base/err.h"

#include "lib/base/mem.h"
#include "lib/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* To report that memory ran out must take no memory. All threads share it, so it is const and nobody writes to it. */
static const struct dfg_err no_memory = {.code = DFG_MEMORY, .file = __FILE__, .text = "out of memory"};

struct dfg_err *dfg_err_new(enum dfg_code code, const char *file, int line, const char *fmt, ...)
{
	struct dfg_err *err = dfg_mem->take(dfg_mem, sizeof *err, _Alignof(struct dfg_err));
	if (!err)
		return (struct dfg_err *)&no_memory;
	*err = (struct dfg_err){.code = code, .file = file, .line = line};

	va_list args;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, args);
	va_end(args);
	if (dfg_breaks_come_from_names(fmt))
		dfg_one_line(err->text, sizeof err->text);
	return err;
}

/* note ends in ": ". What does not fit is lost at the end, because the outermost words say where to look. */
static void prepend(struct dfg_err *err, const char *note)
{
	size_t length = strlen(note);
	memmove(err->text + length, err->text, sizeof err->text - length);
	memcpy(err->text, note, length);
	err->text[sizeof err->text - 1] = '\0';
}

struct dfg_err *dfg_err_note(struct dfg_err *err, const char *fmt, ...)
{
	if (!err || err == &no_memory)
		return err;

	char note[sizeof err->text / 2];
	va_list args;
	va_start(args, fmt);
	vsnprintf(note, sizeof note - strlen(": "), fmt, args);
	va_end(args);
	dfg_one_line(note, sizeof note - strlen(": "));
	strcat(note, ": ");
	for (struct dfg_err *e = err; e; e = e->next)
		prepend(e, note);
	return err;
}

struct dfg_err *dfg_err_of_file(struct dfg_err *err, const char *path)
{
	char note[sizeof err->text / 2];
	if (!err || err == &no_memory)
		return err;
	snprintf(note, sizeof note - strlen(": "), "%s", path ? path : "");
	dfg_one_line(note, sizeof note - strlen(": "));
	strcat(note, ": ");
	for (struct dfg_err *e = err; e; e = e->next) {
		if (path && !e->of_file)
			prepend(e, note);
		e->of_file = true;
	}
	return err;
}

static void rename_in(char *text, size_t size, const char *from, const char *to)
{
	char rest[sizeof((struct dfg_err *)NULL)->text];
	for (char *at = strstr(text, from); at; at = strstr(at + strlen(to), from)) {
		snprintf(rest, sizeof rest, "%s", at + strlen(from));
		snprintf(at, size - (size_t)(at - text), "%s%s", to, rest);
		if (strlen(at) < strlen(to))
			return; /* the text is full */
	}
}

void dfg_err_rename(struct dfg_err *err, const char *from, const char *to)
{
	for (struct dfg_err *e = err; e && e != &no_memory; e = e->next)
		rename_in(e->text, sizeof e->text, from, to);
}

struct dfg_err *dfg_err_that_waited(struct dfg_err *err)
{
	for (struct dfg_err *e = err; e && e != &no_memory; e = e->next)
		e->waited = true;
	return err;
}

struct dfg_err *dfg_err_copy(const struct dfg_err *err)
{
	return err ? dfg_err_new(err->code, err->file, err->line, "%s", err->text) : NULL;
}

struct dfg_err *dfg_err_join(struct dfg_err *err, struct dfg_err *more)
{
	if (!err)
		return more;
	if (err == &no_memory || more == &no_memory) {
		dfg_err_free(more);
		return err;
	}
	struct dfg_err **last = &err->next;
	while (*last)
		last = &(*last)->next;
	*last = more;
	return err;
}

void dfg_err_free(struct dfg_err *err)
{
	while (err && err != &no_memory) {
		struct dfg_err *next = err->next;
		dfg_free(err);
		err = next;
	}
}

enum dfg_code dfg_code_of_errno(int error, enum dfg_code code)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM ? DFG_MEMORY : code;
}
