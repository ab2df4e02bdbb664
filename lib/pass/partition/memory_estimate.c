/*
 * memory_estimate. An estimate of each host's memory, by one traversal of the graph in topological order. O(nodes +
 * edges).
 */
#include "lib/pass/partition/memory_estimate.h"

#include "lib/base/mem.h"
#include "lib/graph/initialisers.h"
#include "lib/graph/shared_name.h"

#include <math.h>
#include <string.h>

/*
 * Bytes that do not depend on the batch, and bytes per row of the batch. Whole numbers, in a type that does not wrap.
 */
struct load {
	double fixed, row;
};
enum { UNKNOWN = 32 };

struct memory {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_placed *placed;
	struct dfg_arena scratch;
	uint32_t *order;
	uint32_t *ends,
		*next;         /* by position in the order: 1 + a node whose value ends there; by node: 1 + the next of these */
	uint32_t *initial; /* nodes that only initialise variables: lib/graph/initialisers.h */
	struct load *live, *most, *kept; /* by host: live now, peak, and variables and constants */
	struct dfg_map seen;             /* names of variables */
};

static struct load load_of(enum dfg_dtype dtype, const struct dfg_shape *shape)
{
	double bytes = (double)dfg_dtype_size(dtype);
	for (int i = 0; i < shape->rank; i++)
		if (shape->dim[i] >= 0 || i)
			bytes *= shape->dim[i] < 0 ? UNKNOWN : (double)shape->dim[i];
	if (shape->rank < 0)
		bytes *= UNKNOWN;
	return shape->rank > 0 && shape->dim[0] < 0 ? (struct load){0, bytes} : (struct load){bytes, 0};
}

static void add_load(struct load *sum, struct load load, int sign)
{
	sum->fixed += sign * load.fixed;
	sum->row += sign * load.row;
}

static double weight(struct load load)
{
	return load.fixed + UNKNOWN * load.row;
}

/* A node that only forwards a value, such as a read of a variable, allocates nothing. */
static bool passes_on(const struct dfg_node *node)
{
	enum dfg_role role = dfg_node_role(node);
	return role == DFG_IDENTITY || role == DFG_READ || role == DFG_SWITCH || role == DFG_MERGE || role == DFG_ENTER ||
		   role == DFG_EXIT || role == DFG_NEXT_ITERATION || role == DFG_LOOP_COND ||
		   (node->op && node->op->flags & DFG_VIEW);
}

static bool is_handle(enum dfg_dtype dtype)
{
	return dfg_dtype_is_handle(dtype);
}

static struct load made_by(const struct memory *m, uint32_t n)
{
	struct load sum = {0, 0};
	for (uint32_t o = 0; o < dfg_facts_outputs(m->facts, n); o++) {
		const struct dfg_inferred *fact = dfg_facts_of(m->facts, (struct dfg_edge){n, (int32_t)o});
		if (!is_handle(fact->dtype) && !fact->is_ref)
			add_load(&sum, load_of(fact->dtype, &fact->shape), 1);
	}
	return sum;
}

/* Adds a variable's memory once, although several nodes may refer to it. */
static struct dfg_err *keep_variable(struct memory *m, uint32_t n)
{
	const char *name = dfg_node_shared_name(&m->graph->node[n], &m->scratch);
	bool is_new;
	if (!name || !dfg_map_put(&m->seen, name, strlen(name), &(uint32_t){0}, &is_new))
		return dfg_no_memory("a cost estimate");
	if (!is_new || !dfg_facts_outputs(m->facts, n))
		return NULL;
	const struct dfg_inferred *fact = dfg_facts_of(m->facts, (struct dfg_edge){n, 0});
	if (fact->holds)
		add_load(&m->kept[m->placed[n].device], load_of(fact->holds->dtype, &fact->holds->shape), 1);
	return NULL;
}

