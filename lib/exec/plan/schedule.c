#include "lib/exec/plan/schedule.h"

#include <string.h>

/*
 * Orders nodes within their loop, where a nested loop counts as one node. The numbering is: plan nodes, then
 * predicates, then loops, then the inputs of Merges. Among nodes that are ready, those under the fewest predicates come
 * first, so that few branches are needed.
 */
struct node {
	uint32_t condition, loop, rank; /* rank: order among nodes of the same condition */
	uint32_t pending;
	uint32_t first; /* index of its first consumer; there is one node more than `nodes` */
};

struct ordering {
	struct dfg_plan *plan;
	struct schedule *schedule;
	struct dfg_arena *scratch;
	struct node *node;
	uint32_t nodes, first_predicate, first_loop, first_move;
	uint32_t *move; /* by plan node, of a Merge: number of the node of its input 0 */
	uint32_t *consumer, *order, *first_of_loop;
	uint32_t *heap, heaped, ordered;
	bool unsupported;
};

static uint32_t out_loop(const struct ordering *of, uint32_t r)
{
	const struct dfg_plan *plan = of->plan;
	const struct plan_node *node = &plan->node[r];
	uint32_t loop = dfg_loop_of(plan, r);
	if (node->role == DFG_EXIT)
		return plan->frame_info->loop[loop].parent;
	return node->role == DFG_ENTER ? plan->frame_info->slot_loop[dfg_plan_node_out(plan, node, 0)] : loop;
}

typedef void edge_fn(struct ordering *of, uint32_t from, uint32_t to);

static void count_edge(struct ordering *of, uint32_t from, uint32_t to)
{
	of->node[from + 1].first++;
	of->node[to].pending++;
}

static void put_edge(struct ordering *of, uint32_t from, uint32_t to)
{
	of->consumer[of->node[from].first++] = to;
}

/*
 * The node that makes a value for this loop: a plan node, or a loop that the value leaves; DFG_NONE: known at the start
 * of an iteration.
 */
static uint32_t source(const struct ordering *of, uint32_t from, uint32_t loop)
{
	const struct plan_node *node = &of->plan->node[from];
	if (node->preset || node->role == DFG_NEXT_ITERATION)
		return DFG_NONE;
	if (node->role == DFG_ENTER && out_loop(of, from) == loop)
		return DFG_NONE;
	return node->role == DFG_EXIT ? of->first_loop + dfg_loop_of(of->plan, from) : from;
}

static void edge_from(struct ordering *of, uint32_t node, uint32_t to, edge_fn *add)
{
	uint32_t from = source(of, node, of->node[to].loop);
	if (from == DFG_NONE || from == to)
		return;
	of->unsupported |= of->node[from].loop != of->node[to].loop;
	add(of, from, to);
}

static void edge_from_slot(struct ordering *of, uint32_t slot, uint32_t to, edge_fn *add)
{
	if (!dfg_always_there(of->plan, slot))
		edge_from(of, of->plan->maker[slot], to, add);
}

/* A node comes after the predicates of its condition. */
static void edges_of_condition(struct ordering *of, uint32_t condition, uint32_t to, edge_fn *add)
{
	for (; condition != UNREACHABLE && of->schedule->condition[condition].depth;
		 condition = of->schedule->condition[condition].parent)
		add(of, of->first_predicate + of->schedule->condition[condition].predicate, to);
}

static void edges_of_merge(struct ordering *of, uint32_t r, edge_fn *add)
{
	const struct plan_node *node = &of->plan->node[r];
	for (int i = 0; i < node->n_in; i++) {
		uint32_t move = of->move[r] + (uint32_t)i;
		edge_from_slot(of, dfg_plan_node_in(of->plan, node, i), move, add);
		for (uint32_t c = 0; c < node->n_control; c++)
			edge_from(of, of->plan->control[node->first_control + c], move, add);
		edges_of_condition(of, of->node[move].condition, move, add);
		add(of, move, r);
	}
}

/* The node that represents r in the region: itself, or the nested loop that contains it. */
static uint32_t in_region(const struct ordering *of, uint32_t r, uint32_t region)
{
	uint32_t loop = dfg_loop_of(of->plan, r), node = r;
	for (; loop != region; loop = of->plan->frame_info->loop[loop].parent)
		node = of->first_loop + loop;
	return node;
}

