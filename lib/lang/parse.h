#pragma once

#include "lib/lang/tree.h"

/* Recursive descent, one token of lookahead, two where a statement's first word may also be a name. */
struct dfg_parser {
	const struct dfg_source *source;
	struct dfg_arena *arena;
	const struct dfg_token *token;
	uint32_t next;
	int depth;
};

/* Kids while they are gathered; they move to the arena when the node is done. */
struct dfg_kids {
	struct dfg_tree **tree;
	size_t count, room;
};

static inline struct dfg_token dfg_peek(const struct dfg_parser *parser)
{
	return parser->token[parser->next];
}
bool dfg_sees(const struct dfg_parser *parser, const char *word);
bool dfg_take(struct dfg_parser *parser, const char *word);
bool dfg_sees_reserved(const struct dfg_parser *parser); /* a word that cannot be read as a name */
DFG_MUST_CHECK struct dfg_err *dfg_expect(struct dfg_parser *parser, const char *word);
DFG_MUST_CHECK struct dfg_err *dfg_take_name(struct dfg_parser *parser, const char **out_name);
DFG_MUST_CHECK struct dfg_err *dfg_take_new_name(
	struct dfg_parser *parser, const char **out_name); /* to be read later */

/* An error at the token that comes next. */
DFG_MUST_CHECK struct dfg_err *dfg_unexpected(const struct dfg_parser *parser, const char *wanted);

/* One level deeper: refused past DFG_NEST_MAX, or where the stack ends. The caller subtracts the level again. */
DFG_MUST_CHECK struct dfg_err *dfg_deeper(struct dfg_parser *parser);

DFG_MUST_CHECK struct dfg_err *dfg_tree_new(
	struct dfg_parser *parser, enum dfg_tree_kind kind, uint32_t at, struct dfg_tree **out_tree);
DFG_MUST_CHECK struct dfg_err *dfg_tree_kids(
	struct dfg_parser *parser, struct dfg_tree *tree, struct dfg_tree *const *kid, uint32_t n);
DFG_MUST_CHECK struct dfg_err *dfg_kids_add(struct dfg_kids *kids, struct dfg_tree *tree);

/* Moves the kids to the tree, unless there is an error; the list is released in any case. */
DFG_MUST_CHECK struct dfg_err *dfg_kids_move(
	struct dfg_parser *parser, struct dfg_kids *kids, struct dfg_err *err, struct dfg_tree *tree);

/* `item { "," item }`, one of them at least, as kids. */
typedef struct dfg_err *dfg_parse_fn(struct dfg_parser *parser, struct dfg_tree **out_tree);
DFG_MUST_CHECK struct dfg_err *dfg_parse_list(
	struct dfg_parser *parser, dfg_parse_fn *item, const char *end, struct dfg_tree *tree, struct dfg_tree *first);

dfg_parse_fn dfg_parse_expr, dfg_parse_exprs, dfg_parse_block, dfg_parse_sequence, dfg_parse_string,
	dfg_parse_statement;
