/*
 * list_schedule. Places groups without requests by list scheduling (HEFT, Topcuoglu et al. 2002): nodes in order of
 * their critical path to the end, each group with its first node on the device where that would finish earliest.
 * O(edges + nodes * devices).
 *
 * A node too small to be worth a message whose inputs are not placed yet is deferred and placed with its first reader.
 */
#include "lib/pass/place/place_private.h"

#include <string.h>

struct schedule {
	struct dfg_placing *p;
	bool spread; /* also consider devices that have none of the inputs */
	struct dfg_place_job *job;
	float *cost;   /* by node */
	float *work;   /* by root */
	bool *whole;   /* by root */
	double *ready; /* by device: the work assigned to it */
	double *idle;  /* by device: when it finishes that work, including gaps */
	/* About the inputs of the current node: */
	double *arrive;              /* by device: when the last input already there is finished */
	double *here;                /* by device: the transfers that its inputs would need elsewhere; 0: none are there */
	double sent;                 /* the transfers that all inputs would need */
	uint32_t *seen;              /* devices that have inputs */
	uint32_t devices_seen, from; /* number of those devices; number of placed inputs */
	uint32_t waiting;            /* inputs that are not placed yet */
	double last, before;         /* latest arrival from other devices than `last_from`; latest arrival from that one */
	uint32_t last_from;
	uint32_t *stack;
	struct dfg_place_lists readers; /* used where work may be spread; else empty */
	uint32_t *asked;                /* by device: 1 + the last node with a reader there */
	uint32_t reading;               /* devices that already have readers of the current node */
};

/* The number of runs of a node; nodes of a loop schedule_all many times. */
static float repeats(const struct dfg_placing *p, uint32_t n)
{
	float times = 1;
	if (p->loops.count > 1)
		for (uint32_t d = p->loops.loop[dfg_loop_home(p->graph, &p->loops, n)].depth; d; d--)
			times *= DFG_PLACE_TRIPS;
	return times;
}

static void estimate(struct schedule *s)
{
	struct dfg_placing *p = s->p;
	for (uint32_t n = 0; n < p->graph->count; n++)
		s->job[n] = (struct dfg_place_job){p->parent[n], (float)dfg_place_bytes(p, n), 0, 0};
	for (uint32_t n = 0; n < p->graph->count; n++) {
		const struct dfg_node *node = &p->graph->node[n];
		double bytes = (double)s->job[n].send;
		for (uint32_t e = 0; e < node->n_in; e++)
			bytes += (double)s->job[node->in[e].node].send;
		s->cost[n] = repeats(p, n) * (float)dfg_place_cost(p, n, p->kind[n] & DFG_KIND_INITIAL ? 0 : bytes);
		s->work[p->parent[n]] += s->cost[n];
	}
	for (uint32_t n = 0; n < p->graph->count; n++)
		s->job[n].send = repeats(p, n) * (float)(DFG_PLACE_LATENCY + (double)s->job[n].send / DFG_PLACE_BYTES_A_SECOND);
}

static bool goes_back(const struct dfg_placing *p, const struct dfg_node *node, struct dfg_edge edge)
{
	return p->loops.count > 1 && dfg_edge_closes(p->graph, node, edge);
}

/* The critical path from each node to the end; a transfer counts between different groups. */
static void measure_ways(struct schedule *s)
{
	const struct dfg_placing *p = s->p;
	for (uint32_t i = p->graph->count; i; i--) {
		uint32_t n = p->order ? p->order[i - 1] : i - 1;
		const struct dfg_node *node = &p->graph->node[n];
		struct dfg_place_job *job = &s->job[n];
		job->critical_path += s->cost[n];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			struct dfg_place_job *from = &s->job[node->in[e].node];
			float left = job->critical_path + (from->root == job->root ? 0 : from->send);
			if (left > from->critical_path && !goes_back(p, node, node->in[e]))
				from->critical_path = left;
		}
	}
}

static uint32_t digit_of(const struct dfg_place_job *job, unsigned shift, uint32_t mask)
{
	uint32_t bits;
	memcpy(&bits, &job->critical_path, sizeof bits);
	return ~bits >> shift & mask;
}

/* Positive floats sort like their bits. Longest first, and stable, so that inputs stay before their readers. */
static void sort_by_way(const struct dfg_place_job *job, uint32_t count, uint32_t *order, uint32_t *spare)
{
	enum { BITS = 11, DIGITS = 1 << BITS };
	for (unsigned shift = 0; shift < 32; shift += BITS) {
		uint32_t at[DIGITS + 1] = {0};
		for (uint32_t i = 0; i < count; i++)
			at[digit_of(&job[order[i]], shift, DIGITS - 1) + 1]++;
		for (unsigned d = 0; d < DIGITS; d++)
			at[d + 1] += at[d];
		for (uint32_t i = 0; i < count; i++)
			spare[at[digit_of(&job[order[i]], shift, DIGITS - 1)]++] = order[i];
		memcpy(order, spare, (size_t)count * sizeof *order);
	}
}

