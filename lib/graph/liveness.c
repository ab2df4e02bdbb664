#include "lib/graph/liveness.h"

#include "lib/base/hash.h"
#include "lib/base/mem.h"

#include <string.h>

enum { CONDITIONS_MOST = 1024 }; /* the most conditions of a set, which is the depth of nested branches */

bool dfg_live_step_back(const struct dfg_graph *graph, struct dfg_edge *edge)
{
	const struct dfg_node *node = &graph->node[edge->node];
	enum dfg_role role = dfg_node_role(node);
	bool hands_on = role == DFG_IDENTITY || role == DFG_SWITCH || role == DFG_LOOP_COND || dfg_is_constant_enter(node);
	bool many = role == DFG_IDENTITY && edge->port > 0 && (uint32_t)edge->port < node->n_in;
	if (!hands_on || !node->n_in || dfg_edge_is_ref(graph, node->in[many ? edge->port : 0]))
		return false;
	*edge = node->in[many ? edge->port : 0];
	return true;
}

struct dfg_edge dfg_live_source(const struct dfg_graph *graph, struct dfg_edge edge)
{
	while (dfg_live_step_back(graph, &edge))
		;
	return edge;
}

/* The number of the feed that replaces the edge, or DFG_NONE. */
static uint32_t feed_of(const struct dfg_liveness *l, struct dfg_edge edge)
{
	for (uint32_t i = 0; l->is_fed && l->is_fed[edge.node] && i < l->step->n_feed; i++)
		if (dfg_edge_same(l->step->feed[i], edge))
			return i;
	return DFG_NONE;
}

/* The position of a value in the arrays by node; DFG_NONE: a control edge from a node that does not run. */
static uint32_t position(const struct dfg_liveness *l, struct dfg_edge edge)
{
	if (!l->step)
		return edge.node;
	uint32_t feed = feed_of(l, edge);
	return feed != DFG_NONE ? l->step->count + feed : l->step->number[edge.node];
}

/* The edge whose value a reader waits for in the step. */
static struct dfg_edge reached(const struct dfg_liveness *l, struct dfg_edge edge)
{
	while (l->step && edge.port >= 0 && (uint32_t)edge.port < l->graph->node[edge.node].n_in &&
		   dfg_node_names_outputs(&l->graph->node[edge.node]) && feed_of(l, edge) == DFG_NONE)
		edge = l->graph->node[edge.node].in[edge.port];
	return edge;
}

const uint32_t *dfg_live_conditions(const struct dfg_liveness *l, uint32_t set, uint32_t *out_count)
{
	*out_count = l->set[set].count;
	return l->item + l->set[set].first;
}

/* The slot of a set, or the free slot for it. */
static uint32_t *find_slot(const struct dfg_liveness *l, const uint32_t *item, uint32_t count)
{
	for (size_t i = dfg_hash_bytes(dfg_hash_key, item, count * sizeof *item) & (l->slots - 1);;
		 i = (i + 1) & (l->slots - 1)) {
		if (!l->slot[i])
			return &l->slot[i];
		const struct dfg_live_set *set = &l->set[l->slot[i] - 1];
		if (set->count == count && (!count || !memcmp(l->item + set->first, item, count * sizeof *item)))
			return &l->slot[i];
	}
}

static bool grow(struct dfg_liveness *l)
{
	size_t slots = l->slots ? 2 * l->slots : 64;
	uint32_t *slot = dfg_zeros(slots, sizeof *slot);
	if (!slot)
		return false;
	dfg_free(l->slot);
	l->slot = slot;
	l->slots = slots;
	for (uint32_t s = 0; s < l->n_set; s++)
		*find_slot(l, l->item + l->set[s].first, l->set[s].count) = s + 1;
	return true;
}

/*
 * Whether two sides of the same predicate differ. Switches on it may have different numbers of outputs; a value out of
 * range selects the last output of each.
 */
static bool differ(const struct dfg_condition *one, const struct dfg_condition *other)
{
	int last = (one->sides < other->sides ? one->sides : other->sides) - 1;
	int a = one->side < last ? one->side : last, b = other->side < last ? other->side : last;
	return a != b;
}

