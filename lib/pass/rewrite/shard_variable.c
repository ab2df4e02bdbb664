/* shard_variable. Requires: facts of every node, and a lowered graph. Result: variables in rows over several ones. */
#include "lib/pass/rewrite/shard_variable.h"

#include "lib/base/mem.h"
#include "lib/graph/loops.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_MOST = INT32_MAX /* of a variable that is divided */ };

/* A variable that is divided. */
struct divided {
	uint32_t node; /* of the handle */
	const char *name;
	uint32_t variable; /* index of the variable whose slot it is, or its own */
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	struct dfg_row_part rows; /* of part 0 */
	uint32_t *part;           /* handles */
};

/* Indices that were distributed. */
struct route {
	struct dfg_edge indices;
	int64_t rows;
	uint32_t parts;
	bool by_div;
	struct dfg_edge to;        /* the part of each */
	struct dfg_edge *local;    /* by part: the indices there */
	struct dfg_edge *position; /* by part: the positions of these among all */
};

struct sharding {
	struct dfg_builder *builder;
	struct dfg_arena scratch;
	struct divided *divided;
	uint32_t count, before; /* before: nodes before the rewrite */
	struct route *route;
	size_t routes, route_capacity;
	uint32_t numbered; /* names of new nodes */
	char name[60];
};

