#include "lib/lang/state_private.h"

#include "lib/lang/eval_private.h"
#include "lib/lang/ssa_private.h"

#include <string.h>

/*
 * The states that a call of an op reads or writes. A state is a declared variable, or is known by the node that made
 * its handle.
 */

enum { DFG_MAKERS_MAX = 64 };

/* The tensors that a handle may come from, and the nodes that made it. Those beyond the limit are ignored. */
struct makers {
	struct dfg_edge seen[DFG_MAKERS_MAX];
	uint32_t n_seen;
	uint32_t maker[DFG_MAKERS_MAX];
	uint32_t n;
};

static void add_seen(struct makers *makers, struct dfg_edge edge)
{
	for (uint32_t i = 0; i < makers->n_seen; i++)
		if (dfg_edge_same(makers->seen[i], edge))
			return;
	if (makers->n_seen < DFG_MAKERS_MAX)
		makers->seen[makers->n_seen++] = edge;
}

/* Whether output 0 of the node is one of its inputs, as of control flow ops and of ops on a ref. */
static bool hands_on(const struct dfg_eval *eval, struct dfg_edge edge)
{
	static const uint32_t roles = 1U << DFG_IDENTITY | 1U << DFG_SWITCH | 1U << DFG_MERGE | 1U << DFG_ENTER |
								  1U << DFG_EXIT | 1U << DFG_NEXT_ITERATION;
	const struct dfg_node *node = &eval->builder->graph->node[edge.node];
	if (!node->op || !node->n_in)
		return false;
	bool is_state = node->op->flags & (DFG_READS | DFG_WRITES);
	return (roles >> node->op->role & 1) || (is_state && dfg_eval_fact(eval, edge)->is_ref);
}

static void find_makers(const struct dfg_eval *eval, struct dfg_edge edge, struct makers *makers)
{
	const struct dfg_graph *graph = eval->builder->graph;
	add_seen(makers, edge);
	for (uint32_t i = 0; i < makers->n_seen; i++) {
		const struct dfg_node *node = &graph->node[makers->seen[i].node];
		if (!hands_on(eval, makers->seen[i])) {
			makers->maker[makers->n++] = makers->seen[i].node;
			continue;
		}
		for (uint32_t e = 0; e < (node->op->role == DFG_MERGE ? node->n_in : 1); e++)
			add_seen(makers, node->in[e]);
	}
}

static bool same_attr(const struct dfg_node *a, const struct dfg_node *b, const char *name)
{
	const struct dfg_attr *x = dfg_node_attr(a, name), *y = dfg_node_attr(b, name);
	return x && y && x->kind == DFG_ATTR_STRING && y->kind == DFG_ATTR_STRING && x->value.s.length &&
		   x->value.s.length == y->value.s.length && !memcmp(x->value.s.s, y->value.s.s, x->value.s.length);
}

/* Whether both nodes make handles of the same state: they have the same shared name. */
static bool same_state(const struct dfg_graph *graph, uint32_t a, uint32_t b)
{
	return a == b ||
		   (graph->node[a].op == graph->node[b].op && same_attr(&graph->node[a], &graph->node[b], "shared_name"));
}

static struct dfg_cell *declared(const struct dfg_eval *eval, uint32_t maker)
{
	for (size_t i = 0; i < eval->n_cell; i++)
		if (*eval->cell[i]->path && same_state(eval->builder->graph, eval->cell[i]->handle.node, maker))
			return eval->cell[i];
	return NULL;
}

static struct dfg_err *new_end(struct dfg_eval *eval, struct dfg_cell **out_cell)
{
	struct dfg_cell *cell = *out_cell = dfg_arena_zeros(eval->arena, 1, sizeof *cell);
	if (!cell)
		return dfg_no_memory("the values of variables");
	*cell = (struct dfg_cell){.path = "", .handle = {DFG_NONE, 0}, .read = {DFG_NONE, 0}};
	dfg_cell_forget(cell);
	return dfg_cell_add(eval, cell);
}

static struct dfg_err *find_handle_state(struct dfg_eval *eval, uint32_t maker, struct dfg_handle_state *out_state)
{
	for (size_t i = 0; i < eval->n_handle_states; i++)
		if (same_state(eval->builder->graph, eval->handle_state[i].maker, maker)) {
			*out_state = eval->handle_state[i];
			return NULL;
		}
	*out_state = (struct dfg_handle_state){.maker = maker};
	DFG_TRY(new_end(eval, &out_state->end[0]));
	DFG_TRY(new_end(eval, &out_state->end[1]));
	if (!dfg_reserve(
			&eval->handle_state, &eval->handle_state_capacity, eval->n_handle_states + 1, sizeof *eval->handle_state))
		return dfg_no_memory("the values of variables");
	eval->handle_state[eval->n_handle_states++] = *out_state;
	return NULL;
}

