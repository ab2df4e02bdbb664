/*
 * The most probable sequences of classes by beam search over their prefixes (Graves 2012, 7.5), where the probability of a
 * sequence is that of all paths with it. In f64 for both types.
 */
#include "kernels/ctc.h"
#include "kernels/math.h"
#include "kernels/shape_rules.h"

#include <inttypes.h>
#include <string.h>

enum { INPUTS, LENGTHS };
enum { BEAM_WIDTH, MERGE };
enum { NONE = -1, ROOT = 0 };

/* Logarithms of the probabilities of the paths with a prefix: all, those that end with a blank, and with its last label. */
struct chance {
	double total, blank, label;
};

/* A prefix: another one and a label. Those that left the beam stay, because longer ones may still be in it. */
struct prefix {
	int32_t parent, label;
	int32_t child, sibling; /* the last that was made of its children, and the one that was made before it */
	struct chance before, now;
};

struct search {
	int64_t classes, width;
	struct prefix *prefix;
	size_t prefixes, allocated;
	int32_t *beam, *branch; /* those in the beam, the most probable first, and those of the step before */
	size_t in_beam, branches, beam_allocated, branch_allocated;
	int32_t *child; /* by label: the child of the prefix that is extended */
	double *log_y;  /* of a step, by class */
	int64_t *label; /* of all paths that were found, one after another */
	size_t labels, label_allocated;
};

static void release(struct search *s)
{
	dfg_free(s->prefix);
	dfg_free(s->beam);
	dfg_free(s->branch);
	dfg_free(s->label);
}

static double log_add(double a, double b)
{
	const double more = a > b ? a : b, less = a > b ? b : a;
	return more == -MATH_INFINITY ? more : more + log1p_f64(exp_f64(less - more));
}

static const struct chance never = {-MATH_INFINITY, -MATH_INFINITY, -MATH_INFINITY};

static struct dfg_err *no_memory(void)
{
	return dfg_no_memory("the prefixes of a beam search");
}

