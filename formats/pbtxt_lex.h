#pragma once

#include "lib/base/text.h"

/* Tokens of protobuf's text format: a cursor with one token of lookahead. The first byte of a token tells its kind. */
enum dfg_pbtxt_kind {
	DFG_PBTXT_END,
	DFG_PBTXT_NAME,   /* letters, digits, '_', and other characters of enum values and reserved words */
	DFG_PBTXT_NUMBER, /* begins with a digit or '.' */
	DFG_PBTXT_QUOTED, /* one quoted piece, quotes included */
	DFG_PBTXT_SIGN,   /* any other byte */
};

struct dfg_pbtxt_lexer {
	const uint8_t *at, *end;
	const uint8_t *line_start;
	size_t line;

	enum dfg_pbtxt_kind kind; /* kind of the current token */
	const uint8_t *s;
	size_t length;
	size_t token_line, token_column; /* position of the current token, from 1 */
};

/* Starts at the first token. */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_start(struct dfg_pbtxt_lexer *lexer, const uint8_t *text, size_t length);
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_next(struct dfg_pbtxt_lexer *lexer);

static inline bool dfg_pbtxt_is(const struct dfg_pbtxt_lexer *lexer, char sign)
{
	return lexer->kind == DFG_PBTXT_SIGN && *lexer->s == (uint8_t)sign;
}

/* Appends the bytes that a quoted piece stands for. */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_unquote(const struct dfg_pbtxt_lexer *lexer, struct dfg_text *to);

/* An error that begins with "line:column:" of the current token. */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_error(const struct dfg_pbtxt_lexer *lexer, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The current token for a message, shortened and escaped. Lives to the end of the full expression. */
struct dfg_pbtxt_words {
	char s[120];
};
struct dfg_pbtxt_words dfg_pbtxt_words(const struct dfg_pbtxt_lexer *lexer);
