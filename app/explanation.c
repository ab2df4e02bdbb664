#include "app/explanation.h"

#include "app/explain_loop.h"

#include "formats/plan.h"

#include <stdio.h>

static void put_device(const char *key, uint32_t device, struct dfg_json_out *json)
{
	char name[16];
	snprintf(name, sizeof name, "w%u", device);
	dfg_json_key(json, key), dfg_json_string(json, name);
}

static void put_text(const char *key, const struct dfg_text *text, struct dfg_json_out *json)
{
	json->text.short_of_memory |= text->short_of_memory;
	dfg_json_key(json, key), dfg_json_string(json, text->s ? text->s : "");
}

static void put_amount(const char *key, const struct dfg_amount *amount, struct dfg_json_out *json)
{
	struct dfg_text formula = {0};
	dfg_amount_text(amount, &formula);
	dfg_json_key(json, key), dfg_json_open(json, '{');
	put_text("formula", &formula, json);
	dfg_json_key(json, "terms"), dfg_json_open(json, '[');
	for (size_t i = 0; i < amount->count; i++) {
		dfg_json_open(json, '{');
		dfg_json_key(json, "times"), dfg_json_uint(json, amount->term[i].times);
		dfg_json_key(json, "sizes"), dfg_json_string(json, amount->term[i].sizes);
		dfg_json_key(json, "loop"), dfg_json_string(json, amount->term[i].loop);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, ']');
	dfg_json_close(json, '}');
	dfg_text_release(&formula);
}

static void put_links(const struct dfg_cost_estimate *estimate, struct dfg_json_out *json)
{
	dfg_json_key(json, "links"), dfg_json_open(json, '[');
	for (size_t i = 0; i < estimate->links; i++) {
		dfg_json_open(json, '{');
		put_device("from", estimate->link[i].from, json);
		put_device("to", estimate->link[i].to, json);
		put_amount("messages", &estimate->link[i].messages, json);
		put_amount("bytes", &estimate->link[i].bytes, json);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, ']');
}

static void put_hosts(const struct dfg_cost_estimate *estimate, struct dfg_json_out *json)
{
	dfg_json_key(json, "hosts"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < estimate->hosts; i++) {
		dfg_json_open(json, '{');
		put_device("device", i, json);
		put_amount("parameter_bytes", &estimate->host[i].parameters, json);
		put_amount("activation_bytes", &estimate->host[i].activations, json);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, ']');
}

void dfg_explain_cost(const struct dfg_cost_estimate *estimate, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	put_amount("messages", &estimate->messages, json);
	put_amount("bytes", &estimate->bytes, json);
	put_links(estimate, json);
	if (estimate->hosts)
		put_hosts(estimate, json);
	dfg_json_key(json, "sizes"), dfg_json_open(json, '{');
	for (size_t i = 0; i < estimate->letters; i++) {
		struct dfg_text meaning = {0};
		dfg_cost_letter_text(&estimate->letter[i], &meaning);
		put_text(estimate->letter[i].name, &meaning, json);
		dfg_text_release(&meaning);
	}
	dfg_json_close(json, '}');
	dfg_json_close(json, '}');
}

void dfg_explain_transfer(const struct dfg_transfer *transfer, uint32_t number, struct dfg_json_out *json)
{
	dfg_json_open(json, '{');
	dfg_json_key(json, "number"), dfg_json_uint(json, number);
	dfg_json_key(json, "tensor"), dfg_json_string(json, transfer->tensor);
	put_device("from", transfer->from, json);
	put_device("to", transfer->to, json);
	dfg_json_key(json, "type"), dfg_json_string(json, dfg_type_words(transfer->dtype, &transfer->shape).s);
	dfg_json_key(json, "loop"), dfg_json_string(json, transfer->loop);
	dfg_json_key(json, "each"), dfg_json_string(json, dfg_plan_folder_each(transfer));
	dfg_json_close(json, '}');
}

static struct dfg_err *explain_nodes(
	const struct dfg_explained *e, const struct dfg_cost_estimate *estimate, struct dfg_text *text)
{
	for (uint32_t n = 0; n < e->graph->count; n++) {
		dfg_place_explain(e->graph, e->placed, n, text);
		dfg_text_add(text, "\n");
	}
	dfg_cost_text(estimate, text);
	dfg_explain_replication_text(e, text);
	for (uint32_t i = 0; i < e->loops.count; i++)
		dfg_explain_loop_text(&e->loops.loop[i], true, text);
	if (e->blocks && e->loops.count)
		dfg_text_add(text,
			"%u blocks, for at most as many workers: rows go to the worker that accesses them next; after a loop all "
			"workers "
			"get the rows that others have written\n",
			e->blocks);
	return dfg_text_check(text);
}

static struct dfg_err *explain_document(
	const struct dfg_explained *e, const struct dfg_cost_estimate *estimate, struct dfg_text *text)
{
	struct dfg_json_out json = {.comma = false};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "devices"), dfg_json_open(&json, '[');
	for (uint32_t d = 0; d < e->parts->parts; d++)
		dfg_json_string(&json, e->device[d]);
	dfg_json_close(&json, ']');
	dfg_json_key(&json, "nodes"), dfg_json_open(&json, '[');
	for (uint32_t n = 0; n < e->graph->count; n++) {
		struct dfg_text why = {0};
		dfg_place_why(e->graph, e->placed, n, &why);
		dfg_json_open(&json, '{');
		dfg_json_key(&json, "name"), dfg_json_string(&json, e->graph->node[n].name);
		put_device("device", e->placed[n].device, &json);
		put_text("reason", &why, &json);
		dfg_json_close(&json, '}');
		dfg_text_release(&why);
	}
	dfg_json_close(&json, ']');
	dfg_json_key(&json, "transfers"), dfg_json_open(&json, '[');
	for (uint32_t i = 0; i < e->parts->transfers; i++)
		dfg_explain_transfer(&e->parts->transfer[i], i, &json);
	dfg_json_close(&json, ']');
	dfg_json_key(&json, "bill"), dfg_explain_cost(estimate, &json);
	dfg_explain_replication_json(e, &json);
	if (e->blocks)
		dfg_json_key(&json, "blocks"), dfg_json_uint(&json, e->blocks);
	if (e->loops.count)
		dfg_json_key(&json, "loops"), dfg_json_open(&json, '[');
	for (uint32_t i = 0; i < e->loops.count; i++)
		dfg_explain_loop_json(e->graph, &e->loops.loop[i], &json);
	if (e->loops.count)
		dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	dfg_text_add(&json.text, "\n");
	*text = json.text;
	return dfg_text_check(text);
}

static struct dfg_err *with_estimate(const struct dfg_explained *e,
	struct dfg_err *(*print)(
		const struct dfg_explained *e, const struct dfg_cost_estimate *estimate, struct dfg_text *text),
	struct dfg_text *out_text)
{
	struct dfg_arena arena = {0};
	struct dfg_cost_estimate estimate = {.links = 0};
	struct dfg_err *err = dfg_cost_estimate(e->graph, e->facts, e->placed, e->parts, &arena, &estimate);
	if (!err)
		err = print(e, &estimate, out_text);
	dfg_cost_release(&estimate);
	dfg_arena_release(&arena);
	return err;
}

struct dfg_err *dfg_explain_text(const struct dfg_explained *explained, struct dfg_text *out_text)
{
	return with_estimate(explained, explain_nodes, out_text);
}

struct dfg_err *dfg_explain_json(const struct dfg_explained *explained, struct dfg_text *out_text)
{
	return with_estimate(explained, explain_document, out_text);
}
