#include "formats/csv.h"

#include "lib/base/text.h"

#include <string.h>

/* Always with quotes, by which the reader knows text from numbers and names. */
static void print_string(const struct dfg_string *string, struct dfg_text *text)
{
	dfg_text_put(text, "\"", 1);
	for (size_t i = 0; i < string->length; i++) {
		if (string->s[i] == '"')
			dfg_text_put(text, "\"", 1);
		dfg_text_put(text, string->s + i, 1);
	}
	dfg_text_put(text, "\"", 1);
}

static struct dfg_err *print_element(const struct dfg_tensor *tensor, int64_t i, struct dfg_text *text)
{
	const void *at = dfg_tensor_at(tensor, i);
	switch (tensor->dtype) {
	case DFG_STRING:
		print_string(at, text);
		return NULL;
	case DFG_F64:
		dfg_text_f64(text, *(const double *)at);
		return NULL;
	case DFG_U64:
		dfg_text_add(text, "%llu", (unsigned long long)*(const uint64_t *)at);
		return NULL;
	default:
		break;
	}
	if (dfg_dtype_is(tensor->dtype, "int") || tensor->dtype == DFG_BOOL)
		dfg_text_add(text, "%lld", (long long)dfg_tensor_int(tensor, i));
	else if (tensor->dtype == DFG_F32 || tensor->dtype == DFG_F16 || tensor->dtype == DFG_BF16)
		dfg_text_f32(text, (float)dfg_tensor_float(tensor, i));
	else
		return DFG_ERR(DFG_DATA, "csv cannot hold %s", dfg_dtype_name(tensor->dtype));
	return NULL;
}

static struct dfg_err *put_rows(const struct dfg_tensor *tensor, struct dfg_text *text, struct dfg_out *out)
{
	int64_t columns = tensor->shape.rank == 2 ? tensor->shape.dim[1] : 1, count = dfg_shape_count(&tensor->shape);
	for (int64_t i = 0; i < count; i++) {
		DFG_TRY(print_element(tensor, i, text));
		dfg_text_put(text, (i + 1) % columns ? "," : "\n", 1);
		DFG_TRY(dfg_text_check(text));
		DFG_TRY(dfg_out_write(out, text->s, text->length));
		text->length = 0;
	}
	return NULL;
}

struct dfg_err *dfg_csv_write(const struct dfg_arrays *arrays, struct dfg_out *out)
{
	const struct dfg_tensor *tensor = &arrays->array[0].tensor;
	struct dfg_text text = {0};
	if (tensor->shape.rank > 2)
		return DFG_ERR(DFG_DATA, "csv holds at most 2 dimensions, not %s", dfg_shape_words(&tensor->shape).s);
	struct dfg_err *err = put_rows(tensor, &text, out);
	dfg_text_release(&text);
	return err;
}
