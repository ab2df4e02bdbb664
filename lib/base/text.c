#include "lib/base/text.h"

#include "lib/base/mem.h"
#include "lib/base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct dfg_text *text, size_t more)
{
	if (more < text->capacity - text->length && !text->short_of_memory)
		return true;
	if (text->short_of_memory || !dfg_reserve(&text->s, &text->capacity, text->length + more + 1, 1)) {
		text->short_of_memory = true;
		return false;
	}
	return true;
}

void dfg_text_put(struct dfg_text *text, const void *bytes, size_t count)
{
	if (!reserve(text, count))
		return;
	if (count)
		memcpy(text->s + text->length, bytes, count);
	text->length += count;
	text->s[text->length] = '\0';
}

void dfg_text_add(struct dfg_text *text, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	size_t left = text->capacity - text->length;
	int length = vsnprintf(left ? text->s + text->length : NULL, left, fmt, args);
	if (length >= 0 && (size_t)length >= left && reserve(text, (size_t)length))
		vsnprintf(text->s + text->length, (size_t)length + 1, fmt, again);
	if (length >= 0 && !text->short_of_memory)
		text->length += (size_t)length;
	else if (text->s)
		text->s[text->length] = '\0';
	va_end(again);
	va_end(args);
}

/* The sign of a nan is not written. */
static bool add_not_finite(struct dfg_text *text, double value)
{
	if (isfinite(value))
		return false;
	dfg_text_add(text, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
	return true;
}

/* A normal number of as many digits as its type surely keeps is the shortest once its zeros are gone. */
void dfg_text_f32(struct dfg_text *text, float value)
{
	char digits[40];
	if (add_not_finite(text, value))
		return;
	for (int precision = fabsf(value) < FLT_MIN ? 1 : 6; precision <= 9; precision++) {
		snprintf(digits, sizeof digits, "%.*g", precision, value);
		if (strtof(digits, NULL) == value)
			break;
	}
	dfg_text_add(text, "%s", digits);
}

void dfg_text_f64(struct dfg_text *text, double value)
{
	char digits[40];
	if (add_not_finite(text, value))
		return;
	for (int precision = fabs(value) < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
		snprintf(digits, sizeof digits, "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	dfg_text_add(text, "%s", digits);
}

void dfg_text_escape(struct dfg_text *text, const void *bytes, size_t count, size_t most)
{
	const unsigned char *s = bytes;
	for (size_t i = 0, step; i < count; i += step) {
		step = 1;
		if (i >= most) {
			dfg_text_put(text, "...", 3);
			return;
		}
		uint32_t code;
		size_t length = dfg_utf8_get(s + i, count - i, &code);
		if (s[i] == '\\' || s[i] == '"')
			dfg_text_add(text, "\\%c", s[i]);
		else if (length && dfg_utf8_is_shown(code))
			dfg_text_put(text, s + i, step = length);
		else if (s[i] == '\n')
			dfg_text_put(text, "\\n", 2);
		else
			dfg_text_add(text, "\\x%02x", s[i]);
	}
}

/* Bytes at the beginning that are shown, or kept. */
static size_t printable_length(const char *s, size_t count, const char *kept)
{
	size_t length = 0, step;
	uint32_t code;
	for (; length < count; length += step) {
		step = dfg_utf8_get(s + length, count - length, &code);
		if (!step || !(dfg_utf8_is_shown(code) || (s[length] && strchr(kept, s[length]))))
			break;
	}
	return length;
}

void dfg_text_printable(struct dfg_text *text, const void *bytes, size_t count, const char *kept)
{
	const char *s = bytes;
	for (size_t i = 0; i < count;) {
		size_t plain = printable_length(s + i, count - i, kept);
		dfg_text_put(text, s + i, plain);
		if ((i += plain) == count)
			return;
		uint32_t code;
		size_t length = dfg_utf8_get(s + i, count - i, &code);
		for (size_t end = i + (length ? length : 1); i < end; i++)
			dfg_text_add(text, "\\x%02x", (unsigned char)s[i]);
	}
}

void dfg_one_line(char *text, size_t size)
{
	size_t length = strlen(text);
	for (char *at = text; (at = strchr(at, '\n')); at += 2) {
		if (at + 2 >= text + size) {
			*at = '\0';
			return;
		}
		length = length + 1 < size ? length + 1 : size - 1;
		memmove(at + 2, at + 1, length - (size_t)(at + 2 - text));
		memcpy(at, "\\n", 2);
		text[length] = '\0';
	}
}

bool dfg_breaks_come_from_names(const char *fmt)
{
	return !strchr(fmt, '\n') && strcmp(fmt, "%s") != 0;
}

struct dfg_err *dfg_text_check(const struct dfg_text *text)
{
	return text->short_of_memory ? dfg_no_memory("a text") : NULL;
}

void dfg_text_release(struct dfg_text *text)
{
	dfg_free(text->s);
	*text = (struct dfg_text){0};
}
