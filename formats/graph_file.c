#include "formats/graphdef.h"

#include "lib/base/mem.h"

#include <string.h>

/* What a file that is no graph seems to be, for the message; NULL: may be a graph. */
static const char *looks_like(const uint8_t *bytes, size_t size)
{
	static const struct {
		const char *magic;
		size_t length;
		const char *what;
	} known[] = {
		{"\x1f\x8b", 2, "gzip data"},
		{"\x7f"
		 "ELF",
			4, "an ELF program"},
		{"PK\x03\x04", 4, "a zip archive"},
		{"\x93NUMPY", 6, "an npy array"},
		{"\x89HDF", 4, "an HDF5 file"},
		{"\x89PNG", 4, "a picture"},
		{"\x08\x01\x12", 3, "a SavedModel, which is not read yet"},
		{"#!", 2, "a script"},
		{"{", 1, "JSON"},
		{"[", 1, "JSON"},
		{"<", 1, "XML or HTML"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (size >= known[i].length && !memcmp(bytes, known[i].magic, known[i].length))
			return known[i].what;
	return NULL;
}

struct dfg_err *dfg_graph_open(
	const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file)
{
	*out_file = (struct dfg_graph_file){.blob = {.bytes = NULL}};
	DFG_TRY(dfg_blob_open(path, 0, &out_file->blob));
	const struct dfg_blob *blob = &out_file->blob;
	const char *other = looks_like(blob->bytes, blob->size);
	struct dfg_err *err = NULL;
	if (other)
		err = DFG_ERR(DFG_DATA, "no graph: looks like %s", other);
	else
		err = dfg_graphdef_read(blob->bytes, blob->size, options, &out_file->arena, &out_file->graph);
	if (!err && !(out_file->graph.source = dfg_arena_copy(&out_file->arena, path, strlen(path))))
		err = DFG_ERR(DFG_MEMORY, "out of memory");
	if (err)
		dfg_graph_close(out_file);
	return dfg_err_note(err, "%s", path);
}

void dfg_graph_close(struct dfg_graph_file *file)
{
	dfg_graph_release(&file->graph);
	dfg_arena_release(&file->arena);
	dfg_blob_close(&file->blob);
	*file = (struct dfg_graph_file){.blob = {.bytes = NULL}};
}

struct dfg_err *dfg_graph_save(const char *path, const char *format, bool if_changed, const struct dfg_graph *graph)
{
	struct dfg_out out;
	(void)format;
	DFG_TRY(dfg_out_open(path, if_changed, &out));
	struct dfg_err *err = dfg_graphdef_write(graph, &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}
