#include "app/replication.h"

#include "app/explanation.h"
#include "lib/base/size.h"
#include "lib/base/text.h"
#include "lib/exec/group/group.h"
#include "lib/pass/grad/rows.h"
#include "lib/pass/verify/verify.h"
#include "remote/hosts_lanes.h"

#include <stdio.h>
#include <string.h>

#define BUCKET_AUTO (UINT64_C(4) << 20)

/* An option that has an effect only on a sharded batch. */
static const char *idle_option(const struct dfg_replication *replication)
{
	return replication->bucket            ? "bucket"
		   : replication->reduce          ? "reduce"
		   : replication->gradients.count ? "gradients"
										  : NULL;
}

static struct dfg_err *parse_bucket(const char *text, uint64_t *out_bytes)
{
	*out_bytes = BUCKET_AUTO;
	if (!text || !strcmp(text, "auto"))
		return NULL;
	*out_bytes = UINT64_MAX;
	if (!strcmp(text, "all"))
		return NULL;
	return dfg_err_note(dfg_parse_size(text, out_bytes), "--bucket");
}

static struct dfg_err *parse_reduction(const char *text, enum dfg_reduction *out_reduction)
{
	*out_reduction = DFG_REDUCE_BY_LOSS;
	if (!text)
		return NULL;
	static const struct {
		const char *name;
		enum dfg_reduction reduction;
	} known[] = {{"mean", DFG_REDUCE_MEAN}, {"sum", DFG_REDUCE_SUM}, {"adasum", DFG_REDUCE_ADASUM}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!strcmp(text, known[i].name)) {
			*out_reduction = known[i].reduction;
			return NULL;
		}
	return DFG_ERR(DFG_USAGE, "--reduce must be mean, sum or adasum, not '%s'", text);
}

struct dfg_err *dfg_replication_algorithm(const char *text, enum dfg_algorithm *out_algorithm)
{
	static const char *const name[] = {"auto", "direct", "shm", "halving", "ring"}; /* by enum dfg_algorithm */
	for (size_t i = 0; text && i < sizeof name / sizeof *name; i++)
		if (!strcmp(text, name[i])) {
			*out_algorithm = (enum dfg_algorithm)i;
			return NULL;
		}
	*out_algorithm = DFG_ALGORITHM_AUTO;
	return text ? DFG_ERR(DFG_USAGE, "--algorithm must be auto, direct, shm, halving or ring, not '%s'", text) : NULL;
}

/* A bound of 0 is that of synchronous steps. */
static struct dfg_err *parse_staleness(struct dfg_replication *replication)
{
	bool bounded = replication->sync && !strcmp(replication->sync, "ssp");
	replication->bound = 0;
	if (!bounded && (replication->staleness >= 0 || replication->verify_staleness))
		return DFG_ERR(DFG_USAGE, "--%sstaleness requires --sync ssp", replication->staleness >= 0 ? "" : "verify-");
	if (bounded && replication->staleness < 0)
		return DFG_ERR(DFG_USAGE,
			"--sync ssp requires --staleness S, 0 or more: how many steps a replica may be ahead of the slowest one");
	if (bounded)
		replication->bound = (uint64_t)replication->staleness;
	if (replication->checks.stale_step && !replication->bound)
		return DFG_ERR(DFG_USAGE, "--emulate stale requires --sync ssp with a --staleness of 1 or more");
	replication->checks.staleness = replication->bound && replication->verify_staleness;
	return NULL;
}

