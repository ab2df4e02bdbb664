#include "kernels/row_rules.h"
#include "kernels/gradient_helpers.h"
#include "kernels/gemm/gemm.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/*
 * Einstein summation of one or two tensors. Labels are numbered: letters first, then the dimensions of an ellipsis,
 * from the right. Each input becomes a batch of matrices, without a copy if its strides allow that; one matrix product
 * gives the output.
 */
enum { LETTERS = 52, LABELS = LETTERS + DFG_RANK_MAX, TERMS = 3, OUT = 2, TERM_CHARACTERS = 100 };

/* The text of an input or of the output and, when its rank is known, the label of each dimension. */
struct term {
	const char *text;
	int length, rank;
	bool has_ellipsis, there;
	uint8_t label[DFG_RANK_MAX];
	int64_t step[LABELS]; /* in elements; of a label that occurs twice, the sum of both steps: a diagonal */
	bool has[LABELS];
};

struct equation {
	struct term term[TERMS]; /* inputs, and the output at OUT */
	int inputs, ellipsis;    /* number of inputs; dimensions of the broadcast ellipsis */
	int64_t size[LABELS];    /* DFG_UNKNOWN before the graph runs */
	bool seen[LABELS];
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* The label of a letter: its index in letters; -1 for other characters. */
static int letter(char c)
{
	const char *at = c ? strchr(letters, c) : NULL;
	return at ? (int)(at - letters) : -1;
}

/* Cuts the text into terms and checks each. */
static struct dfg_err *parse(struct dfg_string s, int inputs, struct equation *out)
{
	*out = (struct equation){.inputs = inputs};
	int term = 0;
	out->term[0].text = s.s;
	out->term[0].there = true;
	if (s.length >= TERM_CHARACTERS)
		return DFG_ERR(DFG_DATA, "the equation has %zu characters: the limit is %d", s.length, TERM_CHARACTERS - 1);
	for (size_t i = 0; i < s.length; i++) {
		bool arrow = s.s[i] == '-' && i + 1 < s.length && s.s[i + 1] == '>' && term < OUT;
		bool dots = i + 2 < s.length && !memcmp(s.s + i, "...", 3) && !out->term[term].has_ellipsis;
		if (arrow || (s.s[i] == ',' && term + 1 < OUT)) {
			if (arrow && term + 1 != inputs)
				break;
			i += arrow;
			term = arrow ? OUT : term + 1;
			out->term[term].text = s.s + i + 1;
			out->term[term].there = true;
			continue;
		}
		if (!dots && letter(s.s[i]) < 0)
			return DFG_ERR(DFG_DATA, "syntax error in equation '%.*s' at '%.*s'", (int)s.length, s.s,
				(int)(s.length - i), s.s + i);
		out->term[term].has_ellipsis |= dots;
		out->term[term].length += dots ? 3 : 1;
		i += dots ? 2 : 0;
	}
	if (!out->term[OUT].there || inputs < 1 || inputs > 2)
		return DFG_ERR(DFG_DATA, "equation '%.*s' is not for %d inputs", (int)s.length, s.s, inputs);
	return NULL;
}

static struct dfg_err *label_dims(struct term *term, int ellipsis)
{
	term->rank = 0;
	for (int i = 0; i < term->length; i++) {
		int dims = term->text[i] == '.' ? ellipsis : 1;
		if (term->rank + dims > DFG_RANK_MAX)
			return DFG_ERR(DFG_DATA, "'%.*s' has more than %d dimensions", term->length, term->text, DFG_RANK_MAX);
		for (int d = 0; d < dims; d++)
			term->label[term->rank++] =
				(uint8_t)(term->text[i] == '.' ? LETTERS + dims - 1 - d : letter(term->text[i]));
		i += term->text[i] == '.' ? 2 : 0;
	}
	return NULL;
}

/* Merges a dimension into the label's size. Only dimensions of an ellipsis broadcast. */
static struct dfg_err *size_label(struct equation *e, int label, int64_t dim)
{
	int64_t *size = &e->size[label];
	bool stretches = label >= LETTERS;
	if (!e->seen[label] || *size == DFG_UNKNOWN || (stretches && *size == 1))
		*size = e->seen[label] && dim == DFG_UNKNOWN ? *size : dim;
	else if (dim != *size && dim != DFG_UNKNOWN && !(stretches && dim == 1))
		return DFG_ERR(DFG_DATA, "label %.*s has dimensions %lld and %lld, expected equal ones", stretches ? 3 : 1,
			stretches ? "..." : &letters[label], (long long)*size, (long long)dim);
	e->seen[label] = true;
	return NULL;
}

static struct dfg_err *bind(struct equation *e, int i, const struct dfg_shape *shape)
{
	struct term *term = &e->term[i];
	int letters = term->has_ellipsis ? term->length - 3 : term->length;
	if (shape->rank < letters || (shape->rank != letters && !term->has_ellipsis))
		return DFG_ERR(DFG_DATA, "'%.*s' does not have as many labels as %s has dimensions", term->length, term->text,
			dfg_shape_words(shape).s);
	int ellipsis = shape->rank - letters;
	if (ellipsis > e->ellipsis)
		e->ellipsis = ellipsis;
	DFG_TRY(label_dims(term, ellipsis));
	for (int d = 0; d < term->rank; d++)
		DFG_TRY(size_label(e, term->label[d], shape->dim[d]));
	return NULL;
}

static struct dfg_err *bind_all(const struct dfg_resolved_node *call, const struct dfg_shape *const *in,
	struct equation *e, struct dfg_shape *out_shape)
{
	DFG_TRY(parse(call->attr[0].s, call->n_in, e));
	for (int i = 0; i < e->inputs; i++)
		DFG_TRY(bind(e, i, in[i]));
	struct term *out = &e->term[OUT];
	DFG_TRY(label_dims(out, e->ellipsis));
	*out_shape = (struct dfg_shape){.rank = out->rank};
	for (int d = 0; d < out->rank; d++) {
		if (!e->seen[out->label[d]])
			return DFG_ERR(DFG_DATA, "output '%.*s' has a label that no input has", out->length, out->text);
		out_shape->dim[d] = e->size[out->label[d]];
	}
	if (!out->has_ellipsis && e->ellipsis > 0)
		return DFG_ERR(DFG_DATA, "the ellipsis of an input is not in the output");
	return NULL;
}

static struct dfg_err *einsum_shape(struct dfg_infer *node)
{
	struct equation equation;
	return bind_all(node->call, node->in, &equation, &node->out[0]);
}

/* Whether the label is the first of the term, and no other. */
static bool leads(const struct term *term, int label)
{
	for (int d = 1; d < term->rank; d++)
		if (term->label[d] == label)
			return false;
	return term->rank > 0 && term->label[0] == label;
}

static bool has_label(const struct term *term, int label)
{
	return term->rank > 0 && memchr(term->label, label, (size_t)term->rank);
}

/* The batch is the first label of the output and of each input with rows; the other inputs do not have it. */
static const char *einsum_rows(const struct dfg_infer *node, uint64_t by_row)
{
	struct equation e;
	struct dfg_shape shape;
	struct dfg_err *err = bind_all(node->call, node->in, &e, &shape);
	int first = by_row & 1 ? 0 : 1;
	if (err || !e.term[first].rank) {
		dfg_err_free(err);
		return "the ranks of its inputs are not known before it runs";
	}
	int batch = e.term[first].label[0];
	for (int i = 0; i < e.inputs; i++)
		if ((by_row >> i & 1) ? !leads(&e.term[i], batch) : has_label(&e.term[i], batch))
			return "its equation joins the batch with another axis";
	if (!has_label(&e.term[OUT], batch))
		return "it sums over the batch";
	return leads(&e.term[OUT], batch) ? NULL : "it moves the batch to another axis";
}

/* Computes the steps of a tensor by label; 0 along a dimension that broadcasts. */
static void find_steps(struct equation *e, struct term *term, const struct dfg_shape *shape)
{
	int64_t step = 1;
	for (int d = term->rank - 1; d >= 0; d--) {
		int label = term->label[d];
		term->has[label] = true;
		term->step[label] += shape->dim[d] == 1 && e->size[label] != 1 ? 0 : step;
		step *= shape->dim[d];
	}
}

/* Labels of one kind, in order, and the product of their sizes. */
struct group {
	int count;
	int64_t size;
	uint8_t label[2 * DFG_RANK_MAX];
};

static void add_label(const struct equation *e, struct group *group, int label)
{
	group->label[group->count++] = (uint8_t)label;
	group->size *= e->size[label];
}

/* Whether the labels' dimensions are in memory like one dimension, and its step. */
static bool merges(const struct equation *e, const struct term *term, const struct group *group, int64_t *out_step)
{
	int64_t next = -1;
	*out_step = 1;
	for (int i = group->count - 1; i >= 0; i--) {
		int label = group->label[i];
		if (e->size[label] == 1)
			continue;
		if (next < 0)
			*out_step = term->step[label];
		else if (term->step[label] != next)
			return false;
		next = term->step[label] * e->size[label];
	}
	return true;
}

/* Nested loops over labels that add each element of `from` to one of `to`. */
struct walk {
	int rank;
	int64_t n[3 * DFG_RANK_MAX], to[3 * DFG_RANK_MAX], from[3 * DFG_RANK_MAX];
};

#define WALK(NAME, name, type, ...)                                                        \
	static void walk_##name(const struct walk *w, void *out, const void *in)               \
	{                                                                                      \
		int64_t at[3 * DFG_RANK_MAX] = {0};                                                \
		type *to = out;                                                                    \
		const type *from = in;                                                             \
		int last = w->rank - 1, d;                                                         \
		do {                                                                               \
			for (int64_t i = 0; i < w->n[last]; i++)                                       \
				to[i * w->to[last]] += from[i * w->from[last]];                            \
			for (d = last - 1; d >= 0; d--) {                                              \
				to += w->to[d];                                                            \
				from += w->from[d];                                                        \
				if (++at[d] < w->n[d])                                                     \
					break;                                                                 \
				to -= w->n[d] * w->to[d];                                                  \
				from -= w->n[d] * w->from[d];                                              \
				at[d] = 0;                                                                 \
			}                                                                              \
		} while (d >= 0);                                                                  \
	}                                                                                      \
	static void multiply_##name(const struct dfg_products *all)                            \
	{                                                                                      \
		const struct dfg_product *p = &all->each;                                          \
		for (int64_t t = 0; t < all->count; t++)                                           \
			for (int64_t i = 0; i < p->m; i++)                                             \
				for (int64_t j = 0; j < p->n; j++) {                                       \
					const type *a = (const type *)all->a + all->a_at[t] + i * p->a_row;    \
					const type *b = (const type *)all->b + all->b_at[t] + j * p->b_column; \
					type sum = 0;                                                          \
					for (int64_t s = 0; s < p->k; s++)                                     \
						sum += a[s * p->a_column] * b[s * p->b_row];                       \
					((type *)all->c)[t * all->c_step + i * p->c_row + j] = sum;            \
				}                                                                          \
	}
DFG_EACH_numeric(WALK)

static void (*const walk_of[DFG_DTYPES])(const struct walk *, void *, const void *) = {
	DFG_EACH_numeric(DFG_BY_DTYPE, walk)};
static void (*const multiply_of[DFG_DTYPES])(const struct dfg_products *) = {DFG_EACH_numeric(DFG_BY_DTYPE, multiply)};

static void walk(enum dfg_dtype dtype, struct walk *w, void *to, int64_t count, const void *from)
{
	memset(to, 0, (size_t)count * dfg_dtype_size(dtype));
	for (int d = 0; d < w->rank; d++)
		if (!w->n[d])
			return;
	if (!w->rank) {
		w->rank = 1;
		w->n[0] = 1;
	}
	walk_of[dtype](w, to, from);
}

static void add_axis(struct walk *w, int64_t n, int64_t to, int64_t from)
{
	w->n[w->rank] = n;
	w->to[w->rank] = to;
	w->from[w->rank++] = from;
}

/* An operand as a batch of matrices: its data, and the steps of its three groups in elements. */
struct operand {
	const void *data;
	int64_t batch, row, column;
};

/*
 * An input as [batch, row, column], summed over the labels that only it has; a copy, unless its strides are suitable.
 */
static struct dfg_err *lay_out(
	struct dfg_kernel *ctx, const struct equation *e, int i, const struct group *const group[3], struct operand *out)
{
	const struct term *term = &e->term[i];
	const struct dfg_tensor *in = dfg_kernel_input(ctx, i);
	const struct term *other = &e->term[1 - i], *result = &e->term[OUT];
	struct walk w = {0};
	bool sums = false;
	for (int l = 0; l < LABELS; l++)
		if (term->has[l] && !other->has[l] && !result->has[l]) {
			add_axis(&w, e->size[l], 0, term->step[l]);
			sums = true;
		}
	out->data = in->data;
	if (!sums && merges(e, term, group[0], &out->batch) && merges(e, term, group[1], &out->row) &&
		merges(e, term, group[2], &out->column) && (out->row == 1 || out->column == 1) && out->row && out->column)
		return NULL;
	int64_t step = 1;
	struct walk laid = {0};
	for (int g = 2; g >= 0; g--)
		for (int l = group[g]->count - 1; l >= 0; l--) {
			add_axis(&laid, e->size[group[g]->label[l]], step, term->step[group[g]->label[l]]);
			step *= e->size[group[g]->label[l]];
		}
	while (laid.rank-- > 0)
		add_axis(&w, laid.n[laid.rank], laid.to[laid.rank], laid.from[laid.rank]);
	void *copy;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)step * dfg_dtype_size(in->dtype) + 1, &copy));
	walk(in->dtype, &w, copy, step, in->data);
	*out = (struct operand){copy, group[1]->size * group[2]->size, group[2]->size, 1};
	return NULL;
}

