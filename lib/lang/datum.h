#pragma once

#include "lib/base/index.h"
#include "lib/base/map.h"
#include "lib/graph/build.h"
#include "lib/lang/tree.h"

/* What an expression is worth while a program is built. By value; what it points to lives in the evaluator's arena. */
enum dfg_datum_kind {
	DFG_DATUM_NONE,   /* `none`, and what has no value */
	DFG_DATUM_NUMBER, /* that has not met a tensor */
	DFG_DATUM_BOOL,   /* known now */
	DFG_DATUM_STRING,
	DFG_DATUM_DTYPE,
	DFG_DATUM_LIST,    /* packed where a tensor is wanted */
	DFG_DATUM_LITERAL, /* elements of a type, known now: a Const where a tensor is wanted */
	DFG_DATUM_TENSOR,
	DFG_DATUM_DIM,   /* a dimension that is not known now: an i32 scalar where a tensor is wanted */
	DFG_DATUM_CELL,  /* a param or state; read where a tensor is wanted */
	DFG_DATUM_TUPLE, /* results, where there are several */
	DFG_DATUM_FN,
	DFG_DATUM_LAYER,
	DFG_DATUM_INSTANCE, /* of a layer */
	DFG_DATUM_OP,
	DFG_DATUM_BUILTIN,
	DFG_DATUM_MODULE,  /* an import */
	DFG_DATUM_LATER,   /* what a formula assigns, evaluated when it is read */
	DFG_DATUM_NOTHING, /* a tensor that a formula's caller does not have */
};

struct dfg_eval;
struct dfg_datum;

/* Where a list comes from. */
struct dfg_list_origin {
	const struct dfg_port *port; /* of an op's results, for `.name`; else NULL */
	const struct dfg_tree *tree; /* of a list that was written down, and the text that has it; else NULL */
	const struct dfg_source *source;
	const struct dfg_datum *end; /* of a list that operators made: the first free item of its room */
	uint32_t room;               /* items from .end on that nobody has taken */
};

enum { DFG_LEAVES_MAX = (1 << 23) - 1 };

struct dfg_datum_list {
	struct dfg_datum *item;
	uint32_t n;
	uint32_t depth : 9;             /* lists within each other, this one counted: DFG_NEST_MAX at most */
	uint32_t leaves : 23;           /* items, those of the lists within it too: DFG_LEAVES_MAX at most */
	struct dfg_list_origin *origin; /* or NULL */
};

struct dfg_call_site;
typedef struct dfg_err *dfg_builtin_fn(
	struct dfg_eval *eval, const struct dfg_call_site *site, struct dfg_datum *out_datum);

struct dfg_builtin {
	const char *name;
	int least, most; /* arguments, all by position */
	dfg_builtin_fn *call;
};

struct dfg_datum {
	enum dfg_datum_kind kind;
	union {
		struct dfg_number number;
		bool truth;
		struct dfg_string string;
		enum dfg_dtype dtype;
		struct dfg_datum_list list; /* of a TUPLE too */
		const struct dfg_tensor *literal;
		struct dfg_edge edge;
		struct dfg_dim *dim;
		struct dfg_cell *cell;
		const struct dfg_callable *callable;
		struct dfg_instance *instance;
		const struct dfg_op *op;
		const struct dfg_builtin *builtin;
		struct dfg_name_scope *module;
		struct dfg_later *later;
	};
};

struct dfg_argument {
	const char *name; /* NULL: by position */
	const struct dfg_tree *tree;
	const struct dfg_tree *named; /* the value with its name, for messages; NULL: not written so */
	struct dfg_datum value;
};

struct dfg_call_site {
	const struct dfg_tree *tree;
	struct dfg_argument *argument;
	uint32_t n;
};

#define DFG_INT(value) ((struct dfg_datum){DFG_DATUM_NUMBER, .number = {true, value, (double)(value)}})
#define DFG_FLOAT(value) ((struct dfg_datum){DFG_DATUM_NUMBER, .number = {false, 0, value}})
#define DFG_BOOLEAN(value) ((struct dfg_datum){DFG_DATUM_BOOL, .truth = value})
#define DFG_TYPE(value) ((struct dfg_datum){DFG_DATUM_DTYPE, .dtype = value})
#define DFG_TENSOR(value) ((struct dfg_datum){DFG_DATUM_TENSOR, .edge = value})

/* Names and what they mean; what is not here may be further out. */
struct dfg_name_scope {
	struct dfg_name_scope *outer;
	struct dfg_name_entry {
		const char *name;
		struct dfg_datum datum;
	} * entry;
	uint32_t n, room;
	struct dfg_index index;                                        /* entry by name, once there are several */
	enum { DFG_FRAME_OWN, DFG_FRAME_BRANCH, DFG_FRAME_LOOP } kind; /* of an arm or body: it rebinds no outer name */
};

/* A fn or layer, with the frame it was declared in. */
struct dfg_callable {
	const char *name;
	const struct dfg_tree *tree;
	const struct dfg_source *source;
	struct dfg_name_scope *frame;
};

struct dfg_instance {
	const struct dfg_callable *callable;
	struct dfg_name_scope *frame; /* holds the first arguments; in the callable's */
	const char *path;             /* prefix of the names of its params */
	uint32_t made;                /* number of nodes when it was made, to tell a new one from an old */
	bool is_bound;
};

/* Made into nodes where it is first read. */
struct dfg_dim {
	const char *path;   /* name of the node */
	struct dfg_edge of; /* the tensor that bound it */
	int axis;           /* from the front; from the back where negative */
	bool is_made;
	struct dfg_edge edge;
};

/* The accesses to a state in one region, up to the present place in the text. Nodes are numbers of the builder's graph. */
struct dfg_history {
	struct dfg_edge
		value;     /* the state's value: the read, or the value set last; .node DFG_NONE: as in the region around */
	bool is_stale; /* an op changed the state, so no tensor holds its value; .value.node is DFG_NONE then */
	uint32_t last_write; /* node, or DFG_NONE */
	uint32_t *read;      /* nodes that read the state after the last write; in the evaluator's arena */
	uint32_t n_read, room;
};

/*
 * A param or state: VarHandleOp, its read, its initialisation. Or, with the empty path, an end of a queue or another state
 * that a program holds by a handle: it has no read, and its handle is a boolean that only carries the order.
 */
struct dfg_cell {
	const char *path;
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	struct dfg_edge handle, read; /* .node DFG_NONE: none; a boolean handle is made when a loop or branch needs it */
	struct dfg_history now;       /* in the root */
	bool trainable;
};

struct dfg_later {
	const struct dfg_tree *tree; /* of the whole right side */
	struct dfg_name_scope *frame;
	uint32_t part, parts; /* which of its results */
	enum { DFG_LATER_WAITS, DFG_LATER_RUNS, DFG_LATER_DONE } state;
	struct dfg_datum datum;
};
