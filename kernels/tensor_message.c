/* Tensors as messages of the protocol buffer tensorflow.TensorProto: SerializeTensor and ParseTensor. */
#include "kernels/tensor_message.h"

#include "kernels/shape_rules.h"
#include "kernels/strided_copy.h"

#include <inttypes.h>
#include <string.h>

/* Fields: TensorProto; TensorShapeProto and its dimensions. The lists of values have a field for each kind of type. */
enum { DTYPE = 1, SHAPE = 2, CONTENT = 4, STRINGS = 8, FIRST_LIST = 5, LAST_LIST = 17 };
enum { DIM = 2, UNKNOWN_RANK = 3, DIM_SIZE = 1 };

static void put_shape(struct dfg_text *text, const struct dfg_shape *shape)
{
	struct dfg_text dims = {0};
	for (int d = 0; d < shape->rank; d++) {
		struct dfg_text dim = {0};
		if (shape->dim[d]) {
			dfg_proto_put_key(&dim, DIM_SIZE, DFG_PROTO_VARINT);
			dfg_proto_put_varint(&dim, (uint64_t)shape->dim[d]);
		}
		dfg_proto_put_message(&dims, DIM, &dim);
	}
	dfg_proto_put_message(text, SHAPE, &dims);
}

void dfg_tensor_message(struct dfg_text *text, const struct dfg_tensor *tensor)
{
	const struct dfg_string *string = tensor->data;
	dfg_proto_put_key(text, DTYPE, DFG_PROTO_VARINT);
	dfg_proto_put_varint(text, (uint64_t)tensor->dtype);
	put_shape(text, &tensor->shape);
	if (tensor->dtype != DFG_STRING && dfg_tensor_bytes(tensor))
		dfg_proto_put_bytes(text, CONTENT, tensor->data, dfg_tensor_bytes(tensor));
	for (int64_t i = 0; tensor->dtype == DFG_STRING && i < dfg_shape_count(&tensor->shape); i++)
		dfg_proto_put_bytes(text, STRINGS, string[i].s, string[i].length);
}

static struct dfg_err *scalar_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *serialize_run(struct dfg_kernel *ctx)
{
	struct dfg_text text = {0};
	dfg_tensor_message(&text, dfg_kernel_input(ctx, 0));
	return dfg_proto_give(ctx, &text);
}

const struct dfg_op dfg_op_SerializeTensor = {
	.name = "SerializeTensor",
	.doc = "a tensor as the bytes of a tensorflow.TensorProto",
	.sig = "<T: plain|half|string>(tensor: T) -> (serialized: string)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = scalar_shape,
	.run = serialize_run,
};

/* Reading. */

/* A message: its dtype, its shape, its content, and the number of values in a list. */
struct message {
	struct dfg_string bytes, content;
	uint64_t dtype;
	struct dfg_shape shape;
	int64_t listed;
};

static struct dfg_err *damaged(const char *what)
{
	return DFG_ERR(DFG_DATA, "the serialized tensor is damaged: %s", what);
}

static struct dfg_err *read_dim(struct dfg_string bytes, struct dfg_shape *shape)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(bytes);
	struct dfg_proto_field field;
	int64_t size = 0;
	while (dfg_proto_next(&reader, &field))
		if (field.key == DFG_PROTO_KEY(DIM_SIZE, DFG_PROTO_VARINT))
			size = (int64_t)field.number;
	if (!reader.at)
		return damaged("a dimension cannot be read");
	if (shape->rank == DFG_RANK_MAX)
		return DFG_ERR(DFG_DATA, "the serialized tensor has more than %d dimensions", DFG_RANK_MAX);
	if (size < 0)
		return DFG_ERR(
			DFG_DATA, "dimension %d of the serialized tensor is %" PRId64 ", expected at least 0", shape->rank, size);
	shape->dim[shape->rank++] = size;
	return NULL;
}

static struct dfg_err *read_shape(struct dfg_string bytes, struct dfg_shape *shape)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(bytes);
	struct dfg_proto_field field;
	while (dfg_proto_next(&reader, &field)) {
		if (field.key == DFG_PROTO_KEY(DIM, DFG_PROTO_BYTES))
			DFG_TRY(read_dim(field.bytes, shape));
		if (field.key == DFG_PROTO_KEY(UNKNOWN_RANK, DFG_PROTO_VARINT) && field.number)
			return damaged("its rank is unknown");
	}
	return reader.at ? NULL : damaged("its shape cannot be read");
}

/* Where a value of a list goes, and how the list's field has it: as varints, or as bytes of the type. */
static bool in_varints(enum dfg_dtype dtype)
{
	return dtype != DFG_F32 && dtype != DFG_F64 && dtype != DFG_C64 && dtype != DFG_C128;
}

static void put_varint(uint64_t number, enum dfg_dtype dtype, void *to)
{
	if (dtype == DFG_F16 || dtype == DFG_BF16)
		*(uint16_t *)to = (uint16_t)number; /* their bits */
	else
		dfg_convert(dtype, to, DFG_I64, &(int64_t){(int64_t)number}, 1);
}