/* A Load comes after all Saves in the region. If one nested loop contains both, there is no static schedule. */
static void edges_of_load(struct ordering *of, uint32_t r, edge_fn *add)
{
	uint32_t region = of->plan->frame_info->save_site[r].region, save = of->plan->node[r].save;
	uint32_t from = in_region(of, save, region), to = in_region(of, r, region);
	of->unsupported |= from == to;
	add(of, from, to);
}

static void edges_of_node(struct ordering *of, uint32_t r, edge_fn *add)
{
	const struct plan_node *node = &of->plan->node[r];
	if (node->preset || dfg_is_loop_merge(of->plan, node))
		return;
	if (node->role == DFG_MERGE) {
		edges_of_merge(of, r, add);
		return;
	}
	for (int i = 0; i < node->n_in; i++)
		edge_from_slot(of, dfg_plan_node_in(of->plan, node, i), r, add);
	for (uint32_t c = 0; c < node->n_control; c++)
		edge_from(of, of->plan->control[node->first_control + c], r, add);
	edges_of_condition(of, of->node[r].condition, r, add);
	if (node->role == DFG_ENTER)
		add(of, r, of->first_loop + out_loop(of, r));
	if (node->role == DFG_LOAD)
		edges_of_load(of, r, add);
}

static void each_edge(struct ordering *of, edge_fn *add)
{
	const struct schedule *schedule = of->schedule;
	for (uint32_t r = 0; r < of->plan->count; r++)
		edges_of_node(of, r, add);
	for (uint32_t f = 0; f < schedule->predicates; f++) {
		edge_from_slot(of, schedule->predicate[f].slot, of->first_predicate + f, add);
		edges_of_condition(of, of->node[of->first_predicate + f].condition, of->first_predicate + f, add);
	}
	for (uint32_t l = 1; l < schedule->loops; l++)
		edges_of_condition(of, schedule->loop_info[l].condition, of->first_loop + l, add);
}

static void make_nodes(struct ordering *of)
{
	const struct dfg_plan *plan = of->plan;
	const struct schedule *schedule = of->schedule;
	for (uint32_t l = 1; l < schedule->loops; l++)
		of->node[of->first_loop + l] = (struct node){.condition = schedule->loop_info[l].condition,
			.loop = plan->frame_info->loop[l].parent,
			.rank = plan->count};
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct plan_node *node = &plan->node[r];
		uint32_t loop = dfg_loop_of(plan, r), condition = schedule->node_condition[r];
		/* An Enter is live where its loop is. An Exit is live where its input is. */
		if (node->role == DFG_ENTER)
			condition = schedule->loop_info[out_loop(of, r)].condition;
		else if (node->role == DFG_EXIT)
			condition = schedule->slot_condition[dfg_plan_node_in(plan, node, 0)];
		of->node[r] = (struct node){.condition = condition, .loop = loop, .rank = r};
		if (node->role == DFG_ENTER && of->node[of->first_loop + out_loop(of, r)].rank > r)
			of->node[of->first_loop + out_loop(of, r)].rank = r;
		for (int i = 0; i < node->n_in && of->move[r]; i++) {
			uint32_t slot = dfg_plan_node_in(plan, node, i);
			uint32_t way = dfg_always_there(plan, slot) ? loop : schedule->slot_condition[slot];
			of->node[of->move[r] + (uint32_t)i] = (struct node){.condition = way, .loop = loop, .rank = r};
		}
	}
	for (uint32_t f = 0; f < schedule->predicates; f++) {
		const struct predicate *predicate = &schedule->predicate[f];
		of->node[of->first_predicate + f] = (struct node){.condition = predicate->condition,
			.loop = dfg_loop_of(plan, predicate->node),
			.rank = plan->maker[predicate->slot]};
	}
}

/* Orders by loop, then by the number of predicates. */
static bool goes_first(const struct ordering *of, uint32_t a, uint32_t b)
{
	const struct node *x = &of->node[a], *y = &of->node[b];
	if (x->loop != y->loop)
		return x->loop < y->loop;
	if (x->condition != y->condition && (x->condition == UNREACHABLE || y->condition == UNREACHABLE))
		return y->condition == UNREACHABLE;
	uint32_t deep_x = x->condition == UNREACHABLE ? 0 : of->schedule->condition[x->condition].depth;
	uint32_t deep_y = y->condition == UNREACHABLE ? 0 : of->schedule->condition[y->condition].depth;
	if (deep_x != deep_y)
		return deep_x < deep_y;
	if (x->condition != y->condition)
		return x->condition < y->condition;
	return x->rank != y->rank ? x->rank < y->rank : a < b;
}

