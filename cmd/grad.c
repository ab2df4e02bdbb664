#include "cmd/cmd.h"
#include "cmd/graph.h"
#include "cmd/remat.h"
#include "formats/plan.h"
#include "lib/pass/grad/make_ops.h"
#include "lib/pass/grad/train.h"
#include "lib/pass/grad/variables.h"
#include "lib/pass/verify/verify.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/rewrite/variants.h"

#include <fnmatch.h>
#include <string.h>

static struct dfg_words_list of, wrt, include;
static const char *prefix = "grad", *loss, *optimizer;
static double clip_norm = -1; /* -1: not given */
static bool dense;
static struct dfg_remat remat;

static const struct dfg_opt options[] = {
	{"of", .takes = "Y", .list = &of, .help = "Differentiate the sum of all elements of Y, or of a list Y,Y2."},
	{"wrt", .takes = "A", .list = &wrt,
		.help = "With respect to A: a tensor, a variable, or a pattern over variables and inputs."},
	{"prefix", .takes = "P", .text = &prefix, .help = "Name the results P/A instead of grad/A."},
	{"loss", .takes = "L", .text = &loss, .help = "Add the node train: one step of the optimizer on L."},
	{"optimizer", .takes = "CALL", .text = &optimizer,
		.help = "The optimizer, such as 'adam(lr=0.001)' or 'my.dfg:lion(lr=0.1)'."},
	{"clip-norm", .takes = "C", .real = &clip_norm, .help = "Scale all gradients together to a norm of at most C."},
	{"dense", .flag = &dense, .help = "Make all gradients dense, even those that would be rows of a variable."},
	{.rows = dfg_remat_options},
	{"include", 'I', .takes = "DIR", .list = &include, .help = "Look for the optimizer's imports in DIR."},
	{.rows = dfg_graph_in_options},
	{.rows = dfg_graph_out_options},
	{0},
};

/* The edges named by --of and --wrt. */
struct edges {
	struct dfg_edge *edge;
	size_t count, capacity;
};

static struct dfg_err *add_edge(struct edges *edges, struct dfg_edge edge)
{
	for (size_t i = 0; i < edges->count; i++)
		if (dfg_edge_same(edges->edge[i], edge))
			return NULL;
	if (!dfg_reserve(&edges->edge, &edges->capacity, edges->count + 1, sizeof *edges->edge))
		return DFG_ERR(DFG_MEMORY, "no memory for %zu tensors", edges->count);
	edges->edge[edges->count++] = edge;
	return NULL;
}

/* A pattern matches only variables and inputs that have a derivative. */
static bool may_match(const struct dfg_builder *builder, uint32_t n)
{
	const struct dfg_op *op = builder->graph->node[n].op;
	bool is_input = op && (op->role == DFG_PLACEHOLDER || op->role == DFG_PLACEHOLDER_DEFAULT);
	return (is_input || dfg_is_variable(builder, n)) && dfg_facts_outputs(&builder->facts, n) &&
		   dfg_flow_dtype(dfg_facts_of(&builder->facts, (struct dfg_edge){n, 0}));
}

static struct dfg_err *add_matches(const struct dfg_builder *builder, const char *pattern, struct edges *edges)
{
	size_t before = edges->count;
	for (uint32_t n = 0; n < builder->graph->count; n++)
		if (!fnmatch(pattern, builder->graph->node[n].name, 0) && may_match(builder, n))
			DFG_TRY(add_edge(edges, (struct dfg_edge){n, 0}));
	if (edges->count == before)
		return DFG_ERR(DFG_DATA, "--wrt: no variable or input of floats matches '%s'", pattern);
	return NULL;
}

static struct dfg_err *add_trainable(const struct dfg_builder *builder, struct edges *edges)
{
	struct dfg_numbers variables = {0};
	bool guessed;
	struct dfg_err *err = dfg_trainable(builder, &variables, &guessed);
	for (size_t i = 0; i < variables.count && !err; i++)
		err = add_edge(edges, (struct dfg_edge){variables.number[i], 0});
	if (!err && !variables.count)
		err = DFG_ERR(DFG_DATA, "the graph has no trainable variables: name tensors with --wrt");
	dfg_numbers_release(&variables);
	return err;
}

/* The exact name of a node is that node, even if it looks like a pattern. */
static struct dfg_err *find_wrt(const struct dfg_builder *builder, struct dfg_arena *arena, struct edges *edges)
{
	const char **word;
	uint32_t count;
	DFG_TRY(dfg_words_split(&wrt, arena, &word, &count));
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_edge edge;
		if (strpbrk(word[i], "*?[") && dfg_graph_find(builder->graph, word[i]) == DFG_NONE) {
			DFG_TRY(add_matches(builder, word[i], edges));
			continue;
		}
		DFG_TRY(dfg_find_tensor(builder->graph, word[i], "--wrt", &edge));
		DFG_TRY(add_edge(edges, edge));
	}
	return NULL;
}

static struct dfg_err *find_of(const struct dfg_builder *builder, struct dfg_arena *arena, struct edges *edges)
{
	const char **word;
	uint32_t count;
	DFG_TRY(dfg_words_split(&of, arena, &word, &count));
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_find_tensor(builder->graph, word[i], "--of", &edge));
		DFG_TRY(add_edge(edges, edge));
	}
	return NULL;
}

