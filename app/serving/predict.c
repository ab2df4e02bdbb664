#include "app/serving/serving_private.h"

#include "app/tensor_text.h"

#include <stdio.h>
#include <string.h>

/*
 * The REST form of TensorFlow Serving: ":predict" by rows ("instances", one a sample) or by columns ("inputs", whole
 * tensors). Types are not sent; elements take those of the model's inputs.
 */
static const char protocol[] = "tensorflow-rest";

/* Reads a column: nested lists, or a scalar. */
static struct dfg_err *feed_column(struct dfg_serving_job *job, uint32_t input, const struct dfg_json *data)
{
	struct dfg_shape shape;
	struct dfg_tensor tensor;
	DFG_TRY(dfg_json_shape(data, &shape));
	DFG_TRY(dfg_json_to_tensor(data, job->live->in[input].dtype, &shape, &tensor));
	return dfg_job_feed(job, input, &tensor);
}

static struct dfg_err *feed_named(struct dfg_serving_job *job, const char *name, const struct dfg_json *data)
{
	uint32_t input;
	DFG_TRY(dfg_job_find_input(job, name, &input));
	return dfg_err_note(feed_column(job, input, data), "input '%.200s'", name);
}

static struct dfg_err *only_input(const struct dfg_serving_job *job, const char **out_name)
{
	*out_name = dfg_job_only_input(job);
	return *out_name ? NULL
					 : DFG_ERR(DFG_DATA, "model '%.100s' has %u inputs: %s", job->served->name, job->live->n_in,
						   job->by_row ? "each instance must be an object with their names"
									   : "\"inputs\" must be an object with their names");
}

static bool is_named(const struct dfg_json *value)
{
	return value->kind == DFG_JSON_OBJECT && !(value->count == 1 && dfg_json_get(value, "b64"));
}

static struct dfg_err *read_columns(struct dfg_serving_job *job, const struct dfg_json *inputs)
{
	const char *name;
	if (is_named(inputs)) {
		for (const struct dfg_json *input = inputs->first; input; input = input->next)
			DFG_TRY(feed_named(job, input->key, input));
		return NULL;
	}
	DFG_TRY(only_input(job, &name));
	return feed_named(job, name, inputs);
}

/* Makes the column of a key of the instances, which are objects with the same keys. */
static struct dfg_err *gather(
	struct dfg_serving_job *job, const struct dfg_json *instances, const char *key, struct dfg_json **out_column)
{
	struct dfg_json *column = dfg_arena_zeros(&job->arena, 1, sizeof *column), **last;
	if (!column)
		return dfg_no_memory("the request");
	*column = (struct dfg_json){.kind = DFG_JSON_ARRAY, .count = instances->count};
	last = &column->first;
	size_t i = 0;
	for (const struct dfg_json *instance = instances->first; instance; instance = instance->next, i++) {
		const struct dfg_json *value = is_named(instance) ? dfg_json_get(instance, key) : NULL;
		struct dfg_json *copy = dfg_arena_zeros(&job->arena, 1, sizeof *copy);
		if (!value || instance->count != instances->first->count)
			return DFG_ERR(DFG_DATA, "instance %zu does not have the same inputs as the first one", i);
		if (!copy)
			return dfg_no_memory("the request");
		*copy = *value;
		copy->next = NULL;
		*last = copy;
		last = &copy->next;
	}
	*out_column = column;
	return NULL;
}

static struct dfg_err *read_rows(struct dfg_serving_job *job, const struct dfg_json *instances)
{
	const char *name;
	struct dfg_json *column;
	if (instances->kind != DFG_JSON_ARRAY || !instances->count)
		return DFG_ERR(DFG_DATA, "\"instances\" must be a list that is not empty");
	job->by_row = true;
	if (is_named(instances->first)) {
		for (const struct dfg_json *input = instances->first->first; input; input = input->next) {
			DFG_TRY(gather(job, instances, input->key, &column));
			DFG_TRY(feed_named(job, input->key, column));
		}
		return NULL;
	}
	DFG_TRY(only_input(job, &name));
	return feed_named(job, name, instances);
}

/* Row i of the tensor, which refers to its elements. */
static struct dfg_tensor row_of(const struct dfg_tensor *tensor, int64_t i)
{
	struct dfg_tensor row = *tensor;
	row.shape.rank--;
	for (int axis = 0; axis < row.shape.rank; axis++)
		row.shape.dim[axis] = tensor->shape.dim[axis + 1];
	row.shape.dim[row.shape.rank] = 0;
	row.data = dfg_tensor_at(tensor, i * dfg_shape_count(&row.shape));
	return row;
}

