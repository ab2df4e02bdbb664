#include "lib/pass/parallel/analysis_private.h"

#include <string.h>

enum {
	DEPTH = 64,
	STEPS_MOST = 4096,         /* nodes that are read for one access */
	INDEX_MOST = DFG_RANK_MAX, /* subscripts of an access, indices of an element */
	OFFSET_MOST = 1 << 30,     /* constants beyond it are not reckoned with */
};

static const struct dfg_subscript any = {.kind = DFG_SUBSCRIPT_ANY, .symbol = {.node = DFG_NONE}};

static struct dfg_err *recover(struct dfg_loop_analysis *a, struct dfg_edge edge, int depth, struct dfg_subscript *out);

static const struct dfg_inferred *fact_of(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	return dfg_facts_of(a->facts, edge);
}

bool dfg_subscript_equal(const struct dfg_subscript *x, const struct dfg_subscript *y)
{
	if (x->kind != y->kind || x->kind == DFG_SUBSCRIPT_ANY || x->offset != y->offset)
		return false;
	return dfg_edge_same(x->symbol, y->symbol) && (x->kind == DFG_SUBSCRIPT_CONSTANT || x->coordinate == y->coordinate);
}

static struct dfg_subscript constant(int64_t value)
{
	bool fits = value >= -OFFSET_MOST && value <= OFFSET_MOST;
	return fits ? (struct dfg_subscript){DFG_SUBSCRIPT_CONSTANT, .offset = value, .symbol = {.node = DFG_NONE}} : any;
}

static struct dfg_subscript coordinate(uint32_t number)
{
	return (struct dfg_subscript){DFG_SUBSCRIPT_COORDINATE, .coordinate = number, .symbol = {.node = DFG_NONE}};
}

/* Coordinates. */

static bool is_same_coordinate(const struct dfg_coordinate *x, const struct dfg_coordinate *y)
{
	if (x->is_counter || y->is_counter || x->is_number != y->is_number || x->n_index != y->n_index)
		return false;
	if (x->is_number)
		return x->first == y->first && x->last == y->last;
	for (uint32_t i = 0; i < x->n_index; i++)
		if (!dfg_subscript_equal(&x->index[i], &y->index[i]))
			return false;
	return dfg_edge_same(x->base, y->base);
}

const char *dfg_subscript_words(const struct dfg_loop_analysis *a, const struct dfg_subscript *s)
{
	const char *symbol = s->symbol.node != DFG_NONE ? a->graph->node[s->symbol.node].name : NULL;
	const char *head = s->kind == DFG_SUBSCRIPT_COORDINATE ? a->out->coordinate[s->coordinate].name : NULL;
	if (s->kind == DFG_SUBSCRIPT_ANY)
		return "any";
	if (!head && !symbol)
		return dfg_arena_print(a->arena, "%lld", (long long)s->offset);
	const char *sum =
		dfg_arena_print(a->arena, "%s%s%s", head ? head : "", head && symbol ? " + " : "", symbol ? symbol : "");
	if (!s->offset || !sum)
		return sum;
	return dfg_arena_print(
		a->arena, "%s %c %lld", sum, s->offset < 0 ? '-' : '+', (long long)(s->offset < 0 ? -s->offset : s->offset));
}

static const char *element_words(const struct dfg_loop_analysis *a, const struct dfg_coordinate *c)
{
	const char *text = dfg_arena_print(a->arena, "%s[", a->graph->node[c->base.node].name);
	for (uint32_t i = 0; text && i < c->n_index; i++)
		text = dfg_arena_print(a->arena, "%s%s%s", text, i ? ", " : "", dfg_subscript_words(a, &c->index[i]));
	return text ? dfg_arena_print(a->arena, "%s]", text) : NULL;
}

static const char *number_words(const struct dfg_loop_analysis *a, const struct dfg_coordinate *c)
{
	const char *text = "(";
	for (uint32_t i = c->first; text && i < c->last; i++)
		text = dfg_arena_print(a->arena, "%s%s%s%s", text, i > c->first ? ", " : "", a->out->coordinate[i].name,
			i + 1 < c->last ? "" : ")");
	return text;
}