static struct dfg_err *add_gradients(struct dfg_builder *builder, struct dfg_arena *arena, const struct edges *by)
{
	struct edges what = {0};
	struct dfg_text notes = {0};
	const struct dfg_grad_options grad = {.prefix = prefix, .remat = remat, .notes = &notes};
	struct dfg_cotangent *result = dfg_arena_zeros(arena, by->count + 1, sizeof *result);
	struct dfg_err *err = result ? find_of(builder, arena, &what) : dfg_no_memory("the results");
	if (!err)
		err = dfg_grad(builder, what.edge, (uint32_t)what.count, by->edge, (uint32_t)by->count, &grad, result);
	if (!err)
		dfg_talk_lines(&notes);
	dfg_text_release(&notes);
	dfg_free(what.edge);
	return err;
}

/* Training updates variables, which have one output each. */
static struct dfg_err *add_training(struct dfg_builder *builder, struct dfg_arena *arena, const struct edges *by)
{
	struct dfg_text notes = {0};
	struct dfg_edge edge;
	uint32_t *variable = dfg_arena_zeros(arena, by->count + 1, sizeof *variable);
	if (!variable)
		return dfg_no_memory("the variables");
	for (size_t i = 0; i < by->count; i++)
		variable[i] = by->edge[i].node;
	const struct dfg_lang_options lang = {.include = include.word};
	const struct dfg_train_options train = {
		.optimizer = optimizer,
		.lang = &lang,
		.variable = by->count ? variable : NULL,
		.n_variable = (uint32_t)by->count,
		.prefix = prefix,
		.remat = remat,
		.dense = dense,
		.clip_norm = clip_norm > 0 ? clip_norm : 0,
		.notes = &notes,
	};
	DFG_TRY(dfg_find_tensor(builder->graph, loss, "--loss", &edge));
	struct dfg_err *err = dfg_train(builder, edge, &train);
	if (!err)
		dfg_talk_lines(&notes);
	dfg_text_release(&notes);
	return err;
}

/* Puts the variant of the program to use where `training` is true. */
static struct dfg_err *use_training(struct dfg_graph *graph, struct dfg_arena *scratch)
{
	DFG_TRY(dfg_variants_use(graph, true, scratch));
	if (!dfg_graph_training(graph))
		dfg_talk(
			"warning: %s has no variant for training: dropout, batch_norm and all else that tests `training` are off; "
			"build it without -D training=false",
			graph->source);
	return NULL;
}

static struct dfg_err *differentiate(struct dfg_graph *graph)
{
	struct dfg_arena arena = {0};
	struct edges by = {0};
	struct dfg_builder builder = {.graph = graph, .facts.arena = graph->arena};
	struct dfg_err *err = loss ? use_training(graph, &arena) : NULL;
	if (!err)
		err = dfg_lower_whole(graph);
	if (!err)
		err = dfg_verify(graph, NULL, &builder.facts);
	if (!err)
		err = find_wrt(&builder, &arena, &by);
	if (!err && !by.count && !loss)
		err = add_trainable(&builder, &by);
	if (!err)
		err = loss ? add_training(&builder, &arena, &by) : add_gradients(&builder, &arena, &by);
	dfg_free(by.edge);
	dfg_builder_release(&builder);
	dfg_arena_release(&arena);
	return err;
}

/*
 * The prefix of node names: letters, digits and "_.->" in parts between single slashes, beginning with a letter, digit
 * or dot.
 */
static struct dfg_err *check_prefix(void)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.";
	static const char more[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/>";
	size_t length = strlen(prefix);
	bool fits = strspn(prefix, first) && strspn(prefix, more) == length;
	if (fits && prefix[length - 1] != '/' && !strstr(prefix, "//"))
		return NULL;
	return DFG_ERR(DFG_USAGE, "--prefix must be a node name such as grad or step/grad, not '%s'", prefix);
}

static struct dfg_err *check_options(void)
{
	DFG_TRY(check_prefix());
	if (!loss == !of.count)
		return DFG_ERR(DFG_USAGE, "give either --of, or --loss with --optimizer");
	if (!loss != !optimizer)
		return DFG_ERR(DFG_USAGE, "--loss and --optimizer require each other");
	bool clips = clip_norm != -1;
	if (clips && !(clip_norm > 0))
		return DFG_ERR(DFG_USAGE, "--clip-norm must be more than 0, not %g", clip_norm);
	if (clips && !loss)
		return DFG_ERR(DFG_USAGE, "--clip-norm requires --loss");
	if (dense && !loss)
		return DFG_ERR(DFG_USAGE, "--dense requires --loss");
	return dfg_remat_policy(&remat);
}

static struct dfg_err *grad(char **operands, int *out_status)
{
	(void)out_status;
	struct dfg_graph_file file = {0};
	DFG_TRY(check_options());
	if (dfg_plan_folder_is(*operands))
		return DFG_ERR(DFG_DATA, "%s: is a plan: differentiate before partitioning", *operands);
	DFG_TRY(dfg_cmd_open_graph(*operands, &file));
	struct dfg_err *err = dfg_err_note(differentiate(&file.graph), "%s", *operands);
	if (!err)
		err = dfg_cmd_save_graph(&file.graph);
	dfg_graph_close(&file);
	return err;
}

const struct dfg_cmd dfg_cmd_grad = {
	.name = "grad",
	.operands = "G",
	.summary = "add derivatives, or a training step, to a graph",
	.options = options,
	.least = 1,
	.most = 1,
	.run = grad,
};
