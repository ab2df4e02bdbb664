#include "formats/csv.h"

#include "formats/csv_cell.h"
#include "lib/base/text.h"

#include <string.h>

/* Always with quotes, by which the reader distinguishes text from numbers and names. */
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

static int64_t columns_of(const struct dfg_tensor *tensor)
{
	return tensor->shape.rank == 2 ? tensor->shape.dim[1] : 1;
}

static int64_t rows_of(const struct dfg_tensor *tensor)
{
	return tensor->shape.rank ? tensor->shape.dim[0] : 1;
}

/* In quotes if a reader would take it for a number or for several cells. */
static void print_name(const char *name, struct dfg_text *text)
{
	const struct dfg_csv_cell cell = {name, strlen(name), false};
	if (dfg_csv_number(&cell).kind == DFG_CSV_TEXT && !strpbrk(name, ",\"\r\n") && *name != ' ' && *name != '#')
		dfg_text_add(text, "%s", name);
	else
		print_string(&(struct dfg_string){.s = name, .length = strlen(name)}, text);
}

/* Prints the names of all columns; none if an array has no name. */
static struct dfg_err *print_names(const struct dfg_arrays *arrays, struct dfg_text *text)
{
	for (size_t i = 0; i < arrays->count; i++)
		if (!*arrays->array[i].name)
			return NULL;
	for (size_t i = 0; i < arrays->count; i++) {
		const struct dfg_array *array = &arrays->array[i];
		int64_t columns = columns_of(&array->tensor);
		for (int64_t k = 0; k < columns; k++) {
			struct dfg_text name = {0};
			dfg_text_add(&name, columns > 1 ? "%s_%lld" : "%s", array->name, (long long)k);
			dfg_text_put(text, ",", text->length > 0);
			print_name(name.s ? name.s : "", text);
			text->short_of_memory |= name.short_of_memory;
			dfg_text_release(&name);
		}
	}
	dfg_text_put(text, "\n", text->length > 0);
	return dfg_text_check(text);
}

static struct dfg_err *print_row(const struct dfg_arrays *arrays, int64_t row, struct dfg_text *text)
{
	for (size_t i = 0; i < arrays->count; i++) {
		const struct dfg_tensor *tensor = &arrays->array[i].tensor;
		int64_t columns = columns_of(tensor);
		for (int64_t k = 0; k < columns; k++) {
			dfg_text_put(text, ",", text->length > 0);
			DFG_TRY(print_element(tensor, row * columns + k, text));
		}
	}
	dfg_text_put(text, "\n", 1);
	return dfg_text_check(text);
}

static struct dfg_err *check_shapes(const struct dfg_arrays *arrays)
{
	for (size_t i = 0; i < arrays->count; i++) {
		const struct dfg_array *array = &arrays->array[i], *first = &arrays->array[0];
		if (array->tensor.shape.rank > 2)
			return DFG_ERR(DFG_DATA, "csv can hold at most 2 dimensions, but the shape is %s",
				dfg_shape_words(&array->tensor.shape).s);
		if (rows_of(&array->tensor) != rows_of(&first->tensor))
			return DFG_ERR(DFG_DATA, "'%s' has %lld rows, but '%s' has %lld: csv holds columns of one length",
				array->name, (long long)rows_of(&array->tensor), first->name, (long long)rows_of(&first->tensor));
	}
	return NULL;
}

struct dfg_err *dfg_csv_write(const struct dfg_arrays *arrays, struct dfg_out *out)
{
	struct dfg_text text = {0};
	DFG_TRY(check_shapes(arrays));
	int64_t rows = arrays->count ? rows_of(&arrays->array[0].tensor) : 0;
	struct dfg_err *err = print_names(arrays, &text);
	if (!err)
		err = dfg_out_write(out, text.s, text.length);
	for (int64_t row = 0; row < rows && !err; row++) {
		text.length = 0;
		err = print_row(arrays, row, &text);
		if (!err)
			err = dfg_out_write(out, text.s, text.length);
	}
	dfg_text_release(&text);
	return err;
}
