#include "lib/pass/grad/memo.h"

#include <string.h>

enum { NODES_MOST = 64, MEMOS_MOST = 16384, MADE = 1 << 16 /* from here on, nodes of the memo */ };

/* An edge relative to a site: ref[from], or output `port` of the memo's node from - MADE. */
struct reference {
	uint32_t from;
	int32_t port;
};

struct memo_node {
	struct dfg_node like; /* .name: without the scope; .in: of the first site, not used */
	uint32_t length;      /* of the name */
	const struct reference *in;
	uint32_t n_out;
	const struct dfg_inferred *const *fact;
};

struct memo {
	uint32_t n_node, n_dx, edges, outputs;
	size_t letters; /* bytes of all names, each with its 0 */
	const struct memo_node *node;
	const struct memo_dx {
		int kind;
		struct reference value, indices;
	} * dx;
};

/* The pattern of equal edges among the references: at another site the same edges must be equal. */
static uint64_t pattern_of(const struct dfg_site *site)
{
	uint64_t pattern = 0;
	for (uint32_t i = 0; i < site->n_ref; i++) {
		uint32_t first = 0;
		while (!dfg_edge_same(site->ref[first], site->ref[i]))
			first++;
		pattern = pattern << 4 | first;
	}
	return pattern;
}

static void add_ref(struct dfg_site *site, const struct dfg_facts *facts, struct dfg_edge edge)
{
	bool there = edge.node != DFG_NONE;
	site->key[site->words++] = there ? (uint64_t)(uintptr_t)dfg_facts_of(facts, edge) : 0;
	site->ref[site->n_ref++] = edge;
}

void dfg_site_of(const struct dfg_gradient *node, struct dfg_site *out_site)
{
	const struct dfg_resolved_node *call = node->call;
	const struct dfg_facts *facts = &node->builder->facts;
	uint64_t wanted = 0;
	out_site->scope = node->scope;
	out_site->n_ref = 0;
	out_site->words = 0;
	if (!call->alike || call->n_in + 2u * call->n_out > DFG_SITE_REFS || node->builder->n_control)
		return;
	for (int i = 0; i < call->n_in; i++)
		wanted |= (uint64_t)node->wanted[i] << i;
	out_site->key[out_site->words++] = (uint64_t)call->alike << 32 | wanted;
	for (int i = 0; i < call->n_in; i++)
		add_ref(out_site, facts, node->in[i]);
	for (int i = 0; i < call->n_out; i++) {
		add_ref(out_site, facts, dfg_gradient_output(node, i));
		add_ref(out_site, facts, node->dy[i]);
	}
	out_site->key[out_site->words++] = pattern_of(out_site);
}

struct dfg_err *dfg_gradient_memos_settle(struct dfg_gradient_memos *memos)
{
	struct dfg_graph *graph = memos->builder->graph;
	for (uint32_t i = 0, n = graph->count - memos->n_late; i < memos->n_late; i++, n++) {
		bool is_new;
		uint32_t number, length = memos->late[i].length, hash = memos->late[i].hash;
		if (!dfg_map_put_hash(&graph->names, graph->node[n].name, length, hash, &number, &is_new))
			return dfg_no_memory("a gradient");
		if (!is_new)
			return DFG_ERR(DFG_BUG, "the name '%.200s' is taken", graph->node[n].name);
	}
	memos->n_late = 0;
	return NULL;
}

static struct dfg_edge resolve(const struct dfg_site *site, struct reference reference, uint32_t first)
{
	if (reference.from >= MADE)
		return (struct dfg_edge){first + reference.from - MADE, reference.port};
	return site->ref[reference.from];
}

/* Reserves memory for all nodes of a memo. */
static struct dfg_err *reserve_nodes(struct dfg_builder *builder, const struct memo *memo)
{
	struct dfg_graph *graph = builder->graph;
	struct dfg_facts *facts = &builder->facts;
	if (!dfg_reserve(&graph->node, &graph->capacity, (size_t)graph->count + memo->n_node, sizeof *graph->node) ||
		!dfg_reserve(&facts->fact, &facts->capacity, facts->count + memo->outputs, sizeof(void *)) ||
		!dfg_reserve(&facts->first, &facts->nodes_capacity, facts->nodes + memo->n_node + 1, sizeof *facts->first))
		return dfg_no_memory("a gradient");
	return NULL;
}

