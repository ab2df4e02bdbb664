/* Strings as code points: UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeTranscode. */
#include "kernels/shape_rules.h"
#include "lib/base/mem.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum encoding { UTF8, UTF16BE, UTF16LE, UTF32BE, UTF32LE, LATIN1, ASCII, UNKNOWN };

static enum encoding encoding_of(struct dfg_string name)
{
	static const struct {
		const char *name;
		enum encoding encoding;
	} known[] = {{"UTF-8", UTF8}, {"UTF8", UTF8}, {"UTF-16-BE", UTF16BE}, {"UTF-16BE", UTF16BE}, {"UTF-16-LE", UTF16LE},
		{"UTF-16LE", UTF16LE}, {"UTF-32-BE", UTF32BE}, {"UTF-32BE", UTF32BE}, {"UTF-32-LE", UTF32LE},
		{"UTF-32LE", UTF32LE}, {"ISO-8859-1", LATIN1}, {"latin1", LATIN1}, {"US-ASCII", ASCII}, {"ASCII", ASCII}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == name.length && !strncasecmp(known[i].name, name.s, name.length))
			return known[i].encoding;
	return UNKNOWN;
}

static struct dfg_err *check_encoding(struct dfg_string name)
{
	if (encoding_of(name) != UNKNOWN)
		return NULL;
	return DFG_ERR(DFG_DATA,
		"encoding '%.*s' is not known: the known ones are UTF-8, UTF-16 and UTF-32 with -BE or -LE, "
		"ISO-8859-1 and US-ASCII",
		(int)(name.length < 40 ? name.length : 40), name.s);
}

