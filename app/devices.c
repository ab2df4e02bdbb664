#include "app/devices.h"

#include "lib/exec/device/device.h"

#include <stdlib.h>
#include <string.h>

static const char host_device[] = "/job:worker/task:0/device:CPU:0";

/* The number in "cuda:I"; "cuda" is cuda:0. */
static bool read_index(const char *word, int *out_index)
{
	static const char cuda[] = "cuda";
	char *end;
	if (strncmp(word, cuda, sizeof cuda - 1) != 0)
		return false;
	word += sizeof cuda - 1;
	*out_index = 0;
	if (!*word)
		return true;
	if (word[0] != ':' || word[1] < '0' || word[1] > '9')
		return false;
	unsigned long index = strtoul(word + 1, &end, 10);
	*out_index = index < INT32_MAX ? (int)index : INT32_MAX;
	return !*end;
}

static struct dfg_err *name_workers(struct dfg_arena *arena, struct dfg_devices *devices)
{
	uint32_t workers = devices->count + 1;
	struct dfg_worker_host *worker = dfg_arena_zeros(arena, workers, sizeof *worker);
	const char **device = dfg_arena_zeros(arena, workers, sizeof *device);
	devices->name = dfg_arena_zeros(arena, workers, sizeof *devices->name);
	if (!worker || !device || !devices->name)
		return dfg_no_memory("the devices");
	for (uint32_t i = 0; i < workers; i++) {
		int index = i ? devices->index[i - 1] : 0;
		devices->name[i] = i ? dfg_arena_print(arena, "cuda:%d", index) : "cpu";
		device[i] = i ? dfg_arena_print(arena, "/job:worker/task:0/device:GPU:%d", index) : host_device;
		const char *label = dfg_arena_print(arena, "w%u", i);
		if (!devices->name[i] || !device[i] || !label)
			return dfg_no_memory("the devices");
		worker[i] = (struct dfg_worker_host){.label = label,
			.entry = i,
			.name = devices->name[i],
			.device = device[i],
			.job = "worker",
			.task = i,
			.local = true};
	}
	devices->hosts = (struct dfg_hosts){worker, workers, device};
	return NULL;
}

struct dfg_err *dfg_devices_find(
	const char *word, enum dfg_denormals denormals, struct dfg_arena *arena, struct dfg_devices *out_devices)
{
	*out_devices = (struct dfg_devices){.denormals = denormals};
	if (!word || !strcmp(word, "cpu"))
		return NULL;
	if (!read_index(word, &out_devices->index[0]))
		return DFG_ERR(DFG_CONFIG, "unknown device '%s': a device is cpu, cuda or cuda:I", word);
	const struct dfg_device_provider *provider;
	DFG_TRY(dfg_device_provider_open(&provider));
	DFG_TRY(dfg_device_check(provider, out_devices->index[0]));
	out_devices->provider = provider;
	out_devices->count = 1;
	return name_workers(arena, out_devices);
}

/* A graph while it is placed. */
struct placing {
	const struct dfg_devices *devices;
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	struct dfg_arena scratch;
	struct dfg_placed *placed;
	const char *kernel; /* the reason for the device */
};

/* Whether the operands of an op that also takes others are known to broadcast: only then its row computes it. */
static bool is_known_to_broadcast(const struct placing *placing, const struct dfg_node *node)
{
	const struct dfg_shape *shape[DFG_ROW_OPERANDS];
	struct dfg_shape out;
	if (node->n_in > DFG_ROW_OPERANDS)
		return false;
	for (uint32_t i = 0; i < node->n_in; i++) {
		shape[i] = &dfg_facts_of(placing->facts, node->in[i])->shape;
		if (!dfg_shape_known(shape[i]))
			return false;
	}
	struct dfg_err *err = dfg_shape_broadcast(shape, (int)node->n_in, &out);
	dfg_err_free(err);
	return !err;
}

/* A scalar of integers or truth values counts or decides, which the host does. */
static bool steers(const struct placing *placing, uint32_t n)
{
	const struct dfg_inferred *out = dfg_facts_of(placing->facts, (struct dfg_edge){n, 0});
	return !out->shape.rank && !dfg_dtype_is(out->dtype, "float");
}

/* NULL, or the reason why the host computes the node. */
static const char *why_host(struct placing *placing, uint32_t n, const struct dfg_resolved_node *call)
{
	const struct dfg_node *node = &placing->graph->node[n];
	if (call->op->role == DFG_IDENTITY)
		return "it only passes a value on";
	if (call->op->role != DFG_PLAIN)
		return "inputs, control flow and state are on the host";
	const struct dfg_device_kernel *kernel =
		dfg_device_find_kernel(placing->devices->provider, call, placing->devices->denormals);
	if (!kernel)
		return "there is no kernel for a device";
	if (kernel->family == DFG_FAMILY_row && call->op->run && !is_known_to_broadcast(placing, node))
		return "it is not known whether the shapes of its operands broadcast";
	return steers(placing, n) ? "it is a scalar that may decide what the host does" : NULL;
}

static struct dfg_err *place_node(struct placing *placing, uint32_t n)
{
	struct dfg_resolved_node call;
	const struct dfg_node *node = &placing->graph->node[n];
	const char *why = "the op is not known";
	if (node->op) {
		DFG_TRY(dfg_node_resolve(placing->graph, n, &placing->scratch, &call));
		why = why_host(placing, n, &call);
	}
	placing->placed[n] = (struct dfg_placed){
		.device = why ? 0 : 1, .reason = DFG_PLACED_KERNEL, .with = DFG_NONE, .request = why ? why : placing->kernel};
	return NULL;
}

/* Moves constants that only nodes on the device read to it. */
static struct dfg_err *place_constants(struct placing *placing)
{
	const struct dfg_graph *graph = placing->graph;
	uint8_t *readers =
		dfg_arena_zeros(&placing->scratch, (size_t)graph->count + 1, sizeof *readers); /* bits: devices */
	if (!readers)
		return dfg_no_memory("the placement");
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t i = 0; i < graph->node[n].n_in + graph->node[n].n_control; i++)
			readers[graph->node[n].in[i].node] |= (uint8_t)(1 << placing->placed[n].device);
	for (uint32_t n = 0; n < graph->count; n++)
		if (dfg_node_role(&graph->node[n]) == DFG_CONST && readers[n] == 1 << 1 && !graph->node[n].n_control)
			placing->placed[n] = (struct dfg_placed){.device = 1,
				.reason = DFG_PLACED_KERNEL,
				.with = DFG_NONE,
				.request = "the nodes that read it are there"};
	return NULL;
}

struct dfg_err *dfg_devices_place(const struct dfg_devices *devices, const struct dfg_graph *graph,
	const struct dfg_facts *facts, struct dfg_arena *arena, struct dfg_placed **out_placed)
{
	struct placing placing = {.devices = devices, .graph = graph, .facts = facts};
	placing.placed = *out_placed = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof *placing.placed);
	placing.kernel = dfg_arena_print(arena, "%s has a kernel for it", devices->name[1]);
	struct dfg_err *err = placing.placed && placing.kernel ? NULL : dfg_no_memory("the placement");
	for (uint32_t n = 0; n < graph->count && !err; n++)
		err = place_node(&placing, n);
	if (!err)
		err = place_constants(&placing);
	dfg_arena_release(&placing.scratch);
	return err;
}
