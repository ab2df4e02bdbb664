#pragma once

#include "tests/unit/test.h"

#include "formats/array.h"
#include "formats/graphdef.h"
#include "formats/json.h"
#include "lib/exec/session.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/lower/lower.h"
#include "lib/pass/verify/verify.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* A recorded case (tests/cases): its graph, lowered, with the derivatives that it asks for; and its steps. */
struct recorded {
	const char *directory;
	struct dfg_arena arena;
	struct dfg_json *json;
	struct dfg_graph_file file;
	struct dfg_facts facts;
	struct dfg_edge gradient[16];
	uint32_t gradients;
};

static struct dfg_err *differentiate(struct recorded *r, struct dfg_builder *builder)
{
	const struct dfg_json *grad = dfg_json_get(r->json, "grad"), *order = dfg_json_get(grad, "order");
	struct dfg_edge by[16], of[16];
	uint32_t n_of = 1;
	for (const struct dfg_json *name = dfg_json_get(grad, "wrt")->first; name; name = name->next)
		DFG_TRY(dfg_graph_edge(&r->file.graph, name->string, &by[r->gradients++]));
	DFG_TRY(dfg_graph_edge(&r->file.graph, dfg_json_get(grad, "of")->string, of));
	for (int64_t i = 0; i < (order ? order->integer : 1); i++) {
		DFG_TRY(dfg_grad_edges(builder, of, n_of, by, r->gradients, r->gradient));
		memcpy(of, r->gradient, sizeof of);
		n_of = r->gradients;
	}
	return NULL;
}

static struct dfg_err *recorded_open(struct recorded *r, const char *directory)
{
	struct dfg_blob blob;
	struct dfg_builder builder;
	*r = (struct recorded){.directory = directory};
	DFG_TRY(dfg_blob_open(dfg_arena_print(&r->arena, "%s/case.json", directory), 0, &blob));
	struct dfg_err *err = dfg_json_read(blob.bytes, blob.size, &r->arena, &r->json);
	dfg_blob_close(&blob);
	if (err)
		return err;
	const struct dfg_graph_options options = {0};
	DFG_TRY(dfg_graph_open(dfg_arena_print(&r->arena, "%s/graph.pb", directory), &options, &r->file));
	DFG_TRY(dfg_lower_whole(&r->file.graph));
	if (dfg_json_get(r->json, "grad")) {
		DFG_TRY(dfg_verify(&r->file.graph, NULL, NULL));
		DFG_TRY(dfg_builder_init(&builder, &r->file.graph));
		err = differentiate(r, &builder);
		dfg_builder_release(&builder);
		if (err)
			return err;
	}
	return dfg_verify(&r->file.graph, &(struct dfg_verify_options){.marked = &r->file.graph}, &r->facts);
}

static void recorded_close(struct recorded *r)
{
	dfg_facts_release(&r->facts);
	dfg_graph_close(&r->file);
	dfg_arena_release(&r->arena);
}

/* The fetches and targets of a step, by name: "y:0", "^train". */
struct asked {
	struct dfg_arrays feeds;
	const char *name[64];
	uint32_t names;
};

static void ask_json(struct asked *asked, struct recorded *r, const struct dfg_json *list, const char *mark)
{
	for (const struct dfg_json *name = list ? list->first : NULL; name; name = name->next)
		asked->name[asked->names++] = dfg_arena_print(&r->arena, "%s%s", mark, name->string);
}

static struct asked ask(struct recorded *r, const struct dfg_json *step, bool gradients)
{
	struct asked asked = {0};
	const struct dfg_json *feeds = dfg_json_get(step, "feeds");
	if (feeds)
		succeeds(dfg_arrays_read(dfg_arena_print(&r->arena, "%s/%s", r->directory, feeds->string), &asked.feeds));
	if (!gradients) {
		ask_json(&asked, r, dfg_json_get(step, "fetch"), "");
		ask_json(&asked, r, dfg_json_get(step, "targets"), "^");
	}
	for (uint32_t i = 0; i < r->gradients && gradients; i++)
		asked.name[asked.names++] = dfg_graph_tensor_name(&r->file.graph, r->gradient[i]);
	return asked;
}

