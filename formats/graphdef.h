#pragma once

#include "lib/base/io.h"
#include "lib/graph/graph.h"

/* Receives notes, which are not errors: "unknown field 99 in NodeDef, dropped". */
struct dfg_notes {
	void (*note)(void *arg, const char *text);
	void *arg;
};

struct dfg_graph_options {
	bool strict;   /* whether unknown fields are DFG_DATA */
	bool thorough; /* whether other faults of the nodes are also reported after faults of structure, up to 20 in all */
	size_t limit;  /* maximal memory of the loader in bytes; 0: 64 MiB and four times the file */
	struct dfg_notes notes;
};

/* A graph with its storage: its arena and the mapped file with the constants. Zero-initialised: closed. */
struct dfg_graph_file {
	struct dfg_graph graph;
	struct dfg_arena arena;
	struct dfg_blob blob;
	struct dfg_arrays *data; /* weights beside the graph, in the arena; NULL: none */
};

/*
 * Opens a graph of any format, recognised by content: binary GraphDef or pbtxt. Checks the structure (unique names,
 * edges to existing nodes, data inputs before control inputs, well-formed attributes), but not ops and types;
 * dfg_verify does.
 */
DFG_MUST_CHECK struct dfg_err *dfg_graph_open(
	const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file);
void dfg_graph_close(struct dfg_graph_file *file);

/* The same for bytes in memory. Takes the blob, also on failure. path names it in messages. */
DFG_MUST_CHECK struct dfg_err *dfg_graph_open_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file);

/* Whether the bytes are text that is not a graph, and so possibly a program of the language. */
bool dfg_graph_is_program(const struct dfg_blob *blob);

/* Reads and writes the binary format; it is written in canonical form. */
DFG_MUST_CHECK struct dfg_err *dfg_graphdef_read(const uint8_t *bytes, size_t size,
	const struct dfg_graph_options *options, struct dfg_arena *arena, struct dfg_graph *out_graph);
/* The limit on memory for a file of that many bytes, where the options give none. */
size_t dfg_graphdef_limit(size_t size);
DFG_MUST_CHECK struct dfg_err *dfg_graphdef_write(const struct dfg_graph *graph, struct dfg_out *out);

/* Writes protobuf's text format. */
DFG_MUST_CHECK struct dfg_err *dfg_pbtxt_write(const struct dfg_graph *graph, struct dfg_out *out);

/*
 * Writes in the format named by `format`, or if that is NULL by the suffix of path: .pb, .pbtxt, or none for binary.
 * DFG_USAGE for other suffixes, which dfg_graph_format finds before there is a graph. If external > 0, constants of at
 * least that many bytes are written to a file beside it (external.h).
 */
struct dfg_graph_output {
	const char *path, *format;
	bool if_changed;
	size_t external;
};
DFG_MUST_CHECK struct dfg_err *dfg_graph_format(const struct dfg_graph_output *output, bool *out_text);
bool dfg_graph_has_suffix(const char *path); /* whether the suffix is .pb or .pbtxt */
DFG_MUST_CHECK struct dfg_err *dfg_graph_save(const struct dfg_graph_output *output, const struct dfg_graph *graph);
