#include "remote/coordinator_private.h"

#include "formats/encode.h"
#include "formats/pbtxt.h"
#include "remote/batch_rows.h"

#include <string.h>

/* Finds the worker of each node of the graph, and of each _Send. */
static struct dfg_err *find_homes(struct dfg_coordinator *coordinator)
{
	const struct dfg_graph *graph = coordinator->graph;
	const struct dfg_parts *parts = coordinator->parts;
	coordinator->home = dfg_arena_zeros(&coordinator->arena, graph->count, sizeof *coordinator->home);
	coordinator->send = dfg_arena_zeros(&coordinator->arena, parts->transfers, sizeof *coordinator->send);
	if (!coordinator->home || !coordinator->send)
		return dfg_no_memory("a step on the workers");
	for (uint32_t n = 0; n < graph->count; n++)
		coordinator->home[n].worker = DFG_NONE;
	for (uint32_t i = 0; i < parts->transfers; i++)
		coordinator->send[i].worker = DFG_NONE;
	for (uint32_t w = 0; w < parts->parts; w++)
		for (uint32_t n = 0; n < parts->part[w].count; n++) {
			const struct dfg_node *node = &parts->part[w].node[n];
			uint32_t whole = dfg_graph_find(graph, node->name);
			int64_t number;
			if (whole != DFG_NONE)
				coordinator->home[whole] = (struct worker_node){w, n};
			if (dfg_node_role(node) == DFG_SEND && dfg_node_mark(node, "_dfg_edge", &number) && number >= 0 &&
				number < parts->transfers)
				coordinator->send[number] = (struct worker_node){w, n};
		}
	for (uint32_t n = 0; n < graph->count; n++)
		if (coordinator->home[n].worker == DFG_NONE)
			return DFG_ERR(DFG_BUG, "internal error: node '%s' is in no part of the plan", graph->node[n].name);
	return NULL;
}

/* A growing buffer for the serialized graph. */
struct bytes {
	uint8_t *at;
	size_t count, capacity;
};

static struct dfg_err *append(void *arg, struct dfg_encoder *encoder)
{
	struct bytes *bytes = arg;
	DFG_TRY(dfg_encoder_check(encoder));
	if (!dfg_reserve(&bytes->at, &bytes->capacity, bytes->count + encoder->length, 1))
		return dfg_no_memory("a step on the workers");
	dfg_encoder_copy(encoder, bytes->at + bytes->count);
	bytes->count += encoder->length;
	dfg_encoder_empty(encoder);
	return NULL;
}

struct dfg_err *dfg_coordinator_ask_part(struct dfg_coordinator *coordinator, uint32_t worker)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_PART};
	struct bytes bytes = {0};
	struct dfg_err *err = dfg_graphdef_parts(&coordinator->parts->part[worker % coordinator->width], append, &bytes);
	if (!err) {
		struct dfg_tensor tensor = {.dtype = DFG_U8, .shape = DFG_SHAPE_VECTOR((int64_t)bytes.count), .data = bytes.at};
		dfg_packet_put_tensor(&packet, &tensor);
		dfg_coordinator_ask(coordinator, worker, &packet);
	}
	dfg_free(bytes.at);
	return err;
}

static struct dfg_err *ask_parts(struct dfg_coordinator *coordinator)
{
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		if (dfg_coordinator_takes_part(coordinator, i))
			DFG_TRY(dfg_coordinator_ask_part(coordinator, i));
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "sending the graph"));
	dfg_coordinator_drop_answers(coordinator);
	return NULL;
}

struct dfg_err *dfg_coordinator_load(
	struct dfg_coordinator *coordinator, const struct dfg_graph *graph, const struct dfg_parts *parts)
{
	struct dfg_err *err;
	if (parts->parts != coordinator->width)
		return DFG_ERR(
			DFG_DATA, "the plan has %u parts, but a replica has %u workers", parts->parts, coordinator->width);
	dfg_coordinator_drop_plans(coordinator);
	dfg_arena_release(&coordinator->arena);
	coordinator->graph = graph;
	coordinator->parts = parts;
	DFG_TRY(find_homes(coordinator));
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		coordinator->replica[r].version = coordinator->version + 1;
	coordinator->version++;
	do
		err = ask_parts(coordinator);
	while (dfg_coordinator_continues(coordinator, &err));
	return err;
}

