/* Numbers as text: AsString, StringToNumber. */
#include "kernels/number_text.h"

#include "kernels/shape_rules.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dfg_string trimmed(struct dfg_string text)
{
	for (; text.length && isspace((unsigned char)text.s[0]); text.length--)
		text.s++;
	for (; text.length && isspace((unsigned char)text.s[text.length - 1]);)
		text.length--;
	return text;
}

static bool read_float(struct dfg_string text, enum dfg_dtype dtype, void *out)
{
	char copy[512], *end;
	if (!text.length || text.length >= sizeof copy)
		return false;
	memcpy(copy, text.s, text.length);
	copy[text.length] = '\0';
	if (dtype == DFG_F32)
		*(float *)out = strtof(copy, &end);
	else
		*(double *)out = strtod(copy, &end);
	return end == copy + text.length;
}

static bool read_digits(struct dfg_string text, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < text.length; i++)
		if (!isdigit((unsigned char)text.s[i]) || __builtin_mul_overflow(*out, 10, out) ||
			__builtin_add_overflow(*out, (uint64_t)(text.s[i] - '0'), out))
			return false;
	return text.length > 0;
}

static bool read_int(struct dfg_string text, enum dfg_dtype dtype, void *out)
{
	bool minus = text.length && text.s[0] == '-', sign = minus || (text.length && text.s[0] == '+');
	bool is_signed = dtype == DFG_I32 || dtype == DFG_I64;
	uint64_t most = dtype == DFG_I32   ? INT32_MAX
					: dtype == DFG_I64 ? INT64_MAX
					: dtype == DFG_U32 ? UINT32_MAX
									   : UINT64_MAX;
	uint64_t value;
	if (!read_digits((struct dfg_string){text.s + sign, text.length - sign}, &value))
		return false;
	if ((minus && !is_signed) || value > most + minus)
		return false;
	value = minus ? -value : value;
	memcpy(out, &value, dfg_dtype_size(dtype)); /* the low bytes */
	return true;
}

bool dfg_read_number(struct dfg_string text, enum dfg_dtype dtype, void *out)
{
	text = trimmed(text);
	return dtype == DFG_F32 || dtype == DFG_F64 ? read_float(text, dtype, out) : read_int(text, dtype, out);
}

static struct dfg_err *same_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

static struct dfg_err *string_to_number_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++) {
		struct dfg_string text = ((const struct dfg_string *)in->data)[i];
		if (!dfg_read_number(text, out->dtype, dfg_tensor_at(out, i)))
			return DFG_ERR(DFG_DATA, "element %" PRId64 ", '%.*s', is not a valid %s", i,
				(int)(text.length < 60 ? text.length : 60), text.s ? text.s : "", dfg_dtype_name(out->dtype));
	}
	return NULL;
}

const struct dfg_op dfg_op_StringToNumber = {
	.name = "StringToNumber",
	.doc = "strings parsed as numbers",
	.sig = "<out_type: f32|f64|i32|i64|u32|u64 = f32>(string_tensor: string) -> (output: out_type)",
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = same_shape,
	.run = string_to_number_run,
};

enum { PRECISION, SCIENTIFIC, SHORTEST, WIDTH, FILL };
enum { DIGITS_MAX = 500, NUMBER_MAX = 1024, TEXT_MAX = 2 * NUMBER_MAX + 4 };

/* How an element is printed: a printf format for a width and, for floats, a precision (-1: unspecified). */
struct style {
	char format[16];
	int width, precision;
	bool left; /* aligned left: padded with spaces after the text */
};