static void push_ready(struct ordering *of, uint32_t node)
{
	uint32_t at = of->heaped++;
	for (; at && goes_first(of, node, of->heap[(at - 1) / 2]); at = (at - 1) / 2)
		of->heap[at] = of->heap[(at - 1) / 2];
	of->heap[at] = node;
}

static uint32_t pop_ready(struct ordering *of)
{
	uint32_t top = of->heap[0], last = of->heap[--of->heaped], at = 0;
	for (uint32_t child = 1; child < of->heaped; child = 2 * at + 1) {
		if (child + 1 < of->heaped && goes_first(of, of->heap[child + 1], of->heap[child]))
			child++;
		if (!goes_first(of, of->heap[child], last))
			break;
		of->heap[at] = of->heap[child];
		at = child;
	}
	of->heap[at] = last;
	return top;
}

static struct dfg_err *make_edges(struct ordering *of)
{
	each_edge(of, count_edge);
	for (uint32_t n = 0; n < of->nodes; n++)
		of->node[n + 1].first += of->node[n].first;
	of->consumer = dfg_arena_zeros(of->scratch, of->node[of->nodes].first, sizeof *of->consumer);
	if (!of->consumer)
		return dfg_no_memory("the schedule of the step");
	each_edge(of, put_edge);
	for (uint32_t n = of->nodes; n; n--)
		of->node[n].first = of->node[n - 1].first;
	of->node[0].first = 0;
	return NULL;
}

/*
 * Topological sort. The nodes of different loops may become ready alternately, but each loop's are adjacent in the
 * order.
 */
static void sort_nodes(struct ordering *of)
{
	uint32_t *next = of->first_of_loop;
	for (uint32_t n = 0; n < of->nodes; n++)
		next[of->node[n].loop + 1]++;
	for (uint32_t l = 0; l < of->schedule->loops; l++)
		next[l + 1] += next[l];
	for (uint32_t n = 0; n < of->nodes; n++)
		if (!of->node[n].pending)
			push_ready(of, n);
	while (of->heaped) {
		uint32_t node = pop_ready(of);
		of->order[next[of->node[node].loop]++] = node;
		of->ordered++;
		for (uint32_t a = of->node[node].first; a < of->node[node + 1].first; a++)
			if (!--of->node[of->consumer[a]].pending)
				push_ready(of, of->consumer[a]);
	}
	memmove(next + 1, next, of->schedule->loops * sizeof *next);
	next[0] = 0;
	of->unsupported |= of->ordered != of->nodes;
}

static void add_entry(struct ordering *of, const struct schedule_entry *entry)
{
	of->schedule->entry[of->schedule->entries++] = *entry;
	of->schedule->skips += entry->condition == UNREACHABLE ? 0 : of->schedule->condition[entry->condition].depth;
}

static struct schedule_entry entry_of(const struct ordering *of, uint32_t n)
{
	const struct node *node = &of->node[n];
	struct schedule_entry entry = {.number = n, .condition = node->condition, .loop = node->loop, .kind = ENTRY_RECORD};
	if (n >= of->first_move) {
		entry.kind = ENTRY_MOVE;
		entry.number = node->rank;
		entry.input = (uint16_t)(n - of->move[node->rank]);
	} else if (n >= of->first_predicate) {
		entry.kind = ENTRY_CHOOSE;
		entry.number = n - of->first_predicate;
	}
	return entry;
}

/* Adds the entries of a loop and of the loops in it, at most LOOP_DEPTH_MAX levels. */
static void add_loop(struct ordering *of, uint32_t loop, int depth)
{
	of->unsupported |= depth > LOOP_DEPTH_MAX;
	for (uint32_t i = of->first_of_loop[loop]; i < of->first_of_loop[loop + 1] && !of->unsupported; i++) {
		uint32_t n = of->order[i];
		if (n < of->first_loop || n >= of->first_move) {
			struct schedule_entry entry = entry_of(of, n);
			add_entry(of, &entry);
			continue;
		}
		uint32_t inner = n - of->first_loop;
		if (!inner)
			continue;
		const struct loop_info *loop_info = &of->schedule->loop_info[inner];
		add_entry(of, &(struct schedule_entry){
						  .number = inner, .condition = loop_info->condition, .loop = loop, .kind = ENTRY_BEGIN});
		add_loop(of, inner, depth + 1);
		add_entry(of, &(struct schedule_entry){.number = inner, .condition = inner, .loop = inner, .kind = ENTRY_BACK});
	}
}