/* The values of one field of a list after the first `*count`, at most `most` in all; to NULL: they are counted. */
static bool read_list(
	const struct dfg_proto_field *field, enum dfg_dtype dtype, struct dfg_tensor *to, int64_t most, int64_t *count)
{
	const enum dfg_proto_wire wire = (enum dfg_proto_wire)(field->key & 7);
	const size_t size = dfg_dtype_size(dtype);
	struct dfg_proto_reader packed = dfg_proto_reader_of(field->bytes);
	uint64_t number = field->number;
	if (dtype == DFG_STRING || !in_varints(dtype)) {
		const int64_t n = dtype == DFG_STRING ? 1 : (int64_t)(field->bytes.length / size);
		for (int64_t k = 0; k < n && to && *count + k < most; k++)
			memcpy(dfg_tensor_at(to, *count + k),
				dtype == DFG_STRING ? (const void *)&field->bytes : field->bytes.s + (size_t)k * size, size);
		*count += n;
		return wire != DFG_PROTO_VARINT && (dtype == DFG_STRING || field->bytes.length % size == 0);
	}
	if (wire != DFG_PROTO_VARINT && wire != DFG_PROTO_BYTES)
		return false;
	for (bool one = wire == DFG_PROTO_VARINT; one || dfg_proto_varint(&packed, &number); ++*count) {
		if (to && *count < most)
			put_varint(number, dtype, dfg_tensor_at(to, *count));
		if (one) {
			++*count;
			return true;
		}
	}
	return packed.at == packed.end;
}

static bool is_list(const struct dfg_proto_field *field)
{
	return field->key >> 3 >= FIRST_LIST && field->key >> 3 <= LAST_LIST;
}

static struct dfg_err *read_message(struct message *m)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(m->bytes);
	struct dfg_proto_field field;
	while (dfg_proto_next(&reader, &field)) {
		if (field.key == DFG_PROTO_KEY(DTYPE, DFG_PROTO_VARINT))
			m->dtype = field.number;
		else if (field.key == DFG_PROTO_KEY(SHAPE, DFG_PROTO_BYTES))
			DFG_TRY(read_shape(field.bytes, &m->shape));
		else if (field.key == DFG_PROTO_KEY(CONTENT, DFG_PROTO_BYTES))
			m->content = field.bytes;
	}
	return reader.at ? NULL : damaged("a field cannot be read");
}

static bool read_lists(struct message *m, struct dfg_tensor *to, int64_t most)
{
	struct dfg_proto_reader reader = dfg_proto_reader_of(m->bytes);
	struct dfg_proto_field field;
	bool good = true;
	m->listed = 0;
	while (good && dfg_proto_next(&reader, &field))
		if (is_list(&field))
			good = read_list(&field, (enum dfg_dtype)m->dtype, to, most, &m->listed);
	return good;
}

/* Values of lists may be fewer than elements: the last one is repeated, and without any all are zero. */
static struct dfg_err *give_listed(struct dfg_kernel *ctx, struct message *m, struct dfg_tensor *out, int64_t count)
{
	const size_t size = dfg_dtype_size(out->dtype);
	if (m->listed < count)
		memset(dfg_tensor_at(out, m->listed), 0, (size_t)(count - m->listed) * size);
	(void)read_lists(m, out, count);
	for (int64_t k = m->listed; m->listed && k < count; k++)
		memcpy(dfg_tensor_at(out, k), dfg_tensor_at(out, m->listed - 1), size);
	return dfg_moved(ctx, 0);
}

static struct dfg_err *parse_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	const enum dfg_dtype dtype = (enum dfg_dtype)ctx->call->out_dtype[0];
	struct message m = {.shape = DFG_SHAPE_SCALAR};
	struct dfg_tensor *out;
	size_t bytes;
	if (in->shape.rank)
		return DFG_ERR(DFG_DATA, "serialized has shape %s, expected a scalar", dfg_shape_words(&in->shape).s);
	m.bytes = *(const struct dfg_string *)in->data;
	DFG_TRY(read_message(&m));
	if (m.dtype != (uint64_t)dtype)
		return DFG_ERR(DFG_DATA, "the serialized tensor has %s, expected %s",
			m.dtype < DFG_DTYPES && m.dtype ? dfg_dtype_name((enum dfg_dtype)m.dtype) : "no type",
			dfg_dtype_name(dtype));
	if (!read_lists(&m, NULL, 0))
		return damaged("its values cannot be read");
	DFG_TRY(dfg_shape_bytes(&m.shape, dtype, &bytes));
	const int64_t count = dfg_shape_count(&m.shape);
	if (m.content.length ? dtype == DFG_STRING || m.content.length != bytes : m.listed > count)
		return DFG_ERR(
			DFG_DATA, "the serialized tensor does not have the values of shape %s", dfg_shape_words(&m.shape).s);
	DFG_TRY(dfg_kernel_output(ctx, 0, &m.shape, &out));
	if (!m.content.length)
		return give_listed(ctx, &m, out, count);
	memcpy(out->data, m.content.s, bytes);
	return NULL;
}

static struct dfg_err *parse_shape(struct dfg_infer *node)
{
	return dfg_need_rank(node, 0, 0);
}

const struct dfg_op dfg_op_ParseTensor = {
	.name = "ParseTensor",
	.doc = "the tensor in the bytes of a tensorflow.TensorProto",
	.sig = "<out_type: plain|half|string>(serialized: string) -> (output: out_type)",
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = parse_shape,
	.run = parse_run,
};
