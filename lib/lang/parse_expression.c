#include "lib/lang/parse_private.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(NAME, spelling, precedence, op) [DFG_OPERATOR_##NAME] = {spelling, precedence, op},
const struct dfg_operator_row dfg_operators[] = {DFG_EACH_operator(ROW)};
#undef ROW

#define UPDATE(NAME, ...) [DFG_UPDATE_##NAME] = {__VA_ARGS__},
const struct dfg_update_row dfg_updates[] = {DFG_EACH_update(UPDATE)};
#undef UPDATE

enum { TIGHTEST = 5, COMPARISON = 3 }; /* precedences */

/* Words that cannot be names in expressions. */
static const char *const reserved[] = {"and", "or", "not", "if", "else", "case", "loop", "for", "in", "while", "static",
	"assert", "yield", "next", "after", "true", "false", NULL};

static dfg_parse_fn unary;

static struct dfg_err *node(struct dfg_parser *parser, enum dfg_tree_kind kind, uint32_t at,
	struct dfg_tree *const kid[2], struct dfg_tree **out)
{
	DFG_TRY(dfg_tree_new(parser, kind, at, out));
	return dfg_tree_kids(parser, *out, kid, kid[1] ? 2 : 1);
}

static struct dfg_err *number(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_token token = dfg_peek(parser);
	const char *digits = parser->source->text + token.at;
	bool is_int = strspn(digits, "0123456789") >= token.length;
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_NUMBER, token.at, out_tree));
	struct dfg_number *value = &(*out_tree)->number;
	*value = (struct dfg_number){.is_int = is_int, .f = strtod(digits, NULL)};
	errno = 0;
	if (is_int)
		value->i = (int64_t)strtoull(digits, NULL, 10);
	if (errno || isinf(value->f))
		return dfg_source_err(parser->source, token.at, DFG_DATA, "the number does not fit 64 bits");
	parser->next++;
	return NULL;
}

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Decodes the escape sequence at s, after the backslash; returns its length, or 0 if it is unknown. */
static int escape(const char *s, char *out)
{
	static const char from[] = "nrt0\"\\", to[] = "\n\r\t\0\"\\";
	const char *known = *s ? strchr(from, *s) : NULL;
	if (known) {
		*out = to[known - from];
		return 1;
	}
	if (*s != 'x' || hex(s[1]) < 0 || hex(s[2]) < 0)
		return 0;
	*out = (char)(hex(s[1]) * 16 + hex(s[2]));
	return 3;
}

struct dfg_err *dfg_parse_string(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_token token = dfg_peek(parser);
	if (token.kind != DFG_TOKEN_STRING)
		return dfg_unexpected(parser, "a string");
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_STRING, token.at, out_tree));
	const char *from = parser->source->text + token.at + 1, *last = from + token.length - 2;
	char *to = dfg_arena_zeros(parser->arena, token.length, 1);
	if (!to)
		return dfg_no_memory("the syntax tree of the program");
	(*out_tree)->text = to;
	while (from < last) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		int length = escape(from + 1, to++);
		if (!length)
			return dfg_source_err(parser->source, (uint32_t)(from - parser->source->text), DFG_DATA,
				"unknown escape sequence: use \\n \\r \\t \\0 \\\" \\\\ or \\xNN");
		from += 1 + length;
	}
	(*out_tree)->length = (size_t)(to - (*out_tree)->text);
	parser->next++;
	return NULL;
}

bool dfg_sees_reserved(const struct dfg_parser *parser)
{
	for (const char *const *word = reserved; *word; word++)
		if (dfg_sees(parser, *word))
			return true;
	return false;
}

/* The error for a word of the language in place of a value; for `for` and `while` it says how loops are written. */
static struct dfg_err *no_value(const struct dfg_parser *parser)
{
	const char *word = dfg_sees(parser, "for") ? "for" : dfg_sees(parser, "while") ? "while" : NULL;
	char what[200];
	if (!word)
		return dfg_unexpected(parser, "an expression");
	snprintf(what, sizeof what,
		"expected an expression, not `%s`: a loop begins with `static for` (written out while building) or with `loop` "
		"(repeated when the graph runs)",
		word);
	return dfg_source_err(parser->source, dfg_peek(parser).at, DFG_DATA, what);
}