static void take_input(struct schedule *s, const struct dfg_place_job *job, uint32_t device)
{
	double there = (double)job->finish, elsewhere = there + (double)job->send;
	if (s->here[device] <= 0) {
		s->seen[s->devices_seen++] = device;
		s->arrive[device] = 0;
	}
	s->here[device] += (double)job->send;
	s->sent += (double)job->send;
	s->from++;
	if (there > s->arrive[device])
		s->arrive[device] = there;
	if (device == s->last_from) {
		s->last = elsewhere > s->last ? elsewhere : s->last;
	} else if (elsewhere > s->last) {
		s->before = s->last;
		s->last = elsewhere;
		s->last_from = device;
	} else if (elsewhere > s->before) {
		s->before = elsewhere;
	}
}

static void forget_inputs(struct schedule *s)
{
	for (uint32_t i = 0; i < s->devices_seen; i++)
		s->here[s->seen[i]] = 0;
	s->devices_seen = s->from = s->waiting = 0;
	s->last = s->before = s->sent = 0;
	s->last_from = DFG_NONE;
}

/* Inputs that are fed and read nowhere else come from device 0. */
static void look_at_inputs(struct schedule *s, uint32_t n)
{
	const struct dfg_placing *p = s->p;
	const struct dfg_node *node = &p->graph->node[n];
	forget_inputs(s);
	for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
		const struct dfg_place_job *job = &s->job[node->in[e].node];
		uint32_t device = p->device[job->root];
		if (goes_back(p, node, node->in[e]))
			continue;
		s->waiting += device == DFG_NONE;
		if (device == DFG_NONE && p->kind[node->in[e].node] & DFG_KIND_FED)
			device = 0;
		if (device != DFG_NONE)
			take_input(s, job, device);
	}
}

/* When all inputs can be on the device. */
static double arrival(const struct schedule *s, uint32_t device)
{
	double there = s->here[device] > 0 ? s->arrive[device] : 0;
	double elsewhere = device == s->last_from ? s->before : s->last;
	return there > elsewhere ? there : elsewhere;
}

/* The device with the least work; the first if the schedule does not spread. */
static uint32_t least_busy(const struct schedule *s, uint32_t choice)
{
	uint32_t best = dfg_choice_first(&s->p->choices, choice);
	for (uint32_t d = best; s->spread && d < s->p->choices.devices; d++)
		if (dfg_choice_has(&s->p->choices, choice, d) && s->ready[d] < s->ready[best])
			best = d;
	return best;
}

/* The time that placing the node takes on a device: for a loop placed as a unit the whole loop, else the node. */
static double load_of(const struct schedule *s, uint32_t n)
{
	uint32_t root = s->job[n].root;
	return (double)(s->whole[root] ? s->work[root] : s->cost[n]);
}

static void look_at_readers_of(struct schedule *s, uint32_t n, uint32_t maker)
{
	for (uint32_t i = s->readers.first[n]; i < s->readers.first[n + 1]; i++) {
		uint32_t reader = s->readers.item[i], root = s->job[reader].root, device = s->p->device[root];
		if (root == s->job[n].root && n == maker)
			look_at_readers_of(s, reader, maker);
		if (device == DFG_NONE || s->p->kind[reader] & DFG_KIND_INITIAL || s->asked[device] == maker + 1)
			continue;
		s->asked[device] = maker + 1;
		s->reading++;
	}
}

/* Readers, also through Identities, may be placed earlier: for a gradient, the variable usually is. */
static void look_at_readers(struct schedule *s, uint32_t n)
{
	s->reading = 0;
	if (s->readers.first)
		look_at_readers_of(s, n, n);
}

/* The transfers of the node's outputs to readers already placed. */
static double delivery(const struct schedule *s, uint32_t n, uint32_t device)
{
	return (double)s->job[n].send * (s->reading - (s->reading && s->asked[device] == n + 1));
}

/* When the node would finish there and its outputs reach the readers. */
static double end_on(const struct schedule *s, uint32_t n, uint32_t device)
{
	double start = arrival(s, device);
	return (start > s->ready[device] ? start : s->ready[device]) + load_of(s, n) + delivery(s, n, device);
}

/*
 * The device where the node would finish first, among those of its inputs and, to spread, the least busy one.
 * Additional transfers must cost less than the work moved.
 */
