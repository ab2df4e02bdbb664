#include "lib/pass/grad/tape.h"

#include "lib/pass/grad/recompute.h"
#include "lib/pass/grad/induction.h"

#include <string.h>

enum { SAVED = 16, SAVED_IN_COPY, SHAPED, RETURNED }; /* kinds of keys after those of gradient_frames.c */

static const struct dfg_node *node_of(const struct dfg_gradient_frames *m, uint32_t n)
{
	return &m->builder->graph->node[n];
}

uint32_t dfg_tape_region(const struct dfg_gradient_frames *m, uint32_t save)
{
	uint32_t loop = m->loops.of[save];
	for (uint32_t keys = node_of(m, save)->n_in - 1; keys && loop; keys--)
		loop = m->loops.loop[loop].parent;
	return loop;
}

struct dfg_err *dfg_tape_find(struct dfg_gradient_frames *m)
{
	for (uint32_t n = 0; n < m->count; n++) {
		struct dfg_location location;
		if (dfg_node_role(node_of(m, n)) != DFG_SAVE || dfg_tape_region(m, n) != m->region)
			continue;
		struct dfg_edge value = dfg_live_source(m->builder->graph, node_of(m, n)->in[0]);
		DFG_TRY(dfg_cotangent_location(m, (struct dfg_edge){n, 0}, &location));
		DFG_TRY(dfg_edge_map_put(&m->map, (struct dfg_edge_key){value, SAVED, location.set}, (struct dfg_edge){n, 0}));
	}
	return NULL;
}

/* Lists the loops between the region and a loop, the outermost first; out_loop has space for all. */
static uint32_t list_loops(const struct dfg_gradient_frames *m, uint32_t loop, uint32_t region, uint32_t *out_loop)
{
	uint32_t count = m->loops.loop[loop].depth - m->loops.loop[region].depth;
	for (uint32_t i = count; i--; loop = m->loops.loop[loop].parent)
		out_loop[i] = loop;
	return count;
}

/* Casts a key to the type of all keys of its Save: that of the counters, or the wider one if they differ. */
static struct dfg_err *widen(
	struct dfg_gradient_frames *m, enum dfg_dtype dtype, const struct dfg_location *location, struct dfg_edge *key)
{
	const struct dfg_attr to = DFG_ATTR_T("DstT", dtype);
	if (dfg_facts_of(&m->builder->facts, *key)->dtype == dtype)
		return NULL;
	return dfg_gradient_frames_node(
		m, location, &(struct dfg_own_node){.op = "Cast", .in = key, .n_in = 1, .attr = &to, .n_attr = 1}, key);
}

static enum dfg_dtype wider(const struct dfg_gradient_frames *m, const struct dfg_edge *key, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (dfg_facts_of(&m->builder->facts, key[i])->dtype == DFG_I64)
			return DFG_I64;
	return DFG_I32;
}

static struct dfg_err *widen_all(
	struct dfg_gradient_frames *m, const struct dfg_location *location, struct dfg_edge *key, uint32_t count)
{
	enum dfg_dtype dtype = wider(m, key, count);
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(widen(m, dtype, location, &key[i]));
	return NULL;
}

/* Makes a node of the pass, named after the value that it keeps. */
static struct dfg_err *make_tape_node(struct dfg_gradient_frames *m, uint32_t value,
	const struct dfg_location *location, const struct dfg_own_node *node, struct dfg_edge *out_edge)
{
	const char *outer = m->scope;
	if (value < m->count && !(m->scope = dfg_arena_path(&m->arena, m->prefix, node_of(m, value)->name)))
		return dfg_no_memory("a name");
	struct dfg_err *err = dfg_gradient_frames_node(m, location, node, out_edge);
	m->scope = outer;
	return err;
}

/* in: the value, then its keys. */
static struct dfg_err *make_save(struct dfg_gradient_frames *m, const struct dfg_location *location,
	struct dfg_edge *in, uint32_t count, struct dfg_edge *out_store)
{
	DFG_TRY(widen_all(m, location, in + 1, count));
	return make_tape_node(
		m, in[0].node, location, &(struct dfg_own_node){.op = "Dfg>Save", .in = in, .n_in = count + 1}, out_store);
}