static struct dfg_err *name(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	uint32_t at = dfg_peek(parser).at;
	bool truth = dfg_sees(parser, "true");
	if (truth || dfg_sees(parser, "false")) {
		DFG_TRY(dfg_tree_new(parser, DFG_TREE_BOOL, at, out_tree));
		(*out_tree)->truth = truth;
		parser->next++;
		return NULL;
	}
	if (dfg_sees_reserved(parser))
		return no_value(parser);
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_NAME, at, out_tree));
	return dfg_take_name(parser, &(*out_tree)->text);
}

/* An expression in parentheses, or a tuple of none or several. */
static struct dfg_err *parenthesised(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_TUPLE, dfg_peek(parser).at, out_tree));
	parser->next++;
	DFG_TRY(dfg_parse_list(parser, dfg_parse_expr, ")", *out_tree, NULL));
	if ((*out_tree)->n == 1)
		*out_tree = (*out_tree)->kid[0];
	return NULL;
}

static struct dfg_err *atom(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_token token = dfg_peek(parser);
	if (token.kind == DFG_TOKEN_NUMBER)
		return number(parser, out_tree);
	if (token.kind == DFG_TOKEN_STRING)
		return dfg_parse_string(parser, out_tree);
	if (token.kind == DFG_TOKEN_NAME)
		return name(parser, out_tree);
	if (dfg_sees(parser, "("))
		return parenthesised(parser, out_tree);
	if (!dfg_take(parser, "["))
		return dfg_unexpected(parser, "an expression");
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_LIST, token.at, out_tree));
	return dfg_parse_list(parser, dfg_parse_expr, "]", *out_tree, NULL);
}

static struct dfg_err *argument(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_ARGUMENT, dfg_peek(parser).at, out_tree));
	struct dfg_tree *value;
	if (dfg_peek(parser).kind == DFG_TOKEN_NAME && dfg_token_is(parser->source, parser->token[parser->next + 1], "=")) {
		DFG_TRY(dfg_take_name(parser, &(*out_tree)->text));
		parser->next++;
	}
	DFG_TRY(dfg_parse_expr(parser, &value));
	return dfg_tree_kids(parser, *out_tree, &value, 1);
}

static struct dfg_err *bound(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	*out_tree = NULL;
	if (dfg_sees(parser, ":") || dfg_sees(parser, ",") || dfg_sees(parser, "]"))
		return NULL;
	return dfg_parse_expr(parser, out_tree);
}

static struct dfg_err *indexing(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	uint32_t at = dfg_peek(parser).at;
	struct dfg_tree *part[3] = {0};
	if (dfg_take(parser, "..."))
		return dfg_tree_new(parser, DFG_TREE_REST, at, out_tree);
	if (dfg_take(parser, "new"))
		return dfg_tree_new(parser, DFG_TREE_NEW, at, out_tree);
	DFG_TRY(bound(parser, &part[0]));
	if (!dfg_sees(parser, ":")) {
		*out_tree = part[0];
		return part[0] ? NULL : dfg_unexpected(parser, "an index");
	}
	for (int i = 1; i < 3 && dfg_take(parser, ":"); i++)
		DFG_TRY(bound(parser, &part[i]));
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_SLICE, at, out_tree));
	return dfg_tree_kids(parser, *out_tree, part, 3);
}

