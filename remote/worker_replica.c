#include "remote/worker_private.h"

#include "lib/base/crc32c.h"

/* A worker of a replica: the runs of its shards, the group of its part, and the state of replica 0. */

/* The replicas that reduce with this worker: with parameter servers, none of them but the lanes of its server. */
static uint32_t group_size(const struct dfg_worker *worker)
{
	bool alone = worker->config.async || (worker->config.servers && !dfg_worker_is_lane(worker));
	return alone ? 1 : worker->config.replicas;
}

struct dfg_err *dfg_worker_make_group(struct dfg_worker *worker)
{
	struct dfg_group *group;
	uint32_t width = dfg_worker_width(worker), replicas = group_size(worker);
	const struct dfg_link **link = dfg_arena_zeros(&worker->arena, replicas, sizeof(struct dfg_link *));
	if (!link)
		return dfg_no_memory("the group of replicas");
	for (uint32_t r = 0; r < replicas; r++)
		link[r] = worker->link[r * width + worker->config.self % width];
	DFG_TRY(dfg_group_new(
		link, replicas > 1 ? dfg_worker_replica(worker) : 0, replicas, worker->config.session.denormals, &group));
	dfg_group_use(group, worker->config.algorithm);
	atomic_store(&worker->group, group);
	return NULL;
}

struct dfg_err *dfg_worker_make_exchange(struct dfg_worker *worker)
{
	struct dfg_row_exchange *exchange;
	const struct dfg_link **link = dfg_arena_zeros(&worker->arena, worker->config.workers, sizeof(struct dfg_link *));
	if (!link)
		return dfg_no_memory("the exchange of rows");
	for (uint32_t i = 0; i < worker->config.workers; i++)
		link[i] = worker->link[i];
	DFG_TRY(dfg_row_exchange_new(link, worker->config.self, worker->config.workers, &exchange));
	atomic_store(&worker->exchange, exchange);
	return NULL;
}

static int64_t bucket_of(const struct dfg_node *node)
{
	const struct dfg_attr *bucket = dfg_node_attr(node, "bucket");
	return bucket && bucket->kind == DFG_ATTR_INT ? bucket->value.i : 0;
}

/* The bucket that a node contributes to; false: not all of its shapes are known. */
static bool find_layout(struct dfg_worker *worker, const struct dfg_node *node, struct dfg_bucket_layout *out_layout)
{
	struct dfg_shape *shape = dfg_arena_zeros(&worker->part_arena, node->n_in, sizeof *shape);
	bool known =
		shape && node->n_in && !dfg_node_attr(node, "table"); /* the number of rows differs from step to step */
	for (uint32_t i = 0; i < node->n_in && known; i++) {
		const struct dfg_inferred *fact = dfg_facts_of(&worker->facts, node->in[i]);
		known = dfg_shape_known(&fact->shape);
		shape[i] = fact->shape;
		out_layout->dtype = fact->dtype;
	}
	const struct dfg_attr *reduce = dfg_node_attr(node, "reduce");
	out_layout->is_sum = reduce && reduce->kind == DFG_ATTR_STRING && reduce->value.s.length == 3;   /* "sum" */
	out_layout->is_share = reduce && reduce->kind == DFG_ATTR_STRING && reduce->value.s.length == 5; /* "share" */
	known &= !reduce || reduce->kind != DFG_ATTR_STRING || reduce->value.s.length != 6; /* "adasum", of whole tensors */
	out_layout->number = (uint32_t)bucket_of(node);
	out_layout->n = node->n_in;
	out_layout->shape = shape;
	return known;
}

struct dfg_err *dfg_worker_share_memory(struct dfg_worker *worker)
{
	const struct dfg_graph *part = &worker->part;
	worker->parts++;
	if (!worker->config.shared || group_size(worker) < 2)
		return NULL;
	struct dfg_bucket_layout *layout = dfg_arena_zeros(&worker->part_arena, part->count, sizeof *layout);
	size_t count = 0;
	if (!layout)
		return dfg_no_memory("shared memory");
	for (uint32_t n = 0; n < part->count; n++) {
		const struct dfg_node *node = &part->node[n];
		if (!node->op || !(node->op->flags & DFG_CONTRIBUTES))
			continue;
		if (find_layout(worker, node, &layout[count]))
			count++;
		else if (worker->config.algorithm == DFG_ALGORITHM_SHM)
			return DFG_ERR(DFG_DATA,
				"node '%s' (%s) reduces a value whose shape is not known before the run, which --algorithm shm "
				"requires; give --algorithm auto",
				node->name, node->op_name);
	}
	return dfg_group_lay_out(worker->group, worker->parts, worker->config.shards, layout, count);
}

