#include "app/placement.h"

#include "app/server_placement.h"
#include "app/spread_samples.h"
#include "remote/hosts_lanes.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct dfg_err *dfg_placement_hosts(
	const struct dfg_placement *placement, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	if (!placement->hosts)
		return DFG_ERR(DFG_USAGE, "--hosts is missing: give a file of hosts, or a list such as alpha,local:2");
	if (placement->ranks) {
		DFG_TRY(dfg_err_note(dfg_ranks_meet(placement->ranks), "--hosts %s", placement->hosts));
		return dfg_ranks_hosts(placement->ranks, arena, out_hosts);
	}
	if (!strcmp(placement->hosts, "mpi") || !strcmp(placement->hosts, "slurm"))
		return DFG_ERR(DFG_USAGE,
			"--hosts %s is for dfg run, partition, test and bench, whose workers are the ranks of a job: give local:N "
			"here",
			placement->hosts);
	if (!placement->secret_file)
		return dfg_err_note(dfg_hosts_read(placement->hosts, arena, out_hosts), "--hosts");
	DFG_TRY(dfg_err_note(dfg_hosts_read_attached(placement->hosts, arena, out_hosts), "--hosts"));
	for (uint32_t i = 0; i < out_hosts->count; i++)
		if (out_hosts->worker[i].attached)
			return NULL;
	return DFG_ERR(DFG_DATA,
		"--secret-file is for workers that run already, but no host of --hosts has the address of such a worker, "
		"tcp=ADDR:PORT");
}

struct dfg_err *dfg_placement_first_replica(
	const struct dfg_hosts *hosts, uint32_t replicas, struct dfg_hosts *out_first)
{
	*out_first = *hosts;
	if (replicas < 2)
		return NULL;
	out_first->count = hosts->count / replicas;
	if (replicas > hosts->count || hosts->count % replicas)
		return DFG_ERR(
			DFG_DATA, "--hosts has %u workers, expected a multiple of --replicas %u", hosts->count, replicas);
	return NULL;
}

struct dfg_err *dfg_placement_with_servers(const struct dfg_hosts *hosts, uint32_t replicas, struct dfg_arena *arena,
	struct dfg_hosts *out_hosts, struct dfg_hosts *out_first)
{
	DFG_TRY(dfg_hosts_make_lanes(hosts, replicas, arena, out_hosts));
	*out_first = *out_hosts;
	out_first->count = out_hosts->count / replicas;
	return NULL;
}

/* "random:SEED" is not a pattern. */
static bool is_random(const char *word)
{
	static const char random[] = "random:";
	return !strncmp(word, random, sizeof random - 1) && !strchr(word, '=');
}

static struct dfg_err *read_seed(const char *word, uint64_t *out_seed)
{
	const char *digits = strchr(word, ':') + 1;
	char *end;
	errno = 0;
	*out_seed = strtoull(digits, &end, 10);
	if (errno || *end || *digits < '0' || *digits > '9')
		return DFG_ERR(DFG_USAGE, "--place must be random:SEED, not '%s'", word);
	return NULL;
}

/* "layers*=w1": the name of a device contains no equals sign. */
static struct dfg_err *read_request(
	const char *word, const struct dfg_hosts *hosts, struct dfg_arena *arena, struct dfg_place_request *out_request)
{
	const char *equals = strrchr(word, '=');
	if (!equals || equals == word || !equals[1])
		return DFG_ERR(DFG_USAGE, "--place must be PATTERN=DEVICE, not '%s'", word);
	*out_request =
		(struct dfg_place_request){.pattern = dfg_arena_copy(arena, word, (size_t)(equals - word)), .text = word};
	if (!out_request->pattern)
		return dfg_no_memory("the placement requests");
	return dfg_err_note(dfg_place_device(equals + 1, hosts->device, hosts->count, &out_request->device), "--place");
}

const char *dfg_data_host(const char *word)
{
	const char *equals = strchr(word, '='), *at = equals ? strstr(equals, ":@") : NULL;
	if (equals && dfg_spread_is(equals + 1))
		return NULL;
	return at && dfg_host_name_valid(equals + 1, (size_t)(at - equals - 1)) && at[2] ? equals + 1 : NULL;
}

/*
 * A tensor fed from a remote file is placed where the file is, unless the user places it; "x:0" is a tensor of 'x'. A host
 * that is not one of these belongs to another replica, or does not exist, which opening the file reports.
 */
static struct dfg_err *follow_data(const char *word, const struct dfg_hosts *hosts, struct dfg_arena *arena,
	struct dfg_place_request *request, size_t *count)
{
	const char *host = dfg_data_host(word);
	const char *name = dfg_arena_copy(arena, host, strcspn(host, ":"));
	const char *node = dfg_arena_copy(arena, word, strcspn(word, ":="));
	if (!name || !node)
		return dfg_no_memory("the placement requests");
	request[*count] = (struct dfg_place_request){.pattern = node, .text = word};
	struct dfg_err *elsewhere = dfg_hosts_find(hosts, name, &request[*count].device);
	*count += !elsewhere;
	dfg_err_free(elsewhere);
	return NULL;
}

static struct dfg_err *follow_all_data(const struct dfg_placement *placement, const struct dfg_hosts *hosts,
	struct dfg_arena *arena, struct dfg_place_request *request, size_t *count)
{
	for (size_t list = 0; list < sizeof placement->data / sizeof *placement->data; list++) {
		const struct dfg_words_list *words = placement->data[list];
		for (size_t i = 0; words && i < words->count; i++)
			if (dfg_data_host(words->word[i]))
				DFG_TRY(follow_data(words->word[i], hosts, arena, request, count));
	}
	return NULL;
}

