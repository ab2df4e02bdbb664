#include "lib/lang/parse_private.h"

#include "lib/base/mem.h"
#include "lib/base/stack.h"

#include <stdio.h>
#include <string.h>

bool dfg_sees(const struct dfg_parser *parser, const char *word)
{
	return dfg_token_is(parser->source, dfg_peek(parser), word);
}

bool dfg_take(struct dfg_parser *parser, const char *word)
{
	if (!dfg_sees(parser, word))
		return false;
	parser->next++;
	return true;
}

/* How the spelling of another language at the next token is written in this one; NULL if it is not known. */
static const char *spelling_here(const struct dfg_parser *parser, const char *wanted)
{
	static const struct {
		const char *before, *word, *hint, *wanted;
	} hints[] = {
		{"def", NULL, "a function is written fn NAME(X) { ... }", NULL},
		{"lambda", NULL, "a function is written fn NAME(X) { ... }", NULL},
		{"return", NULL, "the value of a function is the last expression in it", NULL},
		{"let", NULL, "write NAME = VALUE", NULL},
		{"var", NULL, "write NAME = VALUE", NULL},
		{"import", NULL, "write import \"FILE.dfg\"; the library needs no import", NULL},
		{"[", "..", "a slice is written [FROM:TO]", NULL},
		{NULL, "..", "a slice is written [FROM:TO]", NULL},
		{NULL, "+=", "write X = X + ...; only `set`, which changes variables, has `+=`", NULL},
		{NULL, "-=", "write X = X - ...; only `set`, which changes variables, has `-=`", NULL},
		{NULL, "if", "write if CONDITION { A } else { B }", NULL},
		{NULL, "else", "write if CONDITION { A } else { B }", NULL},
		{NULL, "for", "write map(FUNCTION, XS), or a loop", NULL},
		{NULL, ":", "only `input`, `param`, `state` and the parameters of functions have types", "the end of the line"},
		{NULL, ":", "blocks are in braces", "`{`"},
	};
	const struct dfg_token *at = &parser->token[parser->next];
	bool is_value = dfg_peek(parser).kind != DFG_TOKEN_END && dfg_peek(parser).kind != DFG_TOKEN_NEWLINE;
	for (size_t i = 0; is_value && i < sizeof hints / sizeof *hints; i++)
		if ((!hints[i].word || dfg_sees(parser, hints[i].word)) &&
			(!hints[i].before || (parser->next && dfg_token_is(parser->source, at[-1], hints[i].before))) &&
			(!hints[i].wanted || !strcmp(wanted, hints[i].wanted)))
			return hints[i].hint;
	return NULL;
}

struct dfg_err *dfg_unexpected(const struct dfg_parser *parser, const char *wanted)
{
	struct dfg_token token = dfg_peek(parser);
	const char *hint = spelling_here(parser, wanted);
	char what[280];
	if (token.kind == DFG_TOKEN_END || token.kind == DFG_TOKEN_NEWLINE)
		snprintf(what, sizeof what, "expected %s before the end of the %s", wanted,
			parser->source->text[token.at] && token.kind == DFG_TOKEN_NEWLINE ? "line" : "text");
	else
		snprintf(what, sizeof what, "expected %s, not `%.*s`%s%s", wanted, token.length > 40 ? 40 : (int)token.length,
			parser->source->text + token.at, hint ? ": " : "", hint ? hint : "");
	/* the location is the end of the unfinished line, not the line after it */
	if (token.kind == DFG_TOKEN_NEWLINE && parser->next) {
		struct dfg_token last = parser->token[parser->next - 1];
		token.at = last.at + last.length;
	}
	return dfg_source_err(parser->source, token.at, DFG_DATA, what);
}

struct dfg_err *dfg_expect(struct dfg_parser *parser, const char *word)
{
	if (dfg_take(parser, word))
		return NULL;
	char wanted[16];
	snprintf(wanted, sizeof wanted, "`%s`", word);
	return dfg_unexpected(parser, wanted);
}

struct dfg_err *dfg_take_name(struct dfg_parser *parser, const char **out_name)
{
	struct dfg_token token = dfg_peek(parser);
	if (token.kind != DFG_TOKEN_NAME)
		return dfg_unexpected(parser, "a name");
	*out_name = dfg_arena_copy(parser->arena, parser->source->text + token.at, token.length);
	if (!*out_name)
		return dfg_no_memory("the syntax tree of the program");
	parser->next++;
	return NULL;
}

