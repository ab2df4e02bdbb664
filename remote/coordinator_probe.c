#include "remote/coordinator_private.h"

#include <stdlib.h>
#include <string.h>

static void put_workers(struct dfg_packet *packet, const uint32_t *list, uint32_t count)
{
	dfg_packet_put(packet, count);
	for (uint32_t i = 0; i < count; i++)
		dfg_packet_put(packet, list[i]);
}

static uint64_t warmup_of(const struct dfg_coordinator_probe *probe)
{
	return 2 + probe->calls / 10;
}

static void ask(struct dfg_coordinator *coordinator, const struct dfg_coordinator_probe *probe, uint32_t worker)
{
	struct dfg_packet packet = {.kind = DFG_PACKET_PROBE};
	dfg_packet_put(&packet, (uint64_t)probe->payload.count);
	dfg_packet_put(&packet, probe->payload.pattern);
	dfg_packet_put(&packet, probe->payload.serialized);
	dfg_packet_put(&packet, probe->echoes);
	dfg_packet_put(&packet, probe->verified);
	dfg_packet_put(&packet, probe->window);
	dfg_packet_put(&packet, warmup_of(probe) + probe->calls);
	dfg_packet_put(&packet, warmup_of(probe));
	put_workers(&packet, probe->client, probe->clients);
	put_workers(&packet, probe->server, probe->servers);
	dfg_coordinator_ask(coordinator, worker, &packet);
}

/* Adds what a client has measured; times receives its calls. */
static struct dfg_err *read_client(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_probe *probe, uint32_t worker, uint64_t *times)
{
	struct dfg_packet *answer = &coordinator->state[worker].answer;
	struct dfg_tensor list;
	uint64_t ns = dfg_packet_get(answer);
	probe->coding_ns += (double)dfg_packet_get(answer);
	dfg_packet_get_tensor(answer, &list);
	struct dfg_err *err = dfg_packet_check(answer);
	bool fits = list.dtype == DFG_U64 && list.shape.rank == 1 && (uint64_t)list.shape.dim[0] == probe->calls;
	if (!err && !fits)
		err = DFG_ERR(DFG_PROTOCOL, "worker %u reported other measurements than the requested ones", worker);
	if (!err)
		memcpy(times, list.data, probe->calls * sizeof *times);
	probe->calls_per_s += (double)probe->calls * 1e9 / (double)(ns + 1);
	dfg_tensor_release(&list);
	return err;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static struct dfg_err *read_answers(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_probe *probe, uint64_t *times)
{
	const uint64_t all = probe->calls * probe->clients;
	probe->calls_per_s = probe->coding_ns = 0;
	for (uint32_t i = 0; i < probe->clients; i++)
		DFG_TRY(read_client(coordinator, probe, probe->client[i], times + i * probe->calls));
	for (uint32_t i = 0; i < probe->servers; i++) {
		struct dfg_packet *answer = &coordinator->state[probe->server[i]].answer;
		(void)dfg_packet_get(answer); /* a server's time is that of its clients */
		probe->coding_ns += (double)dfg_packet_get(answer);
	}
	qsort(times, all, sizeof *times, compare);
	probe->p50_ns = times[all / 2];
	probe->p99_ns = times[all * 99 / 100];
	probe->coding_ns /= (double)((warmup_of(probe) + probe->calls) * probe->clients);
	return NULL;
}

static struct dfg_err *measure(
	struct dfg_coordinator *coordinator, struct dfg_coordinator_probe *probe, uint64_t *times)
{
	for (uint32_t i = 0; i < probe->servers; i++)
		ask(coordinator, probe, probe->server[i]);
	for (uint32_t i = 0; i < probe->clients; i++)
		ask(coordinator, probe, probe->client[i]);
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "measuring calls"));
	return read_answers(coordinator, probe, times);
}

struct dfg_err *dfg_coordinator_probe(struct dfg_coordinator *coordinator, struct dfg_coordinator_probe *probe)
{
	uint64_t *times = dfg_zeros(probe->calls * probe->clients, sizeof *times);
	if (!times)
		return dfg_no_memory("the times of the calls");
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = measure(coordinator, probe, times);
	dfg_coordinator_drop_answers(coordinator);
	pthread_mutex_unlock(&coordinator->request_lock);
	dfg_free(times);
	return err;
}
