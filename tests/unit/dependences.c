#include "tests/unit/test.h"

#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/lang/lang.h"
#include "lib/pass/parallel/dependences.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Random parallel loops: the dependences that the analysis claims against those of all iterations, enumerated here from what
 * the loops were made of. Rows are never read or written: a subscript is evaluated for every iteration.
 */
enum {
	RANGES_MOST = 3,
	ARRAYS_MOST = 3,
	ACCESSES_MOST = 6,
	AXES_MOST = 2,
	TABLES = 2,
	TABLE_ROWS = 16,
	CONFLICTS_MOST = 1 << 16,
};

enum kind { CONSTANT, INDEX, ELEMENT, NESTED, TWICE, SUM_OF_TWO, TRIPLE, KINDS };
enum change { READ, ADD, SET, MAX };

/*
 * In the order of enum kind: offset; index[range] + offset; table[index[range] + inner] + offset; table[other table[index]];
 * 2 * index[range]; index[range] + index[other]; 3 * table[index[range] + inner].
 */
struct subscript {
	enum kind kind;
	int range, other, table, inner, offset;
};

struct access {
	int array;
	enum change change;
	struct subscript at[AXES_MOST];
};

struct loop {
	bool is_ordered,
		is_aligned; /* aligned: each axis of an array has a range of its own, and no kind but the first two */
	int ranges, low[RANGES_MOST], extent[RANGES_MOST];
	bool is_input[RANGES_MOST]; /* the extent is the length of an input */
	int arrays, axes[ARRAYS_MOST], axis_range[ARRAYS_MOST][AXES_MOST];
	int accesses;
	struct access access[ACCESSES_MOST];
	int table[TABLES][TABLE_ROWS];
};

/* Two iterations, the first before the second, that access a row of the array, one of them by a write. */
struct conflict {
	int array, first, second;
};

static uint64_t seed = 1;

static int below(int n)
{
	return (int)(dfg_random_next(&seed) % (uint64_t)n);
}

static struct subscript random_subscript(const struct loop *loop, int array, int axis)
{
	int range = loop->is_aligned ? loop->axis_range[array][axis] : below(loop->ranges);
	int kind = loop->is_aligned ? below(4) == 0 ? CONSTANT : INDEX : below(10);
	struct subscript s = {.range = range, .other = below(loop->ranges), .table = below(TABLES), .inner = below(2)};
	s.kind = kind < 2   ? (enum kind)kind
			 : kind < 6 ? INDEX
			 : kind < 8 ? ELEMENT
						: (enum kind)(NESTED + below(KINDS - NESTED));
	/* Two rows at least lie on either side of a constant, whatever the offset, so that each distance happens. */
	s.offset = s.kind == CONSTANT ? loop->low[range] + 3 : below(loop->is_aligned ? 2 : 3);
	return s;
}

static void make_loop(struct loop *loop)
{
	*loop = (struct loop){.is_ordered = below(2), .is_aligned = below(2), .ranges = 1 + below(RANGES_MOST)};
	for (int r = 0; r < loop->ranges; r++) {
		loop->low[r] = below(2);
		loop->extent[r] = 6;
		loop->is_input[r] = below(2);
	}
	loop->arrays = 1 + below(ARRAYS_MOST);
	for (int a = 0; a < loop->arrays; a++) {
		loop->axes[a] = loop->is_aligned && loop->ranges == 1 ? 1 : 1 + below(AXES_MOST);
		loop->axis_range[a][0] = below(loop->ranges);
		loop->axis_range[a][1] = (loop->axis_range[a][0] + 1 + below(loop->ranges > 2 ? 2 : 1)) % loop->ranges;
	}
	loop->accesses = 1 + below(ACCESSES_MOST);
	for (int i = 0; i < loop->accesses; i++) {
		struct access *access = &loop->access[i];
		access->array = below(loop->arrays);
		access->change = i ? (enum change)below(4) : (enum change)(1 + below(3)); /* some write */
		for (int axis = 0; axis < loop->axes[access->array]; axis++)
			access->at[axis] = random_subscript(loop, access->array, axis);
	}
	for (int t = 0; t < TABLES; t++)
		for (int row = 0; row < TABLE_ROWS; row++)
			loop->table[t][row] = below(4);
}

/* The loop as text. */