static struct dfg_err *put_coordinate(
	struct dfg_loop_analysis *a, struct dfg_coordinate *new, struct dfg_subscript *out)
{
	struct dfg_loop_dependences *loop = a->out;
	for (uint32_t i = 0; i < loop->n_coordinate; i++)
		if (is_same_coordinate(&loop->coordinate[i], new)) {
			*out = coordinate(i);
			return NULL;
		}
	new->name = new->is_number ? number_words(a, new) : element_words(a, new);
	struct dfg_coordinate *grown = dfg_arena_zeros(a->arena, loop->n_coordinate + 1, sizeof *grown);
	if (!new->name || !grown)
		return dfg_no_memory("the coordinates of a loop");
	memcpy(grown, loop->coordinate, loop->n_coordinate * sizeof *grown);
	grown[loop->n_coordinate] = *new;
	loop->coordinate = grown;
	*out = coordinate(loop->n_coordinate++);
	return NULL;
}

static struct dfg_err *put_range(struct dfg_loop_analysis *a, uint32_t first, uint32_t last, struct dfg_subscript *out)
{
	struct dfg_coordinate new = {.first = first, .last = last, .is_number = true};
	if (a->is_collecting || last == first + 1) {
		*out = coordinate(first);
		return NULL;
	}
	return put_coordinate(a, &new, out);
}

/* The counters that decide the index. */
static void find_span(const struct dfg_loop_analysis *a, struct dfg_coordinate *c)
{
	c->first = a->out->n_counter;
	c->last = 0;
	for (uint32_t i = 0; i < c->n_index; i++)
		if (c->index[i].kind == DFG_SUBSCRIPT_COORDINATE) {
			const struct dfg_coordinate *by = &a->out->coordinate[c->index[i].coordinate];
			c->first = by->first < c->first ? by->first : c->first;
			c->last = by->last > c->last ? by->last : c->last;
		}
	if (c->first > c->last)
		c->first = c->last;
}

/* The element of the tensor, which the loop does not change, at the n subscripts; *out is ANY if one of them is. */
static struct dfg_err *put_element(struct dfg_loop_analysis *a, struct dfg_edge base, const struct dfg_subscript *index,
	uint32_t n, struct dfg_subscript *out)
{
	*out = any;
	for (uint32_t i = 0; i < n; i++)
		if (index[i].kind == DFG_SUBSCRIPT_ANY)
			return NULL;
	if (a->is_collecting || dfg_edge_is_inside(a, base))
		return NULL;
	struct dfg_subscript *copy = dfg_arena_zeros(a->arena, n + 1, sizeof *copy);
	if (!copy)
		return dfg_no_memory("the coordinates of a loop");
	memcpy(copy, index, n * sizeof *copy);
	struct dfg_coordinate new = {.base = base, .index = copy, .n_index = n};
	find_span(a, &new);
	return put_coordinate(a, &new, out);
}

/* Subscripts. */

static bool has_int(const struct dfg_node *node, const char *name, int64_t *out_i)
{
	*out_i = 0;
	return dfg_node_mark(node, name, out_i);
}

static int64_t count_of(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_shape *shape = &fact_of(a, edge)->shape;
	return dfg_shape_known(shape) ? dfg_shape_count(shape) : DFG_UNKNOWN;
}

/* A conversion that no value of its input overflows. */
static bool widens(const struct dfg_loop_analysis *a, const struct dfg_node *node, struct dfg_edge edge)
{
	enum dfg_dtype from = fact_of(a, node->in[0])->dtype, to = fact_of(a, edge)->dtype;
	return dfg_node_means(node, DFG_MEANS_CAST) && dfg_dtype_is(from, "int") && dfg_dtype_is(to, "int") &&
		   dfg_dtype_is(to, "signed") && (dfg_dtype_size(to) > dfg_dtype_size(from) || to == from);
}

