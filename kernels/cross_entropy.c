#include "kernels/row_rules.h"
#include "kernels/softmax.h"

#include "kernels/gradient_helpers.h"
#include "kernels/reduce.h"
#include "lib/base/vector.h"

enum { FEATURES, LABELS }; /* inputs */
enum { LOSS, BACKPROP };   /* outputs */

struct work {
	const void *features, *labels; /* labels of the sparse form: the class of each row, in range */
	void *loss, *backprop;
	int64_t n;
	int64_t features_row, features_column, labels_row,
		labels_column; /* steps in elements; 0 along broadcast dimensions */
	enum dfg_dtype label_dtype;
};

#define DTYPE (sizeof(TYPE) == 4 ? DFG_F32 : DFG_F64)
#define TEMPLATE "kernels/cross_entropy.inc"
#include "kernels/each_float.inc"

/* Checks that the matrices broadcast to each other, before and while the graph runs. */
static struct dfg_err *fit_dense(
	const struct dfg_shape *features, const struct dfg_shape *labels, struct dfg_shape *out_shape)
{
	if (features->rank != 2 && labels->rank != 2)
		return DFG_ERR(DFG_DATA, "logits have shape %s and labels %s, expected matrices", dfg_shape_words(features).s,
			dfg_shape_words(labels).s);
	DFG_TRY(dfg_shape_broadcast((const struct dfg_shape *const[]){features, labels}, 2, out_shape));
	if (out_shape->rank != 2)
		return DFG_ERR(DFG_DATA, "logits and labels broadcast to %s, expected a matrix", dfg_shape_words(out_shape).s);
	return NULL;
}

static struct dfg_err *dense_shape(struct dfg_infer *node)
{
	DFG_TRY(fit_dense(node->in[FEATURES], node->in[LABELS], &node->out[BACKPROP]));
	node->out[LOSS] = DFG_SHAPE_VECTOR(node->out[BACKPROP].dim[0]);
	return NULL;
}

/* The step in elements along a dimension of a matrix, or of a vector, which is one row; 0 if it is broadcast. */
static int64_t step(const struct dfg_shape *shape, int dim)
{
	int at = dim + shape->rank - 2;
	return at < 0 || shape->dim[at] == 1 ? 0 : dim ? 1 : shape->dim[at + 1];
}

static struct dfg_err *dense(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *features = dfg_kernel_input(ctx, FEATURES), *labels = dfg_kernel_input(ctx, LABELS);
	struct dfg_tensor *loss, *backprop;
	struct dfg_shape shape;
	DFG_TRY(fit_dense(&features->shape, &labels->shape, &shape));
	DFG_TRY(dfg_kernel_output(ctx, LOSS, &DFG_SHAPE_VECTOR(shape.dim[0]), &loss));
	DFG_TRY(dfg_kernel_output(ctx, BACKPROP, &shape, &backprop));
	struct work work = {
		.features = features->data,
		.labels = labels->data,
		.loss = loss->data,
		.backprop = backprop->data,
		.n = shape.dim[1],
		.features_row = step(&features->shape, 0),
		.features_column = step(&features->shape, 1),
		.labels_row = step(&labels->shape, 0),
		.labels_column = step(&labels->shape, 1),
	};
	dfg_kernel_ranges(ctx, shape.dim[0], dfg_softmax_rows_in_block(work.n),
		features->dtype == DFG_F32 ? dense_f32 : dense_f64, &work);
	return NULL;
}

static struct dfg_err *fit_sparse(const struct dfg_shape *features, const struct dfg_shape *labels)
{
	if (features->rank != 2 || labels->rank != 1)
		return DFG_ERR(DFG_DATA, "logits have shape %s and labels %s, expected a matrix and a vector",
			dfg_shape_words(features).s, dfg_shape_words(labels).s);
	const struct dfg_shape rows = DFG_SHAPE_VECTOR(features->dim[0]);
	if (features->dim[1] == 0)
		return DFG_ERR(DFG_DATA, "logits of %s have no classes", dfg_shape_words(features).s);
	if (!dfg_shape_fits(&rows, labels))
		return DFG_ERR(
			DFG_DATA, "logits of %s do not fit labels of %s", dfg_shape_words(features).s, dfg_shape_words(labels).s);
	return NULL;
}

