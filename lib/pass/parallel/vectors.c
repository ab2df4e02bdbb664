#include "lib/pass/parallel/analysis_private.h"

#include <string.h>

enum {
	CLASSES_MOST =
		512, /* accesses to one array that differ in subscripts or kind; beyond it all is assumed dependent */
	VECTORS_MOST = 4096, /* of one array; the same */
};

/* Vectors of one array under construction. */
struct building {
	struct dfg_loop_analysis *a;
	uint32_t array, first; /* its first vector */
	size_t capacity;
	uint32_t x, y; /* the present pair of accesses */
	bool is_full;
};

static bool is_zero(const struct dfg_distance *d)
{
	return dfg_distance_is(d, 0);
}

static bool are_zero(const struct dfg_distance *d, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++)
		if (!is_zero(&d[i]))
			return false;
	return true;
}

/* Sets a component that is ANY; false if it is another number. */
static bool set_distance(struct dfg_distance *d, int64_t number)
{
	if (d->kind == DFG_DISTANCE_NUMBER)
		return d->number == number;
	if (d->kind == DFG_DISTANCE_POSITIVE && number <= 0)
		return false;
	*d = (struct dfg_distance){DFG_DISTANCE_NUMBER, number};
	return true;
}

/* Elements of which all counters are the same are the same, and numbers are the same only with all of their counters. */
static bool propagate(const struct dfg_loop_dependences *out, struct dfg_distance *d)
{
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = out->n_counter; i < out->n_coordinate; i++) {
			const struct dfg_coordinate *c = &out->coordinate[i];
			if (are_zero(d, c->first, c->last) && !set_distance(&d[i], 0))
				return false;
			for (uint32_t k = c->first; c->is_number && is_zero(&d[i]) && k < c->last; k++)
				if (!set_distance(&d[k], 0))
					return false;
		}
	return true;
}

/* The distance from x to y in iterations in which they access the same element; false: in none. */
static bool meet(const struct dfg_loop_dependences *out, const struct dfg_array_access *x,
	const struct dfg_array_access *y, struct dfg_distance *d)
{
	uint32_t n = x->n_subscript < y->n_subscript ? x->n_subscript : y->n_subscript;
	memset(d, 0, out->n_coordinate * sizeof *d);
	for (uint32_t i = 0; i < n; i++) {
		const struct dfg_subscript *s = &x->subscript[i], *t = &y->subscript[i];
		if (s->kind != t->kind || s->kind == DFG_SUBSCRIPT_ANY || !dfg_edge_same(s->symbol, t->symbol))
			continue;
		if (s->kind == DFG_SUBSCRIPT_CONSTANT && s->offset != t->offset)
			return false;
		if (s->kind == DFG_SUBSCRIPT_COORDINATE && s->coordinate == t->coordinate &&
			!set_distance(&d[s->coordinate], s->offset - t->offset))
			return false;
	}
	return propagate(out, d);
}

static bool equal(const struct dfg_distance *d, const struct dfg_distance *e, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (d[i].kind != e[i].kind || (d[i].kind == DFG_DISTANCE_NUMBER && d[i].number != e[i].number))
			return false;
	return true;
}

static struct dfg_err *put_vector(struct building *b, const struct dfg_distance *d)
{
	struct dfg_loop_dependences *out = b->a->out;
	uint32_t n = out->n_coordinate;
	for (uint32_t i = b->first; i < out->n_vector; i++)
		if (equal(out->vector[i].distance, d, n))
			return NULL;
	if (out->n_vector - b->first >= VECTORS_MOST) {
		b->is_full = true;
		return NULL;
	}
	if (out->n_vector == b->capacity) {
		b->capacity = 2 * b->capacity + 16;
		struct dfg_dependence *grown = dfg_arena_zeros(b->a->arena, b->capacity, sizeof *grown);
		if (!grown)
			return dfg_no_memory("the dependences of a loop");
		if (out->n_vector)
			memcpy(grown, out->vector, out->n_vector * sizeof *grown);
		out->vector = grown;
	}
	struct dfg_distance *copy = dfg_arena_zeros(b->a->arena, n, sizeof *copy);
	if (!copy)
		return dfg_no_memory("the dependences of a loop");
	memcpy(copy, d, n * sizeof *copy);
	out->vector[out->n_vector++] = (struct dfg_dependence){b->array, b->x, b->y, copy};
	return NULL;
}

static void negate(struct dfg_distance *d, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (d[i].kind == DFG_DISTANCE_NUMBER)
			d[i].number = -d[i].number;
}

