#define _GNU_SOURCE
/* Strings cut into tokens, as sparse matrices: StringSplit, StringSplitV2; and runs of tokens: StringNGrams. */
#include "kernels/shape_rules.h"
#include "lib/base/mem.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

/* The tokens of all strings; each is a part of its string, and an element of the sparse matrix. */
struct token {
	struct dfg_string text;
	int64_t row, column;
};
struct tokens {
	struct token *token;
	size_t count, capacity;
};

static struct dfg_err *add_token(struct tokens *t, const char *s, size_t length, int64_t row, int64_t column)
{
	if (!dfg_reserve(&t->token, &t->capacity, t->count + 1, sizeof *t->token))
		return dfg_no_memory("tokens");
	t->token[t->count++] = (struct token){{s, length}, row, column};
	return NULL;
}

static struct dfg_err *split_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 1));
	DFG_TRY(dfg_need_rank(node, 1, 0));
	node->out[0] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, 2}};
	node->out[1] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[2] = DFG_SHAPE_VECTOR(2);
	return NULL;
}

/* The outputs: indices, values and dense shape of the matrix of tokens. */
static struct dfg_err *put_tokens(struct dfg_kernel *ctx, const struct tokens *t)
{
	struct dfg_tensor *indices, *values, *shape;
	int64_t n = (int64_t)t->count, widest = 0;
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {n, 2}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, 1, &DFG_SHAPE_VECTOR(n), &values));
	DFG_TRY(dfg_kernel_output(ctx, 2, &DFG_SHAPE_VECTOR(2), &shape));
	for (int64_t i = 0; i < n; i++) {
		const struct token *token = &t->token[i];
		((int64_t *)indices->data)[2 * i] = token->row;
		((int64_t *)indices->data)[2 * i + 1] = token->column;
		widest = token->column >= widest ? token->column + 1 : widest;
		DFG_TRY(dfg_kernel_string(ctx, 1, i, token->text.s, token->text.length));
	}
	((int64_t *)shape->data)[0] = ctx->in[0]->shape.dim[0];
	((int64_t *)shape->data)[1] = widest;
	return NULL;
}

typedef struct dfg_err *split_fn(const struct dfg_kernel *ctx, struct dfg_string s, int64_t row, struct tokens *t);

static struct dfg_err *split_run(struct dfg_kernel *ctx, split_fn *split)
{
	struct tokens tokens = {0};
	struct dfg_err *err = NULL;
	if (ctx->in[0]->shape.rank != 1 || ctx->in[1]->shape.rank != 0)
		return DFG_ERR(DFG_DATA, "input has shape %s and the separator %s, expected a vector and a scalar",
			dfg_shape_words(&ctx->in[0]->shape).s, dfg_shape_words(&ctx->in[1]->shape).s);
	for (int64_t i = 0; i < ctx->in[0]->shape.dim[0] && !err; i++)
		err = split(ctx, ((const struct dfg_string *)ctx->in[0]->data)[i], i, &tokens);
	if (!err)
		err = put_tokens(ctx, &tokens);
	dfg_free(tokens.token);
	return err;
}

static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* After maxsplit tokens the remainder is one token, without white space before it, even if it is empty. */
static struct dfg_err *split_by_space(struct dfg_string s, int64_t most, int64_t row, struct tokens *t)
{
	size_t at = 0;
	for (int64_t column = 0;; column++) {
		while (at < s.length && is_space(s.s[at]))
			at++;
		size_t end = at;
		if (most > 0 && column == most)
			return add_token(t, s.s + at, s.length - at, row, column);
		while (end < s.length && !is_space(s.s[end]))
			end++;
		if (end == at)
			return NULL;
		DFG_TRY(add_token(t, s.s + at, end - at, row, column));
		at = end;
	}
}

static struct dfg_err *split_by_separator(
	struct dfg_string s, struct dfg_string separator, int64_t most, int64_t row, struct tokens *t)
{
	size_t at = 0;
	for (int64_t column = 0;; column++) {
		const char *found = NULL;
		if (s.length > at && (most <= 0 || column < most))
			found = memmem(s.s + at, s.length - at, separator.s, separator.length);
		size_t end = found ? (size_t)(found - s.s) : s.length;
		DFG_TRY(add_token(t, s.length ? s.s + at : "", end - at, row, column));
		if (!found)
			return NULL;
		at = end + separator.length;
	}
}

static struct dfg_err *split_as_python(const struct dfg_kernel *ctx, struct dfg_string s, int64_t row, struct tokens *t)
{
	struct dfg_string separator = *(const struct dfg_string *)ctx->in[1]->data;
	int64_t most = ctx->call->attr[0].i;
	if (!most)
		return add_token(t, s.s, s.length, row, 0);
	return separator.length ? split_by_separator(s, separator, most, row, t) : split_by_space(s, most, row, t);
}

