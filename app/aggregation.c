#include "app/aggregation.h"

#include <string.h>

static struct dfg_err *add_one(struct dfg_aggregation_fetch *fetch, struct dfg_tensor *value, int64_t n)
{
	bool real = dfg_dtype_is(value->dtype, "number") || value->dtype == DFG_BOOL || value->dtype == DFG_F16 ||
				value->dtype == DFG_BF16;
	fetch->dtype = value->dtype;
	if (dfg_dtype_is_handle(value->dtype))
		return DFG_ERR(DFG_DATA, "a %s cannot be combined over batches", dfg_dtype_name(value->dtype));
	if (!value->shape.rank) {
		if (!real)
			return DFG_ERR(DFG_DATA, "a %s has no mean over batches", dfg_dtype_name(value->dtype));
		fetch->sum += dfg_tensor_float(value, 0) * (double)n;
		return NULL;
	}
	if (!dfg_reserve(&fetch->part, &fetch->room, fetch->parts + 1, sizeof *fetch->part))
		return DFG_ERR(DFG_MEMORY, "out of memory");
	fetch->part[fetch->parts++] = *value;
	*value = (struct dfg_tensor){0};
	return NULL;
}

struct dfg_err *dfg_aggregation_add(
	struct dfg_aggregation *aggregation, const struct dfg_edges *fetch, struct dfg_tensor *value, int64_t n)
{
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < aggregation->count; i++) {
		if (!err)
			err = dfg_err_note(add_one(&aggregation->fetch[i], &value[i], n), "fetch '%s'", fetch->name[i]);
		dfg_tensor_release(&value[i]);
	}
	aggregation->samples += n;
	return err;
}

double dfg_aggregation_mean(const struct dfg_aggregation *aggregation, uint32_t i)
{
	return aggregation->fetch[i].sum / (double)aggregation->samples;
}

/* The mean of floats in their dtype; of integers in f64, as it is not an integer. */
static struct dfg_err *mean(const struct dfg_aggregation *aggregation, uint32_t i, struct dfg_tensor *out_tensor)
{
	double value = dfg_aggregation_mean(aggregation, i);
	enum dfg_dtype dtype = aggregation->fetch[i].dtype;
	bool real = dtype == DFG_F32 || dtype == DFG_F16 || dtype == DFG_BF16;
	DFG_TRY(dfg_tensor_new(real ? dtype : DFG_F64, &DFG_SHAPE_SCALAR, out_tensor));
	dfg_convert(out_tensor->dtype, out_tensor->data, DFG_F64, &value, 1);
	return NULL;
}

static struct dfg_err *joined_shape(const struct dfg_aggregation_fetch *fetch, struct dfg_shape *out_shape)
{
	*out_shape = fetch->part[0].shape;
	for (size_t k = 1; k < fetch->parts; k++) {
		struct dfg_shape other = fetch->part[k].shape;
		int64_t rows = other.dim[0];
		other.dim[0] = out_shape->dim[0];
		if (!dfg_shape_equal(&other, out_shape))
			return DFG_ERR(DFG_DATA, "batches give %s and %s, which cannot be concatenated along axis 0",
				dfg_shape_words(&fetch->part[0].shape).s, dfg_shape_words(&fetch->part[k].shape).s);
		out_shape->dim[0] += rows;
	}
	return NULL;
}

static struct dfg_err *copy_part(const struct dfg_tensor *part, int64_t at, struct dfg_tensor *to)
{
	int64_t count = dfg_shape_count(&part->shape);
	if (part->dtype != DFG_STRING) {
		if (count)
			memcpy(dfg_tensor_at(to, at), part->data, dfg_tensor_bytes(part));
		return NULL;
	}
	for (int64_t i = 0; i < count; i++) {
		const struct dfg_string *string = dfg_tensor_at(part, i);
		DFG_TRY(dfg_buffer_string(to->buffer, string->s, string->length, dfg_tensor_at(to, at + i)));
	}
	return NULL;
}

static struct dfg_err *joined(const struct dfg_aggregation_fetch *fetch, struct dfg_tensor *out_tensor)
{
	struct dfg_shape shape;
	DFG_TRY(joined_shape(fetch, &shape));
	DFG_TRY(dfg_tensor_new(fetch->dtype, &shape, out_tensor));
	struct dfg_err *err = NULL;
	int64_t at = 0;
	for (size_t k = 0; !err && k < fetch->parts; k++) {
		err = copy_part(&fetch->part[k], at, out_tensor);
		at += dfg_shape_count(&fetch->part[k].shape);
	}
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}

struct dfg_err *dfg_aggregation_results(
	const struct dfg_aggregation *aggregation, const struct dfg_edges *fetch, struct dfg_arrays *out_results)
{
	for (uint32_t i = 0; i < aggregation->count; i++) {
		struct dfg_tensor value;
		bool parts = aggregation->fetch[i].parts;
		if (!aggregation->samples || dfg_arrays_find(out_results, fetch->name[i]))
			continue;
		DFG_TRY(dfg_err_note(parts ? joined(&aggregation->fetch[i], &value) : mean(aggregation, i, &value),
			"fetch '%s'", fetch->name[i]));
		DFG_TRY(dfg_arrays_add(out_results, fetch->name[i], &value));
	}
	return NULL;
}

void dfg_aggregation_release(struct dfg_aggregation *aggregation)
{
	for (uint32_t i = 0; i < aggregation->count; i++) {
		for (size_t k = 0; k < aggregation->fetch[i].parts; k++)
			dfg_tensor_release(&aggregation->fetch[i].part[k]);
		dfg_free(aggregation->fetch[i].part);
	}
	dfg_free(aggregation->fetch);
	*aggregation = (struct dfg_aggregation){0};
}
