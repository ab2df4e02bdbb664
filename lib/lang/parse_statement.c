#include "lib/lang/parse_private.h"

#include <string.h>

static struct dfg_err *dim(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	uint32_t at = dfg_peek(parser).at;
	if (dfg_take(parser, "?"))
		return dfg_tree_new(parser, DFG_TREE_ANY, at, out_tree);
	if (dfg_take(parser, "..."))
		return dfg_tree_new(parser, DFG_TREE_REST, at, out_tree);
	return dfg_parse_expr(parser, out_tree);
}

static struct dfg_err *type(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *dims;
	bool like = dfg_sees(parser, "like") && parser->token[parser->next + 1].kind == DFG_TOKEN_NAME;
	DFG_TRY(dfg_tree_new(parser, like ? DFG_TREE_LIKE : DFG_TREE_TYPE, dfg_peek(parser).at, out_tree));
	parser->next += like;
	DFG_TRY(dfg_take_name(parser, &(*out_tree)->text));
	uint32_t at = dfg_peek(parser).at;
	if (like || !dfg_take(parser, "["))
		return NULL;
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_DIMS, at, &dims));
	DFG_TRY(dfg_parse_list(parser, dim, "]", dims, NULL));
	return dfg_tree_kids(parser, *out_tree, &dims, 1);
}

/* An optional part after a symbol: NULL if the symbol is missing. */
static struct dfg_err *after_sign(
	struct dfg_parser *parser, const char *sign, dfg_parse_fn *part, struct dfg_tree **out_tree)
{
	*out_tree = NULL;
	return dfg_take(parser, sign) ? part(parser, out_tree) : NULL;
}

static struct dfg_err *formal(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *part[2];
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_FORMAL, dfg_peek(parser).at, out_tree));
	DFG_TRY(dfg_take_new_name(parser, &(*out_tree)->text));
	DFG_TRY(after_sign(parser, ":", type, &part[0]));
	DFG_TRY(after_sign(parser, "=", dfg_parse_expr, &part[1]));
	return dfg_tree_kids(parser, *out_tree, part, 2);
}

static struct dfg_err *formals(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_FORMALS, dfg_peek(parser).at, out_tree));
	DFG_TRY(dfg_expect(parser, "("));
	return dfg_parse_list(parser, formal, ")", *out_tree, NULL);
}

static struct dfg_err *types(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_TYPES, dfg_peek(parser).at, out_tree));
	return dfg_parse_list(parser, type, NULL, *out_tree, NULL);
}

/* The functions below parse a statement after its first word; `tree` has its kind already. */
typedef struct dfg_err *rest_fn(struct dfg_parser *parser, struct dfg_tree *tree);

static struct dfg_err *typed(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[2];
	DFG_TRY(dfg_take_new_name(parser, &tree->text));
	DFG_TRY(dfg_expect(parser, ":"));
	DFG_TRY(type(parser, &part[0]));
	DFG_TRY(after_sign(parser, "=", dfg_parse_expr, &part[1]));
	if (!part[1] && tree->kind != DFG_TREE_INPUT)
		return dfg_unexpected(parser, "`=` and an initial value");
	return dfg_tree_kids(parser, tree, part, 2);
}

/*
 * The name of an output, like that of a target, is used only outside of the program and may be a word of the language.
 */
static struct dfg_err *output(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *value;
	DFG_TRY(dfg_take_name(parser, &tree->text));
	DFG_TRY(after_sign(parser, "=", dfg_parse_expr, &value));
	return dfg_tree_kids(parser, tree, &value, 1);
}

static struct dfg_err *named_value(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *value;
	DFG_TRY(dfg_take_new_name(parser, &tree->text));
	DFG_TRY(dfg_expect(parser, "="));
	DFG_TRY(dfg_parse_expr(parser, &value));
	return dfg_tree_kids(parser, tree, &value, 1);
}

/* The symbol of an update, of one token or, for `max=` and `min=`, of two. */
static struct dfg_err *update(struct dfg_parser *parser, uint8_t *out_update)
{
	for (uint8_t i = 0; i < DFG_UPDATES; i++) {
		const char *spelling = dfg_updates[i].spelling;
		if (dfg_take(parser, spelling)) {
			*out_update = i;
			return NULL;
		}
		size_t word = strlen(spelling) - 1;
		struct dfg_token token = dfg_peek(parser);
		if (token.kind == DFG_TOKEN_NAME && token.length == word &&
			!memcmp(parser->source->text + token.at, spelling, word)) {
			*out_update = i;
			parser->next++;
			return dfg_expect(parser, "=");
		}
	}
	return dfg_unexpected(parser, "`=`, `+=`, `-=`, `max=` or `min=`");
}

