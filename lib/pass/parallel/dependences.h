#pragma once

#include "lib/graph/facts.h"
#include "lib/graph/loops.h"

/*
 * How the iterations of parallel loops depend on each other, and how they may be distributed. A loop is parallel by marks
 * on its LoopCond: `_dfg_parallel`, "ordered" or "unordered", and the ints `_dfg_clock` and `_dfg_batch`. The Identity of a
 * delta has `_dfg_buffer`, the staleness of the variable that it updates. All lengths are in elements of the array before.
 *
 * A coordinate is a function of the iteration alone: a counter, which is a digit of the iteration's number in a product of
 * ranges, or an element of a tensor that the loop does not change, at counters. Two accesses to a variable, at least one of
 * them a write, depend on each other in the iterations whose coordinates differ by one of the loop's distance vectors.
 */

enum dfg_subscript_kind {
	DFG_SUBSCRIPT_ANY,
	DFG_SUBSCRIPT_CONSTANT,
	DFG_SUBSCRIPT_COORDINATE, /* a coordinate + a constant */
};

struct dfg_subscript {
	enum dfg_subscript_kind kind;
	uint32_t coordinate;    /* of a COORDINATE */
	int64_t offset;         /* the constant */
	struct dfg_edge symbol; /* a scalar that is added and that the loop does not change; .node DFG_NONE: none */
};

/* A product of a constant and of positive scalars that the loop does not change. */
enum { DFG_RADIX_FACTORS = 6, DFG_CUTS_MOST = 8 };
struct dfg_radix {
	int64_t constant;                          /* positive */
	struct dfg_edge factor[DFG_RADIX_FACTORS]; /* ascending */
	uint32_t n_factor;
};

struct dfg_coordinate {
	bool is_counter;
	uint32_t first, last; /* the counters [first, last) that decide it */
	bool is_number;       /* the number of the iteration within these counters: equal only if they all are */
	struct dfg_edge base; /* of an element: the tensor, */
	const struct dfg_subscript *index;
	uint32_t n_index; /* and its index */
	const char *name; /* "i", "user[i]" */
};

enum dfg_distance_kind { DFG_DISTANCE_ANY, DFG_DISTANCE_POSITIVE, DFG_DISTANCE_NUMBER };

struct dfg_distance {
	enum dfg_distance_kind kind;
	int64_t number;
};

struct dfg_array_access {
	uint32_t node, array;
	bool reads, writes;
	bool is_rule; /* of the rule by which rows of a buffered variable are updated, or of its states: mark `_dfg_rule` */
	enum dfg_meaning combines; /* of a write: lib/graph/op.h */
	struct dfg_subscript *subscript;
	uint32_t n_subscript; /* leading ones; further axes are accessed whole */
	const char *words;    /* "w[user[i]]" */
};

/* How the elements of a variable get to the iterations that access them. */
enum dfg_array_home {
	DFG_HOME_SERVED,  /* requested from their owners */
	DFG_HOME_LOCAL,   /* each row with the iteration that alone accesses it */
	DFG_HOME_STAYS,   /* a block for each block of the space coordinate */
	DFG_HOME_ROTATES, /* a block for each block of the time coordinate */
	DFG_HOME_COPIED,  /* only read: every worker has a copy */
	DFG_HOME_SUMMED,  /* an accumulator: each worker has a partial one */
};

struct dfg_loop_array {
	const char *name;          /* of the variable */
	int64_t bytes;             /* DFG_UNKNOWN if its shape is */
	bool is_buffered;          /* some of its updates have a mark, and then all of them */
	bool is_written, commutes; /* commutes: all updates are by one commutative operation */
	bool is_accumulator;       /* it commutes and is not read */
	int64_t staleness;         /* of a buffered one */
	enum dfg_array_home home;
};

struct dfg_dependence {
	uint32_t array, a, b;          /* accesses, of which the vector is the first of its kind */
	struct dfg_distance *distance; /* by coordinate: that of b's iteration minus that of a's */
};

enum dfg_loop_family {
	DFG_FAMILY_NONE,      /* no dependences */
	DFG_FAMILY_1D,        /* blocks of the space coordinate, which is 0 in every vector */
	DFG_FAMILY_2D,        /* blocks of space and time, one of which is 0 in each vector */
	DFG_FAMILY_WAVEFRONT, /* tiles of the counters after the skew, which makes no component negative */
	DFG_FAMILY_SERIAL,
	DFG_FAMILIES,
};

/* "(any, 0, >0)", in the arena; NULL when memory is short. */
const char *dfg_vector_words(struct dfg_arena *arena, const struct dfg_distance *distance, uint32_t n);

/* "none", "1d", ... */
const char *dfg_family_name(enum dfg_loop_family family);

struct dfg_loop_dependences {
	uint32_t loop; /* its number in the graph's loops */
	struct dfg_string name;
	bool is_ordered;
	int64_t clock, batch; /* 0: not given */
	struct dfg_coordinate *coordinate;
	uint32_t n_coordinate, n_counter; /* the counters are first */
	struct dfg_radix
		cut[DFG_CUTS_MOST]; /* counter n_counter - 1 - i is the iteration's number // cut[i], % cut[i + 1] */
	uint32_t counter;       /* the Merge that counts the iterations */
	struct dfg_loop_array *array;
	uint32_t n_array;
	struct dfg_array_access *access;
	uint32_t n_access;
	struct dfg_dependence *vector;
	uint32_t n_vector;
	enum dfg_loop_family family;
	uint32_t space, time; /* coordinates of 1d (space) and 2d */
	int64_t *skew;        /* of a wavefront: unit lower triangular, by row, n_counter x n_counter */
	const char *reason;   /* of serial: the accesses that are in the way, and what would help; else NULL */
};

struct dfg_dependences {
	struct dfg_loop_dependences *loop;
	uint32_t count;
};

/* Whether the graph has a mark of this analysis. */
bool dfg_parallel_is_marked(const struct dfg_graph *graph);

/*
 * Marks the loop of the request "LOOP", or "LOOP=ordered", by the name of its frame. DFG_DATA: there is no such loop, or
 * the request is malformed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_parallel_mark(struct dfg_graph *graph, const char *request);

/*
 * Analyses every marked loop of a verified graph, to which it adds nothing. The results are in the arena. DFG_DATA, joined:
 * marks that are malformed, or that claim more than the loop's body allows, as when it carries a value from one iteration to
 * the next.
 */
DFG_MUST_CHECK struct dfg_err *dfg_dependences_find(
	struct dfg_graph *graph, struct dfg_arena *arena, struct dfg_dependences *out_dependences);
