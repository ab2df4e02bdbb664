#include "kernels/png_library.h"
#include "lib/base/dynamic_library.h"

#include <stdio.h>

#define FUNCTION(result, name, arguments) result(*dfg_##name) arguments;
#include "kernels/png.def"
#undef FUNCTION

static const struct dfg_library_function functions[] = {
#define FUNCTION(result, name, arguments) {#name, (void **)&dfg_##name},
#include "kernels/png.def"
#undef FUNCTION
	{NULL, NULL}};

static const struct dfg_dynamic_library library = {"libpng16.so.16", "libpng16-16", functions};

struct dfg_err *dfg_png_open(void)
{
	return dfg_library_open(&library);
}

static void on_error(void *codec, const char *words)
{
	struct dfg_png *png = dfg_png_get_error_ptr(codec);
	snprintf(png->words, sizeof png->words, "libpng: %s", words);
	longjmp(png->failed, 1);
}

static void on_warning(void *codec, const char *words)
{
	(void)codec, (void)words;
}

void dfg_png_make(struct dfg_png *png, bool writer)
{
	png->codec =
		(writer ? dfg_png_create_write_struct : dfg_png_create_read_struct)(PNG_VERSION, png, on_error, on_warning);
	png->info = png->codec ? dfg_png_create_info_struct(png->codec) : NULL;
	if (png->info)
		return;
	snprintf(png->words, sizeof png->words, "libpng: no memory, or another version than 1.6");
	longjmp(png->failed, 1);
}

struct dfg_err *dfg_png_try(struct dfg_png *png, void (*act)(void *arg), void *arg)
{
	if (setjmp(png->failed))
		return DFG_ERR(DFG_DATA, "%s", png->words);
	act(arg);
	return NULL;
}
