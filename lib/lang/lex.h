#pragma once

#include "lib/lang/source.h"

enum dfg_token_kind {
	DFG_TOKEN_END,
	DFG_TOKEN_NEWLINE, /* only where it ends a statement */
	DFG_TOKEN_NAME,    /* keywords too: which they are, the grammar says */
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

enum { DFG_NEST_MAX = 256 }; /* brackets, blocks and expressions within each other */

/*
 * All tokens of a text. A newline counts unless the innermost bracket is ( or [, or the line ends in a comma or an
 * operator that wants a right side, or the next line begins with `else`. The caller frees the tokens with dfg_free().
 */
DFG_MUST_CHECK struct dfg_err *dfg_lex(
	const struct dfg_source *source, bool keep_comments, struct dfg_tokens *out_tokens);

/* Whether the token is this word or sign. */
bool dfg_token_is(const struct dfg_source *source, struct dfg_token token, const char *word);

/* Whether a line that ends in this token goes on in the next one. */
bool dfg_token_continues(const struct dfg_source *source, struct dfg_token token);
