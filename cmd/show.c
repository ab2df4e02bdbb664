#include "app/graphviz.h"
#include "app/picture.h"
#include "cmd/show.h"

#include "cmd/graph.h"
#include "formats/array.h"
#include "lib/base/path.h"
#include "lib/lang/lang.h"
#include "lib/pass/verify/verify.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct dfg_show_options show_options = {.head = -1};

static const struct dfg_opt options[] = {
	{"tree", .flag = &show_options.tree, .help = "Print the nodes of a graph as a tree of loops, branches and scopes."},
	{"text", .flag = &show_options.text, .help = "Print a graph in the syntax of the language."},
	{"dot", .flag = &show_options.dot, .help = "Print a graph for dot(1), with loops and branches in boxes."},
	{"svg", .flag = &show_options.svg, .help = "Draw a graph, by Graphviz, or the curves of a metrics file."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document per file, one per line."},
	{"hostfile", .flag = &show_options.hostfile,
		.help = "Print a hostfile for mpirun with a line for each worker of a plan."},
	{"hosts", .takes = "H", .text = &show_options.hosts,
		.help = "With --hostfile: the hosts that it lists (this machine)."},
	{"kubernetes", .takes = "IMAGE", .text = &show_options.kubernetes,
		.help = "Print a manifest of Kubernetes that runs a plan with this image."},
	{"replicas", .takes = "R", .number = &show_options.replicas, .least = 1,
		.help = "With --hostfile or --kubernetes: the number of replicas (that of the plan's shards or blocks)."},
	{"node", .takes = "NAME", .text = &show_options.node,
		.help = "Explain one node of a graph, or print one array whole."},
	{"head", .takes = "N", .number = &show_options.head, .least = 1, .help = "Print the first N rows of each array."},
	{0},
};

/* Kinds of content, as bits. */
enum content { GRAPH = 1, PLAN = 2, ARRAYS = 4, CHECKPOINT = 8, METRICS = 16, LIBRARY = 32, TRACE = 64 };

/* The options that choose what is printed of a file, and the contents that each applies to. Of the forms one can be given. */
static const struct choice {
	const char *name;
	const bool *flag;  /* NULL: an option with an argument */
	const char **text; /* NULL: a flag, or --head */
	unsigned contents;
	bool is_form, has_json;
} choices[] = {
	{"--tree", &show_options.tree, NULL, GRAPH | PLAN, true, false},
	{"--text", &show_options.text, NULL, GRAPH | PLAN, true, false},
	{"--dot", &show_options.dot, NULL, GRAPH | PLAN, true, false},
	{"--svg", &show_options.svg, NULL, GRAPH | PLAN | METRICS, true, false},
	{"--node", NULL, &show_options.node, GRAPH | PLAN | ARRAYS | CHECKPOINT, true, true},
	{"--hostfile", &show_options.hostfile, NULL, PLAN, true, false},
	{"--kubernetes", NULL, &show_options.kubernetes, PLAN, true, false},
	{"--head", NULL, NULL, ARRAYS | CHECKPOINT, false, false},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static bool is_given(const struct choice *choice)
{
	if (choice->flag)
		return *choice->flag;
	return choice->text ? *choice->text != NULL : show_options.head >= 0;
}

/* An option that the content has no use for is an error rather than ignored. */
static struct dfg_err *check_choices(const char *path, enum content content)
{
	const char *name = content == GRAPH        ? "a graph"
					   : content == PLAN       ? "a plan"
					   : content == ARRAYS     ? "a file of arrays"
					   : content == CHECKPOINT ? "a checkpoint"
					   : content == METRICS    ? "a file of metrics"
					   : content == TRACE      ? "a trace"
											   : "text of the library";
	for (size_t i = 0; i < CHOICES; i++)
		if (is_given(&choices[i]) && !(choices[i].contents & content))
			return DFG_ERR(DFG_DATA, "%s: %s does not apply to %s", path, choices[i].name, name);
	return NULL;
}

static struct dfg_err *check_forms(void)
{
	const struct choice *form = NULL;
	for (size_t i = 0; i < CHOICES; i++)
		if (choices[i].is_form && is_given(&choices[i])) {
			if (form)
				return DFG_ERR(DFG_USAGE, "%s and %s cannot be combined", form->name, choices[i].name);
			form = &choices[i];
		}
	return NULL;
}

static struct dfg_err *draw_folded(const struct dfg_shown *shown, struct dfg_text *dot)
{
	const struct dfg_picture_options options = {.most = 120};
	return dfg_picture_dot(shown->graph, shown->facts, &options, dot);
}

static struct dfg_err *print_graph(const struct dfg_shown *shown, struct dfg_text *out)
{
	struct dfg_text dot = {0};
	if (show_options.node)
		return dfg_show_node(shown, show_options.node, out);
	if (show_options.tree)
		return dfg_show_tree(shown, out);
	if (show_options.text)
		return dfg_lang_print(shown->graph, out);
	if (show_options.dot)
		return dfg_show_dot(shown, out);
	if (show_options.svg)
		return dfg_graphviz_svg(draw_folded(shown, &dot), &dot, out);
	return dfg_globals.json ? dfg_show_graph_json(shown, out) : dfg_show_summary(shown, out);
}

struct dfg_err *dfg_shown_init(const struct dfg_graph *graph, struct dfg_facts *facts, struct dfg_shown *out_shown)
{
	struct dfg_err *fault = dfg_verify(graph, &(struct dfg_verify_options){.most = 1}, facts);
	*out_shown = (struct dfg_shown){graph, fault ? NULL : facts, graph->source};
	if (!fault || fault->code == DFG_MEMORY)
		return fault;
	dfg_talk("%s: not valid: %s", graph->source, fault->text);
	dfg_err_free(fault);
	return NULL;
}

static struct dfg_err *show_graph(const char *path, struct dfg_text *out)
{
	struct dfg_graph_file file = {0};
	struct dfg_facts facts = {0};
	struct dfg_shown shown;
	DFG_TRY(dfg_cmd_open_graph(path, &file));
	struct dfg_err *err = check_choices(path, GRAPH);
	if (!err)
		err = dfg_shown_init(&file.graph, &facts, &shown);
	if (!err)
		err = print_graph(&shown, out);
	dfg_facts_release(&facts);
	dfg_graph_close(&file);
	return err;
}

/* An array that is printed whole: the only one of a file, or the one that --node names. */
static bool is_whole(const struct dfg_arrays *arrays, const struct dfg_array *array)
{
	if (show_options.head >= 0)
		return false;
	return show_options.node ? !strcmp(show_options.node, array->name) : arrays->count == 1;
}

static struct dfg_err *show_arrays(const char *path, struct dfg_text *out)
{
	struct dfg_arrays arrays;
	DFG_TRY(check_choices(path, ARRAYS));
	DFG_TRY(dfg_arrays_list(path, &arrays));
	struct dfg_err *err = NULL;
	for (size_t i = 0; !err && i < arrays.count; i++)
		if (!arrays.array[i].tensor.data && is_whole(&arrays, &arrays.array[i]))
			err = dfg_arrays_read_listed(path, &arrays.array[i]);
	if (!err && show_options.head >= 0 && !dfg_globals.json)
		err = dfg_arrays_read_first(path, show_options.node, show_options.head, &arrays);
	if (!err)
		err = dfg_show_arrays(path, &arrays, &show_options, out);
	dfg_arrays_release(&arrays);
	return err;
}

static struct dfg_err *show_array(const char *spec, struct dfg_text *out)
{
	struct dfg_tensor tensor;
	struct dfg_arrays arrays = {0};
	DFG_TRY(check_choices(spec, ARRAYS));
	DFG_TRY(show_options.head < 0 ? dfg_array_read_one(spec, &tensor)
								  : dfg_show_first_rows(spec, show_options.head, &tensor));
	struct dfg_err *err = dfg_arrays_add(&arrays, spec, &tensor);
	const struct dfg_show_options whole = {.node = spec, .head = -1};
	if (!err)
		err = dfg_show_arrays(spec, &arrays, &whole, out);
	dfg_arrays_release(&arrays);
	return err;
}

/* Shows the file if it is one of metrics or a trace; *out_is tells whether. */
static struct dfg_err *try_record(const char *path, struct dfg_text *out, bool *out_is)
{
	struct dfg_blob blob;
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	const bool is_trace = dfg_is_trace(&blob);
	*out_is = is_trace || dfg_is_metrics(&blob);
	struct dfg_err *err = *out_is ? check_choices(path, is_trace ? TRACE : METRICS) : NULL;
	if (*out_is && !err)
		err = dfg_err_note(
			is_trace ? dfg_show_trace(&blob, out) : dfg_show_metrics(&blob, show_options.svg, out), "%s", path);
	dfg_blob_close(&blob);
	return err;
}

static struct dfg_err *show_std(const char *name, struct dfg_text *out)
{
	size_t length;
	const char *text = dfg_lang_std(name, &length);
	if (!text)
		return DFG_ERR(DFG_NO_INPUT, "std:%s: no such file of the standard library", name);
	DFG_TRY(check_choices(name - 4, LIBRARY));
	dfg_text_put(out, text, length);
	return NULL;
}

/* A pipe can be read only once and is assumed to contain a graph. */
static bool is_read_once(const char *path)
{
	struct stat stat_;
	return !strcmp(path, "-") || (!stat(path, &stat_) && !S_ISREG(stat_.st_mode));
}

static struct dfg_err *show_one(const char *path, struct dfg_text *out)
{
	bool record, arrays;
	if (!strncmp(path, "std:", 4))
		return show_std(path + 4, out);
	if (dfg_is_array_of_file(path) && !show_options.node)
		return show_array(path, out);
	if (dfg_plan_folder_is(path)) {
		DFG_TRY(check_choices(path, PLAN));
		return dfg_show_plan(path, &show_options, out);
	}
	if (dfg_is_directory(path)) {
		DFG_TRY(check_choices(path, CHECKPOINT));
		return dfg_show_checkpoint(path, &show_options, out);
	}
	if (is_read_once(path) || show_options.tree || show_options.text || show_options.dot)
		return show_graph(path, out);
	DFG_TRY(try_record(path, out, &record));
	if (record)
		return NULL;
	DFG_TRY(dfg_holds_arrays(path, &arrays));
	return arrays ? show_arrays(path, out) : show_graph(path, out);
}

/* Whether all operands are files of metrics, of which other choices than --svg are not asked for. */
static struct dfg_err *are_metrics(char **operands, bool *out_are)
{
	*out_are = true;
	for (; *operands && *out_are; operands++) {
		struct dfg_blob blob;
		*out_are = !is_read_once(*operands) && !dfg_is_directory(*operands) && strncmp(*operands, "std:", 4) != 0 &&
				   !dfg_is_array_of_file(*operands);
		if (!*out_are)
			break;
		DFG_TRY(dfg_blob_open(*operands, 0, &blob));
		*out_are = dfg_is_metrics(&blob);
		dfg_blob_close(&blob);
		if (*out_are)
			DFG_TRY(check_choices(*operands, METRICS));
	}
	return NULL;
}

/* Drawings and texts for people have no JSON form. */
static struct dfg_err *check_json(char **operands)
{
	const char *form = NULL;
	for (size_t i = 0; i < CHOICES && !form; i++)
		if (!choices[i].has_json && is_given(&choices[i]))
			form = choices[i].name;
	for (; *operands && !form; operands++)
		form = !strncmp(*operands, "std:", 4)                       ? "text of the library"
			   : show_options.node && dfg_plan_folder_is(*operands) ? "a node of a plan"
																	: NULL;
	return form ? DFG_ERR(DFG_USAGE, "--json: %s cannot be printed as JSON", form) : NULL;
}

static struct dfg_err *show(char **operands, int *out_status)
{
	(void)out_status;
	show_options.several = operands[0] && operands[1];
	DFG_TRY(check_forms());
	bool runs = false;
	if (show_options.several && !dfg_globals.json)
		DFG_TRY(are_metrics(operands, &runs));
	if (show_options.svg && show_options.several && !runs)
		return DFG_ERR(DFG_USAGE, "--svg: a picture shows one file, or several of metrics");
	dfg_globals.usage = true;
	DFG_TRY(dfg_show_job_check(&show_options));
	dfg_globals.usage = false;
	if (dfg_globals.json)
		DFG_TRY(check_json(operands));
	struct dfg_text out = {0};
	struct dfg_err *err = runs ? dfg_show_runs(operands, show_options.svg, &out) : NULL;
	for (; !runs && *operands && !err; operands++)
		err = show_one(*operands, &out);
	if (!err)
		err = dfg_text_check(&out);
	if (!err && out.length)
		dfg_print(&out);
	dfg_text_release(&out);
	return err;
}

const struct dfg_cmd dfg_cmd_show = {
	.name = "show",
	.operands = "FILE...",
	.summary = "print the content of a file",
	.options = options,
	.least = 1,
	.most = -1,
	.run = show,
};