/* Puts the vector from the earlier iteration to the later one. A leading ANY is positive in either direction, or 0. */
static struct dfg_err *put_ordered(struct building *b, struct dfg_distance *d, struct dfg_distance *scratch)
{
	const struct dfg_loop_dependences *out = b->a->out;
	for (uint32_t k = 0; k < out->n_counter; k++) {
		if (is_zero(&d[k]))
			continue;
		if (d[k].kind == DFG_DISTANCE_NUMBER) {
			if (d[k].number < 0)
				negate(d, out->n_coordinate);
			return put_vector(b, d);
		}
		memcpy(scratch, d, out->n_coordinate * sizeof *d);
		scratch[k].kind = DFG_DISTANCE_POSITIVE;
		DFG_TRY(put_vector(b, scratch));
		negate(scratch, out->n_coordinate);
		DFG_TRY(put_vector(b, scratch));
		if (!set_distance(&d[k], 0) || !propagate(out, d))
			return NULL;
	}
	return NULL; /* the same iteration */
}

/* Without an order a vector and its opposite are one dependence. */
static struct dfg_err *put_unordered(struct building *b, struct dfg_distance *d)
{
	uint32_t n = b->a->out->n_coordinate;
	for (uint32_t k = 0; k < n; k++)
		if (d[k].kind == DFG_DISTANCE_NUMBER && d[k].number) {
			if (d[k].number < 0)
				negate(d, n);
			break;
		}
	return put_vector(b, d);
}

static bool is_same_class(const struct dfg_array_access *x, const struct dfg_array_access *y)
{
	if (x->array != y->array || x->writes != y->writes || x->n_subscript != y->n_subscript)
		return false;
	for (uint32_t i = 0; i < x->n_subscript; i++)
		if (!dfg_subscript_equal(&x->subscript[i], &y->subscript[i]) &&
			(x->subscript[i].kind != DFG_SUBSCRIPT_ANY || y->subscript[i].kind != DFG_SUBSCRIPT_ANY))
			return false;
	return true;
}

/* One access of each kind to the array; *out_n is CLASSES_MOST + 1 if there are more. */
static void find_classes(const struct dfg_loop_dependences *out, uint32_t array, uint32_t *class, uint32_t *out_n)
{
	*out_n = 0;
	for (uint32_t i = 0; i < out->n_access && *out_n <= CLASSES_MOST; i++) {
		bool is_new = out->access[i].array == array;
		for (uint32_t k = 0; is_new && k < *out_n; k++)
			is_new = !is_same_class(&out->access[i], &out->access[class[k]]);
		if (is_new)
			class[(*out_n)++] = i;
	}
}

static struct dfg_err *put_pair(struct building *b, struct dfg_distance *d)
{
	const struct dfg_loop_dependences *out = b->a->out;
	const struct dfg_array_access *x = &out->access[b->x], *y = &out->access[b->y];
	if (b->is_full || (!x->writes && !y->writes) || !meet(out, x, y, d) || are_zero(d, 0, out->n_counter))
		return NULL;
	return out->is_ordered ? put_ordered(b, d, d + out->n_coordinate) : put_unordered(b, d);
}

/* Too many to tell apart: any two iterations may depend on each other. */
static struct dfg_err *give_up(struct building *b, struct dfg_distance *d)
{
	struct dfg_loop_dependences *out = b->a->out;
	out->n_vector = b->first;
	memset(d, 0, out->n_coordinate * sizeof *d);
	return out->is_ordered ? put_ordered(b, d, d + out->n_coordinate) : put_vector(b, d);
}

static struct dfg_err *find_array(struct building *b, uint32_t *class, struct dfg_distance *d)
{
	uint32_t n;
	find_classes(b->a->out, b->array, class, &n);
	b->is_full = n > CLASSES_MOST;
	for (uint32_t i = 0; i < n && !b->is_full; i++)
		for (uint32_t k = i; k < n; k++) {
			b->x = class[i];
			b->y = class[k];
			DFG_TRY(put_pair(b, d));
		}
	return b->is_full ? give_up(b, d) : NULL;
}

struct dfg_err *dfg_vectors_find(struct dfg_loop_analysis *a)
{
	struct dfg_loop_dependences *out = a->out;
	struct building b = {.a = a};
	uint32_t *class = dfg_arena_zeros(a->arena, CLASSES_MOST + 1, sizeof *class);
	struct dfg_distance *d = dfg_arena_zeros(a->arena, 2 * (size_t)out->n_coordinate, sizeof *d);
	if (!class || !d)
		return dfg_no_memory("the dependences of a loop");
	for (b.array = 0; b.array < out->n_array; b.array++) {
		const struct dfg_loop_array *array = &out->array[b.array];
		b.first = out->n_vector;
		if (array->is_written && !array->is_accumulator && !array->is_buffered)
			DFG_TRY(find_array(&b, class, d));
	}
	return NULL;
}
