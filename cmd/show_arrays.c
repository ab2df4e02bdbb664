#include "cmd/show.h"

#include "app/tensor_text.h"
#include "formats/checkpoint.h"
#include "formats/samples.h"
#include "lib/base/plural.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

struct summary {
	double least, most, mean;
	int64_t not_finite; /* number of NaN and infinite elements, which the other fields exclude */
	bool any;
};

static bool is_real(enum dfg_dtype dtype)
{
	return dfg_dtype_is(dtype, "number") || dtype == DFG_BOOL || dtype == DFG_F16 || dtype == DFG_BF16;
}

static struct summary summarise(const struct dfg_tensor *tensor)
{
	struct summary summary = {0};
	bool readable = tensor->data && is_real(tensor->dtype); /* arrays that are only listed have no elements */
	int64_t count = readable ? dfg_shape_count(&tensor->shape) : 0, finite = 0;
	double sum = 0;
	for (int64_t i = 0; i < count; i++) {
		double value = dfg_tensor_float(tensor, i);
		if (!isfinite(value)) {
			summary.not_finite++;
			continue;
		}
		summary.least = finite && summary.least < value ? summary.least : value;
		summary.most = finite && summary.most > value ? summary.most : value;
		sum += value;
		finite++;
	}
	summary.any = finite > 0;
	summary.mean = finite ? sum / (double)finite : 0;
	return summary;
}

static void print_line(const struct dfg_array *array, int width, struct dfg_text *out)
{
	struct summary summary = summarise(&array->tensor);
	int length = (int)strlen(array->name);
	dfg_text_printable(out, array->name, (size_t)length, "");
	dfg_text_add(out, "%*s %s", length < width ? width - length : 0, "",
		dfg_type_words(array->tensor.dtype, &array->tensor.shape).s);
	if (summary.any)
		dfg_text_add(out, "  min %.6g  max %.6g  mean %.6g", summary.least, summary.most, summary.mean);
	if (summary.not_finite)
		dfg_text_add(out, "  not finite %lld", (long long)summary.not_finite);
	dfg_text_put(out, "\n", 1);
}

static void put_json(struct dfg_json_out *json, const struct dfg_array *array)
{
	struct summary summary = summarise(&array->tensor);
	dfg_json_open(json, '{');
	dfg_json_key(json, "name"), dfg_json_string(json, array->name);
	dfg_json_key(json, "dtype"), dfg_json_string(json, dfg_dtype_name(array->tensor.dtype));
	dfg_json_key(json, "shape"), dfg_json_open(json, '[');
	for (int i = 0; i < array->tensor.shape.rank; i++)
		dfg_json_int(json, array->tensor.shape.dim[i]);
	dfg_json_close(json, ']');
	if (summary.any) {
		dfg_json_key(json, "min"), dfg_json_f64(json, summary.least);
		dfg_json_key(json, "max"), dfg_json_f64(json, summary.most);
		dfg_json_key(json, "mean"), dfg_json_f64(json, summary.mean);
	}
	if (array->tensor.data)
		dfg_json_key(json, "not_finite"), dfg_json_int(json, summary.not_finite);
	dfg_json_close(json, '}');
}

/* Prints the summaries of all arrays, or all elements of one. */
static void print_json(const struct dfg_arrays *arrays, const struct dfg_array *one, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	if (one) {
		dfg_json_tensor(&json, &one->tensor);
	} else {
		dfg_json_open(&json, '[');
		for (size_t i = 0; i < arrays->count; i++)
			put_json(&json, &arrays->array[i]);
		dfg_json_close(&json, ']');
	}
	dfg_text_put(&json.text, "\n", 1);
	*out = json.text;
}

static void print_whole(const char *path, const struct dfg_array *array, bool several, struct dfg_text *out)
{
	struct dfg_text name = {0};
	if (several)
		dfg_text_escape(&name, path, strlen(path), SIZE_MAX);
	if (*array->name)
		dfg_text_add(&name, "%s%s", several ? ": " : "", array->name);
	dfg_tensor_text(out, name.s ? name.s : "array", &array->tensor, isatty(STDOUT_FILENO) ? 12 : 0);
	out->short_of_memory |= name.short_of_memory;
	dfg_text_release(&name);
}

struct dfg_err *dfg_show_first_rows(const char *words, int64_t n, struct dfg_tensor *out_rows)
{
	struct dfg_samples samples;
	const struct dfg_array_input none = {0};
	*out_rows = (struct dfg_tensor){0};
	DFG_TRY(dfg_samples_open(words, &none, false, &samples, NULL));
	struct dfg_err *err = NULL;
	bool has_rows = samples.shape.rank > 0;
	int64_t rows = has_rows ? samples.shape.dim[0] : 0;
	if (has_rows)
		err = dfg_samples_take(&samples, 0, NULL, n < rows ? n : rows, out_rows);
	dfg_samples_release(&samples);
	return err || has_rows ? err : dfg_array_read_one(words, out_rows);
}

/* Prints each array, which are their first rows, or the one that --node names. */
static void print_heads(
	const char *path, const struct dfg_arrays *arrays, const struct dfg_show_options *options, struct dfg_text *out)
{
	for (size_t i = 0; i < arrays->count; i++)
		if (!options->node || !strcmp(options->node, arrays->array[i].name))
			print_whole(path, &arrays->array[i], options->several, out);
}

struct dfg_err *dfg_show_arrays(
	const char *path, const struct dfg_arrays *arrays, const struct dfg_show_options *options, struct dfg_text *out)
{
	int width = 0;
	const struct dfg_array *one = options->node ? dfg_arrays_find(arrays, options->node) : NULL;
	if (options->node && !one)
		return DFG_ERR(DFG_DATA, "no array '%s'", options->node);
	if (dfg_globals.json) {
		print_json(arrays, one, out);
		return NULL;
	}
	if (options->head >= 0) {
		print_heads(path, arrays, options, out);
		return NULL;
	}
	if (one || arrays->count == 1) {
		print_whole(path, one ? one : &arrays->array[0], options->several, out);
		return NULL;
	}
	if (options->several) {
		dfg_text_escape(out, path, strlen(path), SIZE_MAX);
		dfg_text_add(out, ": %zu array%s\n", arrays->count, dfg_plural(arrays->count));
	}
	for (size_t i = 0; i < arrays->count; i++) {
		int length = (int)strlen(arrays->array[i].name);
		width = length > width ? length : width;
	}
	for (size_t i = 0; i < arrays->count; i++)
		print_line(&arrays->array[i], width > 60 ? 60 : width, out);
	return NULL;
}

static void talk(void *arg, const char *text)
{
	(void)arg;
	dfg_talk("warning: %s; an older checkpoint is shown", text);
}

struct dfg_err *dfg_show_checkpoint(const char *path, const struct dfg_show_options *options, struct dfg_text *out)
{
	struct dfg_checkpoint checkpoint;
	struct dfg_notes notes = {talk, NULL};
	DFG_TRY(dfg_checkpoint_load(path, &notes, &checkpoint));
	if (!options->node && !dfg_globals.json)
		dfg_text_add(out, "checkpoint of step %llu; next is sample %llu of epoch %llu\n",
			(unsigned long long)checkpoint.step, (unsigned long long)checkpoint.sample,
			(unsigned long long)checkpoint.epoch);
	struct dfg_err *err = dfg_show_arrays(path, &checkpoint.arrays, options, out);
	dfg_checkpoint_release(&checkpoint);
	return err;
}
