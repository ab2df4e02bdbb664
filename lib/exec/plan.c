#include "lib/exec/plan.h"

#include <string.h>

/* What dfg_plan_make works with. */
struct maker {
	struct dfg_plan *plan;
	struct selection selection;
	struct dfg_call *call;  /* by record */
	uint32_t *first_output; /* by record: the slot of its output 0 */
	struct dfg_arena *scratch;
};

static struct dfg_err *no_memory(void)
{
	return DFG_ERR(DFG_MEMORY, "out of memory");
}

static void *copy_array(struct dfg_arena *arena, const void *from, uint32_t count, size_t size)
{
	void *to = dfg_arena_zeros(arena, count, size);
	return to && count ? memcpy(to, from, count * size) : to;
}

static struct dfg_err *copy_step(struct dfg_arena *arena, const struct dfg_step *from, struct dfg_step *to)
{
	*to = *from;
	to->feed = copy_array(arena, from->feed, from->n_feed, sizeof *from->feed);
	to->fetch = copy_array(arena, from->fetch, from->n_fetch, sizeof *from->fetch);
	to->target = copy_array(arena, from->target, from->n_target, sizeof *from->target);
	return to->feed && to->fetch && to->target ? NULL : no_memory();
}

static struct dfg_err *unknown_op(const struct dfg_node *node)
{
	const char *nearest = dfg_op_nearest(node->op_name);
	return DFG_ERR(DFG_DATA, "node '%s': no op %s%s%s%s", node->name, node->op_name, nearest ? " (did you mean " : "",
		nearest ? nearest : "", nearest ? "?)" : "");
}

/* Refuses what cannot run at all. */
static struct dfg_err *check_role(const struct dfg_call *call)
{
	if (call->op->role == DFG_PLACEHOLDER)
		return DFG_ERR(DFG_DATA, "must be fed");
	if (call->op->role == DFG_CALL)
		return DFG_ERR(DFG_DATA, "calls a function: lower the graph first");
	return NULL;
}

static bool runs_by_role(enum dfg_role role)
{
	return role != DFG_PLAIN && role != DFG_VARIABLE && role != DFG_READ && role != DFG_ASSIGN;
}

static struct dfg_err *make_call(struct maker *maker, uint32_t r)
{
	struct dfg_plan *plan = maker->plan;
	const struct dfg_graph *graph = maker->selection.graph;
	struct record *record = &plan->record[r];
	struct dfg_call *call = &maker->call[r];
	const struct dfg_node *node = &graph->node[maker->selection.node[r]];
	if (!node->op)
		return unknown_op(node);
	DFG_TRY(dfg_node_call(graph, maker->selection.node[r], &plan->arena, call));
	DFG_TRY(dfg_call_note(check_role(call), call));
	*record = (struct record){
		.call = call,
		.node = maker->selection.node[r],
		.n_in = call->n_in,
		.n_out = call->n_out,
		.role = node->op->role,
	};
	if (node->n_in < call->n_in)
		return dfg_call_note(DFG_ERR(DFG_DATA, "has %u inputs, needs %u", node->n_in, call->n_in), call);
	if (!runs_by_role(record->role))
		DFG_TRY(dfg_kernel_find(call, &record->run));
	maker->first_output[r] = plan->slots;
	plan->slots += call->n_out;
	plan->uses += (uint32_t)call->n_in + call->n_out;
	return NULL;
}

/* Whether tensor i of a call is a ref; ports that are lists count as one. */
static bool is_ref(uint8_t refs, const uint16_t *first, int ports, int i)
{
	for (int port = 0; port < ports && refs; port++)
		if (i >= first[port] && i < first[port + 1])
			return refs >> port & 1;
	return false;
}

static bool input_is_ref(const struct dfg_call *call, int i)
{
	return is_ref(call->in_ref, call->in_first, call->signature->n_in, i);
}

static struct dfg_err *slot_of(const struct maker *maker, struct dfg_edge edge, uint32_t *out_slot)
{
	const struct dfg_plan *plan = maker->plan;
	uint32_t feed = dfg_fed(&plan->step, edge);
	if (feed != DFG_NONE) {
		*out_slot = plan->first_feed + feed;
		return NULL;
	}
	uint32_t r = maker->selection.number[edge.node];
	const struct dfg_node *node = &maker->selection.graph->node[edge.node];
	if (r == DFG_NONE || edge.port < 0 || edge.port >= plan->record[r].n_out)
		return DFG_ERR(DFG_DATA, "node '%s' (%s) has no output %d", node->name, node->op_name, edge.port);
	*out_slot = maker->first_output[r] + (uint32_t)edge.port;
	return NULL;
}

