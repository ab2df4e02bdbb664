/* tensorflow_refuse. Requires: a graph that verify accepts. Result: an error if no rewriting lets TensorFlow run it. */
#include "lib/pass/rewrite/tensorflow_private.h"

#include "lib/graph/liveness.h"

#include <string.h>

/* The output that a handle comes from, followed through branches, into loops, and out of them through Save and Load. */
static struct dfg_edge handle_source(const struct dfg_graph *graph, struct dfg_edge edge)
{
	for (;;) {
		edge = dfg_live_source(graph, edge);
		const struct dfg_node *node = &graph->node[edge.node];
		if (dfg_node_role(node) != DFG_LOAD)
			return edge;
		edge = graph->node[node->in[0].node].in[0];
	}
}

/*
 * In TensorFlow only a forward array has gradient arrays. kernels/tensor_array_gradient.c makes one of a gradient
 * array only if the elements of the forward array may be read repeatedly, because TensorFlow's gradient arrays allow each
 * element to be read once.
 */
static struct dfg_err *refuse_gradient_of_gradient(const struct dfg_graph *graph, const struct dfg_node *node)
{
	if (!dfg_node_means(node, DFG_MEANS_GRADIENT_ARRAY))
		return NULL;
	const struct dfg_node *array = &graph->node[handle_source(graph, node->in[0]).node];
	if (!dfg_node_means(array, DFG_MEANS_GRADIENT_ARRAY))
		return NULL;
	return DFG_ERR(DFG_DATA,
		"node '%.200s' (%.100s): TensorFlow cannot make a gradient array of the gradient array '%.200s'; if no "
		"element of the forward array is read twice, set clear_after_read = true and differentiate again",
		node->name, node->op_name, array->name);
}

struct dfg_err *dfg_tensorflow_refuse(const struct dfg_graph *graph)
{
	for (uint32_t n = 0; n < graph->count; n++) {
		const struct dfg_node *node = &graph->node[n];
		enum dfg_role role = dfg_node_role(node);
		if (role != DFG_SAVE && role != DFG_LOAD &&
			(!strncmp(node->op_name, "Dfg>", 4) || !strncmp(node->op_name, "Onnx>", 5)))
			return DFG_ERR(
				DFG_DATA, "node '%.200s' (%.100s): TensorFlow has no equivalent of this op", node->name, node->op_name);
		DFG_TRY(refuse_gradient_of_gradient(graph, node));
	}
	return NULL;
}
