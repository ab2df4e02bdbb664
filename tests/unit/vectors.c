#include "tests/unit/test.h"

#include "lib/base/vector.h"
#include "lib/graph/half.h"
#include "lib/graph/kernel.h"
#include "lib/graph/op.h"
#include "lib/graph/reduction.h"

#include <string.h>

/* Functions that are compiled for several kinds of vectors have the same bits for each, whatever the operands. */

enum { N = 1031, OPERANDS = 3, EACH = 8 };

static uint64_t seed = 88172645463325252;

static uint64_t draw(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed;
}

/* Any bits, numbers of usual size, and the least and greatest of each kind: zeros, denormals, infinities, a NaN. */
static void fill_f32(uint32_t *to)
{
	static const uint32_t edge[] = {0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
		0xff800000, 0x3f800000, 0xbf800000, 0x7fc00000};
	for (int i = 0; i < N; i++) {
		uint64_t bits = draw();
		to[i] = bits & 1 ? 0x3c000000 + (uint32_t)(bits >> 37) % 0x06000000 : (uint32_t)(bits >> 32);
		to[i] |= bits & 2 ? 0x80000000 : 0;
		if (bits % 11 == 0 || (to[i] & 0x7fffffff) > 0x7f800000)
			to[i] = edge[(bits >> 32) % 12];
	}
}

static void fill_f64(uint64_t *to)
{
	static const uint64_t edge[] = {0, UINT64_C(1) << 63, 1, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
		0x7ff0000000000000, 0xfff0000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff8000000000000};
	for (int i = 0; i < N; i++) {
		uint64_t bits = draw(), kind = draw();
		to[i] = kind & 1 ? 0x3f80000000000000 + bits % 0x00c0000000000000 : bits;
		to[i] |= kind & 2 ? UINT64_C(1) << 63 : 0;
		if (kind % 11 == 0 || (to[i] << 1) > UINT64_C(0xffe0000000000000))
			to[i] = edge[(kind >> 32) % 11];
	}
}

struct trial {
	uint64_t value[OPERANDS][N];
	_Bool chosen[N];
	const void *in[OPERANDS];
	uint64_t want[N], got[N];
};

static void fill(struct trial *trial, enum dfg_dtype dtype, bool chooses)
{
	for (int k = 0; k < OPERANDS; k++) {
		if (dtype == DFG_F32)
			fill_f32((uint32_t *)trial->value[k]);
		else
			fill_f64(trial->value[k]);
		trial->in[k] = trial->value[k];
	}
	for (int i = 0; i < N; i++)
		trial->chosen[i] = draw() & 1;
	if (chooses)
		trial->in[0] = trial->chosen;
}

/* Which of several NaNs a sum has the sign and the payload of is the compiler's choice; no text shows it. */
static bool is_same(enum dfg_dtype dtype, const void *a, const void *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		const double x = dtype == DFG_F32 ? (double)((const float *)a)[i] : ((const double *)a)[i];
		const double y = dtype == DFG_F32 ? (double)((const float *)b)[i] : ((const double *)b)[i];
		const size_t size = dfg_dtype_size(dtype), at = (size_t)i * size;
		if ((x == x || y == y) && memcmp((const char *)a + at, (const char *)b + at, size))
			return false;
	}
	return true;
}

/* The kinds of vectors that this processor has, from the one that every processor has. */
static int kinds_there(void)
{
	dfg_vectors_known = 0;
	return dfg_vectors_choose();
}

static void rows_of_all_vectors_agree(void **state)
{
	(void)state;
	static struct trial trial;
	const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64};
	int kinds = kinds_there(), tried = 0;
	for (size_t o = 0; o < dfg_ops_count; o++)
		for (int d = 0; d < 2 * EACH; d++) {
			const struct dfg_op *op = dfg_ops[o];
			const enum dfg_dtype dtype = dtypes[d % 2];
			const bool compares = strstr(op->sig, ": bool)") != NULL;
			const union dfg_value attr[8] = {{.f = 0.25F}, {.f = 0.25F}};
			const int64_t n = d < 2 ? N : 1 + (int64_t)(draw() % 100);
			dfg_row_fn *row = dfg_op_row(op, dtype);
			if (!row)
				continue;
			fill(&trial, dtype, strstr(op->sig, "bool,"));
			for (int kind = DFG_VECTORS_OF_ALL; kind <= kinds; kind++) {
				dfg_vectors_known = kind;
				memset(kind == DFG_VECTORS_OF_ALL ? trial.want : trial.got, 0, sizeof trial.got);
				row(n, kind == DFG_VECTORS_OF_ALL ? trial.want : trial.got, trial.in, attr);
				if (kind > DFG_VECTORS_OF_ALL && !is_same(compares ? DFG_F32 : dtype, trial.want, trial.got, n))
					fail_msg("%s of %lld %s: %s differs from generic", op->name, (long long)n, dfg_dtype_name(dtype),
						dfg_vectors_name());
				tried++;
			}
		}
	kinds_there();
	assert_true(tried > 200);
}

static void reductions_of_all_vectors_agree(void **state)
{
	(void)state;
	static struct trial trial;
	const enum dfg_dtype dtypes[] = {DFG_F32, DFG_F64};
	int kinds = kinds_there(), tried = 0;
	for (size_t o = 0; o < dfg_ops_count; o++)
		for (int64_t n = 1; n <= N; n += n < 200 ? 1 : 91)
			for (int d = 0; d < 2; d++) {
				const struct dfg_reducer *reducer = dfg_op_reducer(dfg_ops[o], dtypes[d]);
				if (!reducer)
					continue;
				fill(&trial, dtypes[d], false);
				for (int kind = DFG_VECTORS_OF_ALL; kind <= kinds; kind++) {
					dfg_vectors_known = kind;
					dfg_reduce_row(reducer, n, trial.in[0], kind == DFG_VECTORS_OF_ALL ? trial.want : trial.got);
					if (kind > DFG_VECTORS_OF_ALL && !is_same(dtypes[d], trial.want, trial.got, 1))
						fail_msg("%s of %lld %s: %s differs from generic", dfg_ops[o]->name, (long long)n,
							dfg_dtype_name(dtypes[d]), dfg_vectors_name());
					tried++;
				}
			}
	kinds_there();
	assert_true(tried > 1000);
}

static void halves_of_all_vectors_agree(void **state)
{
	(void)state;
	static struct trial trial;
	static float wide[2][65536];
	static uint16_t all[65536], narrow[2][N];
	int kinds = kinds_there();
	for (int i = 0; i < 65536; i++)
		all[i] = (uint16_t)i;
	for (int d = 0; d < 2; d++)
		for (int kind = DFG_VECTORS_OF_ALL; kind <= kinds; kind++) {
			const enum dfg_dtype half = d ? DFG_BF16 : DFG_F16;
			const int first = kind == DFG_VECTORS_OF_ALL;
			dfg_vectors_known = kind;
			dfg_half_widen(half, wide[!first], all, 65536);
			if (first)
				fill_f32((uint32_t *)trial.value[0]);
			dfg_half_round(half, narrow[!first], (const float *)trial.value[0], N);
			assert_true(first || !memcmp(wide[0], wide[1], sizeof wide[0]));
			assert_true(first || !memcmp(narrow[0], narrow[1], sizeof narrow[0]));
		}
	kinds_there();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_all_vectors_agree),
		cmocka_unit_test(reductions_of_all_vectors_agree),
		cmocka_unit_test(halves_of_all_vectors_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
