#include "cmd/shared_options.h"

#include "lib/base/mem.h"

#include <string.h>

static struct dfg_mem_limit limit;

struct dfg_shared_options dfg_shared = {.execution = {.seed = -1, .limit = &limit},
	.distribution = DFG_DISTRIBUTION_DEFAULTS,
	.replication = {.staleness = -1}};
#define S dfg_shared

const struct dfg_opt dfg_execution_options[] = {
	{"threads", .takes = "N", .number = &S.execution.threads, .least = 1,
		.help = "Use N threads (all processors allowed to this process)."},
	{"seed", .takes = "N", .number = &S.execution.seed, .help = "Seed of random ops."},
	{"memory-limit", .takes = "SIZE", .size = &S.execution.memory_limit, .least = 1,
		.help = "Fail if more memory than SIZE is needed."},
	{"swap", .takes = "DIR", .text = &S.execution.swap,
		.help = "Move values saved by loops to a scratch file in DIR when memory nears --memory-limit."},
	{"timeout", .takes = "SECONDS", .real = &S.execution.timeout,
		.help = "Fail if a step, or the start of the workers, takes longer; 0: no limit."},
	{"max-iterations", .takes = "N", .number = &S.execution.max_iterations,
		.help = "Fail if a loop has more than N iterations; 0: no limit."},
	{"denormals", .takes = "flush|keep", .text = &S.execution.denormals,
		.help = "Treat denormals, floats too small to be normal, as zero, which is faster, or keep them (flush)."},
	{"winograd", .takes = "2|4", .number = &S.execution.winograd, .least = 1,
		.help = "Compute 3x3 convolutions with constant filters by Winograd's method, in tiles of 2 by 2 outputs, or "
				"of 4 by 4, which is faster and less exact (2)."},
	{"exact-conv", .flag = &S.execution.exact_conv,
		.help = "Compute each output of a convolution as one sum of products, without tiles."},
	{"check-numerics", .flag = &S.execution.check_numerics,
		.help = "Fail at the first node that makes a NaN or an infinity."},
	{"schedule", .takes = "random:SEED", .text = &S.execution.schedule,
		.help = "Run ready nodes in an order drawn from SEED."},
	{"no-opt", .flag = &S.execution.no_opt, .help = "Run the graph without optimizing it."},
	{"no-compiled-loops", .flag = &S.execution.no_compiled_loops,
		.help = "Run loops node by node, not as compiled code; the results are the same."},
	{0},
};

const struct dfg_opt dfg_placement_options[] = {
	{"hosts", .takes = "H", .text = &S.placement.hosts,
		.help = "The hosts: a file with one per line, a list such as alpha,beta,local:2, mpi (under mpirun), or slurm "
				"(in an allocation)."},
	{"place", .takes = "PATTERN=DEVICE", .list = &S.placement.place,
		.help = "Put the nodes that match PATTERN on DEVICE, as in 'layer2/*=w1'; the last match counts. "
				"random:SEED draws a device for each other node."},
	{"secret-file", .takes = "FILE", .text = &S.placement.secret_file,
		.help = "Workers at tcp= of the hosts file run already, as dfg serve --worker --secret-file FILE; only their "
				"owner may read FILE."},
	{0},
};

const struct dfg_opt dfg_launch_options[] = {
	{"transport", .takes = "NAME", .text = &S.distribution.transport, .given = &S.given.transport,
		.help =
			"Move tensors by libcurl or shm; auto takes the better one for each pair of workers, and -v prints it."},
	{"lease", .takes = "SECONDS", .real = &S.distribution.lease, .given = &S.given.lease,
		.help = "Fail the step if a worker is silent for SECONDS (2.5)."},
	{"push", .flag = &S.distribution.push, .help = "Copy this program to the hosts and run the copy there."},
	{0},
};

const struct dfg_opt dfg_restarts_options[] = {
	{"restarts", .takes = "N", .number = &S.restarts, .given = &S.given.restarts,
		.help = "Restart after the loss of a worker, at most N times, from the last checkpoint or the beginning; with "
				"--min-replicas, start only the lost replica."},
	{0},
};

const struct dfg_opt dfg_distribution_options[] = {
	{.rows = dfg_launch_options},
	{"ssh-config", .takes = "FILE", .text = &S.distribution.ssh_config, .help = "Read FILE instead of ~/.ssh/config."},
	{0},
};

const struct dfg_opt dfg_device_options[] = {
	{"device", .takes = "NAME", .text = &S.device,
		.help = "Compute on this device each node that it has a kernel for, and the others on the host: cpu, cuda or "
				"cuda:I (cpu)."},
	{0},
};

const struct dfg_opt dfg_blocks_options[] = {
	{"blocks", .takes = "B", .number = &S.blocks.blocks, .least = 1,
		.help = "Cut parallel loops into B blocks, which alone decide the results, and run iterations that do not "
				"depend on each other together; with --hosts, over the workers, of which there are at most B."},
	{"balance", .takes = "histogram|range", .text = &S.blocks.balance,
		.help = "Blocks have equal numbers of iterations (histogram), or equal ranges of their coordinate."},
	{"parallel", .takes = "LOOP[=ordered]", .list = &S.blocks.loop,
		.help = "Treat LOOP as a parallel loop; repeatable."},
	{"no-slices", .flag = &S.blocks.no_slices,
		.help = "Run the iterations of blocks one after the other, in the same order; the results are the same."},
	{"verify-plan", .flag = &S.blocks.verify,
		.help = "Check at run time that blocks which could run at once access no row that one of them writes."},
	{0},
};