/* The name of a transfer's tensor, from its _Send. */
static struct dfg_string tensor_of(const struct dfg_coordinator *coordinator, uint64_t number)
{
	struct worker_node at =
		number < coordinator->parts->transfers ? coordinator->send[number] : (struct worker_node){DFG_NONE, 0};
	const struct dfg_attr *name =
		at.worker == DFG_NONE ? NULL : dfg_node_attr(&coordinator->parts->part[at.worker].node[at.node], "tensor_name");
	return name ? name->value.s : (struct dfg_string){"", 0};
}

/* A time of a worker whose clock is `ahead` of this one; 0 stays 0. */
static uint64_t get_time(struct dfg_packet *answer, int64_t ahead)
{
	uint64_t ns = dfg_packet_get(answer);
	return ns ? ns - (uint64_t)ahead : 0;
}

static void get_event(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_packet *answer)
{
	struct dfg_coordinator_event all = {.worker = worker, .step = coordinator->step};
	struct dfg_trace_event event = {0};
	int64_t iteration[DFG_LINK_DEPTH];
	event.node = dfg_packet_get_text(answer);
	event.op = dfg_packet_get_text(answer);
	event.frame = dfg_packet_get_text(answer);
	uint64_t depth = dfg_packet_get(answer);
	for (uint64_t i = 0; i < depth && !answer->malformed; i++) {
		int64_t at = (int64_t)dfg_packet_get(answer);
		if (i < DFG_LINK_DEPTH)
			iteration[event.depth++] = at;
	}
	event.iteration = iteration;
	event.thread = (int)dfg_packet_get(answer);
	event.dead = dfg_packet_get_bool(answer);
	event.sends = dfg_packet_get_bool(answer);
	event.transfer = dfg_packet_get_u32(answer);
	event.bucket = dfg_packet_get_u32(answer);
	pthread_mutex_lock(&coordinator->lock);
	int64_t ahead = coordinator->state[worker].ahead_ns;
	pthread_mutex_unlock(&coordinator->lock);
	event.begin_ns = get_time(answer, ahead);
	event.end_ns = get_time(answer, ahead);
	event.sent_ns = get_time(answer, ahead);
	event.reduced_ns = get_time(answer, ahead);
	all.node = event;
	if (event.transfer)
		all.tensor = tensor_of(coordinator, event.transfer - 1);
	if (coordinator->options.trace && !answer->malformed)
		coordinator->options.trace(coordinator->options.trace_arg, &all);
}

static void add_stats(struct dfg_stats *all, struct dfg_packet *answer)
{
	all->peak_bytes += dfg_packet_get(answer);
	all->live_bytes += dfg_packet_get(answer);
	all->packed_bytes += dfg_packet_get(answer);
	uint64_t iterations = dfg_packet_get(answer);
	all->iterations = iterations > all->iterations ? iterations : all->iterations;
	all->dead_tokens += dfg_packet_get(answer);
	all->saves += dfg_packet_get(answer);
	uint64_t frames = dfg_packet_get(answer);
	all->peak_frames = frames > all->peak_frames ? frames : all->peak_frames;
	all->left += dfg_packet_get(answer);
}

static void get_waits(struct dfg_coordinator *coordinator, uint32_t worker, struct dfg_packet *answer)
{
	uint32_t peers = dfg_packet_get_count(answer, 5 * sizeof(uint64_t));
	for (uint32_t i = 0; i < peers; i++) {
		uint64_t from = dfg_packet_get(answer), waits = dfg_packet_get(answer), ns = dfg_packet_get(answer);
		uint64_t longest_ns = dfg_packet_get(answer), longest = dfg_packet_get(answer);
		if (from >= coordinator->options.workers) {
			answer->malformed = true;
			return;
		}
		struct dfg_traffic *traffic = &coordinator->traffic[from * coordinator->options.workers + worker];
		traffic->waits += waits;
		traffic->waited_ns += ns;
		if (longest_ns < traffic->longest_ns)
			continue;
		traffic->longest_ns = longest_ns;
		traffic->longest = tensor_of(coordinator, longest);
	}
}

