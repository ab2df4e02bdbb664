#include "lib/exec/dataflow/dataflow.h"
#include "lib/exec/device/device.h"
#include "lib/exec/kernel/services.h"
#include "lib/exec/linear/linear.h"
#include "lib/exec/replica_private.h"

#include "lib/exec/plan/schedule.h"

#include <stdio.h>
#include <string.h>

/* The working data of dfg_plan_make. */
struct maker {
	struct dfg_plan *plan;
	struct selection selection;
	struct dfg_resolved_node *call; /* by plan node */
	uint32_t *first_output;         /* by plan node: the slot of its output 0 */
	struct dfg_arena *scratch;
};

static void *copy_array(struct dfg_arena *arena, const void *from, uint32_t count, size_t size)
{
	void *to = dfg_arena_zeros(arena, count, size);
	return to && count ? memcpy(to, from, count * size) : to;
}

struct dfg_err *dfg_step_copy(struct dfg_arena *arena, const struct dfg_step *from, struct dfg_step *to)
{
	*to = *from;
	to->feed = copy_array(arena, from->feed, from->n_feed, sizeof *from->feed);
	to->fetch = copy_array(arena, from->fetch, from->n_fetch, sizeof *from->fetch);
	to->target = copy_array(arena, from->target, from->n_target, sizeof *from->target);
	return to->feed && to->fetch && to->target ? NULL : dfg_no_memory("the plan of the step");
}

/* Rejects ops that cannot run. */
static struct dfg_err *check_role(const struct dfg_resolved_node *call)
{
	if (call->op->role == DFG_PLACEHOLDER)
		return DFG_ERR(DFG_DATA, "must be fed");
	if (call->op->role == DFG_CALL)
		return DFG_ERR(DFG_DATA, "calls a function: lower the graph first");
	return NULL;
}

/* Roles that the executor implements itself, as they only move values. */
static bool runs_by_role(enum dfg_role role)
{
	return role != DFG_PLAIN && role != DFG_CONST && role != DFG_VARIABLE && role != DFG_READ && role != DFG_ASSIGN;
}

static bool needs_frame_info(enum dfg_role role)
{
	return role == DFG_ENTER || role == DFG_EXIT || role == DFG_NEXT_ITERATION || role == DFG_SAVE ||
		   role == DFG_LOAD || role == DFG_SLEEP || role == DFG_SEND || role == DFG_RECV;
}

/* The verifier decides which input of a Merge is a fallback, and marks the node; a part of a graph does not show it. */
static struct dfg_err *find_fallback(const struct dfg_node *graph_node, struct plan_node *node)
{
	int64_t input;
	if (node->role != DFG_MERGE || !dfg_node_mark(graph_node, "_dfg_fallback", &input))
		return NULL;
	if (input < 0 || input >= node->n_in || node->n_in != 2)
		return DFG_ERR(DFG_DATA,
			"attribute '_dfg_fallback' is %lld, but only a Merge of two inputs may have it, and its value must be 0 or "
			"1; remove it: dfg sets it where it is needed",
			(long long)input);
	node->fallback = (uint8_t)(input + 1);
	return NULL;
}