static struct dfg_err *sparse_shape(struct dfg_infer *node)
{
	DFG_TRY(fit_sparse(node->in[FEATURES], node->in[LABELS]));
	const struct dfg_shape rows = DFG_SHAPE_VECTOR(node->in[FEATURES]->dim[0]);
	node->out[LOSS] = dfg_shape_merge(&rows, node->in[LABELS]);
	node->out[BACKPROP] = *node->in[FEATURES];
	node->out[BACKPROP].dim[0] = node->out[LOSS].dim[0];
	return NULL;
}

static struct dfg_err *sparse(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *features = dfg_kernel_input(ctx, FEATURES), *labels = dfg_kernel_input(ctx, LABELS);
	struct dfg_tensor *loss, *backprop;
	DFG_TRY(fit_sparse(&features->shape, &labels->shape));
	int64_t rows = features->shape.dim[0], n = features->shape.dim[1];
	for (int64_t i = 0; i < rows; i++) {
		int64_t label = dfg_tensor_int(labels, i);
		if (label < 0 || label >= n)
			return DFG_ERR(
				DFG_DATA, "label %lld of row %lld is not in [0, %lld)", (long long)label, (long long)i, (long long)n);
	}
	DFG_TRY(dfg_kernel_output(ctx, LOSS, &labels->shape, &loss));
	DFG_TRY(dfg_kernel_output(ctx, BACKPROP, &features->shape, &backprop));
	struct work work = {
		.features = features->data,
		.labels = labels->data,
		.loss = loss->data,
		.backprop = backprop->data,
		.n = n,
		.label_dtype = labels->dtype,
	};
	dfg_kernel_ranges(
		ctx, rows, dfg_softmax_rows_in_block(n), features->dtype == DFG_F32 ? sparse_f32 : sparse_f64, &work);
	return NULL;
}

/* Gradient by the loss, by the backprop, or by both, as in a second derivative. Labels do not depend on features. */
#define BY_LOSS "ExpandDims(dloss, -1) * backprop"
#define BY_BACKPROP "(dbackprop - Sum(dbackprop * Softmax(features), [-1], keep_dims = true)) * Softmax(features)"

static struct dfg_err *gradient(struct dfg_gradient *node)
{
	if (!dfg_gradient_has(node, BACKPROP))
		return dfg_gradient_formula(node, "dfeatures = " BY_LOSS);
	if (!dfg_gradient_has(node, LOSS))
		return dfg_gradient_formula(node, "dfeatures = " BY_BACKPROP);
	return dfg_gradient_formula(node, "dfeatures = " BY_LOSS " + " BY_BACKPROP);
}

/* TensorFlow omits the derivative of backprop by labels, so its second derivatives by labels are wrong. */
#define LABELS_BY_LOSS "ExpandDims(dloss, -1) * -LogSoftmax(features)"

static struct dfg_err *dense_gradient(struct dfg_gradient *node)
{
	if (node->wanted[FEATURES])
		DFG_TRY(gradient(node));
	if (!node->wanted[LABELS])
		return NULL;
	if (!dfg_gradient_has(node, BACKPROP))
		return dfg_gradient_formula(node, "dlabels = " LABELS_BY_LOSS);
	if (!dfg_gradient_has(node, LOSS))
		return dfg_gradient_formula(node, "dlabels = -dbackprop");
	return dfg_gradient_formula(node, "dlabels = " LABELS_BY_LOSS " - dbackprop");
}

const struct dfg_op dfg_op_SoftmaxCrossEntropyWithLogits = {
	.name = "SoftmaxCrossEntropyWithLogits",
	.doc = "cross entropy of rows of labels and the softmax of logits, and its gradient with respect to the logits",
	.sig = "<T: float>(features: T, labels: T) -> (loss: T, backprop: T)",
	.shape = dense_shape,
	.rows = dfg_rows_all,
	.gradient_fn = dense_gradient,
	.kernel = {[DFG_F32] = dense, [DFG_F64] = dense},
};

const struct dfg_op dfg_op_SparseSoftmaxCrossEntropyWithLogits = {
	.name = "SparseSoftmaxCrossEntropyWithLogits",
	.doc = "cross entropy of classes and the softmax of logits, and its gradient with respect to the logits",
	.sig = "<T: float, Tlabels: index = i64>(features: T, labels: Tlabels) -> (loss: T, backprop: T)",
	.shape = sparse_shape,
	.rows = dfg_rows_all,
	.gradient_fn = gradient,
	.kernel = {[DFG_F32] = sparse, [DFG_F64] = sparse},
};