static struct dfg_err *allocate_arrays(struct ordering *of)
{
	const struct dfg_plan *plan = of->plan;
	of->move = dfg_arena_zeros(of->scratch, plan->count, sizeof *of->move);
	if (!of->move)
		return dfg_no_memory("the schedule of the step");
	of->first_predicate = plan->count;
	of->first_loop = of->first_predicate + (uint32_t)of->schedule->predicates;
	of->nodes = of->first_move = of->first_loop + of->schedule->loops;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_MERGE && !dfg_is_loop_merge(plan, &plan->node[r])) {
			of->move[r] = of->nodes;
			of->nodes += plan->node[r].n_in;
		}
	of->node = dfg_arena_zeros(of->scratch, (size_t)of->nodes + 1, sizeof *of->node);
	of->order = dfg_arena_zeros(of->scratch, of->nodes, sizeof *of->order);
	of->heap = dfg_arena_zeros(of->scratch, of->nodes, sizeof *of->heap);
	of->first_of_loop = dfg_arena_zeros(of->scratch, (size_t)of->schedule->loops + 2, sizeof *of->first_of_loop);
	of->schedule->entry =
		dfg_arena_zeros(&of->plan->arena, (size_t)of->nodes + 2 * of->schedule->loops, sizeof *of->schedule->entry);
	return of->node && of->order && of->heap && of->first_of_loop && of->schedule->entry
			   ? NULL
			   : dfg_no_memory("the schedule of the step");
}

static struct dfg_err *order_nodes(struct ordering *of)
{
	DFG_TRY(allocate_arrays(of));
	make_nodes(of);
	DFG_TRY(make_edges(of));
	if (of->unsupported)
		return NULL;
	sort_nodes(of);
	if (!of->unsupported)
		add_loop(of, 0, 0);
	return NULL;
}

/* Without branches and loops, the topological order of the plan is the schedule. */
static struct dfg_err *make_straight(const struct dfg_plan *plan, struct dfg_arena *arena, struct schedule *schedule)
{
	schedule->loops = 1;
	schedule->conditions = 1;
	schedule->loop_info = dfg_arena_zeros(arena, 1, sizeof *schedule->loop_info);
	schedule->entry = dfg_arena_zeros(arena, plan->count, sizeof *schedule->entry);
	schedule->slot_condition = dfg_arena_zeros(arena, plan->slots, sizeof *schedule->slot_condition);
	schedule->node_condition = dfg_arena_zeros(arena, plan->count, sizeof *schedule->node_condition);
	if (!schedule->loop_info || !schedule->entry || !schedule->slot_condition || !schedule->node_condition ||
		!dfg_reserve(&schedule->condition, &schedule->condition_capacity, 1, sizeof *schedule->condition))
		return dfg_no_memory("the schedule of the step");
	schedule->condition[0].parent = DFG_NONE;
	for (uint32_t r = 0; r < plan->count; r++)
		add_entry(
			&(struct ordering){.schedule = schedule}, &(struct schedule_entry){.number = r, .kind = ENTRY_RECORD});
	return NULL;
}

static bool branches(const struct dfg_plan *plan)
{
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].role == DFG_SWITCH || plan->node[r].role == DFG_MERGE || plan->node[r].role == DFG_SAVE ||
			plan->node[r].role == DFG_LOAD)
			return true;
	return plan->loops;
}

struct dfg_err *dfg_schedule_make(struct dfg_plan *plan, struct dfg_arena *scratch, struct schedule **out_schedule)
{
	struct schedule *schedule = dfg_arena_zeros(&plan->arena, 1, sizeof *schedule);
	struct ordering of = {.plan = plan, .schedule = schedule, .scratch = scratch};
	if (!schedule)
		return dfg_no_memory("the schedule of the step");
	struct dfg_err *err = NULL;
	if (!branches(plan))
		err = make_straight(plan, &plan->arena, schedule);
	else
		err = dfg_conditions_find(plan, schedule, &of.unsupported);
	if (!err && branches(plan) && !of.unsupported)
		err = order_nodes(&of);
	if (err || of.unsupported)
		dfg_schedule_free(schedule);
	else
		*out_schedule = schedule;
	return err;
}

void dfg_schedule_free(struct schedule *schedule)
{
	if (!schedule)
		return;
	dfg_free(schedule->condition);
	dfg_free(schedule->predicate);
}
