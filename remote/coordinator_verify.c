#include "remote/coordinator_private.h"

#include <string.h>

/* The variables of all replicas are compared by digests; a test may damage one. */

/* A variable of a part: its name and its digest on each member. */
struct digests {
	const char *name;
	uint64_t *digest; /* by replica */
	bool *known;
};

static struct dfg_err *get_digests(
	struct dfg_coordinator *coordinator, uint32_t worker, struct digests *list, uint32_t count, bool *out_all)
{
	struct dfg_packet *answer = &coordinator->state[worker].answer;
	uint32_t n = dfg_packet_get_count(answer, 2 * sizeof(uint64_t) + 1), found = 0;
	for (uint32_t i = 0; i < n; i++) {
		const char *name = dfg_packet_get_text(answer);
		uint64_t digest = dfg_packet_get(answer);
		for (uint32_t k = 0; k < count; k++) {
			uint32_t at = (i + k) % count; /* most replicas list them in the same order */
			if (strcmp(list[at].name, name) != 0)
				continue;
			list[at].digest[worker / coordinator->width] = digest;
			list[at].known[worker / coordinator->width] = true;
			found++;
			break;
		}
	}
	*out_all = found == count;
	return dfg_packet_check(answer);
}

/* The member whose digest the fewest others have, the last of them; DFG_NONE: all have the same. */
static uint32_t find_outlier(const struct dfg_coordinator *coordinator, const struct digests *one)
{
	uint32_t outlier = DFG_NONE, fewest = coordinator->backend.replicas, replicas = coordinator->options.replicas;
	for (uint32_t r = 0; r < replicas; r++) {
		uint32_t same = 0;
		for (uint32_t k = 0; k < replicas; k++)
			same +=
				coordinator->replica[k].member && one->known[k] && one->known[r] && one->digest[k] == one->digest[r];
		if (!coordinator->replica[r].member || same == coordinator->backend.replicas || same > fewest)
			continue;
		fewest = same;
		outlier = r;
	}
	return outlier;
}

static struct dfg_err *compare(const struct dfg_coordinator *coordinator, const struct digests *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t outlier = find_outlier(coordinator, &list[i]);
		if (outlier != DFG_NONE)
			return DFG_ERR(DFG_BUG,
				"replica %u (%s): variable '%s' differs from that of the other replicas, although all have had the "
				"same "
				"updates: a memory or processor fault, or an internal error of dfg",
				outlier, coordinator->options.peer[outlier * coordinator->width].name, list[i].name);
	}
	return NULL;
}

/* The names are those that the lead's worker of the part has answered. */
static struct dfg_err *list_names(struct dfg_coordinator *coordinator, uint32_t part, struct dfg_arena *scratch,
	struct digests **out_list, uint32_t *out_count)
{
	uint32_t replicas = coordinator->options.replicas;
	struct dfg_packet *answer = &coordinator->state[dfg_coordinator_lead_worker(coordinator, part)].answer;
	size_t at = answer->at;
	*out_count = dfg_packet_get_count(answer, 2 * sizeof(uint64_t) + 1);
	*out_list = dfg_arena_zeros(scratch, *out_count, sizeof **out_list);
	for (uint32_t i = 0; i < *out_count && *out_list; i++) {
		struct digests *one = &(*out_list)[i];
		one->name = dfg_packet_get_text(answer);
		(void)dfg_packet_get(answer);
		one->digest = dfg_arena_zeros(scratch, replicas, sizeof *one->digest);
		one->known = dfg_arena_zeros(scratch, replicas, sizeof *one->known);
		if (!one->digest || !one->known)
			return dfg_no_memory("the digests of the replicas");
	}
	answer->at = at;
	return *out_list ? NULL : dfg_no_memory("the digests of the replicas");
}

static struct dfg_err *compare_part(struct dfg_coordinator *coordinator, uint32_t part)
{
	struct dfg_arena scratch = {0};
	struct digests *list;
	uint32_t count;
	struct dfg_err *err = list_names(coordinator, part, &scratch, &list, &count);
	for (uint32_t r = 0; r < coordinator->options.replicas && !err; r++) {
		bool all = true;
		uint32_t worker = r * coordinator->width + part;
		if (coordinator->replica[r].member)
			err = get_digests(coordinator, worker, list, count, &all);
		if (!err && !all)
			err = DFG_ERR(DFG_BUG, "internal error: replica %u (%s) did not report all variables", r,
				coordinator->options.peer[worker].name);
	}
	if (!err)
		err = compare(coordinator, list, count);
	dfg_arena_release(&scratch);
	return err;
}

struct dfg_err *dfg_coordinator_verify(struct dfg_coordinator *coordinator)
{
	for (uint32_t w = 0; w < coordinator->options.workers; w++)
		if (dfg_coordinator_takes_part(coordinator, w))
			dfg_coordinator_ask(coordinator, w, &(struct dfg_packet){.kind = DFG_PACKET_DIGESTS});
	DFG_TRY(dfg_coordinator_answers_in(coordinator, "comparing the replicas"));
	struct dfg_err *err = NULL;
	for (uint32_t part = 0; part < coordinator->width && !err; part++)
		err = compare_part(coordinator, part);
	dfg_coordinator_drop_answers(coordinator);
	return err;
}

/* Writes the request that inverts a bit of the first variable that has any bytes. */
static struct dfg_err *put_flipped(struct dfg_packet *answer, struct dfg_packet *request)
{
	uint32_t count = dfg_packet_get_count(answer, 2 * sizeof(uint64_t));
	for (uint32_t i = 0; i < count; i++) {
		struct dfg_tensor value, copy;
		const char *name = dfg_packet_get_text(answer);
		dfg_packet_get_tensor(answer, &value);
		DFG_TRY(dfg_packet_check(answer));
		size_t bytes = dfg_dtype_is_object(value.dtype) ? 0 : dfg_tensor_bytes(&value);
		struct dfg_err *err = bytes ? dfg_tensor_new(value.dtype, &value.shape, &copy) : NULL;
		if (bytes && !err) {
			memcpy(copy.data, value.data, bytes);
			((uint8_t *)copy.data)[0] ^= 1;
			dfg_packet_put(request, 1);
			dfg_packet_put_text(request, name);
			dfg_packet_put_tensor(request, &copy);
			dfg_tensor_release(&copy);
		}
		dfg_tensor_release(&value);
		if (err || bytes)
			return err;
	}
	dfg_packet_put(request, 0);
	return NULL;
}

struct dfg_err *dfg_coordinator_damage(struct dfg_coordinator *coordinator, uint32_t replica)
{
	struct dfg_packet request = {.kind = DFG_PACKET_ADOPT};
	uint32_t worker = replica * coordinator->width;
	if (replica >= coordinator->options.replicas || !coordinator->replica[replica].member)
		return NULL;
	dfg_coordinator_ask(coordinator, worker, &(struct dfg_packet){.kind = DFG_PACKET_STATE});
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	struct dfg_err *err = put_flipped(&coordinator->state[worker].answer, &request);
	dfg_coordinator_drop_answers(coordinator);
	if (err) {
		dfg_packet_release(&request);
		return err;
	}
	dfg_coordinator_ask(coordinator, worker, &request);
	DFG_TRY(dfg_coordinator_answers(coordinator, 0));
	dfg_coordinator_drop_answers(coordinator);
	return NULL;
}
