#include "formats/external.h"

#include <string.h>
#include <zlib.h>

static const char op_name[] = "Dfg>External", suffix[] = ".safetensors";
enum { PATH_MOST = 4096 };

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int64_t crc_of(const struct dfg_tensor *tensor)
{
	return (int64_t)crc32_z(0, tensor->data, dfg_tensor_bytes(tensor));
}

/*
 * The constant of the node that may be stored externally, or NULL. One whose last value repeats is smaller in the
 * graph.
 */
static const struct dfg_literal *weight_of(const struct dfg_node *node, size_t least)
{
	const struct dfg_attr *value = dfg_node_attr(node, "value");
	if (!node->op || node->op->role != DFG_CONST || !value || value->kind != DFG_ATTR_TENSOR)
		return NULL;
	const struct dfg_literal *literal = value->value.tensor;
	bool whole = literal->given == dfg_shape_count(&literal->shape);
	bool large = literal->given && dfg_literal_bytes(literal) >= least;
	return large && whole && dfg_safetensors_holds(literal->dtype) ? literal : NULL;
}

/* Copies the node's attributes without those named; the copy is in the arena, as others read the original. */
static struct dfg_err *drop_attrs(struct dfg_graph *graph, uint32_t n, const char *const *name, size_t names)
{
	struct dfg_node *node = &graph->node[n];
	struct dfg_attr *attr = dfg_arena_zeros(graph->arena, (size_t)node->n_attr + 1, sizeof *attr);
	uint32_t count = 0;
	if (!attr)
		return dfg_no_memory("weights beside a graph");
	for (uint32_t i = 0; i < node->n_attr; i++) {
		bool drop = false;
		for (size_t k = 0; k < names; k++)
			drop |= !strcmp(node->attr[i].name, name[k]);
		if (!drop)
			attr[count++] = node->attr[i];
	}
	node->attr = attr;
	node->n_attr = count;
	return NULL;
}

/* Replaces the value of a node by its location. */
static struct dfg_err *put_out(
	struct dfg_graph *graph, uint32_t n, const struct dfg_tensor *tensor, const char *location)
{
	static const char *const value[] = {"value"};
	struct dfg_shape *shape = dfg_arena_zeros(graph->arena, 1, sizeof *shape);
	if (!shape)
		return dfg_no_memory("weights beside a graph");
	*shape = tensor->shape;
	graph->node[n].op_name = op_name;
	graph->node[n].op = NULL;
	DFG_TRY(drop_attrs(graph, n, value, 1));
	DFG_TRY(dfg_node_set_attr(graph, n, "crc32", DFG_ATTR_INT, (union dfg_value){.i = crc_of(tensor)}));
	DFG_TRY(
		dfg_node_set_attr(graph, n, "location", DFG_ATTR_STRING, (union dfg_value){.s = {location, strlen(location)}}));
	return dfg_node_set_attr(graph, n, "shape", DFG_ATTR_SHAPE, (union dfg_value){.shape = shape});
}

static struct dfg_err *take_out(struct dfg_graph *graph, size_t least, const char *location, struct dfg_arrays *arrays)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_literal *literal = weight_of(&graph->node[n], least);
		struct dfg_tensor tensor;
		if (!literal)
			continue;
		DFG_TRY(dfg_literal_tensor(literal, &tensor));
		struct dfg_err *err = put_out(graph, n, &tensor, location);
		if (err)
			dfg_tensor_release(&tensor);
		DFG_TRY(err);
		DFG_TRY(dfg_arrays_add(arrays, graph->node[n].name, &tensor));
	}
	return NULL;
}

struct dfg_err *dfg_external_write(
	const char *path, bool if_changed, size_t least, const struct dfg_graph *graph, struct dfg_graph *out_graph)
{
	struct dfg_arrays arrays = {0};
	size_t length = strlen(path);
	char *beside = dfg_arena_zeros(graph->arena, length + sizeof suffix, 1);
	struct dfg_node *node = dfg_arena_zeros(graph->arena, graph->count, sizeof *node);
	if (!beside || !node)
		return dfg_no_memory("weights beside a graph");
	memcpy(beside, path, length);
	memcpy(beside + length, suffix, sizeof suffix);
	memcpy(node, graph->node, graph->count * sizeof *node);
	*out_graph = *graph;
	out_graph->node = node;
	struct dfg_err *err = take_out(out_graph, least, base_of(beside), &arrays);
	if (!err && arrays.count)
		err = dfg_arrays_write(beside, "safetensors", if_changed, &arrays);
	dfg_arrays_release(&arrays);
	return err;
}

/* Finds an attribute of the given kind. */
static struct dfg_err *need(
	const struct dfg_node *node, const char *name, enum dfg_attr_kind kind, const union dfg_value **out_value)
{
	const struct dfg_attr *attr = dfg_node_attr(node, name);
	if (!attr || attr->kind != kind)
		return dfg_attr_error(name, attr, kind);
	*out_value = &attr->value;
	return NULL;
}