static struct dfg_err *style_of(const struct dfg_resolved_node *call, struct style *out_style)
{
	const union dfg_value *attr = call->attr;
	enum dfg_dtype dtype = (enum dfg_dtype)call->in_dtype[0];
	bool is_float = dfg_dtype_is(dtype, "float") || dfg_dtype_is(dtype, "complex");
	const char *fill = attr[FILL].s.length ? attr[FILL].s.s : "";
	if (attr[FILL].s.length > 1 || (*fill && !memchr(" +-0#", *fill, 5)))
		return DFG_ERR(DFG_DATA, "fill is '%.*s', expected ' ', '+', '-', '0' or '#'",
			(int)(attr[FILL].s.length < 20 ? attr[FILL].s.length : 20), fill);
	if (attr[SCIENTIFIC].b && attr[SHORTEST].b)
		return DFG_ERR(DFG_DATA, "scientific and shortest cannot both be set");
	if (!is_float && dtype != DFG_STRING && (attr[SCIENTIFIC].b || attr[SHORTEST].b || attr[PRECISION].i >= 0))
		return DFG_ERR(DFG_DATA, "scientific, shortest and precision are for floats, not %s", dfg_dtype_name(dtype));
	if (attr[PRECISION].i > DIGITS_MAX || attr[WIDTH].i > DIGITS_MAX)
		return DFG_ERR(DFG_DATA, "width or precision is larger than %d", DIGITS_MAX);
	const char *kind = !is_float ? "*" PRId64 : attr[SCIENTIFIC].b ? "*.*e" : attr[SHORTEST].b ? "*.*g" : "*.*f";
	if (dfg_dtype_is(dtype, "unsigned"))
		kind = "*" PRIu64;
	snprintf(out_style->format, sizeof out_style->format, "%%%.*s%s", (int)attr[FILL].s.length, fill, kind);
	out_style->left = *fill == '-';
	out_style->width = attr[WIDTH].i < 0 ? 0 : (int)attr[WIDTH].i;
	out_style->precision = attr[PRECISION].i < 0 ? -1 : (int)attr[PRECISION].i;
	return NULL;
}

static struct dfg_err *as_string_shape(struct dfg_infer *node)
{
	struct style style;
	node->out[0] = *node->in[0];
	return style_of(node->call, &style);
}

static size_t print_float(const struct style *style, double value, char *to)
{
	int n = snprintf(to, NUMBER_MAX, style->format, style->width, style->precision, value);
	return n < NUMBER_MAX ? (size_t)n : NUMBER_MAX - 1;
}

static size_t print_element(const struct style *style, const struct dfg_tensor *in, int64_t i, char *to)
{
	double part[2];
	if (in->dtype == DFG_BOOL)
		return (size_t)snprintf(to, TEXT_MAX, "%s", ((const bool *)in->data)[i] ? "true" : "false");
	if (dfg_dtype_is(in->dtype, "int"))
		return (size_t)snprintf(to, TEXT_MAX, style->format, style->width, dfg_tensor_int(in, i));
	if (dfg_dtype_is(in->dtype, "float")) {
		dfg_convert(DFG_F64, part, in->dtype, dfg_tensor_at(in, i), 1);
		return print_float(style, part[0], to);
	}
	dfg_convert(DFG_C128, part, in->dtype, dfg_tensor_at(in, i), 1);
	size_t n = 0;
	to[n++] = '(';
	n += print_float(style, part[0], to + n);
	to[n++] = ',';
	n += print_float(style, part[1], to + n);
	to[n++] = ')';
	return n;
}

static struct dfg_err *pad_strings(
	struct dfg_kernel *ctx, const struct style *style, const struct dfg_tensor *in, struct dfg_text *text)
{
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++) {
		const struct dfg_string s = ((const struct dfg_string *)in->data)[i];
		int spaces = s.length < (size_t)style->width ? style->width - (int)s.length : 0;
		text->length = 0;
		dfg_text_add(text, "%*s", style->left ? 0 : spaces, "");
		dfg_text_put(text, s.s, s.length);
		dfg_text_add(text, "%*s", style->left ? spaces : 0, "");
		DFG_TRY(dfg_text_check(text));
		DFG_TRY(dfg_kernel_string(ctx, 0, i, text->s, text->length));
	}
	return NULL;
}

static struct dfg_err *as_string_of_strings(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	struct style style;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(style_of(ctx->call, &style));
	struct dfg_err *err = pad_strings(ctx, &style, ctx->in[0], &text);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *as_string_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	char text[TEXT_MAX];
	struct style style;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(style_of(ctx->call, &style));
	for (int64_t i = 0, n = dfg_shape_count(&in->shape); i < n; i++)
		DFG_TRY(dfg_kernel_string(ctx, 0, i, text, print_element(&style, in, i, text)));
	return NULL;
}

const struct dfg_op dfg_op_AsString = {
	.name = "AsString",
	.doc = "each element as text",
	.sig = "<T: plain|string>(input: T) -> (output: string)",
	.attr = {"precision: int = -1", "scientific: bool = false", "shortest: bool = false", "width: int = -1",
		"fill: string = ''"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.shape = as_string_shape,
	.kernel = {[DFG_STRING] = as_string_of_strings},
	.run = as_string_run,
};