static struct dfg_err *make_call(struct maker *maker, uint32_t r)
{
	struct dfg_plan *plan = maker->plan;
	const struct dfg_graph *graph = maker->selection.graph;
	struct plan_node *node = &plan->node[r];
	struct dfg_resolved_node *call = &maker->call[r];
	const struct dfg_node *graph_node = &graph->node[maker->selection.node[r]];
	DFG_TRY(dfg_node_resolve(graph, maker->selection.node[r], &plan->arena, call));
	DFG_TRY(dfg_resolved_note(check_role(call), call));
	*node = (struct plan_node){
		.call = call,
		.graph_node = maker->selection.node[r],
		.n_in = call->n_in,
		.n_out = call->n_out,
		.role = graph_node->op->role,
	};
	node->n_in -= node->role == DFG_LOAD;
	node->n_out -= node->role == DFG_SAVE;
	DFG_TRY(dfg_resolved_note(find_fallback(graph_node, node), call));
	node->constant_weights = call->op->flags & DFG_WEIGHTS && dfg_node_mark(graph_node, "_dfg_constant", NULL);
	if (!runs_by_role(node->role))
		DFG_TRY(dfg_kernel_find(call, &node->run));
	node->row = node->run == dfg_elementwise_run ? dfg_kernel_row(call) : NULL;
	plan->loops |= needs_frame_info(node->role);
	plan->sleeps |= node->call->op->flags & DFG_BLOCKING;
	plan->transfers |= node->role == DFG_SEND || node->role == DFG_RECV;
	maker->first_output[r] = plan->slots;
	plan->slots += node->n_out;
	plan->uses += (uint32_t)node->n_in + node->n_out;
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
	const struct dfg_node *graph_node = &maker->selection.graph->node[edge.node];
	if (r != DFG_NONE && plan->node[r].role == DFG_SAVE)
		return DFG_ERR(
			DFG_DATA, "only a Load can read the output of node '%s' (%s)", graph_node->name, graph_node->op_name);
	if (r == DFG_NONE || edge.port < 0 || edge.port >= plan->node[r].n_out)
		return DFG_ERR(DFG_DATA, "node '%s' (%s) has no output %d", graph_node->name, graph_node->op_name, edge.port);
	*out_slot = maker->first_output[r] + (uint32_t)edge.port;
	return NULL;
}

/* A constant or a handle without control inputs is computed once. */
static void mark_preset(struct dfg_plan *plan, struct plan_node *node)
{
	bool handle = node->role == DFG_VARIABLE && !plan->session->options.copies;
	node->preset = !node->n_in && !node->n_control && (node->role == DFG_CONST || handle);
	for (int i = 0; i < node->n_out && node->preset; i++)
		plan->kind[dfg_plan_node_in(plan, node, i)] = SLOT_PRESET;
}

/*
 * The Identity of a ref is the same ref, read when its consumers run: those that wait for an update read the updated
 * value, as in TensorFlow, where the tensor shares the variable's buffer.
 */
static void forward_refs(struct dfg_plan *plan, struct plan_node *node)
{
	for (int i = 0; i < node->n_out && i < node->n_in; i++) {
		uint32_t out = dfg_plan_node_out(plan, node, i);
		if (!plan->is_ref[dfg_plan_node_in(plan, node, i)])
			continue;
		plan->kind[out] = SLOT_REF;
		plan->is_ref[out] = true;
	}
}

/* Finds the Save of a Load, by the edge that names it and carries no value. */
static struct dfg_err *find_save(struct maker *maker, struct plan_node *node, struct dfg_edge edge)
{
	const struct dfg_plan *plan = maker->plan;
	const struct dfg_node *from = &maker->selection.graph->node[edge.node];
	node->save = dfg_fed(&plan->step, edge) == DFG_NONE ? maker->selection.number[edge.node] : DFG_NONE;
	if (node->save == DFG_NONE || plan->node[node->save].role != DFG_SAVE)
		return DFG_ERR(DFG_DATA, "input 0 is '%s' (%s), must be a Save that is not fed", from->name, from->op_name);
	if (plan->node[node->save].n_in != node->n_in + 1)
		return DFG_ERR(DFG_DATA, "has %d keys, but '%s' (%s) saves under %d keys", node->n_in, from->name,
			from->op_name, plan->node[node->save].n_in - 1);
	return NULL;
}

