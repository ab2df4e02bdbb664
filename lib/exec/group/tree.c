#include "lib/exec/group/tree.h"

#include "lib/exec/group/adasum.h"

static uint32_t left_of(uint32_t count)
{
	uint32_t left = 1;
	while (left < count - left)
		left *= 2;
	return left;
}

void dfg_tree_children(struct dfg_tree_node node, struct dfg_tree_node out_child[2])
{
	uint32_t left = left_of(node.count);
	out_child[0] = (struct dfg_tree_node){node.first, left};
	out_child[1] = (struct dfg_tree_node){node.first + left, node.count - left};
}

struct dfg_tree_node dfg_tree_sibling(uint32_t shards, struct dfg_tree_node node, struct dfg_tree_node *out_parent)
{
	struct dfg_tree_node at = {0, shards};
	for (;;) {
		struct dfg_tree_node half[2];
		dfg_tree_children(at, half);
		bool is_first = node.first < half[1].first;
		struct dfg_tree_node child = half[!is_first];
		if (child.first == node.first && child.count <= node.count) {
			*out_parent = at;
			return half[is_first];
		}
		at = child;
	}
}

uint32_t dfg_tree_cover(uint32_t shards, uint32_t first, uint32_t count, struct dfg_tree_node *out_node)
{
	uint32_t nodes = 0, end = first + count;
	while (first < end) {
		struct dfg_tree_node node = {first, 1}, parent;
		while (node.count < shards) {
			(void)dfg_tree_sibling(shards, node, &parent);
			if (parent.first < first || parent.first + parent.count > end)
				break;
			node = parent;
		}
		if (out_node)
			out_node[nodes] = node;
		first += node.count;
		nodes++;
	}
	return nodes;
}

static void drop_spares(struct dfg_tree_sum *sum)
{
	while (sum->spares)
		dfg_buffer_unref(sum->spare[--sum->spares]);
}

/* A buffer that another holder still reads is not used again, nor are more than a step can need at once. */
void dfg_tree_sum_give(struct dfg_tree_sum *sum, struct dfg_buffer *buffer)
{
	bool alone = buffer && !sum->by_rows && atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1 &&
				 buffer->capacity >= sum->count * dfg_dtype_size(sum->dtype);
	if (alone && sum->spares <= sum->shards &&
		dfg_reserve(&sum->spare, &sum->spare_capacity, sum->spares + 1, sizeof(struct dfg_buffer *)))
		sum->spare[sum->spares++] = buffer;
	else
		dfg_buffer_unref(buffer);
}

void dfg_tree_sum_begin(struct dfg_tree_sum *sum, uint32_t shards, enum dfg_dtype dtype, size_t count)
{
	while (sum->partials)
		dfg_tree_sum_give(sum, sum->partial[--sum->partials].value);
	if (sum->dtype != dtype || sum->count != count)
		drop_spares(sum);
	sum->shards = shards;
	sum->dtype = dtype;
	sum->count = count;
	sum->by_rows = false;
	sum->tensor = NULL;
}

void dfg_tree_sum_by_rows(struct dfg_tree_sum *sum, size_t width)
{
	drop_spares(sum);
	sum->by_rows = true;
	sum->width = width;
}

void dfg_tree_sum_by_adasum(struct dfg_tree_sum *sum, const size_t *tensor, uint32_t tensors)
{
	sum->tensor = tensor;
	sum->tensors = tensors;
}

void dfg_tree_sum_release(struct dfg_tree_sum *sum)
{
	dfg_tree_sum_begin(sum, 0, sum->dtype, sum->count);
	drop_spares(sum);
	dfg_free(sum->partial);
	dfg_free(sum->spare);
	*sum = (struct dfg_tree_sum){0};
}

struct dfg_err *dfg_tree_sum_buffer(struct dfg_tree_sum *sum, struct dfg_buffer **out_buffer)
{
	size_t bytes;
	if (sum->spares) {
		*out_buffer = sum->spare[--sum->spares];
		return NULL;
	}
	if (__builtin_mul_overflow(sum->count, dfg_dtype_size(sum->dtype), &bytes))
		return DFG_ERR(DFG_MEMORY, "no memory for a contribution of %zu elements", sum->count);
	return dfg_buffer_new(sum->dtype, bytes, out_buffer);
}