/* Each byte of the delimiter ends a token; an empty delimiter makes each byte a token. */
static struct dfg_err *split_at_bytes(const struct dfg_kernel *ctx, struct dfg_string s, int64_t row, struct tokens *t)
{
	struct dfg_string delimiter = *(const struct dfg_string *)ctx->in[1]->data;
	bool skips = ctx->call->attr[0].b;
	int64_t column = 0;
	size_t at = 0;
	if (!s.length)
		return NULL;
	for (size_t end = 0; end <= s.length; end++) {
		bool ends =
			end == s.length || (delimiter.length ? memchr(delimiter.s, s.s[end], delimiter.length) != NULL : end > at);
		if (!ends)
			continue;
		if (end > at || (!skips && delimiter.length))
			DFG_TRY(add_token(t, s.length ? s.s + at : "", end - at, row, column++));
		at = delimiter.length ? end + 1 : end;
	}
	return NULL;
}

static struct dfg_err *split_v2_run(struct dfg_kernel *ctx)
{
	return split_run(ctx, split_as_python);
}

static struct dfg_err *split_v1_run(struct dfg_kernel *ctx)
{
	return split_run(ctx, split_at_bytes);
}

#define SPLIT(Op, port, attribute, text, run_)                                                    \
	const struct dfg_op dfg_op_##Op = {                                                           \
		.name = #Op,                                                                              \
		.doc = text,                                                                              \
		.sig = "(input: string, " port ": string) -> (indices: i64, values: string, shape: i64)", \
		.attr = {attribute},                                                                      \
		.flags = DFG_NO_GRADIENT | DFG_EXACT,                                                     \
		.shape = split_shape,                                                                     \
		.run = run_,                                                                              \
	};
SPLIT(StringSplitV2, "sep", "maxsplit: int = -1",
	"the tokens of each string between separators, or white space if sep is empty, as a sparse matrix", split_v2_run)
SPLIT(StringSplit, "delimiter", "skip_empty: bool = true",
	"the tokens of each string between any of the delimiter's bytes, as a sparse matrix", split_v1_run)

/* StringNGrams. */
enum { SEPARATOR, WIDTHS, LEFT, RIGHT, PAD, SHORT };

static struct dfg_err *ngrams_shape(struct dfg_infer *node)
{
	const struct dfg_list *widths = node->call->attr[WIDTHS].list;
	DFG_TRY(dfg_need_rank(node, 0, 1));
	DFG_TRY(dfg_need_rank(node, 1, 1));
	if (!widths->count && node->call->attr[SHORT].b && node->call->attr[PAD].i < 0)
		return DFG_ERR(DFG_DATA, "ngram_widths is empty, expected at least one width to preserve short sequences");
	for (uint32_t i = 0; i < widths->count; i++)
		if (widths->item[i].i < 1)
			return DFG_ERR(DFG_DATA, "width %u is %" PRId64 ", expected at least 1", i, widths->item[i].i);
	node->out[0] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	node->out[1] = *node->in[1];
	return NULL;
}

struct ngrams {
	struct dfg_kernel *ctx;
	const struct dfg_string *token;
	const union dfg_value *attr;
	struct dfg_text text;
	int64_t count;
	bool dry; /* only count */
};

/* Tokens of padding on either side of a sequence, for runs of that width. */
static int64_t padding(const struct ngrams *g, int64_t width)
{
	int64_t pad = g->attr[PAD].i;
	return pad < 0 || pad > width - 1 ? width - 1 : pad;
}

/* The run of `width` tokens that begins at token `from` of a sequence of n; those outside of it are padding. */
static struct dfg_err *put_ngram(
	struct ngrams *g, const struct dfg_string *token, int64_t n, int64_t from, int64_t width)
{
	if (g->dry) {
		g->count++;
		return NULL;
	}
	const struct dfg_string separator = g->attr[SEPARATOR].s;
	g->text.length = 0;
	for (int64_t i = from; i < from + width; i++) {
		const struct dfg_string part = i < 0 ? g->attr[LEFT].s : i >= n ? g->attr[RIGHT].s : token[i];
		if (i > from)
			dfg_text_put(&g->text, separator.s, separator.length);
		dfg_text_put(&g->text, part.s, part.length);
	}
	DFG_TRY(dfg_text_check(&g->text));
	return dfg_kernel_string(g->ctx, 0, g->count++, g->text.s, g->text.length);
}