static struct dfg_err *parse_sync(struct dfg_replication *replication, bool has_hosts)
{
	const char *text = replication->sync;
	DFG_TRY(parse_staleness(replication));
	bool bounded = text && !strcmp(text, "ssp");
	replication->async = (text && !strcmp(text, "async")) || replication->bound;
	replication->servers = replication->async || bounded || (text && !strcmp(text, "ps"));
	replication->quorum = text ? !strcmp(text, "quorum") : replication->replay != NULL;
	if (text && !replication->servers && !replication->quorum && strcmp(text, "allreduce"))
		return DFG_ERR(DFG_USAGE, "--sync must be allreduce, quorum, ps, async or ssp, not '%s'", text);
	if (!replication->servers)
		return NULL;
	if (!has_hosts)
		return DFG_ERR(DFG_USAGE, "--sync %s requires --hosts", text);
	if (replication->min_replicas && replication->min_replicas < replication->replicas)
		return DFG_ERR(
			DFG_USAGE, "--min-replicas cannot be used with --sync %s: such a run ends when a worker is lost", text);
	if (replication->verify || replication->checks.flip_step)
		return DFG_ERR(DFG_USAGE,
			"--%s cannot be used with --sync %s, whose replicas all use the variables of the servers",
			replication->verify ? "verify-replicas" : "emulate flip", text);
	return NULL;
}

/* A step that waits for some replicas needs one for each shard; one that is replayed, none. */
static struct dfg_err *check_need(const struct dfg_replication *replication)
{
	long long replicas = replication->n_replicas, need = replication->need;
	if (replication->replay)
		return replication->record
				   ? DFG_ERR(DFG_USAGE, "--record and --replay exclude each other: the files would be the same")
				   : NULL;
	if (replicas < 2)
		return DFG_ERR(DFG_USAGE, "--sync quorum requires --replicas, or --replay with --shards");
	if (!need)
		return DFG_ERR(DFG_USAGE, "--sync quorum requires --need: the number of replicas that a step waits for");
	if (need > replicas)
		return DFG_ERR(DFG_USAGE, "--need %lld is more than --replicas %lld", need, replicas);
	if (replication->shards && replication->shards != replicas)
		return DFG_ERR(DFG_USAGE, "--sync quorum requires a shard for each replica: --shards is %lld, --replicas %lld",
			(long long)replication->shards, replicas);
	if (replication->all_reduce != DFG_ALGORITHM_AUTO && replication->all_reduce != DFG_ALGORITHM_DIRECT)
		return DFG_ERR(DFG_USAGE,
			"--algorithm %s cannot be used with --sync quorum: every replica would wait for the slowest one",
			replication->algorithm);
	return NULL;
}

static void note_order(const struct dfg_replication *replication, const struct dfg_report *report)
{
	const char *repeats = "";
	if (replication->bound)
		repeats = replication->record ? "; --replay gives them again" : "; --record keeps that in a file for --replay";
	if (!replication->replay)
		dfg_report_note(report, "--sync %s: the results depend on the order in which replicas update the variables%s",
			replication->sync, repeats);
}

/* An asynchronous step is one update by one replica, with its part of the batch. */
static struct dfg_err *check_async(
	const struct dfg_replication *replication, bool trains, const struct dfg_report *report)
{
	const char *sync = replication->sync;
	if (!trains)
		return DFG_ERR(DFG_USAGE, "--sync %s requires --data and --target, as it is for training", sync);
	if (replication->n_shards != replication->n_replicas)
		return DFG_ERR(DFG_USAGE, "--sync %s requires a shard for each replica: --shards is %u, --replicas %u", sync,
			replication->n_shards, replication->n_replicas);
	if (replication->algorithm)
		return DFG_ERR(
			DFG_USAGE, "--algorithm cannot be used with --sync %s, whose replicas do not reduce gradients", sync);
	if (replication->record && replication->replay)
		return DFG_ERR(DFG_USAGE, "--record and --replay exclude each other: the files would be the same");
	if (replication->n_replicas > 1)
		note_order(replication, report);
	return NULL;
}

/* An option that such steps do not have. */
static const char *idle_of_run(const struct dfg_replication *replication)
{
	bool ordered = replication->bound && replication->n_replicas > 1;
	return replication->need                 ? "need"
		   : replication->record && !ordered ? "record"
		   : replication->replay && !ordered ? "replay"
											 : NULL;
}

static struct dfg_err *check_idle(const struct dfg_replication *replication)
{
	const char *idle = idle_of_run(replication), *sync = replication->sync ? replication->sync : "allreduce";
	if (idle && !strcmp(sync, "ssp") && !replication->need)
		return DFG_ERR(DFG_USAGE,
			"--%s requires two or more replicas and a --staleness of 1 or more: without them, updates "
			"have only one order",
			idle);
	return idle ? DFG_ERR(DFG_USAGE, "--%s requires --sync quorum%s, not --sync %s", idle,
					  replication->need ? "" : " or ssp", sync)
				: NULL;
}

