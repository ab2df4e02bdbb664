#include "formats/manifest.h"

#include "formats/json.h"

#include <string.h>
#include <zlib.h>

enum { VERSION = 1 };
static const char format[] = "dfg checkpoint", seal[] = ",\"crc32\":";

static uint32_t checksum(const void *bytes, size_t count)
{
	return (uint32_t)crc32_z(0, bytes, count);
}

static void print_tensor(const struct dfg_array *array, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	dfg_json_key(json, "name");
	dfg_json_string(json, array->name);
	dfg_json_key(json, "type");
	dfg_json_string(json, dfg_type_words(array->tensor.dtype, &array->tensor.shape).s);
	dfg_json_key(json, "crc32");
	dfg_json_uint(json, checksum(array->tensor.data, dfg_tensor_bytes(&array->tensor)));
	dfg_json_close(json, '}');
}

/* Without a seed: in file order. */
static void print_order(const struct dfg_sample_order *order, struct dfg_json_out *json)
{
	dfg_json_key(json, "order");
	dfg_json_open(json, '{');
	dfg_json_key(json, "batch");
	dfg_json_uint(json, order->batch);
	dfg_json_key(json, "drop_last");
	dfg_json_uint(json, order->drop_last);
	if (order->shards > 1) {
		dfg_json_key(json, "shards");
		dfg_json_uint(json, order->shards);
	}
	dfg_json_key(json, "samples");
	dfg_json_uint(json, order->samples);
	if (order->shuffled) {
		dfg_json_key(json, "seed");
		dfg_json_uint(json, order->seed);
	}
	dfg_json_close(json, '}');
}

static struct dfg_err *read_order(const struct dfg_json *manifest, struct dfg_sample_order *out_order)
{
	const struct dfg_json *order = dfg_json_get(manifest, "order");
	uint64_t drop_last;
	*out_order = (struct dfg_sample_order){.known = order != NULL};
	if (!order)
		return NULL;
	DFG_TRY(dfg_json_need_size(order, "batch", &out_order->batch));
	DFG_TRY(dfg_json_need_size(order, "drop_last", &drop_last));
	out_order->drop_last = drop_last;
	out_order->shards = 1;
	if (dfg_json_get(order, "shards"))
		DFG_TRY(dfg_json_need_size(order, "shards", &out_order->shards));
	if (dfg_json_get(order, "samples"))
		DFG_TRY(dfg_json_need_size(order, "samples", &out_order->samples));
	out_order->shuffled = dfg_json_get(order, "seed");
	return out_order->shuffled ? dfg_json_need_size(order, "seed", &out_order->seed) : NULL;
}

static struct dfg_err *read_keep(const struct dfg_json *manifest, int64_t *out_keep)
{
	uint64_t keep;
	*out_keep = -1;
	if (!dfg_json_get(manifest, "keep"))
		return NULL;
	DFG_TRY(dfg_json_need_size(manifest, "keep", &keep));
	*out_keep = keep <= INT64_MAX ? (int64_t)keep : 0;
	return NULL;
}

static struct dfg_err *read_denormals(const struct dfg_json *manifest, struct dfg_checkpoint *checkpoint)
{
	const struct dfg_json *word;
	if (!dfg_json_get(manifest, "denormals"))
		return NULL;
	DFG_TRY(dfg_json_need(manifest, "denormals", DFG_JSON_STRING, &word));
	if (!dfg_denormals_find(word->string, &checkpoint->denormals))
		return DFG_ERR(DFG_DATA, "\"denormals\" must be \"flush\" or \"keep\", not \"%s\"", word->string);
	checkpoint->mode_known = true;
	return NULL;
}

static void print_best(const struct dfg_best *best, struct dfg_json_out *json)
{
	dfg_json_key(json, "best");
	dfg_json_open(json, '{');
	if (best->known) {
		dfg_json_key(json, "value");
		dfg_json_f64(json, best->value);
		dfg_json_key(json, "step");
		dfg_json_uint(json, best->step);
	}
	dfg_json_key(json, "since");
	dfg_json_uint(json, best->since);
	dfg_json_close(json, '}');
}

static struct dfg_err *read_best(const struct dfg_json *manifest, struct dfg_best *out_best)
{
	const struct dfg_json *best = dfg_json_get(manifest, "best"), *value;
	*out_best = (struct dfg_best){0};
	if (!best)
		return NULL;
	DFG_TRY(dfg_json_need_size(best, "since", &out_best->since));
	if (!dfg_json_get(best, "value"))
		return NULL;
	DFG_TRY(dfg_json_need(best, "value", DFG_JSON_NUMBER, &value));
	DFG_TRY(dfg_json_need_size(best, "step", &out_best->step));
	out_best->value = value->number;
	out_best->known = true;
	return NULL;
}

struct dfg_err *dfg_manifest_print(const struct dfg_checkpoint *checkpoint, struct dfg_text *out_text)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "format");
	dfg_json_string(&json, format);
	dfg_json_key(&json, "version");
	dfg_json_int(&json, VERSION);
	dfg_json_key(&json, "step");
	dfg_json_uint(&json, checkpoint->step);
	dfg_json_key(&json, "epoch");
	dfg_json_uint(&json, checkpoint->epoch);
	dfg_json_key(&json, "sample");
	dfg_json_uint(&json, checkpoint->sample);
	if (checkpoint->keep >= 0) {
		dfg_json_key(&json, "keep");
		dfg_json_uint(&json, (uint64_t)checkpoint->keep);
	}
	if (checkpoint->mode_known) {
		dfg_json_key(&json, "denormals");
		dfg_json_string(&json, dfg_denormals_name[checkpoint->denormals]);
	}
	if (checkpoint->order.known)
		print_order(&checkpoint->order, &json);
	if (checkpoint->best.known || checkpoint->best.since)
		print_best(&checkpoint->best, &json);
	dfg_json_key(&json, "tensors");
	dfg_json_open(&json, '[');
	for (size_t i = 0; i < checkpoint->arrays.count; i++)
		print_tensor(&checkpoint->arrays.array[i], &json);
	dfg_json_close(&json, ']');
	if (json.text.s)
		dfg_text_add(&json.text, "%s%u}\n", seal, checksum(json.text.s, json.text.length));
	*out_text = json.text;
	return dfg_text_check(out_text);
}

