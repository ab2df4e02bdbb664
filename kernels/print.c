/* Values as text: StringFormat, and the ops that print while a graph runs. */
#define _GNU_SOURCE
#include "kernels/shape_rules.h"
#include "kernels/variable.h"
#include "lib/base/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The forms of TensorFlow: with 6 or 15 digits if these read back to the same number, else with 9 or 17. */
static void put_float(struct dfg_text *text, float value)
{
	char s[40];
	snprintf(s, sizeof s, "%.6g", (double)value);
	if (strtof(s, NULL) != value)
		snprintf(s, sizeof s, "%.9g", (double)value);
	dfg_text_add(text, "%s", value != value ? "nan" : s);
}

static void put_double(struct dfg_text *text, double value)
{
	char s[40];
	snprintf(s, sizeof s, "%.15g", value);
	if (strtod(s, NULL) != value)
		snprintf(s, sizeof s, "%.17g", value);
	dfg_text_add(text, "%s", value != value ? "nan" : s);
}

/* A string with the escapes of C; control characters in octal. */
static void put_escaped(struct dfg_text *text, struct dfg_string s)
{
	static const char from[] = "\n\r\t\"'\\", to[] = "nrt\"'\\";
	for (size_t i = 0; i < s.length; i++) {
		const char *found = s.s[i] ? strchr(from, s.s[i]) : NULL;
		if (found)
			dfg_text_add(text, "\\%c", to[found - from]);
		else if ((unsigned char)s.s[i] < ' ' || s.s[i] == 0x7f)
			dfg_text_add(text, "\\%03o", (unsigned char)s.s[i]);
		else
			dfg_text_put(text, s.s + i, 1);
	}
}

static void put_element(struct dfg_text *text, const struct dfg_tensor *tensor, int64_t i, bool quoted)
{
	if (tensor->dtype == DFG_STRING) {
		const struct dfg_string s = ((const struct dfg_string *)tensor->data)[i];
		dfg_text_add(text, "%s", quoted ? "\"" : "");
		put_escaped(text, s);
		dfg_text_add(text, "%s", quoted ? "\"" : "");
	} else if (tensor->dtype == DFG_U64) {
		dfg_text_add(text, "%" PRIu64, ((const uint64_t *)tensor->data)[i]);
	} else if (tensor->dtype == DFG_BOOL || dfg_dtype_is(tensor->dtype, "int")) {
		dfg_text_add(text, "%" PRId64, dfg_tensor_int(tensor, i));
	} else if (tensor->dtype == DFG_F64) {
		put_double(text, dfg_tensor_float(tensor, i));
	} else if (tensor->dtype == DFG_F32 || tensor->dtype == DFG_F16 || tensor->dtype == DFG_BF16) {
		put_float(text, (float)dfg_tensor_float(tensor, i));
	} else {
		dfg_text_add(text, "?");
	}
}

/* Writes tensors in brackets. `ends`: elements that are kept at either end of a dimension. */
struct nested {
	struct dfg_text *text;
	const struct dfg_tensor *tensor;
	int64_t ends;
};

static void put_spacing(const struct nested *n, int dim)
{
	const int rank = n->tensor->shape.rank;
	if (dim == rank - 1)
		dfg_text_add(n->text, " ");
	for (int i = dim; i < rank - 1; i++)
		dfg_text_add(n->text, "\n");
	for (int i = 0; dim < rank - 1 && i <= dim; i++)
		dfg_text_add(n->text, " ");
}

/* The dimension from element `first` on. At most DFG_RANK_MAX deep. */
static void put_dim(const struct nested *n, int dim, int64_t first)
{
	const struct dfg_shape *shape = &n->tensor->shape;
	if (dim == shape->rank) {
		put_element(n->text, n->tensor, first, true);
		return;
	}
	const int64_t count = shape->dim[dim];
	int64_t each = 1;
	for (int d = dim + 1; d < shape->rank; d++)
		each *= shape->dim[d];
	dfg_text_add(n->text, "[");
	const bool cut = count > 2 * n->ends;
	for (int64_t i = 0; i < count; i++) {
		if (cut && i == n->ends) {
			put_spacing(n, dim);
			dfg_text_add(n->text, "...");
			i = count - n->ends;
			if (i == count)
				break;
		}
		if (i)
			put_spacing(n, dim);
		put_dim(n, dim + 1, first + i * each);
	}
	dfg_text_add(n->text, "]");
}