/* The number of the set with these conditions, which are sorted. */
static struct dfg_err *intern(struct dfg_liveness *l, const uint32_t *item, uint32_t count, uint32_t *out_set)
{
	if (!count && l->n_set) {
		*out_set = 0;
		return NULL;
	}
	if (count > CONDITIONS_MOST)
		return DFG_ERR(DFG_DATA, "branches are nested more than %d deep", CONDITIONS_MOST);
	if (2 * (l->n_set + 1) > l->slots && !grow(l))
		return dfg_no_memory("branches");
	uint32_t *slot = find_slot(l, item, count);
	if (!*slot) {
		if (!dfg_reserve(&l->item, &l->item_capacity, l->n_item + count + 1, sizeof *l->item) ||
			!dfg_reserve(&l->set, &l->set_capacity, l->n_set + 1, sizeof *l->set))
			return dfg_no_memory("branches");
		if (count)
			memcpy(l->item + l->n_item, item, count * sizeof *item);
		l->set[l->n_set] = (struct dfg_live_set){(uint32_t)l->n_item, count, false};
		l->n_item += count;
		*slot = (uint32_t)++l->n_set;
	}
	*out_set = *slot - 1;
	return NULL;
}

static bool comes_before(const struct dfg_liveness *l, uint32_t a, uint32_t b)
{
	uint32_t rank_a = l->condition[a].rank, rank_b = l->condition[b].rank;
	return rank_a != rank_b ? rank_a < rank_b : a < b;
}

bool dfg_live_exclusive(const struct dfg_liveness *l, uint32_t a, uint32_t b)
{
	uint32_t n_a, n_b;
	const uint32_t *of_a = dfg_live_conditions(l, a, &n_a), *of_b = dfg_live_conditions(l, b, &n_b);
	for (uint32_t i = n_a; i--;) /* mostly the innermost differ */
		for (uint32_t k = n_b; k--;) {
			const struct dfg_condition *one = &l->condition[of_a[i]], *other = &l->condition[of_b[k]];
			if (dfg_edge_same(one->predicate, other->predicate) && differ(one, other))
				return true;
		}
	return false;
}

/* The number of the set of all conditions of a and b, which are the items. */
static struct dfg_err *intern_union(
	struct dfg_liveness *l, uint32_t a, uint32_t b, const uint32_t *item, uint32_t count, uint32_t *out_set)
{
	size_t sets = l->n_set;
	DFG_TRY(intern(l, item, count, out_set));
	if (l->n_set > sets)
		l->set[*out_set].never = l->set[a].never || l->set[b].never || dfg_live_exclusive(l, a, b);
	return NULL;
}

struct dfg_err *dfg_live_both(struct dfg_liveness *l, uint32_t a, uint32_t b, uint32_t *out_set)
{
	uint32_t item[2 * CONDITIONS_MOST], count = 0, n_a, n_b;
	if (a == b || !a || !b) {
		*out_set = a ? a : b;
		return NULL;
	}
	const uint32_t *of_a = dfg_live_conditions(l, a, &n_a), *of_b = dfg_live_conditions(l, b, &n_b);
	for (uint32_t i = 0, k = 0; i < n_a || k < n_b; count++) {
		bool take_a = k == n_b || (i < n_a && !comes_before(l, of_b[k], of_a[i]));
		item[count] = take_a ? of_a[i] : of_b[k];
		k += k < n_b && of_b[k] == item[count];
		i += take_a;
	}
	return intern_union(l, a, b, item, count, out_set);
}

struct dfg_err *dfg_live_with(struct dfg_liveness *l, uint32_t set, uint32_t condition, uint32_t *out_set)
{
	uint32_t one = l->condition[condition].alone;
	if (!one) {
		DFG_TRY(intern(l, &condition, 1, &one));
		l->condition[condition].alone = ++one;
	}
	uint32_t n, item[CONDITIONS_MOST + 1];
	const uint32_t *before = dfg_live_conditions(l, set, &n);
	if (!n || !comes_before(l, before[n - 1], condition))
		return dfg_live_both(l, set, one - 1, out_set);
	memcpy(item, before, n * sizeof *item); /* the usual case: a branch within the others */
	item[n] = condition;
	return intern_union(l, set, one - 1, item, n + 1, out_set);
}

/* Whether a condition of the set contradicts another. The same predicate has the same rank. */
static bool contradicts(const struct dfg_liveness *l, uint32_t set)
{
	uint32_t count;
	const uint32_t *item = dfg_live_conditions(l, set, &count);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = i + 1; k < count && l->condition[item[k]].rank == l->condition[item[i]].rank; k++)
			if (dfg_edge_same(l->condition[item[i]].predicate, l->condition[item[k]].predicate) &&
				differ(&l->condition[item[i]], &l->condition[item[k]]))
				return true;
	return false;
}