/* Finds the last reader of each value. A forwarded value ends with the last reader of the forwarding node. */
static struct dfg_err *find_ends(struct memory *m, uint32_t count)
{
	uint32_t *last = dfg_arena_zeros(&m->scratch, (size_t)m->graph->count + 1, sizeof *last);
	if (!last)
		return dfg_no_memory("a cost estimate");
	for (uint32_t i = count; i; i--) {
		uint32_t n = m->order[i - 1];
		const struct dfg_node *node = &m->graph->node[n];
		uint32_t end = passes_on(node) && last[n] ? last[n] : i;
		for (uint32_t e = 0; e < node->n_in; e++)
			if (last[node->in[e].node] < end)
				last[node->in[e].node] = end;
		if (passes_on(node) || dfg_node_role(node) == DFG_CONST || !last[n] || m->initial[n] != DFG_NONE)
			continue;
		m->next[n] = m->ends[last[n] - 1];
		m->ends[last[n] - 1] = n + 1;
	}
	return NULL;
}

static struct dfg_err *walk(struct memory *m, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = m->order[i], host = m->placed[n].device;
		const struct dfg_node *node = &m->graph->node[n];
		if (dfg_node_role(node) == DFG_VARIABLE)
			DFG_TRY(keep_variable(m, n));
		else if (dfg_node_role(node) == DFG_CONST)
			add_load(&m->kept[host], made_by(m, n), 1);
		else if (!passes_on(node) && m->initial[n] == DFG_NONE)
			add_load(&m->live[host], made_by(m, n), 1);
		if (weight(m->live[host]) > weight(m->most[host]))
			m->most[host] = m->live[host];
		for (uint32_t ended = m->ends[i]; ended; ended = m->next[ended - 1])
			add_load(&m->live[m->placed[ended - 1].device], made_by(m, ended - 1), -1);
	}
	return NULL;
}

static struct dfg_err *put_load(struct dfg_amount *amount, struct load load)
{
	DFG_TRY(dfg_amount_add(amount, (uint64_t)fmin(load.fixed, 0x1p63), ""));
	return dfg_amount_add(amount, (uint64_t)fmin(load.row, 0x1p63), "b");
}

static struct dfg_err *measure(struct memory *m, uint32_t hosts, struct dfg_cost_host *host)
{
	size_t nodes = (size_t)m->graph->count + 1;
	uint32_t count;
	m->order = dfg_arena_zeros(&m->scratch, nodes, sizeof *m->order);
	m->ends = dfg_arena_zeros(&m->scratch, nodes, sizeof *m->ends);
	m->next = dfg_arena_zeros(&m->scratch, nodes, sizeof *m->next);
	m->live = dfg_arena_zeros(&m->scratch, hosts, sizeof *m->live);
	m->most = dfg_arena_zeros(&m->scratch, hosts, sizeof *m->most);
	m->kept = dfg_arena_zeros(&m->scratch, hosts, sizeof *m->kept);
	if (!m->order || !m->ends || !m->next || !m->live || !m->most || !m->kept)
		return dfg_no_memory("a cost estimate");
	DFG_TRY(dfg_graph_order(m->graph, &m->scratch, m->order, &count));
	DFG_TRY(dfg_initialiser_nodes(m->graph, m->order, &m->scratch, &m->initial));
	DFG_TRY(find_ends(m, count));
	DFG_TRY(walk(m, count));
	for (uint32_t h = 0; h < hosts; h++) {
		DFG_TRY(put_load(&host[h].parameters, m->kept[h]));
		DFG_TRY(put_load(&host[h].activations, m->most[h]));
	}
	return NULL;
}

struct dfg_err *dfg_cost_memory(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, uint32_t hosts, struct dfg_cost_host *host)
{
	struct memory m = {.graph = graph, .facts = facts, .placed = placed};
	struct dfg_err *err = measure(&m, hosts, host);
	dfg_map_release(&m.seen);
	dfg_arena_release(&m.scratch);
	return err;
}