static struct dfg_err *get_streams(struct dfg_coordinator *coordinator, struct dfg_packet *answer)
{
	uint32_t count = dfg_packet_get_count(answer, sizeof(uint64_t) + 1);
	for (uint32_t i = 0; i < count; i++)
		DFG_TRY(dfg_coordinator_note_stream(coordinator, dfg_packet_get_text(answer)));
	return NULL;
}

/* Whether the worker runs nodes of the plan. */
static bool has_work(const struct dfg_coordinator *coordinator, const struct step_plan *plan, uint32_t worker)
{
	return plan && plan->worker_step[worker % coordinator->width].runs;
}

/* Takes a worker's results; a fetch goes to its index in the whole step. fetches NULL: none were sent. */
static struct dfg_err *take_share(
	struct dfg_coordinator *coordinator, uint32_t worker, struct step_plan *plan, struct dfg_tensor *fetches)
{
	struct dfg_packet *answer = &coordinator->state[worker].answer;
	struct dfg_stats none;
	add_stats(plan ? &plan->stats : &none, answer);
	for (uint32_t i = 0; i < coordinator->options.workers; i++) {
		struct dfg_traffic *traffic = &coordinator->traffic[worker * coordinator->options.workers + i];
		traffic->messages += dfg_packet_get(answer);
		traffic->bytes += dfg_packet_get(answer);
	}
	get_waits(coordinator, worker, answer);
	coordinator->state[worker].stale = dfg_packet_get(answer);
	coordinator->state[worker].moving_ns = dfg_packet_get(answer);
	coordinator->state[worker].waited_ns = dfg_packet_get(answer);
	const struct worker_step *worker_step = plan ? &plan->worker_step[worker % coordinator->width] : NULL;
	for (uint32_t i = 0; fetches && has_work(coordinator, plan, worker) && i < worker_step->step.n_fetch; i++)
		dfg_packet_get_tensor(answer, &fetches[worker_step->fetch[i]]);
	uint64_t events = dfg_packet_get(answer);
	for (uint64_t i = 0; i < events && !answer->malformed; i++)
		get_event(coordinator, worker, answer);
	DFG_TRY(get_streams(coordinator, answer));
	return dfg_err_note(dfg_packet_check(answer), "%s", coordinator->options.peer[worker].name);
}

static bool is_update(const struct plan_run *run)
{
	return run->sharded && !run->shard;
}

/* An update also ends the step of workers that have drawn random numbers, or that have only read a server's variables. */
static bool runs_on(const struct dfg_coordinator *coordinator, const struct step_plan *plan, const struct plan_run *run,
	uint32_t worker)
{
	bool ends = is_update(run) && (!plan || coordinator->streams || coordinator->options.servers);
	return run->feeds[worker / coordinator->width] && (ends || !plan || has_work(coordinator, plan, worker));
}

/* Whether the update run is another replica's: the variables are those of all. */
static bool is_follower(const struct dfg_coordinator *coordinator, const struct plan_run *run, uint32_t worker)
{
	bool lead = worker / coordinator->width == dfg_coordinator_lead(coordinator);
	return is_update(run) && coordinator->options.servers && !lead && !run->sharded->only;
}

static void put_bits(struct dfg_packet *packet, const bool *bit, uint32_t count)
{
	uint32_t words = bit ? (count + 63) / 64 : 0;
	dfg_packet_put(packet, words);
	for (uint32_t i = 0; i < words; i++) {
		uint64_t word = 0;
		for (uint32_t k = 0; k < 64 && i * 64 + k < count; k++)
			word |= (uint64_t)bit[i * 64 + k] << k;
		dfg_packet_put(packet, word);
	}
}

