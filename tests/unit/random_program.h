#pragma once

#include "lib/graph/build.h"

#include <math.h>

/*
 * Random structured programs of scalars: arithmetic, loops (ragged, nested, of no iterations), branches, and derivatives asked
 * for in the middle. Each is computed twice: here, directly, with its Taylor coefficients; and as a graph.
 */
enum { ORDERS = 3, CARRIED_MOST = 3, NAMES_MOST = 400, DERIVE_DEPTH = 2, LOOP_DEPTH = 3, WAYS_MOST = 3 };

/* ---- numbers: Taylor coefficients by x, and by what each derivative around it varies ---- */

/* c[k][a][b]: of dx^k times the variations of nested derivatives; bound: the same of all |terms|. */
struct jet {
	double c[ORDERS + 1][2][2], bound[ORDERS + 1][2][2];
};

static struct jet jet_of(double value)
{
	struct jet jet = {.c[0][0][0] = value, .bound[0][0][0] = fabs(value)};
	return jet;
}

static struct jet jet_add(const struct jet *x, const struct jet *y)
{
	struct jet sum;
	for (int i = 0; i < 4 * (ORDERS + 1); i++) {
		((double *)sum.c)[i] = ((const double *)x->c)[i] + ((const double *)y->c)[i];
		((double *)sum.bound)[i] = ((const double *)x->bound)[i] + ((const double *)y->bound)[i];
	}
	return sum;
}

static struct jet jet_mul(const struct jet *x, const struct jet *y)
{
	struct jet product = {0};
	for (int k = 0; k <= ORDERS; k++)
		for (int i = 0; i <= k; i++)
			for (int v = 0; v < 4; v++)
				for (int w = 0; w < 4; w++)
					if (!(v & w)) {
						int a = (v | w) >> 1, b = (v | w) & 1;
						product.c[k][a][b] += x->c[i][v >> 1][v & 1] * y->c[k - i][w >> 1][w & 1];
						product.bound[k][a][b] += x->bound[i][v >> 1][v & 1] * y->bound[k - i][w >> 1][w & 1];
					}
	return product;
}

/* y = 1 / x, by Newton's y (2 - x y): exact after as many steps as there are orders of variation. */
static struct jet jet_recip(const struct jet *x)
{
	struct jet y = jet_of(1 / x->c[0][0][0]), two = jet_of(2), minus = jet_of(-1);
	for (int step = 0; step < 3; step++) {
		struct jet xy = jet_mul(x, &y), rest = jet_mul(&minus, &xy);
		rest = jet_add(&two, &rest);
		y = jet_mul(&y, &rest);
	}
	return y;
}

/* ---- programs ---- */

enum kind { OP, LOOP, BRANCH, DERIVE };
enum fn { CONST, COPY, ADD, MUL, NEG, RECIP, ODD, ITERATIONS };

struct statement {
	enum kind kind;
	enum fn fn;
	int out, arg[2];
	double value; /* of a CONST */
	int n;        /* carried variables, or results of a branch */
	int inside[CARRIED_MOST], init[CARRIED_MOST], next[CARRIED_MOST], result[CARRIED_MOST + 1];
	int ways, side[WAYS_MOST][CARRIED_MOST]; /* of a branch: how many sides, and what they give */
	int index, iterations;                   /* of a loop; iterations and the predicate of a branch are integers */
	bool plain;                              /* the loop has a counter from 0 by 1 */
	bool peeks; /* one more result: what the condition makes of two variables and arg[0], in the end */
	int peek[2];
	int64_t window;
	struct statement *block[WAYS_MOST]; /* of a loop, a derivative; of each side */
	struct statement *after;
};

struct program {
	struct dfg_arena arena;
	uint64_t random;
	int budget, names;
	struct statement *block;
	int y;
};