static struct dfg_err *parse_set(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[3] = {0};
	DFG_TRY(dfg_take_new_name(parser, &tree->text));
	uint32_t at = dfg_peek(parser).at;
	if (dfg_take(parser, "[")) {
		DFG_TRY(dfg_tree_new(parser, DFG_TREE_TUPLE, at, &part[1]));
		DFG_TRY(dfg_parse_list(parser, dfg_parse_expr, "]", part[1], NULL));
		if (!part[1]->n)
			return dfg_source_err(parser->source, at, DFG_DATA, "expected an index");
	}
	DFG_TRY(update(parser, &tree->operation));
	DFG_TRY(dfg_parse_expr(parser, &part[0]));
	if (dfg_take(parser, "by"))
		DFG_TRY(dfg_parse_expr(parser, &part[2]));
	return dfg_tree_kids(parser, tree, part, 3);
}

static struct dfg_err *named_block(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *block;
	DFG_TRY(dfg_take_name(parser, &tree->text));
	DFG_TRY(dfg_parse_block(parser, &block));
	return dfg_tree_kids(parser, tree, &block, 1);
}

static struct dfg_err *callable(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[4] = {0};
	DFG_TRY(dfg_take_new_name(parser, &tree->text));
	DFG_TRY(formals(parser, &part[0]));
	if (tree->kind == DFG_TREE_LAYER)
		DFG_TRY(formals(parser, &part[1]));
	DFG_TRY(after_sign(parser, "->", types, &part[2]));
	DFG_TRY(dfg_parse_block(parser, &part[3]));
	return dfg_tree_kids(parser, tree, part, 4);
}

static struct dfg_err *import(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *path, *as = NULL;
	DFG_TRY(dfg_parse_string(parser, &path));
	tree->text = path->text;
	if (dfg_take(parser, "as")) {
		DFG_TRY(dfg_tree_new(parser, DFG_TREE_NAME, dfg_peek(parser).at, &as));
		DFG_TRY(dfg_take_new_name(parser, &as->text));
	}
	return dfg_tree_kids(parser, tree, &as, 1);
}

static struct dfg_err *assertion(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[2];
	DFG_TRY(dfg_parse_expr(parser, &part[0]));
	DFG_TRY(dfg_expect(parser, ","));
	DFG_TRY(dfg_parse_string(parser, &part[1]));
	return dfg_tree_kids(parser, tree, part, 2);
}

static struct dfg_err *on_device(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *device, *block;
	DFG_TRY(dfg_parse_string(parser, &device));
	tree->text = device->text;
	DFG_TRY(dfg_parse_block(parser, &block));
	return dfg_tree_kids(parser, tree, &block, 1);
}

static struct dfg_err *after(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[2];
	DFG_TRY(dfg_parse_exprs(parser, &part[0]));
	DFG_TRY(dfg_parse_block(parser, &part[1]));
	return dfg_tree_kids(parser, tree, part, 2);
}

static struct dfg_err *static_for(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[2];
	tree->kind = DFG_TREE_STATIC_FOR;
	DFG_TRY(dfg_take_new_name(parser, &tree->text));
	DFG_TRY(dfg_expect(parser, "in"));
	DFG_TRY(dfg_parse_sequence(parser, &part[0]));
	DFG_TRY(dfg_parse_block(parser, &part[1]));
	return dfg_tree_kids(parser, tree, part, 2);
}

static struct dfg_err *one_statement_block(struct dfg_parser *parser, struct dfg_tree *statement, struct dfg_tree **out)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_BLOCK, statement->at, out));
	return dfg_tree_kids(parser, *out, &statement, 1);
}

/* `else static if` is a block of one statement without braces. */
static struct dfg_err *statically(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *part[3] = {0};
	if (dfg_take(parser, "for"))
		return static_for(parser, tree);
	DFG_TRY(dfg_expect(parser, "if"));
	DFG_TRY(dfg_parse_expr(parser, &part[0]));
	DFG_TRY(dfg_parse_block(parser, &part[1]));
	if (dfg_take(parser, "else")) {
		struct dfg_tree *chained;
		DFG_TRY(dfg_deeper(parser));
		if (dfg_sees(parser, "static")) {
			DFG_TRY(dfg_parse_statement(parser, &chained));
			DFG_TRY(one_statement_block(parser, chained, &part[2]));
		} else {
			DFG_TRY(dfg_parse_block(parser, &part[2]));
		}
		parser->depth--;
	}
	return dfg_tree_kids(parser, tree, part, 3);
}