/* Writes whose contributions count. */
static void put_taken(
	const struct dfg_coordinator *coordinator, const struct dfg_group_step *step, struct dfg_packet *packet)
{
	dfg_packet_put(packet, step->holds);
	dfg_packet_put(packet, step->partial);
	dfg_packet_put(packet, step->turn);
	put_bits(packet, step->taken, step->shards);
	put_bits(packet, step->holds ? coordinator->absent : NULL, coordinator->options.replicas);
}

/* Writes the step of shards that a run is of. */
static void put_shards(
	const struct dfg_coordinator *coordinator, const struct plan_run *run, uint32_t worker, struct dfg_packet *packet)
{
	uint32_t replica = worker / coordinator->width;
	bool ends = is_follower(coordinator, run, worker);
	dfg_packet_put(packet, run->fetches[replica] != NULL);
	dfg_packet_put(packet, run->sharded ? run->sharded->number : 0);
	if (!run->sharded)
		return;
	dfg_packet_put(packet, run->sharded->shards);
	dfg_packet_put(packet, (uint64_t)run->sharded->batch);
	put_taken(coordinator, run->sharded, packet);
	dfg_packet_put(packet, run->waits   ? DFG_RUN_WAITS
						   : run->shard ? DFG_RUN_COMPUTES
						   : ends       ? DFG_RUN_ENDS
										: DFG_RUN_UPDATES);
	dfg_packet_put(packet, run->shard ? run->shard[replica] : 0);
	bool delayed = run->shard && !dfg_coordinator_is_lane(coordinator, worker);
	const struct dfg_emulation *emulation = &coordinator->options.checks.emulation;
	dfg_packet_put(packet, delayed ? dfg_emulation_delay(emulation, replica, run->sharded->number) : 0);
	dfg_packet_put(packet, run->shard ? 0 : coordinator->streams);
	for (size_t i = 0; i < coordinator->streams && !run->shard; i++)
		dfg_packet_put_text(packet, coordinator->stream[i]);
}

static void ask_run(struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run,
	uint64_t step, uint32_t worker)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_RUN};
	uint32_t replica = worker / coordinator->width;
	bool works = has_work(coordinator, plan, worker);
	const struct worker_step *worker_step = works ? &plan->worker_step[worker % coordinator->width] : NULL;
	dfg_packet_put(&packet, step);
	dfg_packet_put(&packet, works ? plan->number[worker] : DFG_NONE);
	put_shards(coordinator, run, worker, &packet);
	for (uint32_t i = 0; works && i < worker_step->step.n_feed; i++)
		dfg_rows_put(&packet, &run->feeds[replica][worker_step->feed[i]], worker);
	dfg_coordinator_ask(coordinator, worker, &packet);
}

/* The traffic of the runs of one sharded step is counted together. */
static void begin_traffic(struct dfg_coordinator *coordinator, const struct plan_run *run)
{
	size_t workers = coordinator->options.workers;
	uint64_t sharded = run->sharded ? run->sharded->number : 0;
	if (!sharded || sharded != coordinator->sharded)
		memset(coordinator->traffic, 0, workers * workers * sizeof *coordinator->traffic);
	coordinator->sharded = sharded;
}

/* Names the shard whose compute run failed. Takes err. */
static struct dfg_err *explain(
	struct dfg_coordinator *coordinator, const struct step_plan *plan, const struct plan_run *run, struct dfg_err *err)
{
	uint32_t worker = coordinator->blamed;
	if (worker == DFG_NONE || err->code != DFG_DATA)
		return err;
	if (plan)
		err = dfg_coordinator_explain(coordinator, plan, worker, err);
	uint32_t replica = worker / coordinator->width;
	return run->shard ? dfg_err_note(err, "replica %u, shard %u", replica, run->shard[replica]) : err;
}

static void clear_fetches(
	const struct dfg_coordinator *coordinator, const struct step_plan *plan, const struct plan_run *run, bool release)
{
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		for (uint32_t i = 0; plan && run->fetches[r] && i < plan->n_fetch; i++) {
			if (release)
				dfg_tensor_release(&run->fetches[r][i]);
			run->fetches[r][i] = (struct dfg_tensor){0};
		}
}