static struct dfg_err *connect(struct maker *maker, uint32_t r, uint32_t *use, uint32_t *control)
{
	struct dfg_plan *plan = maker->plan;
	struct record *record = &plan->record[r];
	const struct dfg_node *node = &maker->selection.graph->node[record->node];
	record->first = *use;
	for (int i = 0; i < record->n_in; i++) {
		uint32_t *slot = &plan->slot[(*use)++];
		DFG_TRY(dfg_call_note(slot_of(maker, node->in[i], slot), record->call));
		record->reads_ref |= plan->kind[*slot] == SLOT_REF && !input_is_ref(record->call, i);
	}
	for (int i = 0; i < record->n_out; i++, ++*use) {
		plan->slot[*use] = maker->first_output[r] + (uint32_t)i;
		plan->maker[plan->slot[*use]] = r;
	}
	record->first_control = *control;
	for (uint32_t i = 0; i < node->n_control; i++) {
		uint32_t before = maker->selection.number[node->in[node->n_in + i].node];
		if (before != DFG_NONE)
			plan->control[(*control)++] = before;
	}
	record->n_control = *control - record->first_control;
	return NULL;
}

static void mark_refs(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct dfg_call *call = &maker->call[r];
		for (int i = 0; i < call->n_out && call->out_ref; i++)
			if (is_ref(call->out_ref, call->out_first, call->signature->n_out, i))
				plan->kind[maker->first_output[r] + (uint32_t)i] = SLOT_REF;
	}
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		plan->kind[plan->first_feed + i] = SLOT_FEED;
}

static struct dfg_err *make_constants(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		if (plan->record[r].role != DFG_CONST)
			continue;
		const struct dfg_call *call = &maker->call[r];
		uint32_t slot = maker->first_output[r];
		DFG_TRY(dfg_call_note(
			dfg_literal_tensor(call->attr[dfg_op_attr(call->signature, "value")].tensor, &plan->constant[slot]), call));
		plan->kind[slot] = SLOT_CONST;
	}
	return NULL;
}

static struct dfg_err *take_room(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	size_t controls = 0;
	plan->count = maker->selection.count;
	plan->record = dfg_arena_zeros(&plan->arena, plan->count, sizeof *plan->record);
	maker->call = dfg_arena_zeros(&plan->arena, plan->count, sizeof *maker->call);
	maker->first_output = dfg_arena_zeros(maker->scratch, plan->count, sizeof *maker->first_output);
	for (uint32_t r = 0; r < plan->count; r++)
		controls += maker->selection.graph->node[maker->selection.node[r]].n_control;
	plan->control = dfg_arena_zeros(&plan->arena, controls, sizeof *plan->control);
	return plan->record && maker->call && maker->first_output && plan->control ? NULL : no_memory();
}

static struct dfg_err *make_records(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	uint32_t use = 0, control = 0;
	DFG_TRY(take_room(maker));
	for (uint32_t r = 0; r < plan->count; r++)
		DFG_TRY(make_call(maker, r));
	plan->first_feed = plan->slots;
	plan->slots += plan->step.n_feed;
	plan->slot = dfg_arena_zeros(&plan->arena, plan->uses, sizeof *plan->slot);
	plan->kind = dfg_arena_zeros(&plan->arena, plan->slots, 1);
	plan->maker = dfg_arena_zeros(&plan->arena, plan->slots, sizeof *plan->maker);
	plan->constant = dfg_arena_zeros(&plan->arena, plan->slots, sizeof *plan->constant);
	if (!plan->slot || !plan->kind || !plan->maker || !plan->constant)
		return no_memory();
	mark_refs(maker);
	DFG_TRY(make_constants(maker));
	for (uint32_t r = 0; r < plan->count; r++)
		DFG_TRY(connect(maker, r, &use, &control));
	return NULL;
}

/* What may be dead: all behind a Switch, but a Merge of which some input cannot be. */
static void mark_mortal(struct dfg_plan *plan, bool *mortal)
{
	for (uint32_t r = 0; r < plan->count; r++) {
		struct record *record = &plan->record[r];
		for (int i = 0; i < record->n_in; i++)
			record->may_die |= mortal[plan->slot[record->first + (uint32_t)i]];
		for (uint32_t i = 0; i < record->n_control; i++)
			record->may_die |= plan->record[plan->control[record->first_control + i]].may_die;
		for (int i = 0; i < record->n_out; i++)
			mortal[plan->slot[record->first + record->n_in + (uint32_t)i]] =
				record->may_die || record->role == DFG_SWITCH;
	}
}

