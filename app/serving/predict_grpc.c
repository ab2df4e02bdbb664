#include "app/serving/grpc_private.h"
#include "formats/predict.h"

#include <string.h>

/*
 * The gRPC form of TensorFlow Serving: Predict and GetModelMetadata of PredictionService, GetModelStatus of ModelService.
 */
static const char protocol[] = "tensorflow-grpc";

/* A ModelSpec. */
static void put_spec(
	struct dfg_encoder *to, uint32_t field, const char *name, const struct dfg_live_model *live, const char *signature)
{
	size_t mark = dfg_encode_mark(to), inner;
	dfg_grpc_put_string(to, 3, signature);
	inner = dfg_encode_mark(to);
	dfg_encode_number(to, 1, live->version);
	dfg_encode_head(to, 2, inner);
	dfg_grpc_put_string(to, 1, name);
	dfg_encode_head(to, field, mark);
}

/* Reads a request and finds its model; NULL: refused. */
static struct dfg_served *read_call(
	const struct dfg_grpc_call *call, bool is_prediction, struct dfg_arena *arena, struct dfg_predict_request *asked)
{
	struct dfg_err *err = dfg_predict_read(call->bytes, call->size, is_prediction, arena, asked);
	if (!err && *asked->label)
		err =
			DFG_ERR(DFG_DATA, "version_label '%.100s' is not supported: give the number of the version", asked->label);
	if (!err && *asked->signature && strcmp(asked->signature, "serving_default") != 0)
		err = DFG_ERR(DFG_DATA, "the only signature is \"serving_default\", not '%.100s'", asked->signature);
	if (!err)
		return dfg_grpc_model(call, asked->model, asked->version);
	dfg_grpc_refuse(call, err);
	return NULL;
}

static struct dfg_err *answer(struct dfg_serving_job *job, struct dfg_web_answer *out_answer)
{
	struct dfg_encoder to = {0};
	put_spec(&to, 2, job->served->name, job->live, "serving_default");
	for (uint32_t i = job->n_output; i--;) {
		size_t mark = dfg_encode_mark(&to);
		dfg_predict_put_tensor(&to, 2, &job->value[i]);
		dfg_grpc_put_string(&to, 1, job->live->out[job->output[i]].name);
		dfg_encode_head(&to, 1, mark);
	}
	return dfg_grpc_answer(&to, out_answer);
}

static struct dfg_err *read_request(struct dfg_serving_job *job, struct dfg_predict_request *asked)
{
	for (uint32_t i = 0; i < asked->n_output; i++)
		DFG_TRY(dfg_job_fetch(job, asked->output[i]));
	for (uint32_t i = 0; i < asked->n_input; i++) {
		struct dfg_tensor tensor = asked->input[i].tensor;
		uint32_t input;
		DFG_TRY(dfg_job_find_input(job, asked->input[i].name, &input));
		asked->input[i].tensor = (struct dfg_tensor){0};
		DFG_TRY(dfg_err_note(dfg_job_feed(job, input, &tensor), "input '%.200s'", asked->input[i].name));
	}
	return NULL;
}

static void predict(const struct dfg_grpc_call *call)
{
	struct dfg_arena arena = {0};
	struct dfg_predict_request asked;
	struct dfg_served *served = read_call(call, true, &arena, &asked);
	struct dfg_serving_job *job = served ? dfg_job_new(served, call->request, protocol) : NULL;
	struct dfg_err *err = NULL;
	if (job) {
		job->answer = answer;
		err = read_request(job, &asked);
	}
	dfg_predict_release(&asked);
	dfg_arena_release(&arena);
	if (err)
		dfg_job_refuse(job, 0, err);
	else if (job)
		dfg_job_submit(job);
}

/* Inputs or outputs of a SignatureDef: a map to TensorInfo. */
static void put_ports(struct dfg_encoder *to, uint32_t field, const struct dfg_serving_port *port, uint32_t count)
{
	while (count--) {
		size_t entry = dfg_encode_mark(to);
		dfg_predict_put_shape(to, 3, &port[count].shape);
		dfg_encode_number(to, 2, port[count].dtype);
		dfg_grpc_put_string(to, 1, port[count].name);
		dfg_encode_head(to, 2, entry);
		dfg_grpc_put_string(to, 1, port[count].name);
		dfg_encode_head(to, field, entry);
	}
}

/* A SignatureDefMap with one entry. */
static void put_signatures(struct dfg_encoder *to, uint32_t field, const struct dfg_live_model *live)
{
	size_t mark = dfg_encode_mark(to);
	dfg_grpc_put_string(to, 3, "tensorflow/serving/predict");
	put_ports(to, 2, live->out, live->n_out);
	put_ports(to, 1, live->in, live->n_in);
	dfg_encode_head(to, 2, mark);
	dfg_grpc_put_string(to, 1, "serving_default");
	dfg_encode_head(to, 1, mark);
	dfg_encode_head(to, field, mark);
}

static void metadata(const struct dfg_grpc_call *call)
{
	struct dfg_arena arena = {0};
	struct dfg_predict_request asked;
	struct dfg_encoder to = {0};
	struct dfg_served *served = read_call(call, false, &arena, &asked);
	dfg_arena_release(&arena);
	if (!served)
		return;
	struct dfg_live_model *live = dfg_served_live(served);
	size_t mark = dfg_encode_mark(&to);
	put_signatures(&to, 2, live);
	dfg_grpc_put_string(&to, 1, "type.googleapis.com/tensorflow.serving.SignatureDefMap");
	dfg_encode_head(&to, 2, mark);
	dfg_grpc_put_string(&to, 1, "signature_def");
	dfg_encode_head(&to, 2, mark);
	put_spec(&to, 1, served->name, live, "");
	dfg_live_model_unref(live);
	dfg_grpc_reply(served, call->request, protocol, &to);
}

static void status(const struct dfg_grpc_call *call)
{
	enum { AVAILABLE = 30 };
	struct dfg_arena arena = {0};
	struct dfg_predict_request asked;
	struct dfg_encoder to = {0};
	struct dfg_served *served = read_call(call, false, &arena, &asked);
	dfg_arena_release(&arena);
	if (!served)
		return;
	struct dfg_live_model *live = dfg_served_live(served);
	size_t mark = dfg_encode_mark(&to);
	dfg_encode_head(&to, 3, mark); /* no error */
	dfg_encode_number(&to, 2, AVAILABLE);
	dfg_encode_number(&to, 1, live->version);
	dfg_encode_head(&to, 1, mark);
	dfg_live_model_unref(live);
	dfg_grpc_reply(served, call->request, protocol, &to);
}

void dfg_tensorflow_grpc(struct dfg_serving *serving, struct dfg_web_request *request, const char *name)
{
	static const struct dfg_grpc_method methods[] = {{"PredictionService/Predict", predict},
		{"PredictionService/GetModelMetadata", metadata}, {"ModelService/GetModelStatus", status}, {NULL, NULL}};
	dfg_grpc_handle(serving, request, protocol, methods, name);
}