struct dfg_err *dfg_replication_check_run(
	const struct dfg_replication *replication, bool trains, const struct dfg_report *report)
{
	if (!replication->quorum)
		DFG_TRY(check_idle(replication));
	if (replication->async)
		return check_async(replication, trains, report);
	if (!replication->quorum)
		return NULL;
	DFG_TRY(check_need(replication));
	if (!trains)
		return DFG_ERR(DFG_USAGE, "--sync quorum requires --data and --target, as it is for training");
	if (replication->n_shards < 2)
		return DFG_ERR(DFG_USAGE, "--replay requires --shards or --replicas");
	if (!replication->replay)
		dfg_report_note(report, "--sync quorum: the results depend on which replicas are first%s",
			replication->record ? "; --replay gives them again" : "; --record keeps that in a file for --replay");
	return NULL;
}

/* The workers of a replica that --place names: w0 to the highest. */
static uint32_t parts_of_places(const struct dfg_placement *placement)
{
	uint32_t parts = 1;
	for (size_t i = 0; i < placement->place.count; i++) {
		const char *device = strrchr(placement->place.word[i], '=');
		unsigned number;
		if (device && sscanf(device, "=w%5u", &number) == 1 && number >= parts)
			parts = number + 1;
	}
	return parts;
}

/* The number of workers of a replica, by the plan or by --place; *out_shards comes from the plan or from the options. */
static struct dfg_err *find_size(const struct dfg_replication *replication, const struct dfg_placement *placement,
	const char *path, uint32_t *out_width, int64_t *out_shards)
{
	uint32_t shards = 0;
	*out_width = parts_of_places(placement);
	*out_shards = replication->shards;
	if (!path || !dfg_plan_folder_is(path))
		return NULL;
	DFG_TRY(dfg_plan_folder_size(path, out_width, &shards));
	*out_width = *out_width ? *out_width : 1;
	*out_shards = shards > 1 ? shards : *out_shards;
	return NULL;
}

static void note_replicas(const struct dfg_replication *replication, int64_t shards, const struct dfg_report *report)
{
	const char *sync = replication->sync ? replication->sync : "allreduce";
	bool ring = replication->algorithm && !strcmp(replication->algorithm, "ring");
	bool repeats = strcmp(sync, "async") && strcmp(sync, "quorum") && !(replication->staleness > 0) && !ring;
	const char *s = replication->replicas == 1 ? "" : "s";
	if (repeats)
		dfg_report_note(report, "%lld replica%s; --shards %lld computes the same with any number of them",
			(long long)replication->replicas, s, (long long)(shards ? shards : replication->replicas));
	else
		dfg_report_note(report, "%lld replica%s", (long long)replication->replicas, s);
}

struct dfg_err *dfg_replication_default(struct dfg_replication *replication, const struct dfg_placement *placement,
	const char *path, const struct dfg_report *report)
{
	struct dfg_arena arena = {0};
	struct dfg_hosts hosts;
	uint32_t width;
	int64_t shards;
	bool replicated = replication->sync || replication->min_replicas || placement->ranks;
	if (!replicated || replication->replicas || !placement->hosts)
		return NULL;
	DFG_TRY(find_size(replication, placement, path, &width, &shards));
	struct dfg_err *err = dfg_placement_hosts(placement, &arena, &hosts);
	if (!err) {
		uint32_t workers = dfg_hosts_workers(&hosts);
		replication->replicas = workers > width ? workers / width : 1; /* what does not fit is told with the hosts */
		note_replicas(replication, shards, report);
	}
	dfg_arena_release(&arena);
	return err;
}

