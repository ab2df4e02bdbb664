#include "app/serving/serving_private.h"

/*
 * The web server's thread must not be held up, so a step is quick only if earlier ones that were fed with as many bytes
 * took a few microseconds, and if nothing but the shapes of its inputs can make it take longer: it has no loop, no op that
 * waits or that has effects, and each shape in it is known, or the rows of its outputs are independent, in which case no
 * value decides a shape.
 */
static const uint64_t QUICK_NS = 10000, SLOW_NS = 100000;

static bool is_bounded_node(const struct dfg_node *node)
{
	switch (dfg_node_role(node)) {
	case DFG_VARIABLE:
	case DFG_READ:
		return true;
	case DFG_ENTER:
	case DFG_SLEEP:
	case DFG_CALL:
		return false;
	default:
		return node->op && !(node->op->flags & (DFG_STATEFUL | DFG_BLOCKING));
	}
}

static bool is_static(const struct dfg_shape *shape)
{
	for (int axis = 0; axis < shape->rank; axis++)
		if (shape->dim[axis] < 0)
			return false;
	return shape->rank >= 0;
}

void dfg_quick_find(struct dfg_live_model *live, struct dfg_serving_port *out, const uint32_t *seen, uint32_t walk)
{
	const struct dfg_graph *graph = &live->run.model.file.graph;
	out->is_bounded = out->dtype != DFG_STRING;
	out->is_static = is_static(&out->shape);
	for (uint32_t n = 0; n < graph->count && out->is_bounded; n++) {
		const struct dfg_node *node = &graph->node[n];
		if (seen[n] != walk)
			continue;
		out->is_bounded = is_bounded_node(node);
		for (uint32_t i = 0; i < node->n_in && out->is_bounded; i++) {
			const struct dfg_inferred *fact = dfg_model_fact(&live->run.model, node->in[i]);
			out->is_bounded = fact->dtype != DFG_STRING;
			out->is_static &= is_static(&fact->shape);
		}
	}
}

void dfg_quick_prepare(struct dfg_serving_job *job)
{
	size_t bytes = 0;
	for (uint32_t k = 0; k < job->n_output; k++) {
		const struct dfg_serving_port *out = &job->live->out[job->output[k]];
		if (!out->is_bounded || !(out->is_static || out->verdict->kind != DFG_ROWS_MIXED))
			return;
	}
	for (uint32_t i = 0; i < job->live->n_in; i++)
		if (job->needed[i])
			bytes += dfg_tensor_bytes(&job->feed[i]);
	job->bounded_bytes = job->stream ? 0 : bytes;
}

void dfg_quick_learn(struct dfg_live_model *live, size_t bytes, uint64_t ns)
{
	size_t known = atomic_load(&live->quick);
	if (ns < QUICK_NS && bytes > known)
		atomic_store(&live->quick, bytes);
	else if (ns > SLOW_NS && bytes <= known)
		atomic_store(&live->quick, 0);
}

int64_t dfg_quick_rows(const struct dfg_serving_job *first)
{
	const struct dfg_serving_options *options = &first->served->serving->options;
	size_t quick = atomic_load(&first->live->quick), most = (size_t)options->most_batch;
	if (!first->bounded_bytes || first->bounded_bytes > quick || options->stateful)
		return 0;
	size_t rows = quick / first->bounded_bytes * (size_t)(first->rows ? first->rows : 1);
	return (int64_t)(rows < most ? rows : most);
}