/* Replaces the inputs of a Save within a recomputed iteration by their copies there. */
static struct dfg_err *copy_inputs(struct dfg_gradient_frames *m, uint32_t base, struct dfg_edge *in, uint32_t count)
{
	for (uint32_t i = 0; i < count && base != m->region; i++)
		DFG_TRY(dfg_recompute_copy(m, base, in[i], &in[i]));
	return NULL;
}

/*
 * Saves a forward value. location: that of its gradient, which is the value's own except for `in_gradient`. base: the
 * region, or the loop in whose recomputed iteration the value is saved.
 */
static struct dfg_err *save(struct dfg_gradient_frames *m, struct dfg_edge value, const struct dfg_location *location,
	uint32_t base, struct dfg_edge *out_store)
{
	const struct dfg_edge_key key = {value, base == m->region ? SAVED : SAVED_IN_COPY, location->set};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	struct dfg_location here = {.loop = location->loop, .set = location->set};
	uint32_t depth = m->loops.loop[location->loop].depth;
	uint32_t *loop = dfg_arena_zeros(&m->arena, depth, sizeof *loop);
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)depth + 1, sizeof *in);
	if (!loop || !in)
		return dfg_no_memory("keys");
	if (there) {
		*out_store = *there;
		return NULL;
	}
	uint32_t count = list_loops(m, location->loop, base, loop);
	DFG_TRY(dfg_gradient_frames_bring(m, value, &here, &in[0]));
	for (uint32_t i = 0; i < count; i++) {
		DFG_TRY(dfg_induction_index(m, loop[i], &in[i + 1]));
		DFG_TRY(dfg_gradient_frames_bring(m, in[i + 1], &here, &in[i + 1]));
	}
	DFG_TRY(widen_all(m, &here, in + 1, count));
	DFG_TRY(copy_inputs(m, base, in, count + 1));
	here.in_gradient = base != m->region;
	DFG_TRY(make_save(m, &here, in, count, out_store));
	return dfg_edge_map_put(&m->map, key, *out_store);
}

/* in: space for the store, then the forward keys. */
static struct dfg_err *load(struct dfg_gradient_frames *m, struct dfg_edge store, struct dfg_edge *in, uint32_t count,
	const struct dfg_location *location, struct dfg_edge *out_edge)
{
	enum dfg_dtype dtype = dfg_facts_of(&m->builder->facts, node_of(m, store.node)->in[1])->dtype;
	enum dfg_dtype element = dfg_facts_of(&m->builder->facts, store)->holds->dtype;
	const struct dfg_attr type = DFG_ATTR_T("T", element);
	in[0] = store;
	for (uint32_t i = 1; i <= count; i++) {
		DFG_TRY(dfg_gradient_frames_need(m, in[i], &in[i]));
		DFG_TRY(dfg_gradient_frames_bring(m, in[i], location, &in[i]));
		DFG_TRY(widen(m, dtype, location, &in[i]));
	}
	return make_tape_node(m, node_of(m, store.node)->in[0].node, location,
		&(struct dfg_own_node){.op = "Dfg>Load", .in = in, .n_in = count + 1, .attr = &type, .n_attr = 1}, out_edge);
}

static struct dfg_err *load_new(struct dfg_gradient_frames *m, struct dfg_edge value, uint32_t base,
	const struct dfg_location *location, struct dfg_edge *out_edge)
{
	struct dfg_edge store;
	uint32_t depth = m->loops.loop[location->loop].depth;
	uint32_t *loop = dfg_arena_zeros(&m->arena, depth, sizeof *loop);
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)depth + 1, sizeof *in);
	if (!loop || !in)
		return dfg_no_memory("keys");
	DFG_TRY(save(m, value, location, base, &store));
	uint32_t count = list_loops(m, location->loop, base, loop);
	for (uint32_t i = 0; i < count; i++)
		in[i + 1] = (struct dfg_edge){m->counter[loop[i]].merge, 0};
	return load(m, store, in, count, location, out_edge);
}