/* Whether a replica has done the run although workers of others are lost. */
static bool survives(const struct dfg_coordinator *coordinator, const struct plan_run *run, const struct dfg_err *err)
{
	bool done = false;
	for (uint32_t r = 0; r < coordinator->options.replicas; r++)
		done |= coordinator->replica[r].done && run->feeds[r];
	return done && !run->shard && err->code == DFG_UNAVAILABLE && dfg_coordinator_is_elastic(coordinator);
}

struct dfg_err *dfg_coordinator_take_shares(
	struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run)
{
	struct dfg_err *err = NULL;
	if (plan)
		plan->stats = (struct dfg_stats){0};
	begin_traffic(coordinator, run);
	clear_fetches(coordinator, plan, run, false);
	for (uint32_t w = 0; w < coordinator->options.workers && !err; w++)
		if (runs_on(coordinator, plan, run, w) && coordinator->replica[w / coordinator->width].done)
			err = take_share(coordinator, w, plan, run->fetches[w / coordinator->width]);
	if (err)
		clear_fetches(coordinator, plan, run, true);
	return err;
}

void dfg_coordinator_ask_runs(
	struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run, uint64_t step)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (runs_on(coordinator, plan, run, w))
			ask_run(coordinator, plan, run, step, w);
}

struct dfg_err *dfg_coordinator_run_on(
	struct dfg_coordinator *coordinator, struct step_plan *plan, const struct plan_run *run, struct dfg_err **out_lost)
{
	uint64_t step = ++coordinator->step;
	*out_lost = NULL;
	dfg_coordinator_ask_runs(coordinator, plan, run, step);
	if (run->shard)
		dfg_coordinator_begin_compute(coordinator);
	struct dfg_err *err = run->sharded && run->sharded->holds ? dfg_coordinator_quorum(coordinator, step, run)
															  : dfg_coordinator_outcome(coordinator, step, run->spread);
	if (run->shard)
		dfg_coordinator_end_compute(coordinator);
	if (err && !survives(coordinator, run, err)) {
		dfg_coordinator_drop_answers(coordinator);
		return explain(coordinator, plan, run, err);
	}
	*out_lost = err;
	err = dfg_coordinator_take_shares(coordinator, plan, run);
	dfg_coordinator_drop_answers(coordinator);
	if (err) {
		dfg_err_free(*out_lost);
		*out_lost = NULL;
	}
	return err;
}

struct dfg_reduced dfg_coordinator_reduced(const struct dfg_coordinator *coordinator, uint32_t worker)
{
	const struct worker_state *state = &coordinator->state[worker];
	return (struct dfg_reduced){state->moving_ns, state->waited_ns};
}

uint64_t dfg_coordinator_stale(const struct dfg_coordinator *coordinator)
{
	uint64_t stale = 0;
	for (uint32_t i = 0; i < coordinator->options.workers; i++)
		stale += coordinator->state[i].stale + coordinator->state[i].stale_before;
	return stale;
}

uint64_t dfg_coordinator_reads_checked(const struct dfg_coordinator *coordinator)
{
	return coordinator->reads_checked;
}

void dfg_coordinator_stats(struct dfg_session_backend *backend, uint32_t plan, struct dfg_stats *out_stats)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	pthread_mutex_lock(&coordinator->request_lock);
	*out_stats = coordinator->plan[plan].stats;
	pthread_mutex_unlock(&coordinator->request_lock);
}

struct dfg_traffic dfg_coordinator_traffic(const struct dfg_coordinator *coordinator, uint32_t from, uint32_t to)
{
	return coordinator->traffic[from * coordinator->options.workers + to];
}

/* Sends one request to each worker of the lead that has some of the variables. */
static void ask_variables(
	struct dfg_coordinator *coordinator, const struct dfg_variable_ref *refs, uint32_t count, uint32_t part)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_VARIABLES};
	uint32_t asked = 0;
	for (uint32_t i = 0; i < count; i++)
		asked += coordinator->home[refs[i].node].worker == part;
	dfg_packet_put(&packet, asked);
	for (uint32_t i = 0; i < count; i++)
		if (coordinator->home[refs[i].node].worker == part)
			dfg_packet_put_text(&packet, refs[i].name);
	if (asked)
		dfg_coordinator_ask(coordinator, dfg_coordinator_lead_worker(coordinator, part), &packet);
	else
		dfg_packet_release(&packet);
}