/* Transposes the product, which is in the order of its groups, into the output. */
static void store_product(
	const struct equation *e, const struct group *const group[3], const void *from, struct dfg_tensor *out)
{
	struct walk w = {0};
	int64_t step = group[0]->size * group[1]->size * group[2]->size;
	for (int g = 0; g < 3; g++)
		for (int l = 0; l < group[g]->count; l++) {
			int label = group[g]->label[l];
			step = e->size[label] ? step / e->size[label] : 0;
			add_axis(&w, e->size[label], e->term[OUT].step[label], step);
		}
	walk(out->dtype, &w, out->data, dfg_shape_count(&out->shape), from);
}

static bool in_order(const struct equation *e, const struct group *const group[3])
{
	const struct term *out = &e->term[OUT];
	int d = 0;
	for (int g = 0; g < 3; g++)
		for (int l = 0; l < group[g]->count; l++, d++)
			if (d >= out->rank || out->label[d] != group[g]->label[l])
				return false;
	return d == out->rank;
}

/* Sorts labels: in both inputs and the output; in both inputs; in one input and the output, in the output's order. */
static void sort_labels(const struct equation *e, struct group *batch, struct group *summed, struct group *free)
{
	const struct term *a = &e->term[0], *b = &e->term[1], *out = &e->term[OUT];
	bool done[LABELS] = {false};
	*batch = *summed = free[0] = free[1] = (struct group){.size = 1};
	for (int d = 0; d < out->rank; d++) {
		int l = out->label[d];
		if (!done[l])
			add_label(e, a->has[l] && b->has[l] ? batch : a->has[l] ? &free[0] : &free[1], l);
		done[l] = true;
	}
	for (int d = 0; d < a->rank; d++) {
		int l = a->label[d];
		if (!done[l] && b->has[l])
			add_label(e, summed, l);
		done[l] = true;
	}
}