/* One part of --emulate, such as "seed=7". */
static struct dfg_err *parse_emulated(struct dfg_replication *replication, const char *part)
{
	struct dfg_replica_checks *checks = &replication->checks;
	unsigned long long step, replica, seed;
	int length = 0;
	if (!strncmp(part, "compute=", 8))
		return dfg_emulation_parse(part + 8, &checks->emulation);
	if (sscanf(part, "seed=%llu%n", &seed, &length) == 1 && !part[length]) {
		checks->emulation.seed = seed;
		return NULL;
	}
	bool stale = sscanf(part, "stale=%llu,%llu%n", &step, &replica, &length) == 2 && !part[length] && step &&
				 (int64_t)replica < replication->replicas;
	if (stale) {
		checks->stale_step = step;
		checks->stale_replica = (uint32_t)replica;
		return NULL;
	}
	length = 0;
	bool flips = sscanf(part, "flip=%llu,%llu%n", &step, &replica, &length) == 2 && !part[length] && step &&
				 (int64_t)replica < replication->replicas;
	if (!flips)
		return DFG_ERR(DFG_USAGE,
			"--emulate must be flip=STEP,REPLICA or stale=STEP,REPLICA with a replica below --replicas, compute=DELAY "
			"or seed=N, not '%s'",
			part);
	checks->flip_step = step;
	checks->flip_replica = (uint32_t)replica;
	return NULL;
}

static struct dfg_err *parse_emulation(struct dfg_replication *replication)
{
	char part[80];
	for (const char *at = replication->emulate, *end; at; at = *end ? end + 1 : NULL) {
		end = at + strcspn(at, ";");
		snprintf(part, sizeof part, "%.*s", (int)(end - at), at);
		DFG_TRY(parse_emulated(replication, part));
	}
	if (replication->checks.emulation.delay && replication->replicas < 2)
		return DFG_ERR(DFG_USAGE, "--emulate compute requires --replicas: it delays each of them");
	return NULL;
}

struct dfg_err *dfg_replication_check_numbers(enum dfg_algorithm algorithm, uint32_t replicas, uint32_t shards)
{
	if (algorithm != DFG_ALGORITHM_HALVING || dfg_group_algorithm(algorithm, replicas, shards) == algorithm)
		return NULL;
	return DFG_ERR(DFG_USAGE,
		"--algorithm halving requires numbers of replicas and shards that are powers of two, not %u and %u", replicas,
		shards);
}

static struct dfg_err *check_algorithm(const struct dfg_replication *replication, enum dfg_reduction reduction)
{
	uint32_t replicas = replication->n_replicas, shards = replication->n_shards;
	enum dfg_algorithm asked = replication->all_reduce;
	if (replicas < 2 && replication->algorithm)
		return DFG_ERR(DFG_USAGE, "--algorithm requires --replicas: it says how they add their gradients");
	DFG_TRY(dfg_replication_check_numbers(asked, replicas, shards));
	if (reduction == DFG_REDUCE_ADASUM && shards & (shards - 1))
		return DFG_ERR(DFG_DATA, "--reduce adasum requires a number of shards that is a power of two, not %u", shards);
	if (reduction == DFG_REDUCE_ADASUM && (replication->async || replication->bound))
		return DFG_ERR(DFG_USAGE, "--reduce adasum cannot be used with --sync %s, whose replicas update by themselves",
			replication->sync);
	if (reduction == DFG_REDUCE_ADASUM && asked != DFG_ALGORITHM_AUTO && asked != DFG_ALGORITHM_DIRECT)
		return DFG_ERR(DFG_USAGE, "--algorithm %s cannot be used with --reduce adasum, which requires whole gradients",
			replication->algorithm);
	if (asked == DFG_ALGORITHM_RING && replication->min_replicas && replication->min_replicas < replicas)
		return DFG_ERR(DFG_USAGE,
			"--algorithm ring cannot be used with --min-replicas: its sums depend on how many replicas are left");
	return NULL;
}

