/*
 * fuse. Requires: a graph that verify accepts. Result: fused updates of variables, with the same bits. O(nodes +
 * edges).
 */
#include "lib/pass/rewrite/fuse_updates.h"

#include "lib/base/plural.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

struct fuse {
	struct dfg_graph *graph;
	const struct dfg_placed *placed; /* NULL: all nodes are on one device */
	struct dfg_facts facts;
	uint32_t *readers; /* by node: number of data edges from it */
	uint32_t *setter;  /* by node: 1 + the plain assignment of its output */
	bool *kept;
	bool *early;   /* by node: some node other than a NoOp waits for it */
	bool *changed; /* by node: it or a predecessor assigns a variable */
	uint32_t fused;
};

enum { SLOTS_MOST = 2, WORDS_MOST = 10, WORD_MOST = 16 };

/*
 * The new values of a variable and its slots, as an optimizer of the standard library computes them, in prefix
 * notation. A word with a capital is an op, followed by its inputs; "Scale" is a product with a scalar, which comes
 * first; "One" is 1 and "Rest x" is 1 - x. `w` and the slots are the old values; a slot with a prime is its new value;
 * `g` is the gradient; any other word is a scalar, which "word=" before an op names too.
 */
static const struct rule {
	const char *op, *flag; /* flag: an attribute that is true */
	const char *slot[SLOTS_MOST];
	const char *becomes[1 + SLOTS_MOST];
	const char *inputs; /* after the variable and the slots */
} rules[] = {
	{"ResourceApplyMomentum", NULL, {"m"}, {"Sub w Scale lr m'", "AddV2 Scale momentum m g"}, "lr g momentum"},
	{"ResourceApplyMomentum", "use_nesterov", {"m"},
		{"Sub w AddV2 Scale lr g Scale lr Scale momentum m'", "AddV2 Scale momentum m g"}, "lr g momentum"},
	{"ResourceApplyAdagrad", NULL, {"s"}, {"Sub w RealDiv Scale lr g Sqrt s'", "AddV2 s Square g"}, "lr g"},
	{"ResourceApplyRMSProp", NULL, {"ms", "mom"},
		{"Sub w mom'", "AddV2 ms Scale Rest rho Sub Square g ms",
			"AddV2 Scale momentum mom RealDiv Scale lr g Sqrt AddV2 ms' epsilon"},
		"lr rho momentum epsilon g"},
	{"ResourceApplyAdam", NULL, {"m", "v"},
		{"Sub w RealDiv Scale RealDiv Mul lr Sqrt Sub One power2=Pow beta2 t Sub One power1=Pow beta1 t m' "
		 "AddV2 Sqrt v' epsilon",
			"AddV2 m Scale Rest beta1 Sub g m", "AddV2 v Scale Rest beta2 Sub Square g v"},
		"power1 power2 lr beta1 beta2 epsilon g"},
	{"Dfg>ResourceApplyAdamW", NULL, {"m", "v"},
		{"Sub Sub w Scale decay w RealDiv Scale RealDiv Mul lr Sqrt Sub One power2=Pow beta2 t Sub One power1=Pow "
		 "beta1 t "
		 "m' AddV2 Sqrt v' epsilon",
			"AddV2 m Scale Rest beta1 Sub g m", "AddV2 v Scale Rest beta2 Sub Square g v"},
		"power1 power2 lr beta1 beta2 epsilon decay g"},
	{"ResourceApplyAdaMax", NULL, {"m", "v"},
		{"Sub w Scale RealDiv lr Sub One power1=Pow beta1 t RealDiv m' AddV2 v' epsilon",
			"AddV2 m Scale Rest beta1 Sub g m", "Maximum Scale beta2 v Abs g"},
		"power1 lr beta1 beta2 epsilon g"},
	{"ResourceApplyGradientDescent", NULL, {NULL}, {"Sub w Scale lr g"}, "lr g"},
};
enum { RULES = sizeof rules / sizeof *rules };

/* A word of a rule and the edge that it is bound to. */
struct word {
	char s[WORD_MOST];
	struct dfg_edge edge;
};

/* A match of a rule for a variable. */
struct update {
	const struct rule *rule;
	uint32_t node, variable;
	uint32_t setter[SLOTS_MOST], slot[SLOTS_MOST]; /* by slot: 1 + the assignment, 1 + the variable */
	struct word word[WORDS_MOST];
	uint32_t words;
};

