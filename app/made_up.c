#include "app/made_up.h"

#include "app/feed.h"
#include "lib/base/random.h"

#include <stdio.h>

static struct dfg_err *draw_bits(uint64_t seed, struct dfg_tensor *tensor)
{
	const int64_t count = dfg_shape_count(&tensor->shape);
	for (int64_t i = 0; i < count; i++)
		DFG_TRY(dfg_feed_element(dfg_random_next(&seed) >> 63 ? "1" : "0", 1, tensor, i));
	return NULL;
}

static bool has_bits(enum dfg_dtype dtype)
{
	return dtype == DFG_BOOL || dfg_dtype_is(dtype, "int");
}

struct dfg_err *dfg_made_up_value(
	const struct dfg_inferred *fact, const struct dfg_made_up *how, struct dfg_tensor *out_value)
{
	const bool noise = dfg_dtype_is(fact->dtype, "float");
	struct dfg_shape shape = fact->shape;
	char text[300], seed[40] = "";
	if (shape.rank < 0)
		return DFG_ERR(DFG_DATA,
			"its rank is unknown, so no value can be made up: give a value, by --feed of dfg run or dfg diff");
	for (int i = 0; i < shape.rank; i++)
		shape.dim[i] = shape.dim[i] < 0 ? how->batch : shape.dim[i];
	if (noise)
		snprintf(seed, sizeof seed, ":seed=%llu", (unsigned long long)how->seed);
	snprintf(text, sizeof text, "%s:%s%s", noise ? "normal" : "zeros", dfg_type_words(fact->dtype, &shape).s, seed);
	DFG_TRY(dfg_feed_value(text, fact, out_value));
	struct dfg_err *err = how->bits && has_bits(fact->dtype) ? draw_bits(how->seed, out_value) : NULL;
	if (err)
		dfg_tensor_release(out_value);
	return err;
}
