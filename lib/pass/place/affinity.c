/*
 * affinity. Merges groups that should be colocated unless requests differ: control flow with its values, a node with
 * the only one it serves, loops. Near-linear.
 */
#include "lib/graph/initialisers.h"
#include "lib/pass/place/place_private.h"

/*
 * A Switch is placed with its data, so that a remote variable is not sent if its branch is not taken; an Exit with its
 * input; a loop's condition with its computation; a loop variable's Enter and NextIteration with its Merge.
 */
static struct dfg_err *attract_primitive(struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	enum dfg_role role = dfg_node_role(node);
	bool together, closes = false;
	if (node->n_in && (role == DFG_SWITCH || role == DFG_EXIT || role == DFG_LOOP_COND) &&
		!(p->kind[node->in[0].node] & DFG_KIND_INVARIANT))
		return dfg_place_attract(p, n, node->in[0].node, DFG_JOIN_CONTROL, &together);
	for (uint32_t e = 0; e < node->n_in && role == DFG_MERGE; e++)
		closes |= dfg_edge_closes(p->graph, node, node->in[e]);
	for (uint32_t e = 0; e < node->n_in && closes; e++)
		DFG_TRY(dfg_place_attract(p, n, node->in[e].node, DFG_JOIN_CONTROL, &together));
	return NULL;
}

/* For groups of primitives only, uses the request of one of them; that of a Merge takes precedence. */
static struct dfg_err *ask_primitives(struct dfg_placing *p)
{
	bool *plain = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *plain);
	if (!plain)
		return DFG_ERR(DFG_MEMORY, "no memory to group %u nodes", p->graph->count);
	for (uint32_t n = 0; n < p->graph->count; n++)
		if (!(p->kind[n] & DFG_KIND_PRIMITIVE))
			plain[dfg_place_root(p, n)] = true;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t n = 0; n < p->graph->count; n++) {
			if (!p->ask[n].choice || !(p->kind[n] & DFG_KIND_PRIMITIVE) || p->kind[n] & DFG_KIND_DEFAULT ||
				(!pass && dfg_node_role(&p->graph->node[n]) != DFG_MERGE))
				continue;
			uint32_t root = dfg_place_root(p, n);
			if (!plain[root] && !p->choice[root])
				p->choice[root] = p->ask[n].choice, p->decider[root] = n;
		}
	return NULL;
}

/* Applies the pattern "*" to groups without another request. */
static void ask_default(struct dfg_placing *p)
{
	for (uint32_t n = 0; n < p->graph->count; n++) {
		uint32_t root = dfg_place_root(p, n);
		if (p->kind[n] & DFG_KIND_DEFAULT && !p->choice[root])
			p->choice[root] = p->ask[n].choice, p->decider[root] = n;
	}
}

static void lead(struct dfg_placing *p, uint32_t n, uint32_t leader)
{
	p->kind[n] |= DFG_KIND_FOLLOWS;
	p->follows[n] = leader;
}

/* Places a node that only serves the initialisation of one variable with the variable. */
static struct dfg_err *keep_initialisers(struct dfg_placing *p)
{
	uint32_t *initial;
	bool together;
	DFG_TRY(dfg_initialiser_nodes(p->graph, p->order, &p->scratch, &initial));
	for (uint32_t n = 0; n < p->graph->count; n++) {
		if (initial[n] == DFG_NONE)
			continue;
		p->kind[n] |= DFG_KIND_INITIAL;
		if (initial[n] == DFG_INITIAL_MANY || initial[n] == n || p->choice[dfg_place_root(p, n)])
			continue;
		DFG_TRY(dfg_place_attract(p, n, initial[n], DFG_JOIN_FOLLOW, &together));
		if (together)
			lead(p, n, initial[n]);
	}
	return NULL;
}

/* Whether the op works element by element on operands of one shape. */
static bool is_elementwise(const struct dfg_node *node)
{
	return node->op && node->op->role == DFG_PLAIN && !node->op->shape && !(node->op->flags & DFG_EXPENSIVE);
}

static bool writes_state(const struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	return node->n_in > 1 && p->kind[node->in[0].node] & DFG_KIND_BINDS && !(p->kind[n] & DFG_KIND_INITIAL) &&
		   (dfg_node_role(node) == DFG_ASSIGN || !dfg_facts_outputs(p->facts, n));
}