struct dfg_err *dfg_replication_check(struct dfg_replication *replication, bool has_hosts)
{
	int64_t replicas = replication->replicas, shards = replication->shards;
	uint64_t bucket;
	enum dfg_reduction reduction;
	replication->n_shards = 1;
	if (shards > DFG_SHARDS_MOST || replicas > DFG_SHARDS_MOST)
		return DFG_ERR(
			DFG_USAGE, "--%s must be at most %d", shards > DFG_SHARDS_MOST ? "shards" : "replicas", DFG_SHARDS_MOST);
	if (replicas > 1 && !has_hosts)
		return DFG_ERR(DFG_USAGE, "--replicas %lld requires --hosts; --shards %lld computes the same in one process",
			(long long)replicas, (long long)replicas);
	if (replicas && shards && shards < replicas)
		return DFG_ERR(DFG_USAGE, "--shards %lld is less than --replicas %lld", (long long)shards, (long long)replicas);
	if (replication->min_replicas > 1 && !replicas)
		return DFG_ERR(DFG_USAGE, "--min-replicas requires --replicas");
	if (replication->min_replicas > (replicas ? replicas : 1))
		return DFG_ERR(DFG_USAGE, "--min-replicas %lld is more than --replicas %lld",
			(long long)replication->min_replicas, (long long)(replicas ? replicas : 1));
	if (replication->verify && replicas < 2)
		return DFG_ERR(DFG_USAGE, "--verify-replicas requires --replicas");
	DFG_TRY(parse_emulation(replication));
	DFG_TRY(parse_sync(replication, has_hosts));
	replication->checks.every = (uint64_t)replication->verify;
	if (!shards)
		shards = replicas;
	DFG_TRY(parse_bucket(replication->bucket, &bucket));
	DFG_TRY(parse_reduction(replication->reduce, &reduction));
	DFG_TRY(dfg_replication_algorithm(replication->algorithm, &replication->all_reduce));
	if (shards < 2 && idle_option(replication))
		return DFG_ERR(DFG_USAGE, "--%s requires --shards or --replicas", idle_option(replication));
	replication->n_shards = shards ? (uint32_t)shards : 1;
	replication->n_replicas = replicas ? (uint32_t)replicas : 1;
	return check_algorithm(replication, reduction);
}

/* Passes the lines of a text to the report. */
static void report_lines(const struct dfg_report *report, const char *source, const struct dfg_text *text)
{
	for (const char *s = text->s, *end; s && (end = strchr(s, '\n')); s = end + 1)
		dfg_report_note(report, "%s: %.*s", source, (int)(end - s), s);
}

static void report_bucket(const struct dfg_report *report, const struct dfg_model *model, const struct dfg_node *start)
{
	struct dfg_text line = {0};
	dfg_explain_bucket(&model->facts, start, &line);
	dfg_report_detail(report, "%s", line.s ? line.s : "");
	dfg_text_release(&line);
}

static void report_buckets(const struct dfg_report *report, const struct dfg_model *model)
{
	const struct dfg_graph *graph = &model->file.graph;
	dfg_report_detail(report, "%u shards; the learning rate is not scaled", model->shards);
	for (uint32_t n = 0; n < graph->count; n++)
		if (graph->node[n].op && graph->node[n].op->flags & DFG_CONTRIBUTES)
			report_bucket(report, model, &graph->node[n]);
}

static struct dfg_err *rewrite(
	struct dfg_graph *graph, const struct dfg_replicate_options *options, bool dense, struct dfg_keep *keep)
{
	struct dfg_builder builder = {0};
	if (dense || options->n_gradients) /* patterns are of names of dense gradients */
		DFG_TRY(dfg_rows_make_dense(graph));
	DFG_TRY(dfg_builder_init(&builder, graph));
	struct dfg_err *err = dfg_replicate(&builder, options, keep);
	dfg_builder_release(&builder);
	return err;
}

