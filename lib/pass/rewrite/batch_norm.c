/* batch_norm. Requires: a graph that verify accepts. Result: scales are part of weights. O(nodes + edges + bytes). */
#include "lib/pass/rewrite/batch_norm.h"

#include "lib/base/plural.h"
#include "lib/base/text.h"
#include "lib/graph/kernel.h"
#include "lib/graph/names.h"
#include "lib/pass/rewrite/become.h"

#include <math.h>
#include <string.h>

enum { DEPTH = 8 /* of constant expressions */, INPUTS = 3, VALUES_MOST = 1 << 28 };

struct folding {
	struct dfg_graph *graph;
	struct dfg_arena *scratch;
	struct dfg_names names;
	bool *has_others;  /* by node: an output but the first is read */
	bool *kept;        /* by node */
	uint32_t *readers; /* by node: data edges that leave it */
	uint32_t *reader;  /* by node: a reader */
	uint32_t weights, removed;
};

/* A chain of nodes after a product, which together compute x * scale + offset for each channel. */
struct chain {
	int64_t channels;
	int rank; /* of the values */
	double *scale, *offset;
	bool scales;
	uint32_t first, last, length;
};

/* The value of a constant expression outside of loops, or no dtype. */
static struct dfg_err *value_of(struct folding *f, struct dfg_edge edge, int depth, struct dfg_tensor *out_value);

static struct dfg_err *evaluate(struct folding *f, uint32_t n, int depth, struct dfg_tensor *out_value)
{
	const struct dfg_node *node = &f->graph->node[n];
	struct dfg_tensor in[INPUTS] = {0};
	const struct dfg_tensor *inputs[INPUTS];
	struct dfg_resolved_node call;
	struct dfg_err *err = NULL;
	bool known = true;
	for (uint32_t i = 0; !err && known && i < node->n_in; i++) {
		err = value_of(f, node->in[i], depth + 1, &in[i]);
		known = in[i].dtype;
		inputs[i] = &in[i];
	}
	if (!err && known)
		err = dfg_node_resolve(f->graph, n, f->scratch, &call);
	if (!err && known && call.n_out == 1)
		err = dfg_eval(&call, inputs, VALUES_MOST, out_value);
	for (int i = 0; i < INPUTS; i++)
		dfg_tensor_release(&in[i]);
	if (err && err->code != DFG_MEMORY) { /* the run will report it */
		dfg_err_free(err);
		err = NULL;
		*out_value = (struct dfg_tensor){0};
	}
	return err;
}

static struct dfg_err *value_of(struct folding *f, struct dfg_edge edge, int depth, struct dfg_tensor *out_value)
{
	const struct dfg_node *node = &f->graph->node[edge.node];
	const struct dfg_literal *literal = dfg_constant_literal(node);
	*out_value = (struct dfg_tensor){0};
	if (node->n_control || edge.port || depth > DEPTH || !node->op)
		return NULL;
	if (literal)
		return dfg_literal_tensor(literal, out_value);
	const enum dfg_role role = node->op->role;
	const unsigned effects = DFG_STATEFUL | DFG_BLOCKING;
	if (!node->n_in || node->n_in > INPUTS || node->op->flags & effects || (role != DFG_PLAIN && role != DFG_IDENTITY))
		return NULL;
	return evaluate(f, edge.node, depth, out_value);
}

static double element(const struct dfg_tensor *tensor, int64_t i)
{
	return tensor->dtype == DFG_F32 ? (double)((const float *)tensor->data)[i] : ((const double *)tensor->data)[i];
}

/* The numbers of a constant that has one for each channel, or one for all; *out_is tells whether it is that. */
static struct dfg_err *channel_values(
	struct folding *f, const struct chain *chain, struct dfg_edge edge, double **out_values, bool *out_is)
{
	struct dfg_tensor value;
	*out_is = false;
	DFG_TRY(value_of(f, edge, 0, &value));
	const int rank = value.shape.rank;
	const int64_t count = value.dtype ? dfg_shape_count(&value.shape) : 0;
	const bool is_last = count == 1 || (rank && value.shape.dim[rank - 1] == count && count == chain->channels);
	*out_is = (value.dtype == DFG_F32 || value.dtype == DFG_F64) && is_last && rank <= chain->rank;
	*out_values = dfg_arena_zeros(f->scratch, (size_t)chain->channels, sizeof **out_values);
	for (int64_t c = 0; *out_values && *out_is && c < chain->channels; c++)
		(*out_values)[c] = element(&value, count == 1 ? 0 : c);
	dfg_tensor_release(&value);
	return *out_values ? NULL : dfg_no_memory("the weights");
}