static struct dfg_err *element_of(
	struct dfg_loop_analysis *a, struct dfg_edge edge, uint32_t p, int depth, struct dfg_subscript *out);

/*
 * The subscripts at which a slice takes single elements of its leading axes, if it keeps the others whole; *out_n is 0 if
 * it is another slice.
 */
static struct dfg_err *slice_index(
	struct dfg_loop_analysis *a, const struct dfg_node *node, int depth, struct dfg_subscript *index, uint32_t *out_n)
{
	static const char *const masks[] = {"begin_mask", "ellipsis_mask", "new_axis_mask"};
	int64_t n = count_of(a, node->in[1]), mask;
	*out_n = 0;
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
		if (has_int(node, masks[i], &mask) && mask)
			return NULL;
	has_int(node, "shrink_axis_mask", &mask);
	if (n < 1 || n > INDEX_MOST || (mask & ((1 << n) - 1)) != (1 << n) - 1)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		DFG_TRY(element_of(a, node->in[1], i, depth, &index[i]));
	*out_n = (uint32_t)n;
	return NULL;
}

/* Element p of what is left of the slice's tensor, a vector; or the scalar that is left, with p DFG_NONE. */
static struct dfg_err *of_slice(
	struct dfg_loop_analysis *a, const struct dfg_node *node, uint32_t p, int depth, struct dfg_subscript *out)
{
	struct dfg_subscript index[INDEX_MOST + 1];
	struct dfg_edge base = dfg_parallel_source(a, node->in[0]);
	uint32_t n;
	*out = any;
	DFG_TRY(slice_index(a, node, depth, index, &n));
	if (!n)
		return NULL;
	if (p != DFG_NONE)
		index[n++] = constant(p);
	if (fact_of(a, base)->shape.rank != (int)n)
		return NULL;
	bool is_position = n == 1 && index[0].kind == DFG_SUBSCRIPT_CONSTANT && index[0].symbol.node == DFG_NONE;
	if (dfg_edge_is_inside(a, base) && is_position && index[0].offset >= 0)
		return element_of(a, base, (uint32_t)index[0].offset, depth, out);
	return put_element(a, base, index, n, out);
}

/* Element p of a small tensor whose dimensions are all 1, but for one. */
static struct dfg_err *element_of(
	struct dfg_loop_analysis *a, struct dfg_edge edge, uint32_t p, int depth, struct dfg_subscript *out)
{
	edge = dfg_parallel_source(a, edge);
	const struct dfg_node *node = &a->graph->node[edge.node];
	const struct dfg_inferred *fact = fact_of(a, edge);
	const struct dfg_known_value *known = fact->known ? fact->known : fact->matrix;
	int64_t count = count_of(a, edge);
	*out = any;
	if (!depth || !a->steps)
		return NULL;
	a->steps--;
	if (known && p < known->count && known->v[p] != DFG_NOT_KNOWN) {
		*out = constant(known->v[p]);
		return NULL;
	}
	if (dfg_node_means(node, DFG_MEANS_PACKED) && fact->shape.rank == 1 && p < node->n_in)
		return recover(a, node->in[p], depth - 1, out);
	bool is_view = node->op && node->op->flags & DFG_VIEW && count >= 0 && count_of(a, node->in[0]) == count;
	if (fact->shape.rank != 0 && (is_view || widens(a, node, edge)))
		return fact_of(a, node->in[0])->shape.rank == 0 ? recover(a, node->in[0], depth - 1, out)
														: element_of(a, node->in[0], p, depth - 1, out);
	if (dfg_node_means(node, DFG_MEANS_SLICE) && dfg_edge_is_inside(a, edge) && fact->shape.rank == 1)
		return of_slice(a, node, p, depth - 1, out);
	const struct dfg_subscript at = constant(p);
	return !dfg_edge_is_inside(a, edge) && fact->shape.rank == 1 ? put_element(a, edge, &at, 1, out) : NULL;
}