static struct dfg_err *binary(struct dfg_kernel *ctx, struct equation *e, struct dfg_tensor *out)
{
	struct group batch, summed, free[2];
	sort_labels(e, &batch, &summed, free);
	struct operand a, b;
	DFG_TRY(lay_out(ctx, e, 0, (const struct group *const[]){&batch, &free[0], &summed}, &a));
	DFG_TRY(lay_out(ctx, e, 1, (const struct group *const[]){&batch, &summed, &free[1]}, &b));
	const struct group *const made[] = {&batch, &free[0], &free[1]};
	int64_t *at, count = batch.size, m = free[0].size, n = free[1].size;
	void *to = out->data;
	if (!in_order(e, made))
		DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(count * m * n) * dfg_dtype_size(out->dtype) + 1, &to));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(2 * count + 1) * sizeof *at, (void **)&at));
	for (int64_t t = 0; t < count; t++) {
		at[t] = batch.count ? t * a.batch : 0;
		at[count + t] = batch.count ? t * b.batch : 0;
	}
	struct dfg_products products = {
		.each = {m, n, summed.size, a.row, a.column, b.row, b.column, n, false},
		.dtype = out->dtype,
		.count = count,
		.a = a.data,
		.b = b.data,
		.c = to,
		.a_at = at,
		.b_at = at + count,
		.c_step = m * n,
	};
	if (out->dtype == DFG_F32 || out->dtype == DFG_F64)
		DFG_TRY(dfg_kernel_products(ctx, &products));
	else
		multiply_of[out->dtype](&products);
	if (to != out->data)
		store_product(e, made, to, out);
	return NULL;
}

