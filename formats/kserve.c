#include "formats/kserve.h"

#include "formats/kserve.pb-c.h"
#include "formats/wire.h"
#include "lib/base/arena.h"
#include "lib/base/mem.h"

#include <inttypes.h>
#include <string.h>

/* Field numbers of kserve.proto. */
enum {
	MODEL_NAME = 1,
	MODEL_VERSION = 2,
	INFER_ID = 3,
	INFER_INPUTS = 5,
	INFER_OUTPUTS = 6,
	INFER_RAW = 7,
	INPUT_NAME = 1,
	INPUT_DATATYPE = 2,
	INPUT_SHAPE = 3,
	INPUT_CONTENTS = 5,
};

struct dfg_err *dfg_kserve_read_model(
	const uint8_t *bytes, size_t size, struct dfg_arena *arena, struct dfg_kserve_model_request *out_request)
{
	struct dfg_wire_file file = {.start = bytes};
	struct dfg_wire wire = dfg_wire_start(&file, &inference__model_request__descriptor, bytes, size);
	struct dfg_wire_field field;
	*out_request = (struct dfg_kserve_model_request){"", ""};
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id == MODEL_NAME)
			DFG_TRY(dfg_wire_copy(arena, &field, &out_request->name));
		else
			DFG_TRY(dfg_wire_copy(arena, &field, &out_request->version));
	}
}

static struct dfg_err *read_shape(const struct dfg_wire *wire, struct dfg_wire_field *field, struct dfg_shape *shape)
{
	uint64_t value;
	bool more;
	for (;;) {
		DFG_TRY(dfg_wire_item(wire, field, &value, &more));
		if (!more)
			return NULL;
		if (shape->rank == DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "the shape has more than %d dimensions", DFG_RANK_MAX);
		if ((int64_t)value < 0)
			return DFG_ERR(
				DFG_DATA, "dimension %d of the shape is %" PRId64 ", must be at least 0", shape->rank, (int64_t)value);
		shape->dim[shape->rank++] = (int64_t)value;
	}
}

static struct dfg_err *read_input(const struct dfg_wire *parent, const struct dfg_wire_field *at,
	struct dfg_arena *arena, struct dfg_kserve_input *input)
{
	struct dfg_wire wire;
	struct dfg_wire_field field;
	*input = (struct dfg_kserve_input){.name = "", .datatype = ""};
	DFG_TRY(dfg_wire_open(parent, at, &wire));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id == INPUT_NAME)
			DFG_TRY(dfg_wire_copy(arena, &field, &input->name));
		else if (field.field->id == INPUT_DATATYPE)
			DFG_TRY(dfg_wire_copy(arena, &field, &input->datatype));
		else if (field.field->id == INPUT_SHAPE)
			DFG_TRY(read_shape(&wire, &field, &input->shape));
		else if (field.field->id == INPUT_CONTENTS) {
			input->has_contents = true;
			input->contents = (struct dfg_kserve_bytes){field.bytes, field.length};
		}
	}
}

/* An InferRequestedOutputTensor, of which only the name matters. */
static struct dfg_err *read_output(
	const struct dfg_wire *parent, const struct dfg_wire_field *at, struct dfg_arena *arena, const char **out_name)
{
	struct dfg_wire wire;
	struct dfg_wire_field field;
	*out_name = "";
	DFG_TRY(dfg_wire_open(parent, at, &wire));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id == INPUT_NAME)
			DFG_TRY(dfg_wire_copy(arena, &field, out_name));
	}
}

/* Counts the fields of each list first, so that each has one array. */
static struct dfg_err *count_lists(struct dfg_wire wire, struct dfg_arena *arena, struct dfg_kserve_infer *out)
{
	struct dfg_wire_field field;
	size_t inputs = 0, outputs = 0, raws = 0;
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		inputs += field.field->id == INFER_INPUTS;
		outputs += field.field->id == INFER_OUTPUTS;
		raws += field.field->id == INFER_RAW;
	}
	out->input = dfg_arena_zeros(arena, inputs, sizeof *out->input);
	out->output = dfg_arena_zeros(arena, outputs, sizeof *out->output);
	out->raw = dfg_arena_zeros(arena, raws, sizeof *out->raw);
	return out->input && out->output && out->raw ? NULL : dfg_no_memory("the request");
}

static struct dfg_err *take_field(const struct dfg_wire *wire, const struct dfg_wire_field *field,
	struct dfg_arena *arena, struct dfg_kserve_infer *out)
{
	switch (field->field->id) {
	case MODEL_NAME:
		return dfg_wire_copy(arena, field, &out->model);
	case MODEL_VERSION:
		return dfg_wire_copy(arena, field, &out->version);
	case INFER_ID:
		return dfg_wire_copy(arena, field, &out->id);
	case INFER_INPUTS:
		DFG_TRY(read_input(wire, field, arena, &out->input[out->n_input]));
		out->n_input++;
		return NULL;
	case INFER_OUTPUTS:
		return read_output(wire, field, arena, &out->output[out->n_output++]);
	case INFER_RAW:
		out->raw[out->n_raw++] = (struct dfg_kserve_bytes){field->bytes, field->length};
		return NULL;
	default: /* parameters, of which none is known */
		return NULL;
	}
}

