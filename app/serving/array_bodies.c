#include "app/serving/serving_private.h"

#include <string.h>

/* POST /run: files of arrays in and out. The form of the request is found from its content. */
static const char protocol[] = "run";

static const struct form {
	const struct dfg_array_codec *codec;
	const char *type;
} forms[] = {
	{&dfg_npy, "application/x-npy"}, {&dfg_npz, "application/x-npz"}, {&dfg_safetensors, "application/x-safetensors"}};
enum { FORMS = sizeof forms / sizeof *forms };

/* The form of the answer: one that Accept lists, otherwise that of the request. NULL: Accept lists no form. */
static const struct dfg_array_codec *choose_form(const char *accept, const struct dfg_array_codec *request)
{
	if (!accept || strstr(accept, "*/*"))
		return request;
	for (int i = 0; i < FORMS; i++)
		if (strstr(accept, forms[i].type))
			return forms[i].codec;
	return strstr(accept, "application/octet-stream") ? request : NULL;
}

static const char *type_of(const struct dfg_array_codec *codec)
{
	for (int i = 0; i < FORMS; i++)
		if (forms[i].codec == codec)
			return forms[i].type;
	return "application/octet-stream";
}

static struct dfg_err *collect(struct dfg_serving_job *job, struct dfg_arrays *arrays)
{
	for (uint32_t i = 0; i < job->n_output; i++) {
		struct dfg_tensor value;
		DFG_TRY(dfg_tensor_share(&job->value[i], &value));
		DFG_TRY(dfg_arrays_add(arrays, job->live->out[job->output[i]].name, &value));
	}
	return NULL;
}

static struct dfg_err *answer(struct dfg_serving_job *job, struct dfg_web_answer *out_answer)
{
	struct dfg_arrays arrays = {0};
	struct dfg_out out = {.fd = -1};
	struct dfg_err *err = collect(job, &arrays);
	if (!err && job->codec == &dfg_npy && job->n_output != 1)
		err = DFG_ERR(DFG_DATA,
			"npy holds one array, and %u outputs are computed: ask for one by fetch=NAME, or for npz", job->n_output);
	if (!err)
		err = dfg_out_open_memory(&out_answer->body, &out);
	if (!err)
		err = job->codec->write(&arrays, &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	dfg_arrays_release(&arrays);
	out_answer->type = type_of(job->codec);
	return err;
}

static const struct dfg_array_codec *form_of(const struct dfg_web_request *request)
{
	for (int i = 0; i < FORMS; i++)
		if (forms[i].codec->is(request->body, request->size))
			return forms[i].codec;
	return NULL;
}

/* The name of the input that an array without a name is for. */
static struct dfg_err *input_name(struct dfg_serving_job *job, const char **out_name)
{
	*out_name = dfg_url_parameter(&job->arena, job->request->query, "feed");
	if (!*out_name)
		*out_name = dfg_job_only_input(job);
	return *out_name ? NULL
					 : DFG_ERR(DFG_DATA, "model '%.100s' has %u inputs: name the input of the array with ?feed=NAME",
						   job->served->name, job->live->n_in);
}

static struct dfg_err *feed_one(struct dfg_serving_job *job, const char *name, const struct dfg_tensor *array)
{
	uint32_t input;
	struct dfg_tensor value;
	if (!*name)
		DFG_TRY(input_name(job, &name));
	DFG_TRY(dfg_job_find_input(job, name, &input));
	DFG_TRY(dfg_tensor_share(array, &value));
	return dfg_err_note(dfg_job_feed(job, input, &value), "input '%.200s'", name);
}

static struct dfg_err *feed_all(struct dfg_serving_job *job, const struct dfg_arrays *arrays)
{
	for (size_t i = 0; i < arrays->count; i++)
		DFG_TRY(feed_one(job, arrays->array[i].name, &arrays->array[i].tensor));
	return NULL;
}

static struct dfg_err *read_fetches(struct dfg_serving_job *job)
{
	const char *list = dfg_url_parameter(&job->arena, job->request->query, "fetch");
	while (list && *list) {
		size_t n = strcspn(list, ",");
		const char *name = dfg_arena_copy(&job->arena, list, n);
		if (!name)
			return dfg_no_memory("the request");
		DFG_TRY(dfg_job_fetch(job, name));
		list += n + (list[n] == ',');
	}
	return NULL;
}

static struct dfg_err *read_request(struct dfg_serving_job *job, const struct dfg_array_codec *codec, int *out_status)
{
	struct dfg_arrays arrays = {0};
	const struct dfg_blob blob = {.bytes = job->request->body, .size = job->request->size};
	*out_status = 400;
	struct dfg_err *err = codec->read(&blob, NULL, &arrays);
	if (!err) {
		*out_status = 0;
		err = feed_all(job, &arrays);
	}
	dfg_arrays_release(&arrays);
	return err ? err : read_fetches(job);
}

void dfg_arrays_run(struct dfg_served *served, struct dfg_web_request *request)
{
	const struct dfg_array_codec *codec = form_of(request);
	const char *accept = dfg_web_field(request, "accept");
	int status = 0;
	if (strcmp(request->method, "POST") != 0) {
		dfg_serving_error(served, request, protocol, 405, "the method of /run must be POST");
		return;
	}
	if (!codec || !choose_form(accept, codec)) {
		dfg_serving_error(served, request, protocol, codec ? 406 : 415,
			codec ? "Accept lists none of application/x-npy, application/x-npz and application/x-safetensors"
				  : "the body is not npy, npz or safetensors");
		return;
	}
	struct dfg_serving_job *job = dfg_job_new(served, request, protocol);
	if (!job)
		return;
	job->answer = answer;
	job->codec = choose_form(accept, codec);
	struct dfg_err *err = read_request(job, codec, &status);
	if (err)
		dfg_job_refuse(job, err->code == DFG_DATA ? status : 0, err);
	else
		dfg_job_submit(job);
}