static void put_subscript(struct dfg_text *text, const struct subscript *s)
{
	char index = (char)('i' + s->range), other = (char)('i' + s->other);
	if (s->kind == CONSTANT)
		dfg_text_add(text, "%d", s->offset);
	else if (s->kind == INDEX)
		dfg_text_add(text, s->offset ? "%c + %d" : "%c", index, s->offset);
	else if (s->kind == ELEMENT)
		dfg_text_add(text, s->offset ? "t%d[%c + %d] + %d" : "t%d[%c + %d]", s->table, index, s->inner, s->offset);
	else if (s->kind == NESTED)
		dfg_text_add(text, "t%d[t%d[%c]]", s->table, 1 - s->table, index);
	else if (s->kind == TWICE)
		dfg_text_add(text, "2 * %c", index);
	else if (s->kind == SUM_OF_TWO)
		dfg_text_add(text, "%c + %c", index, other);
	else
		dfg_text_add(text, "3 * t%d[%c + %d]", s->table, index, s->inner);
}

static void put_access(struct dfg_text *text, const struct loop *loop, int number)
{
	static const char *const assign[] = {NULL, "+=", "=", "max="};
	const struct access *access = &loop->access[number];
	dfg_text_add(text, access->change == READ ? "        r%d = a%d[" : "        set a%d[",
		access->change == READ ? number : access->array, access->array);
	for (int axis = 0; axis < loop->axes[access->array]; axis++) {
		dfg_text_add(text, axis ? ", " : "");
		put_subscript(text, &access->at[axis]);
	}
	if (access->change == READ)
		dfg_text_add(text, "]\n        set used += r%d\n", number); /* without a reader, a read is not an access */
	else
		dfg_text_add(text, "] %s 1\n", assign[access->change]);
}

static void put_head(struct dfg_text *text, const struct loop *loop)
{
	bool is_product = loop->ranges > 1;
	dfg_text_add(text, "target go {\n    parallel for %s", is_product ? "(" : "");
	for (int r = 0; r < loop->ranges; r++)
		dfg_text_add(text, "%s%c", r ? ", " : "", 'i' + r);
	dfg_text_add(text, "%s in %s", is_product ? ")" : "", is_product ? "(" : "");
	for (int r = 0; r < loop->ranges; r++) {
		if (loop->is_input[r])
			dfg_text_add(text, "%s%d..n%d + %d", r ? ", " : "", loop->low[r], r, loop->low[r]);
		else
			dfg_text_add(text, "%s%d..%d", r ? ", " : "", loop->low[r], loop->low[r] + loop->extent[r]);
	}
	dfg_text_add(text, "%s%s {\n        full = all[", is_product ? ")" : "", loop->is_ordered ? " with (ordered)" : "");
	for (int r = 0; r < loop->ranges; r++)
		dfg_text_add(text, "%s%c", r ? ", " : "", 'i' + r);
	dfg_text_add(text, "]\n        set used += full\n");
}

static void put_loop(struct dfg_text *text, const struct loop *loop)
{
	static const char *const shape[] = {"", "9", "9, 9", "9, 9, 9"};
	for (int r = 0; r < loop->ranges; r++)
		dfg_text_add(text, "input x%d: i32[n%d]\n", r, r);
	for (int t = 0; t < TABLES; t++)
		dfg_text_add(text, "input t%d: i32[%d]\n", t, TABLE_ROWS);
	for (int a = 0; a < loop->arrays; a++)
		dfg_text_add(text, "state a%d: i32[%s] = 0\n", a, shape[loop->axes[a]]);
	dfg_text_add(text, "state used: i32[] = 0\nstate all: i32[%s] = 0\n", shape[loop->ranges]);
	put_head(text, loop);
	for (int i = 0; i < loop->accesses; i++)
		put_access(text, loop, i);
	dfg_text_add(text, "    }\n}\n");
}

/* All iterations. */

static int iterations_of(const struct loop *loop)
{
	int n = 1;
	for (int r = 0; r < loop->ranges; r++)
		n *= loop->extent[r];
	return n;
}

static int index_of(const struct loop *loop, int iteration, int range)
{
	for (int r = loop->ranges - 1; r > range; r--)
		iteration /= loop->extent[r];
	return loop->low[range] + iteration % loop->extent[range];
}

static int value_of(const struct loop *loop, int access, int axis, int iteration)
{
	const struct subscript *s = &loop->access[access].at[axis];
	int index = index_of(loop, iteration, s->range);
	switch (s->kind) {
	case CONSTANT:
		return s->offset;
	case INDEX:
		return index + s->offset;
	case ELEMENT:
		return loop->table[s->table][index + s->inner] + s->offset;
	case NESTED:
		return loop->table[s->table][loop->table[1 - s->table][index]];
	case TWICE:
		return 2 * index;
	case SUM_OF_TWO:
		return index + index_of(loop, iteration, s->other);
	default:
		return 3 * loop->table[s->table][index + s->inner];
	}
}

