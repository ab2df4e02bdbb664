#define _GNU_SOURCE
#include "remote/ranks.h"

#include "lib/base/pool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Those that have not spoken, up to three by number. */
static struct dfg_err *name_missing(const struct dfg_ranks *ranks, enum dfg_code code, const char *why)
{
	const uint32_t most = 3;
	char numbers[60] = "";
	uint32_t missing = 0;
	if (!ranks->count)
		return DFG_ERR(code, "%s before all %ss had reported in", why, ranks->what);
	for (uint32_t i = 0; i < ranks->count; i++)
		if (!ranks->rank[i].line && missing++ < most)
			snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), "%s%u", *numbers ? ", " : "", i);
	return DFG_ERR(code, "%s before %u of %u %ss had reported where they listen: %s %s%s", why, missing, ranks->count,
		ranks->what, ranks->what, numbers, missing > most ? ", ..." : "");
}

/* The next line, without its newline. */
static struct dfg_err *read_line(const struct dfg_ranks *ranks, uint64_t until, char line[DFG_RANK_LINE])
{
	for (size_t at = 0; at < DFG_RANK_LINE; at++) {
		struct pollfd ready = {ranks->fd, POLLIN, 0};
		uint64_t now = dfg_now();
		int ms = until == UINT64_MAX ? -1 : until > now ? (int)((until - now) / 1000000) + 1 : 0;
		int polled = poll(&ready, 1, ms);
		if (polled == 0)
			return name_missing(ranks, DFG_DEADLINE, "timed out");
		ssize_t got = polled < 0 ? -1 : read(ranks->fd, line + at, 1);
		if (got < 0 && errno == EINTR) {
			at--;
			continue;
		}
		if (got <= 0)
			return name_missing(ranks, DFG_UNAVAILABLE, "the job ended");
		if (line[at] == '\n') {
			line[at] = '\0';
			return NULL;
		}
	}
	return DFG_ERR(DFG_PROTOCOL,
		"a %s printed a line of more than %d characters, expected the address on which it listens", ranks->what,
		DFG_RANK_LINE);
}

static struct dfg_err *set_count(struct dfg_ranks *ranks, uint64_t count)
{
	if (!count || count > DFG_HOSTS_MOST)
		return DFG_ERR(DFG_CONFIG, "the job has %llu %ss, expected from 1 to %d, as each is a worker",
			(unsigned long long)count, ranks->what, DFG_HOSTS_MOST);
	ranks->count = (uint32_t)count;
	ranks->rank = dfg_arena_zeros(&ranks->arena, count, sizeof *ranks->rank);
	return ranks->rank ? NULL : dfg_no_memory("the ranks");
}

static const char *text_of(const struct dfg_json *json, const char *key)
{
	const struct dfg_json *value = dfg_json_get(json, key);
	return value && value->kind == DFG_JSON_STRING ? value->string : "";
}

static struct dfg_err *take_rank(struct dfg_ranks *ranks, const struct dfg_json *json, const char *line)
{
	const struct dfg_json *number = dfg_json_get(json, "rank");
	if (!number || !number->is_natural || number->natural >= ranks->count || ranks->rank[number->natural].line)
		return DFG_ERR(DFG_PROTOCOL, "a %s did not report a number below %u that no other has: '%.80s'", ranks->what,
			ranks->count, line);
	struct dfg_rank *rank = &ranks->rank[number->natural];
	rank->line = dfg_arena_copy(&ranks->arena, line, strlen(line));
	rank->machine = text_of(json, "machine");
	rank->reach = text_of(json, "reach");
	rank->name =
		dfg_arena_print(&ranks->arena, "%s %u (%s)", ranks->what, (unsigned)number->natural, text_of(json, "host"));
	if (!rank->line || !rank->name)
		return dfg_no_memory("the ranks");
	const struct dfg_json *code = dfg_json_get(json, "code");
	if (!code || !code->is_natural)
		return NULL;
	return dfg_err_note(DFG_ERR((enum dfg_code)code->natural, "%s", text_of(json, "error")), "%s", rank->name);
}

/* {"ranks":4}, {"error":..,"code":..} of the job, or the line of a rank. */
static struct dfg_err *take_line(struct dfg_ranks *ranks, const char *line)
{
	struct dfg_json *json;
	const char *label = line + strspn(line, " 0123456789"); /* of srun: "2: {..}" */
	line = *label == ':' ? label + 1 + (label[1] == ' ') : line;
	struct dfg_err *err = dfg_json_read(line, strlen(line), &ranks->arena, &json);
	if (err && err->code != DFG_MEMORY) {
		dfg_err_free(err);
		return DFG_ERR(DFG_PROTOCOL, "a %s did not answer as a worker of dfg: '%.80s'", ranks->what, line);
	}
	if (err)
		return err;
	const struct dfg_json *count = dfg_json_get(json, "ranks"), *code = dfg_json_get(json, "code");
	if (!ranks->count && count && count->is_natural)
		return set_count(ranks, count->natural);
	if (!ranks->count)
		return DFG_ERR(
			code && code->is_natural ? (enum dfg_code)code->natural : DFG_PROTOCOL, "%s", text_of(json, "error"));
	return take_rank(ranks, json, line);
}

static bool are_all_there(const struct dfg_ranks *ranks)
{
	for (uint32_t i = 0; i < ranks->count; i++)
		if (!ranks->rank[i].line)
			return false;
	return ranks->count;
}

