/* Strings: StringJoin, StringLength, Substr, DecodeRaw, DecodePaddedRaw. */
#include "kernels/shape_rules.h"
#include "kernels/number_text.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

static const struct dfg_string *strings_of(const struct dfg_tensor *tensor)
{
	return tensor->data;
}

/* The inputs must have equal shapes or be scalars. */
static struct dfg_err *join_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	for (int i = 0; i < node->call->n_in; i++) {
		const struct dfg_shape *in = node->in[i];
		if (in->rank == 0)
			continue;
		if (node->out[0].rank == 0)
			node->out[0] = *in;
		else if (!dfg_shape_fits(&node->out[0], in))
			return DFG_ERR(DFG_DATA, "input %d has shape %s, but those before it %s: expected equal shapes or scalars",
				i, dfg_shape_words(in).s, dfg_shape_words(&node->out[0]).s);
		else
			node->out[0] = dfg_shape_merge(&node->out[0], in);
	}
	return NULL;
}

static struct dfg_err *join_elements(struct dfg_kernel *ctx, int64_t count, struct dfg_text *text)
{
	const struct dfg_string separator = ctx->call->attr[0].s;
	for (int64_t e = 0; e < count; e++) {
		text->length = 0;
		for (int i = 0; i < ctx->call->n_in; i++) {
			const struct dfg_string *part = strings_of(ctx->in[i]) + (ctx->in[i]->shape.rank ? e : 0);
			if (i)
				dfg_text_put(text, separator.s, separator.length);
			dfg_text_put(text, part->s, part->length);
		}
		DFG_TRY(dfg_text_check(text));
		DFG_TRY(dfg_kernel_string(ctx, 0, e, text->s, text->length));
	}
	return NULL;
}

static struct dfg_err *join_run(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	struct dfg_err *err = join_elements(ctx, dfg_shape_count(&out->shape), &text);
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_StringJoin = {
	.name = "StringJoin",
	.doc = "the inputs' strings concatenated, element by element",
	.sig = "<N: int>(inputs: N * string) -> (output: string)",
	.attr = {"separator: string = ''"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = join_shape,
	.run = join_run,
};

#define UNIT "unit: string = 'BYTE' in BYTE|UTF8_CHAR"

/* Whether a byte is the first of a UTF-8 character. */
static bool begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

static bool by_character(const struct dfg_kernel *ctx)
{
	return ctx->call->attr[0].s.length > strlen("BYTE");
}

static struct dfg_err *length_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static int64_t length_of(struct dfg_string s, bool characters)
{
	int64_t length = 0;
	if (!characters)
		return (int64_t)s.length;
	for (size_t i = 0; i < s.length; i++)
		length += begins_character(s.s[i]);
	return length;
}

static struct dfg_err *length_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++) {
		int64_t length = length_of(strings_of(in)[i], by_character(ctx));
		if (length > INT32_MAX)
			return DFG_ERR(DFG_DATA, "the length of string %" PRId64 " does not fit in i32", i);
		((int32_t *)out->data)[i] = (int32_t)length;
	}
	return NULL;
}

const struct dfg_op dfg_op_StringLength = {
	.name = "StringLength",
	.doc = "the length of each string, in bytes or in characters",
	.sig = "(input: string) -> (output: i32)",
	.attr = {UNIT},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = length_shape,
	.run = length_run,
};

enum { INPUT, POS, LEN };

static struct dfg_err *substr_shape(struct dfg_infer *node)
{
	if (!dfg_shape_fits(node->in[POS], node->in[LEN]))
		return DFG_ERR(DFG_DATA, "pos has shape %s and len %s, expected equal shapes", dfg_shape_words(node->in[POS]).s,
			dfg_shape_words(node->in[LEN]).s);
	return dfg_shape_broadcast(node->in, 2, &node->out[0]);
}

/* The byte at which character i begins, or the end. */
static size_t byte_of(struct dfg_string s, int64_t i, bool characters)
{
	size_t at = 0;
	if (!characters)
		return (uint64_t)i < s.length ? (size_t)i : s.length;
	for (; at < s.length; at++)
		if (begins_character(s.s[at]) && i-- == 0)
			return at;
	return s.length;
}

/* The index of the element of an input that is broadcast to element i of the output. */
static int64_t broadcast_index(const struct dfg_shape *in, const struct dfg_shape *out, int64_t i)
{
	int64_t at = 0, step = 1;
	for (int d = out->rank - 1, own = in->rank - 1; own >= 0; d--, own--) {
		at += in->dim[own] == 1 ? 0 : i % out->dim[d] * step;
		step *= in->dim[own];
		i /= out->dim[d];
	}
	return at;
}