static const struct dfg_node *node_of(const struct fuse *f, struct dfg_edge edge)
{
	return &f->graph->node[edge.node];
}

static bool is_op(const struct dfg_node *node, const char *name)
{
	return node->op && !strcmp(node->op->name, name);
}

/* Whether the node assigns a variable by its handle, and not as its initialiser. */
static bool sets(const struct fuse *f, const struct dfg_node *node)
{
	return node->op && node->op->role == DFG_ASSIGN && dfg_facts_of(&f->facts, node->in[0])->dtype == DFG_RESOURCE &&
		   !dfg_node_mark(node, "_dfg_init", NULL);
}

static bool is_scalar(const struct fuse *f, struct dfg_edge edge)
{
	return dfg_facts_of(&f->facts, edge)->shape.rank == 0;
}

/* Whether the edge is the value of the variable before any update. */
static bool is_read_of(const struct fuse *f, struct dfg_edge edge, uint32_t variable)
{
	const struct dfg_node *node = node_of(f, edge);
	return node->op && node->op->role == DFG_READ && node->in[0].node == variable && !node->n_control;
}

/*
 * Whether the node waits only for nodes that run before any variable changes, so that the fused op does not wait for
 * itself.
 */
static bool waits_for_the_old(const struct fuse *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++)
		if (f->changed[node->in[e].node])
			return false;
	return true;
}

static bool constant(const struct fuse *f, struct dfg_edge edge, double *out)
{
	const struct dfg_node *node = node_of(f, edge);
	const struct dfg_attr *value = dfg_node_attr(node, "value");
	struct dfg_tensor tensor;
	if (!node->op || node->op->role != DFG_CONST || node->n_control || f->kept[edge.node] || !value ||
		value->kind != DFG_ATTR_TENSOR || !is_scalar(f, edge))
		return false;
	struct dfg_err *err = dfg_literal_tensor(value->value.tensor, &tensor);
	if (err) {
		dfg_err_free(err);
		return false;
	}
	*out = dfg_tensor_float(&tensor, 0);
	dfg_tensor_release(&tensor);
	return true;
}

static bool same_scalar(const struct fuse *f, struct dfg_edge a, struct dfg_edge b)
{
	double x, y;
	return dfg_edge_same(a, b) || (constant(f, a, &x) && constant(f, b, &y) && x == y);
}

static const struct word *find_word(const struct update *u, const char *s)
{
	for (uint32_t i = 0; i < u->words; i++)
		if (!strcmp(u->word[i].s, s))
			return &u->word[i];
	return NULL;
}

/* Binds the word to the edge or, if it is bound, compares the two. */
static bool match_word(const struct fuse *f, struct update *u, const char *s, struct dfg_edge edge)
{
	const struct word *word = find_word(u, s);
	if (word)
		return same_scalar(f, word->edge, edge);
	if ((strcmp(s, "g") && !is_scalar(f, edge)) || u->words == WORDS_MOST)
		return false;
	u->word[u->words].edge = edge;
	memcpy(u->word[u->words++].s, s, strlen(s) + 1);
	return true;
}

static int slot_number(const struct rule *rule, const char *s, size_t length)
{
	for (int i = 0; i < SLOTS_MOST && rule->slot[i]; i++)
		if (strlen(rule->slot[i]) == length && !memcmp(rule->slot[i], s, length))
			return i;
	return -1;
}

static bool stands_with(const struct fuse *f, const struct update *u, uint32_t n)
{
	return !f->placed || f->placed[n].device == f->placed[u->node].device;
}

/* Binds the slot whose new value is `value`; it must be assigned once, and no remaining node may read it afterwards. */
static bool take_slot(const struct fuse *f, struct update *u, int slot, struct dfg_edge value)
{
	if (!f->setter[value.node] || f->readers[value.node] != 2 || f->kept[value.node] || u->slot[slot])
		return false;
	uint32_t setter = f->setter[value.node] - 1, variable = f->graph->node[setter].in[0].node;
	if (f->early[setter] || f->kept[setter] || !waits_for_the_old(f, setter) || variable == u->variable ||
		!stands_with(f, u, setter))
		return false;
	for (int i = 0; i < SLOTS_MOST; i++)
		if (u->slot[i] == variable + 1)
			return false;
	u->setter[slot] = setter + 1;
	u->slot[slot] = variable + 1;
	return true;
}