struct dfg_err *dfg_take_new_name(struct dfg_parser *parser, const char **out_name)
{
	struct dfg_token token = dfg_peek(parser);
	char what[100];
	if (!dfg_sees_reserved(parser))
		return dfg_take_name(parser, out_name);
	snprintf(what, sizeof what, "`%.*s` is a reserved word and cannot be a name", (int)token.length,
		parser->source->text + token.at);
	return dfg_source_err(parser->source, token.at, DFG_DATA, what);
}

struct dfg_err *dfg_deeper(struct dfg_parser *parser)
{
	const char *what = "expressions nest deeper than 256";
	if (++parser->depth <= DFG_NEST_MAX && !dfg_stack_is_low())
		return NULL;
	if (parser->depth <= DFG_NEST_MAX)
		what = "expressions nest too deeply for the stack (ulimit -s)";
	return dfg_source_err(parser->source, dfg_peek(parser).at, DFG_DATA, what);
}

struct dfg_err *dfg_tree_new(
	struct dfg_parser *parser, enum dfg_tree_kind kind, uint32_t at, struct dfg_tree **out_tree)
{
	*out_tree = dfg_arena_zeros(parser->arena, 1, sizeof **out_tree);
	if (!*out_tree)
		return dfg_no_memory("the syntax tree of the program");
	(*out_tree)->kind = kind;
	(*out_tree)->at = at;
	return NULL;
}

struct dfg_err *dfg_tree_kids(struct dfg_parser *parser, struct dfg_tree *tree, struct dfg_tree *const *kid, uint32_t n)
{
	tree->kid = (struct dfg_tree **)dfg_arena_copy(parser->arena, kid, n * sizeof *kid);
	tree->n = n;
	return tree->kid ? NULL : dfg_no_memory("the syntax tree of the program");
}

struct dfg_err *dfg_kids_add(struct dfg_kids *kids, struct dfg_tree *tree)
{
	if (!dfg_reserve(&kids->tree, &kids->capacity, kids->count + 1, sizeof *kids->tree))
		return dfg_no_memory("the syntax tree of the program");
	kids->tree[kids->count++] = tree;
	return NULL;
}

struct dfg_err *dfg_kids_move(
	struct dfg_parser *parser, struct dfg_kids *kids, struct dfg_err *err, struct dfg_tree *tree)
{
	if (!err)
		err = dfg_tree_kids(parser, tree, kids->tree, (uint32_t)kids->count);
	dfg_free(kids->tree);
	*kids = (struct dfg_kids){0};
	return err;
}

static struct dfg_err *items(struct dfg_parser *parser, dfg_parse_fn *item, const char *end, struct dfg_kids *kids)
{
	do {
		struct dfg_tree *tree;
		if (end && dfg_sees(parser, end)) /* also after a trailing comma */
			break;
		DFG_TRY(item(parser, &tree));
		DFG_TRY(dfg_kids_add(kids, tree));
	} while (dfg_take(parser, ","));
	return end ? dfg_expect(parser, end) : NULL;
}

struct dfg_err *dfg_parse_list(
	struct dfg_parser *parser, dfg_parse_fn *item, const char *end, struct dfg_tree *tree, struct dfg_tree *first)
{
	struct dfg_kids kids = {0};
	struct dfg_err *err = first ? dfg_kids_add(&kids, first) : NULL;
	if (!err)
		err = items(parser, item, end, &kids);
	return dfg_kids_move(parser, &kids, err, tree);
}

static struct dfg_err *begin(const struct dfg_source *source, struct dfg_arena *arena, struct dfg_parser *parser)
{
	struct dfg_tokens tokens;
	DFG_TRY(dfg_lex(source, false, &tokens));
	*parser = (struct dfg_parser){.source = source, .arena = arena, .token = tokens.token};
	return NULL;
}

static struct dfg_err *at_end(struct dfg_parser *parser)
{
	while (dfg_peek(parser).kind == DFG_TOKEN_NEWLINE)
		parser->next++;
	return dfg_peek(parser).kind == DFG_TOKEN_END ? NULL : dfg_unexpected(parser, "the end");
}