static struct dfg_err *variables(struct dfg_coordinator *coordinator, const struct dfg_variable_ref *refs,
	uint32_t count, struct dfg_variable_fact *out_facts)
{
	for (uint32_t part = 0; part < coordinator->width; part++)
		ask_variables(coordinator, refs, count, part);
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	struct dfg_err *err = NULL;
	for (uint32_t i = 0; i < count && !err; i++) {
		uint32_t worker = dfg_coordinator_lead_worker(coordinator, coordinator->home[refs[i].node].worker);
		struct dfg_packet *answer = &coordinator->state[worker].answer;
		uint64_t dtype = dfg_packet_get(answer);
		out_facts[i].dtype = dtype < DFG_DTYPES ? (enum dfg_dtype)dtype : DFG_NO_DTYPE;
		dfg_packet_get_shape(answer, &out_facts[i].shape);
		out_facts[i].set = dfg_packet_get_bool(answer);
		err = dfg_packet_check(answer);
	}
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

struct dfg_err *dfg_coordinator_variables(struct dfg_session_backend *backend, const struct dfg_variable_ref *refs,
	uint32_t count, struct dfg_variable_fact *out_facts)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct dfg_err *err;
	pthread_mutex_lock(&coordinator->request_lock);
	do
		err = variables(coordinator, refs, count, out_facts);
	while (dfg_coordinator_continues(coordinator, &err));
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

static struct dfg_err *read_variable(
	struct dfg_coordinator *coordinator, const struct dfg_variable_ref *ref, struct dfg_tensor *out_tensor)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_READ};
	uint32_t worker = dfg_coordinator_lead_worker(coordinator, coordinator->home[ref->node].worker);
	dfg_packet_put_text(&packet, ref->name);
	dfg_coordinator_ask(coordinator, worker, &packet);
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	dfg_packet_get_tensor(&coordinator->state[worker].answer, out_tensor);
	struct dfg_err *err = dfg_packet_check(&coordinator->state[worker].answer);
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

struct dfg_err *dfg_coordinator_read(
	struct dfg_session_backend *backend, const struct dfg_variable_ref *ref, struct dfg_tensor *out_tensor)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct dfg_err *err;
	pthread_mutex_lock(&coordinator->request_lock);
	do
		err = read_variable(coordinator, ref, out_tensor);
	while (dfg_coordinator_continues(coordinator, &err));
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}

/* If replicas may be lost, all get the value; else the others get those of replica 0 before the next compute run. */
static struct dfg_err *assign_variable(
	struct dfg_coordinator *coordinator, const struct dfg_variable_ref *ref, const struct dfg_tensor *tensor)
{
	uint32_t part = coordinator->home[ref->node].worker;
	bool elastic = dfg_coordinator_is_elastic(coordinator);
	for (uint32_t r = 0; r < coordinator->options.replicas; r++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_ASSIGN};
		if (elastic ? !coordinator->replica[r].member : r != dfg_coordinator_lead(coordinator))
			continue;
		dfg_packet_put_text(&packet, ref->name);
		dfg_packet_put_tensor(&packet, tensor);
		dfg_coordinator_ask(coordinator, r * coordinator->width + part, &packet);
	}
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	dfg_coordinator_drop_answers(coordinator);
	return NULL;
}

struct dfg_err *dfg_coordinator_assign(
	struct dfg_session_backend *backend, const struct dfg_variable_ref *ref, struct dfg_tensor *tensor)
{
	struct dfg_coordinator *coordinator = (struct dfg_coordinator *)backend;
	struct dfg_err *err;
	pthread_mutex_lock(&coordinator->request_lock);
	coordinator->replica[dfg_coordinator_lead(coordinator)].version = ++coordinator->version;
	do
		err = assign_variable(coordinator, ref, tensor);
	while (dfg_coordinator_continues(coordinator, &err));
	dfg_tensor_release(tensor);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}
