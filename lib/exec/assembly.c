#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/linear.h"

#include "lib/exec/plan/schedule.h"

#include <stdio.h>
#include <string.h>

/* What dfg_plan_make works with. */
struct maker {
	struct dfg_plan *plan;
	struct selection selection;
	struct dfg_call *call;  /* by record */
	uint32_t *first_output; /* by record: the slot of its output 0 */
	struct dfg_arena *scratch;
};

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
	return to->feed && to->fetch && to->target ? NULL : dfg_no_memory("the plan of the step");
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

/* The machine does these itself: they only move values. */
static bool runs_by_role(enum dfg_role role)
{
	return role != DFG_PLAIN && role != DFG_CONST && role != DFG_VARIABLE && role != DFG_READ && role != DFG_ASSIGN;
}

static bool needs_machine(enum dfg_role role)
{
	return role == DFG_ENTER || role == DFG_EXIT || role == DFG_NEXT_ITERATION || role == DFG_SAVE ||
		   role == DFG_LOAD || role == DFG_SLEEP || role == DFG_SEND || role == DFG_RECV;
}

static struct dfg_err *make_call(struct maker *maker, uint32_t r)
{
	struct dfg_plan *plan = maker->plan;
	const struct dfg_graph *graph = maker->selection.graph;
	struct record *record = &plan->record[r];
	struct dfg_call *call = &maker->call[r];
	const struct dfg_node *node = &graph->node[maker->selection.node[r]];
	DFG_TRY(dfg_node_call(graph, maker->selection.node[r], &plan->arena, call));
	DFG_TRY(dfg_call_note(check_role(call), call));
	*record = (struct record){
		.call = call,
		.node = maker->selection.node[r],
		.n_in = call->n_in,
		.n_out = call->n_out,
		.role = node->op->role,
	};
	record->n_in -= record->role == DFG_LOAD;
	record->n_out -= record->role == DFG_SAVE;
	if (!runs_by_role(record->role))
		DFG_TRY(dfg_kernel_find(call, &record->run));
	record->row = record->run == dfg_elementwise_run ? dfg_kernel_row(call) : NULL;
	plan->loops |= needs_machine(record->role);
	plan->sleeps |= record->call->op->flags & DFG_BLOCKING;
	plan->transfers |= record->role == DFG_SEND || record->role == DFG_RECV;
	maker->first_output[r] = plan->slots;
	plan->slots += record->n_out;
	plan->uses += (uint32_t)record->n_in + record->n_out;
	return NULL;
}

static struct dfg_err *slot_of(const struct maker *maker, struct dfg_edge edge, uint32_t *out_slot)
{
	const struct dfg_plan *plan = maker->plan;
	edge = dfg_source(maker->selection.graph, &plan->step, edge);
	uint32_t feed = dfg_fed(&plan->step, edge);
	if (feed != DFG_NONE) {
		*out_slot = plan->first_feed + feed;
		return NULL;
	}
	uint32_t r = maker->selection.number[edge.node];
	const struct dfg_node *node = &maker->selection.graph->node[edge.node];
	if (r != DFG_NONE && plan->record[r].role == DFG_SAVE)
		return DFG_ERR(DFG_DATA, "what node '%s' (%s) stores is for Load only", node->name, node->op_name);
	if (r == DFG_NONE || edge.port < 0 || edge.port >= plan->record[r].n_out)
		return DFG_ERR(DFG_DATA, "node '%s' (%s) has no output %d", node->name, node->op_name, edge.port);
	*out_slot = maker->first_output[r] + (uint32_t)edge.port;
	return NULL;
}

/* A constant or a handle that waits for nothing is made once. */
static void mark_preset(struct dfg_plan *plan, struct record *record)
{
	record->preset = !record->n_in && !record->n_control && (record->role == DFG_CONST || record->role == DFG_VARIABLE);
	for (int i = 0; i < record->n_out && record->preset; i++)
		plan->kind[dfg_record_in(plan, record, i)] = SLOT_PRESET;
}

/*
 * The Identity of a ref is that ref, read when its readers run: those that wait for an update see what it wrote, as where
 * tensors are shared with variables.
 */