/* Matches 1 - x for word x: as a Sub or, after constant folding, as a constant with the bits that the op computes. */
static bool match_rest(const struct fuse *f, struct update *u, const char *name, struct dfg_edge rest)
{
	const struct dfg_node *node = node_of(f, rest);
	const struct word *word = find_word(u, name);
	double one, number, value;
	if (is_op(node, "Sub") && constant(f, node->in[0], &one) && one == 1)
		return !f->kept[rest.node] && match_word(f, u, name, node->in[1]);
	if (!word || !constant(f, rest, &number) || !constant(f, word->edge, &value))
		return false;
	bool wide = dfg_facts_of(&f->facts, word->edge)->dtype == DFG_F64;
	return number == (wide ? 1 - value : (double)(float)(1 - (float)value));
}

/* Reads the next word of a rule and advances the cursor. */
static size_t next_word(const char **at, char *out)
{
	size_t length = strcspn(*at, " =");
	memcpy(out, *at, length);
	out[length] = '\0';
	*at += length + ((*at)[length] != '\0');
	return length;
}

static bool match_text(const struct fuse *f, struct update *u, const char **at, struct dfg_edge edge);

/* Matches an op and its inputs. A value that is not a scalar must have no other readers. */
static bool match_op(
	const struct fuse *f, struct update *u, const char *op, const char **at, struct dfg_edge edge, bool is_slot)
{
	const struct dfg_node *node = node_of(f, edge);
	bool scale = !strcmp(op, "Scale");
	if (!is_op(node, scale ? "Mul" : op) || node->n_control || f->kept[edge.node] ||
		(!is_scalar(f, edge) && (!stands_with(f, u, edge.node) || (!is_slot && f->readers[edge.node] != 1))))
		return false;
	uint32_t first = scale && is_scalar(f, node->in[1]);
	if (scale && !is_scalar(f, node->in[first]))
		return false;
	for (uint32_t i = 0; i < node->n_in; i++)
		if (!match_text(f, u, at, node->in[first ? node->n_in - 1 - i : i]))
			return false;
	return true;
}

static bool match_slot(const struct fuse *f, struct update *u, int slot, struct dfg_edge edge)
{
	char op[WORD_MOST];
	const char *at = u->rule->becomes[1 + slot];
	if (u->slot[slot])
		return node_of(f, (struct dfg_edge){u->setter[slot] - 1, 0})->in[1].node == edge.node;
	if (!take_slot(f, u, slot, edge))
		return false;
	next_word(&at, op);
	return match_op(f, u, op, &at, edge, true);
}

/* Matches the part of a rule at *at, which is advanced, with the value of an edge. */
static bool match_text(const struct fuse *f, struct update *u, const char **at, struct dfg_edge edge)
{
	char word[WORD_MOST];
	size_t length = next_word(at, word);
	if ((*at)[-1] == '=') {
		if (!match_word(f, u, word, edge))
			return false;
		next_word(at, word);
	}
	double one;
	if (!strcmp(word, "One"))
		return constant(f, edge, &one) && one == 1;
	if (!strcmp(word, "Rest")) {
		next_word(at, word);
		return match_rest(f, u, word, edge);
	}
	if (*word >= 'A' && *word <= 'Z')
		return match_op(f, u, word, at, edge, false);
	if (!strcmp(word, "w"))
		return is_read_of(f, edge, u->variable);
	bool becomes = word[length - 1] == '\'';
	int slot = slot_number(u->rule, word, length - becomes);
	if (slot < 0)
		return match_word(f, u, word, edge);
	return becomes ? match_slot(f, u, slot, edge) : u->slot[slot] && is_read_of(f, edge, u->slot[slot] - 1);
}

static bool match_rule(const struct fuse *f, uint32_t n, const struct rule *rule, struct update *u)
{
	const struct dfg_node *node = &f->graph->node[n];
	const char *at = rule->becomes[0];
	*u = (struct update){.rule = rule, .node = n, .variable = node->in[0].node};
	return match_text(f, u, &at, node->in[1]) && find_word(u, "g") && !(rule->slot[0] && f->kept[n]);
}

static const struct dfg_handle_type *handle_type_of(const struct fuse *f, uint32_t variable)
{
	return dfg_facts_of(&f->facts, (struct dfg_edge){variable, 0})->holds;
}