static void scale_by(struct chain *chain, const double *value, bool divides)
{
	for (int64_t c = 0; c < chain->channels; c++) {
		chain->scale[c] = divides ? chain->scale[c] / value[c] : chain->scale[c] * value[c];
		chain->offset[c] = divides ? chain->offset[c] / value[c] : chain->offset[c] * value[c];
	}
	chain->scales = true;
}

static void shift_by(struct chain *chain, const double *value, double sign)
{
	for (int64_t c = 0; c < chain->channels; c++)
		chain->offset[c] += sign * value[c];
}

static bool is_op(const struct dfg_node *node, const char *one, const char *two)
{
	return !strcmp(node->op_name, one) || (two && !strcmp(node->op_name, two));
}

static bool has_channels_last(const struct dfg_node *node)
{
	const struct dfg_attr *format = dfg_node_attr(node, "data_format");
	return !format || (format->value.s.length && format->value.s.s[format->value.s.length - 1] == 'C');
}

/* An op of the value and a constant, in either order. */
static struct dfg_err *add_binary(struct folding *f, struct chain *chain, const struct dfg_node *node, bool *out_done)
{
	const bool is_first = node->in[0].node == chain->last;
	const bool adds = is_op(node, "AddV2", "Add") || is_op(node, "BiasAdd", NULL), subtracts = is_op(node, "Sub", NULL);
	const bool multiplies = is_op(node, "Mul", NULL), divides = is_op(node, "RealDiv", "Div");
	double *value;
	*out_done = false;
	if (node->n_in != 2 || !(adds || subtracts || multiplies || divides) || !has_channels_last(node) ||
		(!is_first && (subtracts || divides)))
		return NULL;
	DFG_TRY(channel_values(f, chain, node->in[is_first], &value, out_done));
	if (!*out_done)
		return NULL;
	if (adds || subtracts)
		shift_by(chain, value, subtracts ? -1 : 1);
	else
		scale_by(chain, value, divides);
	return NULL;
}

static struct dfg_err *add_norm(struct folding *f, struct chain *chain, const struct dfg_node *node, bool *out_done)
{
	static const char prefix[] = "FusedBatchNorm";
	const struct dfg_attr *training = dfg_node_attr(node, "is_training"), *epsilon = dfg_node_attr(node, "epsilon");
	double *value[4];
	*out_done = false;
	if (strncmp(node->op_name, prefix, sizeof prefix - 1) != 0 || node->n_in != 5 || !training || training->value.b ||
		f->has_others[node - f->graph->node] || !has_channels_last(node) || node->in[0].node != chain->last)
		return NULL;
	for (int i = 0; i < 4; i++) {
		DFG_TRY(channel_values(f, chain, node->in[i + 1], &value[i], out_done));
		if (!*out_done)
			return NULL;
	}
	for (int64_t c = 0; c < chain->channels; c++)
		value[3][c] = value[0][c] / sqrt(value[3][c] + (epsilon ? epsilon->value.f : 1e-4));
	shift_by(chain, value[2], -1);
	scale_by(chain, value[3], false);
	shift_by(chain, value[1], 1);
	return NULL;
}

/* Whether only output 0 of the node is read, by one node. */
static bool is_private(const struct folding *f, uint32_t n)
{
	return f->readers[n] == 1 && !f->kept[n];
}

/* Extends the chain by the reader of its last node. */
static struct dfg_err *extend(struct folding *f, struct chain *chain, bool *out_done)
{
	*out_done = false;
	if (!is_private(f, chain->last))
		return NULL;
	const uint32_t n = f->reader[chain->last];
	const struct dfg_node *node = &f->graph->node[n];
	if (!node->op || node->n_control)
		return NULL;
	*out_done = node->op->role == DFG_IDENTITY && node->n_in == 1 && f->readers[n] == 1 && !f->kept[n];
	if (!*out_done)
		DFG_TRY(add_binary(f, chain, node, out_done));
	if (!*out_done)
		DFG_TRY(add_norm(f, chain, node, out_done));
	if (*out_done) {
		chain->last = n;
		chain->length++;
	}
	return NULL;
}