static void pass_refs(struct dfg_plan *plan, struct record *record)
{
	for (int i = 0; i < record->n_out && i < record->n_in; i++) {
		uint32_t out = dfg_record_out(plan, record, i);
		if (!plan->is_ref[dfg_record_in(plan, record, i)])
			continue;
		plan->kind[out] = SLOT_REF;
		plan->is_ref[out] = true;
	}
}

/* The edge from the Save, which is there to say which one is meant. */
static struct dfg_err *find_save(struct maker *maker, struct record *record, struct dfg_edge edge)
{
	const struct dfg_plan *plan = maker->plan;
	const struct dfg_node *from = &maker->selection.graph->node[edge.node];
	record->save = dfg_fed(&plan->step, edge) == DFG_NONE ? maker->selection.number[edge.node] : DFG_NONE;
	if (record->save == DFG_NONE || plan->record[record->save].role != DFG_SAVE)
		return DFG_ERR(DFG_DATA, "input 0 is '%s' (%s), must be a Save, which is not fed", from->name, from->op_name);
	if (plan->record[record->save].n_in != record->n_in + 1)
		return DFG_ERR(DFG_DATA, "has %d keys, but '%s' (%s) has %d", record->n_in, from->name, from->op_name,
			plan->record[record->save].n_in - 1);
	return NULL;
}

static struct dfg_err *connect(struct maker *maker, uint32_t r, uint32_t *use, uint32_t *control)
{
	struct dfg_plan *plan = maker->plan;
	struct record *record = &plan->record[r];
	const struct dfg_node *node = &maker->selection.graph->node[record->node];
	int skipped = record->role == DFG_LOAD;
	record->first = *use;
	if (skipped)
		DFG_TRY(dfg_call_note(find_save(maker, record, node->in[0]), record->call));
	for (int i = 0; i < record->n_in; i++) {
		uint32_t *slot = &plan->slot[(*use)++];
		DFG_TRY(dfg_call_note(slot_of(maker, node->in[i + skipped], slot), record->call));
		record->reads_ref |= plan->is_ref[*slot] && !dfg_call_in_is_ref(record->call, i + skipped);
	}
	for (int i = 0; i < record->n_out; i++, ++*use) {
		plan->slot[*use] = maker->first_output[r] + (uint32_t)i;
		plan->maker[plan->slot[*use]] = r;
	}
	if (record->role == DFG_IDENTITY)
		pass_refs(plan, record);
	record->first_control = *control;
	for (uint32_t i = 0; i < node->n_control; i++) {
		uint32_t before = maker->selection.number[node->in[node->n_in + i].node];
		if (before != DFG_NONE)
			plan->control[(*control)++] = before;
	}
	record->n_control = *control - record->first_control;
	record->in_place = record->run == dfg_elementwise_run || record->call->op->flags & DFG_IN_PLACE;
	mark_preset(plan, record);
	return NULL;
}

static void mark_slots(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct dfg_call *call = &maker->call[r];
		for (int i = 0; i < call->n_out && call->out_ref; i++)
			if (dfg_call_out_is_ref(call, i)) {
				plan->kind[maker->first_output[r] + (uint32_t)i] = SLOT_REF;
				plan->is_ref[maker->first_output[r] + (uint32_t)i] = true;
			}
	}
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		plan->kind[plan->first_feed + i] = SLOT_FEED;
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
	return plan->record && maker->call && maker->first_output && plan->control ? NULL
																			   : dfg_no_memory("the plan of the step");
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
	plan->is_ref = dfg_arena_zeros(&plan->arena, plan->slots, sizeof *plan->is_ref);
	plan->preset = dfg_arena_zeros(&plan->arena, plan->slots, sizeof *plan->preset);
	if (!plan->slot || !plan->kind || !plan->maker || !plan->is_ref || !plan->preset)
		return dfg_no_memory("the plan of the step");
	mark_slots(maker);
	for (uint32_t r = 0; r < plan->count; r++)
		DFG_TRY(connect(maker, r, &use, &control));
	return NULL;
}

static void mark_indices(struct dfg_plan *plan)
{
	for (uint32_t i = 0; i < plan->uses + plan->step.n_fetch; i++) {
		uint32_t slot = i < plan->uses ? plan->slot[i] : plan->fetch[i - plan->uses];
		struct record *record = slot < plan->first_feed ? &plan->record[plan->maker[slot]] : NULL;
		uint32_t own = record ? record->first + record->n_in + 1 : 0;
		if (record && record->role == DFG_MERGE && slot == plan->slot[own] && i != own)
			record->tells_index = true;
	}
}

