#include "remote/coordinator_private.h"

static struct dfg_err *ask_all(struct dfg_coordinator *coordinator, struct dfg_coordinator_bench *bench)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++) {
		struct dfg_packet packet = {.kind = DFG_PACKET_BENCH};
		dfg_packet_put(&packet, bench->bytes / sizeof(float));
		dfg_packet_put(&packet, bench->calls);
		dfg_packet_put(&packet, bench->verified);
		dfg_coordinator_ask(coordinator, w, &packet);
	}
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "measuring the all-reduce"));
	struct dfg_packet *answer = &coordinator->state[0].answer;
	bench->p50_ns = dfg_packet_get(answer);
	bench->p99_ns = dfg_packet_get(answer);
	bench->ns = dfg_packet_get(answer);
	return dfg_packet_check(answer);
}

struct dfg_err *dfg_coordinator_bench(struct dfg_coordinator *coordinator, struct dfg_coordinator_bench *bench)
{
	pthread_mutex_lock(&coordinator->request_lock);
	struct dfg_err *err = ask_all(coordinator, bench);
	dfg_coordinator_drop_answers(coordinator);
	pthread_mutex_unlock(&coordinator->request_lock);
	return err;
}