const struct dfg_opt dfg_replication_options[] = {
	{"replicas", .takes = "R", .number = &S.replication.replicas, .least = 1,
		.help = "Train R copies of the model, each on a part of the batch (1)."},
	{"shards", .takes = "S", .number = &S.replication.shards, .least = 1,
		.help = "Cut each batch into S shards, whose gradients are reduced in one order (R)."},
	{"sync", .takes = "allreduce|quorum|ps|async|ssp", .text = &S.replication.sync,
		.help =
			"Keep the variables on each replica, or on the hosts of job=ps, to which replicas send their gradients; "
			"quorum: a step does not wait for the slowest replicas; async: as ps, and no replica waits for another; "
			"ssp: as async, but no replica is more than --staleness steps ahead of another (allreduce)."},
	{"staleness", .takes = "S", .number = &S.replication.staleness,
		.help =
			"With --sync ssp: a replica reads the variables only if they have the updates of all replicas but those of "
			"the last S steps before its own; 0: as --sync ps."},
	{"min-replicas", .takes = "M", .number = &S.replication.min_replicas, .least = 1,
		.help = "If replicas are lost, continue with the others while at least M are left (R)."},
	{"verify-replicas", .takes = "K", .number = &S.replication.verify, .least = 1,
		.help = "Compare the variables of the replicas every K steps."},
	{"emulate", .takes = "SPEC", .text = &S.replication.emulate,
		.help =
			"For tests, parts separated by semicolons: flip=STEP,REPLICA inverts a bit of a variable of that replica "
			"after that step; stale=STEP,REPLICA lets that replica read old variables from that step on; "
			"compute=fixed:T, lognormal:T,S or exponential:T delays each compute run by a time such "
			"as "
			"20ms, or one that is drawn with that median or mean by seed=N, the replica and the step."},
	{"bucket", .takes = "SIZE|0|all|auto", .text = &S.replication.bucket,
		.help = "Reduce gradients in buckets of SIZE bytes (4MiB); 0: each by itself; all: in one."},
	{"algorithm", .takes = "auto|direct|shm|halving|ring", .text = &S.replication.algorithm,
		.help = "Reduce in memory that the replicas of one host share (shm), or over links: each part by one replica, "
				"by halves "
				"that pairs exchange, or around a ring (auto: shm where possible, else direct, or halving for many "
				"replicas)."},
	{"reduce", .takes = "mean|sum|adasum", .text = &S.replication.reduce,
		.help = "Take the mean or the sum of the shards' gradients, or their Adasum, which adds what differs in them "
				"and averages "
				"what is alike (the mean or the sum, as the loss does of the batch)."},
	{"shard-variable", .takes = "PATTERN=K[,mod|div]", .list = &S.replication.parts,
		.help = "Divide the rows of variables that match PATTERN, and of their slots, over K variables: row i is in "
				"the one of number i mod K (mod), or each has a range of rows (div)."},
	{"gradients", .takes = "PATTERN", .list = &S.replication.gradients,
		.help = "Reduce the nodes that match PATTERN, instead of the gradients that the graph marks."},
	{0},
};

struct dfg_err *dfg_check_hosts_given(void)
{
	const char *idle = S.placement.place.count     ? "place"
					   : S.placement.secret_file   ? "secret-file"
					   : S.given.transport         ? "transport"
					   : S.given.lease             ? "lease"
					   : S.distribution.push       ? "push"
					   : S.restarts                ? "restarts"
					   : S.distribution.ssh_config ? "ssh-config"
												   : NULL;
	return idle && !S.placement.hosts ? DFG_ERR(DFG_USAGE, "--%s requires --hosts", idle) : NULL;
}

void dfg_limit_memory(void)
{
	if (!S.execution.memory_limit || dfg_mem == &limit.base)
		return;
	dfg_mem_limit_init(&limit, dfg_mem, S.execution.memory_limit);
	dfg_mem = &limit.base;
}

struct dfg_err *dfg_name_memory_limit(struct dfg_err *err, const char *path)
{
	if (!err || err->code != DFG_MEMORY || !S.execution.memory_limit)
		return err;
	limit.limit = SIZE_MAX; /* lift the limit, so that reporting the error can allocate */
	bool of_file = err->of_file;
	struct dfg_err *said =
		DFG_ERR(DFG_MEMORY, "%s (--memory-limit is %llu)", err->text, (unsigned long long)S.execution.memory_limit);
	dfg_err_free(err);
	return dfg_err_of_file(said, of_file ? NULL : path);
}

struct dfg_err *dfg_find_devices(const char *other, struct dfg_arena *arena, struct dfg_devices *out_devices)
{
	enum dfg_denormals denormals;
	const char *clash = S.placement.hosts         ? "hosts"
						: S.blocks.blocks         ? "blocks"
						: S.placement.place.count ? "place"
						: S.execution.swap        ? "swap"
												  : other;
	DFG_TRY(dfg_execution_denormals(&S.execution, &denormals));
	DFG_TRY(dfg_devices_find(S.device, denormals, arena, out_devices));
	if (clash && out_devices->provider)
		return DFG_ERR(DFG_USAGE, "--%s cannot be used with --device %s", clash, S.device);
	return NULL;
}

struct dfg_err *dfg_check_blocks(void)
{
	const struct dfg_replication *r = &S.replication;
	const char *other = r->replicas               ? "replicas"
						: r->shards               ? "shards"
						: r->sync                 ? "sync"
						: r->min_replicas         ? "min-replicas"
						: r->parts.count          ? "shard-variable"
						: S.placement.place.count ? "place"
												  : NULL;
	DFG_TRY(dfg_block_choice_check(&S.blocks));
	S.blocks.workers = S.blocks.blocks && S.placement.hosts;
	if (S.blocks.workers && other)
		return DFG_ERR(DFG_USAGE,
			"--blocks with --hosts cannot be used with --%s: every worker runs the whole graph, "
			"and its blocks of parallel loops",
			other);
	return NULL;
}
