#define _GNU_SOURCE /* for memfd_create */
#include "app/graphviz.h"

#include "lib/base/dynamic_library.h"
#include "lib/base/trial.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Graphviz's libraries draw; a program that never asks for a picture does not require them. They do so in a child process,
 * because a large graph can take them long, and some graphs crash them, in particular when a layout is freed.
 */
enum { SECONDS = 20 };

#define FUNCTION(result, name, arguments) static result(*dfg_##name) arguments;
#include "app/gvc.def"
#include "app/cgraph.def"
#undef FUNCTION

#define FUNCTION(result, name, arguments) {#name, (void **)&dfg_##name},
static const struct dfg_library_function gvc_functions[] = {
#include "app/gvc.def"
	{NULL, NULL}};
static const struct dfg_library_function cgraph_functions[] = {
#include "app/cgraph.def"
	{NULL, NULL}};
#undef FUNCTION

static const struct dfg_dynamic_library gvc = {"libgvc.so.6", "libgvc6", gvc_functions};
static const struct dfg_dynamic_library cgraph = {"libcgraph.so.6", "libcgraph6", cgraph_functions};

struct drawing {
	const char *dot;
	int fd;
};

static void write_all(int fd, const char *bytes, size_t count)
{
	for (ssize_t n; count && (n = write(fd, bytes, count)) > 0; bytes += n)
		count -= (size_t)n;
}

/* Writes the picture, or what is wrong: that does not begin with '<'. */
static void draw(void *arg)
{
	const struct drawing *drawing = arg;
	const char *wrong = "Graphviz cannot write SVG: apt-get install graphviz";
	char *bytes = NULL;
	size_t length = 0; /* of 32 bits in older versions */
	void *graph = dfg_agmemread(drawing->dot), *context = graph ? dfg_gvContext() : NULL;
	if (!context)
		wrong = "Graphviz cannot read the graph";
	else if (dfg_gvLayout(context, graph, "dot"))
		wrong = "Graphviz has no layout engine dot: apt-get install graphviz";
	else if (!dfg_gvRenderData(context, graph, "svg", &bytes, &length) && bytes)
		wrong = NULL;
	write_all(drawing->fd, wrong ? wrong : bytes, wrong ? strlen(wrong) : length);
}

static struct dfg_err *take_picture(int fd, struct dfg_text *out)
{
	struct stat stat_;
	if (fstat(fd, &stat_) || stat_.st_size <= 0)
		return DFG_ERR(DFG_MEMORY, "not enough memory for the picture");
	const char *bytes = mmap(NULL, (size_t)stat_.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return DFG_ERR(DFG_MEMORY, "not enough memory for the picture");
	struct dfg_err *err =
		*bytes == '<' ? NULL : DFG_ERR(DFG_CONFIG, "%.*s", (int)(stat_.st_size < 200 ? stat_.st_size : 200), bytes);
	if (!err)
		dfg_text_put(out, bytes, (size_t)stat_.st_size);
	munmap((void *)bytes, (size_t)stat_.st_size);
	return err;
}

static struct dfg_err *draw_aside(const char *dot, struct dfg_text *out)
{
	struct drawing drawing = {dot, memfd_create("picture", MFD_CLOEXEC)};
	if (drawing.fd < 0)
		return DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno));
	struct dfg_err *err =
		dfg_trial("Graphviz", "it cannot draw this graph; --dot prints what it reads", draw, &drawing, SECONDS);
	if (!err)
		err = take_picture(drawing.fd, out);
	close(drawing.fd);
	return err;
}

struct dfg_err *dfg_graphviz_svg(struct dfg_err *err, struct dfg_text *dot, struct dfg_text *out)
{
	if (!err)
		err = dfg_text_check(dot);
	if (!err)
		err = dfg_library_open(&cgraph);
	if (!err)
		err = dfg_library_open(&gvc);
	if (!err)
		err = draw_aside(dot->s, out);
	dfg_text_release(dot);
	return err;
}
