#include "app/serving/grpc_private.h"
#include "formats/kserve.h"

#include <stdio.h>

/* The gRPC form of KServe's Open Inference Protocol, version 2. Answers carry elements as raw bytes. */
static const char protocol[] = "kserve-grpc";

/* A message with the field 1, a bool. */
static void answer_true(const struct dfg_grpc_call *call, bool truth)
{
	struct dfg_encoder to = {0};
	if (truth)
		dfg_encode_number(&to, 1, 1);
	dfg_grpc_reply(&call->serving->other, call->request, protocol, &to);
}

static void server_live(const struct dfg_grpc_call *call)
{
	answer_true(call, true);
}

static void server_ready(const struct dfg_grpc_call *call)
{
	answer_true(call, !call->serving->draining);
}

static void server_metadata(const struct dfg_grpc_call *call)
{
	struct dfg_encoder to = {0};
	dfg_grpc_put_string(&to, 2, DFG_VERSION);
	dfg_grpc_put_string(&to, 1, "dfg");
	dfg_grpc_reply(&call->serving->other, call->request, protocol, &to);
}

/* The model that the call names; NULL: refused. */
static struct dfg_served *read_model(const struct dfg_grpc_call *call)
{
	struct dfg_arena arena = {0};
	struct dfg_kserve_model_request asked;
	struct dfg_served *served = NULL;
	struct dfg_err *err = dfg_kserve_read_model(call->bytes, call->size, &arena, &asked);
	if (err)
		dfg_grpc_refuse(call, err);
	else
		served = dfg_grpc_model(call, asked.name, asked.version);
	dfg_arena_release(&arena);
	return served;
}

static void model_ready(const struct dfg_grpc_call *call)
{
	if (read_model(call))
		answer_true(call, true);
}

static void put_shape(struct dfg_encoder *to, uint32_t field, const struct dfg_shape *shape)
{
	size_t mark = dfg_encode_mark(to);
	for (int axis = shape->rank - 1; axis >= 0; axis--)
		dfg_encode_varint(to, (uint64_t)shape->dim[axis]);
	if (shape->rank > 0)
		dfg_encode_head(to, field, mark);
}

/* The name, type and shape of a tensor, as fields 1 to 3. */
static void put_tensor(
	struct dfg_encoder *to, uint32_t field, const char *name, enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	size_t mark = dfg_encode_mark(to);
	const char *type = dfg_kserve_name(dtype);
	put_shape(to, 3, shape);
	dfg_grpc_put_string(to, 2, type ? type : dfg_dtype_name(dtype));
	dfg_grpc_put_string(to, 1, name);
	dfg_encode_head(to, field, mark);
}

static void put_ports(struct dfg_encoder *to, uint32_t field, const struct dfg_serving_port *port, uint32_t count)
{
	while (count--)
		put_tensor(to, field, port[count].name, port[count].dtype, &port[count].shape);
}

static void put_version(struct dfg_encoder *to, uint32_t field, const struct dfg_live_model *live)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)live->version);
	dfg_grpc_put_string(to, field, text);
}

static void model_metadata(const struct dfg_grpc_call *call)
{
	struct dfg_encoder to = {0};
	struct dfg_served *served = read_model(call);
	if (!served)
		return;
	struct dfg_live_model *live = dfg_served_live(served);
	put_ports(&to, 5, live->out, live->n_out);
	put_ports(&to, 4, live->in, live->n_in);
	dfg_grpc_put_string(&to, 3, "dfg_graphdef");
	put_version(&to, 2, live);
	dfg_grpc_put_string(&to, 1, served->name);
	dfg_live_model_unref(live);
	dfg_grpc_reply(served, call->request, protocol, &to);
}

/* The elements of an output, as a field of bytes. */
static struct dfg_err *put_raw(struct dfg_encoder *to, const struct dfg_tensor *value)
{
	struct dfg_text raw = {0};
	if (value->dtype != DFG_STRING) {
		dfg_encode_string(to, 6, value->data, dfg_tensor_bytes(value));
		return NULL;
	}
	dfg_kserve_put(&raw, value);
	dfg_encode_string(to, 6, raw.s, raw.length);
	struct dfg_err *err = dfg_text_check(&raw);
	dfg_text_release(&raw);
	return err;
}