struct dfg_err *dfg_ranks_meet(struct dfg_ranks *ranks)
{
	char line[DFG_RANK_LINE];
	uint64_t until =
		ranks->seconds > 0 && ranks->seconds < 1e9 ? dfg_now() + (uint64_t)(ranks->seconds * 1e9) : UINT64_MAX;
	if (ranks->count && !ranks->rank)
		DFG_TRY(set_count(ranks, ranks->count));
	while (!ranks->met) {
		DFG_TRY(read_line(ranks, until, line));
		DFG_TRY(take_line(ranks, line));
		ranks->met = are_all_there(ranks);
	}
	return NULL;
}

/* The first rank on the machine of this one. */
static uint32_t machine_of(const struct dfg_ranks *ranks, uint32_t number)
{
	for (uint32_t i = 0; i < number; i++)
		if (!strcmp(ranks->rank[i].machine, ranks->rank[number].machine))
			return i;
	return number;
}

struct dfg_err *dfg_ranks_hosts(const struct dfg_ranks *ranks, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	const char **device = dfg_arena_zeros(arena, ranks->count, sizeof *device);
	struct dfg_worker_host *worker = dfg_arena_zeros(arena, ranks->count, sizeof *worker);
	char here[DFG_MACHINE_SIZE];
	dfg_ranks_machine(here);
	bool all_here = ranks->count && !strcmp(ranks->rank[0].machine, here);
	if (!device || !worker)
		return dfg_no_memory("the ranks");
	for (uint32_t i = 0; i < ranks->count; i++)
		all_here &= machine_of(ranks, i) == 0;
	for (uint32_t i = 0; i < ranks->count; i++) {
		worker[i] = (struct dfg_worker_host){.label = dfg_arena_print(arena, "w%u", i),
			.entry = i,
			.name = ranks->rank[i].name,
			.device = dfg_arena_print(arena, "/job:worker/task:%u/device:CPU:0", i),
			.job = "worker",
			.task = i,
			.machine = machine_of(ranks, i),
			.local = all_here && ranks->in_memory,
			.attached = true};
		if (!(device[i] = worker[i].device) || !worker[i].label)
			return dfg_no_memory("the ranks");
	}
	*out_hosts = (struct dfg_hosts){worker, ranks->count, device};
	return NULL;
}

void dfg_ranks_release(struct dfg_ranks *ranks)
{
	dfg_arena_release(&ranks->arena);
	explicit_bzero(ranks->secret, sizeof ranks->secret);
}

static void read_text(const char *path, char *out, size_t capacity)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, out, capacity - 1) : 0;
	out[got > 0 ? got : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Processes of one kernel and one network, which the addresses of shared memory belong to. */
void dfg_ranks_machine(char out_machine[DFG_MACHINE_SIZE])
{
	char boot[64], host[32] = "", net[32];
	read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	gethostname(host, sizeof host - 1);
	ssize_t length = readlink("/proc/self/ns/net", net, sizeof net - 1);
	net[length > 0 ? length : 0] = '\0';
	snprintf(out_machine, DFG_MACHINE_SIZE, "%s %s %s", boot, net, host);
}

static bool reaches_out(const struct sockaddr *at)
{
	if (at && at->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 != 127;
	if (!at || at->sa_family != AF_INET6)
		return false;
	const struct in6_addr *address = &((const struct sockaddr_in6 *)at)->sin6_addr;
	return !IN6_IS_ADDR_LOOPBACK(address) && !IN6_IS_ADDR_LINKLOCAL(address);
}

static bool print_address(const struct sockaddr *at, char out[DFG_REACH_SIZE])
{
	socklen_t size = at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	return !getnameinfo(at, size, out, DFG_REACH_SIZE, NULL, 0, NI_NUMERICHOST);
}

/* Debian gives a machine's own name a loopback address. */
static bool find_by_name(char out[DFG_REACH_SIZE])
{
	const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
	char host[256] = "";
	struct addrinfo *found;
	bool good = false;
	if (gethostname(host, sizeof host - 1) || getaddrinfo(host, NULL, &wanted, &found))
		return false;
	for (const struct addrinfo *at = found; at && !good; at = at->ai_next)
		good = reaches_out(at->ai_addr) && print_address(at->ai_addr, out);
	freeaddrinfo(found);
	return good;
}

void dfg_ranks_reach(char out_address[DFG_REACH_SIZE])
{
	struct ifaddrs *all;
	if (find_by_name(out_address))
		return;
	out_address[0] = '\0';
	if (getifaddrs(&all))
		return;
	bool good = false;
	for (const struct ifaddrs *at = all; at && !good; at = at->ifa_next)
		good = (at->ifa_flags & IFF_UP) && reaches_out(at->ifa_addr) && print_address(at->ifa_addr, out_address);
	freeifaddrs(all);
}

void dfg_ranks_put_self(uint32_t number, const char *host, struct dfg_json_out *json)
{
	char machine[DFG_MACHINE_SIZE], reach[DFG_REACH_SIZE];
	dfg_ranks_machine(machine);
	dfg_ranks_reach(reach);
	dfg_json_key(json, "rank"), dfg_json_uint(json, number);
	dfg_json_key(json, "host"), dfg_json_string(json, host);
	dfg_json_key(json, "machine"), dfg_json_string(json, machine);
	dfg_json_key(json, "reach"), dfg_json_string(json, reach);
}