static void unary(struct dfg_kernel *ctx, const struct equation *e, struct dfg_tensor *out)
{
	struct walk w = {0};
	for (int l = 0; l < LABELS; l++)
		if (e->term[0].has[l])
			add_axis(&w, e->size[l], e->term[OUT].step[l], e->term[0].step[l]);
	walk(out->dtype, &w, out->data, dfg_shape_count(&out->shape), dfg_kernel_input(ctx, 0)->data);
}

static struct dfg_err *einsum(struct dfg_kernel *ctx)
{
	struct equation e;
	struct dfg_shape shape;
	struct dfg_tensor *out;
	const struct dfg_shape *in[TERMS];
	for (int i = 0; i < ctx->call->n_in && i < TERMS; i++)
		in[i] = &ctx->in[i]->shape;
	DFG_TRY(bind_all(ctx->call, in, &e, &shape));
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &out));
	for (int i = 0; i < e.inputs; i++)
		find_steps(&e, &e.term[i], in[i]);
	find_steps(&e, &e.term[OUT], &shape);
	if (e.inputs == 2)
		return binary(ctx, &e, out);
	unary(ctx, &e, out);
	return NULL;
}

/* Copies the letters of a term that are also in another text, and its ellipsis. */
static void keep_letters(const struct term *term, const char *others, char *out_text)
{
	for (int i = 0; i < term->length; i++)
		if (term->text[i] == '.' || strchr(others, term->text[i]))
			*out_text++ = term->text[i];
	*out_text = '\0';
}