static void add_facts(struct dfg_facts *facts, const struct memo_node *node)
{
	for (uint32_t i = 0; i < node->n_out; i++)
		facts->fact[facts->count++] = node->fact[i];
	facts->first[++facts->nodes] = (uint32_t)facts->count;
}

/* Writes "SCOPE/OWN" to name, and notes it for the graph's map (dfg_gradient_memos_settle). */
static void add_name(
	struct dfg_gradient_memos *memos, const char *scope, size_t length, const struct memo_node *own, char *name)
{
	memcpy(name, scope, length);
	name[length] = '/';
	memcpy(name + length + 1, own->like.name, own->length);
	length += 1 + own->length;
	uint32_t hash = dfg_map_hash(name, length), late = memos->n_late++;
	dfg_map_prefetch(&memos->builder->graph->names, hash);
	memos->late[late].length = (uint32_t)length;
	memos->late[late].hash = hash;
}

static struct dfg_err *add_nodes(struct dfg_gradient_memos *memos, const struct dfg_site *site, const struct memo *memo)
{
	struct dfg_builder *builder = memos->builder;
	struct dfg_graph *graph = builder->graph;
	uint32_t first = graph->count;
	size_t scope = strlen(site->scope);
	struct dfg_edge *in = dfg_arena_zeros(graph->arena, memo->edges, sizeof *in);
	char *name = dfg_arena_zeros(graph->arena, memo->n_node * (scope + 1) + memo->letters, 1);
	if (!in || !name)
		return dfg_no_memory("a gradient");
	DFG_TRY(reserve_nodes(builder, memo));
	for (uint32_t i = 0; i < memo->n_node; i++) {
		const struct memo_node *from = &memo->node[i];
		if (memos->n_late == DFG_LATE_NAMES)
			DFG_TRY(dfg_gradient_memos_settle(memos));
		add_name(memos, site->scope, scope, from, name);
		struct dfg_node *to = &graph->node[graph->count++];
		*to = from->like;
		to->device = builder->device ? builder->device : "";
		to->in = in;
		to->name = name;
		for (uint32_t e = 0; e < from->like.n_in; e++)
			*in++ = resolve(site, from->in[e], first);
		name += scope + 1 + from->length + 1;
		add_facts(&builder->facts, from);
	}
	return NULL;
}

struct dfg_err *dfg_gradient_memo_use(
	struct dfg_gradient_memos *memos, const struct dfg_site *site, struct dfg_gradient *node, bool *out_done)
{
	uint32_t found = site->words ? dfg_map_find(&memos->map, (const char *)site->key, site->words * 8) : DFG_NONE;
	*out_done = found != DFG_NONE;
	if (!*out_done)
		return NULL;
	const struct memo *memo = (const void *)(memos->map.name[found].s + memos->map.name[found].length);
	uint32_t first = memos->builder->graph->count;
	if (memo->n_node)
		DFG_TRY(add_nodes(memos, site, memo));
	for (uint32_t i = 0; i < memo->n_dx; i++) {
		const struct memo_dx *dx = &memo->dx[i];
		node->dx[i].kind = dx->kind;
		if (dx->kind != DFG_NO_COTANGENT)
			node->dx[i].value = resolve(site, dx->value, first);
		if (dx->kind == DFG_ROWS)
			node->dx[i].indices = resolve(site, dx->indices, first);
	}
	return NULL;
}

/* The nodes that were made at a site, while they become a memo. */
struct keeper {
	struct dfg_gradient_memos *memos;
	const struct dfg_site *site;
	uint32_t first;
};

/* The reference to an edge; false if the site neither has nor made it. */
static bool refer(const struct keeper *k, struct dfg_edge edge, struct reference *out_reference)
{
	*out_reference = (struct reference){0, edge.port};
	if (edge.node >= k->first && edge.node != DFG_NONE) {
		out_reference->from = MADE + edge.node - k->first;
		return true;
	}
	while (out_reference->from < k->site->n_ref && !dfg_edge_same(k->site->ref[out_reference->from], edge))
		out_reference->from++;
	return out_reference->from < k->site->n_ref;
}

