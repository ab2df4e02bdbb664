/*
 * improvement. The schedule sees the inputs of a node, not its readers: a group between two devices moves to the one
 * with which it exchanges more, if the transfers saved outweigh its work. O(edges + nodes * devices).
 */
#include "lib/pass/place/place_private.h"

#include <float.h>

struct refine {
	struct dfg_placing *p;
	struct dfg_place_lists readers, members; /* of a node; of a root */
	double *near;                            /* by device: the transfers between the current group and that device */
	uint32_t *seen, devices_seen;
	bool *free;     /* by node: its group may move */
	uint32_t *told; /* by device: 1 + the last node whose readers there were counted */
};

static struct dfg_err *take_lists(struct dfg_placing *p, size_t items, struct dfg_place_lists *out)
{
	out->first = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 2, sizeof *out->first);
	out->item = dfg_arena_zeros(&p->scratch, items + 1, sizeof *out->item);
	return out->first && out->item ? NULL : DFG_ERR(DFG_MEMORY, "no memory to place %u nodes", p->graph->count);
}

static bool is_free(const struct dfg_placing *p, uint32_t root)
{
	return !p->whole[root] && !dfg_choice_is_one(&p->choices, p->choice[root]);
}

static bool crosses(const struct dfg_placing *p, uint32_t a, uint32_t b)
{
	return p->job[a].root != p->job[b].root;
}

/* Whether to list the edge: with told, only edges between groups that may move. */
static bool is_told(const struct dfg_placing *p, const bool *told, uint32_t from, uint32_t to)
{
	return !told || (told[from] && crosses(p, from, to));
}

struct dfg_err *dfg_place_readers(struct dfg_placing *p, const bool *told, struct dfg_place_lists *out_readers)
{
	size_t edges = 0;
	for (uint32_t n = 0; n < p->graph->count; n++)
		edges += p->graph->node[n].n_in + p->graph->node[n].n_control;
	DFG_TRY(take_lists(p, edges, out_readers));
	uint32_t *first = out_readers->first;
	for (uint32_t n = 0; n < p->graph->count; n++) {
		const struct dfg_node *node = &p->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			first[node->in[e].node + 2] += is_told(p, told, node->in[e].node, n);
	}
	for (uint32_t n = 0; n < p->graph->count; n++)
		first[n + 2] += first[n + 1];
	for (uint32_t n = 0; n < p->graph->count; n++) {
		const struct dfg_node *node = &p->graph->node[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++)
			if (is_told(p, told, node->in[e].node, n))
				out_readers->item[first[node->in[e].node + 1]++] = n;
	}
	return NULL;
}

static struct dfg_err *find_members(struct refine *r)
{
	struct dfg_placing *p = r->p;
	DFG_TRY(take_lists(p, p->graph->count, &r->members));
	uint32_t *first = r->members.first;
	for (uint32_t n = 0; n < p->graph->count; n++)
		first[p->job[n].root + 2]++;
	for (uint32_t n = 0; n < p->graph->count; n++)
		first[n + 2] += first[n + 1];
	for (uint32_t n = 0; n < p->graph->count; n++)
		r->members.item[first[p->job[n].root + 1]++] = n;
	return NULL;
}

/* A node that only initialises variables is not part of a step, so its transfers cost nothing. */
static bool is_initial(const struct refine *r, uint32_t n)
{
	return r->p->kind[n] & DFG_KIND_INITIAL;
}

static void weigh(struct refine *r, uint32_t device, float send)
{
	if (r->near[device] <= 0)
		r->seen[r->devices_seen++] = device;
	r->near[device] += (double)send;
}

/*
 * Weighs the inputs. The group may move only to their devices, so that not every group before a requested one follows
 * it.
 */
static void weigh_inputs(struct refine *r, uint32_t n)
{
	const struct dfg_place_job *job = r->p->job;
	const struct dfg_node *node = &r->p->graph->node[n];
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		uint32_t from = node->in[e].node;
		if (crosses(r->p, n, from))
			weigh(r, r->p->device[job[from].root], job[from].send);
	}
}

/* Weighs the readers; a tensor is sent to each device once, however many readers are there. */
static void weigh_readers(struct refine *r, uint32_t n)
{
	const struct dfg_place_job *job = r->p->job;
	for (uint32_t i = r->readers.first[n]; i < r->readers.first[n + 1]; i++) {
		uint32_t device = r->p->device[job[r->readers.item[i]].root];
		if (r->near[device] > 0 && r->told[device] != n + 1)
			r->near[device] += (double)job[n].send;
		r->told[device] = n + 1;
	}
}

static void weigh_all(struct refine *r, uint32_t root)
{
	const uint32_t *member = r->members.item;
	for (uint32_t i = 0; i < r->devices_seen; i++)
		r->near[r->seen[i]] = 0;
	r->devices_seen = 0;
	weigh(r, r->p->device[root], FLT_MIN); /* it may remain with its readers, whatever it reads */
	for (uint32_t i = r->members.first[root]; i < r->members.first[root + 1]; i++)
		if (!is_initial(r, member[i]))
			weigh_inputs(r, member[i]);
	for (uint32_t i = r->members.first[root]; r->devices_seen > 1 && i < r->members.first[root + 1]; i++)
		if (!is_initial(r, member[i]))
			weigh_readers(r, member[i]);
}

static bool move(struct refine *r, uint32_t root)
{
	struct dfg_placing *p = r->p;
	uint32_t best = p->device[root];
	weigh_all(r, root);
	for (uint32_t i = 0; i < r->devices_seen; i++) {
		uint32_t device = r->seen[i];
		if (dfg_choice_has(&p->choices, p->choice[root], device) && r->near[device] > r->near[best])
			best = device;
	}
	if (r->near[best] - r->near[p->device[root]] <= (double)p->work[root])
		return false;
	p->device[root] = best;
	return true;
}

static bool is_cut(const struct dfg_placing *p)
{
	uint32_t device = p->graph->count ? p->device[p->job[0].root] : 0;
	bool cut = false;
	for (uint32_t n = 0; n < p->graph->count && !cut; n++)
		cut = p->device[p->job[n].root] != device;
	return cut;
}

struct dfg_err *dfg_place_refine(struct dfg_placing *p)
{
	enum { SWEEPS = 2 };
	struct refine r = {.p = p};
	bool moved = p->job && is_cut(p);
	if (!moved)
		return NULL;
	r.near = dfg_arena_zeros(&p->scratch, p->choices.devices, sizeof *r.near);
	r.seen = dfg_arena_zeros(&p->scratch, p->choices.devices, sizeof *r.seen);
	r.told = dfg_arena_zeros(&p->scratch, p->choices.devices, sizeof *r.told);
	r.free = dfg_arena_zeros(&p->scratch, (size_t)p->graph->count + 1, sizeof *r.free);
	if (!r.near || !r.seen || !r.told || !r.free)
		return DFG_ERR(DFG_MEMORY, "no memory to place %u nodes", p->graph->count);
	for (uint32_t n = 0; n < p->graph->count; n++)
		r.free[n] = is_free(p, p->job[n].root);
	DFG_TRY(dfg_place_readers(p, r.free, &r.readers));
	DFG_TRY(find_members(&r));
	for (int sweep = 0; sweep < SWEEPS && moved; sweep++) {
		moved = false;
		for (uint32_t n = 0; n < p->graph->count; n++)
			if (p->job[n].root == n && r.free[n])
				moved |= move(&r, n);
	}
	return NULL;
}
