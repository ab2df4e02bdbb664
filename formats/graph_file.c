#include "formats/graphdef.h"

#include "formats/external.h"
#include "formats/graph.pb-c.h"
#include "formats/pbtxt.h"
#include "lib/base/mem.h"
#include "lib/base/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE = 512 };

/* The likely kind of a file that is not a graph, for the message; NULL: may be a graph. */
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
		{"\x08\x01\x12", 3, "a SavedModel, which is not supported"},
		{"#!", 2, "a script"},
		{"{", 1, "JSON"},
		{"[", 1, "JSON"},
		{"<", 1, "XML or HTML"},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (size >= known[i].length && !memcmp(bytes, known[i].magic, known[i].length))
			return known[i].what;
	return dfg_safetensors.is(bytes, size) ? "safetensors" : dfg_idx.is(bytes, size) ? "an IDX file" : NULL;
}

/* Whether the first byte is the tag of a field of a graph; a file with damage further on is still a graph. */
static bool begins_as_graph(const uint8_t *bytes, size_t size)
{
	const ProtobufCMessageDescriptor *type = &dfg__graph_def__descriptor;
	for (unsigned i = 0; i < type->n_fields && size; i++)
		if (bytes[0] >> 3 == type->fields[i].id)
			return true;
	return !size;
}

/*
 * Text contains none of the control bytes that a binary graph usually begins with, unless its first node has a very
 * long name.
 */
static bool is_text(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < SAMPLE; i++)
		if ((bytes[i] < 0x20 && !strchr("\t\n\v\f\r", bytes[i])) || !bytes[i])
			return false;
	return size > 0;
}

static bool is_graph_field(const uint8_t *word, size_t length)
{
	const ProtobufCMessageDescriptor *type = &dfg__graph_def__descriptor;
	for (unsigned i = 0; i < type->n_fields; i++)
		if (length == strlen(type->fields[i].name) && !memcmp(word, type->fields[i].name, length))
			return true;
	return false;
}

/* Whether the first word outside of comments is a field of a graph, as in "node {". */
static bool is_pbtxt(const uint8_t *bytes, size_t size)
{
	size_t i = 0, end;
	for (bool comment = false; i < size; i++) {
		comment = bytes[i] == '#' || (comment && bytes[i] != '\n');
		if (!comment && !strchr(" \t\n\v\f\r", bytes[i]))
			break;
	}
	for (end = i; end < size && ((bytes[end] >= 'a' && bytes[end] <= 'z') || bytes[end] == '_'); end++)
		;
	return is_graph_field(bytes + i, end - i);
}

static void tell_unknown(const struct dfg_wire_file *file, const struct dfg_graph_options *options)
{
	char text[200];
	if (!file->unknown || !options || !options->notes.note)
		return;
	snprintf(text, sizeof text, "dropped %zu unknown field%s, the first in a %s, at byte %zu", file->unknown,
		dfg_plural(file->unknown), file->first_unknown.message, file->first_unknown.at);
	options->notes.note(options->notes.arg, text);
}

/* Replaces the file's text by its wire form, from which the graph borrows. */
static struct dfg_err *read_pbtxt(struct dfg_graph_file *file, const struct dfg_graph_options *options)
{
	struct dfg_wire_file text = {.start = file->blob.bytes, .strict = options && options->strict};
	struct dfg_graph_options again = options ? *options : (struct dfg_graph_options){.strict = false};
	struct dfg_text wire = {0};
	struct dfg_err *err =
		dfg_pbtxt_to_wire(&dfg__graph_def__descriptor, file->blob.bytes, file->blob.size, &text, &wire);
	if (err) {
		dfg_text_release(&wire);
		return err;
	}
	if (!again.limit)
		again.limit = dfg_graphdef_limit(file->blob.size);
	dfg_blob_close(&file->blob);
	file->blob = (struct dfg_blob){.bytes = (const uint8_t *)wire.s, .size = wire.length};
	tell_unknown(&text, options);
	return dfg_graphdef_read(file->blob.bytes, file->blob.size, &again, &file->arena, &file->graph);
}

