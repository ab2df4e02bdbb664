#include "lib/exec/plan/schedule.h"

#include <string.h>

/*
 * Nodes are ordered within their loop; in it a loop that it holds is one node. First come records, then flags, then
 * loops, then the ways into Merges, one an input. Of what is ready goes first what stands under the fewest predicates,
 * so that as few tests as possible are made.
 */
struct node {
	uint32_t guard, loop, rank; /* rank: what goes first of those alike */
	uint32_t pending;
	uint32_t first; /* of its arcs; one node more than there are */
};

struct ordering {
	struct dfg_plan *plan;
	struct course *course;
	struct dfg_arena *scratch;
	struct node *node;
	uint32_t nodes, first_flag, first_loop, first_move;
	uint32_t *move; /* by record, a Merge's: number of the node of its input 0 */
	uint32_t *arc, *order, *first_of_loop;
	uint32_t *heap, heaped, ordered;
	bool odd;
};

static uint32_t out_loop(const struct ordering *of, uint32_t r)
{
	const struct dfg_plan *plan = of->plan;
	const struct record *record = &plan->record[r];
	uint32_t loop = dfg_loop_of(plan, r);
	if (record->role == DFG_EXIT)
		return plan->flow->loop[loop].parent;
	return record->role == DFG_ENTER ? plan->flow->slot_loop[dfg_record_out(plan, record, 0)] : loop;
}

typedef void arc_fn(struct ordering *of, uint32_t from, uint32_t to);

static void count_arc(struct ordering *of, uint32_t from, uint32_t to)
{
	of->node[from + 1].first++;
	of->node[to].pending++;
}

static void put_arc(struct ordering *of, uint32_t from, uint32_t to)
{
	of->arc[of->node[from].first++] = to;
}

/* What makes a value for nodes of this loop: a record, or a loop that it leaves; DFG_NONE: there from the beginning. */
static uint32_t source(const struct ordering *of, uint32_t from, uint32_t loop)
{
	const struct record *record = &of->plan->record[from];
	if (record->preset || record->role == DFG_NEXT_ITERATION)
		return DFG_NONE;
	if (record->role == DFG_ENTER && out_loop(of, from) == loop)
		return DFG_NONE;
	return record->role == DFG_EXIT ? of->first_loop + dfg_loop_of(of->plan, from) : from;
}

static void arc_from(struct ordering *of, uint32_t record, uint32_t to, arc_fn *add)
{
	uint32_t from = source(of, record, of->node[to].loop);
	if (from == DFG_NONE || from == to)
		return;
	of->odd |= of->node[from].loop != of->node[to].loop;
	add(of, from, to);
}

static void arc_from_slot(struct ordering *of, uint32_t slot, uint32_t to, arc_fn *add)
{
	if (!dfg_always_there(of->plan, slot))
		arc_from(of, of->plan->maker[slot], to, add);
}

/* A node waits for the flags that say whether it runs. */
static void arcs_of_guard(struct ordering *of, uint32_t guard, uint32_t to, arc_fn *add)
{
	for (; guard != NEVER && of->course->guard[guard].depth; guard = of->course->guard[guard].parent)
		add(of, of->first_flag + of->course->guard[guard].flag, to);
}

static void arcs_of_merge(struct ordering *of, uint32_t r, arc_fn *add)
{
	const struct record *record = &of->plan->record[r];
	for (int i = 0; i < record->n_in; i++) {
		uint32_t move = of->move[r] + (uint32_t)i;
		arc_from_slot(of, dfg_record_in(of->plan, record, i), move, add);
		for (uint32_t c = 0; c < record->n_control; c++)
			arc_from(of, of->plan->control[record->first_control + c], move, add);
		arcs_of_guard(of, of->node[move].guard, move, add);
		add(of, move, r);
	}
}

/* What stands in the region itself for a record that may be further in: one of the loops around it. */
static uint32_t in_region(const struct ordering *of, uint32_t r, uint32_t region)
{
	uint32_t loop = dfg_loop_of(of->plan, r), node = r;
	for (; loop != region; loop = of->plan->flow->loop[loop].parent)
		node = of->first_loop + loop;
	return node;
}

