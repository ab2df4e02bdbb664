#pragma once

#include "lib/lang/tree.h"

/* Recursive descent, with one token of lookahead, or two where the first word of a statement may also be a name. */
struct dfg_parser {
	const struct dfg_source *source;
	struct dfg_arena *arena;       /* of the tree */
	const struct dfg_token *token; /* the last is DFG_TOKEN_END */
	uint32_t next;                 /* the token that comes next */
	int depth;                     /* nested expressions and blocks */
};

/* The kids of a node that is being parsed; they move to the arena when it is complete. */
struct dfg_kids {
	struct dfg_tree **tree;
	size_t count, capacity;
};

/* The token that comes next. */
static inline struct dfg_token dfg_peek(const struct dfg_parser *parser)
{
	return parser->token[parser->next];
}

/* Whether the next token is this word or symbol. */
bool dfg_sees(const struct dfg_parser *parser, const char *word);

/* Whether the next token is a word that cannot be read as a name. */
bool dfg_sees_reserved(const struct dfg_parser *parser);

/* Takes the next token if it is this word or symbol, and says whether it did. */
bool dfg_take(struct dfg_parser *parser, const char *word);

/* Takes the next token. DFG_DATA: it is not this word or symbol. */
DFG_MUST_CHECK struct dfg_err *dfg_expect(struct dfg_parser *parser, const char *word);

/* Takes a name, which may be a reserved word. The name is in the arena. DFG_DATA: the next token is not a word. */
DFG_MUST_CHECK struct dfg_err *dfg_take_name(struct dfg_parser *parser, const char **out_name);

/* The same for a name that expressions read: DFG_DATA for reserved words too. */
DFG_MUST_CHECK struct dfg_err *dfg_take_new_name(struct dfg_parser *parser, const char **out_name);

/* The DFG_DATA error "expected WANTED, not ..." at the next token. */
DFG_MUST_CHECK struct dfg_err *dfg_unexpected(const struct dfg_parser *parser, const char *wanted);

/* Adds one to the depth; the caller subtracts it again. DFG_DATA: above DFG_NEST_MAX, or the stack is nearly used up. */
DFG_MUST_CHECK struct dfg_err *dfg_deeper(struct dfg_parser *parser);

/* A node without kids, for the text at this offset; in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_tree_new(
	struct dfg_parser *parser, enum dfg_tree_kind kind, uint32_t at, struct dfg_tree **out_tree);

/* Gives the node its kids; the array is copied. */
DFG_MUST_CHECK struct dfg_err *dfg_tree_kids(
	struct dfg_parser *parser, struct dfg_tree *tree, struct dfg_tree *const *kid, uint32_t n);

DFG_MUST_CHECK struct dfg_err *dfg_kids_add(struct dfg_kids *kids, struct dfg_tree *tree);

/* Gives the kids to the node, unless err is an error, and releases the list in any case. Returns err or a new error. */
DFG_MUST_CHECK struct dfg_err *dfg_kids_move(
	struct dfg_parser *parser, struct dfg_kids *kids, struct dfg_err *err, struct dfg_tree *tree);

/* Parses one construct. */
typedef struct dfg_err *dfg_parse_fn(struct dfg_parser *parser, struct dfg_tree **out_tree);

/*
 * Parses `item { "," item }` as kids of the tree, after `first` unless it is NULL. With `end` the list may be empty or
 * end in a comma, and `end` is taken; without it there is at least one item.
 */
DFG_MUST_CHECK struct dfg_err *dfg_parse_list(
	struct dfg_parser *parser, dfg_parse_fn *item, const char *end, struct dfg_tree *tree, struct dfg_tree *first);

dfg_parse_fn dfg_parse_block;                                                       /* parse.c */
dfg_parse_fn dfg_parse_expr, dfg_parse_exprs, dfg_parse_sequence, dfg_parse_string; /* parse_expression.c */
dfg_parse_fn dfg_parse_statement;                                                   /* parse_statement.c */