/* Checks that only newlines are left, unless err is an error, and frees the tokens in any case. */
static struct dfg_err *end(struct dfg_parser *parser, struct dfg_err *err)
{
	if (!err)
		err = at_end(parser);
	dfg_free((void *)parser->token);
	return err;
}

struct dfg_err *dfg_parse_expression(
	const struct dfg_source *source, struct dfg_arena *arena, struct dfg_tree **out_expression)
{
	struct dfg_parser parser;
	DFG_TRY(begin(source, arena, &parser));
	return end(&parser, dfg_parse_expr(&parser, out_expression));
}

/* The expected error of a case, after the colon, is not made of tokens; it is cut off before the line is parsed. */
static const char *words(const struct dfg_source *source, uint32_t *out_at)
{
	int depth = 0;
	bool quoted = false;
	for (uint32_t i = 0; i < source->length; i++) {
		char c = source->text[i];
		if (c == '\\' && quoted && i + 1 < source->length)
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && strchr("([", c))
			depth++;
		else if (!quoted && strchr(")]", c))
			depth--;
		else if (!quoted && !depth && c == ':') {
			*out_at = i;
			return source->text + i + 1 + strspn(source->text + i + 1, " \t");
		} else if (!quoted && !depth && c == '=')
			break;
	}
	return NULL;
}

struct dfg_err *dfg_parse_case(const struct dfg_source *source, struct dfg_arena *arena, struct dfg_tree **out_call,
	struct dfg_tree **out_want, const char **out_error)
{
	struct dfg_source call = *source;
	struct dfg_parser parser;
	*out_want = NULL;
	*out_error = words(source, &call.length);
	if (*out_error) {
		call.text = dfg_arena_copy(arena, source->text, call.length);
		*out_error = dfg_arena_copy(arena, *out_error, strcspn(*out_error, "\n"));
		if (!call.text || !*out_error)
			return dfg_no_memory("the syntax tree of the program");
	}
	DFG_TRY(begin(&call, arena, &parser));
	struct dfg_err *err = dfg_parse_expr(&parser, out_call);
	if (!err && !*out_error)
		err = dfg_expect(&parser, "=");
	if (!err && !*out_error)
		err = dfg_parse_exprs(&parser, out_want);
	return end(&parser, err);
}

static struct dfg_err *statements(struct dfg_parser *parser, struct dfg_kids *kids);

struct dfg_err *dfg_parse(const struct dfg_source *source, struct dfg_arena *arena, struct dfg_tree **out_block)
{
	struct dfg_parser parser;
	struct dfg_kids kids = {0};
	DFG_TRY(begin(source, arena, &parser));
	struct dfg_err *err = dfg_tree_new(&parser, DFG_TREE_BLOCK, 0, out_block);
	if (!err)
		err = statements(&parser, &kids);
	err = end(&parser, err);
	return dfg_kids_move(&parser, &kids, err, *out_block);
}

static struct dfg_err *statements(struct dfg_parser *parser, struct dfg_kids *kids)
{
	for (;;) {
		while (dfg_peek(parser).kind == DFG_TOKEN_NEWLINE)
			parser->next++;
		if (dfg_peek(parser).kind == DFG_TOKEN_END || dfg_sees(parser, "}"))
			return NULL;
		struct dfg_tree *statement;
		DFG_TRY(dfg_parse_statement(parser, &statement));
		DFG_TRY(dfg_kids_add(kids, statement));
		if (dfg_peek(parser).kind != DFG_TOKEN_NEWLINE && !dfg_sees(parser, "}"))
			return dfg_unexpected(parser, "the end of the line");
	}
}

struct dfg_err *dfg_parse_block(struct dfg_parser *parser, struct dfg_tree **out_block)
{
	struct dfg_kids kids = {0};
	DFG_TRY(dfg_deeper(parser));
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_BLOCK, dfg_peek(parser).at, out_block));
	DFG_TRY(dfg_expect(parser, "{"));
	struct dfg_err *err = statements(parser, &kids);
	if (!err)
		err = dfg_expect(parser, "}");
	parser->depth--;
	return dfg_kids_move(parser, &kids, err, *out_block);
}