static struct dfg_err *yield(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *value;
	DFG_TRY(dfg_parse_expr(parser, &value));
	return dfg_tree_kids(parser, tree, &value, 1);
}

static struct dfg_err *next(struct dfg_parser *parser, struct dfg_tree *tree)
{
	struct dfg_tree *values;
	DFG_TRY(dfg_parse_exprs(parser, &values));
	return dfg_tree_kids(parser, tree, &values, 1);
}

/*
 * A word begins a statement only before a token of the given kind, so that it may also be the name of a value or port.
 */
static const struct form {
	const char *word;
	enum dfg_token_kind before;
	bool reserved;
	enum dfg_tree_kind kind;
	rest_fn *rest;
} forms[] = {
	{"input", DFG_TOKEN_NAME, false, DFG_TREE_INPUT, typed},
	{"param", DFG_TOKEN_NAME, false, DFG_TREE_PARAM, typed},
	{"state", DFG_TOKEN_NAME, false, DFG_TREE_STATE, typed},
	{"output", DFG_TOKEN_NAME, false, DFG_TREE_OUTPUT, output},
	{"const", DFG_TOKEN_NAME, false, DFG_TREE_CONST, named_value},
	{"target", DFG_TOKEN_NAME, false, DFG_TREE_TARGET, named_block},
	{"fn", DFG_TOKEN_NAME, false, DFG_TREE_FN, callable},
	{"layer", DFG_TOKEN_NAME, false, DFG_TREE_LAYER, callable},
	{"import", DFG_TOKEN_STRING, false, DFG_TREE_IMPORT, import},
	{"set", DFG_TOKEN_NAME, false, DFG_TREE_SET, parse_set},
	{"on", DFG_TOKEN_STRING, false, DFG_TREE_ON, on_device},
	{"assert", DFG_TOKEN_END, true, DFG_TREE_ASSERT, assertion},
	{"after", DFG_TOKEN_END, true, DFG_TREE_AFTER, after},
	{"static", DFG_TOKEN_END, true, DFG_TREE_STATIC_IF, statically},
	{"yield", DFG_TOKEN_END, true, DFG_TREE_YIELD, yield},
	{"next", DFG_TOKEN_END, true, DFG_TREE_NEXT, next},
};

static const struct form *form_seen(const struct dfg_parser *parser)
{
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (dfg_sees(parser, forms[i].word) &&
			(forms[i].reserved || parser->token[parser->next + 1].kind == forms[i].before))
			return &forms[i];
	return NULL;
}

static struct dfg_err *assignment(struct dfg_parser *parser, struct dfg_tree *statement, struct dfg_tree *names)
{
	struct dfg_tree *part[2] = {names};
	for (uint32_t i = 0; i < names->n; i++)
		if (names->kid[i]->kind != DFG_TREE_NAME)
			return dfg_source_err(
				parser->source, names->kid[i]->at, DFG_DATA, "the left side of an assignment must be a name");
	statement->kind = DFG_TREE_ASSIGN;
	DFG_TRY(dfg_parse_exprs(parser, &part[1]));
	return dfg_tree_kids(parser, statement, part, 2);
}

/* `loop, b = f(x)` or `next = f(x)` */
static bool assigns_word(const struct dfg_parser *parser)
{
	struct dfg_token after = parser->token[dfg_peek(parser).kind == DFG_TOKEN_END ? parser->next : parser->next + 1];
	bool lists = dfg_token_is(parser->source, after, ",") && !dfg_sees(parser, "true") && !dfg_sees(parser, "false");
	return dfg_sees_reserved(parser) && (lists || dfg_token_is(parser->source, after, "="));
}

struct dfg_err *dfg_parse_statement(struct dfg_parser *parser, struct dfg_tree **out_statement)
{
	const struct form *form = form_seen(parser);
	if (assigns_word(parser))
		return dfg_take_new_name(parser, &(const char *){NULL});
	DFG_TRY(dfg_tree_new(parser, form ? form->kind : DFG_TREE_DO, dfg_peek(parser).at, out_statement));
	if (form) {
		parser->next++;
		return form->rest(parser, *out_statement);
	}
	struct dfg_tree *values;
	DFG_TRY(dfg_parse_exprs(parser, &values));
	if (dfg_take(parser, "="))
		return assignment(parser, *out_statement, values);
	return dfg_tree_kids(parser, *out_statement, &values, 1);
}