static bool is_accumulator(const struct loop *loop, int array)
{
	enum change change = READ;
	for (int i = 0; i < loop->accesses; i++) {
		if (loop->access[i].array != array)
			continue;
		if (loop->access[i].change == READ || loop->access[i].change == SET ||
			(change != READ && change != loop->access[i].change))
			return false;
		change = loop->access[i].change;
	}
	return true;
}

static bool meets(const struct loop *loop, int x, int s, int y, int t)
{
	const struct access *a = &loop->access[x], *b = &loop->access[y];
	if (a->array != b->array || (a->change == READ && b->change == READ))
		return false;
	for (int axis = 0; axis < loop->axes[a->array]; axis++)
		if (value_of(loop, x, axis, s) != value_of(loop, y, axis, t))
			return false;
	return true;
}

static int find_conflicts(const struct loop *loop, struct conflict *conflict)
{
	int n = 0, iterations = iterations_of(loop);
	for (int x = 0; x < loop->accesses; x++)
		for (int y = 0; y < loop->accesses; y++)
			for (int s = 0; !is_accumulator(loop, loop->access[x].array) && s < iterations; s++)
				for (int t = s + 1; t < iterations && n < CONFLICTS_MOST; t++)
					if (meets(loop, x, s, y, t))
						conflict[n++] = (struct conflict){loop->access[x].array, s, t};
	return n;
}

/* The analysis of a text. */

struct analysed {
	struct dfg_arena arena, results;
	struct dfg_graph graph;
	struct dfg_dependences found;
};

static struct dfg_err *analyse(const char *text, struct analysed *out)
{
	const struct dfg_lang_options lang = {.text = text, .length = strlen(text)};
	*out = (struct analysed){0};
	dfg_graph_init(&out->graph, &out->arena);
	DFG_TRY(dfg_lang_build("test.dfg", &lang, &out->graph));
	return dfg_dependences_find(&out->graph, &out->results, &out->found);
}

static void analysed_end(struct analysed *a)
{
	dfg_graph_release(&a->graph);
	dfg_arena_release(&a->results);
	dfg_arena_release(&a->arena);
}

/* The value of a claimed coordinate, by the tables of the test. */
static int coordinate_value(
	const struct analysed *a, const struct loop *loop, const struct dfg_loop_dependences *l, uint32_t c, int iteration)
{
	const struct dfg_coordinate *it = &l->coordinate[c];
	if (it->is_counter) {
		return index_of(loop, iteration, (int)c) - (loop->ranges > 1 ? loop->low[c] : 0);
	}
	const char *name = a->graph.node[it->base.node].name;
	assert_true(!it->is_number && it->n_index == 1 && name[0] == 't');
	assert_int_equal(it->index[0].kind, DFG_SUBSCRIPT_COORDINATE);
	int row = coordinate_value(a, loop, l, it->index[0].coordinate, iteration) + (int)it->index[0].offset;
	return loop->table[name[1] - '0'][row];
}

static bool covers(const struct dfg_distance *d, const int *difference, uint32_t n, int sign)
{
	for (uint32_t i = 0; i < n; i++)
		if ((d[i].kind == DFG_DISTANCE_NUMBER && d[i].number != sign * difference[i]) ||
			(d[i].kind == DFG_DISTANCE_POSITIVE && sign * difference[i] <= 0))
			return false;
	return true;
}

static bool is_array(const struct dfg_loop_dependences *l, uint32_t array, int number)
{
	const char *name = l->array[array].name;
	return name[0] == 'a' && name[1] == '0' + number && !name[2];
}

static bool is_claimed(const struct dfg_loop_dependences *l, int array, const int *difference)
{
	for (uint32_t i = 0; i < l->n_vector; i++) {
		const struct dfg_distance *d = l->vector[i].distance;
		if (is_array(l, l->vector[i].array, array) &&
			(covers(d, difference, l->n_coordinate, 1) ||
				(!l->is_ordered && covers(d, difference, l->n_coordinate, -1))))
			return true;
	}
	return false;
}

/* Whether the plan keeps the two iterations in order, or in one unit. */
static bool is_kept(const struct dfg_loop_dependences *l, const int *difference)
{
	int space = difference[l->space], time = difference[l->time];
	bool both_count = l->coordinate[l->space].is_counter && l->coordinate[l->time].is_counter;
	switch (l->family) {
	case DFG_FAMILY_1D:
		return space == 0;
	case DFG_FAMILY_2D:
		return (!space || !time) && (!l->is_ordered || !both_count || (space >= 0 && time >= 0));
	case DFG_FAMILY_WAVEFRONT:
		for (uint32_t r = 0; r < l->n_counter; r++) {
			int64_t sum = 0;
			for (uint32_t i = 0; i < l->n_counter; i++)
				sum += l->skew[r * l->n_counter + i] * difference[i];
			if (sum < 0)
				return false;
		}
		return true;
	default:
		return l->family == DFG_FAMILY_SERIAL;
	}
}

