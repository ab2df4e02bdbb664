/* Records of fields between delimiters (RFC 4180). */
#include "kernels/shape_rules.h"
#include "kernels/number_text.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

enum { RECORDS, DEFAULTS };
enum { DELIM, QUOTES, NA_VALUE, SELECT };

static struct dfg_err *csv_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	const struct dfg_list *select = attr[SELECT].list;
	char delim = attr[DELIM].s.length ? attr[DELIM].s.s[0] : '"';
	if (attr[DELIM].s.length != 1 || delim == '"' || delim == '\n' || delim == '\r')
		return DFG_ERR(DFG_DATA, "field_delim must be one character, and not a quote or a line break");
	if (select->count && select->count != node->call->n_out)
		return DFG_ERR(
			DFG_DATA, "%u columns are selected, but there are %d defaults", select->count, node->call->n_out);
	for (uint32_t i = 0; i < select->count; i++)
		if (select->item[i].i < (i ? select->item[i - 1].i + 1 : 0))
			return DFG_ERR(DFG_DATA, "select_cols[%u] is %" PRId64 ", expected ascending numbers of at least 0", i,
				select->item[i].i);
	for (int i = 0; i < node->call->n_out; i++) {
		const struct dfg_shape *fallback = node->in[DEFAULTS + i];
		if (fallback->rank > 1 || (fallback->rank == 1 && fallback->dim[0] > 1))
			return DFG_ERR(DFG_DATA, "default %d has shape %s, expected a scalar or a vector of at most one value", i,
				dfg_shape_words(fallback).s);
		node->out[i] = *node->in[RECORDS];
	}
	return NULL;
}

/* A record being read. */
struct reader {
	struct dfg_string record;
	size_t at;
	char delim;
	bool quotes;
	struct dfg_text field;
};

static struct dfg_err *read_quoted(struct reader *r)
{
	const char *s = r->record.s;
	size_t n = r->record.length;
	for (r->at++; r->at < n; r->at++) {
		if (s[r->at] == '"' && (r->at + 1 == n || s[r->at + 1] == r->delim)) {
			r->at++;
			return NULL;
		}
		if (s[r->at] == '"' && s[++r->at] != '"')
			return DFG_ERR(DFG_DATA, "a quote in a quoted field must be doubled");
		dfg_text_put(&r->field, &s[r->at], 1);
	}
	return DFG_ERR(DFG_DATA, "a quoted field does not end");
}

static struct dfg_err *read_plain(struct reader *r)
{
	const char *s = r->record.s;
	for (; r->at < r->record.length && s[r->at] != r->delim; r->at++) {
		if ((r->quotes && s[r->at] == '"') || s[r->at] == '\n' || s[r->at] == '\r')
			return DFG_ERR(DFG_DATA, "a field without quotes contains a quote or a line break");
		dfg_text_put(&r->field, &s[r->at], 1);
	}
	return NULL;
}

/* Reads the next field into r->field; *out_more is false after the last. */
static struct dfg_err *read_field(struct reader *r, bool *out_more)
{
	r->field.length = 0;
	while (r->at < r->record.length && (r->record.s[r->at] == '\n' || r->record.s[r->at] == '\r'))
		r->at++;
	bool quoted = r->quotes && r->at < r->record.length && r->record.s[r->at] == '"';
	DFG_TRY(quoted ? read_quoted(r) : read_plain(r));
	*out_more = r->at < r->record.length;
	r->at += *out_more;
	return dfg_text_check(&r->field);
}

/* Stores the field as element e of output i, or the default if it is empty. */
static struct dfg_err *put_field(struct dfg_kernel *ctx, const struct dfg_text *field, int i, int64_t e)
{
	const struct dfg_tensor *fallback = ctx->in[DEFAULTS + i];
	struct dfg_tensor *out = ctx->out[i];
	const struct dfg_string na = ctx->call->attr[NA_VALUE].s;
	struct dfg_string text = {field->length ? field->s : "", field->length};
	if (!text.length || (text.length == na.length && !memcmp(text.s, na.s, na.length))) {
		if (!dfg_shape_count(&fallback->shape))
			return DFG_ERR(DFG_DATA, "field %d is missing and has no default", i);
		if (out->dtype != DFG_STRING) {
			memcpy(dfg_tensor_at(out, e), fallback->data, dfg_dtype_size(out->dtype));
			return NULL;
		}
		text = *(const struct dfg_string *)fallback->data;
	}
	if (out->dtype == DFG_STRING)
		return dfg_kernel_string(ctx, i, e, text.s, text.length);
	if (!dfg_read_number(text, out->dtype, dfg_tensor_at(out, e)))
		return DFG_ERR(DFG_DATA, "field %d, '%.*s', is not a valid %s", i, (int)(text.length < 60 ? text.length : 60),
			text.s, dfg_dtype_name(out->dtype));
	return NULL;
}

static struct dfg_err *read_record(struct dfg_kernel *ctx, struct reader *r, int64_t e)
{
	const struct dfg_list *select = ctx->call->attr[SELECT].list;
	int next = 0;
	bool more = r->record.length > 0;
	for (int64_t column = 0; more; column++) {
		DFG_TRY(read_field(r, &more));
		bool wanted = !select->count || (next < ctx->call->n_out && select->item[next].i == column);
		if (wanted && next == ctx->call->n_out)
			return DFG_ERR(DFG_DATA, "expected %d fields, found more", next);
		if (wanted)
			DFG_TRY(put_field(ctx, &r->field, next++, e));
	}
	return next == ctx->call->n_out ? NULL : DFG_ERR(DFG_DATA, "expected %d fields, found %d", ctx->call->n_out, next);
}

static struct dfg_err *csv_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *records = dfg_kernel_input(ctx, RECORDS);
	struct reader r = {.delim = ctx->call->attr[DELIM].s.s[0], .quotes = ctx->call->attr[QUOTES].b};
	struct dfg_err *err = NULL;
	for (int i = 0; i < ctx->call->n_out; i++) {
		struct dfg_tensor *out;
		DFG_TRY(dfg_kernel_output(ctx, i, &records->shape, &out));
	}
	for (int64_t e = 0, n = dfg_shape_count(&records->shape); e < n && !err; e++) {
		r.record = ((const struct dfg_string *)records->data)[e];
		r.at = 0;
		err = dfg_err_note(read_record(ctx, &r, e), "record %" PRId64, e);
	}
	dfg_text_release(&r.field);
	return err;
}

const struct dfg_op dfg_op_DecodeCSV = {
	.name = "DecodeCSV",
	.doc = "the fields of each record, by column; the default if a field is empty",
	.sig = "<OUT_TYPE: [f32|f64|i32|i64|string]>(records: string, record_defaults: OUT_TYPE) -> (output: OUT_TYPE)",
	.attr = {"field_delim: string = ','", "use_quote_delim: bool = true", "na_value: string = ''",
		"select_cols: list(int) = []"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT,
	.shape = csv_shape,
	.run = csv_run,
};
