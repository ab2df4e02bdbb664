#include "remote/worker_config.h"

#include "lib/base/arena.h"

static void put_session(struct dfg_packet *packet, const struct dfg_session_options *session)
{
	dfg_packet_put(packet, (uint64_t)session->threads);
	dfg_packet_put(packet, session->seed);
	dfg_packet_put(packet, session->no_opt);
	dfg_packet_put(packet, session->no_compiled_loops);
	dfg_packet_put(packet, session->denormals == DFG_KEEP);
	dfg_packet_put(packet, session->winograd);
	dfg_packet_put(packet, session->check_numerics);
	dfg_packet_put(packet, session->random_schedule);
	dfg_packet_put(packet, session->schedule_seed);
	dfg_packet_put(packet, (uint64_t)session->max_iterations);
	dfg_packet_put_real(packet, session->timeout);
}

static void get_session(struct dfg_packet *packet, struct dfg_session_options *out_session)
{
	*out_session = (struct dfg_session_options){0};
	out_session->threads = (int)dfg_packet_get_below(packet, 1 << 16);
	out_session->seed = dfg_packet_get(packet);
	out_session->no_opt = dfg_packet_get_bool(packet);
	out_session->no_compiled_loops = dfg_packet_get_bool(packet);
	out_session->denormals = dfg_packet_get_bool(packet) ? DFG_KEEP : DFG_FLUSH;
	out_session->winograd = (enum dfg_winograd)dfg_packet_get_below(packet, DFG_NO_WINOGRAD + 1);
	out_session->check_numerics = dfg_packet_get_bool(packet);
	out_session->random_schedule = dfg_packet_get_bool(packet);
	out_session->schedule_seed = dfg_packet_get(packet);
	out_session->max_iterations = (int64_t)dfg_packet_get(packet);
	out_session->timeout = dfg_packet_get_real(packet);
}

double dfg_worker_config_link_lease(double lease, uint32_t workers)
{
	const uint32_t few = 16;
	const double most = 1e6; /* seconds; in milliseconds it fits 32 bits */
	double scaled = workers > few ? lease * workers / few : lease;
	return scaled < most ? scaled : most;
}

void dfg_peer_put(struct dfg_packet *packet, const struct dfg_peer *peer)
{
	dfg_packet_put_text(packet, peer->name);
	dfg_packet_put_text(packet, peer->device);
	dfg_packet_put_text(packet, peer->transport);
	dfg_packet_put_text(packet, peer->address);
	dfg_packet_put_text(packet, peer->fingerprint);
	dfg_packet_put_text(packet, peer->shm);
}

void dfg_peer_get(struct dfg_packet *packet, struct dfg_peer *out_peer)
{
	out_peer->name = dfg_packet_get_text(packet);
	out_peer->device = dfg_packet_get_text(packet);
	out_peer->transport = dfg_packet_get_text(packet);
	out_peer->address = dfg_packet_get_text(packet);
	out_peer->fingerprint = dfg_packet_get_text(packet);
	out_peer->shm = dfg_packet_get_text(packet);
}

void dfg_worker_config_put(struct dfg_packet *packet, const struct dfg_worker_config *config)
{
	put_session(packet, &config->session);
	dfg_packet_put(packet, config->trace);
	dfg_packet_put(packet, config->elastic);
	dfg_packet_put_real(packet, config->lease);
	dfg_packet_put_real(packet, config->seconds);
	dfg_packet_put(packet, config->self);
	dfg_packet_put(packet, config->replicas);
	dfg_packet_put(packet, config->servers);
	dfg_packet_put(packet, config->async);
	dfg_packet_put(packet, config->staleness);
	dfg_packet_put(packet, config->verify_staleness);
	dfg_packet_put(packet, config->spmd);
	dfg_packet_put(packet, config->shards);
	dfg_packet_put(packet, config->shared);
	dfg_packet_put(packet, config->algorithm);
	dfg_packet_put(packet, config->workers);
	for (uint32_t i = 0; i < config->workers; i++)
		dfg_peer_put(packet, &config->peer[i]);
}

struct dfg_err *dfg_worker_config_get(
	struct dfg_packet *packet, struct dfg_arena *arena, struct dfg_worker_config *out_setup)
{
	get_session(packet, &out_setup->session);
	out_setup->trace = dfg_packet_get_bool(packet);
	out_setup->elastic = dfg_packet_get_bool(packet);
	out_setup->lease = dfg_packet_get_real(packet);
	out_setup->seconds = dfg_packet_get_real(packet);
	out_setup->self = dfg_packet_get_u32(packet);
	out_setup->replicas = dfg_packet_get_u32(packet);
	out_setup->servers = dfg_packet_get_u32(packet);
	out_setup->async = dfg_packet_get_bool(packet);
	out_setup->staleness = dfg_packet_get(packet);
	out_setup->verify_staleness = dfg_packet_get_bool(packet);
	out_setup->spmd = dfg_packet_get_bool(packet);
	out_setup->shards = dfg_packet_get_u32(packet);
	out_setup->shared = dfg_packet_get_bool(packet);
	out_setup->algorithm = (enum dfg_algorithm)dfg_packet_get_below(packet, DFG_ALGORITHM_RING + 1);
	out_setup->workers = dfg_packet_get_count(packet, 6 * sizeof(uint64_t));
	out_setup->peer = dfg_arena_zeros(arena, out_setup->workers, sizeof *out_setup->peer);
	if (!out_setup->peer)
		return dfg_no_memory("the other workers");
	for (uint32_t i = 0; i < out_setup->workers; i++)
		dfg_peer_get(packet, &out_setup->peer[i]);
	DFG_TRY(dfg_packet_check(packet));
	bool fits =
		out_setup->replicas && out_setup->workers % out_setup->replicas == 0 && out_setup->shards <= DFG_SHARDS_MOST;
	if (!fits)
		return DFG_ERR(DFG_PROTOCOL, "the launcher gave %u replicas and %u shards to %u workers", out_setup->replicas,
			out_setup->shards, out_setup->workers);
	if (out_setup->servers > out_setup->workers / out_setup->replicas)
		return DFG_ERR(DFG_PROTOCOL, "the launcher gave a replica of %u workers %u parameter servers",
			out_setup->workers / out_setup->replicas, out_setup->servers);
	if (out_setup->self >= out_setup->workers)
		return DFG_ERR(DFG_PROTOCOL, "the launcher gave this worker the number %u in a run of %u workers",
			out_setup->self, out_setup->workers);
	return NULL;
}