struct dfg_err *dfg_live_without(struct dfg_liveness *l, uint32_t set, uint32_t condition, uint32_t *out_set)
{
	uint32_t rest[CONDITIONS_MOST], count = 0, n;
	const uint32_t *item = dfg_live_conditions(l, set, &n);
	for (uint32_t i = 0; i < n; i++)
		if (item[i] != condition)
			rest[count++] = item[i];
	bool may_contradict = l->set[set].never;
	DFG_TRY(intern(l, rest, count, out_set));
	if (may_contradict)
		l->set[*out_set].never = contradicts(l, *out_set);
	return NULL;
}

bool dfg_live_has(const struct dfg_liveness *l, uint32_t set, uint32_t condition)
{
	uint32_t n;
	const uint32_t *item = dfg_live_conditions(l, set, &n);
	for (uint32_t i = 0; i < n; i++)
		if (item[i] == condition)
			return true;
	return false;
}

bool dfg_live_within(const struct dfg_liveness *l, uint32_t a, uint32_t b)
{
	uint32_t n;
	const uint32_t *item = dfg_live_conditions(l, a, &n);
	bool within = true;
	for (uint32_t i = 0; i < n && within && a != b; i++)
		within = dfg_live_has(l, b, item[i]);
	return within;
}

bool dfg_live_never(const struct dfg_liveness *l, uint32_t set)
{
	return l->set[set].never;
}

/* The condition of side 0 of a predicate, or DFG_NONE if it has no conditions yet. */
static uint32_t find_condition(const struct dfg_liveness *l, struct dfg_edge predicate, int sides)
{
	uint32_t c = l->predicate[position(l, predicate)];
	while (c && (l->condition[c - 1].predicate.port != predicate.port || l->condition[c - 1].sides != sides))
		c = l->condition[c - 1].other;
	return c ? c - 1 : DFG_NONE;
}

static struct dfg_err *rank_of(struct dfg_liveness *l, struct dfg_edge predicate, uint32_t *out_rank)
{
	uint32_t set, n;
	*out_rank = 0;
	DFG_TRY(dfg_live_of(l, predicate, &set));
	const uint32_t *item = dfg_live_conditions(l, set, &n);
	for (uint32_t i = 0; i < n; i++)
		if (l->condition[item[i]].rank >= *out_rank)
			*out_rank = l->condition[item[i]].rank + 1;
	return NULL;
}

/* The sides of a predicate have consecutive numbers. */
struct dfg_err *dfg_live_condition(
	struct dfg_liveness *l, struct dfg_edge predicate, int side, int sides, uint32_t *out_condition)
{
	uint32_t rank;
	while (feed_of(l, predicate) == DFG_NONE && dfg_live_step_back(l->graph, &predicate))
		;
	uint32_t first = find_condition(l, predicate, sides);
	*out_condition = first + (uint32_t)side;
	if (first != DFG_NONE)
		return NULL;
	DFG_TRY(rank_of(l, predicate, &rank));
	first = (uint32_t)l->n_condition;
	if (!dfg_reserve(&l->condition, &l->condition_capacity, first + (size_t)sides, sizeof *l->condition))
		return dfg_no_memory("branches");
	uint32_t *head = &l->predicate[position(l, predicate)];
	for (int s = 0; s < sides; s++)
		l->condition[first + (size_t)s] = (struct dfg_condition){predicate, s, sides, rank, *head, 0};
	*head = first + 1;
	l->n_condition += (size_t)sides;
	*out_condition = first + (uint32_t)side;
	return NULL;
}

struct dfg_err *dfg_live_of(struct dfg_liveness *l, struct dfg_edge edge, uint32_t *out_set)
{
	edge = reached(l, edge);
	uint32_t at = position(l, edge);
	bool is_fed = l->step && at >= l->step->count;
	*out_set = at == DFG_NONE ? 0 : l->of[at];
	if (is_fed || edge.port < 0 || dfg_node_role(&l->graph->node[edge.node]) != DFG_SWITCH)
		return NULL;
	if (edge.port >= l->condition[l->side[at]].sides) /* `dfg show` draws graphs that are not verified */
		return DFG_ERR(DFG_DATA, "node '%.200s' (Switch) has no output %d", l->graph->node[edge.node].name, edge.port);
	*out_set = l->output_set[l->output[at] + (uint32_t)edge.port];
	return NULL;
}