/* One session. */
static struct dfg_err *run_whole(
	struct recorded *r, struct dfg_session *session, const struct asked *asked, struct dfg_tensor *out)
{
	struct dfg_edge feed[64], fetch[64];
	uint32_t target[64];
	struct dfg_tensor value[64];
	uint32_t place[64];
	struct dfg_tensor result[64] = {0};
	struct dfg_plan *plan;
	struct dfg_step step = {.feed = feed, .fetch = fetch, .target = target};
	for (; step.n_feed < asked->feeds.count; step.n_feed++) {
		DFG_TRY(dfg_graph_edge(&r->file.graph, asked->feeds.array[step.n_feed].name, &feed[step.n_feed]));
		value[step.n_feed] = asked->feeds.array[step.n_feed].tensor;
	}
	for (uint32_t i = 0; i < asked->names; i++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_edge(&r->file.graph, asked->name[i], &edge));
		if (edge.port == DFG_CONTROL) {
			target[step.n_target++] = edge.node;
			continue;
		}
		place[step.n_fetch] = i;
		fetch[step.n_fetch++] = edge;
	}
	DFG_TRY(dfg_session_plan(session, &step, &plan));
	DFG_TRY(dfg_plan_run(plan, value, result));
	for (uint32_t i = 0; i < step.n_fetch; i++)
		out[place[i]] = result[i];
	return NULL;
}

static bool same_bits(const struct dfg_tensor *a, const struct dfg_tensor *b)
{
	if (a->dtype != b->dtype || !dfg_shape_equal(&a->shape, &b->shape))
		return false;
	if (a->dtype != DFG_STRING)
		return !dfg_tensor_bytes(a) || !memcmp(a->data, b->data, dfg_tensor_bytes(a));
	for (int64_t i = 0; i < dfg_shape_count(&a->shape); i++) {
		struct dfg_string one = ((struct dfg_string *)a->data)[i], other = ((struct dfg_string *)b->data)[i];
		if (one.length != other.length || memcmp(one.s, other.s, one.length) != 0)
			return false;
	}
	return true;
}

/* Values and errors agree; false where there was an error, and the case ends. */
static bool agree(const struct recorded *r, const struct asked *asked, struct dfg_err *one, struct dfg_err *other,
	struct dfg_tensor *one_way, struct dfg_tensor *other_way)
{
	if (!one != !other)
		fail_msg("%s: '%s' one way, '%s' the other", r->directory, one ? one->text : "no error",
			other ? other->text : "no error");
	for (uint32_t i = 0; i < asked->names && !one; i++) {
		if (*asked->name[i] != '^' && !same_bits(&one_way[i], &other_way[i]))
			fail_msg("%s: %s is another the other way", r->directory, asked->name[i]);
		dfg_tensor_release(&one_way[i]);
		dfg_tensor_release(&other_way[i]);
	}
	bool good = !one;
	dfg_err_free(one);
	dfg_err_free(other);
	return good;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* CASE=words chooses cases. */
static void run_folder(const char *folder, void (*run_case)(const char *directory))
{
	char *name[1000], path[600];
	size_t names = 0;
	const char *only = getenv("CASE"), *root = getenv("ROOT");
	snprintf(path, sizeof path, "%s/tests/cases/%s", root ? root : ".", folder);
	DIR *dir = opendir(path);
	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir)) && names < 1000;)
		if (*entry->d_name != '.' && (!only || strstr(entry->d_name, only)))
			name[names++] = strdup(entry->d_name);
	closedir(dir);
	qsort(name, names, sizeof *name, by_name);
	for (size_t i = 0; i < names; i++) {
		snprintf(path, sizeof path, "%s/tests/cases/%s/%s", root ? root : ".", folder, name[i]);
		run_case(path);
		free(name[i]);
	}
}