static struct dfg_err *apply(struct dfg_gradient *node, const char *equation, const struct dfg_edge *in, uint32_t n_in,
	struct dfg_edge *out_edge)
{
	const struct dfg_attr attr = DFG_ATTR_S("equation", equation);
	return dfg_gradient_op(node, "Einsum", in, n_in, &attr, 1, out_edge);
}

/*
 * The cotangent of input i: the product of the output's cotangent and the other input, summed to the input's labels.
 * Labels that only the input has, or has twice, are restored by a product with ones of its shape. If the input has no
 * ellipsis, the result has one in front, and is summed over it to the input's shape.
 */
static struct dfg_err *gradient_of(struct dfg_gradient *node, const struct equation *e, int i, struct dfg_edge other)
{
	char mine[TERM_CHARACTERS + 4], theirs[TERM_CHARACTERS + 4] = "", out[TERM_CHARACTERS + 4],
															 others[3 * TERM_CHARACTERS], left[TERM_CHARACTERS + 4],
															 text[6 * TERM_CHARACTERS];
	const struct term *term = &e->term[i], *result = &e->term[OUT];
	struct dfg_edge in[2] = {node->dy[0], other}, ones, dx;
	bool lacks = result->has_ellipsis && !term->has_ellipsis;
	snprintf(mine, sizeof mine, "%s%.*s", lacks ? "..." : "", term->length, term->text);
	snprintf(out, sizeof out, "%.*s", result->length, result->text);
	if (e->inputs == 2)
		snprintf(theirs, sizeof theirs, ",%.*s", e->term[1 - i].length, e->term[1 - i].text);
	snprintf(others, sizeof others, "%s%s", out, theirs);
	keep_letters(&(struct term){.text = mine, .length = (int)strlen(mine)}, others, left);
	bool spread = strcmp(left, mine);
	snprintf(text, sizeof text, "%s%s->%s", out, theirs, left);
	DFG_TRY(apply(node, text, in, (uint32_t)e->inputs, &dx));
	if (spread) {
		DFG_TRY(dfg_gradient_op(node, "OnesLike", &node->in[i], 1, NULL, 0, &ones));
		snprintf(text, sizeof text, "%s,%.*s->%s", left, term->length, term->text, mine);
		DFG_TRY(apply(node, text, (struct dfg_edge[]){dx, ones}, 2, &dx));
	}
	dfg_gradient_set(node, i, dx);
	return NULL;
}

static struct dfg_err *einsum_gradient(struct dfg_gradient *node)
{
	struct equation e;
	bool is_complex = dfg_dtype_is((enum dfg_dtype)node->call->out_dtype[0], "complex");
	DFG_TRY(parse(node->call->attr[0].s, node->call->n_in, &e));
	for (int i = 0; i < e.inputs; i++) {
		struct dfg_edge other = e.inputs == 2 ? node->in[1 - i] : node->in[i];
		if (!node->wanted[i])
			continue;
		if (is_complex && e.inputs == 2)
			DFG_TRY(dfg_gradient_op(node, "Conj", &other, 1, NULL, 0, &other));
		DFG_TRY(gradient_of(node, &e, i, other));
	}
	return NULL;
}

const struct dfg_op dfg_op_Einsum = {
	.name = "Einsum",
	.doc = "Einstein summation: products summed over the labels that the output lacks; 'ij,jk->ik' is a matrix product",
	.sig = "<N: int, T: numeric>(inputs: N * T) -> (output: T)",
	.attr = {"equation: string"},
	.flags = DFG_EXPENSIVE,
	.shape = einsum_shape,
	.rows = einsum_rows,
	.gradient_fn = einsum_gradient,
	.kernel = {DFG_EACH_numeric(DFG_FOR_DTYPE, einsum)},
};
