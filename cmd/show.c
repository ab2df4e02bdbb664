#include "cmd/show.h"

#include "cmd/graph.h"
#include "cmd/print_tensor.h"
#include "formats/array.h"
#include "lib/lang/lang.h"
#include "lib/pass/verify.h"

#include <string.h>
#include <unistd.h>

static struct dfg_show_options show_options;

static const struct dfg_opt options[] = {
	{"tree", .flag = &show_options.tree, .help = "Print the nodes of a graph as a tree of scopes."},
	{"text", .flag = &show_options.text, .help = "Print a graph in the syntax of the language."},
	{"dot", .flag = &show_options.dot, .help = "Print a graph for dot(1)."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{"node", .takes = "NAME", .text = &show_options.node, .help = "Explain one node of a graph."},
	{0},
};

static struct dfg_err *print_graph(const struct dfg_shown *shown, struct dfg_text *out)
{
	if (show_options.node)
		return dfg_show_node(shown, show_options.node, out);
	if (show_options.tree)
		return dfg_show_tree(shown, out);
	if (show_options.text)
		return dfg_lang_print(shown->graph, out);
	if (show_options.dot)
		return dfg_show_dot(shown, out);
	return dfg_globals.json ? dfg_show_graph_json(shown, out) : dfg_show_summary(shown, out);
}

/* A graph that is not valid can be shown too; then nothing is known of its types, and why is said. */
static struct dfg_err *show_graph(const char *path, struct dfg_text *out)
{
	struct dfg_graph_file file = {0};
	struct dfg_facts facts = {0};
	DFG_TRY(dfg_cmd_open_graph(path, &file));
	struct dfg_err *fault = dfg_verify(&file.graph, &(struct dfg_verify_options){.most = 1}, &facts);
	struct dfg_shown shown = {&file.graph, fault ? NULL : &facts, path};
	if (fault)
		dfg_talk("%s: not valid: %s", path, fault->text);
	dfg_err_free(fault);
	struct dfg_err *err = print_graph(&shown, out);
	dfg_facts_release(&facts);
	dfg_graph_close(&file);
	return err;
}

static bool holds_arrays(const char *path, struct dfg_arrays *arrays)
{
	struct dfg_err *err = dfg_arrays_read(path, arrays);
	bool held = !err;
	dfg_err_free(err);
	return held;
}

/* One array with its elements, or a line for each of many. */
static struct dfg_err *show_arrays(const struct dfg_arrays *arrays, struct dfg_text *out)
{
	for (size_t i = 0; i < arrays->count; i++) {
		const struct dfg_tensor *tensor = &arrays->array[i].tensor;
		if (arrays->count > 1)
			dfg_text_add(out, "%-40s %s\n", arrays->array[i].name, dfg_type_words(tensor->dtype, &tensor->shape).s);
		else
			dfg_print_tensor(out, arrays->array[i].name, tensor, isatty(STDOUT_FILENO) ? 8 : 0);
	}
	return NULL;
}

static struct dfg_err *show_std(const char *name, struct dfg_text *out)
{
	size_t length;
	const char *text = dfg_lang_std(name, &length);
	if (!text)
		return DFG_ERR(DFG_NO_INPUT, "std:%s: no such file of the standard library", name);
	dfg_text_put(out, text, length);
	return NULL;
}

static struct dfg_err *show_one(const char *path, struct dfg_text *out)
{
	struct dfg_arrays arrays = {0};
	if (!strncmp(path, "std:", 4))
		return show_std(path + 4, out);
	bool asked = show_options.tree || show_options.text || show_options.dot || show_options.node;
	struct dfg_err *err = !asked && strcmp(path, "-") && holds_arrays(path, &arrays) ? show_arrays(&arrays, out)
																					 : show_graph(path, out);
	dfg_arrays_release(&arrays);
	return err;
}

static struct dfg_err *show(char **operands, int *out_status)
{
	(void)out_status;
	struct dfg_text out = {0};
	struct dfg_err *err = NULL;
	for (; *operands && !err; operands++)
		err = show_one(*operands, &out);
	if (!err)
		err = dfg_text_check(&out);
	if (!err && out.length)
		fwrite(out.s, 1, out.length, stdout);
	dfg_text_release(&out);
	return err;
}

const struct dfg_cmd dfg_cmd_show = {
	.name = "show",
	.operands = "FILE...",
	.summary = "print what a file holds",
	.options = options,
	.least = 1,
	.most = -1,
	.run = show,
};
