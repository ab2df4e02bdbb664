#include "tests/fuzz.d/targets.h"

#include "formats/graphdef.h"
#include "lib/base/mem.h"
#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/pass.h"
#include "lib/pass/verify/verify.h"

#include <string.h>

static struct dfg_err *write_graph(const struct dfg_graph *graph,
	struct dfg_err *(*write)(const struct dfg_graph *, struct dfg_out *), struct dfg_text *to)
{
	struct dfg_out out = {0};
	struct dfg_err *err = dfg_out_open_memory(to, &out);
	if (!err)
		err = write(graph, &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

/* Opens a copy of the bytes, which the graph takes. */
static struct dfg_err *open_copy(const void *bytes, size_t size, struct dfg_graph_file *out_file)
{
	struct dfg_blob blob = {.bytes = dfg_zeros(size + 1, 1), .size = size};
	const struct dfg_graph_options options = {.thorough = true};
	*out_file = (struct dfg_graph_file){.data = NULL};
	if (!blob.bytes)
		return dfg_no_memory("the bytes");
	memcpy((void *)blob.bytes, bytes, size);
	return dfg_graph_open_blob(&blob, "fuzz", &options, out_file);
}

/* A written graph can be read, and is written with the same bytes again. */
static void require_stable(const struct dfg_graph *graph)
{
	struct dfg_text once = {0}, twice = {0};
	struct dfg_graph_file again;
	struct dfg_err *err = write_graph(graph, dfg_graphdef_write, &once);
	if (!err && once.length) {
		err = open_copy(once.s, once.length, &again);
		dfg_fuzz_require(!err || err->code != DFG_DATA, "a written graph can be read");
		if (!err)
			err = write_graph(&again.graph, dfg_graphdef_write, &twice);
		if (!err)
			dfg_fuzz_require(once.length == twice.length && !memcmp(once.s, twice.s, once.length),
				"a graph that was read and written has the same bytes again");
		dfg_graph_close(&again);
	}
	dfg_fuzz_end(err);
	dfg_text_release(&once);
	dfg_text_release(&twice);
}

/* The passes of `dfg opt`, on the declared outputs. A graph that verifies still does after them. */
static struct dfg_err *optimize(struct dfg_graph *graph)
{
	struct dfg_arena arena = {0};
	struct dfg_text report = {0};
	struct dfg_keep keep = {.fetch = dfg_arena_zeros(&arena, (size_t)graph->count + 1, sizeof *keep.fetch)};
	struct dfg_err *err = keep.fetch ? dfg_verify(graph, NULL, NULL) : dfg_no_memory("the outputs");
	const bool was_valid = !err;
	for (uint32_t n = 0; keep.fetch && n < graph->count; n++)
		if (dfg_node_mark(&graph->node[n], "_dfg_output", NULL))
			keep.fetch[keep.n_fetch++] = (struct dfg_edge){n, 0};
	for (const struct dfg_pass *pass = dfg_passes; !err && keep.n_fetch && pass->name; pass++)
		if (pass->standard)
			err = pass->run(graph, &keep, &arena, &report);
	if (!err && was_valid) {
		err = dfg_verify(graph, NULL, NULL);
		dfg_fuzz_require(!err || err->code != DFG_DATA, "an optimized graph is valid");
	}
	dfg_text_release(&report);
	dfg_arena_release(&arena);
	return err;
}

static void see(struct dfg_graph_file *file)
{
	struct dfg_text text = {0}, pbtxt = {0};
	require_stable(&file->graph);
	dfg_fuzz_end(write_graph(&file->graph, dfg_pbtxt_write, &pbtxt));
	dfg_fuzz_end(dfg_lang_print(&file->graph, &text));
	dfg_fuzz_end(optimize(&file->graph));
	dfg_text_release(&text);
	dfg_text_release(&pbtxt);
}

void dfg_fuzz_graphdef(const uint8_t *bytes, size_t size)
{
	struct dfg_graph_file file;
	struct dfg_err *err = open_copy(bytes, size, &file);
	if (!err)
		see(&file);
	dfg_fuzz_end(err);
	dfg_graph_close(&file);
}

void dfg_fuzz_pbtxt(const uint8_t *bytes, size_t size)
{
	dfg_fuzz_graphdef(bytes, size); /* the content tells the formats apart */
}

/* A program in canonical layout is its own canonical layout. */
static void format(const char *text, size_t size)
{
	struct dfg_text once = {0}, twice = {0};
	struct dfg_err *err = dfg_lang_format("fuzz", text, size, &once);
	if (!err) {
		err = dfg_lang_format("fuzz", once.s ? once.s : "", once.length, &twice);
		dfg_fuzz_require(!err || err->code != DFG_DATA, "a formatted program can be read");
		if (!err)
			dfg_fuzz_require(once.length == twice.length && (!once.s || !memcmp(once.s, twice.s, once.length)),
				"a formatted program stays as it is");
	}
	dfg_fuzz_end(err);
	dfg_text_release(&once);
	dfg_text_release(&twice);
}

void dfg_fuzz_language(const uint8_t *bytes, size_t size)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	char *text = dfg_arena_zeros(&arena, size + 1, 1);
	const struct dfg_lang_options options = {
		.text = text, .length = size, .grad = dfg_grad_edges, .memory_limit = 64 << 20};
	if (text) {
		memcpy(text, bytes, size);
		format(text, size);
		dfg_graph_init(&graph, &arena);
		struct dfg_err *err = dfg_lang_build("/nowhere/fuzz.dfg", &options, &graph);
		if (!err)
			dfg_fuzz_end(dfg_verify(&graph, NULL, NULL));
		dfg_fuzz_end(err);
		dfg_graph_release(&graph);
	}
	dfg_arena_release(&arena);
}