/* A sum or difference, in a type whose sums do not wrap around to other rows: those of 8 and 16 bits do. */
static bool is_sum(const struct dfg_loop_analysis *a, struct dfg_edge edge)
{
	const struct dfg_node *node = &a->graph->node[edge.node];
	return (dfg_node_means(node, DFG_MEANS_SUM) || dfg_node_means(node, DFG_MEANS_DIFFERENCE)) &&
		   dfg_dtype_size(fact_of(a, edge)->dtype) >= sizeof(int32_t);
}

/* x + y, or x - y, if that is a subscript. */
static struct dfg_subscript add_subscripts(const struct dfg_subscript *x, const struct dfg_subscript *y, int sign)
{
	const struct dfg_subscript *head = y->kind == DFG_SUBSCRIPT_COORDINATE ? y : x, *tail = head == x ? y : x;
	bool subtracts_name = sign < 0 && (y->kind != DFG_SUBSCRIPT_CONSTANT || y->symbol.node != DFG_NONE);
	bool has_two = head->symbol.node != DFG_NONE && tail->symbol.node != DFG_NONE;
	if (x->kind == DFG_SUBSCRIPT_ANY || tail->kind != DFG_SUBSCRIPT_CONSTANT || subtracts_name || has_two)
		return any;
	struct dfg_subscript sum = constant(x->offset + sign * y->offset);
	if (sum.kind == DFG_SUBSCRIPT_ANY)
		return any;
	sum.kind = head->kind;
	sum.coordinate = head->coordinate;
	sum.symbol = head->symbol.node != DFG_NONE ? head->symbol : tail->symbol;
	return sum;
}

static struct dfg_err *recover_sum(
	struct dfg_loop_analysis *a, const struct dfg_node *node, int depth, struct dfg_subscript *out)
{
	struct dfg_subscript side[2];
	for (int i = 0; i < 2; i++)
		DFG_TRY(recover(a, node->in[i], depth, &side[i]));
	*out = add_subscripts(&side[0], &side[1], dfg_node_means(node, DFG_MEANS_SUM) ? 1 : -1);
	return NULL;
}

/*
 * The tensor that an op takes an element of: of an array, the flow, which tells its content; of a variable, its handle. *out
 * is inside the loop if the loop changes it.
 */
static struct dfg_edge element_base(
	const struct dfg_loop_analysis *a, const struct dfg_node *node, struct dfg_edge inside)
{
	uint32_t variable = dfg_alias_of(a->aliases, node->in[0]);
	if (node->op->flags & DFG_TENSOR_ARRAY)
		return dfg_parallel_source(a, node->in[node->n_in - 1]);
	if (!(node->op->flags & DFG_READS))
		return dfg_parallel_source(a, node->in[0]);
	bool is_kept = variable && a->array_of[variable - 1] && !a->out->array[a->array_of[variable - 1] - 1].is_written;
	return is_kept ? dfg_parallel_source(a, node->in[0]) : inside;
}

static struct dfg_err *recover_element(
	struct dfg_loop_analysis *a, struct dfg_edge edge, int depth, struct dfg_subscript *out)
{
	const struct dfg_node *node = &a->graph->node[edge.node];
	struct dfg_subscript index;
	*out = any;
	if (fact_of(a, edge)->shape.rank != 0 || fact_of(a, node->in[1])->shape.rank != 0)
		return NULL;
	DFG_TRY(recover(a, node->in[1], depth, &index));
	return put_element(a, element_base(a, node, edge), &index, 1, out);
}