/* The innermost condition of `set` of which the list has all other sides too, or DFG_NONE. */
static struct dfg_err *find_whole(
	struct dfg_liveness *l, uint32_t set, const uint32_t *list, uint32_t count, uint32_t *out_condition)
{
	uint32_t n = l->set[set].count;
	*out_condition = DFG_NONE;
	while (n-- && *out_condition == DFG_NONE) {
		uint32_t condition = l->item[l->set[set].first + n], common;
		const struct dfg_condition here = l->condition[condition];
		int found = 0;
		DFG_TRY(dfg_live_without(l, set, condition, &common));
		for (int s = 0; s < here.sides; s++) {
			uint32_t side;
			DFG_TRY(dfg_live_with(l, common, condition - (uint32_t)here.side + (uint32_t)s, &side));
			for (uint32_t i = 0; i < count; i++)
				if (list[i] == side) {
					found++;
					break;
				}
		}
		if (found == here.sides)
			*out_condition = condition;
	}
	return NULL;
}

/* Replaces the sets on the sides of a condition by the one without it. */
static struct dfg_err *join_sides(
	struct dfg_liveness *l, uint32_t set, uint32_t condition, uint32_t *list, uint32_t count)
{
	const struct dfg_condition here = l->condition[condition];
	uint32_t common;
	DFG_TRY(dfg_live_without(l, set, condition, &common));
	for (int s = 0; s < here.sides; s++) {
		uint32_t side;
		DFG_TRY(dfg_live_with(l, common, condition - (uint32_t)here.side + (uint32_t)s, &side));
		for (uint32_t i = 0; i < count; i++)
			if (list[i] == side)
				list[i] = common;
	}
	return NULL;
}

/* Removes one condition at a time from the sets with the most conditions, until all sets are equal. */
static struct dfg_err *merge(struct dfg_liveness *l, uint32_t *list, uint32_t count, uint32_t *out_set, bool *out_whole)
{
	*out_whole = true;
	for (;;) {
		uint32_t largest = 0, condition;
		bool same = true;
		for (uint32_t i = 1; i < count; i++) {
			same &= list[i] == list[0];
			if (l->set[list[i]].count > l->set[list[largest]].count)
				largest = i;
		}
		*out_set = list[0];
		if (same)
			return NULL;
		DFG_TRY(find_whole(l, list[largest], list, count, &condition));
		if (condition == DFG_NONE) {
			*out_whole = false;
			condition = l->item[l->set[list[largest]].first + l->set[list[largest]].count - 1];
		}
		DFG_TRY(join_sides(l, list[largest], condition, list, count));
	}
}

struct dfg_err *dfg_live_merge(
	struct dfg_liveness *l, const uint32_t *set, uint32_t count, uint32_t *out_set, bool *out_whole)
{
	enum { FEW = 16 };
	uint32_t few[FEW], *list = few;
	*out_set = 0;
	*out_whole = true;
	if (!count)
		return NULL;
	if (count > FEW && !(list = dfg_zeros(count, sizeof *list)))
		return dfg_no_memory("branches");
	memcpy(list, set, count * sizeof *list);
	struct dfg_err *err = merge(l, list, count, out_set, out_whole);
	if (list != few)
		dfg_free(list);
	return err;
}

struct dfg_err *dfg_live_inputs(struct dfg_liveness *l, const struct dfg_node *node, uint32_t *out_set)
{
	*out_set = 0;
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		uint32_t set;
		if (!dfg_edge_brings(node, e) || dfg_edge_closes(l->graph, node, node->in[e]))
			continue;
		DFG_TRY(dfg_live_of(l, node->in[e], &set));
		DFG_TRY(dfg_live_both(l, *out_set, set, out_set));
	}
	return NULL;
}

/* A Merge is dead if all its inputs are. */
static struct dfg_err *merge_set(
	struct dfg_liveness *l, const struct dfg_node *node, uint32_t *out_set, bool *out_partial)
{
	bool whole = true;
	uint32_t *set = dfg_zeros((size_t)node->n_in + 1, sizeof *set), count = 0;
	struct dfg_err *err = set ? NULL : dfg_no_memory("branches");
	for (uint32_t e = 0; e < node->n_in && !err; e++) {
		err = dfg_live_of(l, node->in[e], &set[count]);
		count += !err && !dfg_live_never(l, set[count]);
	}
	if (!err)
		err = dfg_live_merge(l, set, count ? count : node->n_in > 0, out_set, &whole);
	dfg_free(set);
	*out_partial = !whole;
	return err;
}

