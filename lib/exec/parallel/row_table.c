#include "lib/exec/parallel/row_table.h"

#include "lib/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK = 65536 };

static void widen(const struct dfg_loop_access *access, int64_t n, uint32_t k, int64_t *least, int64_t *most)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t v = access->key[k][i];
		*least = v < *least ? v : *least;
		*most = v > *most ? v : *most;
	}
}

/* Gives subscript k its range over all accesses, and its factor, which is the number of keys before; 0: it does not fit. */
static void measure(
	const struct dfg_loop_iterations *loop, uint32_t array, uint32_t k, struct dfg_row_table *table, uint64_t *product)
{
	int64_t least = INT64_MAX, most = INT64_MIN;
	for (uint32_t a = 0; a < loop->n_access; a++)
		if (loop->access[a].array == array)
			widen(&loop->access[a], loop->n, k, &least, &most);
	uint64_t width = most < least ? 1 : (uint64_t)most - (uint64_t)least + 1;
	table->least[k] = most < least ? 0 : least;
	table->stride[k] = *product;
	if (__builtin_mul_overflow(*product, width, product))
		*product = 0;
}

static uint32_t count_accesses(const struct dfg_loop_iterations *loop, uint32_t array, uint32_t *out_keys)
{
	uint32_t count = 0;
	for (uint32_t a = 0; a < loop->n_access; a++)
		if (loop->access[a].array == array) {
			*out_keys = loop->access[a].n_key;
			count++;
		}
	return count;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Replaces the values of all vectors by their places in the order of distinct values. Returns how many these are. */
static int64_t rank_values(int64_t **vector, uint32_t vectors, int64_t n, int64_t *all)
{
	int64_t count = 0, distinct = 0;
	for (uint32_t a = 0; a < vectors; a++)
		for (int64_t i = 0; vector[a] && i < n; i++)
			all[count++] = vector[a][i];
	qsort(all, (size_t)count, sizeof *all, by_value);
	for (int64_t i = 0; i < count; i++)
		if (!i || all[i] != all[distinct - 1])
			all[distinct++] = all[i];
	for (uint32_t a = 0; a < vectors; a++)
		for (int64_t i = 0; vector[a] && i < n; i++)
			vector[a][i] = (int64_t *)bsearch(&vector[a][i], all, (size_t)distinct, sizeof *all, by_value) - all;
	return distinct;
}

/* Numbers the rows by the order of their keys, one subscript after another. part and all are scratch memory. */
static int64_t number_rows(struct dfg_row_table *table, uint32_t array, int64_t **part, int64_t *all)
{
	const struct dfg_loop_iterations *loop = table->loop;
	int64_t rows = 1;
	for (uint32_t k = 0; k < table->n_key; k++) {
		for (uint32_t a = 0; a < loop->n_access; a++)
			if (loop->access[a].array == array)
				memcpy(part[a], loop->access[a].key[k], (size_t)loop->n * sizeof **part);
		int64_t width = rank_values(part, loop->n_access, loop->n, all);
		for (uint32_t a = 0; a < loop->n_access; a++)
			for (int64_t i = 0; part[a] && i < loop->n; i++)
				table->number[a][i] = table->number[a][i] * width + part[a][i];
		rows = rank_values(table->number, loop->n_access, loop->n, all);
	}
	return rows;
}

/* For keys that do not fit a number. Both factors of a product are less than 2^31. */
static struct dfg_err *number_by_order(struct dfg_row_table *table, uint32_t array, uint64_t uses, uint64_t *out_rows)
{
	const struct dfg_loop_iterations *loop = table->loop;
	int64_t **part = dfg_zeros(loop->n_access + 1, sizeof *part), *all = dfg_zeros(uses + 1, sizeof *all);
	bool fits = part && all && (table->number = dfg_zeros(loop->n_access + 1, sizeof *table->number));
	for (uint32_t a = 0; fits && a < loop->n_access; a++)
		if (loop->access[a].array == array) {
			table->number[a] = dfg_zeros((size_t)loop->n + 1, sizeof **part);
			part[a] = dfg_zeros((size_t)loop->n + 1, sizeof **part);
			fits = table->number[a] && part[a];
		}
	if (fits)
		*out_rows = (uint64_t)number_rows(table, array, part, all);
	for (uint32_t a = 0; part && a < loop->n_access; a++)
		dfg_free(part[a]);
	dfg_free(part);
	dfg_free(all);
	return fits ? NULL : dfg_no_memory("the rows that a parallel loop accesses");
}

struct dfg_err *dfg_row_table_init(const struct dfg_loop_iterations *loop, uint32_t array, struct dfg_row_table *table)
{
	uint64_t product = 1;
	*table = (struct dfg_row_table){.loop = loop};
	uint64_t uses = (uint64_t)loop->n * count_accesses(loop, array, &table->n_key);
	table->least = dfg_zeros(table->n_key + 1, sizeof *table->least);
	table->stride = dfg_zeros(table->n_key + 1, sizeof *table->stride);
	if (!table->least || !table->stride)
		return dfg_no_memory("the rows that a parallel loop accesses");
	if (uses > INT32_MAX)
		return DFG_ERR(DFG_DATA, "the iterations access more than %d rows of an array", INT32_MAX);
	for (uint32_t k = 0; k < table->n_key; k++)
		measure(loop, array, k, table, &product);
	if (!product)
		DFG_TRY(number_by_order(table, array, uses, &product));
	table->is_hashed = product > 2 * uses + SLACK;
	table->slots = table->is_hashed ? 16 : product;
	while (table->is_hashed && table->slots < 2 * uses)
		table->slots *= 2;
	table->use = dfg_zeros(table->slots + 1, sizeof *table->use);
	return table->use ? NULL : dfg_no_memory("the rows that a parallel loop accesses");
}

void dfg_row_table_release(struct dfg_row_table *table)
{
	for (uint32_t a = 0; table->number && a < table->loop->n_access; a++)
		dfg_free(table->number[a]);
	dfg_free(table->number);
	dfg_free(table->use);
	dfg_free(table->least);
	dfg_free(table->stride);
	*table = (struct dfg_row_table){0};
}

static uint64_t slot_of(const struct dfg_row_table *table, uint64_t number)
{
	uint64_t mask = table->slots - 1, at = (number * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & mask;
	int64_t tag = (int64_t)(number + 1);
	while (table->use[at].tag && table->use[at].tag != tag)
		at = (at + 1) & mask;
	return at;
}

struct dfg_row_use *dfg_row_table_find(
	struct dfg_row_table *table, const struct dfg_loop_access *access, int64_t iteration, int32_t clock)
{
	uint64_t number = table->number ? (uint64_t)table->number[access - table->loop->access][iteration] : 0;
	for (uint32_t k = 0; !table->number && k < table->n_key; k++)
		number += ((uint64_t)access->key[k][iteration] - (uint64_t)table->least[k]) * table->stride[k];
	struct dfg_row_use *use = &table->use[table->is_hashed ? slot_of(table, number) : number];
	if (!use->tag || use->clock != clock)
		*use = (struct dfg_row_use){
			.tag = (int64_t)(number + 1), .clock = clock, .read = -1, .write = -1, .block = -1, .iteration = -1};
	return use;
}
