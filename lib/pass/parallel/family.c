#include "lib/pass/parallel/analysis_private.h"

const char *dfg_family_name(enum dfg_loop_family family)
{
	static const char *const names[DFG_FAMILIES] = {"none", "1d", "2d", "wavefront", "serial"};
	return names[family];
}

/* Vectors that count: those of arrays that are not left out. */
static bool counts(const struct dfg_dependence *vector, uint32_t but)
{
	return vector->array != but;
}

static bool fits_1d(const struct dfg_loop_dependences *out, uint32_t space, uint32_t but)
{
	for (uint32_t i = 0; i < out->n_vector; i++)
		if (counts(&out->vector[i], but) && !dfg_distance_is(&out->vector[i].distance[space], 0))
			return false;
	return true;
}

/*
 * In an ordered loop unit (space, time) runs at clock space + time, so a later iteration must not be in a lower block of
 * either. Of elements, which a file may sort, that is checked when they are known.
 */
static bool ascends(const struct dfg_loop_dependences *out, const struct dfg_distance *d, uint32_t coordinate)
{
	if (!out->is_ordered || d->kind == DFG_DISTANCE_POSITIVE)
		return true;
	return d->kind == DFG_DISTANCE_NUMBER ? d->number >= 0 : !out->coordinate[coordinate].is_counter;
}

static bool fits_2d(const struct dfg_loop_dependences *out, uint32_t space, uint32_t time, uint32_t but)
{
	for (uint32_t i = 0; i < out->n_vector; i++) {
		const struct dfg_distance *d = out->vector[i].distance;
		bool fits = (dfg_distance_is(&d[space], 0) && ascends(out, &d[time], time)) ||
					(dfg_distance_is(&d[time], 0) && ascends(out, &d[space], space));
		if (counts(&out->vector[i], but) && !fits)
			return false;
	}
	return true;
}

/* Whether some axis of the array has the coordinate as its subscript in every access. */
static bool is_partitioned(const struct dfg_loop_dependences *out, uint32_t array, uint32_t by)
{
	uint64_t axes = ~(uint64_t)0;
	for (uint32_t i = 0; i < out->n_access; i++) {
		const struct dfg_array_access *access = &out->access[i];
		uint64_t mine = 0;
		if (access->array != array)
			continue;
		for (uint32_t k = 0; k < access->n_subscript; k++) {
			const struct dfg_subscript *s = &access->subscript[k];
			if (s->kind == DFG_SUBSCRIPT_COORDINATE && s->coordinate == by && !s->offset && s->symbol.node == DFG_NONE)
				mine |= (uint64_t)1 << k;
		}
		axes &= mine;
	}
	return axes != 0;
}

static enum dfg_array_home home_of(
	const struct dfg_loop_dependences *out, uint32_t array, enum dfg_loop_family family, uint32_t space, uint32_t time)
{
	const struct dfg_loop_array *item = &out->array[array];
	bool has_space = family == DFG_FAMILY_1D || family == DFG_FAMILY_2D;
	if (item->is_accumulator)
		return DFG_HOME_SUMMED;
	if (!item->is_buffered && has_space && is_partitioned(out, array, space))
		return DFG_HOME_STAYS;
	bool is_local = !item->is_buffered;
	for (uint32_t i = 0; i < out->n_counter; i++)
		is_local &= is_partitioned(out, array, i);
	if (is_local)
		return DFG_HOME_LOCAL;
	if (!item->is_written)
		return DFG_HOME_COPIED;
	bool rotates = !item->is_buffered && family == DFG_FAMILY_2D && is_partitioned(out, array, time);
	return rotates ? DFG_HOME_ROTATES : DFG_HOME_SERVED;
}

static void set_homes(struct dfg_loop_dependences *out)
{
	for (uint32_t i = 0; i < out->n_array; i++)
		out->array[i].home = home_of(out, i, out->family, out->space, out->time);
}

/* Bytes that move in a pass; an array of unknown size counts as 1 GiB. */
static double moved(const struct dfg_loop_dependences *out, enum dfg_loop_family family, uint32_t space, uint32_t time)
{
	double bytes = 0;
	for (uint32_t i = 0; i < out->n_array; i++) {
		enum dfg_array_home home = home_of(out, i, family, space, time);
		if (home == DFG_HOME_SERVED || home == DFG_HOME_ROTATES)
			bytes += out->array[i].bytes < 0 ? (double)(1 << 30) : (double)out->array[i].bytes;
	}
	return bytes;
}

static void offer(
	struct dfg_loop_dependences *out, enum dfg_loop_family family, uint32_t space, uint32_t time, double *best)
{
	double bytes = moved(out, family, space, time);
	if (*best >= 0 && bytes >= *best)
		return;
	*best = bytes;
	out->family = family;
	out->space = space;
	out->time = time;
}

static bool find_1d(struct dfg_loop_dependences *out, uint32_t but)
{
	double best = -1;
	for (uint32_t i = 0; i < out->n_coordinate; i++)
		if (fits_1d(out, i, but))
			offer(out, DFG_FAMILY_1D, i, 0, &best);
	return best >= 0;
}