/* Puts a prefix after those in the beam that are as probable. */
static struct dfg_err *put_in_beam(struct search *s, int32_t p)
{
	if (!dfg_reserve(&s->beam, &s->beam_allocated, s->in_beam + 1, sizeof *s->beam))
		return no_memory();
	size_t low = 0;
	for (size_t high = s->in_beam; low < high;) {
		const size_t middle = low + (high - low) / 2;
		if (s->prefix[s->beam[middle]].now.total >= s->prefix[p].now.total)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(s->beam + low + 1, s->beam + low, (s->in_beam - low) * sizeof *s->beam);
	s->beam[low] = p;
	s->in_beam++;
	return NULL;
}

static bool may_enter(const struct search *s, double total)
{
	if (!(total > -MATH_INFINITY))
		return false;
	return s->in_beam < (uint64_t)s->width || total > s->prefix[s->beam[s->in_beam - 1]].now.total;
}

static struct dfg_err *new_prefix(struct search *s, int32_t parent, int32_t label, int32_t *out_number)
{
	if (s->prefixes >= INT32_MAX || !dfg_reserve(&s->prefix, &s->allocated, s->prefixes + 1, sizeof *s->prefix))
		return no_memory();
	*out_number = (int32_t)s->prefixes++;
	s->prefix[*out_number] = (struct prefix){parent, label, NONE, NONE, never, never};
	if (parent == NONE)
		return NULL;
	s->prefix[*out_number].sibling = s->prefix[parent].child;
	s->prefix[parent].child = *out_number;
	return NULL;
}

/* The probabilities of a prefix with another time step: a blank, its last label again, or that label after its parent. */
static void prolong(struct search *s, int32_t number)
{
	struct prefix *p = &s->prefix[number];
	if (p->parent != NONE) {
		const struct prefix *parent = &s->prefix[p->parent];
		if (parent->now.total > -MATH_INFINITY)
			p->now.label =
				log_add(p->now.label, p->label == parent->label ? parent->before.blank : parent->before.total);
		p->now.label += s->log_y[p->label];
	}
	p->now.blank = p->before.total + s->log_y[s->classes - 1];
	p->now.total = log_add(p->now.blank, p->now.label);
}

static struct dfg_err *enter(struct search *s, int32_t of, int32_t label, double log_p)
{
	int32_t child = s->child[label];
	if (child == NONE)
		DFG_TRY(new_prefix(s, of, label, &child));
	s->child[label] = child;
	s->prefix[child].now = (struct chance){log_p, -MATH_INFINITY, log_p};
	if (s->in_beam == (uint64_t)s->width)
		s->prefix[s->beam[--s->in_beam]].now = never;
	return put_in_beam(s, child);
}

/* Puts the prefixes with one more label into the beam where they are more probable than those in it. */
static struct dfg_err *extend(struct search *s, int32_t of)
{
	const struct chance before = s->prefix[of].before;
	const int32_t last = s->prefix[of].label;
	if (!may_enter(s, before.total))
		return NULL;
	for (int64_t label = 0; label < s->classes; label++)
		s->child[label] = NONE;
	for (int32_t c = s->prefix[of].child; c != NONE; c = s->prefix[c].sibling)
		s->child[s->prefix[c].label] = c;
	for (int32_t label = 0; label < s->classes - 1; label++) {
		const int32_t child = s->child[label];
		const double log_p = s->log_y[label] + (label == last ? before.blank : before.total);
		if (child != NONE && s->prefix[child].now.total > -MATH_INFINITY)
			continue;
		if (may_enter(s, log_p))
			DFG_TRY(enter(s, of, label, log_p));
		else if (child != NONE)
			s->prefix[child].before = never; /* one that left the beam in this step is not extended, as in TensorFlow */
	}
	return NULL;
}

/* The logarithms of the probabilities of the classes at a time step. */
static void read_step(struct search *s, const struct dfg_tensor *inputs, int64_t row)
{
	double most = -MATH_INFINITY, sum = 0;
	dfg_convert(DFG_F64, s->log_y, inputs->dtype, dfg_tensor_at(inputs, row * s->classes), s->classes);
	for (int64_t c = 0; c < s->classes; c++)
		most = s->log_y[c] > most ? s->log_y[c] : most;
	for (int64_t c = 0; c < s->classes; c++)
		sum += exp_f64(s->log_y[c] - most);
	for (int64_t c = 0; c < s->classes; c++)
		s->log_y[c] -= most + log_f64(sum);
}

static struct dfg_err *step(struct search *s)
{
	if (!dfg_reserve(&s->branch, &s->branch_allocated, s->in_beam, sizeof *s->branch))
		return no_memory();
	s->branches = s->in_beam;
	memcpy(s->branch, s->beam, s->branches * sizeof *s->branch);
	s->in_beam = 0;
	for (size_t i = 0; i < s->branches; i++)
		s->prefix[s->branch[i]].before = s->prefix[s->branch[i]].now;
	for (size_t i = 0; i < s->branches; i++) {
		prolong(s, s->branch[i]);
		DFG_TRY(put_in_beam(s, s->branch[i]));
	}
	for (size_t i = 0; i < s->branches; i++)
		DFG_TRY(extend(s, s->branch[i]));
	return NULL;
}

static struct dfg_err *search_sequence(struct search *s, const struct dfg_tensor *inputs, int64_t b, int64_t length)
{
	int32_t root;
	s->prefixes = s->in_beam = 0;
	DFG_TRY(new_prefix(s, NONE, NONE, &root));
	s->prefix[root].now = (struct chance){0, 0, -MATH_INFINITY};
	DFG_TRY(put_in_beam(s, root));
	for (int64_t t = 0; t < length; t++) {
		read_step(s, inputs, t * inputs->shape.dim[1] + b);
		DFG_TRY(step(s));
	}
	return NULL;
}

/* Appends the labels of a prefix; *out_count: how many. Equal ones that follow each other are one if they merge. */
static struct dfg_err *add_path(struct search *s, int32_t of, bool merge, int64_t *out_count)
{
	const size_t first = s->labels;
	for (int32_t p = of, next = NONE; p != ROOT; next = s->prefix[p].label, p = s->prefix[p].parent) {
		if (merge && s->prefix[p].label == next)
			continue;
		if (!dfg_reserve(&s->label, &s->label_allocated, s->labels + 1, sizeof *s->label))
			return no_memory();
		s->label[s->labels++] = s->prefix[p].label;
	}
	for (size_t low = first, high = s->labels; low + 1 < high; low++) {
		const int64_t label = s->label[low];
		s->label[low] = s->label[--high];
		s->label[high] = label;
	}
	*out_count = (int64_t)(s->labels - first);
	return NULL;
}

/* The sparse tensor of path number p of each sequence; count and label are those of all paths. */
static struct dfg_err *give_path(
	struct dfg_kernel *ctx, int64_t p, int64_t batch, const int64_t *count, const int64_t *label)
{
	const int paths = (int)ctx->call->param[0].i;
	struct dfg_tensor *indices, *values, *shape;
	int64_t all = 0, longest = 0;
	for (int64_t b = 0; b < batch; b++) {
		const int64_t n = count[b * paths + p];
		all += n;
		longest = n > longest ? n : longest;
	}
	DFG_TRY(dfg_kernel_output(ctx, (int)p, &(struct dfg_shape){.rank = 2, .dim = {all, 2}}, &indices));
	DFG_TRY(dfg_kernel_output(ctx, paths + (int)p, &DFG_SHAPE_VECTOR(all), &values));
	DFG_TRY(dfg_kernel_output(ctx, 2 * paths + (int)p, &DFG_SHAPE_VECTOR(2), &shape));
	((int64_t *)shape->data)[0] = batch;
	((int64_t *)shape->data)[1] = longest;
	for (int64_t i = 0, at = 0; i < batch * paths; label += count[i++])
		for (int64_t k = 0; i % paths == p && k < count[i]; k++, at++) {
			((int64_t *)values->data)[at] = label[k];
			((int64_t *)indices->data)[2 * at] = i / paths;
			((int64_t *)indices->data)[2 * at + 1] = k;
		}
	return NULL;
}

static struct dfg_err *find_paths(struct dfg_kernel *ctx, struct search *s, int64_t *count, struct dfg_tensor *score)
{
	const struct dfg_tensor *inputs = dfg_kernel_input(ctx, INPUTS);
	const int64_t paths = ctx->call->param[0].i;
	for (int64_t b = 0; b < inputs->shape.dim[1]; b++) {
		int64_t length;
		DFG_TRY(dfg_ctc_length(ctx, LENGTHS, b, inputs->shape.dim[0], &length));
		DFG_TRY(search_sequence(s, inputs, b, length));
		if (s->in_beam < (uint64_t)paths)
			return DFG_ERR(DFG_DATA, "sequence %" PRId64 " has %zu paths in the beam, fewer than top_paths = %" PRId64,
				b, s->in_beam, paths);
		for (int64_t p = 0; p < paths; p++) {
			DFG_TRY(add_path(s, s->beam[p], dfg_kernel_attr(ctx)[MERGE].b, &count[b * paths + p]));
			dfg_put_real(score->dtype, dfg_tensor_at(score, b * paths + p), s->prefix[s->beam[p]].now.total);
		}
	}
	return NULL;
}

static struct dfg_err *beam_shape(struct dfg_infer *node)
{
	const int64_t paths = node->call->param[0].i, width = node->call->attr[BEAM_WIDTH].i;
	const struct dfg_shape *in = node->in[INPUTS];
	DFG_TRY(dfg_ctc_check_inputs(node, LENGTHS));
	if (paths > width)
		return DFG_ERR(DFG_DATA, "top_paths is %" PRId64 ", more than beam_width = %" PRId64, paths, width);
	for (int64_t p = 0; p < paths; p++) {
		node->out[p] = (struct dfg_shape){.rank = 2, .dim = {DFG_UNKNOWN, 2}};
		node->out[paths + p] = DFG_SHAPE_VECTOR(DFG_UNKNOWN);
		node->out[2 * paths + p] = DFG_SHAPE_VECTOR(2);
	}
	node->out[3 * paths] = (struct dfg_shape){.rank = 2, .dim = {in->rank < 0 ? DFG_UNKNOWN : in->dim[1], paths}};
	return NULL;
}

static struct dfg_err *beam_run(struct dfg_kernel *ctx)
{
	const struct dfg_shape *in = &dfg_kernel_input(ctx, INPUTS)->shape;
	const int64_t paths = ctx->call->param[0].i;
	struct search s = {.classes = in->dim[2], .width = dfg_kernel_attr(ctx)[BEAM_WIDTH].i};
	const struct dfg_shape each = {.rank = 2, .dim = {in->dim[1], paths}};
	struct dfg_tensor *score;
	int64_t *count;
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&each, DFG_I64, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, (void **)&count));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)s.classes * sizeof *s.child, (void **)&s.child));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)s.classes * sizeof *s.log_y, (void **)&s.log_y));
	DFG_TRY(dfg_kernel_output(ctx, (int)(3 * paths), &each, &score));
	struct dfg_err *err = find_paths(ctx, &s, count, score);
	for (int64_t p = 0; p < paths && !err; p++)
		err = give_path(ctx, p, in->dim[1], count, s.label);
	release(&s);
	return err;
}

const struct dfg_op dfg_op_CTCBeamSearchDecoder = {
	.name = "CTCBeamSearchDecoder",
	.doc =
		"the top_paths most probable sequences of classes, where the last class is the blank, as sparse tensors, and "
		"the "
		"logarithms of their probabilities",
	.sig =
		"<top_paths: int, T: f32|f64 = f32>(inputs: T, sequence_length: i32) -> "
		"(decoded_indices: top_paths * i64, decoded_values: top_paths * i64, decoded_shape: top_paths * i64, "
		"log_probability: T)",
	.attr = {[BEAM_WIDTH] = "beam_width: int >= 1", [MERGE] = "merge_repeated: bool = true"},
	.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXPENSIVE,
	.shape = beam_shape,
	.run = beam_run,
};