static bool is_scalar_value(uint32_t c)
{
	return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

/* A code point, or NOT_ONE for bytes that are not a character; *out_length: the bytes that it takes. length > 0. */
#define NOT_ONE UINT32_MAX

/* A sequence that is not well formed ends before the first byte that cannot belong to it (Unicode 3.9, maximal subparts). */
static uint32_t read_utf8(const uint8_t *s, size_t length, size_t *out_length)
{
	const uint8_t first = s[0];
	const int more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : 3;
	*out_length = 1;
	if (first < 0x80)
		return first;
	if (first < 0xc2 || first > 0xf4)
		return NOT_ONE;
	uint32_t c = first & (0x3fu >> more);
	for (int i = 1; i <= more; i++) {
		const uint8_t low = i == 1 && first == 0xe0 ? 0xa0 : i == 1 && first == 0xf0 ? 0x90 : 0x80;
		const uint8_t high = i == 1 && first == 0xed ? 0x9f : i == 1 && first == 0xf4 ? 0x8f : 0xbf;
		if ((size_t)i >= length || s[i] < low || s[i] > high)
			return NOT_ONE;
		c = c << 6 | (s[i] & 0x3f);
		*out_length = (size_t)i + 1;
	}
	return c;
}

static uint32_t unit_at(const uint8_t *s, bool big)
{
	return big ? (uint32_t)s[0] << 8 | s[1] : (uint32_t)s[1] << 8 | s[0];
}

static uint32_t read_utf16(const uint8_t *s, size_t length, bool big, size_t *out_length)
{
	*out_length = length < 2 ? length : 2;
	if (length < 2)
		return NOT_ONE;
	const uint32_t unit = unit_at(s, big);
	if (unit < 0xd800 || unit > 0xdfff)
		return unit;
	if (unit >= 0xdc00)
		return NOT_ONE;
	const uint32_t second = length >= 4 ? unit_at(s + 2, big) : 0;
	if (second < 0xdc00 || second > 0xdfff) {
		*out_length = length < 4 ? length : 2;
		return NOT_ONE;
	}
	*out_length = 4;
	return 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
}

static uint32_t read_utf32(const uint8_t *s, size_t length, bool big, size_t *out_length)
{
	*out_length = length < 4 ? length : 4;
	if (length < 4)
		return NOT_ONE;
	const uint32_t c =
		big ? unit_at(s, true) << 16 | unit_at(s + 2, true) : unit_at(s + 2, false) << 16 | unit_at(s, false);
	return is_scalar_value(c) ? c : NOT_ONE;
}

static uint32_t read_character(enum encoding encoding, const uint8_t *s, size_t length, size_t *out_length)
{
	switch (encoding) {
	case UTF8:
		return read_utf8(s, length, out_length);
	case UTF16BE:
	case UTF16LE:
		return read_utf16(s, length, encoding == UTF16BE, out_length);
	case UTF32BE:
	case UTF32LE:
		return read_utf32(s, length, encoding == UTF32BE, out_length);
	default:
		*out_length = 1;
		return *s < 0x80 || encoding == LATIN1 ? *s : NOT_ONE;
	}
}

static void put_unit(struct dfg_text *text, uint32_t unit)
{
	dfg_text_put(text, (const uint8_t[]){(uint8_t)(unit >> 8), (uint8_t)unit}, 2);
}

static void put_utf8(struct dfg_text *text, uint32_t c)
{
	const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	uint8_t byte[4] = {(uint8_t)(more ? (0xff00u >> (more + 1) & 0xf0) | c >> (6 * more) : c)};
	for (int i = 1; i <= more; i++)
		byte[i] = (uint8_t)(0x80 | (c >> (6 * (more - i)) & 0x3f));
	dfg_text_put(text, byte, (size_t)more + 1);
}

/* Appends a code point in UTF-8, UTF-16-BE or UTF-32-BE. */
static void put_character(struct dfg_text *text, enum encoding encoding, uint32_t c)
{
	if (encoding == UTF8) {
		put_utf8(text, c);
	} else if (encoding == UTF32BE || c < 0x10000) {
		if (encoding == UTF32BE)
			put_unit(text, c >> 16);
		put_unit(text, c & 0xffff);
	} else {
		put_unit(text, 0xd800 + ((c - 0x10000) >> 10));
		put_unit(text, 0xdc00 + ((c - 0x10000) & 0x3ff));
	}
}

/* The treatment of bytes that are not a character, and of control characters with replace_control_characters: an error, the replacement, or nothing. */
enum policy { STRICT, REPLACE, IGNORE };

static enum policy policy_of(struct dfg_string name)
{
	return name.length == 6 ? name.s[0] == 's' ? STRICT : IGNORE : REPLACE;
}

struct decoder {
	enum encoding encoding;
	enum policy policy, controls; /* for what is not a character, and for control characters */
	uint32_t replacement;
	bool replaces_controls;
};

/* The next character of s from *at on, which advances; NOT_ONE: none, as it is ignored. */
static struct dfg_err *next_character(const struct decoder *d, struct dfg_string s, size_t *at, uint32_t *out_character)
{
	size_t length;
	uint32_t c = read_character(d->encoding, (const uint8_t *)s.s + *at, s.length - *at, &length);
	const bool control = d->replaces_controls && c < 0x20;
	const enum policy policy = control ? d->controls : d->policy;
	if (control)
		c = NOT_ONE;
	if (c == NOT_ONE && policy == STRICT)
		return DFG_ERR(
			DFG_DATA, "byte %zu %s", *at, control ? "is a control character" : "begins no character of the encoding");
	if (c == NOT_ONE && policy == REPLACE)
		c = d->replacement;
	*at += length;
	*out_character = c;
	return NULL;
}

static struct dfg_err *check_replacement(int64_t c)
{
	if (c < 0 || c > 0x10ffff || !is_scalar_value((uint32_t)c))
		return DFG_ERR(DFG_DATA, "replacement_char is %" PRId64 ", which is not a Unicode scalar value", c);
	return NULL;
}

/* UnicodeDecode. */
enum { INPUT_ENCODING, ERRORS, REPLACEMENT, CONTROLS, OUTPUT_ENCODING };
enum { SPLITS, CHARACTERS, STARTS };

static struct decoder decoder_of(const union dfg_value *attr)
{
	const enum policy policy = policy_of(attr[ERRORS].s);
	return (struct decoder){
		encoding_of(attr[INPUT_ENCODING].s), policy, policy, (uint32_t)attr[REPLACEMENT].i, attr[CONTROLS].b};
}

static struct dfg_err *check_decoder(const union dfg_value *attr)
{
	DFG_TRY(check_encoding(attr[INPUT_ENCODING].s));
	return check_replacement(attr[REPLACEMENT].i);
}

static struct dfg_err *decode_shape(struct dfg_infer *node)
{
	DFG_TRY(check_decoder(node->call->attr));
	const bool known = dfg_shape_known(node->in[0]);
	node->out[SPLITS] = DFG_SHAPE_VECTOR(known ? dfg_shape_count(node->in[0]) + 1 : DFG_UNKNOWN);
	for (int i = CHARACTERS; i < node->call->n_out; i++)
		node->out[i] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
	return NULL;
}

/* Decodes one string to `to` and `start` from element n on, or only counts if they are NULL. *n advances. */
static struct dfg_err *decode_string(
	const struct decoder *d, struct dfg_string s, int32_t *to, int64_t *start, int64_t *n)
{
	for (size_t at = 0; at < s.length;) {
		const size_t first = at;
		uint32_t c;
		DFG_TRY(next_character(d, s, &at, &c));
		if (c == NOT_ONE)
			continue;
		if (to)
			to[*n] = (int32_t)c;
		if (start)
			start[*n] = (int64_t)first;
		++*n;
	}
	return NULL;
}

static struct dfg_err *decode_run(struct dfg_kernel *ctx)
{
	struct decoder d = decoder_of(dfg_kernel_attr(ctx));
	const struct dfg_string *s = ctx->in[0]->data;
	const int64_t strings = dfg_shape_count(&ctx->in[0]->shape);
	struct dfg_tensor *splits, *characters, *starts = NULL;
	int64_t n = 0;
	d.controls = d.policy == STRICT ? REPLACE : d.policy; /* as in TensorFlow; UnicodeTranscode refuses them */
	DFG_TRY(dfg_kernel_output(ctx, SPLITS, &DFG_SHAPE_VECTOR(strings + 1), &splits));
	dfg_tensor_put_int(splits, 0, 0);
	for (int64_t i = 0; i < strings; i++) {
		struct dfg_err *err = decode_string(&d, s[i], NULL, NULL, &n);
		if (err)
			return dfg_err_note(err, "string %" PRId64, i);
		if (splits->dtype == DFG_I32 && n > INT32_MAX)
			return DFG_ERR(DFG_DATA, "the strings have more than %d characters: use splits of i64", INT32_MAX);
		dfg_tensor_put_int(splits, i + 1, n);
	}
	DFG_TRY(dfg_kernel_output(ctx, CHARACTERS, &DFG_SHAPE_VECTOR(n), &characters));
	if (ctx->call->n_out > STARTS)
		DFG_TRY(dfg_kernel_output(ctx, STARTS, &DFG_SHAPE_VECTOR(n), &starts));
	n = 0;
	for (int64_t i = 0; i < strings; i++)
		DFG_TRY(decode_string(&d, s[i], characters->data, starts ? starts->data : NULL, &n));
	return NULL;
}

#define DECODING                                                                                                   \
	[INPUT_ENCODING] = "input_encoding: string", [ERRORS] = "errors: string = 'replace' in strict|replace|ignore", \
	[REPLACEMENT] = "replacement_char: int = 65533", [CONTROLS] = "replace_control_characters: bool = false"
#define DECODE(Op, outputs, text)                                                                             \
	const struct dfg_op dfg_op_##Op = {                                                                       \
		.name = #Op,                                                                                          \
		.doc = text,                                                                                          \
		.sig = "<Tsplits: index = i64>(input: string) -> (row_splits: Tsplits, char_values: i32" outputs ")", \
		.attr = {DECODING},                                                                                   \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,                                                  \
		.shape = decode_shape,                                                                                \
		.run = decode_run,                                                                                    \
	};