/* The rank of the values of a product or convolution whose weights may be scaled; 0: the node is another op. */
static int product_rank(const struct dfg_node *node)
{
	const struct dfg_attr *type = dfg_node_attr(node, "T");
	const bool is_float = type && (type->value.dtype == DFG_F32 || type->value.dtype == DFG_F64);
	if (!node->op || !is_float || node->n_in != 2 || !has_channels_last(node))
		return 0;
	return is_op(node, "Conv2D", "DepthwiseConv2dNative") ? 4
		   : is_op(node, "Conv3D", NULL)                  ? 5
		   : is_op(node, "MatMul", NULL)                  ? 2
														  : 0;
}

/* How far apart the weights of one channel lie, and the number of channels. */
static int64_t channel_stride(const struct dfg_node *node, const struct dfg_tensor *weights, int64_t *out_channels)
{
	const struct dfg_attr *transposed = dfg_node_attr(node, "transpose_b");
	const struct dfg_shape *shape = &weights->shape;
	const int64_t last = shape->dim[shape->rank - 1];
	if (transposed && transposed->value.b) {
		*out_channels = shape->dim[0];
		return last;
	}
	*out_channels = is_op(node, "DepthwiseConv2dNative", NULL) ? last * shape->dim[shape->rank - 2] : last;
	return 1;
}

static void scale_weights(
	const struct chain *chain, int64_t stride, const struct dfg_tensor *from, struct dfg_tensor *to)
{
	for (int64_t i = 0, count = dfg_shape_count(&from->shape); i < count; i++) {
		const double value = element(from, i) * chain->scale[i / stride % chain->channels];
		if (to->dtype == DFG_F32)
			((float *)to->data)[i] = (float)value;
		else
			((double *)to->data)[i] = value;
	}
}

static struct dfg_err *add_constant(
	struct folding *f, uint32_t of, const char *suffix, const struct dfg_tensor *value, struct dfg_edge *out_edge)
{
	struct dfg_node node = {.op_name = "Const", .device = f->graph->node[of].device};
	const char *wanted = dfg_arena_path(f->graph->arena, f->graph->node[of].name, suffix);
	if (!wanted)
		return dfg_no_memory("the weights");
	DFG_TRY(dfg_names_unused(&f->names, f->graph, wanted, &node.name));
	out_edge->port = 0;
	DFG_TRY(dfg_graph_add(f->graph, &node, &out_edge->node));
	return dfg_become_constant(f->graph, out_edge->node, value);
}

static struct dfg_err *add_offset(
	struct folding *f, const struct chain *chain, enum dfg_dtype dtype, struct dfg_edge *out)
{
	struct dfg_tensor value;
	DFG_TRY(dfg_tensor_new(dtype, &DFG_SHAPE_VECTOR(chain->channels), &value));
	for (int64_t c = 0; c < chain->channels; c++)
		if (dtype == DFG_F32)
			((float *)value.data)[c] = (float)chain->offset[c];
		else
			((double *)value.data)[c] = chain->offset[c];
	struct dfg_err *err = add_constant(f, chain->last, "offset", &value, out);
	dfg_tensor_release(&value);
	return err;
}

/* The last node becomes the sum of the product and the offset. */
static struct dfg_err *finish(
	struct folding *f, const struct chain *chain, struct dfg_edge weights, enum dfg_dtype dtype)
{
	const struct dfg_attr attr[] = {{"T", DFG_ATTR_DTYPE, {.dtype = dtype}}};
	struct dfg_edge *in = dfg_arena_zeros(f->graph->arena, 2, sizeof *in);
	struct dfg_edge *of_first =
		dfg_arena_zeros(f->graph->arena, (size_t)2 + f->graph->node[chain->first].n_control, sizeof *in);
	if (!in || !of_first)
		return dfg_no_memory("the weights");
	DFG_TRY(add_offset(f, chain, dtype, &in[1]));
	in[0] = (struct dfg_edge){chain->first, 0};
	struct dfg_node *first = &f->graph->node[chain->first], *last = &f->graph->node[chain->last];
	memcpy(of_first, first->in, (2 + first->n_control) * sizeof *in);
	of_first[1] = weights;
	first->in = of_first;
	last->in = in;
	last->n_in = 2;
	return dfg_become_op(f->graph, chain->last, "AddV2", attr, 1);
}

