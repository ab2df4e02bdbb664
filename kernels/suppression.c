#include "kernels/math.h"
#include "kernels/shape_rules.h"
#include "lib/graph/kernel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Non-maximum suppression: boxes are chosen in the order of their scores, except those that overlap a chosen one by more
 * than a threshold. Soft suppression (Bodla et al. 2017) instead multiplies the scores of those. Of equal scores the box
 * with the smaller number is first. Boxes are the corners y1, x1, y2, x2, in any order.
 */
struct candidate {
	int32_t box;
	float score;
	int32_t seen; /* how many of the chosen boxes it has been compared with */
};

struct task {
	const float *boxes;    /* of `stride` floats each; NULL: `overlaps` has the similarities */
	const float *overlaps; /* boxes x boxes */
	int64_t count, stride;
	float most_overlap, least_score;
	float sigma;              /* of soft suppression; 0: none */
	struct candidate *heap;   /* space for `count` */
	struct candidate *chosen; /* likewise */
	int64_t heaped;
};

static float least(float a, float b)
{
	return a < b ? a : b;
}

static float largest(float a, float b)
{
	return a > b ? a : b;
}

/* The area of the intersection over that of the union; 0 for boxes without an area. */
static float intersection_over_union(const float *a, const float *b)
{
	const float top_a = least(a[0], a[2]), left_a = least(a[1], a[3]), bottom_a = largest(a[0], a[2]);
	const float right_a = largest(a[1], a[3]), top_b = least(b[0], b[2]), left_b = least(b[1], b[3]);
	const float bottom_b = largest(b[0], b[2]), right_b = largest(b[1], b[3]);
	const float area_a = (bottom_a - top_a) * (right_a - left_a), area_b = (bottom_b - top_b) * (right_b - left_b);
	if (area_a <= 0 || area_b <= 0)
		return 0;
	const float height = least(bottom_a, bottom_b) - largest(top_a, top_b);
	const float width = least(right_a, right_b) - largest(left_a, left_b);
	const float both = largest(height, 0) * largest(width, 0);
	return both / (area_a + area_b - both);
}

static float similarity(const struct task *task, int64_t a, int64_t b)
{
	if (task->overlaps)
		return task->overlaps[a * task->count + b];
	return intersection_over_union(task->boxes + a * task->stride, task->boxes + b * task->stride);
}

