/* EditDistance: how many values of a sequence must be inserted, removed or replaced to make it another one. */
#include "kernels/shape_rules.h"
#include "kernels/sparse.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { HYPOTHESIS, TRUTH = 3 }; /* first inputs of two sparse tensors: indices, values, shape */
enum { NORMALIZE };

static struct dfg_err *distance_shape(struct dfg_infer *node)
{
	struct dfg_shape dims[2];
	for (int k = 0; k < 2; k++) {
		const int first = k ? TRUTH : HYPOTHESIS;
		DFG_TRY(dfg_sparse_need(node, first, first + 1, first + 2));
		const int64_t rank = dfg_length_of(node, first + 2);
		if (rank == DFG_UNKNOWN)
			return NULL;
		if (rank < 2 || rank > DFG_RANK_MAX)
			return DFG_ERR(
				DFG_DATA, "input %d has %" PRId64 " dimensions, expected 2 to %d", first + 2, rank, DFG_RANK_MAX);
		DFG_TRY(dfg_shape_of(node, first + 2, &dims[k]));
	}
	if (dims[0].rank != dims[1].rank)
		return DFG_ERR(DFG_DATA, "hypothesis and truth have %d and %d dimensions, expected equal numbers", dims[0].rank,
			dims[1].rank);
	node->out[0].rank = dims[0].rank - 1;
	for (int d = 0; d < node->out[0].rank; d++) {
		const int64_t a = dims[0].dim[d], b = dims[1].dim[d];
		node->out[0].dim[d] = a < 0 || b < 0 ? DFG_UNKNOWN : a > b ? a : b;
	}
	return NULL;
}

static bool strings_equal(const struct dfg_string *a, const struct dfg_string *b)
{
	return a->length == b->length && (!a->length || !memcmp(a->s, b->s, a->length));
}

static bool values_equal(const struct dfg_tensor *a, int64_t i, const struct dfg_tensor *b, int64_t j)
{
	if (a->dtype == DFG_STRING)
		return strings_equal((const struct dfg_string *)a->data + i, (const struct dfg_string *)b->data + j);
	if (a->dtype == DFG_F32 || a->dtype == DFG_F64)
		return dfg_tensor_float(a, i) == dfg_tensor_float(b, j);
	return dfg_tensor_int(a, i) == dfg_tensor_int(b, j);
}

/* The sequences of a sparse tensor: the entries in order, and the element of the output that each belongs to. */
struct sequences {
	struct dfg_sparse sparse;
	const struct dfg_tensor *values;
	int64_t *order, *element;
};

static struct dfg_err *read_sequences(
	struct dfg_kernel *ctx, int first, const struct dfg_shape *out, struct sequences *s)
{
	DFG_TRY(dfg_sparse_of(ctx, first, first + 1, first + 2, &s->sparse));
	DFG_TRY(dfg_sparse_order(ctx, s->sparse.at, s->sparse.n, s->sparse.rank, &s->order));
	s->values = dfg_kernel_input(ctx, first + 1);
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)s->sparse.n + 1) * sizeof *s->element, (void **)&s->element));
	for (int64_t k = 0; k < s->sparse.n; k++) {
		s->element[k] = 0;
		for (int d = 0; d < out->rank; d++)
			s->element[k] = s->element[k] * out->dim[d] + s->sparse.at[s->order[k] * s->sparse.rank + d];
	}
	return NULL;
}

/* The end of the sequence that begins at entry `first`. */
static int64_t end_of(const struct sequences *s, int64_t first)
{
	int64_t end = first;
	while (end < s->sparse.n && s->element[end] == s->element[first])
		end++;
	return end;
}

/* Levenshtein's distance, by one row of its table: row[j] is that of the values so far from the first j of the truth. */
static int64_t distance(const struct sequences *h, int64_t h_first, int64_t h_end, const struct sequences *t,
	int64_t t_first, int64_t t_end, int64_t *row)
{
	const int64_t n = t_end - t_first;
	for (int64_t j = 0; j <= n; j++)
		row[j] = j;
	for (int64_t i = h_first; i < h_end; i++) {
		int64_t before = row[0]++;
		for (int64_t j = 1; j <= n; j++) {
			const bool same = values_equal(h->values, h->order[i], t->values, t->order[t_first + j - 1]);
			const int64_t replaced = before + !same, shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
			before = row[j];
			row[j] = replaced < shorter + 1 ? replaced : shorter + 1;
		}
	}
	return row[n];
}

static struct dfg_err *distance_run(struct dfg_kernel *ctx)
{
	const bool normalize = dfg_kernel_attr(ctx)[NORMALIZE].b;
	struct sequences h, t;
	struct dfg_tensor *out;
	int64_t *row, j = 0;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(read_sequences(ctx, HYPOTHESIS, &out->shape, &h));
	DFG_TRY(read_sequences(ctx, TRUTH, &out->shape, &t));
	DFG_TRY(dfg_kernel_scratch(ctx, ((size_t)t.sparse.n + 1) * sizeof *row, (void **)&row));
	memset(out->data, 0, dfg_tensor_bytes(out));
	for (int64_t i = 0; i < h.sparse.n || j < t.sparse.n;) {
		const bool of_h = i < h.sparse.n && (j == t.sparse.n || h.element[i] <= t.element[j]);
		const bool of_t = j < t.sparse.n && (i == h.sparse.n || t.element[j] <= h.element[i]);
		const int64_t element = of_h ? h.element[i] : t.element[j];
		const int64_t h_end = of_h ? end_of(&h, i) : i, t_end = of_t ? end_of(&t, j) : j;
		const float count = (float)distance(&h, i, h_end, &t, j, t_end, row);
		((float *)out->data)[element] = normalize ? count / (float)(t_end - j) : count;
		i = h_end;
		j = t_end;
	}
	return NULL;
}

const struct dfg_op dfg_op_EditDistance = {
	.name = "EditDistance",
	.doc =
		"Levenshtein's distance of each sequence of a sparse tensor from that of another, divided by the length of the "
		"latter",
	.sig =
		"<T: number|bool|string>(hypothesis_indices: i64, hypothesis_values: T, hypothesis_shape: i64, "
		"truth_indices: i64, truth_values: T, truth_shape: i64) -> (output: f32)",
	.attr = {[NORMALIZE] = "normalize: bool = true"},
	.flags = DFG_ANY_RANK | DFG_NO_GRADIENT | DFG_EXACT,
	.shape = distance_shape,
	.run = distance_run,
};
