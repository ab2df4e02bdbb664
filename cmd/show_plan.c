#include "app/graphviz.h"
#include "app/explanation.h"
#include "cmd/graph.h"
#include "cmd/show.h"
#include "formats/json.h"
#include "lib/base/plural.h"
#include "lib/lang/lang.h"

#include <inttypes.h>
#include <string.h>

static void put_transfer(const struct dfg_transfer *transfer, uint32_t number, struct dfg_text *out)
{
	dfg_text_add(out, "%5u  w%u -> w%u  ", number, transfer->from, transfer->to);
	dfg_text_escape(out, transfer->tensor, strlen(transfer->tensor), SIZE_MAX);
	dfg_text_add(
		out, "  %s  each %s", dfg_type_words(transfer->dtype, &transfer->shape).s, dfg_plan_folder_each(transfer));
	if (transfer->depth) {
		dfg_text_add(out, " of '");
		dfg_text_escape(out, transfer->loop, strlen(transfer->loop), SIZE_MAX);
		dfg_text_add(out, "'");
	}
	dfg_text_add(out, "\n");
}

static struct dfg_err *put_estimate(struct dfg_plan_folder *plan, struct dfg_text *out, struct dfg_json_out *json)
{
	struct dfg_arena arena = {0};
	struct dfg_cost_estimate estimate = {.links = 0};
	struct dfg_graph graph = {.arena = NULL};
	struct dfg_err *err = dfg_plan_folder_join(plan, &graph);
	if (!err)
		err = dfg_cost_step(&graph, &plan->parts, &arena, &estimate);
	if (!err && json)
		dfg_explain_cost(&estimate, json);
	else if (!err)
		dfg_cost_text(&estimate, out);
	dfg_cost_release(&estimate);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return err;
}

/* The options of dfg run that the plan holds. */
static void put_launch(const struct dfg_plan_launch *launch, struct dfg_text *out)
{
	struct dfg_text options = {0};
	if (*launch->transport) {
		dfg_text_add(&options, " --transport ");
		dfg_text_escape(&options, launch->transport, strlen(launch->transport), SIZE_MAX);
	}
	if (launch->lease > 0)
		dfg_text_add(&options, " --lease %g", launch->lease);
	if (launch->restarts)
		dfg_text_add(&options, " --restarts %u", launch->restarts);
	if (launch->push)
		dfg_text_add(&options, " --push");
	if (options.length)
		dfg_text_add(out, "dfg run takes%s from this plan\n", options.s);
	dfg_text_release(&options);
}

static struct dfg_err *put_summary(struct dfg_plan_folder *plan, struct dfg_text *out)
{
	uint64_t nodes = 0;
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		nodes += plan->nodes[i];
	dfg_text_add(out, "%u device%s, %" PRIu64 " node%s, %u transfer%s\n", plan->parts.parts,
		dfg_plural(plan->parts.parts), nodes, dfg_plural(nodes), plan->parts.transfers,
		dfg_plural(plan->parts.transfers));
	if (plan->blocks)
		dfg_text_add(out, "%u block%s of parallel loops, for at most as many workers, each of which has all nodes\n",
			plan->blocks, dfg_plural(plan->blocks));
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		dfg_text_add(
			out, "w%u  %s  %" PRIu64 " node%s\n", i, plan->device[i], plan->nodes[i], dfg_plural(plan->nodes[i]));
	put_launch(&plan->launch, out);
	DFG_TRY(put_estimate(plan, out, NULL));
	for (uint32_t i = 0; i < plan->parts.transfers; i++)
		put_transfer(&plan->parts.transfer[i], i, out);
	return NULL;
}

static struct dfg_err *put_part(
	const struct dfg_plan_folder *plan, uint32_t i, const struct dfg_show_options *options, struct dfg_text *out)
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

/* In all parts of a plan together a node has one device and a name one meaning. */
static struct dfg_err *put_node(const struct dfg_plan_folder *plan, const char *name, struct dfg_text *out)
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

static void put_device_json(const struct dfg_plan_folder *plan, uint32_t i, struct dfg_json_out *json)
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

static struct dfg_err *put_json(struct dfg_plan_folder *plan, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	dfg_json_open(&json, '{');
	if (plan->blocks)
		dfg_json_key(&json, "blocks"), dfg_json_uint(&json, plan->blocks);
	dfg_json_key(&json, "devices"), dfg_json_open(&json, '[');
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		put_device_json(plan, i, &json);
	dfg_json_close(&json, ']');
	dfg_json_key(&json, "transfers"), dfg_json_open(&json, '[');
	for (uint32_t i = 0; i < plan->parts.transfers; i++)
		dfg_explain_transfer(&plan->parts.transfer[i], i, &json);
	dfg_json_close(&json, ']');
	if (dfg_plan_launch_is_given(&plan->launch))
		dfg_json_key(&json, "launch"), dfg_plan_launch_json(&plan->launch, &json);
	dfg_json_key(&json, "bill");
	struct dfg_err *err = put_estimate(plan, NULL, &json);
	dfg_json_close(&json, '}');
	dfg_text_add(&json.text, "\n");
	*out = json.text;
	return err;
}

static struct dfg_err *put_plan(
	struct dfg_plan_folder *plan, const struct dfg_show_options *options, struct dfg_text *out)
{
	struct dfg_text dot = {0};
	if (options->node)
		return put_node(plan, options->node, out);
	if (options->hostfile || options->kubernetes)
		return dfg_show_job(plan, options, out);
	if (options->dot)
		return dfg_show_plan_dot(plan, out);
	if (options->svg)
		return dfg_graphviz_svg(dfg_show_plan_dot(plan, &dot), &dot, out);
	if (!options->tree && !options->text)
		return dfg_globals.json ? put_json(plan, out) : put_summary(plan, out);
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		DFG_TRY(put_part(plan, i, options, out));
	return NULL;
}

struct dfg_err *dfg_show_plan(const char *path, const struct dfg_show_options *options, struct dfg_text *out)
{
	struct dfg_plan_folder plan;
	DFG_TRY(dfg_cmd_open_plan(path, NULL, &plan));
	struct dfg_err *err = put_plan(&plan, options, out);
	dfg_plan_folder_close(&plan);
	return err;
}
