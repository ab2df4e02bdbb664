#include "cmd/run_command.h"
#include "formats/json.h"
#include "lib/base/plural.h"
#include "lib/exec/parallel/loop_schedule.h"

#include <stdio.h>
#include <string.h>

/* The entries of the hosts list, which the names of workers count: a parameter server is one, of several workers. */
static uint32_t count_entries(const struct dfg_distributed *distributed)
{
	uint32_t count = 0;
	for (uint32_t w = 0; distributed && dfg_distributed_coordinator(distributed) && w < distributed->hosts.count; w++)
		if (distributed->hosts.worker[w].entry >= count)
			count = distributed->hosts.worker[w].entry + 1;
	return count;
}

static void add_traffic(struct dfg_traffic *all, const struct dfg_traffic *one)
{
	all->messages += one->messages;
	all->bytes += one->bytes;
	all->waits += one->waits;
	all->waited_ns += one->waited_ns;
	if (one->longest_ns < all->longest_ns || !one->waits)
		return;
	all->longest_ns = one->longest_ns;
	all->longest = one->longest;
}

/* The traffic between two entries, over all their workers; that between workers of one process does not count. */
static struct dfg_traffic traffic_between(const struct dfg_distributed *distributed, uint32_t from, uint32_t to)
{
	const struct dfg_hosts *hosts = &distributed->hosts;
	struct dfg_traffic all = {0};
	for (uint32_t a = 0; a < hosts->count && from != to; a++)
		for (uint32_t b = 0; b < hosts->count && hosts->worker[a].entry == from; b++) {
			if (hosts->worker[b].entry != to)
				continue;
			struct dfg_traffic one = dfg_coordinator_traffic(dfg_distributed_coordinator(distributed), a, b);
			add_traffic(&all, &one);
		}
	return all;
}

static void print_pairs(const struct dfg_distributed *distributed, bool bytes, struct dfg_json_out *json)
{
	const char *what = bytes ? "bytes" : "messages";
	uint32_t count = count_entries(distributed);
	dfg_json_key(json, what);
	dfg_json_open(json, '{');
	for (uint32_t from = 0; from < count; from++)
		for (uint32_t to = 0; to < count; to++) {
			char pair[40];
			struct dfg_traffic traffic = traffic_between(distributed, from, to);
			if (!traffic.messages)
				continue;
			snprintf(pair, sizeof pair, "w%u>w%u", from, to);
			dfg_talk("%s %s %llu", what, pair, (unsigned long long)(bytes ? traffic.bytes : traffic.messages));
			dfg_json_key(json, pair);
			dfg_json_uint(json, bytes ? traffic.bytes : traffic.messages);
		}
	dfg_json_close(json, '}');
}

static void print_wait(const char *pair, const struct dfg_traffic *traffic, struct dfg_json_out *json)
{
	double us = (double)traffic->waited_ns / 1e3, longest = (double)traffic->longest_ns / 1e3;
	struct dfg_text tensor = {0}; /* escaped: a name from a plan's file may contain anything */
	dfg_text_escape(&tensor, traffic->longest.s, traffic->longest.length, 200);
	dfg_talk("waits %s %.1f us, the longest %.1f us for '%s'", pair, us, longest, tensor.s ? tensor.s : "");
	dfg_text_release(&tensor);
	dfg_json_key(json, pair);
	dfg_json_open(json, '{');
	dfg_json_key(json, "us"), dfg_json_f64(json, us);
	dfg_json_key(json, "longest_us"), dfg_json_f64(json, longest);
	dfg_json_key(json, "tensor"), dfg_json_bytes(json, traffic->longest.s, traffic->longest.length);
	dfg_json_close(json, '}');
}

/* Prints for each pair how long the second waited for the first. */
static void print_waits(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	uint32_t count = count_entries(distributed);
	dfg_json_key(json, "waits");
	dfg_json_open(json, '{');
	for (uint32_t from = 0; from < count; from++)
		for (uint32_t to = 0; to < count; to++) {
			char pair[40];
			struct dfg_traffic traffic = traffic_between(distributed, from, to);
			snprintf(pair, sizeof pair, "w%u>w%u", from, to);
			if (traffic.waits)
				print_wait(pair, &traffic, json);
		}
	dfg_json_close(json, '}');
}

/* Prints how many messages of other epochs the replicas have dropped, in all steps. */
static void print_stale(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	if (!distributed || !dfg_distributed_coordinator(distributed) || distributed->options.replicas < 2 ||
		distributed->options.blocks)
		return;
	uint64_t stale = dfg_coordinator_stale(dfg_distributed_coordinator(distributed));
	dfg_talk("stale %llu", (unsigned long long)stale);
	dfg_json_key(json, "stale");
	dfg_json_uint(json, stale);
}

