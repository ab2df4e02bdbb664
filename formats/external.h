#pragma once

#include "formats/array.h"
#include "formats/graphdef.h"

/*
 * Weights beside a graph: large constants are in "net.pb.safetensors", next to "net.pb", under the names of their
 * nodes. In the graph each is a node of an op that no other program defines, so that no other reader misinterprets it:
 *
 *     Dfg>External() -> (output: dtype)    dtype, shape, location: the file's name; crc32: of the elements
 *
 * The data is written first, and its checksum is in the graph: reading a graph with other data is an error.
 */

/*
 * Returns the graph to be written to `path`, after writing its constants of at least `least` bytes to the file beside
 * it. out_graph borrows from graph and lives in its arena; it is for writing only.
 */
DFG_MUST_CHECK struct dfg_err *dfg_external_write(
	const char *path, bool if_changed, size_t least, const struct dfg_graph *graph, struct dfg_graph *out_graph);

/*
 * Restores the constants of a graph that was read from `path`. The data is in the same directory, in a regular file
 * with one link; it is mapped, and out_data must live as long as the graph. DFG_DATA if it is not the data that the
 * graph was written with.
 */
DFG_MUST_CHECK struct dfg_err *dfg_external_read(
	const char *path, struct dfg_graph *graph, struct dfg_arrays *out_data);