bool dfg_is_slot_of(const char *name, const char *variable)
{
	size_t length = strlen(variable);
	for (const char *at = name; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		if (!strncmp(at, variable, length) && at[length] == '/')
			return true;
	return false;
}

static int64_t block_of(const struct dfg_row_part *part)
{
	return (part->rows + part->parts - 1) / part->parts;
}

int64_t dfg_row_part_rows(const struct dfg_row_part *part)
{
	int64_t first = dfg_row_part_at(part, 0), left = part->rows - first;
	if (left <= 0)
		return 0;
	if (part->by_div)
		return left < block_of(part) ? left : block_of(part);
	return (left + part->parts - 1) / part->parts;
}

int64_t dfg_row_part_at(const struct dfg_row_part *part, int64_t i)
{
	return part->by_div ? part->part * block_of(part) + i : i * part->parts + part->part;
}

bool dfg_row_part_of(const struct dfg_node *node, struct dfg_row_part *out_part)
{
	const struct dfg_attr *whole = dfg_node_attr(node, "_dfg_rows_of");
	int64_t part, parts, by_div;
	*out_part = (struct dfg_row_part){0};
	bool known = whole && whole->kind == DFG_ATTR_STRING && dfg_node_mark(node, "_dfg_rows_part", &part) &&
				 dfg_node_mark(node, "_dfg_rows_parts", &parts) && dfg_node_mark(node, "_dfg_rows_div", &by_div) &&
				 dfg_node_mark(node, "_dfg_rows_all", &out_part->rows) && part >= 0 && parts > part &&
				 out_part->rows >= parts && out_part->rows <= ROWS_MOST;
	if (!known)
		return false;
	out_part->whole = whole->value.s;
	out_part->part = (uint32_t)part;
	out_part->parts = (uint32_t)parts;
	out_part->by_div = by_div;
	return true;
}

static struct dfg_node *node_of(const struct sharding *s, uint32_t n)
{
	return &s->builder->graph->node[n];
}

/* Nodes to build. */

static const char *fresh(struct sharding *s, const char *what)
{
	snprintf(s->name, sizeof s->name, "shard/%u/%s", s->numbered++, what);
	return s->name;
}

static struct dfg_err *make_node(struct sharding *s, const char *op, const struct dfg_edge *in, uint32_t n_in,
	const struct dfg_attr *attr, uint32_t n_attr, uint32_t *out_node)
{
	const struct dfg_new_node node = {
		.op = op, .name = fresh(s, op), .in = in, .n_in = n_in, .attr = attr, .n_attr = n_attr};
	return dfg_build(s->builder, &node, out_node);
}

static struct dfg_err *op(
	struct sharding *s, const char *name, struct dfg_edge one, struct dfg_edge two, struct dfg_edge *out_edge)
{
	const struct dfg_edge in[] = {one, two};
	return dfg_build_op(s->builder, name, fresh(s, name), in, 2, out_edge);
}

static struct dfg_err *ints(struct sharding *s, enum dfg_dtype dtype, const int64_t *value, int64_t count, bool scalar,
	struct dfg_edge *out_edge)
{
	const struct dfg_shape list = {.rank = 1, .dim = {count}};
	return dfg_build_ints(s->builder, fresh(s, "Const"), dtype, scalar ? &DFG_SHAPE_SCALAR : &list, value, out_edge);
}

static struct dfg_err *range(struct sharding *s, int64_t first, int64_t end, int64_t step, struct dfg_edge *out_edge)
{
	struct dfg_edge in[3];
	const int64_t value[] = {first, end, step};
	for (int i = 0; i < 3; i++)
		DFG_TRY(ints(s, DFG_I32, &value[i], 1, true, &in[i]));
	return dfg_build_op(s->builder, "Range", fresh(s, "Range"), in, 3, out_edge);
}

static struct dfg_err *partition(
	struct sharding *s, struct dfg_edge data, struct dfg_edge to, uint32_t parts, struct dfg_edge *out_edges)
{
	const struct dfg_edge in[] = {data, to};
	const struct dfg_attr attr = DFG_ATTR_I("num_partitions", parts);
	uint32_t node;
	DFG_TRY(make_node(s, "DynamicPartition", in, 2, &attr, 1, &node));
	for (uint32_t k = 0; k < parts; k++)
		out_edges[k] = (struct dfg_edge){node, (int32_t)k};
	return NULL;
}

/* Stitches rows; then gives the tensor that shape, of which `leading` is the first part: NULL if it is one extent, known. */
static struct dfg_err *stitch(struct sharding *s, const struct divided *v, const struct dfg_edge *position,
	const struct dfg_edge *rows, const struct dfg_edge *leading, struct dfg_edge *out_edge)
{
	uint32_t parts = v->rows.parts, node;
	struct dfg_edge *in = dfg_arena_zeros(&s->scratch, 2 * (size_t)parts, sizeof *in), shape, axis;
	const struct dfg_attr n = DFG_ATTR_I("N", parts), joined = DFG_ATTR_I("N", 2);
	if (!in)
		return dfg_no_memory("the parts of a variable");
	memcpy(in, position, parts * sizeof *in);
	memcpy(in + parts, rows, parts * sizeof *in);
	DFG_TRY(make_node(s, "DynamicStitch", in, 2 * parts, &n, 1, &node));
	DFG_TRY(ints(s, DFG_I32, v->shape.dim + (leading != NULL), v->shape.rank - (leading != NULL), false, &shape));
	if (leading) {
		DFG_TRY(ints(s, DFG_I32, &(int64_t){0}, 1, true, &axis));
		const struct dfg_edge list[] = {*leading, shape, axis};
		uint32_t concat;
		DFG_TRY(make_node(s, "ConcatV2", list, 3, &joined, 1, &concat));
		shape = (struct dfg_edge){concat, 0};
	}
	return op(s, "Reshape", (struct dfg_edge){node, 0}, shape, out_edge);
}

/* Numbers of parts that do not exist, as -1 or `parts`, which do not exist either, but fit i32. */
static struct dfg_err *limit(struct sharding *s, enum dfg_dtype dtype, uint32_t parts, struct dfg_edge *edge)
{
	struct dfg_edge least, most;
	DFG_TRY(ints(s, dtype, &(int64_t){-1}, 1, true, &least));
	DFG_TRY(ints(s, dtype, &(int64_t){parts}, 1, true, &most));
	DFG_TRY(op(s, "Maximum", *edge, least, edge));
	return op(s, "Minimum", *edge, most, edge);
}

/* The part of each index, and its row there. */
static struct dfg_err *divide_indices(struct sharding *s, const struct divided *v, struct dfg_edge flat,
	struct dfg_edge *out_to, struct dfg_edge *out_local)
{
	enum dfg_dtype dtype = dfg_facts_of(&s->builder->facts, flat)->dtype;
	const int64_t by = v->rows.by_div ? block_of(&v->rows) : v->rows.parts;
	struct dfg_edge divisor, quotient, remainder;
	const struct dfg_attr type = DFG_ATTR_T("DstT", DFG_I32);
	uint32_t cast;
	DFG_TRY(ints(s, dtype, &by, 1, true, &divisor));
	DFG_TRY(op(s, "FloorDiv", flat, divisor, &quotient));
	DFG_TRY(op(s, "FloorMod", flat, divisor, &remainder));
	*out_local = v->rows.by_div ? remainder : quotient;
	*out_to = v->rows.by_div ? quotient : remainder;
	if (dtype == DFG_I32)
		return NULL;
	if (v->rows.by_div)
		DFG_TRY(limit(s, dtype, v->rows.parts, out_to));
	DFG_TRY(make_node(s, "Cast", out_to, 1, &type, 1, &cast));
	*out_to = (struct dfg_edge){cast, 0};
	return NULL;
}

static struct dfg_err *make_route(
	struct sharding *s, const struct divided *v, struct dfg_edge indices, struct route *route)
{
	struct dfg_edge flat, all, local, size, in[3], positions;
	uint32_t parts = v->rows.parts;
	*route = (struct route){.indices = indices, .rows = v->rows.rows, .parts = parts, .by_div = v->rows.by_div};
	route->local = dfg_arena_zeros(&s->scratch, parts, sizeof *route->local);
	route->position = dfg_arena_zeros(&s->scratch, parts, sizeof *route->position);
	if (!route->local || !route->position)
		return dfg_no_memory("the parts of a variable");
	DFG_TRY(ints(s, DFG_I32, &(int64_t){-1}, 1, false, &all));
	DFG_TRY(op(s, "Reshape", indices, all, &flat));
	DFG_TRY(divide_indices(s, v, flat, &route->to, &local));
	DFG_TRY(dfg_build_op(s->builder, "Size", fresh(s, "Size"), &flat, 1, &size));
	DFG_TRY(ints(s, DFG_I32, &(int64_t){0}, 1, true, &in[0]));
	DFG_TRY(ints(s, DFG_I32, &(int64_t){1}, 1, true, &in[2]));
	in[1] = size;
	DFG_TRY(dfg_build_op(s->builder, "Range", fresh(s, "Range"), in, 3, &positions));
	DFG_TRY(partition(s, local, route->to, parts, route->local));
	return partition(s, positions, route->to, parts, route->position);
}

/* The route of these indices: that of a variable of as many rows and parts serves its slots too. */
static struct dfg_err *find_route(
	struct sharding *s, const struct divided *v, struct dfg_edge indices, const struct route **out_route)
{
	for (size_t i = 0; i < s->routes; i++) {
		const struct route *route = &s->route[i];
		*out_route = route;
		if (dfg_edge_same(route->indices, indices) && route->rows == v->rows.rows && route->parts == v->rows.parts &&
			route->by_div == v->rows.by_div)
			return NULL;
	}
	if (!dfg_reserve(&s->route, &s->route_capacity, s->routes + 1, sizeof *s->route))
		return dfg_no_memory("the parts of a variable");
	DFG_TRY(make_route(s, v, indices, &s->route[s->routes]));
	*out_route = &s->route[s->routes++];
	return NULL;
}

/* In place of nodes that were there. */

static struct dfg_err *become(struct sharding *s, uint32_t n, const char *op_name, const struct dfg_edge *in)
{
	struct dfg_node *node = node_of(s, n);
	const struct dfg_op *become = dfg_op_find(op_name);
	struct dfg_edge *list = dfg_arena_zeros(s->builder->graph->arena, (size_t)node->n_control + 1, sizeof *list);
	enum dfg_dtype dtype = in ? dfg_facts_of(&s->builder->facts, *in)->dtype : DFG_NO_DTYPE;
	if (!list)
		return dfg_no_memory("the parts of a variable");
	if (in)
		list[0] = *in;
	memcpy(list + (in != NULL), node->in + node->n_in, node->n_control * sizeof *list);
	node->in = list;
	node->n_in = in != NULL;
	node->n_attr = 0;
	node->op = become;
	node->op_name = become->name;
	return in ? dfg_node_set_attr(s->builder->graph, n, "T", DFG_ATTR_DTYPE, (union dfg_value){.dtype = dtype}) : NULL;
}

/* A new node waits for what the old one waits for. */
static struct dfg_err *copy_control(struct sharding *s, uint32_t from, uint32_t to)
{
	for (uint32_t e = 0; e < node_of(s, from)->n_control; e++)
		DFG_TRY(dfg_node_add_control(s->builder->graph, to, node_of(s, from)->in[node_of(s, from)->n_in + e].node));
	return NULL;
}

/* Gathers the rows of indices beside each part; each gather waits for what `after` waits for. */
static struct dfg_err *gather(struct sharding *s, const struct divided *v, struct dfg_edge indices, uint32_t after,
	uint32_t reader, struct dfg_edge *out_edge)
{
	const struct route *route;
	struct dfg_edge *rows = dfg_arena_zeros(&s->scratch, v->rows.parts, sizeof *rows), shape;
	const struct dfg_attr dtype = DFG_ATTR_T("dtype", v->dtype);
	if (!rows)
		return dfg_no_memory("the parts of a variable");
	DFG_TRY(find_route(s, v, indices, &route));
	struct dfg_edge *local = route->local, *position = route->position;
	for (uint32_t k = 0; k < v->rows.parts; k++) {
		const struct dfg_edge in[] = {{v->part[k], 0}, local[k]};
		uint32_t node;
		DFG_TRY(make_node(s, "ResourceGather", in, 2, &dtype, 1, &node));
		DFG_TRY(copy_control(s, after, node));
		if (reader != DFG_NONE)
			DFG_TRY(dfg_node_add_control(s->builder->graph, reader, node));
		rows[k] = (struct dfg_edge){node, 0};
	}
	DFG_TRY(dfg_build_op(s->builder, "Shape", fresh(s, "Shape"), &indices, 1, &shape));
	return stitch(s, v, position, rows, &shape, out_edge);
}

/* Whether the node gathers rows along the first axis. */
static bool gathers(const struct sharding *s, const struct dfg_node *node)
{
	int64_t batch = 0;
	(void)dfg_node_mark(node, "batch_dims", &batch);
	if (batch)
		return false;
	if (!strcmp(node->op_name, "Gather") || !strcmp(node->op_name, "ResourceGather"))
		return true;
	const struct dfg_known_value *axis = node->n_in == 3 ? dfg_facts_of(&s->builder->facts, node->in[2])->known : NULL;
	return !strcmp(node->op_name, "GatherV2") && axis && axis->count == 1 && axis->v[0] == 0;
}

/*
 * A read of the whole variable, and gathers of it: these read the parts at the same time as the read does, and what waits for
 * the read waits for them.
 */
static struct dfg_err *replace_read(struct sharding *s, const struct divided *v, uint32_t n)
{
	uint32_t parts = v->rows.parts, reader = DFG_NONE;
	bool whole = false;
	struct dfg_edge *position = dfg_arena_zeros(&s->scratch, parts, sizeof *position),
					*rows = dfg_arena_zeros(&s->scratch, parts, sizeof *rows), all;
	const struct dfg_attr dtype = DFG_ATTR_T("dtype", v->dtype);
	if (!position || !rows)
		return dfg_no_memory("the parts of a variable");
	const struct dfg_new_node wait = {.op = "NoOp", .name = fresh(s, "read")};
	DFG_TRY(dfg_build(s->builder, &wait, &reader));
	for (uint32_t g = 0; g < s->before; g++) {
		const struct dfg_node *node = node_of(s, g);
		for (uint32_t e = 0; e < node->n_in; e++)
			whole |= node->in[e].node == n && (e || !gathers(s, node));
		if (!node->n_in || node->in[0].node != n || !gathers(s, node))
			continue;
		DFG_TRY(gather(s, v, node->in[1], n, reader, &all));
		DFG_TRY(become(s, g, "Identity", &all));
	}
	struct dfg_row_part part = v->rows;
	for (uint32_t k = part.part = 0; k < parts; k++, part.part++) {
		uint32_t node;
		int64_t first = dfg_row_part_at(&part, 0), step = part.by_div ? 1 : parts;
		DFG_TRY(range(s, first, first + dfg_row_part_rows(&part) * step, step, &position[k]));
		DFG_TRY(make_node(s, "ReadVariableOp", &(struct dfg_edge){v->part[k], 0}, 1, &dtype, 1, &node));
		DFG_TRY(copy_control(s, n, node));
		rows[k] = (struct dfg_edge){node, 0};
	}
	DFG_TRY(stitch(s, v, position, rows, NULL, &all));
	for (uint32_t w = 0; w < s->builder->graph->count; w++)
		for (uint32_t e = node_of(s, w)->n_in; e < node_of(s, w)->n_in + node_of(s, w)->n_control; e++)
			if (node_of(s, w)->in[e].node == n)
				node_of(s, w)->in[e].node = reader;
	if (whole)
		DFG_TRY(dfg_node_add_control(s->builder->graph, reader, n));
	return become(s, n, "Identity", &all);
}

/* A write of rows, or of the whole variable, becomes one of each part; the old node waits for all. */
static struct dfg_err *replace_write(struct sharding *s, const struct divided *v, uint32_t n)
{
	uint32_t parts = v->rows.parts;
	const char *op_name = node_of(s, n)->op_name;
	bool of_rows = node_of(s, n)->n_in == 3, initial = dfg_node_mark(node_of(s, n), "_dfg_init", NULL);
	struct dfg_edge *value = dfg_arena_zeros(&s->scratch, parts, sizeof *value), to, indices = node_of(s, n)->in[1];
	uint32_t *written = dfg_arena_zeros(&s->scratch, parts, sizeof *written);
	const struct route *route;
	if (!value || !written)
		return dfg_no_memory("the parts of a variable");
	if (!of_rows)
		DFG_TRY(range(s, 0, v->rows.rows, 1, &indices));
	DFG_TRY(find_route(s, v, indices, &route));
	struct dfg_edge *local = route->local;
	to = route->to;
	if (of_rows && dfg_facts_of(&s->builder->facts, indices)->shape.rank != 1)
		return DFG_ERR(DFG_DATA,
			"node '%.200s' (%.100s): writes rows of variable '%.200s' at indices that are not a vector",
			node_of(s, n)->name, op_name, v->name);
	DFG_TRY(partition(s, node_of(s, n)->in[of_rows ? 2 : 1], to, parts, value));
	for (uint32_t k = 0; k < parts; k++) {
		const struct dfg_edge in[] = {{v->part[k], 0}, of_rows ? local[k] : value[k], value[k]};
		DFG_TRY(make_node(s, op_name, in, of_rows ? 3 : 2, NULL, 0, &written[k]));
		DFG_TRY(copy_control(s, n, written[k]));
		if (initial)
			DFG_TRY(dfg_node_set_attr(
				s->builder->graph, written[k], "_dfg_init", DFG_ATTR_BOOL, (union dfg_value){.b = true}));
	}
	DFG_TRY(become(s, n, "NoOp", NULL));
	node_of(s, n)->n_control = 0;
	for (uint32_t k = 0; k < parts; k++)
		DFG_TRY(dfg_node_add_control(s->builder->graph, n, written[k]));
	return NULL;
}

static struct dfg_err *replace_use(struct sharding *s, const struct divided *v, uint32_t n)
{
	static const char *const writes[] = {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
		"ResourceScatterUpdate", "ResourceScatterAdd", "ResourceScatterSub"};
	struct dfg_edge all;
	const struct dfg_node *node = node_of(s, n);
	if (!strcmp(node->op_name, "ReadVariableOp"))
		return replace_read(s, v, n);
	if (!strcmp(node->op_name, "ResourceGather") && gathers(s, node)) {
		DFG_TRY(gather(s, v, node->in[1], n, DFG_NONE, &all));
		return become(s, n, "Identity", &all);
	}
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
		if (!strcmp(node->op_name, writes[i]))
			return replace_write(s, v, n);
	return DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s): variable '%.200s' cannot be divided: it may be read, gathered, scattered to and "
		"assigned, but not used by this op",
		node->name, node->op_name, v->name);
}