/* By node: whether it is read, and only by nodes that write state or are themselves such nodes. */
static struct dfg_err *find_updates(struct dfg_placing *p, bool **out_update)
{
	bool *update = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *update);
	bool *other = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *other);
	if (!update || !other)
		return DFG_ERR(DFG_MEMORY, "no memory to group %u nodes", p->graph->count);
	for (uint32_t i = p->graph->count; i; i--) {
		uint32_t n = p->order ? p->order[i - 1] : i - 1;
		const struct dfg_node *node = &p->graph->node[n];
		update[n] &= !other[n] && is_elementwise(node);
		bool *mark = update[n] || writes_state(p, n) ? update : other;
		for (uint32_t e = 0; e < node->n_in; e++)
			mark[node->in[e].node] = true;
	}
	*out_update = update;
	return NULL;
}

static bool same_shape(const struct dfg_placing *p, uint32_t a, uint32_t b)
{
	return dfg_facts_outputs(p->facts, a) && dfg_facts_outputs(p->facts, b) &&
		   dfg_shape_equal(&dfg_facts_of(p->facts, (struct dfg_edge){a, 0})->shape,
			   &dfg_facts_of(p->facts, (struct dfg_edge){b, 0})->shape);
}

/*
 * Colocates a variable, the slots of its optimizer and the arithmetic of their update: nodes read only in order to
 * write the variable, if they have its shape.
 */
static struct dfg_err *keep_updates(struct dfg_placing *p)
{
	bool *update, together;
	DFG_TRY(find_updates(p, &update));
	for (uint32_t n = 0; n < p->graph->count; n++) {
		const struct dfg_node *node = &p->graph->node[n];
		bool writes = !update[n] && writes_state(p, n);
		for (uint32_t e = 0; e < node->n_in && (update[n] || writes); e++) {
			uint32_t from = node->in[e].node;
			bool reads = dfg_node_role(&p->graph->node[from]) == DFG_READ;
			if ((update[from] && writes) || ((update[from] || reads) && same_shape(p, n, from)))
				DFG_TRY(dfg_place_attract(p, n, from, DFG_JOIN_UPDATE, &together));
		}
	}
	return NULL;
}

struct consumers {
	uint32_t *count, *first; /* of data edges */
};

static struct dfg_err *find_consumers(struct dfg_placing *p, struct consumers *out)
{
	out->count = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *out->count);
	out->first = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *out->first);
	if (!out->count || !out->first)
		return DFG_ERR(DFG_MEMORY, "no memory to group %u nodes", p->graph->count);
	for (uint32_t n = 0; n < p->graph->count; n++) {
		const struct dfg_node *node = &p->graph->node[n];
		for (uint32_t e = 0; e < node->n_in; e++)
			if (!out->count[node->in[e].node]++)
				out->first[node->in[e].node] = n;
	}
	return NULL;
}

/* An op with one input that uses only its shape or forwards its elements. */
static bool is_metadata(const struct dfg_node *node)
{
	if (node->n_in != 1 || !node->op)
		return false;
	return node->op->role == DFG_IDENTITY || (node->op->role == DFG_PLAIN && node->op->known);
}

/* The node that n is placed with if it has no request, or DFG_NONE. */
static uint32_t leader_of(const struct dfg_placing *p, const struct consumers *consumers, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	if (p->kind[n] & DFG_KIND_INVARIANT)
		return consumers->count[n] ? consumers->first[n] : DFG_NONE;
	if (!node->n_in && consumers->count[n] == 1)
		return consumers->first[n];
	if (dfg_node_role(node) == DFG_SWITCH && node->n_in && p->kind[node->in[0].node] & DFG_KIND_INVARIANT)
		return consumers->count[n] ? consumers->first[n] : DFG_NONE;
	bool passes = is_metadata(node) || (dfg_node_role(node) == DFG_SAVE && node->n_in);
	return passes ? node->in[0].node : DFG_NONE;
}

static struct dfg_err *follow_all(struct dfg_placing *p)
{
	struct consumers consumers;
	DFG_TRY(find_consumers(p, &consumers));
	for (uint32_t n = 0; n < p->graph->count; n++) {
		bool together;
		if (p->choice[dfg_place_root(p, n)])
			continue;
		uint32_t leader = leader_of(p, &consumers, n);
		if (leader == DFG_NONE || dfg_place_root(p, leader) == dfg_place_root(p, n))
			continue;
		DFG_TRY(dfg_place_attract(p, n, leader, DFG_JOIN_FOLLOW, &together));
		if (together)
			lead(p, n, leader);
	}
	return NULL;
}

/* The devices that attract a loop variable without a request; an array of them is indexed by the root of its Merge. */
struct pull {
	uint32_t choice;    /* the device that computes its next value */
	bool there, others; /* it is read on that device; on others */
};