void dfg_worker_leave_group(struct dfg_worker *worker)
{
	if (worker->joined)
		dfg_group_end(worker->group);
	worker->joined = 0;
}

struct dfg_sent dfg_worker_sent(struct dfg_worker *worker, uint32_t to)
{
	struct dfg_sent sent;
	uint32_t width = dfg_worker_width(worker);
	dfg_rendezvous_sent(worker->rendezvous, to, &sent);
	if (worker->exchange) {
		struct dfg_rows_sent rows = dfg_row_exchange_sent(worker->exchange, to);
		sent.messages += rows.messages;
		sent.bytes += rows.bytes;
	}
	if (to % width != worker->config.self % width || to / width >= group_size(worker))
		return sent;
	struct dfg_group_sent reduced = dfg_group_sent(worker->group, to / width);
	sent.messages += reduced.messages;
	sent.bytes += reduced.bytes;
	return sent;
}

/* A list of bits, of which there must be `count`; NULL: there is none. */
static struct dfg_err *get_bits(struct dfg_packet *request, struct dfg_arena *scratch, uint32_t count, bool **out_bit)
{
	uint32_t words = dfg_packet_get_count(request, sizeof(uint64_t));
	*out_bit = NULL;
	if (!words)
		return NULL;
	if (words != (count + 63) / 64)
		return DFG_ERR(DFG_PROTOCOL, "a step selects shards by a bit mask of %u words, which does not fit %u shards",
			words, count);
	bool *bit = *out_bit = dfg_arena_zeros(scratch, (size_t)words * 64, sizeof *bit);
	if (!bit)
		return dfg_no_memory("the group of replicas");
	for (uint32_t i = 0; i < words; i++) {
		uint64_t word = dfg_packet_get(request);
		for (uint32_t k = 0; k < 64; k++)
			bit[i * 64 + k] = word >> k & 1;
	}
	return NULL;
}

static struct dfg_err *get_taken(
	const struct dfg_worker *worker, struct dfg_packet *request, struct dfg_arena *scratch, struct sharded_run *out_run)
{
	out_run->holds = dfg_packet_get_bool(request);
	out_run->partial = dfg_packet_get_bool(request);
	out_run->turn = (uint32_t)dfg_packet_get_below(request, worker->config.replicas);
	DFG_TRY(get_bits(request, scratch, out_run->shards, &out_run->taken));
	return get_bits(request, scratch, worker->config.replicas, &out_run->absent);
}

struct dfg_err *dfg_worker_get_shards(
	const struct dfg_worker *worker, struct dfg_packet *request, struct dfg_arena *scratch, struct sharded_run *out_run)
{
	*out_run = (struct sharded_run){.wants_fetches = dfg_packet_get_bool(request)};
	out_run->step = dfg_packet_get(request);
	if (!out_run->step)
		return dfg_packet_check(request);
	out_run->shards = dfg_packet_get_u32(request);
	out_run->batch = (int64_t)dfg_packet_get(request);
	DFG_TRY(get_taken(worker, request, scratch, out_run));
	enum dfg_run_phase phase = (enum dfg_run_phase)dfg_packet_get_below(request, DFG_RUN_PHASES);
	out_run->computes = phase == DFG_RUN_COMPUTES;
	out_run->waits = phase == DFG_RUN_WAITS;
	out_run->ends = phase == DFG_RUN_ENDS;
	out_run->shard = dfg_packet_get_u32(request);
	out_run->delay_ns = dfg_packet_get(request);
	out_run->streams = dfg_packet_get_count(request, sizeof(uint64_t) + 1);
	out_run->stream = dfg_arena_zeros(scratch, out_run->streams, sizeof(char *));
	if (!out_run->stream)
		return dfg_no_memory("the group of replicas");
	for (uint32_t i = 0; i < out_run->streams; i++)
		out_run->stream[i] = dfg_packet_get_text(request);
	DFG_TRY(dfg_packet_check(request));
	if (!out_run->shards || out_run->shards > DFG_SHARDS_MOST || out_run->batch < 1 ||
		out_run->shard >= out_run->shards)
		return DFG_ERR(DFG_PROTOCOL, "a step names shard number %u, but the number of shards is %u", out_run->shard,
			out_run->shards);
	return NULL;
}