static size_t data_words(const struct dfg_placement *placement)
{
	size_t count = 0;
	for (size_t list = 0; list < sizeof placement->data / sizeof *placement->data; list++)
		count += placement->data[list] ? placement->data[list]->count : 0;
	return count;
}

static struct dfg_err *read_requests(const struct dfg_placement *placement, const struct dfg_hosts *hosts,
	struct dfg_arena *arena, struct dfg_place_options *out_options)
{
	const struct dfg_words_list *words = &placement->place;
	struct dfg_place_request *request = dfg_arena_zeros(arena, words->count + data_words(placement), sizeof *request);
	if (!request)
		return dfg_no_memory("the placement requests");
	*out_options = (struct dfg_place_options){.device = hosts->device, .devices = hosts->count, .request = request};
	DFG_TRY(follow_all_data(placement, hosts, arena, request, &out_options->requests));
	for (size_t i = 0; i < words->count; i++) {
		if (is_random(words->word[i])) {
			DFG_TRY(read_seed(words->word[i], &out_options->seed));
			out_options->random = true;
		} else {
			DFG_TRY(read_request(words->word[i], hosts, arena, &request[out_options->requests++]));
		}
	}
	return NULL;
}

struct dfg_err *dfg_placement_check(
	const struct dfg_placement *placement, const struct dfg_hosts *hosts, struct dfg_arena *arena)
{
	struct dfg_place_options options;
	return read_requests(placement, hosts, arena, &options);
}

/* A graph file must have nodes: an empty part gets one. */
static struct dfg_err *fill_empty(struct dfg_parts *parts, const struct dfg_hosts *hosts, struct dfg_arena *arena)
{
	for (uint32_t d = 0; d < parts->parts; d++) {
		struct dfg_node node = {.op_name = "NoOp", .op = dfg_op_find("NoOp"), .device = hosts->device[d]};
		uint32_t number;
		if (parts->part[d].count)
			continue;
		if (!(node.name = dfg_arena_print(arena, "_dfg/empty/%u", d)))
			return dfg_no_memory("the placement requests");
		DFG_TRY(dfg_graph_add(&parts->part[d], &node, &number));
	}
	return NULL;
}

/* Puts the requests for variables before those of the user, which take precedence. */
static struct dfg_err *add_servers(const struct dfg_graph *graph, uint32_t workers, uint32_t servers,
	struct dfg_arena *arena, struct dfg_place_options *options)
{
	struct dfg_place_request *first;
	size_t count;
	DFG_TRY(dfg_server_requests(graph, workers, servers, arena, &first, &count));
	struct dfg_place_request *all = dfg_arena_zeros(arena, count + options->requests, sizeof *all);
	if (!all)
		return dfg_no_memory("the placement requests");
	memcpy(all, first, count * sizeof *all);
	if (options->requests)
		memcpy(all + count, options->request, options->requests * sizeof *all);
	options->request = all;
	options->requests += count;
	return NULL;
}

struct dfg_err *dfg_placement_place(const struct dfg_placement *placement, const struct dfg_graph *graph,
	const struct dfg_facts *facts, const struct dfg_hosts *hosts, const struct dfg_report *report,
	struct dfg_arena *arena, struct dfg_placed **out_placed)
{
	struct dfg_place_options options;
	struct dfg_text notes = {0};
	uint32_t servers = dfg_hosts_lanes(hosts);
	DFG_TRY(read_requests(placement, hosts, arena, &options));
	if (servers)
		DFG_TRY(add_servers(graph, hosts->count - servers, servers, arena, &options));
	options.notes = &notes;
	struct dfg_err *err = dfg_place(graph, facts, &options, arena, out_placed);
	if (!err && servers)
		err = dfg_server_check(graph, *out_placed, hosts->count - servers);
	err = err ? err : dfg_text_check(&notes);
	if (!err && notes.length)
		dfg_report_note(report, "%s: note: %.*s", graph->source, (int)notes.length - 1, notes.s);
	dfg_text_release(&notes);
	return err;
}

struct dfg_err *dfg_placement_partition(struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_hosts *hosts, const struct dfg_placed *placed, struct dfg_arena *arena,
	struct dfg_parts *out_parts)
{
	const struct dfg_place_options options = {.device = hosts->device, .devices = hosts->count};
	DFG_TRY(dfg_partition(graph, facts, placed, &options, arena, out_parts));
	return fill_empty(out_parts, hosts, arena);
}

static bool matches_any(const struct dfg_graph *graph, const char *pattern)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (!fnmatch(pattern, graph->node[n].name, 0))
			return true;
	return false;
}

void dfg_placement_warn(
	const struct dfg_placement *placement, const struct dfg_graph *graph, const struct dfg_report *report)
{
	char pattern[1000];
	for (size_t i = 0; i < placement->place.count; i++) {
		const char *word = placement->place.word[i], *equals = strrchr(word, '=');
		size_t length = equals ? (size_t)(equals - word) : sizeof pattern;
		if (length >= sizeof pattern || is_random(word))
			continue;
		memcpy(pattern, word, length);
		pattern[length] = '\0';
		if (!matches_any(graph, pattern))
			dfg_report_note(report, "%s: warning: --place '%s': no node matches", graph->source, word);
	}
}