struct dfg_err *dfg_replication_apply(const struct dfg_replication *replication, struct dfg_model *model,
	const struct dfg_edge *shard, uint32_t n_shard, const struct dfg_report *report, struct dfg_keep *keep)
{
	struct dfg_text notes = {0};
	struct dfg_replicate_options options = {
		.shards = replication->n_shards,
		.async = replication->async,
		.partial = replication->bound > 0,
		.shard = shard,
		.n_shard = n_shard,
		.gradients = replication->gradients.word,
		.n_gradients = replication->gradients.count,
		.notes = &notes,
	};
	if (replication->n_shards < 2 || !n_shard)
		return NULL;
	DFG_TRY(parse_bucket(replication->bucket, &options.bucket));
	DFG_TRY(parse_reduction(replication->reduce, &options.reduction));
	model->shards = replication->n_shards;
	bool dense = replication->all_reduce == DFG_ALGORITHM_SHM || options.reduction == DFG_REDUCE_ADASUM;
	struct dfg_err *err = rewrite(&model->file.graph, &options, dense, keep);
	if (!err)
		err = dfg_text_check(&notes);
	if (!err)
		report_lines(report, model->file.graph.source, &notes);
	dfg_text_release(&notes);
	if (!err) {
		dfg_facts_release(&model->facts);
		model->facts = (struct dfg_facts){0};
		err = dfg_verify(&model->file.graph, NULL, &model->facts);
	}
	if (!err)
		report_buckets(report, model);
	return dfg_err_of_file(err, model->file.graph.source);
}

/* Finds the inputs with that many rows; DFG_UNKNOWN: those whose number of rows is unknown. */
static uint32_t find_inputs(const struct dfg_model *model, int64_t rows, struct dfg_edge *out_edge)
{
	const struct dfg_graph *graph = &model->file.graph;
	uint32_t count = 0;
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_edge edge = {n, 0};
		if (dfg_node_role(&graph->node[n]) != DFG_PLACEHOLDER)
			continue;
		const struct dfg_shape *shape = &dfg_model_fact(model, edge)->shape;
		if (shape->rank > 0 && shape->dim[0] == rows)
			out_edge[count++] = edge;
	}
	return count;
}

/* The first extent of all inputs but scalars; DFG_UNKNOWN if they differ. */
static int64_t find_static_batch(const struct dfg_model *model)
{
	const struct dfg_graph *graph = &model->file.graph;
	int64_t batch = DFG_UNKNOWN;
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_edge edge = {n, 0};
		if (dfg_node_role(&graph->node[n]) != DFG_PLACEHOLDER)
			continue;
		const struct dfg_shape *shape = &dfg_model_fact(model, edge)->shape;
		if (shape->rank > 0 && batch != DFG_UNKNOWN && shape->dim[0] != batch)
			return DFG_UNKNOWN;
		batch = shape->rank > 0 ? shape->dim[0] : batch;
	}
	return batch;
}

struct dfg_err *dfg_replication_apply_to_inputs(const struct dfg_replication *replication, struct dfg_model *model,
	const struct dfg_report *report, struct dfg_keep *keep)
{
	const struct dfg_graph *graph = &model->file.graph;
	struct dfg_edge *shard = dfg_arena_zeros(&model->arena, graph->count, sizeof *shard);
	uint32_t shards = replication->n_shards;
	if (shards < 2)
		return NULL;
	if (!shard)
		return dfg_no_memory("the inputs that are sharded");
	uint32_t count = find_inputs(model, DFG_UNKNOWN, shard);
	int64_t batch = count ? DFG_UNKNOWN : find_static_batch(model);
	if (batch > 0 && batch <= INT64_MAX / shards) {
		count = find_inputs(model, batch, shard);
		dfg_report_note(report, "%s: each input has %lld rows, the size of one shard: feed %lld rows, for %u shards",
			graph->source, (long long)batch, (long long)batch * shards, shards);
	}
	if (!count)
		return DFG_ERR(DFG_DATA,
			"%s: no input can be divided among %u shards: none has an unknown number of rows, and not all have the "
			"same number",
			graph->source, shards);
	return dfg_replication_apply(replication, model, shard, count, report, keep);
}

struct dfg_err *dfg_replication_fetches(struct dfg_model *model, const struct dfg_edges *fetch)
{
	if (model->shards < 2)
		return NULL;
	return dfg_replicate_merge(&model->file.graph, &model->facts, fetch->edge, fetch->count);
}

uint32_t dfg_replication_shards_of(const struct dfg_model *model, struct dfg_edge edge)
{
	return model->shards > 1 && dfg_edge_mark(&model->file.graph, "_dfg_shard", edge) ? model->shards : 1;
}
