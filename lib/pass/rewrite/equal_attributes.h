#pragma once

#include "lib/graph/graph.h"

/*
 * Whether two values of the kind are equal; tensors are compared bit by bit. Values that cannot be compared are
 * unequal.
 */
bool dfg_value_same(enum dfg_attr_kind kind, const union dfg_value *a, const union dfg_value *b);

/* Whether two nodes have equal attributes, apart from those whose names begin with '_'. */
bool dfg_attrs_same(const struct dfg_node *a, const struct dfg_node *b);

/* A hash of the attributes that dfg_attrs_same compares; equal for equal attributes. */
uint64_t dfg_attrs_hash(const struct dfg_node *node);