/*
 * Shapes must equal the variable's, because the fused op does not broadcast. Half-precision types are excluded because
 * it rounds once at the end, the single ops after each step.
 */
static bool fits(const struct fuse *f, const struct update *u)
{
	const struct dfg_handle_type *holds = handle_type_of(f, u->variable);
	const struct dfg_edge gradient = find_word(u, "g")->edge;
	if (!holds || !dfg_shape_known(&holds->shape) || (holds->dtype != DFG_F32 && holds->dtype != DFG_F64) ||
		!dfg_shape_equal(&holds->shape, &dfg_facts_of(&f->facts, gradient)->shape))
		return false;
	for (int i = 0; i < SLOTS_MOST && u->slot[i]; i++)
		if (!handle_type_of(f, u->slot[i] - 1) ||
			!dfg_shape_equal(&holds->shape, &handle_type_of(f, u->slot[i] - 1)->shape))
			return false;
	for (uint32_t i = 0; i < u->words; i++)
		if (dfg_facts_of(&f->facts, u->word[i].edge)->dtype != holds->dtype)
			return false;
	return true;
}

static bool match(const struct fuse *f, uint32_t n, struct update *u)
{
	const struct dfg_node *node = &f->graph->node[n];
	if (!sets(f, node) || !waits_for_the_old(f, n))
		return false;
	for (int i = 0; i < RULES; i++)
		if (match_rule(f, n, &rules[i], u) && fits(f, u))
			return true;
	return false;
}

/* The control inputs of the node and of the slots' assignments. */
static uint32_t waits(const struct fuse *f, const struct update *u, struct dfg_edge *out)
{
	uint32_t count = 0;
	for (int i = -1; i < SLOTS_MOST && (i < 0 || u->setter[i]); i++) {
		const struct dfg_node *node = &f->graph->node[i < 0 ? u->node : u->setter[i] - 1];
		for (uint32_t e = node->n_in; e < node->n_in + node->n_control; e++, count++)
			if (out)
				out[count] = node->in[e];
	}
	return count;
}

static uint32_t inputs(const struct update *u, struct dfg_edge *out)
{
	char word[WORD_MOST];
	uint32_t count = 0;
	out[count++] = (struct dfg_edge){u->variable, 0};
	for (int i = 0; i < SLOTS_MOST && u->slot[i]; i++)
		out[count++] = (struct dfg_edge){u->slot[i] - 1, 0};
	for (const char *at = u->rule->inputs; *at;) {
		next_word(&at, word);
		out[count++] = find_word(u, word)->edge;
	}
	return count;
}

/* The attributes of the fused op: its own, and the marks of the node that it replaces. */
static struct dfg_err *set_attrs(struct fuse *f, const struct update *u, struct dfg_node *node)
{
	struct dfg_attr *attr = dfg_arena_zeros(f->graph->arena, (size_t)node->n_attr + 2, sizeof *attr);
	const struct dfg_attr *old = node->attr;
	uint32_t n_old = node->n_attr, n = 0;
	if (!attr)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse '%s'", node->name);
	enum dfg_dtype dtype = dfg_facts_of(&f->facts, find_word(u, "g")->edge)->dtype;
	attr[n++] = (struct dfg_attr){"T", DFG_ATTR_DTYPE, {.dtype = dtype}};
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].name[0] == '_')
			attr[n++] = old[i];
	if (u->rule->flag)
		attr[n++] = (struct dfg_attr){u->rule->flag, DFG_ATTR_BOOL, {.b = true}};
	node->attr = attr;
	node->n_attr = n;
	return NULL;
}

static struct dfg_err *replace(struct fuse *f, const struct update *u)
{
	struct dfg_node *node = &f->graph->node[u->node];
	uint32_t capacity = 2 + SLOTS_MOST + WORDS_MOST + waits(f, u, NULL);
	struct dfg_edge *in = dfg_arena_zeros(f->graph->arena, capacity, sizeof *in);
	if (!in)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse '%s'", node->name);
	uint32_t n_in = inputs(u, in), n_control = waits(f, u, in + n_in);
	DFG_TRY(set_attrs(f, u, node));
	node->op = dfg_op_find(u->rule->op);
	node->op_name = node->op->name;
	node->in = in;
	node->n_in = n_in;
	node->n_control = n_control;
	f->fused++;
	return NULL;
}