DECODE(UnicodeDecode, "", "the code points of strings, as the values and splits of a ragged tensor")
DECODE(UnicodeDecodeWithOffsets, ", char_to_byte_starts: i64",
	"the code points of strings as a ragged tensor, and the byte at which each begins")

/* UnicodeTranscode. */

static enum encoding written_encoding(struct dfg_string name)
{
	const enum encoding encoding = encoding_of(name);
	return encoding == UTF8 || encoding == UTF16BE || encoding == UTF32BE ? encoding : UNKNOWN;
}

static struct dfg_err *transcode_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return check_decoder(node->call->attr);
}

static struct dfg_err *transcode_string(
	const struct decoder *d, enum encoding to, struct dfg_string s, struct dfg_text *text)
{
	for (size_t at = 0; at < s.length;) {
		uint32_t c;
		DFG_TRY(next_character(d, s, &at, &c));
		if (c != NOT_ONE)
			put_character(text, to, c);
	}
	return dfg_text_check(text);
}

static struct dfg_err *transcode_run(struct dfg_kernel *ctx)
{
	const struct decoder d = decoder_of(dfg_kernel_attr(ctx));
	const enum encoding to = written_encoding(dfg_kernel_attr(ctx)[OUTPUT_ENCODING].s);
	struct dfg_text text = {0};
	struct dfg_tensor *out;
	struct dfg_err *err = dfg_output_now(ctx, &out);
	for (int64_t i = 0; i < dfg_shape_count(&ctx->in[0]->shape) && !err; i++) {
		text.length = 0;
		err = dfg_err_note(
			transcode_string(&d, to, ((const struct dfg_string *)ctx->in[0]->data)[i], &text), "string %" PRId64, i);
		if (!err)
			err = dfg_kernel_string(ctx, 0, i, text.s ? text.s : "", text.length);
	}
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_UnicodeTranscode = {
	.name = "UnicodeTranscode",
	.doc = "strings in another encoding",
	.sig = "(input: string) -> (output: string)",
	.attr = {DECODING, [OUTPUT_ENCODING] = "output_encoding: string in UTF-8|UTF-16-BE|UTF-32-BE"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = transcode_shape,
	.run = transcode_run,
};

/* UnicodeEncode. */
enum { ENCODE_ERRORS, ENCODE_TO, ENCODE_REPLACEMENT };
enum { VALUES, VALUE_SPLITS };

static struct dfg_err *encode_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, VALUES, 1));
	DFG_TRY(dfg_need_rank(node, VALUE_SPLITS, 1));
	DFG_TRY(check_replacement(node->call->attr[ENCODE_REPLACEMENT].i));
	const int64_t n = node->in[VALUE_SPLITS]->rank == 1 ? node->in[VALUE_SPLITS]->dim[0] : DFG_UNKNOWN;
	node->out[0] = DFG_SHAPE_VECTOR(n > 0 ? n - 1 : n);
	return NULL;
}