/* Whether the node can be repeated in another scope: its name is in the scope, and it has only data inputs. */
static bool is_plain(const struct keeper *k, const struct dfg_node *node)
{
	size_t scope = strlen(k->site->scope);
	if (strncmp(node->name, k->site->scope, scope) || node->name[scope] != '/')
		return false;
	const char *own = node->name + scope + 1;
	return !strchr(own, '/') && strncmp(own, "AddN", 4) && !node->n_control && !node->n_debug &&
		   !(node->op->flags & DFG_STATEFUL);
}

static struct dfg_err *keep_node(
	const struct keeper *k, uint32_t n, struct memo *memo, struct memo_node *to, bool *out_kept)
{
	const struct dfg_facts *facts = &k->memos->builder->facts;
	const struct dfg_node *node = &k->memos->builder->graph->node[n];
	struct dfg_arena *arena = &k->memos->arena;
	struct reference *in = dfg_arena_zeros(arena, node->n_in, sizeof *in);
	const struct dfg_inferred **fact = dfg_arena_zeros(arena, dfg_facts_outputs(facts, n), sizeof(void *));
	*out_kept = is_plain(k, node);
	if (!in || !fact)
		return dfg_no_memory("a gradient");
	for (uint32_t i = 0; i < node->n_in && *out_kept; i++)
		*out_kept = refer(k, node->in[i], &in[i]);
	to->like = *node;
	to->like.name = node->name + strlen(k->site->scope) + 1;
	to->length = (uint32_t)strlen(to->like.name);
	to->in = in;
	to->n_out = dfg_facts_outputs(facts, n);
	for (uint32_t i = 0; i < to->n_out; i++)
		fact[i] = facts->fact[facts->first[n] + i];
	to->fact = fact;
	memo->edges += node->n_in;
	memo->outputs += to->n_out;
	memo->letters += to->length + 1;
	return NULL;
}

static bool keep_dx(const struct keeper *k, const struct dfg_cotangent *from, struct memo_dx *to)
{
	to->kind = from->kind;
	return from->kind == DFG_NO_COTANGENT ||
		   (refer(k, from->value, &to->value) && (from->kind == DFG_DENSE || refer(k, from->indices, &to->indices)));
}

static struct dfg_err *fill(const struct keeper *k, const struct dfg_gradient *node, struct memo *memo, bool *out_kept)
{
	struct dfg_arena *arena = &k->memos->arena;
	struct memo_node *to = dfg_arena_zeros(arena, memo->n_node, sizeof *to);
	struct memo_dx *dx = dfg_arena_zeros(arena, memo->n_dx, sizeof *dx);
	*out_kept = true;
	if (!to || !dx)
		return dfg_no_memory("a gradient");
	memo->node = to;
	memo->dx = dx;
	for (uint32_t i = 0; i < memo->n_node && *out_kept; i++)
		DFG_TRY(keep_node(k, k->first + i, memo, &to[i], out_kept));
	for (uint32_t i = 0; i < memo->n_dx && *out_kept; i++)
		*out_kept = keep_dx(k, &node->dx[i], &dx[i]);
	return NULL;
}

struct dfg_err *dfg_gradient_memo_keep(
	struct dfg_gradient_memos *memos, const struct dfg_site *site, uint32_t first, const struct dfg_gradient *node)
{
	struct keeper k = {memos, site, first};
	struct memo memo = {.n_node = memos->builder->graph->count - first, .n_dx = node->call->n_in};
	uint32_t number;
	bool kept;
	if (!site->words || memo.n_node > NODES_MOST || memos->map.count == MEMOS_MOST)
		return NULL;
	DFG_TRY(fill(&k, node, &memo, &kept));
	if (!kept)
		return NULL;
	size_t length = site->words * sizeof *site->key;
	char *entry = dfg_arena_zeros(&memos->arena, length + sizeof memo, 1);
	if (!entry)
		return dfg_no_memory("a gradient");
	memcpy(entry, site->key, length);
	memcpy(entry + length, &memo, sizeof memo);
	return dfg_map_put(&memos->map, entry, length, &number, NULL) ? NULL : dfg_no_memory("a gradient");
}

void dfg_gradient_memos_release(struct dfg_gradient_memos *memos)
{
	dfg_map_release(&memos->map);
	dfg_arena_release(&memos->arena);
}
