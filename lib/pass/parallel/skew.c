#include "lib/pass/parallel/analysis_private.h"

enum { FACTOR_MOST = 1 << 10, DISTANCE_MOST = 1 << 20 };

/* Row r of the skew times the vector. */
static int64_t transformed(const int64_t *skew, uint32_t n, uint32_t r, const struct dfg_distance *d)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i <= r; i++)
		sum += skew[r * n + i] * d[i].number;
	return sum;
}

/* The first counter in which the vector is not 0. */
static uint32_t leading(const struct dfg_distance *d, uint32_t n)
{
	uint32_t i = 0;
	while (i < n && !d[i].number)
		i++;
	return i;
}

/*
 * Adds to row r the smallest multiples of the rows before it that make component r of each vector 0 or more. Only the row of
 * a vector's leading counter is sure to help, so the rows are taken from the nearest to the first.
 */
static bool find_row(const struct dfg_loop_dependences *out, int64_t *skew, uint32_t r)
{
	uint32_t n = out->n_counter;
	for (uint32_t s = r; s--;) {
		int64_t factor = 0;
		for (uint32_t i = 0; i < out->n_vector; i++) {
			const struct dfg_distance *d = out->vector[i].distance;
			int64_t part = transformed(skew, n, r, d);
			if (leading(d, n) != s || part >= 0)
				continue;
			int64_t by = transformed(skew, n, s, d), needed = (-part + by - 1) / by;
			factor = needed > factor ? needed : factor;
		}
		if (factor > FACTOR_MOST)
			return false;
		for (uint32_t i = 0; i <= s; i++)
			skew[r * n + i] += factor * skew[s * n + i];
	}
	return true;
}

static bool are_small_numbers(const struct dfg_loop_dependences *out)
{
	for (uint32_t i = 0; i < out->n_vector; i++)
		for (uint32_t k = 0; k < out->n_counter; k++) {
			const struct dfg_distance *d = &out->vector[i].distance[k];
			if (d->kind != DFG_DISTANCE_NUMBER || d->number > DISTANCE_MOST || d->number < -DISTANCE_MOST)
				return false;
		}
	return true;
}

struct dfg_err *dfg_skew_find(const struct dfg_loop_analysis *a, int64_t **out_skew)
{
	const struct dfg_loop_dependences *out = a->out;
	uint32_t n = out->n_counter;
	int64_t *skew = dfg_arena_zeros(a->arena, (size_t)n * n, sizeof *skew);
	*out_skew = NULL;
	if (!skew)
		return dfg_no_memory("the skew of a loop");
	if (n < 2 || !are_small_numbers(out))
		return NULL;
	for (uint32_t r = 0; r < n; r++) {
		skew[r * n + r] = 1;
		if (!find_row(out, skew, r))
			return NULL;
	}
	*out_skew = skew;
	return NULL;
}