static bool find_2d(struct dfg_loop_dependences *out, uint32_t but)
{
	double best = -1;
	for (uint32_t i = 0; i < out->n_coordinate; i++)
		for (uint32_t k = 0; k < out->n_coordinate; k++)
			if (i != k && fits_2d(out, i, k, but))
				offer(out, DFG_FAMILY_2D, i, k, &best);
	return best >= 0;
}

/* The first family of coordinates that fits without array `but`; SERIAL: none does. */
static enum dfg_loop_family without(const struct dfg_loop_dependences *out, uint32_t but)
{
	struct dfg_loop_dependences copy = *out;
	bool any = false;
	for (uint32_t i = 0; i < out->n_vector; i++)
		any |= counts(&out->vector[i], but);
	return !any                  ? DFG_FAMILY_NONE
		   : find_1d(&copy, but) ? DFG_FAMILY_1D
		   : find_2d(&copy, but) ? DFG_FAMILY_2D
								 : DFG_FAMILY_SERIAL;
}

const char *dfg_vector_words(struct dfg_arena *arena, const struct dfg_distance *d, uint32_t n)
{
	const char *text = "(";
	for (uint32_t i = 0; text && i < n; i++) {
		const char *comma = i ? ", " : "";
		if (d[i].kind == DFG_DISTANCE_NUMBER)
			text = dfg_arena_print(arena, "%s%s%lld", text, comma, (long long)d[i].number);
		else
			text = dfg_arena_print(arena, "%s%s%s", text, comma, d[i].kind == DFG_DISTANCE_ANY ? "any" : ">0");
	}
	return text ? dfg_arena_print(arena, "%s)", text) : NULL;
}

/* The vector that is most in the way: that with the most counters that are not numbers, and then the fewest zeros. */
static const struct dfg_dependence *worst(const struct dfg_loop_dependences *out)
{
	const struct dfg_dependence *found = NULL;
	int64_t most = INT64_MIN;
	for (uint32_t i = 0; i < out->n_vector; i++) {
		int64_t weight = 0;
		for (uint32_t k = 0; k < out->n_coordinate; k++)
			weight -= dfg_distance_is(&out->vector[i].distance[k], 0);
		for (uint32_t k = 0; k < out->n_counter; k++)
			weight += out->vector[i].distance[k].kind != DFG_DISTANCE_NUMBER ? (int64_t)out->n_coordinate + 1 : 0;
		if (weight > most) {
			most = weight;
			found = &out->vector[i];
		}
	}
	return found;
}

/* ", or buffer = w makes it 1d" for the arrays of which that is true. */
static const char *advice(const struct dfg_loop_analysis *a)
{
	const struct dfg_loop_dependences *out = a->out;
	const char *text = "";
	for (uint32_t i = 0; text && i < out->n_array && !out->is_ordered; i++) {
		enum dfg_loop_family family = out->array[i].commutes ? without(out, i) : DFG_FAMILY_SERIAL;
		if (family != DFG_FAMILY_SERIAL)
			text = dfg_arena_print(a->arena, "%s; `buffer = %s` makes it %s", text, out->array[i].name,
				family == DFG_FAMILY_NONE ? "independent" : dfg_family_name(family));
	}
	return text;
}

static struct dfg_err *explain_serial(struct dfg_loop_analysis *a)
{
	struct dfg_loop_dependences *out = a->out;
	const struct dfg_dependence *v = worst(out);
	const char *words = dfg_vector_words(a->arena, v->distance, out->n_coordinate);
	const char *x = a->graph->node[out->access[v->a].node].name, *y = a->graph->node[out->access[v->b].node].name;
	const char *more = advice(a);
	const char *wavefront =
		out->n_counter < 2 ? "a wavefront requires two ranges" : "a wavefront requires small constant distances";
	if (!words || !more)
		return dfg_no_memory("the dependences of a loop");
	out->reason = dfg_arena_print(a->arena,
		"'%s' and '%s' access the same rows of '%s' in iterations that are %s apart: no coordinate or pair of "
		"coordinates separates all dependences, and %s%s",
		x, y, out->array[v->array].name, words, wavefront, more);
	return out->reason ? NULL : dfg_no_memory("the dependences of a loop");
}

struct dfg_err *dfg_family_find(struct dfg_loop_analysis *a)
{
	struct dfg_loop_dependences *out = a->out;
	out->family = DFG_FAMILY_NONE;
	if (out->n_vector && !find_1d(out, DFG_NONE) && !find_2d(out, DFG_NONE)) {
		DFG_TRY(dfg_skew_find(a, &out->skew));
		out->family = out->skew ? DFG_FAMILY_WAVEFRONT : DFG_FAMILY_SERIAL;
		if (!out->skew)
			DFG_TRY(explain_serial(a));
	}
	set_homes(out);
	return NULL;
}