static void put_row(struct dfg_serving_job *job, struct dfg_json_out *json, int64_t i)
{
	bool is_named = job->n_output > 1;
	if (is_named)
		dfg_json_open(json, '{');
	for (uint32_t k = 0; k < job->n_output; k++) {
		struct dfg_tensor row = row_of(&job->value[k], i);
		if (is_named)
			dfg_json_key(json, job->live->out[job->output[k]].name);
		dfg_json_elements(json, &row);
	}
	if (is_named)
		dfg_json_close(json, '}');
}

static struct dfg_err *answer_rows(struct dfg_serving_job *job, struct dfg_json_out *json)
{
	const struct dfg_shape *first = &job->value[0].shape;
	for (uint32_t k = 0; k < job->n_output; k++)
		if (job->value[k].shape.rank < 1 || job->value[k].shape.dim[0] != first->dim[0])
			return DFG_ERR(DFG_DATA,
				"output '%.200s' is %s, which does not have a row for each instance: send \"inputs\" instead of "
				"\"instances\"",
				job->live->out[job->output[k]].name, dfg_type_words(job->value[k].dtype, &job->value[k].shape).s);
	dfg_json_key(json, "predictions"), dfg_json_open(json, '[');
	for (int64_t i = 0; i < first->dim[0]; i++)
		put_row(job, json, i);
	dfg_json_close(json, ']');
	return NULL;
}

static struct dfg_err *answer_columns(struct dfg_serving_job *job, struct dfg_json_out *json)
{
	dfg_json_key(json, "outputs");
	if (job->n_output > 1)
		dfg_json_open(json, '{');
	for (uint32_t k = 0; k < job->n_output; k++) {
		if (job->n_output > 1)
			dfg_json_key(json, job->live->out[job->output[k]].name);
		dfg_json_elements(json, &job->value[k]);
	}
	if (job->n_output > 1)
		dfg_json_close(json, '}');
	return NULL;
}

static struct dfg_err *answer(struct dfg_serving_job *job, struct dfg_web_answer *out_answer)
{
	struct dfg_json_out json = {0};
	dfg_json_open(&json, '{');
	struct dfg_err *err = job->by_row ? answer_rows(job, &json) : answer_columns(job, &json);
	dfg_json_close(&json, '}');
	dfg_text_put(&json.text, "\n", 1);
	out_answer->body = json.text;
	return err;
}

static struct dfg_err *read_request(struct dfg_serving_job *job, const struct dfg_json *root)
{
	const struct dfg_json *rows = dfg_json_get(root, "instances"), *columns = dfg_json_get(root, "inputs");
	const struct dfg_json *signature = dfg_json_get(root, "signature_name");
	if (signature)
		DFG_TRY(dfg_json_need(root, "signature_name", DFG_JSON_STRING, &signature));
	if (signature && *signature->string && strcmp(signature->string, "serving_default") != 0)
		return DFG_ERR(DFG_DATA, "the only signature is \"serving_default\", not '%.100s'", signature->string);
	if (!rows == !columns)
		return DFG_ERR(DFG_DATA, "the body must have exactly one of \"instances\" and \"inputs\"");
	return rows ? read_rows(job, rows) : read_columns(job, columns);
}

static void predict(struct dfg_served *served, struct dfg_web_request *request)
{
	struct dfg_serving_job *job = dfg_job_new(served, request, protocol);
	if (!job)
		return;
	job->answer = answer;
	dfg_job_submit_json(job, request->size, read_request);
}

static void put_text(struct dfg_json_out *json, const char *key, const char *text)
{
	dfg_json_key(json, key), dfg_json_string(json, text);
}

static void answer_status(struct dfg_served *served, struct dfg_web_request *request)
{
	struct dfg_json_out json = {0};
	struct dfg_live_model *live = dfg_served_live(served);
	dfg_json_open(&json, '{'), dfg_json_key(&json, "model_version_status"), dfg_json_open(&json, '[');
	dfg_json_open(&json, '{');
	dfg_serving_put_version(&json, "version", live);
	dfg_live_model_unref(live);
	put_text(&json, "state", "AVAILABLE");
	dfg_json_key(&json, "status"), dfg_json_open(&json, '{');
	put_text(&json, "error_code", "OK");
	put_text(&json, "error_message", "");
	dfg_json_close(&json, '}'), dfg_json_close(&json, '}');
	dfg_json_close(&json, ']'), dfg_json_close(&json, '}');
	dfg_serving_reply_json(served, request, protocol, &json);
}