/* 'table/2', and of a slot 'train/table/2/m'. */
static const char *name_part(struct sharding *s, const struct divided *v, uint32_t k)
{
	const char *variable = s->divided[v->variable].name, *at = v->name;
	size_t length = strlen(variable);
	if (v == &s->divided[v->variable])
		return dfg_arena_print(&s->scratch, "%s/%u", v->name, k);
	while (strncmp(at, variable, length) || at[length] != '/')
		at = strchr(at, '/') + 1;
	return dfg_arena_print(&s->scratch, "%.*s/%u%s", (int)(at - v->name + (ptrdiff_t)length), v->name, k, at + length);
}

static struct dfg_err *make_parts(struct sharding *s, struct divided *v)
{
	v->part = dfg_arena_zeros(&s->scratch, v->rows.parts, sizeof *v->part);
	struct dfg_row_part part = v->rows;
	for (uint32_t k = part.part = 0; v->part && k < v->rows.parts; k++, part.part++) {
		struct dfg_shape shape = v->shape;
		shape.dim[0] = dfg_row_part_rows(&part);
		struct dfg_attr attr[8] = {
			DFG_ATTR_T("dtype", v->dtype),
			{"shape", DFG_ATTR_SHAPE, {.shape = &shape}},
			DFG_ATTR_S("_dfg_rows_of", v->name),
			DFG_ATTR_I("_dfg_rows_part", k),
			DFG_ATTR_I("_dfg_rows_parts", part.parts),
			DFG_ATTR_I("_dfg_rows_div", part.by_div),
			DFG_ATTR_I("_dfg_rows_all", part.rows),
			DFG_ATTR_B("_dfg_trainable", true),
		};
		const struct dfg_new_node node = {.op = "VarHandleOp",
			.name = name_part(s, v, k),
			.exact = true,
			.attr = attr,
			.n_attr = dfg_node_mark(node_of(s, v->node), "_dfg_trainable", NULL) ? 8 : 7};
		if (!node.name)
			return dfg_no_memory("the parts of a variable");
		DFG_TRY(dfg_build(s->builder, &node, &v->part[k]));
	}
	return v->part ? NULL : dfg_no_memory("the parts of a variable");
}

