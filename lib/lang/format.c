#include "lib/lang/lang.h"
#include "lib/lang/tree.h"

#include "lib/base/mem.h"

#include <string.h>

/*
 * Canonical layout: the tokens as they are, with blanks by rule. Line breaks stay where the author put them, and at
 * most one empty line stays between two lines. A line is indented by four blanks for each bracket that is open where it
 * begins. A comment after code is two blanks away from it, and in one column with those of the lines around it.
 */
struct layout {
	const struct dfg_source *source;
	const struct dfg_token *token;
	uint32_t count;
	struct dfg_text line; /* the code of the present line */
	int depth;
};

static bool is(const struct layout *layout, uint32_t i, const char *word)
{
	return dfg_token_is(layout->source, layout->token[i], word);
}

static bool is_one_of(const struct layout *layout, uint32_t i, const char *const *words)
{
	for (; *words; words++)
		if (is(layout, i, *words))
			return true;
	return false;
}

/* Whether the token before i ends an operand, so that a minus after it is binary. */
static bool ends_operand(const struct layout *layout, uint32_t i)
{
	static const char *const closing[] = {")", "]", "}", NULL};
	static const char *const words[] = {
		"and", "or", "not", "in", "if", "else", "while", "case", "yield", "next", "assert", "after", NULL};
	switch (layout->token[i].kind) {
	case DFG_TOKEN_NUMBER:
	case DFG_TOKEN_STRING:
		return true;
	case DFG_TOKEN_NAME:
		return !is_one_of(layout, i, words);
	default:
		return is_one_of(layout, i, closing);
	}
}

static bool is_unary(const struct layout *layout, uint32_t i, uint32_t first)
{
	return is(layout, i, "-") && (i == first || !ends_operand(layout, i - 1));
}

/* Whether the innermost open bracket is [, as in an index or a list of dimensions, where `:` has no blanks. */
static bool in_square(const struct layout *layout, uint32_t i)
{
	int depth = 0;
	while (i-- > 0) {
		if (is(layout, i, ")") || is(layout, i, "]") || is(layout, i, "}"))
			depth++;
		else if (is(layout, i, "(") || is(layout, i, "[") || is(layout, i, "{")) {
			if (!depth)
				return is(layout, i, "[");
			depth--;
		}
	}
	return false;
}

/* Whether the bracket calls or indexes the token before it. After a keyword it has a blank. */
static bool clings(const struct layout *layout, uint32_t i)
{
	static const char *const apart[] = {"and", "or", "not", "in", "if", "else", "while", "case", "loop", "with",
		"yield", "next", "assert", "after", "set", "for", NULL};
	return ends_operand(layout, i - 1) && !is_one_of(layout, i - 1, apart);
}

/* Whether there is a blank between token i and the one before it in the same line. */
static bool blank_before(const struct layout *layout, uint32_t i, uint32_t first)
{
	static const char *const never_before[] = {",", ")", "]", ".", "?", "..", NULL};
	static const char *const never_after[] = {"(", "[", ".", NULL};
	static const char *const extremes[] = {"max", "min", NULL};
	static const char *const after_open_range[] = {"while", "with", "{", NULL};
	if (i == first)
		return false;
	if (is(layout, i, "=") && i > first + 2 && is_one_of(layout, i - 1, extremes) &&
		(is(layout, i - 2, "]") || is(layout, i - 3, "set")))
		return false; /* the update `max=` */
	if (is(layout, i, "?"))
		return is(layout, i - 1, ",");
	if (is_one_of(layout, i, never_before) || is_one_of(layout, i - 1, never_after))
		return false;
	if (is(layout, i, ":"))
		return is(layout, i - 1, ",");
	if (is(layout, i - 1, ".."))
		return is_one_of(layout, i, after_open_range);
	if (is(layout, i - 1, ":"))
		return !in_square(layout, i - 1);
	if (is_unary(layout, i - 1, first) && i > first)
		return false;
	if (is(layout, i, "(") || is(layout, i, "["))
		return !clings(layout, i);
	return true;
}

static void put_token(struct layout *layout, uint32_t i, uint32_t first)
{
	if (blank_before(layout, i, first))
		dfg_text_put(&layout->line, " ", 1);
	dfg_text_put(&layout->line, layout->source->text + layout->token[i].at, layout->token[i].length);
}

static uint32_t newlines(const struct dfg_source *source, uint32_t from, uint32_t to)
{
	uint32_t n = 0;
	while (from < to)
		n += source->text[from++] == '\n';
	return n;
}

static bool opens(const struct layout *layout, uint32_t i)
{
	return is(layout, i, "(") || is(layout, i, "[") || is(layout, i, "{");
}

static bool closes(const struct layout *layout, uint32_t i)
{
	return is(layout, i, ")") || is(layout, i, "]") || is(layout, i, "}");
}

static uint32_t end_of(const struct dfg_token token)
{
	return token.at + token.length;
}

