#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text that grows. A zeroed struct is empty. A failed allocation is remembered and reported once at the end, so that
 * additions need no checks.
 */
struct dfg_text {
	char *s; /* never NULL after the first addition that had memory; ends in 0 */
	size_t length, capacity;
	bool short_of_memory;
};

void dfg_text_put(struct dfg_text *text, const void *bytes, size_t count);
void dfg_text_add(struct dfg_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The shortest decimal that reads back to the same bits, "nan", "inf", "-inf"; 0.25, 3.0 as "3", 1e+20. */
void dfg_text_f32(struct dfg_text *text, float value);
void dfg_text_f64(struct dfg_text *text, double value);

/* Bytes for a message or a quoted string: control characters and bytes that are not UTF-8 as \xNN, cut after `most` bytes. */
void dfg_text_escape(struct dfg_text *text, const void *bytes, size_t count, size_t most);

/*
 * Bytes for a terminal: characters that it would obey instead of showing them, and bytes that are not UTF-8, as \xNN; those of
 * `kept`, such as "\n\t", stay as they are.
 */
void dfg_text_printable(struct dfg_text *text, const void *bytes, size_t count, const char *kept);

/*
 * Makes one line of the text, which has space for `size` bytes: each line break becomes "\n", two characters. What no longer
 * fits is lost at the end. Errors and reports do this to names, so that a line break in a name cannot begin a line.
 */
void dfg_one_line(char *text, size_t size);

/* Whether line breaks in a message of this format come from names: it has none, and is not "%s", for a text made before. */
bool dfg_breaks_come_from_names(const char *fmt);

/* DFG_MEMORY if an addition failed. */
DFG_MUST_CHECK struct dfg_err *dfg_text_check(const struct dfg_text *text);

void dfg_text_release(struct dfg_text *text);