static struct dfg_err *switch_set(struct dfg_liveness *l, const struct dfg_node *node, uint32_t at, uint32_t *out_set)
{
	const struct dfg_attr *outputs = dfg_node_attr(node, "num_outs");
	int64_t sides = outputs && outputs->kind == DFG_ATTR_INT ? outputs->value.i : 2;
	DFG_TRY(dfg_live_inputs(l, node, out_set));
	if (node->n_in < 2)
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): has %u inputs, expected 2: data and a predicate", node->name,
			node->op_name, node->n_in);
	if (sides < 1 || sides > UINT16_MAX)
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): num_outs is %lld, expected 1 to %d", node->name,
			node->op_name, (long long)sides, UINT16_MAX);
	DFG_TRY(dfg_live_condition(l, node->in[1], 0, (int)sides, &l->side[at]));
	if (!dfg_reserve(&l->output_set, &l->output_set_capacity, l->n_output_set + (size_t)sides, sizeof *l->output_set))
		return dfg_no_memory("branches");
	l->output[at] = (uint32_t)l->n_output_set;
	l->n_output_set += (size_t)sides;
	for (uint32_t s = 0; s < (uint32_t)sides; s++)
		DFG_TRY(dfg_live_with(l, *out_set, l->side[at] + s, &l->output_set[l->output[at] + s]));
	return NULL;
}

/* at: the node's position in the arrays by node, and in those of the loops. */
static struct dfg_err *set_liveness(struct dfg_liveness *l, uint32_t n, uint32_t at)
{
	const struct dfg_node *node = &l->graph->node[n];
	uint32_t *set = &l->of[at];
	switch (dfg_node_role(node)) {
	case DFG_SWITCH:
		return switch_set(l, node, at, set);
	case DFG_MERGE:
		return l->loops->variable[at] == DFG_NONE ? merge_set(l, node, set, &l->is_partial[at]) : NULL;
	case DFG_ENTER: {
		uint32_t *entry = &l->entry[l->loops->of[at]];
		DFG_TRY(dfg_live_inputs(l, node, set));
		DFG_TRY(dfg_live_both(l, *entry, *set, entry));
		*set = 0;
		return NULL;
	}
	case DFG_EXIT:
		*set = l->entry[l->loops->of[node->n_in ? position(l, reached(l, node->in[0])) : at]];
		return NULL;
	case DFG_CONTROL_TRIGGER:
		return NULL;
	default:
		return dfg_live_inputs(l, node, set);
	}
}

static struct dfg_err *mark_feeds(struct dfg_liveness *l)
{
	if (!l->step || !l->step->n_feed)
		return NULL;
	if (!(l->is_fed = dfg_arena_zeros(&l->arena, l->graph->count, sizeof *l->is_fed)))
		return DFG_ERR(DFG_MEMORY, "no memory for the branches of %u nodes", l->graph->count);
	for (uint32_t i = 0; i < l->step->n_feed; i++)
		l->is_fed[l->step->feed[i].node] = true;
	return NULL;
}

static struct dfg_err *find(struct dfg_liveness *l, const uint32_t *order)
{
	uint32_t none, count = l->step ? l->step->count : l->graph->count;
	size_t capacity = (size_t)count + (l->step ? l->step->n_feed : 0) + 1;
	l->of = dfg_arena_zeros(&l->arena, capacity, sizeof *l->of);
	l->side = dfg_arena_zeros(&l->arena, capacity, sizeof *l->side);
	l->output = dfg_arena_zeros(&l->arena, capacity, sizeof *l->output);
	l->predicate = dfg_arena_zeros(&l->arena, capacity, sizeof *l->predicate);
	l->is_partial = dfg_arena_zeros(&l->arena, capacity, sizeof *l->is_partial);
	l->entry = dfg_arena_zeros(&l->arena, l->loops->count, sizeof *l->entry);
	if (!l->of || !l->side || !l->output || !l->predicate || !l->is_partial || !l->entry)
		return DFG_ERR(DFG_MEMORY, "no memory for the branches of %u nodes", count);
	DFG_TRY(mark_feeds(l));
	DFG_TRY(intern(l, NULL, 0, &none));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = order ? order[i] : i;
		DFG_TRY(set_liveness(l, n, l->step ? i : n));
	}
	return NULL;
}

struct dfg_err *dfg_liveness_find(const struct dfg_graph *graph, const uint32_t *order, const struct dfg_loops *loops,
	const struct dfg_live_step *step, struct dfg_liveness *out_liveness)
{
	*out_liveness = (struct dfg_liveness){.graph = graph, .loops = loops, .step = step};
	return find(out_liveness, order);
}

void dfg_liveness_release(struct dfg_liveness *l)
{
	dfg_free(l->condition);
	dfg_free(l->set);
	dfg_free(l->item);
	dfg_free(l->slot);
	dfg_free(l->output_set);
	dfg_arena_release(&l->arena);
}
