#include "lib/pass/rewrite/equal_attributes.h"

#include "lib/base/hash.h"

#include <string.h>

static bool same_literal(const struct dfg_literal *a, const struct dfg_literal *b)
{
	if (a == b)
		return true;
	if (a->dtype != b->dtype || !dfg_shape_equal(&a->shape, &b->shape) || a->given != b->given)
		return false;
	if (a->dtype != DFG_STRING)
		return !a->given || !memcmp(a->data, b->data, dfg_literal_bytes(a));
	const struct dfg_string *s = a->data, *t = b->data;
	for (int64_t i = 0; i < a->given; i++)
		if (s[i].length != t[i].length || memcmp(s[i].s, t[i].s, s[i].length))
			return false;
	return true;
}

static bool same_list(const struct dfg_list *a, const struct dfg_list *b)
{
	if (a->count != b->count || (a->count && a->kind != b->kind) || a->kind == DFG_ATTR_LIST)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!dfg_value_same(a->kind, &a->item[i], &b->item[i]))
			return false;
	return true;
}

bool dfg_value_same(enum dfg_attr_kind kind, const union dfg_value *a, const union dfg_value *b)
{
	switch (kind) {
	case DFG_ATTR_STRING:
		return a->s.length == b->s.length && !memcmp(a->s.s, b->s.s, a->s.length);
	case DFG_ATTR_INT:
		return a->i == b->i;
	case DFG_ATTR_FLOAT:
		return !memcmp(&a->f, &b->f, sizeof a->f);
	case DFG_ATTR_BOOL:
		return a->b == b->b;
	case DFG_ATTR_DTYPE:
		return a->dtype == b->dtype;
	case DFG_ATTR_SHAPE:
		return dfg_shape_equal(a->shape, b->shape);
	case DFG_ATTR_TENSOR:
		return same_literal(a->tensor, b->tensor);
	case DFG_ATTR_LIST:
		return same_list(a->list, b->list);
	default:
		return false;
	}
}

/*
 * Skips attributes whose names begin with '_'. Attributes are in byte order of their names, so these are in the middle.
 */
static uint32_t next_attr(const struct dfg_node *node, uint32_t i)
{
	while (i < node->n_attr && node->attr[i].name[0] == '_')
		i++;
	return i;
}

bool dfg_attrs_same(const struct dfg_node *a, const struct dfg_node *b)
{
	uint32_t i = next_attr(a, 0), j = next_attr(b, 0);
	for (; i < a->n_attr && j < b->n_attr; i = next_attr(a, i + 1), j = next_attr(b, j + 1))
		if (a->attr[i].kind != b->attr[j].kind || strcmp(a->attr[i].name, b->attr[j].name) ||
			!dfg_value_same(a->attr[i].kind, &a->attr[i].value, &b->attr[j].value))
			return false;
	return i == a->n_attr && j == b->n_attr;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return dfg_hash_word(dfg_hash_key, hash, value);
}

/* Hashes the whole value: with a prefix only, constants with a common prefix would all be compared pairwise. */
static uint64_t hash_literal(const struct dfg_literal *literal)
{
	uint64_t hash = mix((uint64_t)literal->dtype, (uint64_t)literal->given);
	size_t bytes = dfg_literal_bytes(literal);
	if (literal->dtype == DFG_STRING || !bytes)
		return hash;
	return mix(hash, dfg_hash_bytes(dfg_hash_key, literal->data, bytes));
}

static uint64_t hash_value(enum dfg_attr_kind kind, const union dfg_value *value)
{
	switch (kind) {
	case DFG_ATTR_STRING:
		return dfg_hash_bytes(dfg_hash_key, value->s.s, value->s.length);
	case DFG_ATTR_INT:
		return (uint64_t)value->i;
	case DFG_ATTR_BOOL:
		return value->b;
	case DFG_ATTR_DTYPE:
		return (uint64_t)value->dtype;
	case DFG_ATTR_TENSOR:
		return hash_literal(value->tensor);
	default:
		return (uint64_t)kind;
	}
}

uint64_t dfg_attrs_hash(const struct dfg_node *node)
{
	uint64_t hash = dfg_hash_key.seed;
	for (uint32_t i = next_attr(node, 0); i < node->n_attr; i = next_attr(node, i + 1))
		hash = mix(hash, hash_value(node->attr[i].kind, &node->attr[i].value));
	return hash;
}
