/* cost. Estimates of the time of a node and of a transfer, from shapes: no op is known by its name. */
#include "lib/pass/place/place_private.h"

#include <math.h>

/*
 * For one core, measured on an EPYC of 2021 with AVX2: a product of two scalars in a step took 0.1 us; a product of 64
 * MB tensors moved 15 GB/s, a tanh 4.6 GB/s; products did 52 GFLOP/s for [64,1024] by [1024,2048] and 68 for square
 * matrices.
 */
#define DISPATCH 1e-7
#define BYTES_A_SECOND 1e10
#define FLOPS_A_SECOND 6e10
enum { UNKNOWN = 32 }; /* an unknown dimension: usually the batch */

static double elements_of(const struct dfg_shape *shape)
{
	double count = 1;
	for (int i = 0; i < shape->rank; i++)
		count *= shape->dim[i] < 0 ? UNKNOWN : (double)shape->dim[i];
	return shape->rank < 0 ? UNKNOWN : count;
}

static double bytes_of(const struct dfg_inferred *fact)
{
	return elements_of(&fact->shape) * (double)dfg_dtype_size(fact->dtype);
}

double dfg_place_bytes(const struct dfg_placing *p, uint32_t n)
{
	double bytes = 0;
	for (uint32_t o = 0; o < dfg_facts_outputs(p->facts, n); o++)
		bytes += bytes_of(dfg_facts_of(p->facts, (struct dfg_edge){n, (int32_t)o}));
	return bytes;
}

/*
 * For a matrix product [m,k] by [k,n], the square root of |a| |b| |c| is m k n, the number of multiplications; for a
 * convolution it is that number without the window.
 */
static double multiplications(const struct dfg_placing *p, uint32_t n)
{
	const struct dfg_node *node = &p->graph->node[n];
	double product = 1;
	for (uint32_t o = 0; o < dfg_facts_outputs(p->facts, n); o++)
		product *= elements_of(&dfg_facts_of(p->facts, (struct dfg_edge){n, (int32_t)o})->shape);
	for (uint32_t e = 0; e < node->n_in; e++)
		if ((uint32_t)node->in[e].port < dfg_facts_outputs(p->facts, node->in[e].node))
			product *= elements_of(&dfg_facts_of(p->facts, node->in[e])->shape);
	return sqrt(product);
}

double dfg_place_cost(const struct dfg_placing *p, uint32_t n, double bytes_moved)
{
	const struct dfg_node *node = &p->graph->node[n];
	if (dfg_node_role(node) != DFG_PLAIN)
		return DISPATCH;
	double seconds = DISPATCH + bytes_moved / BYTES_A_SECOND;
	if (node->op && node->op->flags & DFG_EXPENSIVE)
		seconds += 2 * multiplications(p, n) / FLOPS_A_SECOND;
	return seconds;
}