/* Widths with padding are limited, because an attribute could otherwise make any number of long strings of few tokens. */
static struct dfg_err *ngrams_of(struct ngrams *g, const struct dfg_string *token, int64_t n)
{
	enum { WIDEST = 4096 };
	const struct dfg_list *widths = g->attr[WIDTHS].list;
	int64_t before = g->count;
	for (uint32_t w = 0; w < widths->count; w++) {
		int64_t width = widths->item[w].i, pad = padding(g, width);
		if (width > WIDEST && pad)
			return DFG_ERR(DFG_DATA, "width %" PRId64 " is more than %d", width, WIDEST);
		for (int64_t from = -pad; from + width <= n + pad; from++)
			DFG_TRY(put_ngram(g, token, n, from, width));
	}
	if (g->attr[PAD].i > WIDEST)
		return DFG_ERR(DFG_DATA, "pad_width %" PRId64 " is more than %d", g->attr[PAD].i, WIDEST);
	if (g->attr[SHORT].b && g->count == before && n && g->attr[PAD].i >= 0)
		return put_ngram(g, token, n, -g->attr[PAD].i, n + 2 * g->attr[PAD].i);
	return NULL;
}

/* splits is NULL when the runs are only counted. */
static struct dfg_err *all_ngrams(struct ngrams *g, struct dfg_tensor *splits)
{
	const struct dfg_tensor *bounds = g->ctx->in[1];
	g->count = 0;
	if (!g->ctx->in[0]->shape.dim[0] && splits)
		memset(splits->data, 0, dfg_tensor_bytes(splits));
	if (!g->ctx->in[0]->shape.dim[0]) /* as in TensorFlow, where rows without strings are padded otherwise */
		return NULL;
	for (int64_t i = 0; i < bounds->shape.dim[0]; i++) {
		int64_t first = i ? dfg_tensor_int(bounds, i - 1) : 0;
		if (i)
			DFG_TRY(ngrams_of(g, g->token + first, dfg_tensor_int(bounds, i) - first));
		if (splits)
			dfg_tensor_put_int(splits, i, g->count);
		else if (bounds->dtype == DFG_I32 && g->count > INT32_MAX)
			return DFG_ERR(DFG_DATA, "%" PRId64 " n-grams are too many for i32", g->count);
	}
	return NULL;
}

static struct dfg_err *check_splits(const struct dfg_tensor *data, const struct dfg_tensor *splits)
{
	int64_t n = splits->shape.rank == 1 ? splits->shape.dim[0] : -1, last = 0;
	if (n < 0 || data->shape.rank != 1)
		return DFG_ERR(DFG_DATA, "data and data_splits have shape %s and %s, expected vectors",
			dfg_shape_words(&data->shape).s, dfg_shape_words(&splits->shape).s);
	for (int64_t i = 0; i < n; last = dfg_tensor_int(splits, i++))
		if (dfg_tensor_int(splits, i) < last || (!i && dfg_tensor_int(splits, i)))
			return DFG_ERR(DFG_DATA, "split %" PRId64 " is %" PRId64 ", expected %s %" PRId64, i,
				dfg_tensor_int(splits, i), i ? "at least" : "exactly", last);
	if (n && last != data->shape.dim[0])
		return DFG_ERR(DFG_DATA, "the last split is %" PRId64 ", expected the %" PRId64 " strings of data", last,
			data->shape.dim[0]);
	return NULL;
}

static struct dfg_err *put_ngrams(struct ngrams *g)
{
	struct dfg_tensor *out, *splits;
	DFG_TRY(dfg_kernel_output(g->ctx, 0, &DFG_SHAPE_VECTOR(g->count), &out));
	DFG_TRY(dfg_kernel_output(g->ctx, 1, &g->ctx->in[1]->shape, &splits));
	g->dry = false;
	return all_ngrams(g, splits);
}

static struct dfg_err *ngrams_run(struct dfg_kernel *ctx)
{
	struct ngrams g = {.ctx = ctx, .token = ctx->in[0]->data, .attr = dfg_kernel_attr(ctx), .dry = true};
	DFG_TRY(check_splits(ctx->in[0], ctx->in[1]));
	DFG_TRY(all_ngrams(&g, NULL));
	struct dfg_err *err = put_ngrams(&g);
	dfg_text_release(&g.text);
	return err;
}

const struct dfg_op dfg_op_StringNGrams = {
	.name = "StringNGrams",
	.doc = "runs of ngram_widths strings of each row of a ragged tensor, joined; rows may be padded",
	.sig = "<Tsplits: index = i64>(data: string, data_splits: Tsplits) -> (ngrams: string, ngrams_splits: Tsplits)",
	.attr = {[SEPARATOR] = "separator: string",
		[WIDTHS] = "ngram_widths: list(int)",
		[LEFT] = "left_pad: string",
		[RIGHT] = "right_pad: string",
		[PAD] = "pad_width: int",
		[SHORT] = "preserve_short_sequences: bool"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = ngrams_shape,
	.run = ngrams_run,
};