static uint32_t choose(struct schedule *s, uint32_t n)
{
	uint32_t choice = s->p->choice[s->job[n].root], best = DFG_NONE;
	double most = 0;
	look_at_readers(s, n);
	for (uint32_t i = 0; i < s->devices_seen; i++)
		if (dfg_choice_has(&s->p->choices, choice, s->seen[i]) && s->here[s->seen[i]] > most)
			most = s->here[s->seen[i]];
	for (uint32_t i = 0; i <= s->devices_seen; i++) {
		uint32_t device = i < s->devices_seen ? s->seen[i] : least_busy(s, choice);
		if (i == s->devices_seen && best != DFG_NONE && !s->spread)
			break;
		if (!dfg_choice_has(&s->p->choices, choice, device) || most - s->here[device] > load_of(s, n))
			continue;
		double end = end_on(s, n, device);
		if (best == DFG_NONE || end < end_on(s, n, best))
			best = device;
	}
	return best;
}

/* Places the deferred inputs, and the deferred inputs of those, on the device. */
static void pull(struct schedule *s, uint32_t n, uint32_t device)
{
	struct dfg_placing *p = s->p;
	uint32_t depth = 1;
	s->stack[0] = n;
	while (depth) {
		const struct dfg_node *node = &p->graph->node[s->stack[--depth]];
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			uint32_t from = node->in[e].node, root = p->parent[from];
			if (p->device[root] != DFG_NONE || s->whole[root] || goes_back(p, node, node->in[e]) ||
				!dfg_choice_has(&p->choices, p->choice[root], device))
				continue;
			p->device[root] = device;
			s->stack[depth++] = from;
		}
	}
}

/* The device's own cost of receiving the inputs that come from other devices. */
static double handling(const struct schedule *s, uint32_t device)
{
	const double share = 0.2;
	return share * (s->sent - s->here[device]);
}

static bool may_wait(const struct schedule *s, uint32_t n)
{
	uint32_t root = s->job[n].root;
	return s->p->kind[n] & DFG_KIND_INITIAL || (!s->from && !s->whole[root] && (double)s->cost[n] < DFG_PLACE_LATENCY);
}

/* Adds the node's work to the device without the gaps, which later nodes may fill. */
static void schedule_node(struct schedule *s, uint32_t n)
{
	struct dfg_placing *p = s->p;
	struct dfg_place_job *job = &s->job[n];
	bool decided = p->device[job->root] != DFG_NONE;
	look_at_inputs(s, n);
	if (!decided && may_wait(s, n))
		return;
	if (!decided)
		p->device[job->root] = choose(s, n);
	uint32_t device = p->device[job->root];
	if (s->waiting)
		pull(s, n, device);
	double start = arrival(s, device);
	job->finish = (float)(start + (double)s->cost[n]);
	s->idle[device] = (start > s->idle[device] ? start : s->idle[device]) + (double)s->cost[n] + handling(s, device);
	if (!decided)
		s->ready[device] += load_of(s, n);
	else if (!s->whole[job->root] || p->choice[job->root])
		s->ready[device] += (double)s->cost[n];
}

/* Places nodes still deferred, which have no readers, with one of their inputs, which may have been placed since. */
static void settle(struct schedule *s)
{
	struct dfg_placing *p = s->p;
	for (uint32_t i = 0; i < p->graph->count; i++) {
		uint32_t n = p->order ? p->order[i] : i, root = p->parent[n];
		if (p->device[root] != DFG_NONE)
			continue;
		look_at_inputs(s, n);
		uint32_t device = s->from ? s->seen[0] : 0;
		p->device[root] = dfg_choice_has(&p->choices, p->choice[root], device)
							  ? device
							  : dfg_choice_first(&p->choices, p->choice[root]);
	}
}

/* Marks requested groups, and the loops to be placed as a unit. */
static void mark(struct schedule *s)
{
	struct dfg_placing *p = s->p;
	for (uint32_t n = 0; n < p->graph->count; n++)
		if (p->loops.count > 1 && dfg_loop_home(p->graph, &p->loops, n))
			p->whole[p->parent[n]] = true;
}

/* A device without requested groups must first be woken up, which takes a message. */
static void begin(struct schedule *s, bool spread)
{
	struct dfg_placing *p = s->p;
	s->spread = spread;
	for (uint32_t d = 0; d < p->choices.devices; d++) {
		s->ready[d] = d ? DFG_PLACE_LATENCY : 0;
		s->idle[d] = 0;
	}
	for (uint32_t n = 0; n < p->graph->count; n++) {
		uint32_t choice = p->choice[n];
		p->device[n] = DFG_NONE;
		s->job[n].finish = 0;
		if (p->parent[n] != n || !choice || !dfg_choice_is_one(&p->choices, choice))
			continue;
		p->device[n] = dfg_choice_first(&p->choices, choice);
		s->ready[p->device[n]] = 0;
	}
}