static void put_tensor(struct dfg_text *text, const struct dfg_tensor *tensor, int64_t summarize)
{
	const int64_t count = dfg_shape_count(&tensor->shape);
	if (tensor->dtype == DFG_BOOL && !summarize)
		return; /* as in TensorFlow, which writes an ellipsis for other types */
	if (!tensor->shape.rank && !summarize)
		dfg_text_add(text, "...");
	else
		put_dim(&(struct nested){text, tensor, summarize < 0 || summarize > count ? count : summarize}, 0, 0);
}

/* StringFormat. */
enum { TEMPLATE, PLACEHOLDER, SUMMARIZE };

static struct dfg_err *check_template(const struct dfg_resolved_node *call)
{
	const struct dfg_string text = call->attr[TEMPLATE].s, mark = call->attr[PLACEHOLDER].s;
	int count = 0;
	if (!mark.length)
		return DFG_ERR(DFG_DATA, "placeholder is empty");
	for (const char *at = text.s, *end = text.s + text.length;
		 (at = memmem(at, (size_t)(end - at), mark.s, mark.length)) != NULL; at += mark.length)
		count++;
	if (count != call->n_in)
		return DFG_ERR(DFG_DATA, "the template has %d placeholders, but there are %d inputs", count, call->n_in);
	return NULL;
}

static struct dfg_err *format_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	if (node->call->attr[SUMMARIZE].i < -1)
		return DFG_ERR(DFG_DATA, "summarize is %" PRId64 ", expected at least -1", node->call->attr[SUMMARIZE].i);
	return check_template(node->call);
}

static void put_format(struct dfg_kernel *ctx, struct dfg_text *text)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_string mark = attr[PLACEHOLDER].s;
	const char *at = attr[TEMPLATE].s.s, *end = at + attr[TEMPLATE].s.length;
	for (int i = 0; i < ctx->call->n_in; i++) {
		const char *found = memmem(at, (size_t)(end - at), mark.s, mark.length);
		if (!found)
			break;
		dfg_text_put(text, at, (size_t)(found - at));
		put_tensor(text, ctx->in[i], attr[SUMMARIZE].i);
		at = found + mark.length;
	}
	if (end > at)
		dfg_text_put(text, at, (size_t)(end - at));
}