static struct dfg_err *answer(struct dfg_serving_job *job, struct dfg_web_answer *out_answer)
{
	struct dfg_encoder to = {0};
	struct dfg_err *err = NULL;
	for (uint32_t i = job->n_output; i-- && !err;) {
		const struct dfg_serving_port *port = &job->live->out[job->output[i]];
		err = dfg_kserve_name(job->value[i].dtype)
				  ? put_raw(&to, &job->value[i])
				  : DFG_ERR(DFG_DATA, "output '%.200s' is %s, which this protocol cannot carry", port->name,
						dfg_dtype_name(job->value[i].dtype));
	}
	for (uint32_t i = job->n_output; i--;)
		put_tensor(&to, 5, job->live->out[job->output[i]].name, job->value[i].dtype, &job->value[i].shape);
	dfg_grpc_put_string(&to, 3, job->id);
	put_version(&to, 2, job->live);
	dfg_grpc_put_string(&to, 1, job->served->name);
	if (!err)
		return dfg_grpc_answer(&to, out_answer);
	dfg_encoder_release(&to);
	return err;
}

/* The elements are in the i-th raw bytes, or in the input's contents. */
static struct dfg_err *read_input(struct dfg_serving_job *job, const struct dfg_kserve_infer *infer, uint32_t i)
{
	const struct dfg_kserve_input *input = &infer->input[i];
	struct dfg_tensor tensor;
	uint32_t number;
	DFG_TRY(dfg_job_find_input(job, input->name, &number));
	enum dfg_dtype dtype = dfg_kserve_dtype(input->datatype);
	if (!dtype)
		return DFG_ERR(DFG_DATA, "unknown datatype '%.40s'", input->datatype);
	if (infer->n_raw && input->has_contents)
		return DFG_ERR(
			DFG_DATA, "the request has both raw_input_contents and contents: give the values in one of them");
	if (infer->n_raw) {
		job->binary = infer->raw[i].bytes;
		job->binary_size = infer->raw[i].size;
		DFG_TRY(dfg_kserve_take(job, infer->raw[i].size, dtype, &input->shape, &tensor));
	} else {
		DFG_TRY(dfg_kserve_read_contents(input, dtype, &tensor));
	}
	return dfg_job_feed(job, number, &tensor);
}

static struct dfg_err *read_request(struct dfg_serving_job *job, const struct dfg_kserve_infer *infer)
{
	if (infer->n_raw && infer->n_raw != infer->n_input)
		return DFG_ERR(DFG_DATA, "there are %u inputs, but %u raw_input_contents", infer->n_input, infer->n_raw);
	job->id = infer->id;
	for (uint32_t i = 0; i < infer->n_output; i++)
		DFG_TRY(dfg_job_fetch(job, infer->output[i]));
	for (uint32_t i = 0; i < infer->n_input; i++)
		DFG_TRY(dfg_err_note(read_input(job, infer, i), "input '%.200s'", infer->input[i].name));
	return NULL;
}

static void model_infer(const struct dfg_grpc_call *call)
{
	struct dfg_arena arena = {0};
	struct dfg_kserve_infer infer;
	struct dfg_served *served = NULL;
	struct dfg_err *err = dfg_kserve_read_infer(call->bytes, call->size, &arena, &infer);
	if (err)
		dfg_grpc_refuse(call, err);
	else
		served = dfg_grpc_model(call, infer.model, infer.version);
	struct dfg_serving_job *job = served ? dfg_job_new(served, call->request, protocol) : NULL;
	if (!job) {
		dfg_arena_release(&arena);
		return;
	}
	job->answer = answer;
	err = read_request(job, &infer);
	const char *id = dfg_arena_print(&job->arena, "%s", infer.id);
	job->id = id ? id : "";
	dfg_arena_release(&arena);
	if (err)
		dfg_job_refuse(job, 0, err);
	else
		dfg_job_submit(job);
}

void dfg_kserve_grpc(struct dfg_serving *serving, struct dfg_web_request *request, const char *name)
{
	static const struct dfg_grpc_method methods[] = {{"ServerLive", server_live}, {"ServerReady", server_ready},
		{"ServerMetadata", server_metadata}, {"ModelReady", model_ready}, {"ModelMetadata", model_metadata},
		{"ModelInfer", model_infer}, {NULL, NULL}};
	dfg_grpc_handle(serving, request, protocol, methods, name);
}