/* The node that computes the next value, if it is requested on one device and the variable has no request. */
static uint32_t maker_of(struct dfg_placing *p, const struct dfg_loop_variable *variable)
{
	const struct dfg_node *next = &p->graph->node[variable->next];
	uint32_t choice = next->n_in ? p->choice[dfg_place_root(p, next->in[0].node)] : 0;
	bool asked = choice && dfg_choice_is_one(&p->choices, choice);
	return asked && !p->choice[dfg_place_root(p, variable->merge)] ? next->in[0].node : DFG_NONE;
}

static void see_readers(struct dfg_placing *p, uint32_t n, struct pull *pull)
{
	const struct dfg_node *node = &p->graph->node[n];
	uint32_t root = dfg_place_root(p, n);
	for (uint32_t e = 0; e < node->n_in; e++) {
		uint32_t from = dfg_place_root(p, node->in[e].node);
		if (!pull[from].choice || from == root || dfg_node_role(&p->graph->node[node->in[e].node]) == DFG_EXIT)
			continue;
		if (p->choice[root] == pull[from].choice)
			pull[from].there = true;
		else
			pull[from].others = true;
	}
}

static bool find_makers(struct dfg_placing *p, struct pull *pull)
{
	bool any = false;
	for (uint32_t l = 1; l < p->loops.count; l++)
		for (uint32_t v = 0; v < p->loops.loop[l].n_variable; v++) {
			uint32_t maker = maker_of(p, &p->loops.loop[l].variable[v]);
			if (maker == DFG_NONE)
				continue;
			uint32_t merge = dfg_place_root(p, p->loops.loop[l].variable[v].merge);
			pull[merge].choice = p->choice[dfg_place_root(p, maker)];
			any = true;
		}
	return any;
}

/*
 * A loop variable whose next value is computed on a requested device is placed there, unless only other devices read
 * it: otherwise it would cross twice in each iteration.
 */
static struct dfg_err *pull_variables(struct dfg_placing *p)
{
	struct pull *pull = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *pull);
	if (!pull)
		return DFG_ERR(DFG_MEMORY, "no memory to group %u nodes", p->graph->count);
	if (!find_makers(p, pull))
		return NULL;
	for (uint32_t n = 0; n < p->graph->count; n++)
		see_readers(p, n, pull);
	for (uint32_t l = 1; l < p->loops.count; l++)
		for (uint32_t v = 0; v < p->loops.loop[l].n_variable; v++) {
			const struct dfg_loop_variable *variable = &p->loops.loop[l].variable[v];
			const struct pull *found = &pull[dfg_place_root(p, variable->merge)];
			uint32_t maker = maker_of(p, variable);
			bool together;
			if (maker != DFG_NONE && (found->there || !found->others))
				DFG_TRY(dfg_place_attract(p, variable->merge, maker, DFG_JOIN_CONTROL, &together));
		}
	return NULL;
}

/*
 * Keeps the nodes of a loop without requests together, including inner loops: a distributed loop costs a message per
 * iteration.
 */
static struct dfg_err *keep_loops_whole(struct dfg_placing *p)
{
	uint32_t *first = dfg_arena_zeros(&p->scratch, p->loops.count, sizeof *first); /* by loop: 1 + one of its nodes */
	uint32_t *outermost = dfg_arena_zeros(&p->scratch, p->loops.count, sizeof *outermost);
	if (!first || !outermost)
		return DFG_ERR(DFG_MEMORY, "no memory to group %u loops", p->loops.count);
	for (uint32_t l = 1; l < p->loops.count; l++)
		outermost[l] = p->loops.loop[l].parent ? outermost[p->loops.loop[l].parent] : l;
	for (uint32_t n = 0; n < p->graph->count; n++) {
		uint32_t loop = outermost[dfg_loop_home(p->graph, &p->loops, n)];
		bool together;
		if (!loop || p->choice[dfg_place_root(p, n)])
			continue;
		if (first[loop])
			DFG_TRY(dfg_place_attract(p, n, first[loop] - 1, DFG_JOIN_LOOP, &together));
		else
			first[loop] = n + 1;
	}
	return NULL;
}

struct dfg_err *dfg_place_follow(struct dfg_placing *p)
{
	for (uint32_t n = 0; n < p->graph->count; n++)
		if (dfg_node_role(&p->graph->node[n]) != DFG_PLAIN)
			DFG_TRY(attract_primitive(p, n));
	DFG_TRY(ask_primitives(p));
	ask_default(p);
	DFG_TRY(keep_initialisers(p));
	DFG_TRY(keep_updates(p));
	DFG_TRY(follow_all(p));
	if (p->loops.count > 1) {
		DFG_TRY(pull_variables(p));
		DFG_TRY(keep_loops_whole(p));
	}
	for (uint32_t n = 0; n < p->graph->count; n++)
		p->parent[n] = dfg_place_root(p, n);
	return NULL;
}
