#pragma once

#include "kernels/protobuf.h"
#include "lib/graph/kernel.h"

/*
 * The features of tensorflow.Example and tensorflow.SequenceExample messages: by key, a list of floats, of i64 or of strings.
 * A column is what all examples of a batch have for one key. The semantics are those of TensorFlow
 * (core/util/example_proto_fast_parsing.cc).
 */

/* The number of values of a feature, or: */
enum {
	DFG_FEATURE_DAMAGED = -1,
	DFG_FEATURE_OTHER = -2,  /* it has another type */
	DFG_FEATURE_MISSING = -3 /* it has no type */
};

/* Reads the values of a Feature message as f32, i64 or borrowed strings into `out`, which may be NULL. */
int64_t dfg_feature_values(struct dfg_string feature, enum dfg_dtype dtype, void *out);

/* Where the columns of one kind of features are among the inputs and outputs of an op; each port is the first of its list. */
struct dfg_feature_columns {
	int sparse, dense, ragged;           /* numbers of columns of each form */
	int indices, values, shapes;         /* outputs of sparse columns; */
	int dense_values;                    /* of dense ones; */
	int ragged_values, ragged_splits;    /* of ragged ones */
	int defaults;                        /* inputs: the defaults of dense columns */
	const struct dfg_list *dense_shapes; /* of one example; the first dimension may be unknown */
	bool fixed;                          /* it may not */
	int first_key;                       /* the keys of columns: sparse ones, dense ones, ragged ones */
};

/* A batch of messages with their features by key. */
struct dfg_examples {
	const struct dfg_string *message;
	int64_t count;
	bool single; /* one message, whose outputs have no dimension of the batch */
	int keys;
	struct dfg_string *key;
	struct dfg_string *found; /* by message and key: a Feature or a FeatureList; s NULL: there is none */
	uint32_t *slot;           /* hash table of the keys: number + 1 */
	size_t slots;
};

/* Prepares the batch in input i for that many keys, which the caller sets. */
DFG_MUST_CHECK struct dfg_err *dfg_examples_new(
	struct dfg_kernel *ctx, int i, int keys, struct dfg_examples *out_examples);

/* Appends keys to those from number `first` on: a vector of them in input i. */
DFG_MUST_CHECK struct dfg_err *dfg_examples_keys(
	struct dfg_kernel *ctx, int i, int expected, struct dfg_examples *examples, int first);

/*
 * Finds the features of keys [first, end) in the map that field `field` of each message is. DFG_DATA if a message is damaged
 * or a key is there twice.
 */
DFG_MUST_CHECK struct dfg_err *dfg_examples_find(struct dfg_examples *examples, int field, int first, int end);

/* Shapes of the columns' outputs, by the messages in input i; DFG_DATA if defaults do not fit the dense shapes. */
DFG_MUST_CHECK struct dfg_err *dfg_columns_infer(
	struct dfg_infer *node, const struct dfg_feature_columns *columns, int i);

/* Sets the outputs of the columns. */
DFG_MUST_CHECK struct dfg_err *dfg_columns_give(
	struct dfg_kernel *ctx, const struct dfg_feature_columns *columns, const struct dfg_examples *examples);

/* [batch] + shape, where a single message has no batch; DFG_DATA if there are too many dimensions. */
DFG_MUST_CHECK struct dfg_err *dfg_examples_shape(
	const struct dfg_shape *batch, const struct dfg_shape *shape, struct dfg_shape *out_shape);

/* The error for a feature with a negative number of values, or NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_feature_check(
	const struct dfg_examples *examples, int64_t example, int key, enum dfg_dtype dtype, int64_t count);

static inline struct dfg_string dfg_examples_at(const struct dfg_examples *examples, int64_t example, int key)
{
	return examples->found[example * examples->keys + key];
}

/* The words of a key in a message of at most this length. */
#define DFG_KEY_WORDS(examples, number) \
	(int)((examples)->key[number].length < 80 ? (examples)->key[number].length : 80), (examples)->key[number].s