/* The first token of the next line. */
static uint32_t line_end(const struct layout *layout, uint32_t first)
{
	uint32_t i = first + 1;
	while (i < layout->count && !newlines(layout->source, end_of(layout->token[i - 1]), layout->token[i].at))
		i++;
	return i;
}

/* Counts the brackets that the line opens and closes; returns the number that are open after it. */
static int indent_after(const struct layout *layout, uint32_t first, uint32_t end, int *depth)
{
	for (uint32_t i = first; i < end; i++)
		*depth += opens(layout, i) - closes(layout, i);
	return *depth < 0 ? *depth = 0 : *depth;
}

struct written {
	struct dfg_text *out;
	size_t comment_at; /* the column of the comments after code in a run of lines */
};

static int leading_closers(const struct layout *layout, uint32_t first, uint32_t end)
{
	int n = 0;
	for (uint32_t i = first; i < end && closes(layout, i); i++)
		n++;
	return n;
}

static size_t code_width(struct layout *layout, uint32_t first, uint32_t end)
{
	int open = layout->depth - leading_closers(layout, first, end);
	layout->line.length = 0;
	for (int i = 0; i < open; i++)
		dfg_text_put(&layout->line, "    ", 4);
	for (uint32_t i = first; i < end; i++)
		if (layout->token[i].kind != DFG_TOKEN_COMMENT)
			put_token(layout, i, first);
	return layout->line.length;
}

static bool has_comment(const struct layout *layout, uint32_t first, uint32_t end)
{
	return layout->token[end - 1].kind == DFG_TOKEN_COMMENT && end - first > 1;
}

/* The column of the comments of this line and of the lines right below it. */
static size_t comment_column(struct layout *layout, uint32_t first)
{
	size_t column = 0;
	int depth = layout->depth;
	while (first < layout->count) {
		uint32_t end = line_end(layout, first);
		if (!has_comment(layout, first, end))
			break;
		size_t width = code_width(layout, first, end);
		column = width + 2 > column ? width + 2 : column;
		indent_after(layout, first, end, &layout->depth);
		if (end < layout->count && newlines(layout->source, end_of(layout->token[end - 1]), layout->token[end].at) > 1)
			break;
		first = end;
	}
	layout->depth = depth;
	return column;
}

static void write_line(struct layout *layout, uint32_t first, uint32_t end, struct written *written)
{
	const struct dfg_token last = layout->token[end - 1];
	const char *text = layout->source->text + last.at;
	size_t length = last.length;
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t' || text[length - 1] == '\r'))
		length--;
	bool trailing = has_comment(layout, first, end);
	if (trailing && !written->comment_at)
		written->comment_at = comment_column(layout, first);
	if (!trailing)
		written->comment_at = 0;
	code_width(layout, first, end);
	while (trailing && layout->line.length < written->comment_at)
		dfg_text_put(&layout->line, " ", 1);
	if (last.kind == DFG_TOKEN_COMMENT)
		dfg_text_put(&layout->line, text, length);
	dfg_text_put(&layout->line, "\n", 1);
	dfg_text_put(written->out, layout->line.s, layout->line.length);
}

static void write_all(struct layout *layout, struct dfg_text *out)
{
	struct written written = {.out = out};
	for (uint32_t first = 0, end; first < layout->count; first = end) {
		end = line_end(layout, first);
		if (first && newlines(layout->source, end_of(layout->token[first - 1]), layout->token[first].at) > 1) {
			dfg_text_put(out, "\n", 1);
			written.comment_at = 0;
		}
		write_line(layout, first, end, &written);
		indent_after(layout, first, end, &layout->depth);
	}
}

/* Removes NEWLINE and END tokens: line breaks are taken from the text. */
static void keep_written(struct dfg_tokens *tokens)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < tokens->count; i++)
		if (tokens->token[i].kind != DFG_TOKEN_NEWLINE && tokens->token[i].kind != DFG_TOKEN_END)
			tokens->token[kept++] = tokens->token[i];
	tokens->count = kept;
}

struct dfg_err *dfg_lang_format(const char *path, const char *text, size_t length, struct dfg_text *out_text)
{
	struct dfg_arena arena = {0};
	struct dfg_source source = {path, NULL, (uint32_t)length, false};
	struct dfg_tree *block;
	struct dfg_tokens tokens = {0};
	if (length > DFG_SOURCE_MAX)
		return DFG_ERR(DFG_DATA, "%s: the program has %zu bytes, the limit is %d", path, length, DFG_SOURCE_MAX);
	source.text = dfg_arena_copy(&arena, text, length);
	struct dfg_err *err = source.text ? dfg_parse(&source, &arena, &block) : dfg_no_memory("the formatted program");
	if (!err)
		err = dfg_lex(&source, true, &tokens);
	if (!err) {
		keep_written(&tokens);
		struct layout layout = {.source = &source, .token = tokens.token, .count = tokens.count};
		write_all(&layout, out_text);
		err = dfg_text_check(&layout.line);
		dfg_text_release(&layout.line);
	}
	dfg_free(tokens.token);
	dfg_arena_release(&arena);
	return err ? err : dfg_text_check(out_text);
}
