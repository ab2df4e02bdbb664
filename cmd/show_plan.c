#include "cmd/graph.h"
#include "cmd/show.h"
#include "formats/json.h"
#include "lib/lang/lang.h"

#include <inttypes.h>
#include <string.h>

/* Bytes that are known, those that are to be multiplied by one dim that is not, by two, ...; and what nobody can say. */
struct size {
	uint64_t times[DFG_RANK_MAX + 1];
	bool unknown;
};

static void add_size(const struct dfg_transfer *transfer, struct size *size)
{
	uint64_t bytes = dfg_dtype_size(transfer->dtype);
	int unknown = 0;
	bool fits = transfer->shape.rank >= 0 && dfg_dtype_is(transfer->dtype, "plain");
	for (int i = 0; i < transfer->shape.rank; i++)
		if (transfer->shape.dim[i] < 0)
			unknown++;
		else
			fits &= !__builtin_mul_overflow(bytes, (uint64_t)transfer->shape.dim[i], &bytes);
	if (!fits || __builtin_add_overflow(size->times[unknown], bytes, &size->times[unknown]))
		size->unknown = true;
}

static struct size size_of(const struct dfg_transfer *transfer)
{
	struct size size = {.unknown = false};
	add_size(transfer, &size);
	return size;
}

/* "24 + 16 * ? bytes" */
static void put_size(const struct size *size, struct dfg_text *out)
{
	int terms = 0;
	for (int unknown = 0; unknown <= DFG_RANK_MAX; unknown++) {
		if (!size->times[unknown])
			continue;
		dfg_text_add(out, "%s%" PRIu64, terms++ ? " + " : "", size->times[unknown]);
		for (int i = 0; i < unknown; i++)
			dfg_text_add(out, " * ?");
	}
	if (size->unknown)
		dfg_text_add(out, "%s?", terms++ ? " + " : "");
	dfg_text_add(out, "%s bytes", terms ? "" : "0");
}

static void put_when(const struct dfg_transfer *transfer, struct dfg_text *out)
{
	if (!transfer->depth) {
		dfg_text_add(out, "each step");
		return;
	}
	dfg_text_add(out, "each %s of '", transfer->each_turn ? "turn" : "pivot");
	dfg_text_escape(out, transfer->loop, strlen(transfer->loop), SIZE_MAX);
	dfg_text_add(out, "'");
}

static void put_transfer(const struct dfg_transfer *transfer, uint32_t number, struct dfg_text *out)
{
	dfg_text_add(out, "%5u  w%u > w%u  ", number, transfer->from, transfer->to);
	dfg_text_escape(out, transfer->tensor, strlen(transfer->tensor), SIZE_MAX);
	dfg_text_add(out, "  %s  ", dfg_type_words(transfer->dtype, &transfer->shape).s);
	const struct size size = size_of(transfer);
	put_size(&size, out);
	dfg_text_add(out, "  ");
	put_when(transfer, out);
	dfg_text_add(out, "\n");
}

/* What goes over one link at one time: "w0 > w1  each step" names it. */
struct link {
	const struct dfg_transfer *first;
	uint64_t messages;
	struct size size;
};

static struct dfg_err *sum_links(
	const struct dfg_parts *parts, struct dfg_arena *arena, struct dfg_map *names, struct link *link)
{
	for (uint32_t i = 0; i < parts->transfers; i++) {
		const struct dfg_transfer *transfer = &parts->transfer[i];
		const char *name = dfg_arena_print(arena, "%u %u %d %s", transfer->from, transfer->to,
			transfer->depth ? 1 + transfer->each_turn : 0, transfer->loop);
		uint32_t number;
		bool new;
		if (!name || !dfg_map_put(names, name, strlen(name), &number, &new))
			return DFG_ERR(DFG_MEMORY, "out of memory");
		if (new)
			link[number] = (struct link){.first = transfer};
		link[number].messages++;
		add_size(transfer, &link[number].size);
	}
	return NULL;
}

static struct dfg_err *put_links(const struct dfg_parts *parts, struct dfg_text *out)
{
	struct dfg_arena arena = {0};
	struct dfg_map names = {0};
	struct link *link = dfg_arena_zeros(&arena, parts->transfers, sizeof *link);
	struct dfg_err *err = link ? sum_links(parts, &arena, &names, link) : DFG_ERR(DFG_MEMORY, "out of memory");
	for (size_t i = 0; i < names.count && !err; i++) {
		dfg_text_add(out, "w%u > w%u  ", link[i].first->from, link[i].first->to);
		put_when(link[i].first, out);
		dfg_text_add(out, ": %" PRIu64 " message%s, ", link[i].messages, link[i].messages == 1 ? "" : "s");
		put_size(&link[i].size, out);
		dfg_text_add(out, "\n");
	}
	dfg_map_release(&names);
	dfg_arena_release(&arena);
	return err;
}