static struct dfg_err *rewrite(
	struct folding *f, const struct chain *chain, int64_t stride, const struct dfg_tensor *weights)
{
	struct dfg_tensor scaled;
	struct dfg_edge edge;
	DFG_TRY(dfg_tensor_new(weights->dtype, &weights->shape, &scaled));
	scale_weights(chain, stride, weights, &scaled);
	struct dfg_err *err = add_constant(f, chain->first, "weights", &scaled, &edge);
	dfg_tensor_release(&scaled);
	if (!err)
		err = finish(f, chain, edge, weights->dtype);
	f->weights++;
	f->removed += chain->length - 1;
	return err;
}

static struct dfg_err *fold_into(struct folding *f, uint32_t n, const struct dfg_tensor *weights)
{
	struct chain chain = {.rank = product_rank(&f->graph->node[n]), .first = n, .last = n};
	const int64_t stride = channel_stride(&f->graph->node[n], weights, &chain.channels);
	bool more = true;
	chain.scale = dfg_arena_zeros(f->scratch, (size_t)chain.channels + 1, sizeof *chain.scale);
	chain.offset = dfg_arena_zeros(f->scratch, (size_t)chain.channels + 1, sizeof *chain.offset);
	if (!chain.scale || !chain.offset)
		return dfg_no_memory("the weights");
	for (int64_t c = 0; c < chain.channels; c++)
		chain.scale[c] = 1;
	while (more)
		DFG_TRY(extend(f, &chain, &more));
	return chain.scales ? rewrite(f, &chain, stride, weights) : NULL;
}

static struct dfg_err *fold_node(struct folding *f, uint32_t n)
{
	const struct dfg_node *node = &f->graph->node[n];
	struct dfg_tensor weights;
	if (!product_rank(node) || !is_private(f, n))
		return NULL;
	DFG_TRY(value_of(f, node->in[1], 0, &weights));
	struct dfg_err *err = NULL;
	if (weights.dtype && dfg_shape_count(&weights.shape))
		err = fold_into(f, n, &weights);
	dfg_tensor_release(&weights);
	return err;
}

static void count_readers(struct folding *f, const struct dfg_keep *keep)
{
	for (uint32_t n = 0; n < f->graph->count; n++)
		for (uint32_t e = 0; e < f->graph->node[n].n_in; e++) {
			const struct dfg_edge edge = f->graph->node[n].in[e];
			f->readers[edge.node]++;
			f->has_others[edge.node] |= edge.port > 0;
			f->reader[edge.node] = n;
		}
	for (uint32_t i = 0; i < keep->n_feed; i++)
		f->kept[keep->feed[i].node] = true;
	for (uint32_t i = 0; i < keep->n_fetch; i++) {
		f->kept[keep->fetch[i].node] = true;
		f->has_others[keep->fetch[i].node] |= keep->fetch[i].port > 0;
	}
}

struct dfg_err *dfg_fold_batch_norms(
	struct dfg_graph *graph, struct dfg_keep *keep, struct dfg_arena *scratch, struct dfg_text *report)
{
	const size_t count = (size_t)graph->count + 1;
	struct folding f = {
		.graph = graph,
		.scratch = scratch,
		.has_others = dfg_arena_zeros(scratch, count, sizeof *f.has_others),
		.kept = dfg_arena_zeros(scratch, count, sizeof *f.kept),
		.readers = dfg_arena_zeros(scratch, count, sizeof *f.readers),
		.reader = dfg_arena_zeros(scratch, count, sizeof *f.reader),
	};
	struct dfg_err *err = f.has_others && f.kept && f.readers && f.reader ? NULL : dfg_no_memory("the nodes");
	if (!err)
		count_readers(&f, keep);
	for (uint32_t n = 0, before = graph->count; !err && n < before; n++)
		err = fold_node(&f, n);
	dfg_names_release(&f.names);
	dfg_text_add(report, "batch-norm: scaled %u weight%s, which removed %u operation%s\n", f.weights,
		dfg_plural(f.weights), f.removed, dfg_plural(f.removed));
	return err;
}