/*
 * Prints how much of the time in which buckets were on their way the workers computed, in all steps. The others wait for
 * the worker that waits least.
 */
static void print_overlap(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	if (!distributed || !dfg_distributed_coordinator(distributed) || distributed->options.replicas < 2 ||
		distributed->options.blocks)
		return;
	uint64_t moving = 0, waited = 0, least = UINT64_MAX;
	uint32_t slowest = 0, workers = distributed->hosts.count;
	dfg_json_key(json, "overlap"), dfg_json_open(json, '{');
	dfg_json_key(json, "waited_us"), dfg_json_open(json, '[');
	for (uint32_t w = 0; w < workers; w++) {
		struct dfg_reduced reduced = dfg_coordinator_reduced(dfg_distributed_coordinator(distributed), w);
		moving += reduced.moving_ns;
		waited += reduced.waited_ns;
		if (reduced.moving_ns && reduced.waited_ns < least) {
			least = reduced.waited_ns;
			slowest = w;
		}
		dfg_json_f64(json, (double)reduced.waited_ns / 1e3);
	}
	dfg_json_close(json, ']');
	double hidden = moving ? 1 - (double)waited / (double)moving : 0;
	uint32_t replica = slowest / (workers / distributed->options.replicas);
	dfg_json_key(json, "moving_us"), dfg_json_f64(json, (double)moving / 1e3);
	dfg_json_key(json, "hidden"), dfg_json_f64(json, hidden);
	dfg_json_key(json, "slowest"), dfg_json_uint(json, replica);
	dfg_json_close(json, '}');
	dfg_talk("hidden by computation: %.3f of %.1f us of reductions", hidden, (double)moving / 1e3);
	dfg_talk("slowest replica %u", replica);
}

/* Prints the number of reads by how many steps its replica was ahead of the slowest, and the waits for that one. */
static void print_lags(const struct dfg_run *run, struct dfg_json_out *json)
{
	const struct dfg_staleness *staleness = &run->staleness;
	const struct dfg_coordinator *coordinator = dfg_distributed_coordinator(run->distributed);
	uint64_t reads = 0, sum = 0, checked = dfg_coordinator_reads_checked(coordinator);
	dfg_json_key(json, "staleness"), dfg_json_open(json, '{');
	dfg_json_key(json, "steps"), dfg_json_open(json, '[');
	for (size_t i = 0; i < staleness->lags; i++) {
		reads += staleness->lag[i];
		sum += i * staleness->lag[i];
		dfg_json_uint(json, staleness->lag[i]);
		dfg_talk("staleness %zu: %llu reads", i, (unsigned long long)staleness->lag[i]);
	}
	dfg_json_close(json, ']');
	dfg_json_key(json, "bound"), dfg_json_uint(json, run->replication->bound);
	dfg_json_key(json, "mean"), dfg_json_f64(json, (double)sum / (double)reads);
	dfg_json_key(json, "max"), dfg_json_uint(json, staleness->lags - 1);
	dfg_json_key(json, "waits"), dfg_json_uint(json, staleness->waits);
	dfg_json_key(json, "waited_us"), dfg_json_f64(json, (double)staleness->waited_ns / 1e3);
	dfg_json_key(json, "checked"), dfg_json_uint(json, checked);
	dfg_json_close(json, '}');
	dfg_talk("%llu waits for the slowest replica, %.1f us in all", (unsigned long long)staleness->waits,
		(double)staleness->waited_ns / 1e3);
	if (run->replication->verify_staleness)
		dfg_talk("%llu reads of variables checked", (unsigned long long)checked);
}

/* Prints messages, bytes and waits of the last step between workers. */
static void print_traffic(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	print_pairs(distributed, false, json);
	print_pairs(distributed, true, json);
	print_waits(distributed, json);
	print_stale(distributed, json);
	print_overlap(distributed, json);
}

static void print_loop(const struct dfg_loop_report *loop, struct dfg_json_out *json)
{
	struct dfg_text time = {0}, name = {0};
	dfg_text_escape(&name, loop->loop, strlen(loop->loop), 200);
	if (loop->time_load)
		dfg_text_add(&time, ", %.2f (time)", loop->time_load);
	dfg_talk(
		"loop '%s': %u block%s, the largest %.2f times the mean (space)%s; %lld iteration%s in %lld slice%s, scheduled "
		"%llu time%s",
		name.s ? name.s : "", loop->blocks, dfg_plural(loop->blocks), loop->space_load, time.s ? time.s : "",
		(long long)loop->iterations, dfg_plural((uint64_t)loop->iterations), (long long)loop->slices,
		dfg_plural((uint64_t)loop->slices), (unsigned long long)loop->found, dfg_plural(loop->found));
	dfg_json_open(json, '{');
	dfg_json_key(json, "name"), dfg_json_bytes(json, loop->loop, strlen(loop->loop));
	dfg_json_key(json, "blocks"), dfg_json_uint(json, loop->blocks);
	dfg_json_key(json, "space_load"), dfg_json_f64(json, loop->space_load);
	dfg_json_key(json, "time_load"), dfg_json_f64(json, loop->time_load);
	dfg_json_key(json, "iterations"), dfg_json_uint(json, (uint64_t)loop->iterations);
	dfg_json_key(json, "slices"), dfg_json_uint(json, (uint64_t)loop->slices);
	dfg_json_key(json, "found"), dfg_json_uint(json, loop->found);
	dfg_json_close(json, '}');
	dfg_text_release(&time);
	dfg_text_release(&name);
}