static struct dfg_err *divide(struct sharding *s, struct divided *v)
{
	DFG_TRY(make_parts(s, v));
	for (uint32_t n = 0; n < s->before; n++)
		for (uint32_t e = 0; e < node_of(s, n)->n_in; e++)
			if (node_of(s, n)->in[e].node == v->node) {
				DFG_TRY(replace_use(s, v, n));
				break;
			}
	return become(s, v->node, "NoOp", NULL);
}

/* Adds a variable; its parts are those of the request. */
static struct dfg_err *add_variable(
	struct sharding *s, uint32_t n, uint32_t variable, const struct dfg_shard_request *request)
{
	const struct dfg_node *node = node_of(s, n);
	const struct dfg_attr *shape = dfg_node_attr(node, "shape"), *dtype = dfg_node_attr(node, "dtype");
	bool known = shape && shape->kind == DFG_ATTR_SHAPE && dtype && dtype->kind == DFG_ATTR_DTYPE &&
				 dfg_shape_known(shape->value.shape) && shape->value.shape->rank > 0;
	if (strcmp(node->op_name, "VarHandleOp") || !known)
		return DFG_ERR(DFG_DATA,
			"node '%.200s' (%.100s): only a resource variable of known shape, with at least one dimension, has rows to "
			"divide",
			node->name, node->op_name);
	int64_t rows = shape->value.shape->dim[0];
	if (rows < request->parts || rows > ROWS_MOST)
		return DFG_ERR(DFG_DATA, "node '%.200s' (%.100s): a variable of %lld rows cannot be divided into %u parts",
			node->name, node->op_name, (long long)rows, request->parts);
	s->divided[s->count] = (struct divided){.node = n,
		.name = node->name,
		.variable = variable == DFG_NONE ? s->count : variable,
		.dtype = dtype->value.dtype,
		.shape = *shape->value.shape,
		.rows = {.rows = rows, .parts = request->parts, .by_div = request->by_div}};
	s->count++;
	return NULL;
}