/* For each slot that a step owns: the last record that reads it, or the one that makes it, gives it back. */
static struct dfg_err *plan_releases(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	uint32_t *last = dfg_arena_zeros(maker->scratch, plan->slots, sizeof *last), n = 0;
	plan->release = dfg_arena_zeros(&plan->arena, plan->slots, sizeof *plan->release);
	if (!last || !plan->release)
		return no_memory();
	for (uint32_t r = 0; r < plan->count; r++)
		for (uint32_t i = 0; i < (uint32_t)plan->record[r].n_in + plan->record[r].n_out; i++)
			last[plan->slot[plan->record[r].first + i]] = r;
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		last[plan->fetch[i]] = DFG_NONE;
	for (uint32_t r = 0; r < plan->count; r++) {
		struct record *record = &plan->record[r];
		record->first_release = n;
		for (uint32_t i = 0; i < (uint32_t)record->n_in + record->n_out; i++) {
			uint32_t slot = plan->slot[record->first + i];
			if (last[slot] != r || plan->kind[slot] != SLOT_VALUE)
				continue;
			plan->release[n++] = slot;
			last[slot] = DFG_NONE;
		}
		record->n_release = n - record->first_release;
	}
	return NULL;
}

static struct dfg_err *find_fetches(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	plan->fetch = dfg_arena_zeros(&plan->arena, plan->step.n_fetch, sizeof *plan->fetch);
	if (!plan->fetch)
		return no_memory();
	for (uint32_t i = 0; i < plan->step.n_fetch; i++)
		DFG_TRY(dfg_err_note(slot_of(maker, plan->step.fetch[i], &plan->fetch[i]), "fetch"));
	return NULL;
}

/* What the graph says of each feed, its inputs being unknown. */
static struct dfg_err *find_feeds(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	plan->feed = dfg_arena_zeros(&plan->arena, plan->step.n_feed, sizeof *plan->feed);
	if (!plan->feed)
		return no_memory();
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		struct dfg_edge edge = plan->step.feed[i];
		const struct dfg_node *node = &maker->selection.graph->node[edge.node];
		struct dfg_call call;
		if (!node->op)
			return unknown_op(node);
		DFG_TRY(dfg_node_call(maker->selection.graph, edge.node, maker->scratch, &call));
		if (edge.port < 0 || edge.port >= call.n_out)
			return DFG_ERR(DFG_DATA, "feed: node '%s' (%s) has no output %d", node->name, node->op_name, edge.port);
		struct dfg_fact *fact = dfg_arena_zeros(maker->scratch, call.n_out, sizeof *fact);
		const struct dfg_fact **in = dfg_arena_zeros(maker->scratch, call.n_in, sizeof *in);
		if (!fact || !in)
			return no_memory();
		DFG_TRY(dfg_infer_node(&call, in, &plan->arena, fact));
		plan->feed[i] = fact[edge.port];
	}
	return NULL;
}

static struct dfg_err *make(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	DFG_TRY(dfg_select(&maker->selection));
	DFG_TRY(make_records(maker));
	DFG_TRY(find_feeds(maker));
	DFG_TRY(find_fetches(maker));
	bool *mortal = dfg_arena_zeros(maker->scratch, plan->slots, sizeof *mortal);
	if (!mortal)
		return no_memory();
	mark_mortal(plan, mortal);
	return plan_releases(maker);
}

struct dfg_err *dfg_plan_make(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan)
{
	struct dfg_arena scratch = {0};
	struct maker maker = {.plan = plan, .scratch = &scratch};
	*plan = (struct dfg_plan){.session = session};
	if (pthread_mutex_init(&plan->lock, NULL))
		return no_memory();
	struct dfg_err *err = copy_step(&plan->arena, step, &plan->step);
	if (!err) {
		maker.selection = (struct selection){.graph = session->graph, .step = &plan->step, .scratch = &scratch};
		err = make(&maker);
	}
	dfg_arena_release(&scratch);
	if (err)
		dfg_plan_release(plan);
	return err;
}

void dfg_plan_release(struct dfg_plan *plan)
{
	while (plan->idle) {
		struct context *context = plan->idle;
		plan->idle = context->next;
		dfg_context_free(context);
	}
	for (uint32_t i = 0; plan->constant && i < plan->slots; i++)
		dfg_tensor_release(&plan->constant[i]);
	dfg_arena_release(&plan->arena);
	pthread_mutex_destroy(&plan->lock);
}
