#include "formats/pbtxt_lex.h"

#include "lib/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct dfg_pbtxt_words dfg_pbtxt_words(const struct dfg_pbtxt_lexer *lexer)
{
	struct dfg_pbtxt_words words;
	struct dfg_text text = {0};
	if (lexer->kind == DFG_PBTXT_END)
		dfg_text_add(&text, "the end");
	else
		dfg_text_escape(&text, lexer->s, lexer->length, 24);
	snprintf(words.s, sizeof words.s, "%s", text.s ? text.s : "");
	dfg_text_release(&text);
	return words;
}

struct dfg_err *dfg_pbtxt_error(const struct dfg_pbtxt_lexer *lexer, const char *fmt, ...)
{
	char text[400];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return DFG_ERR(DFG_DATA, "%zu:%zu: %s", lexer->token_line, lexer->token_column, text);
}

static bool is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Also for numbers: "1e+5", "0x1F", "1.5f". A leading '+' or '-' is a separate token. */
static size_t word_length(const struct dfg_pbtxt_lexer *lexer, bool number)
{
	const uint8_t *p = lexer->at;
	bool hex = number && lexer->end - p > 1 && p[0] == '0' && (p[1] | 0x20) == 'x';
	while (p < lexer->end) {
		bool exponent = number && !hex && p > lexer->at && (p[-1] | 0x20) == 'e' && (*p == '+' || *p == '-');
		if (!is_name(*p) && !(number && *p == '.') && !exponent)
			break;
		p++;
	}
	return (size_t)(p - lexer->at);
}

/* Length up to the closing quote, which must be before the end of the line and of the text. */
static size_t quoted_length(const struct dfg_pbtxt_lexer *lexer)
{
	const uint8_t *p = lexer->at + 1;
	for (; p < lexer->end && *p != *lexer->at && *p != '\n'; p++)
		if (*p == '\\' && p + 1 < lexer->end)
			p++;
	return p < lexer->end && *p == *lexer->at ? (size_t)(p + 1 - lexer->at) : 0;
}

static void pass_blanks(struct dfg_pbtxt_lexer *lexer)
{
	for (bool comment = false; lexer->at < lexer->end; lexer->at++) {
		uint8_t c = *lexer->at;
		if (c == '\n') {
			comment = false;
			lexer->line++;
			lexer->line_start = lexer->at + 1;
		} else if (c == '#') {
			comment = true;
		} else if (!comment && c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v') {
			return;
		}
	}
}

struct dfg_err *dfg_pbtxt_next(struct dfg_pbtxt_lexer *lexer)
{
	pass_blanks(lexer);
	lexer->s = lexer->at;
	lexer->token_line = lexer->line;
	lexer->token_column = (size_t)(lexer->at - lexer->line_start) + 1;
	lexer->length = lexer->at < lexer->end;
	if (!lexer->length) {
		lexer->kind = DFG_PBTXT_END;
		return NULL;
	}
	uint8_t c = *lexer->at;
	bool digit = c >= '0' && c <= '9', quote = c == '"' || c == '\'';
	lexer->kind = digit || c == '.' ? DFG_PBTXT_NUMBER
				  : is_name(c)      ? DFG_PBTXT_NAME
				  : quote           ? DFG_PBTXT_QUOTED
									: DFG_PBTXT_SIGN;
	if (quote)
		lexer->length = quoted_length(lexer);
	else if (lexer->kind != DFG_PBTXT_SIGN)
		lexer->length = word_length(lexer, lexer->kind == DFG_PBTXT_NUMBER);
	if (!lexer->length)
		return dfg_pbtxt_error(lexer, "the quote is not closed on its line");
	lexer->at += lexer->length;
	return NULL;
}

struct dfg_err *dfg_pbtxt_start(struct dfg_pbtxt_lexer *lexer, const uint8_t *text, size_t length)
{
	*lexer = (struct dfg_pbtxt_lexer){.at = text, .end = text + length, .line_start = text, .line = 1};
	return dfg_pbtxt_next(lexer);
}

static int digit_of(uint8_t c, int base)
{
	int digit = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 99;
	return digit < base ? digit : -1;
}

/* Reads up to `most` digits at *p and moves past them; false if there is none. */
static bool take_digits(const uint8_t **p, const uint8_t *end, int base, int most, uint32_t *out_value)
{
	const uint8_t *start = *p;
	for (*out_value = 0; *p < end && *p - start < most && digit_of(**p, base) >= 0; ++*p)
		*out_value = *out_value * (uint32_t)base + (uint32_t)digit_of(**p, base);
	return *p > start;
}

/* Reads an escape after its backslash at *p and moves past it. */
static struct dfg_err *unescape(
	const struct dfg_pbtxt_lexer *lexer, const uint8_t **p, const uint8_t *end, struct dfg_text *to)
{
	static const char named[256] = {['a'] = '\a',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t',
		['v'] = '\v',
		['\\'] = '\\',
		['\''] = '\'',
		['"'] = '"',
		['?'] = '?'};
	uint8_t c = **p;
	uint32_t value;
	if (named[c]) {
		++*p;
		dfg_text_put(to, &named[c], 1);
		return NULL;
	}
	bool good;
	if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
		int most = c == 'u' ? 4 : c == 'U' ? 8 : 2;
		const uint8_t *start = ++*p;
		good = take_digits(p, end, 16, most, &value) && (most == 2 || *p - start == most);
	} else {
		good = take_digits(p, end, 8, 3, &value) && value < 256;
	}
	if (!good || value > 0x10ffff)
		return dfg_pbtxt_error(lexer, "unknown escape '\\%c'", c >= 0x20 && c < 0x7f ? c : '?');
	char bytes[4] = {(char)value};
	dfg_text_put(to, bytes, c == 'u' || c == 'U' ? dfg_utf8_put(value, bytes) : 1);
	return NULL;
}

struct dfg_err *dfg_pbtxt_unquote(const struct dfg_pbtxt_lexer *lexer, struct dfg_text *to)
{
	const uint8_t *p = lexer->s + 1, *end = lexer->s + lexer->length - 1;
	while (p < end) {
		const uint8_t *plain = p;
		while (p < end && *p != '\\')
			p++;
		dfg_text_put(to, plain, (size_t)(p - plain));
		if (p++ < end)
			DFG_TRY(unescape(lexer, &p, end, to));
	}
	return NULL;
}