/* A Load comes after all that its Save keeps in the region; where a loop holds both, tokens must find out. */
static void arcs_of_load(struct ordering *of, uint32_t r, arc_fn *add)
{
	uint32_t region = of->plan->flow->keep[r].region, save = of->plan->record[r].save;
	uint32_t from = in_region(of, save, region), to = in_region(of, r, region);
	of->odd |= from == to;
	add(of, from, to);
}

static void arcs_of_record(struct ordering *of, uint32_t r, arc_fn *add)
{
	const struct record *record = &of->plan->record[r];
	if (record->preset || dfg_is_loop_merge(of->plan, record))
		return;
	if (record->role == DFG_MERGE) {
		arcs_of_merge(of, r, add);
		return;
	}
	for (int i = 0; i < record->n_in; i++)
		arc_from_slot(of, dfg_record_in(of->plan, record, i), r, add);
	for (uint32_t c = 0; c < record->n_control; c++)
		arc_from(of, of->plan->control[record->first_control + c], r, add);
	arcs_of_guard(of, of->node[r].guard, r, add);
	if (record->role == DFG_ENTER)
		add(of, r, of->first_loop + out_loop(of, r));
	if (record->role == DFG_LOAD)
		arcs_of_load(of, r, add);
}

static void each_arc(struct ordering *of, arc_fn *add)
{
	const struct course *course = of->course;
	for (uint32_t r = 0; r < of->plan->count; r++)
		arcs_of_record(of, r, add);
	for (uint32_t f = 0; f < course->flags; f++) {
		arc_from_slot(of, course->flag[f].slot, of->first_flag + f, add);
		arcs_of_guard(of, of->node[of->first_flag + f].guard, of->first_flag + f, add);
	}
	for (uint32_t l = 1; l < course->loops; l++)
		arcs_of_guard(of, course->bend[l].guard, of->first_loop + l, add);
}

static void place_nodes(struct ordering *of)
{
	const struct dfg_plan *plan = of->plan;
	const struct course *course = of->course;
	for (uint32_t l = 1; l < course->loops; l++)
		of->node[of->first_loop + l] =
			(struct node){.guard = course->bend[l].guard, .loop = plan->flow->loop[l].parent, .rank = plan->count};
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct record *record = &plan->record[r];
		uint32_t loop = dfg_loop_of(plan, r), guard = course->record_guard[r];
		/* An Enter is live where its loop is; an Exit says nothing of itself. */
		if (record->role == DFG_ENTER)
			guard = course->bend[out_loop(of, r)].guard;
		else if (record->role == DFG_EXIT)
			guard = course->slot_guard[dfg_record_in(plan, record, 0)];
		of->node[r] = (struct node){.guard = guard, .loop = loop, .rank = r};
		if (record->role == DFG_ENTER && of->node[of->first_loop + out_loop(of, r)].rank > r)
			of->node[of->first_loop + out_loop(of, r)].rank = r;
		for (int i = 0; i < record->n_in && of->move[r]; i++) {
			uint32_t slot = dfg_record_in(plan, record, i);
			uint32_t way = dfg_always_there(plan, slot) ? loop : course->slot_guard[slot];
			of->node[of->move[r] + (uint32_t)i] = (struct node){.guard = way, .loop = loop, .rank = r};
		}
	}
	for (uint32_t f = 0; f < course->flags; f++) {
		const struct flag *flag = &course->flag[f];
		of->node[of->first_flag + f] = (struct node){
			.guard = flag->guard, .loop = dfg_loop_of(plan, flag->record), .rank = plan->maker[flag->slot]};
	}
}

/* Loop by loop; then few predicates before many. */
static bool goes_first(const struct ordering *of, uint32_t a, uint32_t b)
{
	const struct node *x = &of->node[a], *y = &of->node[b];
	if (x->loop != y->loop)
		return x->loop < y->loop;
	if (x->guard != y->guard && (x->guard == NEVER || y->guard == NEVER))
		return y->guard == NEVER;
	uint32_t deep_x = x->guard == NEVER ? 0 : of->course->guard[x->guard].depth;
	uint32_t deep_y = y->guard == NEVER ? 0 : of->course->guard[y->guard].depth;
	if (deep_x != deep_y)
		return deep_x < deep_y;
	if (x->guard != y->guard)
		return x->guard < y->guard;
	return x->rank != y->rank ? x->rank < y->rank : a < b;
}

