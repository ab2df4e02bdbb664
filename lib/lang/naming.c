#include "lib/lang/naming_private.h"

#include "lib/lang/eval_private.h"

#include <string.h>

struct dfg_err *dfg_eval_path(struct dfg_eval *eval, const char *scope, const char *name, const char **out_path)
{
	*out_path = *scope ? dfg_arena_path(eval->arena, scope, name) : name;
	return *out_path ? NULL : dfg_no_memory("the names of nodes");
}

struct dfg_err *dfg_counter_next(
	struct dfg_eval *eval, struct dfg_name_counter *counter, const char *name, const char **out_name)
{
	uint32_t number;
	if (!dfg_map_put(&counter->map, name, strlen(name), &number, NULL) ||
		!dfg_reserve(&counter->used, &counter->capacity, (size_t)number + 1, sizeof *counter->used))
		return dfg_no_memory("the names of nodes");
	uint32_t n = counter->used[number]++;
	*out_name = n ? dfg_arena_print(eval->arena, "%s.%u", name, n) : name;
	return *out_name ? NULL : dfg_no_memory("the names of nodes");
}

void dfg_counter_release(struct dfg_name_counter *counter)
{
	dfg_map_release(&counter->map);
	dfg_free(counter->used);
	*counter = (struct dfg_name_counter){0};
}

struct dfg_err *dfg_naming_note(struct dfg_eval *eval, uint32_t node, enum dfg_naming_kind kind, const char *path)
{
	if (!eval->program)
		return NULL;
	if (!dfg_reserve(&eval->naming, &eval->naming_capacity, (size_t)node + 1, sizeof *eval->naming))
		return dfg_no_memory("the names of nodes");
	eval->naming[node] = (struct dfg_naming){kind, path};
	if (eval->named <= node)
		eval->named = (size_t)node + 1;
	return NULL;
}

struct dfg_err *dfg_bind_node(struct dfg_eval *eval, uint32_t node, const char *path)
{
	if (!eval->program || (node < eval->named && eval->naming[node].kind == DFG_NAME_EXACT))
		return NULL;
	return dfg_naming_note(eval, node, DFG_NAME_BOUND, path);
}

/*
 * Names of nodes, by the rules of dfg-lang(5). A program is built under provisional names, because only its end shows
 * which node is the last that `h` was bound to. Then the nodes are named in this order:
 *
 *     declared          x, w, w/read, w/assign, a target, an output
 *     bound to h        h for the last node (h.0 if an output is called h), h.1, h.2, ... for those before it
 *     made by a pass    the name that the pass chose
 *     all others        SCOPE/OP, SCOPE/OP.1, ...
 */
struct namer {
	struct dfg_eval *eval;
	const struct dfg_graph *draft;
	struct dfg_map taken;
	struct dfg_name_counter counter;
	const char **name; /* by node */
};

static struct dfg_err *take(struct namer *namer, const char *name, bool *out_free)
{
	uint32_t number;
	return dfg_map_put(&namer->taken, name, strlen(name), &number, out_free) ? NULL
																			 : dfg_no_memory("the names of nodes");
}

static struct dfg_err *take_next(struct namer *namer, uint32_t node, const char *path)
{
	bool is_free = false;
	while (!is_free) {
		DFG_TRY(dfg_counter_next(namer->eval, &namer->counter, path, &namer->name[node]));
		DFG_TRY(take(namer, namer->name[node], &is_free));
	}
	return NULL;
}

static struct dfg_naming naming_of(const struct namer *namer, uint32_t node)
{
	if (node < namer->eval->named && namer->eval->naming[node].path)
		return namer->eval->naming[node];
	return (struct dfg_naming){DFG_NAME_KEPT, namer->draft->node[node].name};
}

static bool is_output(const struct namer *namer, const char *name)
{
	uint32_t node = dfg_graph_find(namer->draft, name);
	return node != DFG_NONE && dfg_node_mark(&namer->draft->node[node], "_dfg_output", NULL);
}

static struct dfg_err *name_last(struct namer *namer, uint32_t node, const char *path)
{
	bool is_free;
	DFG_TRY(take(namer, path, &is_free));
	namer->name[node] = path;
	if (is_free || !is_output(namer, path))
		return is_free ? NULL : take_next(namer, node, path);
	namer->name[node] = dfg_arena_print(namer->eval->arena, "%s.0", path);
	if (!namer->name[node])
		return dfg_no_memory("the names of nodes");
	DFG_TRY(take(namer, namer->name[node], &is_free));
	return is_free ? NULL : take_next(namer, node, path);
}

/* Walks from the end, so that the first node of a name that it meets is the last one. */
static struct dfg_err *name_all_last(struct namer *namer)
{
	struct dfg_map seen = {0};
	struct dfg_err *err = NULL;
	for (uint32_t i = namer->draft->count; i-- && !err;) {
		struct dfg_naming naming = naming_of(namer, i);
		uint32_t number;
		bool is_last;
		if (naming.kind != DFG_NAME_BOUND)
			continue;
		if (!dfg_map_put(&seen, naming.path, strlen(naming.path), &number, &is_last))
			err = dfg_no_memory("the names of nodes");
		else if (is_last)
			err = name_last(namer, i, naming.path);
	}
	dfg_map_release(&seen);
	return err;
}

static struct dfg_err *name_kind(struct namer *namer, enum dfg_naming_kind kind)
{
	for (uint32_t i = 0; i < namer->draft->count; i++) {
		struct dfg_naming naming = naming_of(namer, i);
		if (!namer->name[i] && naming.kind == kind)
			DFG_TRY(take_next(namer, i, naming.path));
	}
	return NULL;
}

static struct dfg_err *name_all(struct namer *namer)
{
	DFG_TRY(name_kind(namer, DFG_NAME_EXACT));
	DFG_TRY(name_all_last(namer));
	DFG_TRY(name_kind(namer, DFG_NAME_BOUND));
	DFG_TRY(name_kind(namer, DFG_NAME_KEPT));
	return name_kind(namer, DFG_NAME_NONE);
}

static struct dfg_err *move(const struct namer *namer, struct dfg_graph *out_graph)
{
	for (uint32_t i = 0; i < namer->draft->count; i++) {
		struct dfg_node node = namer->draft->node[i];
		uint32_t number;
		node.name = dfg_arena_copy(out_graph->arena, namer->name[i], strlen(namer->name[i]));
		if (!node.name)
			return dfg_no_memory("the names of nodes");
		DFG_TRY(dfg_graph_add(out_graph, &node, &number));
	}
	return NULL;
}

struct dfg_err *dfg_name_nodes(struct dfg_eval *eval, struct dfg_graph *out_graph)
{
	struct namer namer = {.eval = eval, .draft = eval->builder->graph};
	namer.name = dfg_arena_zeros(eval->arena, namer.draft->count, sizeof *namer.name);
	struct dfg_err *err = namer.name ? name_all(&namer) : dfg_no_memory("the names of nodes");
	if (!err)
		err = move(&namer, out_graph);
	dfg_map_release(&namer.taken);
	dfg_counter_release(&namer.counter);
	return err;
}
