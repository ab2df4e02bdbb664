#pragma once

#include "lib/graph/graph.h"

/* Whether two values of a kind mean the same, down to the bits of tensors; what is not understood is not the same. */
bool dfg_value_same(enum dfg_attr_kind kind, const union dfg_value *a, const union dfg_value *b);

/* Whether two nodes have the same attributes; those that begin with '_' do not count. */
bool dfg_attrs_same(const struct dfg_node *a, const struct dfg_node *b);

/* Equal for values that are the same. */
uint64_t dfg_attrs_hash(const struct dfg_node *node);