static void push(struct ordering *of, uint32_t node)
{
	uint32_t at = of->heaped++;
	for (; at && goes_first(of, node, of->heap[(at - 1) / 2]); at = (at - 1) / 2)
		of->heap[at] = of->heap[(at - 1) / 2];
	of->heap[at] = node;
}

static uint32_t pop(struct ordering *of)
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

static struct dfg_err *make_arcs(struct ordering *of)
{
	each_arc(of, count_arc);
	for (uint32_t n = 0; n < of->nodes; n++)
		of->node[n + 1].first += of->node[n].first;
	of->arc = dfg_arena_zeros(of->scratch, of->node[of->nodes].first, sizeof *of->arc);
	if (!of->arc)
		return dfg_no_memory("the schedule of the step");
	each_arc(of, put_arc);
	for (uint32_t n = of->nodes; n; n--)
		of->node[n].first = of->node[n - 1].first;
	of->node[0].first = 0;
	return NULL;
}

/* Nodes of a loop come one after the other in the order, though loops take turns while they are found. */
static void sort_nodes(struct ordering *of)
{
	uint32_t *next = of->first_of_loop;
	for (uint32_t n = 0; n < of->nodes; n++)
		next[of->node[n].loop + 1]++;
	for (uint32_t l = 0; l < of->course->loops; l++)
		next[l + 1] += next[l];
	for (uint32_t n = 0; n < of->nodes; n++)
		if (!of->node[n].pending)
			push(of, n);
	while (of->heaped) {
		uint32_t node = pop(of);
		of->order[next[of->node[node].loop]++] = node;
		of->ordered++;
		for (uint32_t a = of->node[node].first; a < of->node[node + 1].first; a++)
			if (!--of->node[of->arc[a]].pending)
				push(of, of->arc[a]);
	}
	memmove(next + 1, next, of->course->loops * sizeof *next);
	next[0] = 0;
	of->odd |= of->ordered != of->nodes;
}

static void add_stop(struct ordering *of, const struct stop *stop)
{
	of->course->stop[of->course->stops++] = *stop;
	of->course->skips += stop->guard == NEVER ? 0 : of->course->guard[stop->guard].depth;
}

static struct stop stop_of(const struct ordering *of, uint32_t n)
{
	const struct node *node = &of->node[n];
	struct stop stop = {.number = n, .guard = node->guard, .loop = node->loop, .kind = STOP_RECORD};
	if (n >= of->first_move) {
		stop.kind = STOP_MOVE;
		stop.number = node->rank;
		stop.input = (uint16_t)(n - of->move[node->rank]);
	} else if (n >= of->first_flag) {
		stop.kind = STOP_CHOOSE;
		stop.number = n - of->first_flag;
	}
	return stop;
}

/* The loops within it, and so on: no deeper than LOOP_DEEPEST. */
static void add_loop(struct ordering *of, uint32_t loop, int depth)
{
	of->odd |= depth > LOOP_DEEPEST;
	for (uint32_t i = of->first_of_loop[loop]; i < of->first_of_loop[loop + 1] && !of->odd; i++) {
		uint32_t n = of->order[i];
		if (n < of->first_loop || n >= of->first_move) {
			struct stop stop = stop_of(of, n);
			add_stop(of, &stop);
			continue;
		}
		uint32_t inner = n - of->first_loop;
		if (!inner)
			continue;
		const struct bend *bend = &of->course->bend[inner];
		add_stop(of, &(struct stop){.number = inner, .guard = bend->guard, .loop = loop, .kind = STOP_BEGIN});
		add_loop(of, inner, depth + 1);
		add_stop(of, &(struct stop){.number = inner, .guard = inner, .loop = inner, .kind = STOP_BACK});
	}
}