/*
 * Loads a value that forward code loaded: from the same Save if it is of this region, else from a new Save of the same
 * value.
 */
static struct dfg_err *load_loaded(struct dfg_gradient_frames *m, uint32_t was, uint32_t base,
	const struct dfg_location *location, struct dfg_edge *out_edge)
{
	uint32_t source = node_of(m, was)->in[0].node, own = node_of(m, was)->n_in - 1;
	uint32_t region = dfg_tape_region(m, source);
	uint32_t depth = m->loops.loop[region].depth;
	struct dfg_edge store = {source, 0};
	uint32_t *loop = dfg_arena_zeros(&m->arena, (size_t)depth + 1, sizeof *loop);
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)depth + own + 1, sizeof *in);
	if (!loop || !in)
		return dfg_no_memory("keys");
	uint32_t before = list_loops(m, region, base, loop);
	for (uint32_t i = 0; i < before; i++) {
		DFG_TRY(dfg_induction_index(m, loop[i], &in[i + 1]));
		in[i + 1] = (struct dfg_edge){m->counter[loop[i]].merge, 0};
	}
	memcpy(in + 1 + before, node_of(m, was)->in + 1, own * sizeof *in);
	if (region != base) {
		struct dfg_location at;
		struct dfg_edge value = dfg_live_source(m->builder->graph, node_of(m, source)->in[0]);
		DFG_TRY(dfg_cotangent_location(m, store, &at));
		DFG_TRY(save(m, value, &at, base, &store));
	} else if (base != m->region)
		DFG_TRY(dfg_recompute_copy(m, base, store, &store));
	return load(m, store, in, before + own, location, out_edge);
}

struct dfg_err *dfg_tape_need(struct dfg_gradient_frames *m, struct dfg_edge value, const struct dfg_location *location,
	struct dfg_edge *out_edge)
{
	const struct dfg_node *node = node_of(m, value.node);
	uint32_t base = dfg_recompute_base(m, value);
	bool loaded = value.node < m->count && dfg_node_role(node) == DFG_LOAD;
	if (loaded && dfg_loop_within(&m->loops, dfg_tape_region(m, node->in[0].node), base))
		return load_loaded(m, value.node, base, location, out_edge);
	return load_new(m, value, base, location, out_edge);
}

/* dfg_tape_keep() of a Load. If its Save is within the region, the saved value is saved again for the region. */
static struct dfg_err *keep_loaded(struct dfg_gradient_frames *m, struct dfg_edge value, struct dfg_edge *out_store,
	struct dfg_edge **out_key, uint32_t *out_count)
{
	const struct dfg_node *node = node_of(m, value.node);
	uint32_t region = dfg_tape_region(m, node->in[0].node), depth = m->loops.loop[region].depth;
	uint32_t *loop = dfg_arena_zeros(&m->arena, (size_t)depth + 1, sizeof *loop);
	struct dfg_edge *key = dfg_arena_zeros(&m->arena, (size_t)depth + node->n_in, sizeof *key);
	bool inner = dfg_loop_within(&m->loops, region, m->region) && region != m->region;
	struct dfg_location at, here;
	if (!loop || !key)
		return dfg_no_memory("keys");
	*out_store = node->in[0];
	DFG_TRY(dfg_cotangent_location(m, value, &here));
	here.in_gradient = false;
	uint32_t before = inner ? list_loops(m, region, m->region, loop) : 0;
	for (uint32_t i = 0; i < before; i++) {
		DFG_TRY(dfg_induction_index(m, loop[i], &key[i]));
		DFG_TRY(dfg_gradient_frames_bring(m, key[i], &here, &key[i]));
	}
	node = node_of(m, value.node);
	*out_count = before + node->n_in - 1;
	memcpy(key + before, node->in + 1, (node->n_in - 1) * sizeof *key);
	*out_key = key;
	if (!inner)
		return NULL;
	DFG_TRY(dfg_cotangent_location(m, *out_store, &at));
	DFG_TRY(save(m, dfg_live_source(m->builder->graph, node_of(m, out_store->node)->in[0]), &at, m->region, out_store));
	return widen_all(m, &here, key, *out_count);
}