static struct dfg_err *format_run(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	struct dfg_tensor *out;
	DFG_TRY(check_template(ctx->call));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	put_format(ctx, &text);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		err = dfg_kernel_string(ctx, 0, 0, text.s, text.length);
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_StringFormat = {
	.name = "StringFormat",
	.doc = "the template with its placeholders replaced by the inputs' first and last elements",
	.sig = "<T: [type]>(inputs: T) -> (output: string)",
	.attr = {[TEMPLATE] = "template: string = '%s'",
		[PLACEHOLDER] = "placeholder: string = '%s'",
		[SUMMARIZE] = "summarize: int = 3"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK,
	.shape = format_shape,
	.run = format_run,
};

/* PrintV2 and Print. */

static struct dfg_err *print_v2_shape(struct dfg_infer *node)
{
	return dfg_need_rank(node, 0, 0);
}

static struct dfg_err *print_v2_run(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	const struct dfg_string *s = ctx->in[0]->data;
	if (ctx->in[0]->shape.rank)
		return DFG_ERR(DFG_DATA, "input has shape %s, expected a scalar", dfg_shape_words(&ctx->in[0]->shape).s);
	dfg_text_put(&text, s->s, s->length);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		dfg_message(text.s ? text.s : "");
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_PrintV2 = {
	.name = "PrintV2",
	.doc = "prints a line on stderr",
	.sig = "(input: string) -> ()",
	.attr = {"output_stream: string = 'stderr'", "end: string = '\n'"},
	.flags = DFG_NO_GRADIENT | DFG_STATEFUL | DFG_ANY_RANK,
	.shape = print_v2_shape,
	.run = print_v2_run,
};

enum { MESSAGE, FIRST_N, PRINT_SUMMARIZE };

/* The older form: the first `most` elements, with an ellipsis in each dimension that is cut. */
struct prefix {
	struct dfg_text *text;
	const struct dfg_tensor *tensor;
	int64_t at, most;
};

static void put_prefix(struct prefix *p, int dim)
{
	const struct dfg_shape *shape = &p->tensor->shape;
	for (int64_t i = 0; i < shape->dim[dim]; i++) {
		const bool begins = p->at < p->most;
		if (dim == shape->rank - 1 && !begins) {
			dfg_text_add(p->text, "%s", dim ? "..." : "");
			return;
		}
		if (dim == shape->rank - 1) {
			dfg_text_add(p->text, "%s", i ? " " : "");
			put_element(p->text, p->tensor, p->at++, false);
			continue;
		}
		if (!begins)
			return;
		dfg_text_add(p->text, "[");
		put_prefix(p, dim + 1);
		dfg_text_add(p->text, "]");
	}
}

static void put_value(struct dfg_text *text, const struct dfg_tensor *tensor, int64_t summarize)
{
	const int64_t count = dfg_shape_count(&tensor->shape), most = summarize < 0 ? count : summarize;
	dfg_text_add(text, "[");
	if (tensor->shape.rank)
		put_prefix(&(struct prefix){text, tensor, 0, most}, 0);
	else
		put_element(text, tensor, 0, false);
	dfg_text_add(text, "%s]", tensor->shape.rank && count > most ? "..." : "");
}

/* Whether the node has printed less than first_n times. The count is in the session. */
static struct dfg_err *is_due(struct dfg_kernel *ctx, bool *out_due)
{
	const int64_t first = dfg_kernel_attr(ctx)[FIRST_N].i;
	struct dfg_state *state = ctx->host->state(ctx);
	struct dfg_variable *counter;
	struct dfg_text name = {0};
	uint64_t before = 0;
	*out_due = true;
	if (first < 0 || !state)
		return NULL;
	dfg_text_add(&name, "%s/printed", ctx->call->node);
	struct dfg_err *err = dfg_text_check(&name);
	if (!err)
		err = dfg_state_variable(state, name.s, DFG_U64, &DFG_SHAPE_SCALAR, &counter);
	if (!err)
		err = dfg_variable_advance(counter, 1, &before);
	dfg_text_release(&name);
	*out_due = before < (uint64_t)first;
	return err;
}

static struct dfg_err *print_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_text text = {0};
	bool due;
	DFG_TRY(is_due(ctx, &due));
	dfg_text_put(&text, attr[MESSAGE].s.s, attr[MESSAGE].s.length);
	for (int i = 1; i < ctx->call->n_in && due; i++)
		put_value(&text, ctx->in[i], attr[PRINT_SUMMARIZE].i);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err && due)
		dfg_message(text.s ? text.s : "");
	dfg_text_release(&text);
	return err ? err : dfg_kernel_view(ctx, 0, 0, &ctx->in[0]->shape);
}

static struct dfg_err *print_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	return NULL;
}

const struct dfg_op dfg_op_Print = {
	.name = "Print",
	.doc = "its input; prints the first elements of data on stderr, the first first_n times",
	.sig = "<T: type, U: [type]>(input: T, data: U) -> (output: T)",
	.attr =
		{[MESSAGE] = "message: string = ''", [FIRST_N] = "first_n: int = -1", [PRINT_SUMMARIZE] = "summarize: int = 3"},
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_VIEW,
	.shape = print_shape,
	.gradient = "dinput = doutput",
	.run = print_run,
};