static struct dfg_err *advance(struct dfg_worker *worker, const struct sharded_run *run)
{
	struct dfg_state *state = dfg_session_state(worker->session);
	if (dfg_worker_is_lane(worker) && dfg_worker_replica(worker) && !worker->config.async)
		return NULL; /* the first lane does it for all */
	for (uint32_t i = 0; i < run->streams; i++) {
		struct dfg_variable *position;
		uint64_t before;
		DFG_TRY(dfg_state_variable(state, run->stream[i], DFG_U64, &DFG_SHAPE_SCALAR, &position));
		DFG_TRY(dfg_variable_advance(position, DFG_GROUP_STRIDE, &before));
	}
	return NULL;
}

/* The buckets whose tickets are fed must be complete before the first variable is written. */
static struct dfg_err *wait_for_buckets(
	struct dfg_worker *worker, const struct planned *planned, const struct dfg_tensor *feeds)
{
	for (uint32_t i = 0; i < planned->n_feed; i++) {
		if (!planned->ticket[i])
			continue;
		bool fits = feeds[i].dtype == DFG_I64 && !feeds[i].shape.rank && *(const int64_t *)feeds[i].data >= 0 &&
					*(const int64_t *)feeds[i].data < UINT32_MAX;
		if (!fits)
			return DFG_ERR(
				DFG_PROTOCOL, "the graph's list of the order of all-reduces has an entry that is not a number");
		DFG_TRY(
			dfg_group_wait(worker->group, (uint32_t) * (const int64_t *)feeds[i].data, worker->config.session.timeout));
	}
	return NULL;
}

static struct dfg_err *join(struct dfg_worker *worker, const struct sharded_run *run)
{
	const struct dfg_group_step step = {.number = run->step,
		.shards = run->shards,
		.batch = run->batch,
		.taken = run->holds ? NULL : run->taken,
		.holds = run->holds,
		.partial = run->partial,
		.turn = run->turn};
	DFG_TRY(dfg_group_join(worker->group, &step));
	worker->joined = run->step;
	return NULL;
}

struct dfg_err *dfg_worker_begin_shards(struct dfg_worker *worker, const struct planned *planned,
	const struct sharded_run *run, const struct dfg_tensor *feeds)
{
	if (worker->joined != run->step)
		dfg_worker_leave_group(worker);
	if (!run->step)
		return NULL;
	if (!worker->joined)
		DFG_TRY(join(worker, run));
	if (run->computes) {
		const struct dfg_shard shard = dfg_shard_of(run->shard, run->shards, run->batch);
		dfg_group_enter(worker->group, &shard);
		dfg_state_use_copies(dfg_session_state(worker->session), run->partial && dfg_worker_is_lane(worker));
		return run->delay_ns ? dfg_worker_delay(worker, run->delay_ns) : NULL;
	}
	if (run->holds)
		DFG_TRY(dfg_group_take(worker->group, run->taken, run->absent));
	if (planned->plan)
		DFG_TRY(wait_for_buckets(worker, planned, feeds));
	if (run->waits)
		return NULL;
	if (dfg_worker_width(worker) == 1) /* else the update needs the replica's other workers */
		DFG_TRY(dfg_worker_commit(worker));
	return advance(worker, run);
}

void dfg_worker_end_shards(struct dfg_worker *worker, const struct sharded_run *run)
{
	if (run->computes) {
		dfg_group_enter(worker->group, NULL);
		dfg_state_use_copies(dfg_session_state(worker->session), false);
	} else if (!run->waits)
		dfg_worker_leave_group(worker);
}

void dfg_worker_put_streams(const struct dfg_worker *worker, const struct sharded_run *run, struct dfg_packet *answer)
{
	uint64_t count = 0;
	while (run->computes && dfg_group_stream(worker->group, count))
		count++;
	dfg_packet_put(answer, count);
	for (uint64_t i = 0; i < count; i++)
		dfg_packet_put_text(answer, dfg_group_stream(worker->group, i));
}

/* Contributions to the step in progress are dropped. */
struct dfg_err *dfg_worker_epoch(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)answer;
	uint64_t epoch = dfg_packet_get(request);
	uint32_t members = dfg_packet_get_count(request, sizeof(uint64_t));
	struct dfg_arena scratch = {0};
	uint32_t *member = dfg_arena_zeros(&scratch, members, sizeof *member);
	for (uint32_t i = 0; i < members && member; i++)
		member[i] = dfg_packet_get_u32(request);
	struct dfg_err *err = member ? dfg_packet_check(request) : dfg_no_memory("an epoch");
	dfg_worker_leave_group(worker);
	if (!err)
		err = dfg_group_regroup(worker->group, epoch, member, members);
	dfg_arena_release(&scratch);
	return err;
}