static struct dfg_err *connect_node(struct maker *maker, uint32_t r, uint32_t *use, uint32_t *control)
{
	struct dfg_plan *plan = maker->plan;
	struct plan_node *node = &plan->node[r];
	const struct dfg_node *graph_node = &maker->selection.graph->node[node->graph_node];
	int skipped = node->role == DFG_LOAD;
	node->first = *use;
	if (skipped)
		DFG_TRY(dfg_resolved_note(find_save(maker, node, graph_node->in[0]), node->call));
	for (int i = 0; i < node->n_in; i++) {
		uint32_t *slot = &plan->slot[(*use)++];
		DFG_TRY(dfg_resolved_note(slot_of(maker, graph_node->in[i + skipped], slot), node->call));
		node->reads_ref |= plan->is_ref[*slot] && !dfg_resolved_in_is_ref(node->call, i + skipped);
	}
	for (int i = 0; i < node->n_out; i++, ++*use) {
		plan->slot[*use] = maker->first_output[r] + (uint32_t)i;
		plan->maker[plan->slot[*use]] = r;
	}
	if (node->role == DFG_IDENTITY)
		forward_refs(plan, node);
	node->first_control = *control;
	for (uint32_t i = 0; i < graph_node->n_control; i++) {
		uint32_t before = maker->selection.number[graph_node->in[graph_node->n_in + i].node];
		if (before != DFG_NONE)
			plan->control[(*control)++] = before;
	}
	node->n_control = *control - node->first_control;
	node->in_place = node->run == dfg_elementwise_run || node->call->op->flags & DFG_IN_PLACE;
	mark_preset(plan, node);
	return NULL;
}

static void mark_slots(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	for (uint32_t r = 0; r < plan->count; r++) {
		const struct dfg_resolved_node *call = &maker->call[r];
		for (int i = 0; i < call->n_out && call->out_ref; i++)
			if (dfg_resolved_out_is_ref(call, i)) {
				plan->kind[maker->first_output[r] + (uint32_t)i] = SLOT_REF;
				plan->is_ref[maker->first_output[r] + (uint32_t)i] = true;
			}
	}
	for (uint32_t i = 0; i < plan->step.n_feed; i++)
		plan->kind[plan->first_feed + i] = SLOT_FEED;
}

static struct dfg_err *allocate_nodes(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	size_t controls = 0;
	plan->count = maker->selection.count;
	plan->node = dfg_arena_zeros(&plan->arena, plan->count, sizeof *plan->node);
	maker->call = dfg_arena_zeros(&plan->arena, plan->count, sizeof *maker->call);
	maker->first_output = dfg_arena_zeros(maker->scratch, plan->count, sizeof *maker->first_output);
	for (uint32_t r = 0; r < plan->count; r++)
		controls += maker->selection.graph->node[maker->selection.node[r]].n_control;
	plan->control = dfg_arena_zeros(&plan->arena, controls, sizeof *plan->control);
	return plan->node && maker->call && maker->first_output && plan->control ? NULL
																			 : dfg_no_memory("the plan of the step");
}

static struct dfg_err *make_nodes(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	uint32_t use = 0, control = 0;
	DFG_TRY(allocate_nodes(maker));
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
		DFG_TRY(connect_node(maker, r, &use, &control));
	return NULL;
}

static void mark_indices(struct dfg_plan *plan)
{
	for (uint32_t i = 0; i < plan->uses + plan->step.n_fetch; i++) {
		uint32_t slot = i < plan->uses ? plan->slot[i] : plan->fetch[i - plan->uses];
		struct plan_node *node = slot < plan->first_feed ? &plan->node[plan->maker[slot]] : NULL;
		uint32_t own = node ? node->first + node->n_in + 1 : 0;
		if (node && node->role == DFG_MERGE && slot == plan->slot[own] && i != own)
			node->tells_index = true;
	}
}

/* Merges of shapes, which TensorFlow's gradients make, merge one another; larger values are not kept to be compared. */
static bool agrees_with_constant(const struct dfg_plan *plan, uint32_t slot)
{
	if (plan->kind[slot] == SLOT_PRESET)
		return true;
	if (slot >= plan->first_feed)
		return false;
	const struct plan_node *maker = &plan->node[plan->maker[slot]];
	return maker->role == DFG_CONST ||
		   (maker->may_agree && (maker->call->out_dtype[0] == DFG_I32 || maker->call->out_dtype[0] == DFG_I64));
}

static void mark_agreement(struct dfg_plan *plan)
{
	for (uint32_t r = 0; r < plan->count; r++) {
		struct plan_node *node = &plan->node[r];
		for (int i = 0; i < node->n_in && node->role == DFG_MERGE && !node->tells_index; i++)
			node->may_agree |= agrees_with_constant(plan, dfg_plan_node_in(plan, node, i));
	}
}