static struct dfg_err *postfix(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(atom(parser, out_tree));
	for (;;) {
		struct dfg_tree *inner = *out_tree;
		uint32_t at = dfg_peek(parser).at;
		if (dfg_take(parser, "(")) {
			DFG_TRY(dfg_tree_new(parser, DFG_TREE_CALL, inner->at, out_tree));
			DFG_TRY(dfg_parse_list(parser, argument, ")", *out_tree, inner));
		} else if (dfg_take(parser, "[")) {
			DFG_TRY(dfg_tree_new(parser, DFG_TREE_INDEX, at, out_tree));
			DFG_TRY(dfg_parse_list(parser, indexing, "]", *out_tree, inner));
			if ((*out_tree)->n == 1)
				return dfg_source_err(parser->source, at, DFG_DATA, "expected an index");
		} else if (dfg_take(parser, ".")) {
			DFG_TRY(node(parser, DFG_TREE_MEMBER, dfg_peek(parser).at, (struct dfg_tree *[]){inner, NULL}, out_tree));
			DFG_TRY(dfg_take_name(parser, &(*out_tree)->text));
		} else
			return NULL;
	}
}

static struct dfg_err *power(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *side[2];
	DFG_TRY(postfix(parser, out_tree));
	uint32_t at = dfg_peek(parser).at;
	if (!dfg_take(parser, "**"))
		return NULL;
	side[0] = *out_tree;
	DFG_TRY(dfg_deeper(parser));
	DFG_TRY(unary(parser, &side[1]));
	parser->depth--;
	DFG_TRY(node(parser, DFG_TREE_BINARY, at, side, out_tree));
	(*out_tree)->operation = DFG_OPERATOR_POW;
	return NULL;
}

static struct dfg_err *prefixed(
	struct dfg_parser *parser, enum dfg_operator operation, dfg_parse_fn *operand, struct dfg_tree **out_tree)
{
	uint32_t at = dfg_peek(parser).at;
	struct dfg_tree *inner;
	parser->next++;
	DFG_TRY(dfg_deeper(parser));
	DFG_TRY(operand(parser, &inner));
	parser->depth--;
	DFG_TRY(node(parser, DFG_TREE_UNARY, at, (struct dfg_tree *[]){inner, NULL}, out_tree));
	(*out_tree)->operation = operation;
	return NULL;
}

static struct dfg_err *unary(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	if (!dfg_sees(parser, "-"))
		return power(parser, out_tree);
	return prefixed(parser, DFG_OPERATOR_NEGATE, unary, out_tree);
}

static unsigned binary_seen(const struct dfg_parser *parser, int precedence)
{
	for (unsigned i = 0; i < DFG_OPERATORS; i++)
		if (dfg_operators[i].precedence == precedence && dfg_sees(parser, dfg_operators[i].spelling))
			return i;
	return DFG_OPERATORS;
}

static struct dfg_err *level(struct dfg_parser *parser, int precedence, struct dfg_tree **out_tree);

/* `not` binds tighter than `and` and less than comparisons. */
static struct dfg_err *negation(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	if (!dfg_sees(parser, "not"))
		return level(parser, COMPARISON, out_tree);
	return prefixed(parser, DFG_OPERATOR_NOT, negation, out_tree);
}

static struct dfg_err *tighter(struct dfg_parser *parser, int precedence, struct dfg_tree **out_tree)
{
	if (precedence == TIGHTEST)
		return unary(parser, out_tree);
	return precedence + 1 == COMPARISON ? negation(parser, out_tree) : level(parser, precedence + 1, out_tree);
}

/* Operators of one precedence, which associate to the left. Comparisons do not chain: a < b < c is an error. */
static struct dfg_err *level(struct dfg_parser *parser, int precedence, struct dfg_tree **out_tree)
{
	DFG_TRY(tighter(parser, precedence, out_tree));
	for (int n = 0;; n++) {
		unsigned operation = binary_seen(parser, precedence);
		if (operation == DFG_OPERATORS)
			return NULL;
		uint32_t at = dfg_peek(parser).at;
		if (precedence == COMPARISON && n)
			return dfg_source_err(parser->source, at, DFG_DATA, "comparisons do not chain: join two with `and`");
		struct dfg_tree *side[2] = {*out_tree};
		parser->next++;
		DFG_TRY(tighter(parser, precedence, &side[1]));
		DFG_TRY(node(parser, DFG_TREE_BINARY, at, side, out_tree));
		(*out_tree)->operation = operation;
	}
}