/* The link of the old one is closed, and no step is in progress: the group drops what it sent. */
static struct dfg_err *link_again(
	struct dfg_worker *worker, uint32_t number, const struct dfg_peer *peer, double seconds)
{
	uint32_t width = dfg_worker_width(worker);
	bool known =
		worker->options.relink && number < worker->config.workers && number / width != dfg_worker_replica(worker);
	if (!known)
		return DFG_ERR(DFG_PROTOCOL, "worker %u cannot be linked again", number);
	bool same_part = number % width == worker->config.self % width;
	if (same_part)
		dfg_group_relink(worker->group, number / width, NULL);
	DFG_TRY(worker->options.relink(worker->options.arg, number, peer, seconds, &worker->link[number]));
	if (same_part)
		dfg_group_relink(worker->group, number / width, worker->link[number]);
	return NULL;
}

struct dfg_err *dfg_worker_peer(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)answer;
	double seconds = dfg_packet_get_real(request);
	uint32_t count = dfg_packet_get_count(request, sizeof(uint64_t));
	dfg_worker_leave_group(worker);
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_peer peer;
		uint32_t number = dfg_packet_get_u32(request);
		dfg_peer_get(request, &peer);
		DFG_TRY(dfg_packet_check(request));
		DFG_TRY(link_again(worker, number, &peer, seconds));
	}
	return dfg_packet_check(request);
}

static void put_value(struct dfg_packet *answer, const struct dfg_tensor *value)
{
	dfg_packet_put_tensor(answer, value);
}

/* The length of a string is part of it; other tensors of one variable differ in their bytes. */
static void put_digest(struct dfg_packet *answer, const struct dfg_tensor *value)
{
	const struct dfg_string *text = value->data;
	bool strings = value->dtype == DFG_STRING, objects = dfg_dtype_is_object(value->dtype);
	uint32_t digest = objects ? 0 : dfg_crc32c(0, value->data, dfg_tensor_bytes(value));
	for (int64_t i = 0; strings && i < dfg_shape_count(&value->shape); i++) {
		digest = dfg_crc32c(digest, &text[i].length, sizeof text[i].length);
		digest = dfg_crc32c(digest, text[i].s, text[i].length);
	}
	dfg_packet_put(answer, digest);
}

/* Writes the name of each variable that is set, and something of its value. */
static struct dfg_err *put_variables(struct dfg_worker *worker, struct dfg_packet *answer,
	void (*put)(struct dfg_packet *answer, const struct dfg_tensor *value))
{
	struct dfg_variable *variable;
	uint64_t count = 0;
	if (!worker->session)
		return DFG_ERR(DFG_PROTOCOL, "this worker has no part of a graph yet");
	struct dfg_state *state = dfg_session_state(worker->session);
	for (size_t i = 0; dfg_state_next(state, &i, &variable);)
		count += variable->set;
	dfg_packet_put(answer, count);
	for (size_t i = 0; dfg_state_next(state, &i, &variable);) {
		struct dfg_tensor value;
		if (!variable->set)
			continue;
		DFG_TRY(dfg_variable_read(variable, &value));
		dfg_packet_put_text(answer, variable->resource.name);
		put(answer, &value);
		dfg_tensor_release(&value);
	}
	return NULL;
}

struct dfg_err *dfg_worker_state(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)request;
	return put_variables(worker, answer, put_value);
}

struct dfg_err *dfg_worker_digests(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)request;
	return put_variables(worker, answer, put_digest);
}

struct dfg_err *dfg_worker_adopt(struct dfg_worker *worker, struct dfg_packet *request, struct dfg_packet *answer)
{
	(void)answer;
	uint32_t count = dfg_packet_get_count(request, 2 * sizeof(uint64_t));
	struct dfg_err *err = NULL;
	if (!worker->session)
		return DFG_ERR(DFG_PROTOCOL, "this worker has no part of a graph yet");
	struct dfg_state *state = dfg_session_state(worker->session);
	for (uint32_t i = 0; i < count && !err; i++) {
		struct dfg_tensor value;
		struct dfg_variable *variable;
		const char *name = dfg_packet_get_text(request);
		dfg_packet_get_tensor(request, &value);
		err = dfg_packet_check(request);
		if (!err && !(variable = dfg_state_find(state, name)))
			err = dfg_state_variable(state, name, value.dtype, &value.shape, &variable);
		if (!err)
			err = dfg_variable_assign(variable, &value);
		else
			dfg_tensor_release(&value);
		err = dfg_err_note(err, "variable '%s' of replica 0", name);
	}
	return err;
}