static void mark_agreement(struct dfg_plan *plan)
{
	for (uint32_t r = 0; r < plan->count; r++) {
		struct record *record = &plan->record[r];
		for (int i = 0; i < record->n_in && record->role == DFG_MERGE && !record->tells_index; i++) {
			uint32_t slot = dfg_record_in(plan, record, i);
			record->may_agree |= plan->kind[slot] == SLOT_PRESET ||
								 (slot < plan->first_feed && plan->record[plan->maker[slot]].role == DFG_CONST);
		}
	}
}

/* What may be dead: all behind a Switch, here or on another worker, but a Merge of which some input cannot be. */
static void mark_mortal(struct dfg_plan *plan, bool *mortal)
{
	for (uint32_t r = 0; r < plan->count; r++) {
		struct record *record = &plan->record[r];
		for (int i = 0; i < record->n_in; i++)
			record->may_die |= mortal[dfg_record_in(plan, record, i)];
		for (uint32_t i = 0; i < record->n_control; i++)
			record->may_die |= plan->record[plan->control[record->first_control + i]].may_die;
		for (int i = 0; i < record->n_out; i++)
			mortal[dfg_record_out(plan, record, i)] =
				record->may_die || record->role == DFG_SWITCH || record->role == DFG_RECV;
	}
}

static struct dfg_err *find_fetches(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	plan->fetch = dfg_arena_zeros(&plan->arena, plan->step.n_fetch, sizeof *plan->fetch);
	if (!plan->fetch)
		return dfg_no_memory("the plan of the step");
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
		return dfg_no_memory("the plan of the step");
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		struct dfg_edge edge = plan->step.feed[i];
		const struct dfg_node *node = &maker->selection.graph->node[edge.node];
		struct dfg_call call;
		DFG_TRY(dfg_node_call(maker->selection.graph, edge.node, maker->scratch, &call));
		if (edge.port < 0 || edge.port >= call.n_out)
			return DFG_ERR(DFG_DATA, "feed: node '%s' (%s) has no output %d", node->name, node->op_name, edge.port);
		struct dfg_fact *fact = dfg_arena_zeros(maker->scratch, call.n_out, sizeof *fact);
		const struct dfg_fact **in = dfg_arena_zeros(maker->scratch, call.n_in, sizeof *in);
		if (!fact || !in)
			return dfg_no_memory("the plan of the step");
		DFG_TRY(dfg_infer_node(&call, in, &plan->arena, fact));
		plan->feed[i] = fact[edge.port];
	}
	return NULL;
}

/* Runs the record now; its outputs belong to the plan. */
static struct dfg_err *preset(struct dfg_plan *plan, struct runner *runner, const struct record *record)
{
	struct dfg_tensor **at = dfg_arena_zeros(&plan->arena, (size_t)record->n_in + record->n_out, sizeof *at);
	if (!at)
		return dfg_no_memory("the plan of the step");
	for (int i = 0; i < record->n_in + record->n_out; i++)
		at[i] = &plan->preset[dfg_record_in(plan, record, i)];
	return dfg_call_note(dfg_runner_run(runner, record, at, at + record->n_in), record->call);
}

/* Lists are made anew in each step: they share room with what the step adds to them. */
static bool makes_variants(const struct dfg_call *call)
{
	for (int i = 0; i < call->n_out; i++)
		if (call->out_dtype[i] == DFG_VARIANT)
			return true;
	return false;
}

/* Whether a node computes the same in every step. */
static bool is_constant(const struct dfg_plan *plan, const struct record *record)
{
	const struct dfg_call *call = record->call;
	if (record->role != DFG_PLAIN || !record->n_in || !record->n_out || record->n_control ||
		call->op->flags & (DFG_STATEFUL | DFG_BLOCKING) || plan->session->options.no_opt || makes_variants(call))
		return false;
	for (int i = 0; i < record->n_in; i++) {
		const struct dfg_tensor *in = &plan->preset[dfg_record_in(plan, record, i)];
		if (plan->kind[dfg_record_in(plan, record, i)] != SLOT_PRESET || in->dtype == DFG_RESOURCE || !in->dtype)
			return false;
	}
	return true;
}