static bool precedes(const struct candidate *a, const struct candidate *b)
{
	return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void sink(struct task *task, int64_t at)
{
	struct candidate *heap = task->heap, moved = heap[at];
	for (int64_t child; (child = 2 * at + 1) < task->heaped; at = child) {
		if (child + 1 < task->heaped && precedes(&heap[child + 1], &heap[child]))
			child++;
		if (!precedes(&heap[child], &moved))
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

/* Removes the first candidate. */
static struct candidate pop(struct task *task)
{
	struct candidate first = task->heap[0];
	task->heap[0] = task->heap[--task->heaped];
	if (task->heaped)
		sink(task, 0);
	return first;
}

static void push_candidate(struct task *task, struct candidate candidate)
{
	int64_t at = task->heaped++;
	for (; at && precedes(&candidate, &task->heap[(at - 1) / 2]); at = (at - 1) / 2)
		task->heap[at] = task->heap[(at - 1) / 2];
	task->heap[at] = candidate;
}

/* Compares a candidate with the boxes chosen since it was last compared, the latest first; false: it is suppressed. */
static bool survives(const struct task *task, int64_t chosen, struct candidate *candidate)
{
	for (int64_t j = chosen - 1; j >= candidate->seen; j--) {
		float alike = similarity(task, candidate->box, task->chosen[j].box);
		if (task->sigma > 0)
			candidate->score *= exp_f32(-0.5f / task->sigma * alike * alike);
		else if (alike > task->most_overlap)
			return false;
		if (candidate->score <= task->least_score)
			break;
	}
	candidate->seen = (int32_t)chosen;
	return true;
}

/* Chooses at most `most` boxes from those whose score, which are `step` floats apart, is above the least one. */
static int64_t choose(struct task *task, const float *scores, int64_t step, int64_t most)
{
	int64_t chosen = 0;
	task->heaped = 0;
	for (int64_t i = 0; i < task->count; i++)
		if (scores[i * step] > task->least_score)
			push_candidate(task, (struct candidate){(int32_t)i, scores[i * step], 0});
	while (chosen < most && task->heaped) {
		struct candidate next = pop(task);
		float score = next.score;
		if (!survives(task, chosen, &next))
			continue;
		if (next.score == score)
			task->chosen[chosen++] = next;
		else if (next.score > task->least_score)
			push_candidate(task, next);
	}
	return chosen;
}

/* Inputs of the ops in this order, as far as they have them. */
enum { BOXES, SCORES, MOST, OVERLAP, SCORE, SIGMA };

static bool is_padded(const struct dfg_resolved_node *call)
{
	int pad = dfg_op_attr(call->signature, "pad_to_max_output_size");
	return pad >= 0 && call->attr[pad].b;
}

static struct dfg_err *need_scalars(const struct dfg_infer *node)
{
	for (int i = MOST; i < node->call->n_in; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	return NULL;
}

static struct dfg_err *suppression_shape(struct dfg_infer *node, bool overlaps)
{
	const struct dfg_shape *boxes = node->in[BOXES], *scores = node->in[SCORES];
	int64_t most = dfg_int_of(node, MOST, 0);
	DFG_TRY(need_scalars(node));
	if (scores->rank != 1 || boxes->rank != 2 ||
		!dfg_shape_fits(boxes, &(struct dfg_shape){.rank = 2, .dim = {scores->dim[0], overlaps ? scores->dim[0] : 4}}))
		return DFG_ERR(DFG_DATA, "%s and scores have shape %s and %s, expected %s", overlaps ? "overlaps" : "boxes",
			dfg_shape_words(boxes).s, dfg_shape_words(scores).s, overlaps ? "[n,n] and [n]" : "[n,4] and [n]");
	if (most != DFG_NOT_KNOWN && most < 0)
		return DFG_ERR(DFG_DATA, "'max_output_size' is %lld, expected 0 or more", (long long)most);
	node->out[0] = DFG_SHAPE_VECTOR(is_padded(node->call) && most != DFG_NOT_KNOWN ? most : DFG_UNKNOWN);
	if (node->call->n_out == 3)
		node->out[1] = node->out[0];
	if (node->call->n_out > 1)
		node->out[node->call->n_out - 1] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *boxes_shape(struct dfg_infer *node)
{
	return suppression_shape(node, false);
}

static struct dfg_err *overlaps_shape(struct dfg_infer *node)
{
	return suppression_shape(node, true);
}

/* A scalar of any float type. */
static float scalar(struct dfg_kernel *ctx, int i)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, i);
	float value;
	dfg_convert(DFG_F32, &value, in->dtype, in->data, 1);
	return value;
}

static struct dfg_err *read_thresholds(struct dfg_kernel *ctx, struct task *task)
{
	int n = ctx->call->n_in, attr = dfg_op_attr(ctx->call->signature, "iou_threshold");
	task->most_overlap = n > OVERLAP ? scalar(ctx, OVERLAP) : (float)dfg_kernel_attr(ctx)[attr].f;
	task->least_score = n > SCORE ? scalar(ctx, SCORE) : -FLT_MAX;
	task->sigma = n > SIGMA ? scalar(ctx, SIGMA) : 0;
	if (!task->overlaps && !(task->most_overlap >= 0 && task->most_overlap <= 1))
		return DFG_ERR(DFG_DATA, "'iou_threshold' is %g, expected 0 to 1", (double)task->most_overlap);
	if (!(task->sigma >= 0))
		return DFG_ERR(DFG_DATA, "'soft_nms_sigma' is %g, expected 0 or more", (double)task->sigma);
	return NULL;
}

static struct dfg_err *task_new(struct dfg_kernel *ctx, struct task *task, int64_t tasks)
{
	size_t bytes = (size_t)(task->count * tasks + 1) * sizeof *task->heap;
	if (task->count > INT32_MAX)
		return DFG_ERR(DFG_DATA, "there are %lld boxes, more than %d", (long long)task->count, INT32_MAX);
	DFG_TRY(dfg_kernel_scratch(ctx, bytes, (void **)&task->heap));
	return dfg_kernel_scratch(ctx, bytes, (void **)&task->chosen);
}

/* Writes the numbers, scores and count of the chosen boxes, as far as the op has these outputs. */
static struct dfg_err *write_chosen(struct dfg_kernel *ctx, const struct task *task, int64_t chosen, int64_t most)
{
	struct dfg_tensor *boxes, *scores = NULL, *count;
	const struct dfg_shape shape = DFG_SHAPE_VECTOR(is_padded(ctx->call) ? most : chosen);
	DFG_TRY(dfg_kernel_output(ctx, 0, &shape, &boxes));
	if (ctx->call->n_out == 3)
		DFG_TRY(dfg_kernel_output(ctx, 1, &shape, &scores));
	for (int64_t i = 0; i < shape.dim[0]; i++) {
		((int32_t *)boxes->data)[i] = i < chosen ? task->chosen[i].box : 0;
		if (scores)
			((float *)scores->data)[i] = i < chosen ? task->chosen[i].score : 0;
	}
	if (ctx->call->n_out == 1)
		return NULL;
	DFG_TRY(dfg_kernel_output(ctx, ctx->call->n_out - 1, &DFG_SHAPE_SCALAR, &count));
	*(int32_t *)count->data = (int32_t)chosen;
	return NULL;
}

static struct dfg_err *suppress(struct dfg_kernel *ctx, bool overlaps)
{
	struct dfg_shape shapes[3];
	const float *boxes = ctx->in[BOXES]->data;
	struct task task = {.boxes = overlaps ? NULL : boxes,
		.overlaps = overlaps ? boxes : NULL,
		.count = ctx->in[SCORES]->shape.dim[0],
		.stride = 4};
	DFG_TRY(dfg_shapes_now(ctx, ctx->call->n_out, shapes));
	DFG_TRY(read_thresholds(ctx, &task));
	DFG_TRY(task_new(ctx, &task, 1));
	int64_t most = dfg_tensor_int(ctx->in[MOST], 0);
	return write_chosen(ctx, &task, choose(&task, ctx->in[SCORES]->data, 1, most), most);
}

static struct dfg_err *suppress_boxes(struct dfg_kernel *ctx)
{
	return suppress(ctx, false);
}

static struct dfg_err *suppress_overlaps(struct dfg_kernel *ctx)
{
	return suppress(ctx, true);
}

/* All classes of one image of CombinedNonMaxSuppression. */
struct image {
	struct task task;
	const float *boxes, *scores; /* of this image */
	int64_t classes, own_boxes;  /* boxes of a candidate: one for each class, or 1 for all */
	int64_t each;                /* boxes of a class, at most */
	int64_t *chosen;             /* by class */
};

static void choose_classes(void *arg, int64_t first, int64_t last)
{
	const struct image *image = arg;
	for (int64_t c = first; c < last; c++) {
		struct task task = image->task;
		task.boxes = image->boxes + (image->own_boxes > 1 ? c * 4 : 0);
		task.heap += c * task.count;
		task.chosen += c * task.count;
		image->chosen[c] = choose(&task, image->scores + c, image->classes, image->each);
	}
}

static struct dfg_err *combined_sizes(const struct dfg_infer *node, int64_t *out_total)
{
	int64_t most = dfg_int_of(node, 2, 0), total = dfg_int_of(node, 3, 0), classes = node->in[1]->dim[2];
	if (most != DFG_NOT_KNOWN && most < 1)
		return DFG_ERR(DFG_DATA, "'max_output_size_per_class' is %lld, expected 1 or more", (long long)most);
	if (total != DFG_NOT_KNOWN && total < 1)
		return DFG_ERR(DFG_DATA, "'max_total_size' is %lld, expected 1 or more", (long long)total);
	*out_total = total == DFG_NOT_KNOWN ? DFG_UNKNOWN : total;
	if (!node->call->attr[0].b || *out_total == DFG_UNKNOWN)
		return NULL;
	if (most == DFG_NOT_KNOWN || classes == DFG_UNKNOWN)
		*out_total = DFG_UNKNOWN;
	else if (classes == 0 || most <= (total - 1) / classes)
		*out_total = most * classes;
	return NULL;
}

static struct dfg_err *combined_shape(struct dfg_infer *node)
{
	const struct dfg_shape *boxes = node->in[0], *scores = node->in[1];
	int64_t total;
	for (int i = 2; i < 6; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	if (boxes->rank != 4 || scores->rank != 3 ||
		!dfg_shape_fits(
			boxes, &(struct dfg_shape){.rank = 4, .dim = {scores->dim[0], scores->dim[1], boxes->dim[2], 4}}))
		return DFG_ERR(DFG_DATA, "boxes and scores have shape %s and %s, expected [batch,n,q,4] and [batch,n,classes]",
			dfg_shape_words(boxes).s, dfg_shape_words(scores).s);
	if (boxes->dim[2] != 1 && boxes->dim[2] >= 0 && scores->dim[2] >= 0 && boxes->dim[2] != scores->dim[2])
		return DFG_ERR(DFG_DATA, "boxes have shape %s, expected one box, or one for each of the %lld classes",
			dfg_shape_words(boxes).s, (long long)scores->dim[2]);
	DFG_TRY(combined_sizes(node, &total));
	node->out[0] = (struct dfg_shape){.rank = 3, .dim = {scores->dim[0], total, 4}};
	node->out[1] = node->out[2] = (struct dfg_shape){.rank = 2, .dim = {scores->dim[0], total}};
	node->out[3] = DFG_SHAPE_VECTOR(scores->dim[0]);
	return NULL;
}

/* A box of a class, in the order of the results: by score, then by class and by when it was chosen. */
struct found {
	float score;
	int64_t class, number;
	int32_t box;
};

static int by_score(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int64_t sort_found(const struct image *image, struct found *found)
{
	int64_t count = 0;
	for (int64_t c = 0; c < image->classes; c++)
		for (int64_t i = 0; i < image->chosen[c]; i++) {
			const struct candidate *chosen = &image->task.chosen[c * image->task.count + i];
			found[count++] = (struct found){chosen->score, c, i, chosen->box};
		}
	qsort(found, (size_t)count, sizeof *found, by_score);
	return count;
}

static float clipped(float x)
{
	return largest(least(x, 1), 0);
}

static void write_image(struct dfg_tensor *const *out, int64_t number, int64_t total, const struct image *image,
	const struct found *found, int64_t count, bool clip)
{
	float *boxes = (float *)out[0]->data + number * total * 4, *scores = (float *)out[1]->data + number * total;
	float *classes = (float *)out[2]->data + number * total;
	((int32_t *)out[3]->data)[number] = (int32_t)(count < total ? count : total);
	for (int64_t i = 0; i < total; i++) {
		bool there = i < count;
		scores[i] = there ? found[i].score : 0;
		classes[i] = there ? (float)found[i].class : 0;
		for (int k = 0; k < 4; k++) {
			int64_t own = there && image->own_boxes > 1 ? found[i].class * 4 : 0;
			float corner = there ? image->boxes[found[i].box * image->task.stride + own + k] : 0;
			boxes[i * 4 + k] = clip ? clipped(corner) : corner;
		}
	}
}

static struct dfg_err *combined(struct dfg_kernel *ctx)
{
	const struct dfg_shape *boxes = &ctx->in[0]->shape, *scores = &ctx->in[1]->shape;
	struct dfg_shape shape[4];
	struct dfg_tensor *out[4];
	struct found *found;
	DFG_TRY(dfg_shapes_now(ctx, 4, shape));
	struct image image = {.task = {.count = scores->dim[1], .stride = boxes->dim[2] * 4},
		.classes = scores->dim[2],
		.own_boxes = boxes->dim[2],
		.each = dfg_tensor_int(ctx->in[2], 0)};
	image.task.most_overlap = scalar(ctx, 4);
	image.task.least_score = scalar(ctx, 5);
	if (!(image.task.most_overlap >= 0 && image.task.most_overlap <= 1))
		return DFG_ERR(DFG_DATA, "'iou_threshold' is %g, expected 0 to 1", (double)image.task.most_overlap);
	for (int i = 0; i < 4; i++)
		DFG_TRY(dfg_kernel_output(ctx, i, &shape[i], &out[i]));
	int64_t all = image.task.count * image.classes;
	DFG_TRY(task_new(ctx, &image.task, image.classes));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(image.classes + 1) * sizeof *image.chosen, (void **)&image.chosen));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(all + 1) * sizeof *found, (void **)&found));
	for (int64_t b = 0; b < scores->dim[0]; b++) {
		image.boxes = (const float *)ctx->in[0]->data + b * image.task.count * image.task.stride;
		image.scores = (const float *)ctx->in[1]->data + b * all;
		dfg_kernel_ranges(ctx, image.classes, 1, choose_classes, &image);
		write_image(out, b, shape[1].dim[1], &image, found, sort_found(&image, found), dfg_kernel_attr(ctx)[1].b);
	}
	return NULL;
}

#define BOXES_OF(T) "(boxes: " T ", scores: " T ", max_output_size: i32"
#define HALF "<T: half|f32 = f32, T_threshold: half|f32 = f32>"
#define DOC "indices of boxes in the order of their scores, without those that overlap a better one"

const struct dfg_op dfg_op_NonMaxSuppression = {
	.name = "NonMaxSuppression",
	.doc = DOC,
	.sig = BOXES_OF("f32") ") -> (selected_indices: i32)",
	.attr = {"iou_threshold: float = 0.5"},
	.shape = boxes_shape,
	.gradient = "",
	.run = suppress_boxes,
};

const struct dfg_op dfg_op_NonMaxSuppressionV2 = {
	.name = "NonMaxSuppressionV2",
	.doc = DOC,
	.sig = HALF BOXES_OF("T") ", iou_threshold: T_threshold) -> (selected_indices: i32)",
	.shape = boxes_shape,
	.gradient = "",
	.kernel = {[DFG_F32] = suppress_boxes},
};

const struct dfg_op dfg_op_NonMaxSuppressionV3 = {
	.name = "NonMaxSuppressionV3",
	.doc = DOC "or have too low a score",
	.sig = HALF BOXES_OF("T") ", iou_threshold: T_threshold, score_threshold: T_threshold) -> (selected_indices: i32)",
	.shape = boxes_shape,
	.gradient = "",
	.kernel = {[DFG_F32] = suppress_boxes},
};

const struct dfg_op dfg_op_NonMaxSuppressionV4 = {
	.name = "NonMaxSuppressionV4",
	.doc = DOC "or have too low a score; also their number",
	.sig = HALF BOXES_OF(
		"T") ", iou_threshold: T_threshold, score_threshold: T_threshold) -> (selected_indices: i32, valid_outputs: i32)",
	.attr = {"pad_to_max_output_size: bool = false"},
	.shape = boxes_shape,
	.gradient = "",
	.kernel = {[DFG_F32] = suppress_boxes},
};

const struct dfg_op dfg_op_NonMaxSuppressionV5 = {
	.name = "NonMaxSuppressionV5",
	.doc = "indices of boxes in the order of their scores, which overlaps with better boxes reduce; their scores and number",
	.sig = "<T: half|f32 = f32>" BOXES_OF("T") ", iou_threshold: T, score_threshold: T, soft_nms_sigma: T) -> "
											   "(selected_indices: i32, selected_scores: T, valid_outputs: i32)",
	.attr = {"pad_to_max_output_size: bool = false"},
	.flags = DFG_NO_GRADIENT,
	.shape = boxes_shape,
	.kernel = {[DFG_F32] = suppress_boxes},
};

const struct dfg_op dfg_op_NonMaxSuppressionWithOverlaps = {
	.name = "NonMaxSuppressionWithOverlaps",
	.doc = "indices in the order of their scores, without those that overlap a better one, by a matrix of overlaps",
	.sig =
		"(overlaps: f32, scores: f32, max_output_size: i32, overlap_threshold: f32, score_threshold: f32) -> "
		"(selected_indices: i32)",
	.shape = overlaps_shape,
	.gradient = "",
	.run = suppress_overlaps,
};

const struct dfg_op dfg_op_CombinedNonMaxSuppression = {
	.name = "CombinedNonMaxSuppression",
	.doc = "the best boxes of all classes of each image, without those that overlap a better one of their class",
	.sig =
		"(boxes: f32, scores: f32, max_output_size_per_class: i32, max_total_size: i32, iou_threshold: f32, "
		"score_threshold: f32) -> (nmsed_boxes: f32, nmsed_scores: f32, nmsed_classes: f32, valid_detections: i32)",
	.attr = {"pad_per_class: bool = false", "clip_boxes: bool = true"},
	.flags = DFG_NO_GRADIENT,
	.shape = combined_shape,
	.run = combined,
};