/* The scalar as a subscript. */
static struct dfg_err *recover(struct dfg_loop_analysis *a, struct dfg_edge edge, int depth, struct dfg_subscript *out)
{
	uint32_t first, last;
	edge = dfg_parallel_source(a, edge);
	const struct dfg_node *node = &a->graph->node[edge.node];
	const struct dfg_known_value *known = fact_of(a, edge)->known;
	*out = any;
	if (!depth || !a->steps)
		return NULL;
	a->steps--;
	if (known && known->count == 1 && known->v[0] != DFG_NOT_KNOWN) {
		*out = constant(known->v[0]);
	} else if (!dfg_edge_is_inside(a, edge)) {
		*out = constant(0);
		out->symbol = edge;
	} else if (dfg_counter_range(a, edge, &first, &last)) {
		return put_range(a, first, last, out);
	} else if (is_sum(a, edge)) {
		return recover_sum(a, node, depth - 1, out);
	} else if (widens(a, node, edge)) {
		return recover(a, node->in[0], depth - 1, out);
	} else if (dfg_node_means(node, DFG_MEANS_SLICE) && fact_of(a, edge)->shape.rank == 0) {
		return of_slice(a, node, DFG_NONE, depth - 1, out);
	} else if (dfg_node_means(node, DFG_MEANS_ELEMENT)) {
		return recover_element(a, edge, depth - 1, out);
	}
	return NULL;
}

/* Accesses. */

/* The number of subscripts of an access; they are all ANY unless it selects one row or slice. */
static uint32_t count_subscripts(const struct dfg_loop_analysis *a, const struct dfg_node *node, bool *out_single)
{
	int64_t batch;
	*out_single = false;
	if (!node->op->elements || node->n_in < 2 || (has_int(node, "batch_dims", &batch) && batch))
		return 0;
	const struct dfg_shape *shape = &fact_of(a, node->in[1])->shape;
	int64_t count = count_of(a, node->in[1]);
	int64_t n = node->op->elements == DFG_ELEMENTS_ROWS ? 1 : shape->rank > 0 ? shape->dim[shape->rank - 1] : 0;
	*out_single = count == n;
	return n > 0 && n <= INDEX_MOST ? (uint32_t)n : 0;
}

static struct dfg_err *read_subscripts(struct dfg_loop_analysis *a, struct dfg_array_access *access)
{
	const struct dfg_node *node = &a->graph->node[access->node];
	bool single;
	bool is_first = node->n_in && dfg_alias_of(a->aliases, node->in[0]) &&
					a->array_of[dfg_alias_of(a->aliases, node->in[0]) - 1] == access->array + 1;
	uint32_t n = is_first ? count_subscripts(a, node, &single) : 0;
	access->n_subscript = n;
	access->subscript = dfg_arena_zeros(a->arena, n + 1, sizeof *access->subscript);
	if (!access->subscript)
		return dfg_no_memory("the subscripts of a loop");
	for (uint32_t i = 0; i < n; i++) {
		access->subscript[i] = any;
		a->steps = STEPS_MOST;
		if (single && fact_of(a, node->in[1])->shape.rank == 0)
			DFG_TRY(recover(a, node->in[1], DEPTH, &access->subscript[i]));
		else if (single)
			DFG_TRY(element_of(a, node->in[1], i, DEPTH, &access->subscript[i]));
	}
	return NULL;
}

static struct dfg_err *read_all(struct dfg_loop_analysis *a, bool is_collecting)
{
	a->is_collecting = is_collecting;
	for (uint32_t i = 0; i < a->out->n_access; i++)
		DFG_TRY(read_subscripts(a, &a->out->access[i]));
	return NULL;
}

struct dfg_err *dfg_subscripts_find(struct dfg_loop_analysis *a)
{
	static const char names[] = "ijklmnop";
	struct dfg_loop_dependences *out = a->out;
	a->cut[0] = (struct dfg_radix){.constant = 1};
	a->n_cut = 1;
	DFG_TRY(read_all(a, true));
	out->n_counter = out->n_coordinate = a->n_cut;
	out->coordinate = dfg_arena_zeros(a->arena, out->n_counter, sizeof *out->coordinate);
	if (!out->coordinate)
		return dfg_no_memory("the coordinates of a loop");
	for (uint32_t i = 0; i < out->n_counter; i++) {
		const char *name = dfg_arena_copy(a->arena, &names[i], 1);
		if (!name)
			return dfg_no_memory("the coordinates of a loop");
		out->coordinate[i] = (struct dfg_coordinate){.is_counter = true, .first = i, .last = i + 1, .name = name};
	}
	return read_all(a, false);
}
