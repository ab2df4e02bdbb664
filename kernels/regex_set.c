#define _GNU_SOURCE
/* Sets of characters in regular expressions: brackets, named classes, escapes. */
#include "kernels/regex_private.h"
#include "lib/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct dfg_err *dfg_regex_add(struct dfg_regex_compiler *c, uint32_t low, uint32_t high)
{
	if (c->ranges >= DFG_REGEX_CODE_MOST)
		return DFG_ERR(
			DFG_DATA, "regular expression: a class of more than %d ranges at byte %zu", DFG_REGEX_CODE_MOST, c->at);
	if (!dfg_reserve(&c->range, &c->capacity, c->ranges + 1, sizeof *c->range))
		return dfg_no_memory("a regular expression");
	c->range[c->ranges++] = (struct dfg_regex_range){low, high};
	return NULL;
}

/* The other case of letters; k and s have a third form each, the Kelvin sign and the long s. */
struct dfg_err *dfg_regex_add_folded(struct dfg_regex_compiler *c, uint32_t low, uint32_t high)
{
	DFG_TRY(dfg_regex_add(c, low, high));
	if (!(c->flags & DFG_REGEX_FOLD))
		return NULL;
	if (low >= 0x80 || (high >= 0x80 && high != DFG_REGEX_LAST))
		return dfg_regex_wrong(c, "(?i) applies to letters of ASCII only");
	for (uint32_t code = low; code <= high && code < 0x80; code++) {
		uint32_t letter = code | 0x20;
		if (letter < 'a' || letter > 'z')
			continue;
		DFG_TRY(dfg_regex_add(c, code ^ 0x20, code ^ 0x20));
		if (letter == 'k' || letter == 's')
			DFG_TRY(dfg_regex_add(c, letter == 'k' ? 0x212a : 0x17f, letter == 'k' ? 0x212a : 0x17f));
	}
	return NULL;
}

static int by_low(const void *a, const void *b)
{
	const struct dfg_regex_range *x = a, *y = b;
	return x->low < y->low ? -1 : x->low > y->low;
}

/* Sorts the ranges from number `from` on and joins those that touch. */
void dfg_regex_tidy(struct dfg_regex_compiler *c, size_t from)
{
	struct dfg_regex_range *range = c->range + from;
	size_t n = c->ranges - from, kept = 0;
	if (!n)
		return;
	qsort(range, n, sizeof *range, by_low);
	for (size_t i = 1; i < n; i++)
		if (range[i].low <= range[kept].high + 1) {
			if (range[i].high > range[kept].high)
				range[kept].high = range[i].high;
		} else {
			range[++kept] = range[i];
		}
	c->ranges = from + kept + 1;
}

/* Replaces the ranges from number `from` on by those between them. */
static struct dfg_err *negate(struct dfg_regex_compiler *c, size_t from)
{
	dfg_regex_tidy(c, from);
	size_t end = c->ranges, gap = end;
	uint32_t low = 0;
	for (size_t i = from; i < end; i++) {
		struct dfg_regex_range range = c->range[i];
		if (range.low > low)
			DFG_TRY(dfg_regex_add(c, low, range.low - 1));
		low = range.high + 1;
	}
	if (low <= DFG_REGEX_LAST)
		DFG_TRY(dfg_regex_add(c, low, DFG_REGEX_LAST));
	memmove(c->range + from, c->range + gap, (c->ranges - gap) * sizeof *c->range);
	c->ranges -= gap - from;
	return NULL;
}

/* Classes by name, as pairs of first and last characters. */
static const struct class
{
	const char *name, *pairs;
} classes[] = {
	{"\\d", "09"},
	{"\\s", "\t\n\f\r  "},
	{"\\w", "09AZ__az"},
	{"[:alnum:]", "09AZaz"},
	{"[:alpha:]", "AZaz"},
	{"[:ascii:]", "\x01\x7f"},
	{"[:blank:]", "\t\t  "},
	{"[:cntrl:]", "\x01\x1f\x7f\x7f"},
	{"[:digit:]", "09"},
	{"[:graph:]", "!~"},
	{"[:lower:]", "az"},
	{"[:print:]", " ~"},
	{"[:punct:]", "!/:@[`{~"},
	{"[:space:]", "\t\r  "},
	{"[:upper:]", "AZ"},
	{"[:word:]", "09AZ__az"},
	{"[:xdigit:]", "09AFaf"},
};

static struct dfg_err *add_class(struct dfg_regex_compiler *c, const struct class *class, bool negated)
{
	size_t from = c->ranges;
	for (const char *pair = class->pairs; *pair; pair += 2)
		DFG_TRY(dfg_regex_add_folded(c, (uint32_t)pair[0] == 1 ? 0 : (uint32_t)pair[0], (uint32_t)pair[1]));
	return negated ? negate(c, from) : NULL;
}