static struct dfg_err *take_room(struct ordering *of)
{
	const struct dfg_plan *plan = of->plan;
	of->move = dfg_arena_zeros(of->scratch, plan->count, sizeof *of->move);
	if (!of->move)
		return dfg_no_memory("the schedule of the step");
	of->first_flag = plan->count;
	of->first_loop = of->first_flag + (uint32_t)of->course->flags;
	of->nodes = of->first_move = of->first_loop + of->course->loops;
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->record[r].role == DFG_MERGE && !dfg_is_loop_merge(plan, &plan->record[r])) {
			of->move[r] = of->nodes;
			of->nodes += plan->record[r].n_in;
		}
	of->node = dfg_arena_zeros(of->scratch, (size_t)of->nodes + 1, sizeof *of->node);
	of->order = dfg_arena_zeros(of->scratch, of->nodes, sizeof *of->order);
	of->heap = dfg_arena_zeros(of->scratch, of->nodes, sizeof *of->heap);
	of->first_of_loop = dfg_arena_zeros(of->scratch, (size_t)of->course->loops + 2, sizeof *of->first_of_loop);
	of->course->stop =
		dfg_arena_zeros(&of->plan->arena, (size_t)of->nodes + 2 * of->course->loops, sizeof *of->course->stop);
	return of->node && of->order && of->heap && of->first_of_loop && of->course->stop
			   ? NULL
			   : dfg_no_memory("the schedule of the step");
}

static struct dfg_err *order(struct ordering *of)
{
	DFG_TRY(take_room(of));
	place_nodes(of);
	DFG_TRY(make_arcs(of));
	if (of->odd)
		return NULL;
	sort_nodes(of);
	if (!of->odd)
		add_loop(of, 0, 0);
	return NULL;
}

/* Where nothing branches, records stand in their order already. */
static struct dfg_err *go_straight(const struct dfg_plan *plan, struct dfg_arena *arena, struct course *course)
{
	course->loops = 1;
	course->guards = 1;
	course->bend = dfg_arena_zeros(arena, 1, sizeof *course->bend);
	course->stop = dfg_arena_zeros(arena, plan->count, sizeof *course->stop);
	course->slot_guard = dfg_arena_zeros(arena, plan->slots, sizeof *course->slot_guard);
	course->record_guard = dfg_arena_zeros(arena, plan->count, sizeof *course->record_guard);
	if (!course->bend || !course->stop || !course->slot_guard || !course->record_guard ||
		!dfg_reserve(&course->guard, &course->guard_room, 1, sizeof *course->guard))
		return dfg_no_memory("the schedule of the step");
	course->guard[0].parent = DFG_NONE;
	for (uint32_t r = 0; r < plan->count; r++)
		add_stop(&(struct ordering){.course = course}, &(struct stop){.number = r, .kind = STOP_RECORD});
	return NULL;
}

static bool branches(const struct dfg_plan *plan)
{
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->record[r].role == DFG_SWITCH || plan->record[r].role == DFG_MERGE ||
			plan->record[r].role == DFG_SAVE || plan->record[r].role == DFG_LOAD)
			return true;
	return plan->loops;
}

struct dfg_err *dfg_course_make(struct dfg_plan *plan, struct dfg_arena *scratch, struct course **out_course)
{
	struct course *course = dfg_arena_zeros(&plan->arena, 1, sizeof *course);
	struct ordering of = {.plan = plan, .course = course, .scratch = scratch};
	if (!course)
		return dfg_no_memory("the schedule of the step");
	struct dfg_err *err = NULL;
	if (!branches(plan))
		err = go_straight(plan, &plan->arena, course);
	else
		err = dfg_guards_find(plan, scratch, course, &of.odd);
	if (!err && branches(plan) && !of.odd)
		err = order(&of);
	if (err || of.odd)
		dfg_course_free(course);
	else
		*out_course = course;
	return err;
}

void dfg_course_free(struct course *course)
{
	if (!course)
		return;
	dfg_free(course->guard);
	dfg_free(course->flag);
}