struct dfg_err *dfg_tape_keep(struct dfg_gradient_frames *m, struct dfg_edge value, struct dfg_edge *out_store,
	struct dfg_edge **out_key, uint32_t *out_count)
{
	struct dfg_location location;
	if (value.node < m->count && dfg_node_role(node_of(m, value.node)) == DFG_LOAD)
		return keep_loaded(m, value, out_store, out_key, out_count);
	DFG_TRY(dfg_cotangent_location(m, value, &location));
	DFG_TRY(save(m, value, &location, m->region, out_store));
	*out_key = node_of(m, out_store->node)->in + 1;
	*out_count = node_of(m, out_store->node)->n_in - 1;
	return NULL;
}

/* The number of the op in the table. */
static uint32_t number_of(const char *name)
{
	const struct dfg_op *op = dfg_op_find(name);
	uint32_t i = 0;
	while (i < dfg_ops_count && dfg_ops[i] != op)
		i++;
	return i;
}

struct dfg_err *dfg_tape_shape(struct dfg_gradient_frames *m, const char *op, struct dfg_edge value,
	const struct dfg_attr *attr, uint32_t n_attr, struct dfg_edge *out_edge)
{
	uint32_t detail = number_of(op);
	for (uint32_t i = 0; i < n_attr; i++)
		if (attr[i].kind == DFG_ATTR_DTYPE)
			detail = detail * DFG_DTYPES + (uint32_t)attr[i].value.dtype;
	const struct dfg_edge_key key = {value, SHAPED, detail};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	struct dfg_location at;
	if (there) {
		*out_edge = *there;
		return NULL;
	}
	DFG_TRY(dfg_gradient_location(m, value, &at));
	DFG_TRY(dfg_gradient_frames_node(
		m, &at, &(struct dfg_own_node){.op = op, .in = &value, .n_in = 1, .attr = attr, .n_attr = n_attr}, out_edge));
	return dfg_edge_map_put(&m->map, key, *out_edge);
}

struct dfg_err *dfg_tape_cotangent(
	struct dfg_gradient_frames *m, uint32_t was, struct dfg_edge cotangent, struct dfg_edge *out_store)
{
	uint32_t own = node_of(m, was)->n_in - 1;
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)own + 1, sizeof *in);
	struct dfg_location location;
	if (!in)
		return dfg_no_memory("keys");
	DFG_TRY(dfg_cotangent_location(m, (struct dfg_edge){was, 0}, &location));
	const struct dfg_edge_key key = {cotangent, RETURNED + own, location.set};
	const struct dfg_edge *there = dfg_edge_map_find(&m->map, key);
	if (there) {
		*out_store = *there;
		return NULL;
	}
	DFG_TRY(dfg_gradient_frames_bring(m, cotangent, &location, &in[0]));
	for (uint32_t i = 1; i <= own; i++) {
		DFG_TRY(dfg_gradient_frames_need(m, node_of(m, was)->in[i], &in[i]));
		DFG_TRY(dfg_gradient_frames_bring(m, in[i], &location, &in[i]));
	}
	DFG_TRY(make_save(m, &location, in, own, out_store));
	return dfg_edge_map_put(&m->map, key, *out_store);
}

struct dfg_err *dfg_tape_return(
	struct dfg_gradient_frames *m, uint32_t source, struct dfg_edge store, struct dfg_edge *out_edge)
{
	uint32_t own = node_of(m, source)->n_in - 1;
	struct dfg_edge *in = dfg_arena_zeros(&m->arena, (size_t)own + 1, sizeof *in);
	struct dfg_location location;
	if (!in)
		return dfg_no_memory("keys");
	memcpy(in + 1, node_of(m, source)->in + 1, own * sizeof *in);
	DFG_TRY(dfg_cotangent_location(m, (struct dfg_edge){source, 0}, &location));
	return load(m, store, in, own, &location, out_edge);
}