static struct dfg_err *put_summary(const struct dfg_plan *plan, struct dfg_text *out)
{
	uint64_t nodes = 0;
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		nodes += plan->nodes[i];
	dfg_text_add(out, "%u device%s, %" PRIu64 " nodes, %u transfer%s\n", plan->parts.parts,
		plan->parts.parts == 1 ? "" : "s", nodes, plan->parts.transfers, plan->parts.transfers == 1 ? "" : "s");
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		dfg_text_add(
			out, "w%u  %s  %" PRIu64 " node%s\n", i, plan->device[i], plan->nodes[i], plan->nodes[i] == 1 ? "" : "s");
	DFG_TRY(put_links(&plan->parts, out));
	for (uint32_t i = 0; i < plan->parts.transfers; i++)
		put_transfer(&plan->parts.transfer[i], i, out);
	return NULL;
}

static struct dfg_err *put_part(
	const struct dfg_plan *plan, uint32_t i, const struct dfg_show_options *options, struct dfg_text *out)
{
	struct dfg_facts facts = {0};
	struct dfg_shown shown;
	struct dfg_err *err = dfg_shown_init(&plan->parts.part[i], &facts, &shown);
	dfg_text_add(out, "%sw%u  %s\n", i ? "\n" : "", i, plan->device[i]);
	if (!err)
		err = options->tree ? dfg_show_tree(&shown, out) : dfg_lang_print(shown.graph, out);
	dfg_facts_release(&facts);
	return err;
}

/* A node has one place, and its name one meaning, in all parts together. */
static struct dfg_err *put_node(const struct dfg_plan *plan, const char *name, struct dfg_text *out)
{
	struct dfg_facts facts = {0};
	struct dfg_shown shown;
	uint32_t part = 0;
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		if (dfg_graph_find(&plan->parts.part[i], name) != DFG_NONE)
			part = i;
	struct dfg_err *err = dfg_shown_init(&plan->parts.part[part], &facts, &shown);
	if (!err)
		err = dfg_show_node(&shown, name, out);
	dfg_facts_release(&facts);
	return err;
}

static void put_device_json(const struct dfg_plan *plan, uint32_t i, struct dfg_json_out *json)
{
	char name[16];
	uint64_t sends = 0, receives = 0;
	for (uint32_t t = 0; t < plan->parts.transfers; t++) {
		sends += plan->parts.transfer[t].from == i;
		receives += plan->parts.transfer[t].to == i;
	}
	snprintf(name, sizeof name, "w%u", i);
	dfg_json_open(json, '{');
	dfg_json_key(json, "device"), dfg_json_string(json, name);
	dfg_json_key(json, "name"), dfg_json_string(json, plan->device[i]);
	dfg_json_key(json, "nodes"), dfg_json_uint(json, plan->nodes[i]);
	dfg_json_key(json, "sends"), dfg_json_uint(json, sends);
	dfg_json_key(json, "receives"), dfg_json_uint(json, receives);
	dfg_json_close(json, '}');
}

static void put_transfer_json(const struct dfg_transfer *transfer, uint32_t number, struct dfg_json_out *json)
{
	char from[16], to[16];
	struct size size = size_of(transfer);
	snprintf(from, sizeof from, "w%u", transfer->from);
	snprintf(to, sizeof to, "w%u", transfer->to);
	dfg_json_open(json, '{');
	dfg_json_key(json, "number"), dfg_json_uint(json, number);
	dfg_json_key(json, "tensor"), dfg_json_string(json, transfer->tensor);
	dfg_json_key(json, "from"), dfg_json_string(json, from);
	dfg_json_key(json, "to"), dfg_json_string(json, to);
	dfg_json_key(json, "type"), dfg_json_string(json, dfg_type_words(transfer->dtype, &transfer->shape).s);
	dfg_json_key(json, "bytes");
	if (dfg_shape_known(&transfer->shape) && !size.unknown)
		dfg_json_uint(json, size.times[0]);
	else
		dfg_json_null(json);
	dfg_json_key(json, "loop"), dfg_json_string(json, transfer->loop);
	dfg_json_key(json, "each");
	dfg_json_string(json, !transfer->depth ? "step" : transfer->each_turn ? "turn" : "pivot");
	dfg_json_close(json, '}');
}

static void put_json(const struct dfg_plan *plan, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "devices"), dfg_json_open(&json, '[');
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		put_device_json(plan, i, &json);
	dfg_json_close(&json, ']');
	dfg_json_key(&json, "transfers"), dfg_json_open(&json, '[');
	for (uint32_t i = 0; i < plan->parts.transfers; i++)
		put_transfer_json(&plan->parts.transfer[i], i, &json);
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_text_add(&json.text, "\n");
	*out = json.text;
}

static struct dfg_err *put_plan(
	const struct dfg_plan *plan, const struct dfg_show_options *options, struct dfg_text *out)
{
	if (options->node)
		return put_node(plan, options->node, out);
	if (options->dot)
		return dfg_show_plan_dot(plan, out);
	if (!options->tree && !options->text) {
		if (!dfg_globals.json)
			return put_summary(plan, out);
		put_json(plan, out);
		return NULL;
	}
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		DFG_TRY(put_part(plan, i, options, out));
	return NULL;
}

struct dfg_err *dfg_show_plan(const char *path, const struct dfg_show_options *options, struct dfg_text *out)
{
	struct dfg_plan plan;
	DFG_TRY(dfg_cmd_open_plan(path, &plan));
	struct dfg_err *err = put_plan(&plan, options, out);
	dfg_plan_close(&plan);
	return err;
}