static bool has_rows(const struct dfg_node *node, int64_t rows)
{
	const struct dfg_attr *shape = dfg_node_attr(node, "shape");
	return shape && shape->kind == DFG_ATTR_SHAPE && shape->value.shape->rank > 0 && shape->value.shape->dim[0] == rows;
}

/* The variables that match, then their slots. */
static struct dfg_err *find(struct sharding *s, struct dfg_shard_request *request, size_t requests)
{
	bool *taken = dfg_arena_zeros(&s->scratch, s->before, sizeof *taken);
	s->divided = dfg_arena_zeros(&s->scratch, s->before, sizeof *s->divided);
	if (!taken || !s->divided)
		return dfg_no_memory("the parts of variables");
	for (uint32_t n = 0; n < s->before; n++) {
		const struct dfg_shard_request *last = NULL;
		for (size_t r = 0; r < requests && dfg_node_role(node_of(s, n)) == DFG_VARIABLE; r++)
			if (!fnmatch(request[r].pattern, node_of(s, n)->name, 0)) {
				request[r].used = true;
				last = &request[r];
			}
		if (!last)
			continue;
		taken[n] = true;
		DFG_TRY(add_variable(s, n, DFG_NONE, last));
	}
	uint32_t variables = s->count;
	for (uint32_t n = 0; n < s->before; n++)
		for (uint32_t i = 0; i < variables && !taken[n]; i++) {
			const struct divided *v = &s->divided[i];
			bool slot = dfg_node_role(node_of(s, n)) == DFG_VARIABLE && has_rows(node_of(s, n), v->rows.rows) &&
						dfg_is_slot_of(node_of(s, n)->name, v->name);
			const struct dfg_shard_request same = {.parts = v->rows.parts, .by_div = v->rows.by_div};
			if (slot)
				DFG_TRY(add_variable(s, n, i, &same));
			taken[n] = slot;
		}
	return NULL;
}

struct dfg_err *dfg_shard_variables(struct dfg_builder *builder, struct dfg_shard_request *request, size_t requests)
{
	struct sharding s = {.builder = builder, .before = builder->graph->count};
	struct dfg_err *err = find(&s, request, requests);
	for (uint32_t i = 0; i < s.count && !err; i++)
		err = divide(&s, &s.divided[i]);
	dfg_free(s.route);
	dfg_arena_release(&s.scratch);
	return err;
}