static struct dfg_err *branch(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *part[3];
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_IF, dfg_peek(parser).at, out_tree));
	parser->next++;
	DFG_TRY(dfg_parse_expr(parser, &part[0]));
	DFG_TRY(dfg_parse_block(parser, &part[1]));
	DFG_TRY(dfg_expect(parser, "else"));
	DFG_TRY((dfg_sees(parser, "{") ? dfg_parse_block : dfg_parse_expr)(parser, &part[2]));
	return dfg_tree_kids(parser, *out_tree, part, 3);
}

/* Arms are numbered 0, 1, 2, ... in order. */
static struct dfg_err *arms(struct dfg_parser *parser, struct dfg_kids *kids)
{
	struct dfg_tree *label, *block;
	for (;;) {
		while (dfg_peek(parser).kind == DFG_TOKEN_NEWLINE)
			parser->next++;
		bool last = dfg_take(parser, "else");
		if (!last) {
			if (dfg_peek(parser).kind != DFG_TOKEN_NUMBER)
				return dfg_unexpected(parser, "the next number or `else`");
			DFG_TRY(number(parser, &label));
			if (!label->number.is_int || label->number.i != (int64_t)kids->count - 1)
				return dfg_source_err(
					parser->source, label->at, DFG_DATA, "the arms must be numbered 0, 1, 2, ... in order");
		}
		DFG_TRY(dfg_expect(parser, ":"));
		DFG_TRY(dfg_parse_block(parser, &block));
		DFG_TRY(dfg_kids_add(kids, block));
		if (last)
			break;
	}
	while (dfg_peek(parser).kind == DFG_TOKEN_NEWLINE)
		parser->next++;
	return dfg_expect(parser, "}");
}

static struct dfg_err *choice(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *number_of;
	struct dfg_kids kids = {0};
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_CASE, dfg_peek(parser).at, out_tree));
	parser->next++;
	DFG_TRY(dfg_parse_expr(parser, &number_of));
	DFG_TRY(dfg_expect(parser, "{"));
	struct dfg_err *err = dfg_kids_add(&kids, number_of);
	if (!err)
		err = arms(parser, &kids);
	return dfg_kids_move(parser, &kids, err, *out_tree);
}

struct dfg_err *dfg_parse_sequence(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *part[2] = {0};
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_SEQUENCE, dfg_peek(parser).at, out_tree));
	DFG_TRY(dfg_parse_expr(parser, &part[0]));
	(*out_tree)->range = dfg_take(parser, "..");
	bool open = dfg_sees(parser, "{") || dfg_sees(parser, ",") || dfg_sees(parser, "while") || dfg_sees(parser, "with");
	if ((*out_tree)->range && !open)
		DFG_TRY(dfg_parse_expr(parser, &part[1]));
	return dfg_tree_kids(parser, *out_tree, part, 2);
}

/* `x in xs` of a loop: an argument whose value is a sequence. */
static struct dfg_err *each(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *sequence;
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_ARGUMENT, dfg_peek(parser).at, out_tree));
	DFG_TRY(dfg_take_new_name(parser, &(*out_tree)->text));
	DFG_TRY(dfg_expect(parser, "in"));
	DFG_TRY(dfg_parse_sequence(parser, &sequence));
	return dfg_tree_kids(parser, *out_tree, &sequence, 1);
}

static struct dfg_err *gathered(
	struct dfg_parser *parser, dfg_parse_fn *item, const char *closing, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_TUPLE, dfg_peek(parser).at, out_tree));
	return dfg_parse_list(parser, item, closing, *out_tree, NULL);
}

/* `h = start` of a loop: an argument with a name that the body reads. */
static struct dfg_err *carried(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	if (dfg_sees_reserved(parser) && dfg_token_is(parser->source, parser->token[parser->next + 1], "="))
		return dfg_take_new_name(parser, &(const char *){NULL});
	return argument(parser, out_tree);
}

