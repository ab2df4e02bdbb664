#pragma once

#include "lib/base/io.h"
#include "lib/graph/graph.h"

/* Messages that are no errors: "unknown field 99 in NodeDef, dropped". */
struct dfg_notes {
	void (*note)(void *arg, const char *text);
	void *arg;
};

struct dfg_graph_options {
	bool strict; /* fields that this version does not know are DFG_DATA */
	bool
		thorough; /* after faults of structure, those of what the nodes say of themselves are told too: up to 20 in all */
	size_t
		limit; /* bytes of memory the loader may take; 0: 64 MiB and four times the file, which itself is not counted */
	struct dfg_notes notes;
};

/* A graph and what keeps it alive: its arena and the mapped file with the constants. A zeroed struct is closed. */
struct dfg_graph_file {
	struct dfg_graph graph;
	struct dfg_arena arena;
	struct dfg_blob blob;
	struct dfg_arrays *data; /* weights beside the graph, in the arena; NULL: none */
};

/*
 * Opens a graph of any format, told by content: binary GraphDef, pbtxt. (.dfg programs are lang's; ONNX and SavedModel
 * join here.) Structure is checked (unique names, edges that name nodes, data inputs before controls, attributes well
 * formed), ops and types are not: dfg_verify does that.
 */
DFG_MUST_CHECK struct dfg_err *dfg_graph_open(
	const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file);
void dfg_graph_close(struct dfg_graph_file *file);

/* The same of bytes at hand, which it takes over, also where it fails. path names them in messages. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_open_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file);

/* Whether the bytes are text that is no graph: a program of the language, if anything. */
bool dfg_graph_is_program(const struct dfg_blob *blob);

/* Binary, in canonical form. */
DFG_MUST_CHECK struct dfg_err *dfg_graphdef_read(const uint8_t *bytes, size_t size,
	const struct dfg_graph_options *options, struct dfg_arena *arena, struct dfg_graph *out_graph);
/* The limit on memory for a file of that many bytes, where the options give none. */
size_t dfg_graphdef_limit(size_t size);
DFG_MUST_CHECK struct dfg_err *dfg_graphdef_write(const struct dfg_graph *graph, struct dfg_out *out);

/* Text, in protobuf's text format. */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_write(const struct dfg_graph *graph, struct dfg_out *out);

/*
 * By `format` where that is not NULL, else by the suffix of path: .pb, .pbtxt, binary where there is none, and DFG_USAGE for
 * another, which dfg_graph_format finds before there is a graph. external > 0: constants of
 * so many bytes or more go to a file beside it (external.h).
 */
struct dfg_graph_output {
	const char *path, *format;
	bool if_changed;
	size_t external;
};
DFG_MUST_CHECK struct dfg_err *dfg_graph_format(const struct dfg_graph_output *output, bool *out_text);
bool dfg_graph_has_suffix(const char *path); /* .pb or .pbtxt */
DFG_MUST_CHECK struct dfg_err *dfg_graph_save(const struct dfg_graph_output *output, const struct dfg_graph *graph);
