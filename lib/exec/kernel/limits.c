#include "lib/exec/kernel/limits.h"

#include "lib/exec/device/device.h"
#include "lib/exec/kernel/services.h"

#include <math.h>
#include <time.h>

void dfg_watch_begin(
	struct watch *watch, const struct dfg_session_options *options, const struct dfg_step_control *control)
{
	*watch = (struct watch){
		.options = options, .control = control, .on = options->cancel || options->timeout > 0 || control};
	bool own = control && control->trace;
	watch->trace = own ? control->trace : options->trace;
	watch->trace_arg = own ? control->trace_arg : options->trace_arg;
	if (options->timeout > 0)
		watch->deadline = dfg_now() + (uint64_t)(options->timeout < 1e9 ? options->timeout * 1e9 : 1e18);
}

struct dfg_err *dfg_watch_check(const struct watch *watch)
{
	if (watch->options->cancel && atomic_load_explicit(watch->options->cancel, memory_order_relaxed))
		return DFG_ERR(DFG_STOPPED, "the step was stopped");
	if (watch->control)
		DFG_TRY(watch->control->check(watch->control->arg));
	if (!watch->deadline || dfg_now() < watch->deadline)
		return NULL;
	return DFG_ERR(DFG_DEADLINE, "the step took longer than %g s", watch->options->timeout);
}

/* Number of the first element that is NaN or infinite, or -1. */
static int64_t find_not_finite(const struct dfg_tensor *tensor)
{
	int64_t count = dfg_shape_count(&tensor->shape);
	struct dfg_tensor parts = *tensor;
	int64_t step = 1;
	if (tensor->dtype == DFG_C64 || tensor->dtype == DFG_C128) {
		parts.dtype = tensor->dtype == DFG_C64 ? DFG_F32 : DFG_F64;
		step = 2;
	}
	for (int64_t i = 0; i < count * step; i++)
		if (!isfinite(dfg_tensor_float(&parts, i)))
			return i / step;
	return -1;
}

struct dfg_err *dfg_check_numerics(const struct dfg_resolved_node *call, struct dfg_tensor *const *out)
{
	const uint64_t floats = dfg_dtype_bit(DFG_F16) | dfg_dtype_bit(DFG_BF16) | dfg_dtype_bit(DFG_F32) |
							dfg_dtype_bit(DFG_F64) | dfg_dtype_bit(DFG_C64) | dfg_dtype_bit(DFG_C128);
	for (int i = 0; i < call->n_out; i++) {
		if (!(floats & dfg_dtype_bit(out[i]->dtype)) || dfg_is_ref(out[i]))
			continue;
		struct dfg_tensor copy = {0};
		if (dfg_on_device(out[i]))
			DFG_TRY(dfg_device_copy_out(out[i], &copy));
		int64_t element = find_not_finite(dfg_on_device(out[i]) ? &copy : out[i]);
		dfg_tensor_release(&copy);
		if (element >= 0)
			return DFG_ERR(DFG_DATA, "output %d, %s, is not finite at element %lld", i,
				dfg_type_words(out[i]->dtype, &out[i]->shape).s, (long long)element);
	}
	return NULL;
}