/* The options and the block of a loop whose other parts are parsed already. */
static struct dfg_err *loop_end(struct dfg_parser *parser, struct dfg_tree *part[5], struct dfg_tree *tree)
{
	if (dfg_take(parser, "with")) {
		DFG_TRY(dfg_expect(parser, "("));
		DFG_TRY(gathered(parser, argument, ")", &part[3]));
	}
	DFG_TRY(dfg_parse_block(parser, &part[4]));
	return dfg_tree_kids(parser, tree, part, 5);
}

static struct dfg_err *loop(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *part[5] = {0};
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_LOOP, dfg_peek(parser).at, out_tree));
	parser->next++;
	if (dfg_take(parser, "("))
		DFG_TRY(gathered(parser, carried, ")", &part[0]));
	if (dfg_take(parser, "for"))
		DFG_TRY(gathered(parser, each, NULL, &part[1]));
	if (dfg_take(parser, "while"))
		DFG_TRY(dfg_parse_expr(parser, &part[2]));
	return loop_end(parser, part, *out_tree);
}

static struct dfg_err *digit(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_ARGUMENT, dfg_peek(parser).at, out_tree));
	return dfg_take_new_name(parser, &(*out_tree)->text);
}

/* `(i, j) in (0..n, 0..m)`: the sequences of a product, as arguments like those of `i in 0..n, j in 0..m`. */
static struct dfg_err *product(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *ranges;
	DFG_TRY(dfg_expect(parser, "("));
	DFG_TRY(gathered(parser, digit, ")", out_tree));
	(*out_tree)->truth = true;
	DFG_TRY(dfg_expect(parser, "in"));
	uint32_t at = dfg_peek(parser).at;
	DFG_TRY(dfg_expect(parser, "("));
	DFG_TRY(gathered(parser, dfg_parse_sequence, ")", &ranges));
	if (ranges->n != (*out_tree)->n || !ranges->n)
		return dfg_source_err(
			parser->source, at, DFG_DATA, "a loop over a product requires one range for each of its names");
	for (uint32_t i = 0; i < ranges->n; i++) {
		if (!ranges->kid[i]->range || !ranges->kid[i]->kid[1])
			return dfg_source_err(parser->source, ranges->kid[i]->at, DFG_DATA,
				"a loop over a product requires ranges with an end, as in `for i, j in (0..n, 0..m)`");
		DFG_TRY(dfg_tree_kids(parser, (*out_tree)->kid[i], &ranges->kid[i], 1));
	}
	return NULL;
}

/* `parallel` is a word of the language only before `for`. */
static bool sees_parallel(const struct dfg_parser *parser)
{
	return dfg_sees(parser, "parallel") && dfg_token_is(parser->source, parser->token[parser->next + 1], "for");
}

static struct dfg_err *parallel(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	struct dfg_tree *part[5] = {0};
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_LOOP, dfg_peek(parser).at, out_tree));
	(*out_tree)->truth = true;
	parser->next += 2;
	if (dfg_sees(parser, "("))
		DFG_TRY(product(parser, &part[1]));
	else
		DFG_TRY(gathered(parser, each, NULL, &part[1]));
	return loop_end(parser, part, *out_tree);
}

struct dfg_err *dfg_parse_expr(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_deeper(parser));
	if (dfg_sees_reserved(parser) && dfg_token_is(parser->source, parser->token[parser->next + 1], "="))
		return dfg_take_new_name(parser, &(const char *){NULL});
	if (dfg_sees(parser, "if"))
		DFG_TRY(branch(parser, out_tree));
	else if (dfg_sees(parser, "case"))
		DFG_TRY(choice(parser, out_tree));
	else if (dfg_sees(parser, "loop"))
		DFG_TRY(loop(parser, out_tree));
	else if (sees_parallel(parser))
		DFG_TRY(parallel(parser, out_tree));
	else
		DFG_TRY(level(parser, 1, out_tree));
	parser->depth--;
	return NULL;
}

struct dfg_err *dfg_parse_exprs(struct dfg_parser *parser, struct dfg_tree **out_tree)
{
	DFG_TRY(dfg_tree_new(parser, DFG_TREE_TUPLE, dfg_peek(parser).at, out_tree));
	return dfg_parse_list(parser, dfg_parse_expr, NULL, *out_tree, NULL);
}