/* The last member is the checksum of the text before it. */
static struct dfg_err *check_seal(const struct dfg_blob *blob)
{
	const char *text = (const char *)blob->bytes;
	size_t length = sizeof seal - 1;
	for (size_t at = blob->size < length ? 0 : blob->size - length + 1; at-- > 0;) {
		if (memcmp(text + at, seal, length))
			continue;
		struct dfg_text have = {0};
		size_t rest = blob->size - at - length;
		dfg_text_add(&have, "%u}\n", checksum(text, at));
		bool good = have.s && have.length == rest && !memcmp(have.s, text + at + length, rest);
		dfg_text_release(&have);
		return good ? NULL : DFG_ERR(DFG_DATA, "damaged: the checksum is wrong");
	}
	return DFG_ERR(DFG_DATA, "damaged: no checksum");
}

static struct dfg_err *check_tensor(const struct dfg_json *tensor, const struct dfg_arrays *arrays)
{
	const struct dfg_json *name, *type;
	uint64_t crc;
	DFG_TRY(dfg_json_need(tensor, "name", DFG_JSON_STRING, &name));
	DFG_TRY(dfg_json_need(tensor, "type", DFG_JSON_STRING, &type));
	DFG_TRY(dfg_json_need_size(tensor, "crc32", &crc));
	const struct dfg_array *array = dfg_arrays_find(arrays, name->string);
	if (!array)
		return DFG_ERR(DFG_DATA, "variable '%s' is missing in the data", name->string);
	struct dfg_words words = dfg_type_words(array->tensor.dtype, &array->tensor.shape);
	if (strcmp(words.s, type->string))
		return DFG_ERR(
			DFG_DATA, "variable '%s' is %s in the data, but %s in the manifest", name->string, words.s, type->string);
	if (checksum(array->tensor.data, dfg_tensor_bytes(&array->tensor)) != crc)
		return DFG_ERR(DFG_DATA, "variable '%s' is damaged: the checksum is wrong", name->string);
	return NULL;
}

static struct dfg_err *check_all(const struct dfg_json *manifest, struct dfg_checkpoint *checkpoint)
{
	const struct dfg_json *is, *tensors;
	uint64_t version;
	DFG_TRY(dfg_json_need(manifest, "format", DFG_JSON_STRING, &is));
	DFG_TRY(dfg_json_need_size(manifest, "version", &version));
	if (strcmp(is->string, format) || version != VERSION)
		return DFG_ERR(DFG_DATA, "the manifest is '%.40s' version %llu, expected '%s' version %d", is->string,
			(unsigned long long)version, format, VERSION);
	DFG_TRY(dfg_json_need_size(manifest, "step", &checkpoint->step));
	DFG_TRY(dfg_json_need_size(manifest, "epoch", &checkpoint->epoch));
	DFG_TRY(dfg_json_need_size(manifest, "sample", &checkpoint->sample));
	DFG_TRY(read_keep(manifest, &checkpoint->keep));
	DFG_TRY(read_denormals(manifest, checkpoint));
	DFG_TRY(read_best(manifest, &checkpoint->best));
	DFG_TRY(read_order(manifest, &checkpoint->order));
	DFG_TRY(dfg_json_need(manifest, "tensors", DFG_JSON_ARRAY, &tensors));
	for (const struct dfg_json *tensor = tensors->first; tensor; tensor = tensor->next)
		DFG_TRY(check_tensor(tensor, &checkpoint->arrays));
	if (tensors->count != checkpoint->arrays.count)
		return DFG_ERR(DFG_DATA, "the manifest lists %zu variables, but the data has %zu", tensors->count,
			checkpoint->arrays.count);
	return NULL;
}

/* Parses the text with memory proportional to its size; the arena is the caller's. */
static struct dfg_err *read_text(const struct dfg_blob *blob, struct dfg_arena *arena, struct dfg_json **out_manifest)
{
	*arena = (struct dfg_arena){.limit = ((size_t)64 << 20) + 16 * blob->size};
	DFG_TRY(check_seal(blob));
	return dfg_json_read(blob->bytes, blob->size, arena, out_manifest);
}

struct dfg_err *dfg_manifest_check(const struct dfg_blob *blob, struct dfg_checkpoint *checkpoint)
{
	struct dfg_arena arena;
	struct dfg_json *manifest;
	struct dfg_err *err = read_text(blob, &arena, &manifest);
	if (!err)
		err = check_all(manifest, checkpoint);
	dfg_arena_release(&arena);
	return err;
}

struct dfg_err *dfg_manifest_keep(const struct dfg_blob *blob, int64_t *out_keep)
{
	struct dfg_arena arena;
	struct dfg_json *manifest;
	struct dfg_err *err = read_text(blob, &arena, &manifest);
	if (!err)
		err = read_keep(manifest, out_keep);
	dfg_arena_release(&arena);
	return err;
}
