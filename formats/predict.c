#include "formats/predict.h"

#include "formats/predict.pb-c.h"
#include "formats/reader.h"

#include <inttypes.h>
#include <stdio.h>

/* Field numbers of predict.proto. */
enum {
	REQUEST_SPEC = 1,
	REQUEST_INPUTS = 2,
	REQUEST_FILTER = 3,
	SPEC_NAME = 1,
	SPEC_VERSION = 2,
	SPEC_SIGNATURE = 3,
	SPEC_LABEL = 4,
};

/* Bytes by which a tensor may exceed its message: the last value of a shorter list is repeated. */
enum { REPEATED_BYTES = 64 << 10 };

static struct dfg_err *read_version(
	const struct dfg_wire *parent, const struct dfg_wire_field *at, struct dfg_arena *arena, const char **out)
{
	struct dfg_wire wire;
	struct dfg_wire_field field;
	int64_t version = 0;
	DFG_TRY(dfg_wire_open(parent, at, &wire));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		version = (int64_t)field.value;
	}
	*out = dfg_arena_print(arena, "%" PRId64, version);
	return *out ? NULL : dfg_no_memory("the request");
}

static struct dfg_err *read_spec(const struct dfg_wire *parent, const struct dfg_wire_field *at,
	struct dfg_arena *arena, struct dfg_predict_request *out)
{
	struct dfg_wire wire;
	struct dfg_wire_field field;
	DFG_TRY(dfg_wire_open(parent, at, &wire));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id == SPEC_NAME)
			DFG_TRY(dfg_wire_copy(arena, &field, &out->model));
		else if (field.field->id == SPEC_SIGNATURE)
			DFG_TRY(dfg_wire_copy(arena, &field, &out->signature));
		else if (field.field->id == SPEC_LABEL)
			DFG_TRY(dfg_wire_copy(arena, &field, &out->label));
		else
			DFG_TRY(read_version(&wire, &field, arena, &out->version));
	}
}

/* The elements are copied, so that the tensor does not depend on the message. */
static struct dfg_err *take_tensor(const struct dfg_literal *literal, size_t message, struct dfg_tensor *out_tensor)
{
	size_t bytes;
	struct dfg_tensor tensor;
	if (dfg_dtype_is_handle(literal->dtype))
		return DFG_ERR(
			DFG_DATA, "its type is %s, expected a type of numbers, bools or strings", dfg_dtype_name(literal->dtype));
	DFG_TRY(dfg_shape_bytes(&literal->shape, literal->dtype, &bytes));
	size_t most = literal->dtype == DFG_STRING ? message * sizeof(struct dfg_string) : message;
	if (bytes > most + REPEATED_BYTES && literal->given < dfg_shape_count(&literal->shape))
		return DFG_ERR(DFG_DATA, "it has fewer values than shape %s", dfg_shape_words(&literal->shape).s);
	DFG_TRY(dfg_literal_tensor(literal, &tensor));
	if (tensor.buffer) {
		*out_tensor = tensor;
		return NULL;
	}
	struct dfg_err *err = dfg_tensor_copy(&tensor, out_tensor);
	dfg_tensor_release(&tensor);
	return err;
}

/* An entry of the map: a name, and a TensorProto. */
static struct dfg_err *read_input(struct dfg_reader *r, const struct dfg_wire *parent, const struct dfg_wire_field *at,
	struct dfg_predict_input *input)
{
	struct dfg_wire wire;
	struct dfg_wire_field field;
	const struct dfg_literal *literal = NULL;
	input->name = "";
	DFG_TRY(dfg_wire_open(parent, at, &wire));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		if (field.field->id == ENTRY_KEY)
			DFG_TRY(dfg_wire_copy(r->arena, &field, &input->name));
		else
			DFG_TRY(dfg_err_note(dfg_reader_tensor(r, &wire, &field, &literal), "input '%.200s'", input->name));
	}
	if (!literal)
		return DFG_ERR(DFG_DATA, "input '%.200s' has no tensor", input->name);
	return dfg_err_note(take_tensor(literal, at->length, &input->tensor), "input '%.200s'", input->name);
}

static struct dfg_err *count_lists(struct dfg_wire wire, struct dfg_arena *arena, struct dfg_predict_request *out)
{
	struct dfg_wire_field field;
	size_t inputs = 0, outputs = 0;
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		inputs += field.field->id == REQUEST_INPUTS;
		outputs += field.field->id == REQUEST_FILTER;
	}
	out->input = dfg_arena_zeros(arena, inputs, sizeof *out->input);
	out->output = dfg_arena_zeros(arena, outputs, sizeof *out->output);
	return out->input && out->output ? NULL : dfg_no_memory("the request");
}

struct dfg_err *dfg_predict_read(const uint8_t *bytes, size_t size, bool is_prediction, struct dfg_arena *arena,
	struct dfg_predict_request *out_request)
{
	struct dfg_reader r = {.file.start = bytes, .arena = arena, .budget = SIZE_MAX / 2};
	struct dfg_wire wire = dfg_wire_start(&r.file,
		is_prediction ? &serving__predict_request__descriptor : &serving__model_request__descriptor, bytes, size);
	struct dfg_wire_field field;
	*out_request = (struct dfg_predict_request){.model = "", .version = "", .signature = "", .label = ""};
	if (is_prediction)
		DFG_TRY(count_lists(wire, arena, out_request));
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id == REQUEST_SPEC)
			DFG_TRY(read_spec(&wire, &field, arena, out_request));
		else if (is_prediction && field.field->id == REQUEST_INPUTS)
			DFG_TRY(read_input(&r, &wire, &field, &out_request->input[out_request->n_input++]));
		else if (is_prediction)
			DFG_TRY(dfg_wire_copy(arena, &field, &out_request->output[out_request->n_output++]));
	}
}

void dfg_predict_release(struct dfg_predict_request *request)
{
	for (uint32_t i = 0; i < request->n_input; i++)
		dfg_tensor_release(&request->input[i].tensor);
	request->n_input = 0;
}

void dfg_predict_put_shape(struct dfg_encoder *to, uint32_t field, const struct dfg_shape *shape)
{
	size_t mark = dfg_encode_mark(to);
	if (shape->rank < 0)
		dfg_encode_number(to, SHAPE_UNKNOWN_RANK, 1);
	for (int axis = shape->rank - 1; axis >= 0; axis--) {
		size_t inner = dfg_encode_mark(to);
		if (shape->dim[axis])
			dfg_encode_number(to, DIM_SIZE, (uint64_t)shape->dim[axis]);
		dfg_encode_head(to, SHAPE_DIM, inner);
	}
	dfg_encode_head(to, field, mark);
}

void dfg_predict_put_tensor(struct dfg_encoder *to, uint32_t field, const struct dfg_tensor *tensor)
{
	size_t mark = dfg_encode_mark(to);
	const struct dfg_string *string = tensor->dtype == DFG_STRING ? tensor->data : NULL;
	for (int64_t i = string ? dfg_shape_count(&tensor->shape) : 0; i-- > 0;)
		dfg_encode_string(to, dfg_tensor_list_field(DFG_STRING), string[i].s, string[i].length);
	if (!string && dfg_tensor_bytes(tensor))
		dfg_encode_string(to, TENSOR_CONTENT, tensor->data, dfg_tensor_bytes(tensor));
	dfg_predict_put_shape(to, TENSOR_SHAPE, &tensor->shape);
	dfg_encode_number(to, TENSOR_DTYPE, tensor->dtype);
	dfg_encode_head(to, field, mark);
}