/* Reads \d, \D, [:alpha:], [:^alpha:] and so on; *out_read: there was one. */
struct dfg_err *dfg_regex_class(struct dfg_regex_compiler *c, bool in_brackets, bool *out_read)
{
	*out_read = false;
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		const char *name = classes[i].name;
		bool perl = name[0] == '\\';
		char other[16] = {'\\', (char)(name[1] ^ 0x20)};
		if (!perl) {
			if (!in_brackets)
				continue;
			memcpy(other, "[:^", 3);
			memcpy(other + 3, name + 2, strlen(name + 2) + 1);
		}
		bool negated = dfg_regex_take(c, other);
		if (!negated && !dfg_regex_take(c, name))
			continue;
		*out_read = true;
		return add_class(c, &classes[i], negated);
	}
	return in_brackets && dfg_regex_next_is(c, "[:") && memmem(c->pattern + c->at + 2, c->length - c->at - 2, ":]", 2)
			   ? dfg_regex_wrong(c, "unknown class of characters")
			   : NULL;
}

static int hexadecimal(char digit)
{
	const char *digits = "0123456789abcdef", *found = strchr(digits, digit | 0x20);
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return found && digit >= 'A' ? (int)(found - digits) : -1;
}

static struct dfg_err *take_hexadecimal(struct dfg_regex_compiler *c, uint32_t *out_code)
{
	bool braces = dfg_regex_take(c, "{");
	int digits = 0;
	*out_code = 0;
	for (; !dfg_regex_is_end(c) && hexadecimal(c->pattern[c->at]) >= 0 && (braces || digits < 2); digits++, c->at++) {
		*out_code = *out_code * 16 + (uint32_t)hexadecimal(c->pattern[c->at]);
		if (*out_code > DFG_REGEX_LAST)
			return dfg_regex_wrong(c, "a character beyond 10FFFF");
	}
	if (braces ? !digits || !dfg_regex_take(c, "}") : digits != 2)
		return dfg_regex_wrong(c, "\\x requires two hexadecimal digits, or any number in braces");
	return NULL;
}

static bool is_octal(const struct dfg_regex_compiler *c)
{
	return !dfg_regex_is_end(c) && c->pattern[c->at] >= '0' && c->pattern[c->at] <= '7';
}

/* The character after a backslash. */
struct dfg_err *dfg_regex_escape(struct dfg_regex_compiler *c, uint32_t *out_code)
{
	static const char letters[] = "afnrtv", meaning[] = "\a\f\n\r\t\v";
	DFG_TRY(dfg_regex_character(c, out_code));
	const char *letter = *out_code < 0x80 && *out_code ? strchr(letters, (int)*out_code) : NULL;
	if (*out_code == 'x')
		return take_hexadecimal(c, out_code);
	if (*out_code == '0' || (*out_code >= '1' && *out_code <= '7' && is_octal(c))) {
		*out_code -= '0';
		for (int digits = 1; digits < 3 && is_octal(c); digits++)
			*out_code = *out_code * 8 + (uint32_t)(c->pattern[c->at++] - '0');
		return NULL;
	}
	if (letter) {
		*out_code = (uint32_t)meaning[letter - letters];
		return NULL;
	}
	bool alphanumeric = (*out_code | 0x20) >= 'a' && (*out_code | 0x20) <= 'z';
	alphanumeric |= (*out_code >= '0' && *out_code <= '9') || *out_code >= 0x80;
	return alphanumeric ? dfg_regex_wrong(c, "unknown escape") : NULL;
}

static struct dfg_err *take_in_class(struct dfg_regex_compiler *c, uint32_t *out_code)
{
	return dfg_regex_take(c, "\\") ? dfg_regex_escape(c, out_code) : dfg_regex_character(c, out_code);
}

static struct dfg_err *read_item(struct dfg_regex_compiler *c)
{
	uint32_t low, high;
	bool is_class;
	DFG_TRY(dfg_regex_class(c, true, &is_class));
	if (is_class)
		return NULL;
	DFG_TRY(take_in_class(c, &low));
	high = low;
	if (dfg_regex_next_is(c, "-") && !dfg_regex_next_is(c, "-]") && c->at + 1 < c->length) {
		c->at++;
		DFG_TRY(take_in_class(c, &high));
	}
	return high < low ? dfg_regex_wrong(c, "a range whose end is before its beginning")
					  : dfg_regex_add_folded(c, low, high);
}

struct dfg_err *dfg_regex_brackets(struct dfg_regex_compiler *c)
{
	bool negated = dfg_regex_take(c, "^");
	for (bool first = true; first || !dfg_regex_next_is(c, "]"); first = false)
		DFG_TRY(dfg_regex_is_end(c) ? dfg_regex_wrong(c, "a class is not closed: add ]") : read_item(c));
	c->at++;
	return negated ? negate(c, 0) : NULL;
}