struct dfg_err *dfg_kserve_read_infer(
	const uint8_t *bytes, size_t size, struct dfg_arena *arena, struct dfg_kserve_infer *out_infer)
{
	struct dfg_wire_file file = {.start = bytes};
	struct dfg_wire wire = dfg_wire_start(&file, &inference__model_infer_request__descriptor, bytes, size);
	struct dfg_wire_field field;
	*out_infer = (struct dfg_kserve_infer){.model = "", .version = "", .id = ""};
	DFG_TRY(count_lists(wire, arena, out_infer));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		DFG_TRY(take_field(&wire, &field, arena, out_infer));
	}
}

/* The field of InferTensorContents for each type; 0: none. */
static uint32_t contents_field(enum dfg_dtype dtype)
{
	static const uint8_t field[DFG_DTYPES] = {[DFG_BOOL] = 1,
		[DFG_I8] = 2,
		[DFG_I16] = 2,
		[DFG_I32] = 2,
		[DFG_I64] = 3,
		[DFG_U8] = 4,
		[DFG_U16] = 4,
		[DFG_U32] = 4,
		[DFG_U64] = 5,
		[DFG_F32] = 6,
		[DFG_F64] = 7,
		[DFG_STRING] = 8};
	return field[dtype];
}

/* Whether an integer of the wire, which has at least 32 bits, is one of the type. */
static bool fits(enum dfg_dtype dtype, uint64_t value)
{
	int64_t wide = (int64_t)value;
	switch (dtype) {
	case DFG_BOOL:
		return value <= 1;
	case DFG_I8:
		return wide >= INT8_MIN && wide <= INT8_MAX;
	case DFG_I16:
		return wide >= INT16_MIN && wide <= INT16_MAX;
	case DFG_U8:
		return value <= UINT8_MAX;
	case DFG_U16:
		return value <= UINT16_MAX;
	default:
		return true;
	}
}

/* Takes the elements of one field. *at: how many the tensor has so far. */
static struct dfg_err *take_items(
	const struct dfg_wire *wire, struct dfg_wire_field *field, struct dfg_tensor *tensor, int64_t *at)
{
	int64_t count = dfg_shape_count(&tensor->shape);
	uint64_t value;
	bool more = true;
	if (field->kind == DFG_WIRE_BYTES) {
		if (*at >= count)
			return DFG_ERR(DFG_DATA, "the contents have more than %" PRId64 " elements", count);
		return dfg_buffer_string(
			tensor->buffer, field->bytes, field->length, &((struct dfg_string *)tensor->data)[(*at)++]);
	}
	for (;;) {
		DFG_TRY(dfg_wire_item(wire, field, &value, &more));
		if (!more)
			return NULL;
		if (*at >= count)
			return DFG_ERR(DFG_DATA, "the contents have more than %" PRId64 " elements", count);
		if (!fits(tensor->dtype, value))
			return DFG_ERR(DFG_DATA, "element %" PRId64 " is %" PRId64 ", which %s cannot hold", *at, (int64_t)value,
				dfg_dtype_name(tensor->dtype));
		memcpy(dfg_tensor_at(tensor, (*at)++), &value, dfg_dtype_size(tensor->dtype)); /* little-endian */
	}
}

static struct dfg_err *fill(const struct dfg_kserve_input *input, struct dfg_tensor *tensor)
{
	struct dfg_wire_file file = {.start = input->contents.bytes};
	struct dfg_wire wire = dfg_wire_start(
		&file, &inference__infer_tensor_contents__descriptor, input->contents.bytes, input->contents.size);
	struct dfg_wire_field field;
	int64_t at = 0;
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		if (field.field->id != contents_field(tensor->dtype))
			return DFG_ERR(
				DFG_DATA, "values of %s cannot be given in %s", dfg_dtype_name(tensor->dtype), field.field->name);
		DFG_TRY(take_items(&wire, &field, tensor, &at));
	}
	if (at != dfg_shape_count(&tensor->shape))
		return DFG_ERR(DFG_DATA, "the contents have %" PRId64 " elements, but the shape is %s", at,
			dfg_shape_words(&tensor->shape).s);
	return NULL;
}

struct dfg_err *dfg_kserve_read_contents(
	const struct dfg_kserve_input *input, enum dfg_dtype dtype, struct dfg_tensor *out_tensor)
{
	size_t least;
	if (!contents_field(dtype))
		return DFG_ERR(DFG_DATA, "values of %s must be given in raw_input_contents", dfg_dtype_name(dtype));
	/* an element takes at least a byte, so memory is bounded by the message */
	DFG_TRY(dfg_shape_bytes(&input->shape, DFG_U8, &least));
	if (least > input->contents.size)
		return DFG_ERR(
			DFG_DATA, "the contents have fewer elements than the shape %s", dfg_shape_words(&input->shape).s);
	DFG_TRY(dfg_tensor_new(dtype, &input->shape, out_tensor));
	struct dfg_err *err = fill(input, out_tensor);
	if (err)
		dfg_tensor_release(out_tensor);
	return err;
}