static struct dfg_err *substr_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = ctx->in[INPUT], *pos = ctx->in[POS], *len = ctx->in[LEN];
	bool characters = by_character(ctx);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0, n = dfg_shape_count(&out->shape); i < n; i++) {
		struct dfg_string s = strings_of(in)[broadcast_index(&in->shape, &out->shape, i)];
		int64_t k = broadcast_index(&pos->shape, &out->shape, i), length = length_of(s, characters);
		int64_t from = dfg_tensor_int(pos, k), count = dfg_tensor_int(len, k);
		if (from < -length || from > length)
			return DFG_ERR(
				DFG_DATA, "pos %" PRId64 " is outside string %" PRId64 " of length %" PRId64, from, i, length);
		from += from < 0 ? length : 0;
		count = count < 0 || count > length - from ? length - from : count;
		size_t first = byte_of(s, from, characters), last = byte_of(s, from + count, characters);
		DFG_TRY(dfg_kernel_string(ctx, 0, i, s.length ? s.s + first : "", last - first));
	}
	return NULL;
}

const struct dfg_op dfg_op_Substr = {
	.name = "Substr",
	.doc = "len bytes or characters of each string, the first at pos; a negative pos counts from the end",
	.sig = "<T: index>(input: string, pos: T, len: T) -> (output: string)",
	.attr = {UNIT},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = substr_shape,
	.run = substr_run,
};

static struct dfg_err *decode_raw_shape(struct dfg_infer *node)
{
	if (node->in[0]->rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "cannot add a dimension to %s: the limit is %d dimensions",
			dfg_shape_words(node->in[0]).s, DFG_RANK_MAX);
	node->out[0] = *node->in[0];
	node->out[0].dim[node->out[0].rank++] = DFG_UNKNOWN;
	return NULL;
}

/* Reverses the bytes of every element; of a complex number, those of each part. */
static void swap_bytes(struct dfg_tensor *tensor)
{
	size_t size = dfg_dtype_size(tensor->dtype) >> dfg_dtype_is(tensor->dtype, "complex");
	size_t bytes = dfg_tensor_bytes(tensor);
	for (size_t at = 0; at + size <= bytes; at += size) {
		char *element = (char *)tensor->data + at;
		for (size_t i = 0; i < size / 2; i++) {
			char other = element[i];
			element[i] = element[size - 1 - i];
			element[size - 1 - i] = other;
		}
	}
}

static struct dfg_err *decode_raw_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	int64_t n = dfg_shape_count(&in->shape);
	size_t size = dfg_dtype_size((enum dfg_dtype)ctx->call->out_dtype[0]), length = n ? strings_of(in)[0].length : 0;
	struct dfg_shape shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_shapes_now(ctx, 1, &shape));
	if (length % size)
		return DFG_ERR(
			DFG_DATA, "strings of %zu bytes are not a multiple of the %zu bytes of an element", length, size);
	shape.dim[shape.rank - 1] = (int64_t)(length / size);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	for (int64_t i = 0; i < n; i++) {
		struct dfg_string s = strings_of(in)[i];
		if (s.length != length)
			return DFG_ERR(DFG_DATA, "string %" PRId64 " has %zu bytes, but the first has %zu", i, s.length, length);
		if (length)
			memcpy((char *)out->data + (size_t)i * length, s.s, length);
	}
	if (out->dtype == DFG_BOOL)
		for (size_t i = 0; i < dfg_tensor_bytes(out); i++)
			((uint8_t *)out->data)[i] = ((uint8_t *)out->data)[i] != 0;
	if (!ctx->call->attr[0].b)
		swap_bytes(out);
	return NULL;
}

static struct dfg_err *decode_padded_shape(struct dfg_infer *node)
{
	int64_t length = dfg_int_of(node, 1, 0), size = (int64_t)dfg_dtype_size((enum dfg_dtype)node->call->out_dtype[0]);
	DFG_TRY(dfg_need_rank(node, 1, 0));
	DFG_TRY(decode_raw_shape(node));
	if (length == DFG_NOT_KNOWN)
		return NULL;
	if (length < 1 || length % size)
		return DFG_ERR(DFG_DATA, "fixed_length is %" PRId64 ", expected a positive multiple of %" PRId64, length, size);
	node->out[0].dim[node->out[0].rank - 1] = length / size;
	return NULL;
}

static struct dfg_err *decode_padded_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	size_t length = (size_t)dfg_tensor_int(ctx->in[1], 0);
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++) {
		struct dfg_string s = strings_of(in)[i];
		if (s.length)
			memcpy((char *)out->data + (size_t)i * length, s.s, s.length < length ? s.length : length);
	}
	if (!ctx->call->attr[0].b)
		swap_bytes(out);
	return NULL;
}

const struct dfg_op dfg_op_DecodeRaw = {
	.name = "DecodeRaw",
	.doc = "the bytes of each string as numbers, along a new last dimension",
	.sig = "<out_type: plain>(bytes: string) -> (output: out_type)",
	.attr = {"little_endian: bool = true"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = decode_raw_shape,
	.run = decode_raw_run,
};

const struct dfg_op dfg_op_DecodePaddedRaw = {
	.name = "DecodePaddedRaw",
	.doc = "as DecodeRaw, of the first fixed_length bytes of each string; shorter strings are padded with zeros",
	.sig = "<out_type: number>(input_bytes: string, fixed_length: i32) -> (output: out_type)",
	.attr = {"little_endian: bool = true"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = decode_padded_shape,
	.run = decode_padded_run,
};