static uint64_t draw(struct program *p, uint64_t below)
{
	p->random += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t z = p->random;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

/* Names in scope: data, and integers of loops around. */
struct scope {
	int data[NAMES_MOST], ints[NAMES_MOST], n_data, n_ints;
};

static int pick(struct program *p, const int *names, int n)
{
	int last = n > 3 && draw(p, 10) < 8 ? 3 : n;
	return names[n - 1 - (int)draw(p, (uint64_t)last)];
}

static struct statement *append(struct program *p, struct statement ***end, enum kind kind)
{
	struct statement *st = dfg_arena_zeros(&p->arena, 1, sizeof *st);
	assert_non_null(st);
	st->kind = kind;
	**end = st;
	*end = &st->after;
	return st;
}

static void draw_block(struct program *p, struct scope *scope, struct statement ***end, int loops, int derives);

static void draw_op(struct program *p, struct scope *scope, struct statement ***end)
{
	struct statement *st = append(p, end, OP);
	static const enum fn fns[] = {MUL, MUL, MUL, ADD, ADD, ADD, NEG, RECIP, CONST};
	st->fn = fns[draw(p, sizeof fns / sizeof *fns)];
	st->arg[0] = pick(p, scope->data, scope->n_data);
	st->arg[1] = pick(p, scope->data, scope->n_data);
	st->value = (double)draw(p, 9) / 4 - 1;
	st->out = scope->data[scope->n_data++] = p->names++;
}

/* An integer of a loop's index around it, or of data. */
static int draw_integer(struct program *p, struct scope *scope, struct statement ***end, enum fn fn)
{
	struct statement *st = append(p, end, OP);
	bool of_index = scope->n_ints && draw(p, 10) < 6;
	st->fn = fn;
	st->arg[0] = of_index ? pick(p, scope->ints, scope->n_ints) : pick(p, scope->data, scope->n_data);
	return st->out = p->names++;
}

static void draw_loop(struct program *p, struct scope *scope, struct statement ***end, int loops, int derives)
{
	int iterations = draw_integer(p, scope, end, ITERATIONS);
	struct statement *st = append(p, end, LOOP), **body = &st->block[0];
	struct scope inner = *scope;
	static const int64_t windows[] = {1, 2, 10, 32};
	st->iterations = iterations;
	st->window = windows[draw(p, 4)];
	st->plain = draw(p, 3) > 0;
	st->n = 1 + (int)draw(p, CARRIED_MOST);
	st->index = inner.ints[inner.n_ints++] = p->names++;
	for (int i = 0; i < st->n; i++) {
		st->init[i] = pick(p, scope->data, scope->n_data);
		st->inside[i] = inner.data[inner.n_data++] = p->names++;
	}
	draw_block(p, &inner, &body, loops + 1, derives);
	for (int i = 0; i < st->n; i++) {
		st->next[i] = pick(p, inner.data, inner.n_data);
		st->result[i] = scope->data[scope->n_data++] = p->names++;
	}
	st->peeks = !draw(p, 4);
	if (st->peeks) {
		st->arg[0] = st->init[draw(p, (uint64_t)st->n)];
		for (int i = 0; i < 2; i++)
			st->peek[i] = (int)draw(p, (uint64_t)st->n);
		st->result[st->n] = scope->data[scope->n_data++] = p->names++;
	}
}

static void draw_branch(struct program *p, struct scope *scope, struct statement ***end, int loops, int derives)
{
	int ways = draw(p, 4) ? 2 : WAYS_MOST;
	int predicate = draw_integer(p, scope, end, ways == 2 ? ODD : ITERATIONS);
	struct statement *st = append(p, end, BRANCH);
	st->iterations = predicate;
	st->ways = ways;
	st->n = 1 + (int)draw(p, 2);
	for (int side = 0; side < ways; side++) {
		struct statement **block = &st->block[side];
		struct scope inner = *scope;
		if (draw(p, 10) < 8)
			draw_block(p, &inner, &block, loops, derives);
		for (int i = 0; i < st->n; i++)
			st->side[side][i] = pick(p, inner.data, inner.n_data);
	}
	for (int i = 0; i < st->n; i++)
		st->result[i] = scope->data[scope->n_data++] = p->names++;
}

static void draw_derive(struct program *p, struct scope *scope, struct statement ***end, int loops, int derives)
{
	struct statement *st = append(p, end, DERIVE), **body = &st->block[0];
	struct scope inner = *scope;
	st->arg[0] = pick(p, scope->data, scope->n_data);
	st->inside[0] = inner.data[inner.n_data++] = p->names++;
	draw_block(p, &inner, &body, loops, derives + 1);
	st->arg[1] = inner.data[inner.n_data - 1];
	st->out = scope->data[scope->n_data++] = p->names++;
}

static void draw_block(struct program *p, struct scope *scope, struct statement ***end, int loops, int derives)
{
	for (uint64_t n = 1 + draw(p, 4); n; n--) {
		uint64_t what = p->budget-- > 0 && p->names < NAMES_MOST - 100 ? draw(p, 16) : 0;
		if (what < 6)
			draw_op(p, scope, end);
		else if (what < 9)
			draw_branch(p, scope, end, loops, derives);
		else if (what < 13 && loops < LOOP_DEPTH)
			draw_loop(p, scope, end, loops, derives);
		else if (what >= 13 && derives < DERIVE_DEPTH)
			draw_derive(p, scope, end, loops, derives);
	}
}

enum { X, C }; /* names 0 and 1: the input and a constant */

static void draw_program(struct program *p, uint64_t seed)
{
	struct scope scope = {.data = {C, X}, .n_data = 2};
	*p = (struct program){.random = seed, .names = 2};
	p->budget = 4 + (int)draw(p, 11);
	struct statement **end = &p->block;
	while (p->budget > 0)
		draw_block(p, &scope, &end, 0, 0);
	struct statement *last = append(p, &end, OP);
	*last = (struct statement){.fn = MUL, .arg = {scope.data[scope.n_data - 1], pick(p, scope.data, scope.n_data)}};
	p->y = last->out = p->names++;
}

/* ---- the direct way ---- */

struct values {
	struct jet data[NAMES_MOST];
	int64_t ints[NAMES_MOST];
	bool is_int[NAMES_MOST];
	bool out_of_range; /* a number too large, or too near a pole, to compare with */
	double largest;
};

static inline void run_block(struct values *v, const struct statement *block, int derives);

static void set_data(struct values *v, int name, struct jet value)
{
	v->data[name] = value;
	v->is_int[name] = false;
	for (int i = 0; i < 4 * (ORDERS + 1); i++)
		v->out_of_range |= !(((double *)value.bound)[i] < 1e12);
}

static int64_t rest_of(const struct values *v, int name, int64_t by)
{
	int64_t whole = v->is_int[name] ? v->ints[name] : (int64_t)floor(v->data[name].c[0][0][0]);
	return (whole % by + by) % by;
}

static void run_op(struct values *v, const struct statement *st)
{
	const struct jet minus = jet_of(-1), *x = &v->data[st->arg[0]], *y = &v->data[st->arg[1]];
	switch (st->fn) {
	case CONST:
		set_data(v, st->out, jet_of(st->value));
		return;
	case COPY:
		set_data(v, st->out, *x);
		return;
	case ADD:
		set_data(v, st->out, jet_add(x, y));
		return;
	case MUL:
		set_data(v, st->out, jet_mul(x, y));
		return;
	case NEG:
		set_data(v, st->out, jet_mul(&minus, x));
		return;
	case RECIP:
		v->out_of_range |= fabs(x->c[0][0][0]) < 1e-2;
		set_data(v, st->out, jet_recip(x));
		return;
	case ODD:
	case ITERATIONS:
		v->ints[st->out] = v->out_of_range ? 0 : rest_of(v, st->arg[0], st->fn == ODD ? 2 : 4);
		v->is_int[st->out] = true;
	}
}

static void run_loop(struct values *v, const struct statement *st, int derives)
{
	struct jet next[CARRIED_MOST];
	int64_t iterations = v->ints[st->iterations];
	for (int i = 0; i < st->n; i++)
		next[i] = v->data[st->init[i]];
	for (int64_t t = 0; t < iterations && !v->out_of_range; t++) {
		v->ints[st->index] = t;
		v->is_int[st->index] = true;
		for (int i = 0; i < st->n; i++)
			set_data(v, st->inside[i], next[i]);
		run_block(v, st->block[0], derives);
		for (int i = 0; i < st->n; i++)
			next[i] = v->data[st->next[i]];
	}
	for (int i = 0; i < st->n; i++)
		set_data(v, st->result[i], next[i]);
	if (st->peeks) {
		struct jet seen = jet_add(&next[st->peek[1]], &v->data[st->arg[0]]);
		set_data(v, st->result[st->n], jet_mul(&next[st->peek[0]], &seen));
	}
}

static void run_branch(struct values *v, const struct statement *st, int derives)
{
	int64_t side = v->ints[st->iterations] < st->ways ? v->ints[st->iterations] : st->ways - 1;
	struct jet result[CARRIED_MOST];
	run_block(v, st->block[side], derives);
	for (int i = 0; i < st->n; i++)
		result[i] = v->data[st->side[side][i]];
	for (int i = 0; i < st->n; i++)
		set_data(v, st->result[i], result[i]);
}

/* x varies by a variation of its own; what y has of that is the derivative. */
static void run_derive(struct values *v, const struct statement *st, int derives)
{
	struct jet x = v->data[st->arg[0]], out = {0};
	if (derives)
		x.c[0][0][1] = x.bound[0][0][1] = 1;
	else
		x.c[0][1][0] = x.bound[0][1][0] = 1;
	set_data(v, st->inside[0], x);
	run_block(v, st->block[0], derives + 1);
	const struct jet *y = &v->data[st->arg[1]];
	for (int k = 0; k <= ORDERS; k++)
		for (int a = 0; a < (derives ? 2 : 1); a++) {
			out.c[k][a][0] = derives ? y->c[k][a][1] : y->c[k][1][0];
			out.bound[k][a][0] = derives ? y->bound[k][a][1] : y->bound[k][1][0];
		}
	set_data(v, st->out, out);
}

static inline void run_block(struct values *v, const struct statement *st, int derives)
{
	for (; st && !v->out_of_range; st = st->after) {
		if (st->kind == OP)
			run_op(v, st);
		else if (st->kind == LOOP)
			run_loop(v, st, derives);
		else if (st->kind == BRANCH)
			run_branch(v, st, derives);
		else
			run_derive(v, st, derives);
	}
}