static void add_f32(size_t n, float *restrict to, const float *restrict from)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

static void add_f64(size_t n, double *restrict to, const double *restrict from)
{
	for (size_t i = 0; i < n; i++)
		to[i] += from[i];
}

void dfg_tree_add(enum dfg_dtype dtype, size_t count, void *to, const void *from)
{
	if (dtype == DFG_F64)
		add_f64(count, to, from);
	else
		add_f32(count, to, from);
}

static void add_adasum(const struct dfg_tree_sum *sum, char *to, const char *from)
{
	const size_t size = dfg_dtype_size(sum->dtype);
	for (uint32_t i = 0; i < sum->tensors; i++) {
		const size_t first = sum->tensor[i];
		dfg_adasum(sum->dtype, sum->tensor[i + 1] - first, to + first * size, from + first * size);
	}
}

/* left + right: dense ones in left's buffer. Takes both. */
static struct dfg_err *add_values(
	struct dfg_tree_sum *sum, struct dfg_buffer *left, struct dfg_buffer *right, struct dfg_buffer **out_sum)
{
	const struct dfg_row_type type = {.dtype = sum->dtype, .width = sum->width};
	*out_sum = left ? left : right;
	if (!left || !right)
		return NULL;
	if (sum->by_rows)
		return dfg_row_set_add(&type, left, right, out_sum);
	if (sum->tensor)
		add_adasum(sum, left->data, right->data);
	else
		dfg_tree_add(sum->dtype, sum->count, left->data, right->data);
	dfg_tree_sum_give(sum, right);
	return NULL;
}

static bool take_partial(struct dfg_tree_sum *sum, struct dfg_tree_node node, struct dfg_buffer **out_value)
{
	for (size_t i = 0; i < sum->partials; i++) {
		struct dfg_partial *partial = &sum->partial[i];
		if (partial->node.first != node.first || partial->node.count != node.count)
			continue;
		*out_value = partial->value;
		*partial = sum->partial[--sum->partials];
		return true;
	}
	return false;
}

static bool overlaps(const struct dfg_tree_sum *sum, struct dfg_tree_node node)
{
	for (size_t i = 0; i < sum->partials; i++) {
		struct dfg_tree_node other = sum->partial[i].node;
		if (node.first < other.first + other.count && other.first < node.first + node.count)
			return true;
	}
	return false;
}

struct dfg_err *dfg_tree_sum_add(struct dfg_tree_sum *sum, struct dfg_tree_node node, struct dfg_buffer *value)
{
	if (overlaps(sum, node)) {
		dfg_buffer_unref(value);
		return DFG_ERR(DFG_BUG, "shard %u contributes twice", node.first);
	}
	if (!dfg_reserve(&sum->partial, &sum->capacity, sum->partials + 1, sizeof *sum->partial)) {
		dfg_buffer_unref(value);
		return dfg_no_memory("a sum over shards");
	}
	while (node.count < sum->shards) {
		struct dfg_tree_node parent, sibling = dfg_tree_sibling(sum->shards, node, &parent);
		struct dfg_buffer *other;
		if (!take_partial(sum, sibling, &other))
			break;
		bool is_right = sibling.first < node.first;
		DFG_TRY(add_values(sum, is_right ? other : value, is_right ? value : other, &value));
		node = parent;
	}
	sum->partial[sum->partials++] = (struct dfg_partial){node, value};
	return NULL;
}

bool dfg_tree_sum_complete(const struct dfg_tree_sum *sum)
{
	return sum->partials == 1 && sum->partial[0].node.count == sum->shards;
}

struct dfg_buffer *dfg_tree_sum_take(struct dfg_tree_sum *sum)
{
	struct dfg_buffer *value = sum->partial[0].value;
	sum->partial[0].value = NULL;
	return value;
}

uint32_t dfg_tree_sum_missing(const struct dfg_tree_sum *sum)
{
	uint32_t shard = 0;
	for (bool found = true; found;) {
		found = false;
		for (size_t i = 0; i < sum->partials && !found; i++) {
			struct dfg_tree_node node = sum->partial[i].node;
			found = shard >= node.first && shard < node.first + node.count;
			shard = found ? node.first + node.count : shard;
		}
	}
	return shard;
}