static struct dfg_err *add_access(
	struct dfg_eval *eval, struct dfg_cell *cell, bool writes, struct dfg_access **accesses)
{
	for (struct dfg_access *access = *accesses; access; access = access->older)
		if (access->cell == cell)
			return NULL;
	struct dfg_access *access = dfg_arena_zeros(eval->arena, 1, sizeof *access);
	if (!access)
		return dfg_no_memory("the values of variables");
	*access = (struct dfg_access){*accesses, cell, writes};
	*accesses = access;
	return NULL;
}

static struct dfg_err *access_maker(struct dfg_eval *eval, uint32_t maker, unsigned flags, struct dfg_access **accesses)
{
	struct dfg_cell *cell = declared(eval, maker);
	struct dfg_handle_state state;
	if (cell)
		return add_access(eval, cell, flags & DFG_WRITES, accesses);
	DFG_TRY(find_handle_state(eval, maker, &state));
	if (flags & (DFG_READS | DFG_PUTS))
		DFG_TRY(add_access(eval, state.end[0], flags & DFG_PUTS, accesses));
	if (flags & (DFG_READS | DFG_TAKES))
		DFG_TRY(add_access(eval, state.end[1], flags & DFG_TAKES, accesses));
	return NULL;
}

/* Replaces the handle of a declared variable by the one of the region, which carries the order. */
static struct dfg_err *order_access(
	struct dfg_eval *eval, const struct dfg_access *access, struct dfg_edge *in, uint32_t n_in, struct dfg_nodes *nodes)
{
	struct dfg_edge handle;
	bool is_data = false;
	DFG_TRY(dfg_view_before(eval, access->cell, access->writes, &handle, nodes));
	for (uint32_t i = 0; i < n_in; i++)
		if (access->cell->handle.node != DFG_NONE && dfg_edge_same(in[i], access->cell->handle)) {
			in[i] = handle;
			is_data = true;
		}
	if (is_data || handle.node == DFG_NONE || dfg_edge_same(handle, access->cell->handle))
		return NULL;
	return dfg_nodes_add(nodes, handle.node);
}

static struct dfg_err *find_accesses(
	struct dfg_eval *eval, const struct dfg_arranged *arranged, const struct dfg_edge *in, struct dfg_access **accesses)
{
	const struct dfg_signature *signature = arranged->signature;
	for (int i = 0; i < signature->n_in && !signature->in[i].is_list && signature->in[i].count < 0; i++) {
		bool is_handle = signature->in[i].type < 0 && signature->in[i].dtype == DFG_RESOURCE;
		struct makers makers = {0};
		if (!is_handle && !signature->in[i].is_ref)
			continue;
		find_makers(eval, in[i], &makers);
		for (uint32_t m = 0; m < makers.n; m++)
			DFG_TRY(access_maker(eval, makers.maker[m], arranged->op->flags, accesses));
	}
	return NULL;
}

static struct dfg_err *order_all(
	struct dfg_eval *eval, const struct dfg_access *access, struct dfg_edge *in, uint32_t n_in, struct dfg_nodes *nodes)
{
	for (; access; access = access->older)
		DFG_TRY(order_access(eval, access, in, n_in, nodes));
	return NULL;
}

struct dfg_err *dfg_state_before(struct dfg_eval *eval, const struct dfg_arranged *arranged, struct dfg_edge **in,
	struct dfg_new_node *node, struct dfg_access **out_accesses)
{
	struct dfg_nodes nodes = {0};
	struct dfg_edge *all = NULL;
	*out_accesses = NULL;
	if (!(arranged->op->flags & (DFG_READS | DFG_WRITES)) || (!eval->program && !eval->slots))
		return NULL;
	DFG_TRY(find_accesses(eval, arranged, *in, out_accesses));
	struct dfg_err *err = order_all(eval, *out_accesses, *in, node->n_in, &nodes);
	if (!err && !(all = dfg_arena_zeros(eval->arena, node->n_in + nodes.n + 1, sizeof *all)))
		err = dfg_no_memory("the values of variables");
	if (!err) {
		if (node->n_in)
			memcpy(all, *in, node->n_in * sizeof *all);
		for (size_t i = 0; i < nodes.n; i++)
			all[node->n_in + i] = (struct dfg_edge){nodes.node[i], DFG_CONTROL};
		node->n_control = (uint32_t)nodes.n;
		*in = all;
	}
	dfg_free(nodes.node);
	return err;
}

struct dfg_err *dfg_state_after(struct dfg_eval *eval, const struct dfg_access *access, uint32_t node)
{
	for (; access; access = access->older)
		DFG_TRY(dfg_view_after(eval, access->cell, access->writes, node));
	return NULL;
}