static struct dfg_err *encode_range(const struct dfg_kernel *ctx, int64_t first, int64_t end, struct dfg_text *text)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const enum policy policy = policy_of(attr[ENCODE_ERRORS].s);
	const enum encoding to = written_encoding(attr[ENCODE_TO].s);
	const int64_t all = ctx->in[VALUES]->shape.dim[0];
	if (first < 0 || end < first || end > all)
		return DFG_ERR(DFG_DATA, "its values, from %" PRId64 " up to %" PRId64 ", are not in the %" PRId64 " values",
			first, end, all);
	for (int64_t i = first; i < end; i++) {
		uint32_t c = (uint32_t)((const int32_t *)ctx->in[VALUES]->data)[i];
		if (!is_scalar_value(c) && policy == STRICT)
			return DFG_ERR(
				DFG_DATA, "value %" PRId64 " is %" PRId32 ", which is not a Unicode scalar value", i, (int32_t)c);
		if (!is_scalar_value(c) && policy == IGNORE)
			continue;
		put_character(text, to, is_scalar_value(c) ? c : (uint32_t)attr[ENCODE_REPLACEMENT].i);
	}
	return dfg_text_check(text);
}

static struct dfg_err *encode_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *splits = ctx->in[VALUE_SPLITS];
	struct dfg_text text = {0};
	struct dfg_tensor *out;
	struct dfg_err *err = dfg_output_now(ctx, &out);
	for (int64_t i = 0; !err && i + 1 < splits->shape.dim[0]; i++) {
		text.length = 0;
		err = dfg_err_note(
			encode_range(ctx, dfg_tensor_int(splits, i), dfg_tensor_int(splits, i + 1), &text), "string %" PRId64, i);
		if (!err)
			err = dfg_kernel_string(ctx, 0, i, text.s ? text.s : "", text.length);
	}
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_UnicodeEncode = {
	.name = "UnicodeEncode",
	.doc = "strings of the code points of a ragged tensor",
	.sig = "<Tsplits: index = i64>(input_values: i32, input_splits: Tsplits) -> (output: string)",
	.attr = {[ENCODE_ERRORS] = "errors: string = 'replace' in ignore|replace|strict",
		[ENCODE_TO] = "output_encoding: string in UTF-8|UTF-16-BE|UTF-32-BE",
		[ENCODE_REPLACEMENT] = "replacement_char: int = 65533"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = encode_shape,
	.run = encode_run,
};