/* The best family that the conflicts allow, by counters alone. */
static enum dfg_loop_family true_family(const struct loop *loop, const int (*difference)[16], int n)
{
	bool fits[RANGES_MOST] = {true, true, true}, pair = false;
	for (int r = 0; r < loop->ranges; r++)
		for (int c = 0; c < n; c++)
			fits[r] &= difference[c][r] == 0;
	for (int r = 0; r < loop->ranges; r++)
		for (int s = r + 1; s < loop->ranges; s++) {
			bool both = true;
			for (int c = 0; c < n; c++) {
				int x = difference[c][r], y = difference[c][s];
				both &= (!x || !y) && (!loop->is_ordered || (x >= 0 && y >= 0));
			}
			pair |= both;
		}
	if (!n)
		return DFG_FAMILY_NONE;
	for (int r = 0; r < loop->ranges; r++)
		if (fits[r])
			return DFG_FAMILY_1D;
	return pair ? DFG_FAMILY_2D : DFG_FAMILY_SERIAL;
}

/* Each claimed vector happens and, where it is not a number, with several numbers. */
static bool is_real(const struct dfg_loop_dependences *l, const struct dfg_dependence *v,
	const struct conflict *conflict, const int (*difference)[16], int n)
{
	for (uint32_t k = 0; k < l->n_coordinate; k++) {
		int first = 0;
		bool seen = false, several = v->distance[k].kind == DFG_DISTANCE_NUMBER;
		for (int c = 0; c < n; c++)
			for (int sign = 1; sign >= (l->is_ordered ? 1 : -1); sign -= 2) {
				if (!is_array(l, v->array, conflict[c].array) ||
					!covers(v->distance, difference[c], l->n_coordinate, sign))
					continue;
				several |= seen && sign * difference[c][k] != first;
				first = sign * difference[c][k];
				seen = true;
			}
		if (!seen || !several)
			return false;
	}
	return true;
}

static void test_loop(const struct loop *loop, const char *text)
{
	static struct conflict conflict[CONFLICTS_MOST];
	static int difference[CONFLICTS_MOST][16];
	struct analysed a;
	succeeds(analyse(text, &a));
	assert_int_equal(a.found.count, 1);
	const struct dfg_loop_dependences *l = &a.found.loop[0];
	int n = find_conflicts(loop, conflict);
	if (l->n_counter != (uint32_t)loop->ranges)
		fail_msg("%s%u counters", text, l->n_counter);
	for (int c = 0; c < n; c++) {
		for (uint32_t k = 0; k < l->n_coordinate; k++)
			difference[c][k] = coordinate_value(&a, loop, l, k, conflict[c].second) -
							   coordinate_value(&a, loop, l, k, conflict[c].first);
		if (!is_claimed(l, conflict[c].array, difference[c]))
			fail_msg("%sa%d: iterations %d and %d depend on each other, which no vector says", text, conflict[c].array,
				conflict[c].first, conflict[c].second);
		if (!is_kept(l, difference[c]))
			fail_msg("%s%s breaks the order of iterations %d and %d", text, dfg_family_name(l->family),
				conflict[c].first, conflict[c].second);
	}
	if (loop->is_aligned && n < CONFLICTS_MOST) {
		enum dfg_loop_family family = l->family == DFG_FAMILY_WAVEFRONT ? DFG_FAMILY_SERIAL : l->family;
		assert_int_equal(l->n_coordinate, loop->ranges);
		for (uint32_t i = 0; i < l->n_vector; i++)
			if (!is_real(l, &l->vector[i], conflict, difference, n))
				fail_msg("%s%s of %s does not happen", text,
					dfg_vector_words(&a.results, l->vector[i].distance, l->n_coordinate),
					l->array[l->vector[i].array].name);
		if (true_family(loop, difference, n) != family)
			fail_msg("%s%s is not the best family", text, dfg_family_name(l->family));
	}
	analysed_end(&a);
}

static void random_loops_agree_with_all_their_iterations(void **state)
{
	(void)state;
	const char *count = getenv("DFG_LOOPS");
	int loops = count ? atoi(count) : 600;
	for (int i = 0; i < loops; i++) {
		static struct loop loop;
		struct dfg_text text = {0};
		make_loop(&loop);
		put_loop(&text, &loop);
		succeeds(dfg_text_check(&text));
		test_loop(&loop, text.s);
		dfg_text_release(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_loops_agree_with_all_their_iterations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