/* The location must be a file name in the graph's directory. */
static struct dfg_err *check_location(const struct dfg_string *location)
{
	bool plain = location->length && location->length < 256 && !memchr(location->s, '/', location->length) &&
				 !memchr(location->s, '\0', location->length) && location->s[0] != '.';
	if (plain)
		return NULL;
	return DFG_ERR(DFG_DATA, "its data must be in a file in the graph's folder, not in '%.*s'",
		(int)(location->length < 200 ? location->length : 200), location->s);
}

static struct dfg_err *open_beside(const char *path, const struct dfg_string *location, struct dfg_arrays *out_data)
{
	char beside[PATH_MOST];
	struct dfg_blob blob;
	size_t head = (size_t)(base_of(path) - path);
	if (!strcmp(path, "-"))
		return DFG_ERR(
			DFG_DATA, "its data is in a file beside the graph, which stdin does not have: give the graph's path");
	if (head + location->length >= sizeof beside)
		return DFG_ERR(DFG_DATA, "the path of its data has %zu bytes, the limit is %zu", head + location->length,
			sizeof beside - 1);
	memcpy(beside, path, head);
	memcpy(beside + head, location->s, location->length);
	beside[head + location->length] = '\0';
	DFG_TRY(dfg_blob_open_plain(beside, 0, &blob));
	return dfg_arrays_read_blob(&blob, beside, &dfg_safetensors, out_data);
}

/* Checks that the data in the file is what the node was written with. */
static struct dfg_err *find_data(const struct dfg_node *node, const struct dfg_arrays *data, const char *location,
	const struct dfg_tensor **out_tensor)
{
	const union dfg_value *dtype, *shape, *crc;
	const struct dfg_array *array = dfg_arrays_find(data, node->name);
	DFG_TRY(need(node, "dtype", DFG_ATTR_DTYPE, &dtype));
	DFG_TRY(need(node, "shape", DFG_ATTR_SHAPE, &shape));
	DFG_TRY(need(node, "crc32", DFG_ATTR_INT, &crc));
	if (!array)
		return DFG_ERR(DFG_DATA, "its data is missing: '%s' has no array of this name", location);
	*out_tensor = &array->tensor;
	if (array->tensor.dtype != dtype->dtype || !dfg_shape_equal(&array->tensor.shape, shape->shape))
		return DFG_ERR(DFG_DATA, "is %s, but '%s' has %s", dfg_type_words(dtype->dtype, shape->shape).s, location,
			dfg_type_words(array->tensor.dtype, &array->tensor.shape).s);
	if (crc_of(&array->tensor) != crc->i)
		return DFG_ERR(
			DFG_DATA, "'%s' is not the file that this graph was written with: the checksum differs", location);
	return NULL;
}

static struct dfg_err *make_const(struct dfg_graph *graph, uint32_t n, const struct dfg_tensor *tensor)
{
	static const char *const where[] = {"crc32", "location", "shape"};
	struct dfg_literal *literal = dfg_arena_zeros(graph->arena, 1, sizeof *literal);
	if (!literal)
		return dfg_no_memory("weights beside a graph");
	*literal = (struct dfg_literal){tensor->dtype, tensor->shape, true, dfg_shape_count(&tensor->shape), tensor->data};
	graph->node[n].op_name = "Const";
	graph->node[n].op = dfg_op_find("Const");
	DFG_TRY(drop_attrs(graph, n, where, sizeof where / sizeof *where));
	return dfg_node_set_attr(graph, n, "value", DFG_ATTR_TENSOR, (union dfg_value){.tensor = literal});
}

static struct dfg_err *read_node(
	const char *path, struct dfg_graph *graph, uint32_t n, const char **location, struct dfg_arrays *data)
{
	struct dfg_node *node = &graph->node[n];
	const union dfg_value *where;
	const struct dfg_tensor *tensor;
	DFG_TRY(need(node, "location", DFG_ATTR_STRING, &where));
	DFG_TRY(check_location(&where->s));
	if (!*location) {
		DFG_TRY(open_beside(path, &where->s, data));
		if (!(*location = dfg_arena_copy(graph->arena, where->s.s, where->s.length)))
			return dfg_no_memory("weights beside a graph");
	}
	if (strlen(*location) != where->s.length || memcmp(*location, where->s.s, where->s.length))
		return DFG_ERR(DFG_DATA, "its data is in another file than '%s': a graph has only one", *location);
	DFG_TRY(find_data(node, data, *location, &tensor));
	return make_const(graph, n, tensor);
}

struct dfg_err *dfg_external_read(const char *path, struct dfg_graph *graph, struct dfg_arrays *out_data)
{
	const char *location = NULL;
	*out_data = (struct dfg_arrays){0};
	for (uint32_t n = 0; n < graph->count; n++) {
		if (graph->node[n].op || strcmp(graph->node[n].op_name, op_name))
			continue;
		struct dfg_err *err = read_node(path, graph, n, &location, out_data);
		if (err)
			return dfg_err_note(err, "node '%.200s' (%s)", graph->node[n].name, op_name);
	}
	return NULL;
}