/*
 * Marks nodes that may be dead: all that follow a Switch or a Recv, except a Merge with an input that is always live.
 */
static void mark_may_die(struct dfg_plan *plan, bool *may_die)
{
	for (uint32_t r = 0; r < plan->count; r++) {
		struct plan_node *node = &plan->node[r];
		for (int i = 0; i < node->n_in; i++)
			node->may_die |= may_die[dfg_plan_node_in(plan, node, i)];
		for (uint32_t i = 0; i < node->n_control; i++)
			node->may_die |= plan->node[plan->control[node->first_control + i]].may_die;
		for (int i = 0; i < node->n_out; i++)
			may_die[dfg_plan_node_out(plan, node, i)] =
				node->may_die || node->role == DFG_SWITCH || node->role == DFG_RECV;
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

/* Infers the dtype and shape of each feed from its node alone, with unknown inputs. */
static struct dfg_err *find_feeds(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	plan->feed = dfg_arena_zeros(&plan->arena, plan->step.n_feed, sizeof *plan->feed);
	if (!plan->feed)
		return dfg_no_memory("the plan of the step");
	for (uint32_t i = 0; i < plan->step.n_feed; i++) {
		struct dfg_edge edge = plan->step.feed[i];
		const struct dfg_node *graph_node = &maker->selection.graph->node[edge.node];
		struct dfg_resolved_node call;
		DFG_TRY(dfg_node_resolve(maker->selection.graph, edge.node, maker->scratch, &call));
		if (edge.port < 0 || edge.port >= call.n_out)
			return DFG_ERR(
				DFG_DATA, "feed: node '%s' (%s) has no output %d", graph_node->name, graph_node->op_name, edge.port);
		struct dfg_inferred *fact = dfg_arena_zeros(maker->scratch, call.n_out, sizeof *fact);
		const struct dfg_inferred **in = dfg_arena_zeros(maker->scratch, call.n_in, sizeof *in);
		if (!fact || !in)
			return dfg_no_memory("the plan of the step");
		DFG_TRY(dfg_infer_node(&call, in, &plan->arena, fact));
		plan->feed[i] = fact[edge.port];
	}
	return NULL;
}

/* Runs the node now; the plan owns its outputs. */
static struct dfg_err *run_preset(struct dfg_plan *plan, struct runner *runner, const struct plan_node *node)
{
	struct dfg_tensor **at = dfg_arena_zeros(&plan->arena, (size_t)node->n_in + node->n_out, sizeof *at);
	if (!at)
		return dfg_no_memory("the plan of the step");
	for (int i = 0; i < node->n_in + node->n_out; i++)
		at[i] = &plan->preset[dfg_plan_node_in(plan, node, i)];
	return dfg_resolved_note(dfg_runner_run(runner, node, at, at + node->n_in), node->call);
}

/* A list must be created in each step: it shares memory with the elements that the step adds. */
static bool makes_variants(const struct dfg_resolved_node *call)
{
	for (int i = 0; i < call->n_out; i++)
		if (call->out_dtype[i] == DFG_VARIANT)
			return true;
	return false;
}

/* Whether a node computes the same value in every step. */
static bool is_constant(const struct dfg_plan *plan, const struct plan_node *node)
{
	const struct dfg_resolved_node *call = node->call;
	if (node->role != DFG_PLAIN || !node->n_in || !node->n_out || node->n_control ||
		call->op->flags & (DFG_STATEFUL | DFG_BLOCKING) || plan->session->options.no_opt || makes_variants(call))
		return false;
	for (int i = 0; i < node->n_in; i++) {
		const struct dfg_tensor *in = &plan->preset[dfg_plan_node_in(plan, node, i)];
		if (plan->kind[dfg_plan_node_in(plan, node, i)] != SLOT_PRESET || in->dtype == DFG_RESOURCE || !in->dtype)
			return false;
	}
	return true;
}

/* Constant folding. A node that fails may never run, so an error is left to the step. */
static void fold_node(struct dfg_plan *plan, struct runner *runner, struct plan_node *node)
{
	enum { BYTES_MOST = 1 << 22 };
	struct dfg_err *err = run_preset(plan, runner, node);
	size_t bytes = 0;
	for (int i = 0; i < node->n_out && !err; i++)
		bytes += dfg_tensor_bytes(&plan->preset[dfg_plan_node_out(plan, node, i)]);
	node->preset = !err && bytes <= BYTES_MOST;
	for (int i = 0; i < node->n_out; i++) {
		uint32_t slot = dfg_plan_node_out(plan, node, i);
		if (node->preset)
			plan->kind[slot] = SLOT_PRESET;
		else
			dfg_tensor_release(&plan->preset[slot]);
	}
	dfg_err_free(err);
}

/* A constant with control inputs, mostly a predicate's: its value is known before the step. */
static bool is_bound(const struct plan_node *node)
{
	return node->role == DFG_CONST && !node->n_in && node->n_control;
}

/* Computes constants, the handles of variables, and nodes that depend only on constants. */
static struct dfg_err *run_presets(struct dfg_plan *plan)
{
	struct runner runner = {.session = plan->session};
	struct dfg_err *err = NULL;
	for (uint32_t r = 0; r < plan->count && !err; r++)
		if (plan->node[r].preset || is_bound(&plan->node[r]))
			err = run_preset(plan, &runner, &plan->node[r]);
	for (uint32_t r = 0; r < plan->count && !err; r++)
		if (is_constant(plan, &plan->node[r]))
			fold_node(plan, &runner, &plan->node[r]);
	dfg_runner_release(&runner);
	return err;
}

/* The slot whose value this one has, before nodes that forward it. */
static uint32_t forwarded(const struct dfg_plan *plan, uint32_t slot)
{
	while (slot < plan->first_feed && plan->kind[slot] == SLOT_VALUE) {
		const struct plan_node *maker = &plan->node[plan->maker[slot]];
		const enum dfg_role role = maker->role;
		int i = 0;
		if (role == DFG_IDENTITY)
			while (dfg_plan_node_out(plan, maker, i) != slot)
				i++;
		else if (role != DFG_ENTER && role != DFG_SWITCH)
			break;
		slot = dfg_plan_node_in(plan, maker, i);
	}
	return slot;
}

static enum weights_kind weights_of(const struct dfg_plan *plan, const struct plan_node *node)
{
	const uint32_t slot = forwarded(plan, dfg_plan_node_in(plan, node, 1));
	if (plan->kind[slot] == SLOT_PRESET && !plan->is_ref[slot])
		return WEIGHTS_PRESET;
	const bool reads =
		plan->is_ref[slot] || (slot < plan->first_feed && plan->node[plan->maker[slot]].role == DFG_READ);
	return node->constant_weights && reads ? WEIGHTS_VARIABLE : WEIGHTS_VARY;
}

static void find_weights(struct dfg_plan *plan)
{
	for (uint32_t r = 0; r < plan->count; r++)
		if (plan->node[r].call->op->flags & DFG_WEIGHTS)
			plan->node[r].weights = weights_of(plan, &plan->node[r]);
}

/* The dataflow executor traces each iteration of a loop, and with no_opt is the reference for the linear one. */
static bool requires_dataflow(const struct dfg_plan *plan)
{
	const struct dfg_session_options *options = &plan->session->options;
	return options->device || options->random_schedule || plan->sleeps || plan->transfers ||
		   (plan->loops && (options->trace || options->no_opt));
}

/* Uses a schedule if there is one, unless several iterations of a loop could run in parallel. */
static struct dfg_err *choose_schedule(struct dfg_plan *plan, struct dfg_arena *scratch)
{
	bool overlaps = false;
	if (requires_dataflow(plan))
		return NULL;
	DFG_TRY(dfg_schedule_make(plan, scratch, &plan->schedule));
	if (plan->schedule && plan->loops && dfg_pool_threads(plan->session->pool) > 1)
		DFG_TRY(dfg_find_iteration_parallelism(plan, scratch, &overlaps));
	if (overlaps) {
		dfg_schedule_free(plan->schedule);
		plan->schedule = NULL;
	}
	return NULL;
}

/*
 * Finds the nodes that the session's device computes, and copies the presets that they read to it. Their kernels are chosen
 * after constants are folded, which is the host's work.
 */
static struct dfg_err *use_device(struct dfg_plan *plan)
{
	struct dfg_device *device = plan->session->options.device;
	if (!device)
		return NULL;
	plan->device_reads = dfg_arena_zeros(&plan->arena, plan->slots, sizeof *plan->device_reads);
	if (!plan->device_reads)
		return dfg_no_memory("the plan of the step");
	for (uint32_t r = 0; r < plan->count; r++) {
		struct plan_node *node = &plan->node[r];
		node->device_kernel =
			node->role == DFG_PLAIN && !node->preset ? dfg_device_kernel_of(device, node->call) : NULL;
		for (int i = 0; i < node->n_in && node->device_kernel; i++)
			plan->device_reads[dfg_plan_node_in(plan, node, i)] |= dfg_device_reads(node->device_kernel, i);
	}
	for (uint32_t slot = 0; slot < plan->slots; slot++) {
		struct dfg_tensor *preset = &plan->preset[slot], copy;
		if (!plan->device_reads[slot] || plan->kind[slot] != SLOT_PRESET || plan->is_ref[slot])
			continue;
		DFG_TRY(dfg_device_copy_in(device, preset, &copy));
		dfg_tensor_release(preset);
		*preset = copy;
	}
	return NULL;
}

static struct dfg_err *make_plan(struct maker *maker)
{
	struct dfg_plan *plan = maker->plan;
	DFG_TRY(dfg_select(&maker->selection));
	DFG_TRY(make_nodes(maker));
	DFG_TRY(find_feeds(maker));
	DFG_TRY(find_fetches(maker));
	struct dfg_session_backend *backend = plan->session->options.backend;
	if (backend) /* the checks above apply to a backend too */
		return backend->plan(backend, &plan->step, &plan->backend_plan);
	bool *may_die = dfg_arena_zeros(maker->scratch, plan->slots, sizeof *may_die);
	if (!may_die)
		return dfg_no_memory("the plan of the step");
	mark_may_die(plan, may_die);
	mark_indices(plan);
	DFG_TRY(run_presets(plan));
	DFG_TRY(use_device(plan));
	find_weights(plan);
	mark_agreement(plan);
	if (plan->loops)
		DFG_TRY(dfg_frame_info_make(plan, maker->scratch));
	DFG_TRY(choose_schedule(plan, maker->scratch));
	if (plan->schedule)
		return dfg_programs_begin(plan);
	return plan->frame_info ? NULL : dfg_frame_info_make(plan, maker->scratch);
}

struct dfg_err *dfg_plan_make(struct dfg_session *session, const struct dfg_step *step, struct dfg_plan *plan)
{
	struct dfg_arena scratch = {0};
	struct maker maker = {.plan = plan, .scratch = &scratch};
	*plan = (struct dfg_plan){.session = session};
	if (pthread_mutex_init(&plan->lock, NULL))
		return dfg_no_memory("the plan of the step");
	struct dfg_err *err = dfg_step_copy(&plan->arena, step, &plan->step);
	if (!err) {
		maker.selection = (struct selection){.graph = session->graph, .step = &plan->step, .scratch = &scratch};
		err = make_plan(&maker);
	}
	dfg_arena_release(&scratch);
	if (err)
		dfg_plan_release(plan);
	return err;
}

void dfg_plan_release(struct dfg_plan *plan)
{
	dfg_replica_release(plan->replica);
	dfg_executors_free(plan);
	dfg_programs_free(plan);
	for (uint32_t i = 0; plan->preset && i < plan->slots; i++)
		dfg_tensor_release(&plan->preset[i]);
	dfg_frame_info_free(plan->frame_info);
	dfg_schedule_free(plan->schedule);
	dfg_arena_release(&plan->arena);
	pthread_mutex_destroy(&plan->lock);
}