/* The names of TensorFlow's DataType. */
static const char *type_name(enum dfg_dtype dtype)
{
	static const char *const names[DFG_DTYPES] = {[DFG_F32] = "DT_FLOAT",
		[DFG_F64] = "DT_DOUBLE",
		[DFG_I32] = "DT_INT32",
		[DFG_U8] = "DT_UINT8",
		[DFG_I16] = "DT_INT16",
		[DFG_I8] = "DT_INT8",
		[DFG_STRING] = "DT_STRING",
		[DFG_C64] = "DT_COMPLEX64",
		[DFG_I64] = "DT_INT64",
		[DFG_BOOL] = "DT_BOOL",
		[DFG_BF16] = "DT_BFLOAT16",
		[DFG_U16] = "DT_UINT16",
		[DFG_C128] = "DT_COMPLEX128",
		[DFG_F16] = "DT_HALF",
		[DFG_U32] = "DT_UINT32",
		[DFG_U64] = "DT_UINT64"};
	return names[dtype] ? names[dtype] : "DT_INVALID";
}

static void put_ports(struct dfg_json_out *json, const char *key, const struct dfg_serving_port *port, uint32_t count)
{
	char text[32];
	dfg_json_key(json, key), dfg_json_open(json, '{');
	for (uint32_t i = 0; i < count; i++) {
		dfg_json_key(json, port[i].name), dfg_json_open(json, '{');
		put_text(json, "dtype", type_name(port[i].dtype));
		dfg_json_key(json, "tensor_shape"), dfg_json_open(json, '{');
		dfg_json_key(json, "dim"), dfg_json_open(json, '[');
		for (int axis = 0; axis < port[i].shape.rank; axis++) {
			snprintf(text, sizeof text, "%lld", (long long)port[i].shape.dim[axis]);
			dfg_json_open(json, '{'), put_text(json, "size", text), put_text(json, "name", ""),
				dfg_json_close(json, '}');
		}
		dfg_json_close(json, ']');
		dfg_json_key(json, "unknown_rank"), dfg_json_bool(json, port[i].shape.rank < 0);
		dfg_json_close(json, '}');
		put_text(json, "name", port[i].name);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, '}');
}

static void answer_metadata(struct dfg_served *served, struct dfg_web_request *request)
{
	struct dfg_json_out json = {0};
	struct dfg_live_model *live = dfg_served_live(served);
	dfg_json_open(&json, '{'), dfg_json_key(&json, "model_spec"), dfg_json_open(&json, '{');
	put_text(&json, "name", served->name), put_text(&json, "signature_name", "");
	dfg_serving_put_version(&json, "version", live);
	dfg_json_close(&json, '}');
	for (int i = 0; i < 4; i++) {
		static const char *const key[] = {"metadata", "signature_def", "signature_def", "serving_default"};
		dfg_json_key(&json, key[i]), dfg_json_open(&json, '{');
	}
	put_ports(&json, "inputs", live->in, live->n_in);
	put_ports(&json, "outputs", live->out, live->n_out);
	put_text(&json, "method_name", "tensorflow/serving/predict");
	for (int i = 0; i < 5; i++)
		dfg_json_close(&json, '}');
	dfg_live_model_unref(live);
	dfg_serving_reply_json(served, request, protocol, &json);
}

void dfg_tensorflow_model(struct dfg_served *served, struct dfg_web_request *request, const char *rest)
{
	bool is_verb = *rest == ':', is_post = !strcmp(request->method, "POST");
	if (!strcmp(rest, ":classify") || !strcmp(rest, ":regress"))
		dfg_serving_error(served, request, protocol, 501, "%s is not supported; use :predict", rest);
	else if (is_verb != is_post)
		dfg_serving_error(
			served, request, protocol, 405, "the method of %.200s must be %s", request->path, is_verb ? "POST" : "GET");
	else if (!strcmp(rest, ":predict"))
		predict(served, request);
	else if (!*rest)
		answer_status(served, request);
	else if (!strcmp(rest, "/metadata"))
		answer_metadata(served, request);
	else
		dfg_serving_error(
			served, request, protocol, 404, "model '%.100s' has no endpoint '%.100s'", served->name, rest);
}