/* A node that fails may never run: that is for the step to find out. */
static void fold(struct dfg_plan *plan, struct runner *runner, struct record *record)
{
	enum { BYTES_MOST = 1 << 22 };
	struct dfg_err *err = preset(plan, runner, record);
	size_t bytes = 0;
	for (int i = 0; i < record->n_out && !err; i++)
		bytes += dfg_tensor_bytes(&plan->preset[dfg_record_out(plan, record, i)]);
	record->preset = !err && bytes <= BYTES_MOST;
	for (int i = 0; i < record->n_out; i++) {
		uint32_t slot = dfg_record_out(plan, record, i);
		if (record->preset)
			plan->kind[slot] = SLOT_PRESET;
		else
			dfg_tensor_release(&plan->preset[slot]);
	}
	dfg_err_free(err);
}

/* A constant that waits for something, a predicate mostly: its value is known all the same. */
static bool is_bound(const struct record *record)
{
	return record->role == DFG_CONST && !record->n_in && record->n_control;
}

/* Constants, the handles of variables, and what depends on constants alone. */
static struct dfg_err *run_presets(struct dfg_plan *plan)
{
	struct runner runner = {.session = plan->session};
	struct dfg_err *err = NULL;
	for (uint32_t r = 0; r < plan->count && !err; r++)
		if (plan->record[r].preset || is_bound(&plan->record[r]))
			err = preset(plan, &runner, &plan->record[r]);
	for (uint32_t r = 0; r < plan->count && !err; r++)
		if (is_constant(plan, &plan->record[r]))
			fold(plan, &runner, &plan->record[r]);
	dfg_runner_release(&runner);
	return err;
}

/* Tokens show what a loop does, instance by instance; and they are the second opinion on it. */
static bool wants_machine(const struct dfg_plan *plan)
{
	const struct dfg_session_options *options = &plan->session->options;
	return options->random_schedule || plan->sleeps || plan->transfers ||
		   (plan->loops && (options->trace || options->no_opt));
}

/* A course where there is one, and where threads would not do better. */
static struct dfg_err *choose_course(struct dfg_plan *plan, struct dfg_arena *scratch)
{
	bool overlaps = false;
	if (wants_machine(plan))
		return NULL;
	DFG_TRY(dfg_course_make(plan, scratch, &plan->course));
	if (plan->course && plan->loops && dfg_pool_threads(plan->session->pool) > 1)
		DFG_TRY(dfg_find_overlap(plan, scratch, &overlaps));
	if (overlaps) {
		dfg_course_free(plan->course);
		plan->course = NULL;
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
	struct dfg_fleet *fleet = plan->session->options.fleet;
	if (fleet) /* what is wrong with a step is said here, as ever */
		return fleet->plan(fleet, &plan->step, &plan->elsewhere);
	bool *mortal = dfg_arena_zeros(maker->scratch, plan->slots, sizeof *mortal);
	if (!mortal)
		return dfg_no_memory("the plan of the step");
	mark_mortal(plan, mortal);
	mark_indices(plan);
	DFG_TRY(run_presets(plan));
	mark_agreement(plan);
	if (plan->loops)
		DFG_TRY(dfg_flow_make(plan, maker->scratch));
	DFG_TRY(choose_course(plan, maker->scratch));
	if (plan->course)
		return dfg_layouts_begin(plan);
	return plan->flow ? NULL : dfg_flow_make(plan, maker->scratch);
}

struct dfg_err *dfg_plan_make(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan)
{
	struct dfg_arena scratch = {0};
	struct maker maker = {.plan = plan, .scratch = &scratch};
	*plan = (struct dfg_plan){.session = session};
	if (pthread_mutex_init(&plan->lock, NULL))
		return dfg_no_memory("the plan of the step");
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
	dfg_machines_free(plan);
	dfg_layouts_free(plan);
	for (uint32_t i = 0; plan->preset && i < plan->slots; i++)
		dfg_tensor_release(&plan->preset[i]);
	dfg_flow_free(plan->flow);
	dfg_course_free(plan->course);
	dfg_arena_release(&plan->arena);
	pthread_mutex_destroy(&plan->lock);
}