static struct dfg_err *read_graph(struct dfg_graph_file *file, const struct dfg_graph_options *options)
{
	const struct dfg_blob *blob = &file->blob;
	const char *other = looks_like(blob->bytes, blob->size);
	if (other)
		return DFG_ERR(DFG_DATA, "not a graph: looks like %s", other);
	bool text = is_text(blob->bytes, blob->size);
	if (text && is_pbtxt(blob->bytes, blob->size))
		return read_pbtxt(file, options);
	struct dfg_err *err = dfg_graphdef_read(blob->bytes, blob->size, options, &file->arena, &file->graph);
	if (err && err->code == DFG_DATA && !text && !begins_as_graph(blob->bytes, blob->size))
		return dfg_err_note(err, "unknown format: not a graph, npy, npz, safetensors or IDX");
	if (!err || !text)
		return err;
	dfg_err_free(err); /* it is about bytes that are not a graph */
	return DFG_ERR(DFG_DATA, "not a graph: text that does not begin with a field of a graph");
}

bool dfg_graph_is_program(const struct dfg_blob *blob)
{
	return !looks_like(blob->bytes, blob->size) && is_text(blob->bytes, blob->size) &&
		   !is_pbtxt(blob->bytes, blob->size);
}

struct dfg_err *dfg_graph_open(
	const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file)
{
	struct dfg_blob blob;
	*out_file = (struct dfg_graph_file){.blob = {.bytes = NULL}};
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	return dfg_graph_open_blob(&blob, path, options, out_file);
}

static struct dfg_err *read_data(struct dfg_graph_file *file, const char *path)
{
	struct dfg_arrays data;
	struct dfg_err *err = dfg_external_read(path, &file->graph, &data);
	if (!data.count)
		return err;
	file->data = dfg_arena_zeros(&file->arena, 1, sizeof *file->data);
	if (!err && !file->data)
		err = dfg_no_memory("the data beside a graph");
	if (file->data)
		*file->data = data;
	else
		dfg_arrays_release(&data);
	return err;
}

struct dfg_err *dfg_graph_open_blob(
	struct dfg_blob *blob, const char *path, const struct dfg_graph_options *options, struct dfg_graph_file *out_file)
{
	*out_file = (struct dfg_graph_file){.blob = *blob};
	*blob = (struct dfg_blob){.bytes = NULL};
	const char *shown = strcmp(path, "-") ? path : "stdin";
	struct dfg_err *err = read_graph(out_file, options);
	if (!err)
		err = read_data(out_file, path);
	if (!err && !(out_file->graph.source = dfg_arena_copy(&out_file->arena, shown, strlen(shown))))
		err = dfg_no_memory("the name of the graph");
	if (err)
		dfg_graph_close(out_file);
	return dfg_err_of_file(err, shown);
}

void dfg_graph_close(struct dfg_graph_file *file)
{
	if (file->data)
		dfg_arrays_release(file->data);
	dfg_graph_release(&file->graph);
	dfg_arena_release(&file->arena);
	dfg_blob_close(&file->blob);
	*file = (struct dfg_graph_file){.blob = {.bytes = NULL}};
}

/* "pbtxt" for "net.pbtxt"; "" without a suffix, and for ".net", which is a whole name. */
static const char *suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	return dot && dot > name ? dot + 1 : "";
}

static bool is_format(const char *name, bool *out_text)
{
	*out_text = !strcmp(name, "pbtxt");
	return *out_text || !strcmp(name, "pb");
}

bool dfg_graph_has_suffix(const char *path)
{
	bool text;
	return is_format(suffix_of(path), &text);
}

struct dfg_err *dfg_graph_format(const struct dfg_graph_output *output, bool *out_text)
{
	const char *suffix = suffix_of(output->path);
	if (output->format)
		return is_format(output->format, out_text)
				   ? NULL
				   : DFG_ERR(DFG_USAGE, "unknown graph format '%s': choose pb or pbtxt", output->format);
	if (is_format(suffix, out_text) || !*suffix)
		return NULL;
	return DFG_ERR(DFG_USAGE, "%s: .%s is not the suffix of a graph format: use .pb or .pbtxt, or give --to",
		output->path, suffix);
}

static struct dfg_err *save(const struct dfg_graph_output *output, const struct dfg_graph *graph)
{
	struct dfg_out out;
	struct dfg_graph without;
	bool text;
	DFG_TRY(dfg_graph_format(output, &text));
	if (output->external) {
		DFG_TRY(dfg_external_write(output->path, output->if_changed, output->external, graph, &without));
		graph = &without;
	}
	DFG_TRY(dfg_out_open(output->path, output->if_changed, &out));
	struct dfg_err *err = text ? dfg_pbtxt_write(graph, &out) : dfg_graphdef_write(graph, &out);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

/* Either both the graph and its external arrays are written, or neither. */
struct dfg_err *dfg_graph_save(const struct dfg_graph_output *output, const struct dfg_graph *graph)
{
	dfg_out_begin();
	return dfg_out_end(save(output, graph));
}
