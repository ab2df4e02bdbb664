#include "app/aggregation.h"

static struct dfg_err *add_one(struct dfg_aggregation_fetch *fetch, struct dfg_tensor *value, int64_t n)
{
	if (!value->dtype)
		return NULL;
	bool real = dfg_dtype_is(value->dtype, "number") || value->dtype == DFG_BOOL || value->dtype == DFG_F16 ||
				value->dtype == DFG_BF16;
	fetch->dtype = value->dtype;
	if (dfg_dtype_is_handle(value->dtype))
		return DFG_ERR(
			DFG_DATA, "the result is a %s, which cannot be combined over batches", dfg_dtype_name(value->dtype));
	if (!value->shape.rank) {
		if (!real)
			return DFG_ERR(DFG_DATA, "the result is a %s, of which no mean over batches can be computed",
				dfg_dtype_name(value->dtype));
		fetch->sum += dfg_tensor_float(value, 0) * (double)n;
		return NULL;
	}
	if (!dfg_reserve(&fetch->part, &fetch->capacity, fetch->parts + 1, sizeof *fetch->part))
		return dfg_no_memory("the results of the batches");
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
	const struct dfg_tensor *whole = &aggregation->fetch[i].whole;
	return whole->dtype ? dfg_tensor_float(whole, 0) : aggregation->fetch[i].sum / (double)aggregation->samples;
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

static struct dfg_err *result(const struct dfg_aggregation *aggregation, uint32_t i, struct dfg_tensor *out_tensor)
{
	const struct dfg_aggregation_fetch *fetch = &aggregation->fetch[i];
	if (fetch->whole.dtype)
		return dfg_tensor_share(&fetch->whole, out_tensor);
	return fetch->parts ? dfg_tensor_concatenate(fetch->part, fetch->parts, out_tensor)
						: mean(aggregation, i, out_tensor);
}

struct dfg_err *dfg_aggregation_results(
	const struct dfg_aggregation *aggregation, const struct dfg_edges *fetch, struct dfg_arrays *out_results)
{
	for (uint32_t i = 0; i < aggregation->count; i++) {
		struct dfg_tensor value;
		if (!aggregation->samples || dfg_arrays_find(out_results, fetch->name[i]))
			continue;
		DFG_TRY(dfg_err_note(result(aggregation, i, &value), "fetch '%s'", fetch->name[i]));
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
		dfg_tensor_release(&aggregation->fetch[i].whole);
	}
	dfg_free(aggregation->fetch);
	*aggregation = (struct dfg_aggregation){0};
}