/* The slot's assignment becomes a node of the same name that waits for the fused op. */
static struct dfg_err *retire(struct fuse *f, uint32_t n, uint32_t after)
{
	struct dfg_node *node = &f->graph->node[n];
	struct dfg_edge *in = dfg_arena_zeros(f->graph->arena, 1, sizeof *in);
	if (!in)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse '%s'", node->name);
	*in = (struct dfg_edge){after, DFG_CONTROL};
	node->op = dfg_op_find("NoOp");
	node->op_name = node->op->name;
	node->in = in;
	node->n_in = 0;
	node->n_control = 1;
	node->n_attr = 0;
	return NULL;
}

static struct dfg_err *fuse_update(struct fuse *f, const struct update *u)
{
	DFG_TRY(replace(f, u));
	for (int i = 0; i < SLOTS_MOST && u->setter[i]; i++)
		DFG_TRY(retire(f, u->setter[i] - 1, u->node));
	return NULL;
}

/*
 * Finds the nodes that others wait for. NoOps, which only collect control edges, may wait for a slot's assignment; any
 * other node may precede the update.
 */
static void find_early(struct fuse *f)
{
	for (uint32_t n = 0; n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		bool gathers = node->op && node->op->role == DFG_NO_OP && !f->readers[n];
		for (uint32_t e = node->n_in; e < node->n_in + node->n_control && !gathers; e++)
			f->early[node->in[e].node] = true;
	}
}

static bool writes(const struct dfg_node *node)
{
	return node->op && node->op->flags & DFG_WRITES;
}

static struct dfg_err *find_changed(struct fuse *f, struct dfg_arena *scratch)
{
	uint32_t *order = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *order), count;
	if (!order)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse %u nodes", f->graph->count);
	DFG_TRY(dfg_graph_order(f->graph, scratch, order, &count));
	for (uint32_t i = 0; i < count; i++) {
		const struct dfg_node *node = &f->graph->node[order[i]];
		bool changed = writes(node);
		for (uint32_t e = 0; e < node->n_in + node->n_control && !changed; e++)
			changed = f->changed[node->in[e].node];
		f->changed[order[i]] = changed;
	}
	return NULL;
}

static struct dfg_err *allocate(struct fuse *f, const struct dfg_keep *keep, struct dfg_arena *scratch)
{
	f->readers = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->readers);
	f->setter = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->setter);
	f->kept = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->kept);
	f->early = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->early);
	f->changed = dfg_arena_zeros(scratch, (size_t)f->graph->count + 1, sizeof *f->changed);
	if (!f->readers || !f->setter || !f->kept || !f->early || !f->changed)
		return DFG_ERR(DFG_MEMORY, "no memory to fuse %u nodes", f->graph->count);
	for (uint32_t i = 0; i < keep->n_feed; i++)
		f->kept[keep->feed[i].node] = true;
	for (uint32_t i = 0; i < keep->n_fetch; i++)
		f->kept[keep->fetch[i].node] = true;
	for (uint32_t i = 0; i < keep->n_target; i++)
		f->kept[keep->target[i]] = true;
	for (uint32_t n = 0; n < f->graph->count; n++) {
		const struct dfg_node *node = &f->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			f->readers[node->in[e].node]++;
		if (sets(f, node))
			f->setter[node->in[1].node] = n + 1;
	}
	find_early(f);
	return find_changed(f, scratch);
}

static struct dfg_err *fuse_all(struct fuse *f)
{
	for (uint32_t n = 0; n < f->graph->count; n++) {
		struct update update;
		if (match(f, n, &update))
			DFG_TRY(fuse_update(f, &update));
	}
	return NULL;
}

struct dfg_err *dfg_fuse_placed_updates(struct dfg_graph *graph, const struct dfg_placed *placed,
	const struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	struct fuse f = {.graph = graph, .placed = placed, .facts = {.arena = scratch}};
	struct dfg_err *err = dfg_verify(graph, NULL, &f.facts);
	if (!err)
		err = allocate(&f, keep, scratch);
	if (!err)
		err = fuse_all(&f);
	dfg_facts_release(&f.facts);
	dfg_text_add(report, "fuse: fused %u update%s\n", f.fused, dfg_plural(f.fused));
	return err;
}

struct dfg_err *dfg_fuse_updates(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	return dfg_fuse_placed_updates(graph, NULL, keep, scratch, report);
}
