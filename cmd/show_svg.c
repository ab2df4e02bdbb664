#include "cmd/show.h"

#include "lib/base/dynamic_library.h"

/* A picture of a graph: Graphviz draws the text that --dot prints. */

#define FUNCTION(result, name, arguments) static result(*dfg_##name) arguments;
#include "cmd/gvc.def"
#include "cmd/cgraph.def"
#undef FUNCTION

#define FUNCTION(result, name, arguments) {#name, (void **)&dfg_##name},
static const struct dfg_library_function gvc_functions[] = {
#include "cmd/gvc.def"
	{NULL, NULL}};
static const struct dfg_library_function cgraph_functions[] = {
#include "cmd/cgraph.def"
	{NULL, NULL}};
#undef FUNCTION

static const struct dfg_dynamic_library gvc = {"libgvc.so.6", "libgvc6", gvc_functions};
static const struct dfg_dynamic_library cgraph = {"libcgraph.so.6", "libcgraph6", cgraph_functions};

static struct dfg_err *render(void *context, void *graph, struct dfg_text *out)
{
	char *bytes = NULL;
	size_t length = 0; /* of 32 bits in older versions */
	if (dfg_gvLayout(context, graph, "dot"))
		return DFG_ERR(DFG_CONFIG, "Graphviz has no layout engine dot: apt-get install graphviz");
	bool drawn = !dfg_gvRenderData(context, graph, "svg", &bytes, &length) && bytes;
	if (drawn)
		dfg_text_put(out, bytes, length);
	dfg_gvFreeRenderData(bytes);
	dfg_gvFreeLayout(context, graph);
	return drawn ? NULL : DFG_ERR(DFG_CONFIG, "Graphviz cannot write SVG: apt-get install graphviz");
}

static struct dfg_err *draw(const char *text, struct dfg_text *out)
{
	void *graph = dfg_agmemread(text), *context = graph ? dfg_gvContext() : NULL;
	struct dfg_err *err =
		context ? render(context, graph, out) : DFG_ERR(DFG_MEMORY, "Graphviz has no memory for the picture");
	if (graph)
		dfg_agclose(graph);
	if (context)
		dfg_gvFreeContext(context);
	return err;
}

struct dfg_err *dfg_show_svg(struct dfg_err *err, struct dfg_text *dot, struct dfg_text *out)
{
	if (!err)
		err = dfg_text_check(dot);
	if (!err)
		err = dfg_library_open(&cgraph);
	if (!err)
		err = dfg_library_open(&gvc);
	if (!err)
		err = draw(dot->s, out);
	dfg_text_release(dot);
	return err;
}
