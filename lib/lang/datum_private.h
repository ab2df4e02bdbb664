#pragma once

#include "lib/graph/build.h"
#include "lib/lang/tree.h"

/*
 * Values of expressions while a program is built. A datum is passed by value; the memory that it points to is in the
 * evaluator's arena and lives until the build ends.
 */
enum dfg_datum_kind {
	DFG_DATUM_NONE,   /* `none`, or the result of a call of an op without outputs: .edge.node is then its node */
	DFG_DATUM_NUMBER, /* a number that no tensor has given a dtype to */
	DFG_DATUM_BOOL,   /* known while building, like the next two */
	DFG_DATUM_STRING,
	DFG_DATUM_DTYPE,
	DFG_DATUM_LIST,    /* used as a tensor: a Const if all of its items are known, else a Pack */
	DFG_DATUM_LITERAL, /* elements of one dtype, known while building; used as a tensor: a Const */
	DFG_DATUM_TENSOR,  /* an output of a node */
	DFG_DATUM_DIM,     /* a dimension that only a run knows; used as a tensor: an i32 scalar */
	DFG_DATUM_CELL,    /* a param or state; used as a tensor: its value */
	DFG_DATUM_TUPLE,   /* several results */
	DFG_DATUM_FN,
	DFG_DATUM_LAYER,    /* without its first arguments */
	DFG_DATUM_INSTANCE, /* a layer with its first arguments */
	DFG_DATUM_OP,
	DFG_DATUM_BUILTIN,
	DFG_DATUM_MODULE,     /* an import of a program */
	DFG_DATUM_GRAPH,      /* an import of a graph */
	DFG_DATUM_GRAPH_NODE, /* its function .node */
	DFG_DATUM_LATER,      /* a name that a formula assigns; evaluated when it is first read */
	DFG_DATUM_NOTHING,    /* a tensor that a formula's caller does not have */
};

struct dfg_eval;
struct dfg_datum;

/* The origin of a list; the fields that do not apply are 0. */
struct dfg_list_origin {
	const struct dfg_port *port; /* output ports of the op whose results the tuple holds, for `.name` */
	const struct dfg_tree *tree; /* the list's text, and in the next field the source that contains it */
	const struct dfg_source *source;
	const struct dfg_datum *end; /* of a list that `+` made: the first free item after it */
	uint32_t capacity;           /* free items from .end on */
};

enum { DFG_LEAVES_MAX = (1 << 23) - 1 };

struct dfg_datum_list {
	struct dfg_datum *item;
	uint32_t n;
	uint32_t depth : 9;             /* levels of lists, this one included; at most DFG_NEST_MAX */
	uint32_t leaves : 23;           /* items, those of nested lists included; at most DFG_LEAVES_MAX */
	struct dfg_list_origin *origin; /* or NULL */
};

struct dfg_datum {
	enum dfg_datum_kind kind;
	union {
		struct dfg_number number;
		bool truth;
		struct dfg_string string;
		enum dfg_dtype dtype;
		struct dfg_datum_list list; /* of a LIST or TUPLE */
		const struct dfg_tensor *literal;
		struct dfg_edge edge;
		struct dfg_dim *dim;
		struct dfg_cell *cell;
		const struct dfg_callable *callable;
		struct dfg_instance *instance;
		const struct dfg_op *op;
		const struct dfg_builtin *builtin;
		struct dfg_name_scope *module;
		struct dfg_imported_graph *graph; /* of a GRAPH or GRAPH_NODE */
		struct dfg_later *later;
	};
};

#define DFG_INT(value) ((struct dfg_datum){DFG_DATUM_NUMBER, .number = {true, value, (double)(value)}})
#define DFG_FLOAT(value) ((struct dfg_datum){DFG_DATUM_NUMBER, .number = {false, 0, value}})
#define DFG_BOOLEAN(value) ((struct dfg_datum){DFG_DATUM_BOOL, .truth = value})
#define DFG_TYPE(value) ((struct dfg_datum){DFG_DATUM_DTYPE, .dtype = value})
#define DFG_TENSOR(value) ((struct dfg_datum){DFG_DATUM_TENSOR, .edge = value})

/* A description for messages, such as "f32[2,3]" or "a list"; in the arena, or static. */
const char *dfg_datum_words(struct dfg_eval *eval, const struct dfg_datum *datum);

/* Whether the datum is a tensor, or becomes one when a node reads it; lists and untyped numbers do not count. */
bool dfg_datum_is_tensor(const struct dfg_datum *datum);

/* Whether the datum is a number, bool or string, or a list of only these. */
bool dfg_datum_is_known(const struct dfg_datum *datum);

/* The dtype of the datum; of a list, that of its first typed item. DFG_NO_DTYPE: untyped, takes any. */
enum dfg_dtype dfg_datum_dtype(struct dfg_eval *eval, const struct dfg_datum *datum);

/* The dtype that an untyped datum takes where nothing asks for another: f32, i32 (i64 if too large), bool or string. */
enum dfg_dtype dfg_datum_natural(const struct dfg_datum *datum);

/* The output ports of the op whose results the tuple holds, or NULL. */
static inline const struct dfg_port *dfg_list_port(const struct dfg_datum *datum)
{
	return datum->list.origin ? datum->list.origin->port : NULL;
}

/* Makes a LIST or TUPLE of n items, all of kind NONE. DFG_DATA: more than DFG_LEAVES_MAX. */
DFG_MUST_CHECK struct dfg_err *dfg_list_new(
	struct dfg_eval *eval, enum dfg_datum_kind kind, uint32_t n, struct dfg_datum *out_datum);

/* Records the list's depth and number of leaves. DFG_DATA: above the limits, which bound the walks over lists. */
DFG_MUST_CHECK struct dfg_err *dfg_list_grow(struct dfg_datum_list *list, uint32_t depth, uint64_t leaves);

/* Records the list's origin, which is copied. */
DFG_MUST_CHECK struct dfg_err *dfg_list_from(
	struct dfg_eval *eval, const struct dfg_list_origin *origin, struct dfg_datum *datum);
