#pragma once

#include "lib/lang/source.h"

enum dfg_token_kind {
	DFG_TOKEN_END,
	DFG_TOKEN_NEWLINE, /* only where it ends a statement */
	DFG_TOKEN_NAME,    /* a name or keyword */
	DFG_TOKEN_NUMBER,
	DFG_TOKEN_STRING,
	DFG_TOKEN_SIGN,
	DFG_TOKEN_COMMENT, /* only with keep_comments */
};

struct dfg_token {
	enum dfg_token_kind kind;
	uint32_t at, length; /* in the source's text */
};

struct dfg_tokens {
	struct dfg_token *token; /* the last is DFG_TOKEN_END */
	uint32_t count;
};

enum { DFG_NEST_MAX = 256 }; /* the most nested brackets, blocks or expressions */

/*
 * All tokens of a text. A newline is a token unless the innermost bracket is ( or [, or the line ends in a comma or an
 * operator that requires a right operand, or the next line begins with `else`. The caller frees the tokens with
 * dfg_free(). DFG_DATA: an unknown character, or an unfinished string.
 */
DFG_MUST_CHECK struct dfg_err *dfg_lex(
	const struct dfg_source *source, bool keep_comments, struct dfg_tokens *out_tokens);

/* Whether the token is this word or symbol. */
bool dfg_token_is(const struct dfg_source *source, struct dfg_token token, const char *word);

/* Whether a line that ends in this token continues on the next one. */
bool dfg_token_continues(const struct dfg_source *source, struct dfg_token token);
