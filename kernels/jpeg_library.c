#include "kernels/jpeg_library.h"
#include "lib/base/dynamic_library.h"

#include <stdio.h>

#define FUNCTION(result, name, arguments) result(*dfg_##name) arguments;
#include "kernels/jpeg.def"
#undef FUNCTION

static const struct dfg_library_function functions[] = {
#define FUNCTION(result, name, arguments) {#name, (void **)&dfg_##name},
#include "kernels/jpeg.def"
#undef FUNCTION
	{NULL, NULL}};

static const struct dfg_dynamic_library library = {"libjpeg.so.62", "libjpeg62-turbo", functions};

struct codec {
	JPEG_COMMON;
};

static void on_error(void *codec)
{
	struct dfg_jpeg *jpeg = ((struct codec *)codec)->client;
	char words[200]; /* as libjpeg requires */
	jpeg->errors.format_message(codec, words);
	snprintf(jpeg->words, sizeof jpeg->words, "libjpeg: %s", words);
	longjmp(jpeg->failed, 1);
}

static void print_nothing(void *codec)
{
	(void)codec;
}

void dfg_jpeg_fail(struct dfg_jpeg *jpeg, const char *words)
{
	snprintf(jpeg->words, sizeof jpeg->words, "%s", words);
	longjmp(jpeg->failed, 1);
}

struct dfg_err *dfg_jpeg_begin(struct dfg_jpeg *jpeg, struct dfg_jpeg_errors **out_err, void **out_client)
{
	DFG_TRY(dfg_library_open(&library));
	*out_err = dfg_jpeg_std_error(&jpeg->errors);
	*out_client = jpeg;
	jpeg->errors.error_exit = on_error;
	jpeg->errors.output_message = print_nothing;
	return NULL;
}

struct dfg_err *dfg_jpeg_try(struct dfg_jpeg *jpeg, void (*act)(void *arg), void *arg)
{
	if (setjmp(jpeg->failed))
		return DFG_ERR(DFG_DATA, "%s", jpeg->words);
	act(arg);
	return NULL;
}