/* Places all groups, in topological order; returns when the last device finishes. */
static double schedule_all(struct schedule *s, const uint32_t *order, bool spread)
{
	double end = 0;
	begin(s, spread);
	memset(s->asked, 0, s->p->choices.devices * sizeof *s->asked);
	for (uint32_t i = 0; i < s->p->graph->count; i++)
		schedule_node(s, order ? order[i] : i);
	settle(s);
	for (uint32_t d = 0; d < s->p->choices.devices; d++)
		end = s->idle[d] > end ? s->idle[d] : end;
	return end;
}

static struct dfg_err *allocate(struct schedule *s)
{
	struct dfg_placing *p = s->p;
	struct dfg_arena *scratch = &p->scratch;
	size_t nodes = (size_t)p->graph->count + 1, devices = p->choices.devices;
	s->job = p->job = dfg_arena_zeros(scratch, nodes, sizeof *p->job);
	s->work = p->work = dfg_arena_zeros(scratch, nodes, sizeof *p->work);
	s->whole = p->whole = dfg_arena_zeros(scratch, nodes, sizeof *p->whole);
	s->cost = dfg_arena_zeros(scratch, nodes, sizeof *s->cost);
	s->stack = dfg_arena_zeros(scratch, nodes, sizeof *s->stack);
	s->ready = dfg_arena_zeros(scratch, devices, sizeof *s->ready);
	s->idle = dfg_arena_zeros(scratch, devices, sizeof *s->idle);
	s->arrive = dfg_arena_zeros(scratch, devices, sizeof *s->arrive);
	s->here = dfg_arena_zeros(scratch, devices, sizeof *s->here);
	s->seen = dfg_arena_zeros(scratch, devices, sizeof *s->seen);
	s->asked = dfg_arena_zeros(scratch, devices, sizeof *s->asked);
	if (!s->job || !s->work || !s->whole || !s->cost || !s->stack || !s->ready || !s->idle || !s->arrive || !s->here ||
		!s->seen || !s->asked)
		return DFG_ERR(DFG_MEMORY, "no memory to place %u nodes", p->graph->count);
	return NULL;
}

/* Whether any node has enough work to be worth a message. */
static bool may_spread(const struct schedule *s)
{
	const struct dfg_placing *p = s->p;
	bool any = false;
	for (uint32_t n = 0; n < p->graph->count && !any; n++)
		any = load_of(s, n) > DFG_PLACE_LATENCY && !(p->kind[n] & DFG_KIND_INITIAL) &&
			  !dfg_choice_is_one(&p->choices, p->choice[p->parent[n]]);
	return any;
}

/* Schedules with and without spreading, in HEFT order; spreading must be worth it. */
static struct dfg_err *schedule_both(struct schedule *s)
{
	const double worth = 0.7;
	struct dfg_placing *p = s->p;
	size_t count = p->graph->count;
	uint32_t *order = dfg_arena_zeros(&p->scratch, count + 1, sizeof *order);
	uint32_t *spare = dfg_arena_zeros(&p->scratch, count + 1, sizeof *spare);
	if (!order || !spare)
		return DFG_ERR(DFG_MEMORY, "no memory to place %zu nodes", count);
	DFG_TRY(dfg_place_readers(p, NULL, &s->readers));
	measure_ways(s);
	for (uint32_t i = 0; i < count; i++)
		order[i] = p->order ? p->order[i] : i;
	sort_by_way(s->job, (uint32_t)count, order, spare);
	double together = schedule_all(s, order, false);
	memcpy(spare, p->device, count * sizeof *spare);
	if (schedule_all(s, order, true) > worth * together)
		memcpy(p->device, spare, count * sizeof *spare);
	return NULL;
}

/* Whether every group may be on one device only; the groups are then placed. */
static bool all_asked(struct dfg_placing *p)
{
	bool all = true;
	for (uint32_t n = 0; n < p->graph->count && all; n++) {
		all = dfg_choice_is_one(&p->choices, p->choice[p->parent[n]]);
		p->device[n] = dfg_choice_first(&p->choices, p->choice[n]);
	}
	return all;
}

struct dfg_err *dfg_place_schedule(struct dfg_placing *p)
{
	struct schedule s = {.p = p};
	if (all_asked(p))
		return NULL;
	DFG_TRY(allocate(&s));
	mark(&s);
	estimate(&s);
	if (may_spread(&s))
		return schedule_both(&s);
	schedule_all(&s, p->order, false);
	return NULL;
}