/* Prints the blocks of each parallel loop that has run in slices. */
static void print_loops(const struct dfg_run *run, struct dfg_json_out *json)
{
	struct dfg_resource *resource;
	size_t number = 0;
	if (!run->blocks || !run->blocks->blocks)
		return;
	dfg_json_key(json, "loops"), dfg_json_open(json, '[');
	while ((resource = dfg_state_next_of(dfg_session_state(run->model.session), dfg_loop_schedule_kind, &number)))
		print_loop((struct dfg_loop_report *)resource, json);
	dfg_json_close(json, ']');
}

/* Prints the work of the device since the run began. */
static void print_device(const struct dfg_distributed *distributed, struct dfg_json_out *json)
{
	if (!distributed || !distributed->device_workers)
		return;
	const struct dfg_device_counts counts = dfg_device_workers_counts(distributed->device_workers, 0);
	const struct {
		const char *name;
		uint64_t value;
	} lines[] = {
		{"launches", counts.launches},
		{"syncs", counts.waits},
		{"copies_in", counts.copies_in},
		{"copied_in_bytes", counts.bytes_in},
		{"copies_out", counts.copies_out},
		{"copied_out_bytes", counts.bytes_out},
		{"peak_bytes", counts.peak_bytes},
	};
	const char *name = distributed->options.devices->name[1];
	dfg_json_key(json, name), dfg_json_open(json, '{');
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		dfg_talk("%s %s %llu", name, lines[i].name, (unsigned long long)lines[i].value);
		dfg_json_key(json, lines[i].name), dfg_json_uint(json, lines[i].value);
	}
	dfg_json_close(json, '}');
}

void dfg_run_print_stats(const struct dfg_run *run, struct dfg_json_out *json)
{
	const struct dfg_stats *stats = &run->stats;
	const struct {
		const char *name;
		uint64_t value;
	} lines[] = {
		{"peak_bytes", stats->peak_bytes},
		{"live_bytes", stats->live_bytes},
		{"packed_bytes", stats->packed_bytes},
		{"iterations", stats->iterations},
		{"dead_tokens", stats->dead_tokens},
		{"saves", stats->saves},
		{"peak_frames", stats->peak_frames},
		{"groups", stats->groups},
		{"grouped_nodes", stats->grouped},
		{"swapped_out", stats->swapped.out},
		{"swapped_out_bytes", stats->swapped.out_bytes},
		{"swapped_in", stats->swapped.in},
		{"swapped_in_bytes", stats->swapped.in_bytes},
		{"swap_stalled_us", stats->swapped.stalled_ns / 1000},
	};
	dfg_json_open(json, '{');
	size_t count = sizeof lines / sizeof *lines - (run->execution->swap ? 0 : 5);
	for (size_t i = 0; i < count; i++) {
		dfg_talk("%s %llu", lines[i].name, (unsigned long long)lines[i].value);
		dfg_json_key(json, lines[i].name);
		dfg_json_uint(json, lines[i].value);
	}
	print_traffic(run->distributed, json);
	print_device(run->distributed, json);
	print_loops(run, json);
	if (run->staleness.lags)
		print_lags(run, json);
	if (run->staleness.updates) {
		const struct dfg_staleness *staleness = &run->staleness;
		double mean = (double)staleness->sum / (double)staleness->updates;
		dfg_talk(
			"staleness: %.3f updates of others on average, at most %llu", mean, (unsigned long long)staleness->max);
		dfg_json_key(json, "staleness"), dfg_json_open(json, '{');
		dfg_json_key(json, "mean"), dfg_json_f64(json, mean);
		dfg_json_key(json, "max"), dfg_json_uint(json, staleness->max);
		dfg_json_close(json, '}');
	}
	if (run->record.quorum.arg) {
		dfg_talk("dropped %llu", (unsigned long long)run->record.dropped);
		dfg_json_key(json, "dropped"), dfg_json_uint(json, run->record.dropped);
	}
	dfg_json_close(json, '}');
}
