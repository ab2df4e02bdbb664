#pragma once

#include "lib/graph/tensor.h"

/*
 * An op is a declaration. All that depends on the op is data in kernels/; each walk over a graph is one file of lib/,
 * which knows ops by their roles and flags.
 *
 * To add an op:
 *   1. a row in a family's table (kernels/elementwise.def), or a file of its own that defines dfg_op_<Name>
 *      (kernels/matmul.c; '>' in a name is '_' in the symbol);
 *   2. a few lines in tests/ops/<stem>.t, values from an independent source.
 * No other file changes: make collects the symbols dfg_op_*. `make check` tells what is missing: every op has a doc, a
 * case, a kernel, row or role, and exactly one of gradient, gradient_fn and DFG_NO_GRADIENT.
 */

enum { DFG_ATTR_MAX = 16, DFG_PARAM_MAX = 12, DFG_PORT_MAX = 20 };

enum dfg_op_flags {
	DFG_NO_GRADIENT = 1 << 0, /* no gradient is known, so that `grad` refuses it; .gradient "" if it is always zero */
	DFG_STATEFUL = 1 << 1,    /* not folded, merged with equal nodes, recomputed, or dropped for having no outputs */
	DFG_EXPENSIVE = 1 << 2,   /* runs on the thread pool, not on the thread that made it ready */
	DFG_ANY_RANK = 1 << 3,    /* its shape function accepts inputs of unknown rank; others are not called for these */
	DFG_COMMUTATIVE = 1 << 4, /* its two inputs may be swapped */
	DFG_VIEW = 1 << 5,        /* output 0 may be a view of input 0's elements */
	DFG_IN_PLACE = 1 << 6,    /* the kernel may write output 0 over input 0 if there is no other reader */
	DFG_EXACT = 1 << 7,       /* its results have the same bits on every machine, so they may be folded into files */
	DFG_BLOCKING = 1 << 8,    /* may wait for another op: queues, receive */
	DFG_BROADCASTS = 1 << 9,  /* broadcasts its inputs although it has a .shape */
	DFG_ANALYTIC = 1 << 10,   /* analytic for complex numbers: its derivative is used conjugated */
	/*
	 * Access to the states whose handles or refs are the op's inputs. A queue has two ends, so that an enqueue and a
	 * dequeue need no order; every other state has one, and a write changes both.
	 */
	DFG_READS = 1 << 11,
	DFG_PUTS = 1 << 12,
	DFG_TAKES = 1 << 13,
	DFG_WRITES = DFG_PUTS | DFG_TAKES,
	DFG_KNOWS_MATRICES = 1 << 14, /* its rules take known values of rank 2; other ops get none */
	/* The two ends of an all-reduce over the shards of a batch: the tickets that are fed between them cut the step in two. */
	DFG_CONTRIBUTES = 1 << 15,
	DFG_COLLECTS = 1 << 16,
	DFG_TENSOR_ARRAY = 1 << 17, /* of a TensorArray, whose accesses are ordered by a flow */
	DFG_WEIGHTS = 1 << 18,      /* input 1 may be weights: where it is constant, its kernel prepares it once */
};

/* The role of an op, by which the executor and the passes know the few ops that are special to them. */
enum dfg_role {
	DFG_PLAIN,
	DFG_CONST,
	DFG_PLACEHOLDER,         /* must be fed */
	DFG_PLACEHOLDER_DEFAULT, /* may be fed */
	DFG_IDENTITY,            /* output i is input i */
	DFG_NO_OP,
	DFG_VARIABLE, /* makes a handle (resource) or a ref of a variable */
	DFG_READ,     /* the value of the variable in input 0 */
	DFG_ASSIGN,   /* writes input 1 to the variable in input 0 */
	DFG_SWITCH,
	DFG_MERGE,
	DFG_ENTER,
	DFG_EXIT,
	DFG_NEXT_ITERATION,
	DFG_LOOP_COND,
	DFG_SAVE, /* stores a value of each iteration of a loop; Load reads it elsewhere: kernels/save.c */
	DFG_LOAD,
	DFG_CONTROL_TRIGGER,
	DFG_SLEEP, /* output 0 is input 0, delayed by the seconds in input 1 */
	DFG_SEND,  /* the ends of an edge between devices: kernels/send.c */
	DFG_RECV,
	DFG_CALL, /* functional: lowered before it runs */
};

/*
 * The value of an op, for the passes that reason about values. Unlike a role it changes nothing in how the op runs. Several
 * ops may have one meaning: a pass must not ask which.
 */
enum dfg_meaning {
	DFG_MEANS_NOTHING, /* to a pass */
	DFG_MEANS_NOT,     /* of booleans */
	DFG_MEANS_AND,
	DFG_MEANS_OR,
	DFG_MEANS_SUM, /* of inputs 0 and 1, as are the next two */
	DFG_MEANS_DIFFERENCE,
	DFG_MEANS_PRODUCT,
	DFG_MEANS_QUOTIENT,       /* of integers towards zero; */
	DFG_MEANS_REMAINDER,      /* its remainder */
	DFG_MEANS_FLOOR_QUOTIENT, /* rounded down; */
	DFG_MEANS_FLOOR_REMAINDER,
	DFG_MEANS_MAXIMUM,
	DFG_MEANS_MINIMUM,
	DFG_MEANS_NEGATIVE, /* of input 0, as are the next three */
	DFG_MEANS_MAGNITUDE,
	DFG_MEANS_SQUARE,
	DFG_MEANS_SQUARE_ROOT,
	DFG_MEANS_EQUAL, /* comparisons of inputs 0 and 1 */
	DFG_MEANS_UNEQUAL,
	DFG_MEANS_LESS,
	DFG_MEANS_AT_MOST,
	DFG_MEANS_GREATER,
	DFG_MEANS_AT_LEAST,
	DFG_MEANS_BITS_AND,
	DFG_MEANS_BITS_OR,
	DFG_MEANS_BITS_XOR,
	DFG_MEANS_BITS_NOT,
	DFG_MEANS_SHIFT_LEFT, /* input 0 by the bits in input 1, which are clamped */
	DFG_MEANS_SHIFT_RIGHT,
	DFG_MEANS_SELECTION, /* input 1 where input 0 is true, else input 2 */
	DFG_MEANS_CAST,      /* input 0 in another type */
	DFG_MEANS_REPEATED,  /* input 0, broadcast to a shape */
	/* products of the matrices in the last two axes of inputs 0 and 1; attributes 0 and 1 say whether they are turned */
	DFG_MEANS_MATRICES,
	DFG_MEANS_SOFTMAX,  /* of each row along the last axis of input 0 */
	DFG_MEANS_OF_SHAPE, /* a value of the shape of input 0 alone */
	DFG_MEANS_ZEROS,    /* zeros, or ones, in the shape of input 0 */
	DFG_MEANS_ONES,
	DFG_MEANS_ASSERTION,     /* an error where input 0 is false */
	DFG_MEANS_PACKED,        /* the inputs along a new axis, the attribute `axis` */
	DFG_MEANS_SLICE,         /* input 0 from input 1 to input 2 by the strides in input 3, with five masks */
	DFG_MEANS_ELEMENT,       /* the element of input 0 at the index in input 1, if both index and element are scalars */
	DFG_MEANS_PUSH,          /* a value goes onto the stack of input 0, */
	DFG_MEANS_POP,           /* or comes off it */
	DFG_MEANS_TABLE_ENTRIES, /* gives the lookup table of input 0 its entries, once */
	DFG_MEANS_GRADIENT_ARRAY, /* the array of the gradients of the array of input 0 */
	/* the kinds of DFG_CALL: */
	DFG_MEANS_CALL_FUNCTION,
	DFG_MEANS_CALL_IF,
	DFG_MEANS_CALL_CASE,
	DFG_MEANS_CALL_WHILE,
	DFG_MEANS_CALL_FOR,
	DFG_MEANS_CALL_REMOTE,
	DFG_MEANS_CALL_GRADIENT,
	DFG_MEANINGS,
};

/* The elements that an op reads or writes of the variable in input 0. */
enum dfg_elements {
	DFG_ELEMENTS_ALL,
	DFG_ELEMENTS_ROWS,   /* the rows whose numbers are the elements of input 1 */
	DFG_ELEMENTS_SLICES, /* the slices whose index vectors lie along the last axis of input 1 */
};

/* Whether it is a primitive of control flow. Only these predicates of roles depend on the order of enum dfg_role. */
static inline bool dfg_role_is_flow(enum dfg_role role)
{
	return role >= DFG_SWITCH && role <= DFG_LOOP_COND;
}

/* Whether it is a primitive of control flow, or stores values by iteration. */
static inline bool dfg_role_is_flow_or_saved(enum dfg_role role)
{
	return dfg_role_is_flow(role) || role == DFG_SAVE || role == DFG_LOAD;
}

/* Whether its execution depends on more than its inputs: branches, iterations, time, another device or a function. */
static inline bool dfg_role_is_structural(enum dfg_role role)
{
	return role >= DFG_SWITCH && role <= DFG_CALL;
}

/* A constant as in its file, so that it is written again with the same bytes. data may be unaligned. */
struct dfg_literal {
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* fully known */
	bool content;           /* written as one run of bytes, not as a list of values */
	int64_t given;          /* elements at data: all, or fewer if the last one repeats; 0: all elements are zero */
	const void *data;       /* elements of dtype; strings as struct dfg_string. Borrowed from arena or mapped file */
	/* Of a handle or variant, data is the file's TensorProto in canonical form, and given its number of bytes. */
};

/* Bytes at data. */
size_t dfg_literal_bytes(const struct dfg_literal *literal);

/* All elements: borrowed if they are complete and aligned, else with a buffer. */
DFG_MUST_CHECK struct dfg_err *dfg_literal_tensor(const struct dfg_literal *literal, struct dfg_tensor *out_tensor);

/* The first elements, at most `most`, as a vector; the cost does not depend on the declared shape. */
DFG_MUST_CHECK struct dfg_err *dfg_literal_first(
	const struct dfg_literal *literal, int64_t most, struct dfg_tensor *out_tensor);

/* A function and its attributes, as an attribute. */
struct dfg_func {
	const char *name;
	const struct dfg_attr *attr;
	uint32_t n_attr;
};

/* The value of an attribute. The member is given by the declaration, or by the kind in struct dfg_attr. */
union dfg_value {
	bool b;
	int64_t i;
	double f; /* a float of the file, widened */
	enum dfg_dtype dtype;
	struct dfg_string s; /* not necessarily followed by a 0 */
	const struct dfg_shape *shape;
	const struct dfg_literal *tensor;
	const struct dfg_func *func;
	const struct dfg_list *list;
};

enum dfg_attr_kind {
	DFG_ATTR_NONE, /* the attribute has no value */
	DFG_ATTR_STRING,
	DFG_ATTR_INT,
	DFG_ATTR_FLOAT,
	DFG_ATTR_BOOL,
	DFG_ATTR_DTYPE, /* the number of the file, so that of a ref type is + 100 */
	DFG_ATTR_SHAPE,
	DFG_ATTR_TENSOR,
	DFG_ATTR_FUNC,
	DFG_ATTR_PLACEHOLDER, /* .s is the name of an attribute of the function */
	DFG_ATTR_LIST,
};

struct dfg_list {
	enum dfg_attr_kind kind; /* of the items; an empty list of a file has DFG_ATTR_NONE */
	uint32_t count;
	const union dfg_value *item;
};

/* An attribute of a node, as in its file. */
struct dfg_attr {
	const char *name;
	enum dfg_attr_kind kind;
	union dfg_value value;
};

/*
 * A parsed signature: "<T: float, N: int>(x: N * T, axis: i32, flow: ref T) -> (y: T, z: [Tlist])". Type parameters are
 * attributes of the node. `<T: float>` is a type of that class, `<T: float = f32>` has a default. `<N: int>` counts
 * a list of equal types (N * T), at least one, or two with `<N: int >= 2>`. `<L: [type]>` is a list of types, one for each
 * item of the port `x: L`.
 */
struct dfg_param {
	char name[32];
	uint64_t types; /* allowed; 0 for a count */
	bool is_list;
	enum dfg_dtype default_dtype; /* DFG_NO_DTYPE: none */
	int least;                    /* least value of a count */
};
struct dfg_port {
	char name[32];
	int16_t type;  /* parameter number, or -1: .dtype is fixed */
	int16_t count; /* parameter number of N, or -1 */
	bool is_list;  /* one tensor for each item of the type list parameter */
	bool is_ref;
	enum dfg_dtype dtype;
};
struct dfg_attr_decl {
	char name[40];
	enum dfg_attr_kind kind;
	bool is_list, has_default;
	union dfg_value value; /* the default */
	const char *allowed;   /* "SAME|VALID", within the text of the declaration; NULL: any */
	int64_t least;         /* least value of an int, or length of a list; INT64_MIN: any */
};
struct dfg_signature {
	int n_param, n_in, n_out, n_attr;
	struct dfg_param param[DFG_PARAM_MAX];
	struct dfg_port in[DFG_PORT_MAX], out[DFG_PORT_MAX];
	struct dfg_attr_decl attr[DFG_ATTR_MAX];
};

/*
 * A node resolved against its op's declaration: attributes in the order of op->attr, with defaults; parameters in the
 * order of the signature; tensors of each port counted and typed. Each node is resolved once, before the first step;
 * read-only.
 */
struct dfg_resolved_node {
	const struct dfg_op *op;
	const struct dfg_signature *signature;
	const union dfg_value *attr;
	const union dfg_value *param;         /* .dtype, .i of a count, .list of a type list */
	uint16_t n_in, n_out;                 /* tensors, those of lists counted one by one */
	const uint8_t *in_dtype, *out_dtype;  /* by tensor: enum dfg_dtype */
	const uint16_t *in_first, *out_first; /* by port: its first tensor; one more entry than ports */
	uint8_t in_ref, out_ref;              /* bit i: port i is a ref */
	uint32_t alike;   /* calls with the same number, not 0, differ only in `node`: lib/graph/facts.h */
	const char *node; /* the node's name; NULL only in dfg_build, for a provisional one */
};

/* Whether tensor i of the inputs, or of the outputs, is a ref. */
bool dfg_resolved_in_is_ref(const struct dfg_resolved_node *call, int i);
bool dfg_resolved_out_is_ref(const struct dfg_resolved_node *call, int i);

/* Puts "node 'fc1' (MatMul): " before the error's text, or "MatMul: " if the node has no name yet; NULL for NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_resolved_note(struct dfg_err *err, const struct dfg_resolved_node *call);

/*
 * The elements of a small integer tensor that are known before the graph runs. Only ops with DFG_KNOWS_MATRICES have
 * rank 2.
 */
struct dfg_known_value {
	int rank;
	int64_t count;
	int64_t v[]; /* in C order; DFG_NOT_KNOWN: an unknown element */
};
#define DFG_NOT_KNOWN INT64_MIN

struct dfg_tensor_type {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
};

/* The types of the tensors that an element of a queue consists of, or of the key of a lookup table. */
struct dfg_component_types {
	uint32_t count;
	struct dfg_tensor_type item[];
};

/*
 * The type of the object that a resource handle refers to: of a variable's value, of the elements of an array or stack, or
 * of the values of a lookup table.
 */
struct dfg_handle_type {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
	const struct dfg_component_types
		*component; /* of a queue, whose dtype is DFG_NO_DTYPE, or of a lookup table; else NULL */
};

/*
 * The arguments of a shape function. The arrays belong to the caller; out is preset to unknown ranks. in[i] may have
 * unknown dims, and an unknown rank only with DFG_ANY_RANK. known[i] is NULL if no element of input i is known.
 */
struct dfg_infer {
	const struct dfg_resolved_node *call;
	const struct dfg_shape *const *in;
	const struct dfg_known_value *const *known;
	const struct dfg_handle_type *const *in_holds; /* by input, of resources and refs; NULL: unknown */
	struct dfg_shape *out;
	const struct dfg_known_value **out_known; /* set by op->known, preset to NULL */
	const struct dfg_handle_type **out_holds; /* preset to NULL */
	struct dfg_arena *arena;                  /* lives as long as the results */
};

struct dfg_reducer;  /* lib/graph/reduction.h */
struct dfg_kernel;   /* the context of a kernel: lib/graph/kernel.h */
struct dfg_gradient; /* the context of a gradient in C: lib/pass/grad/grad.h */

/*
 * An op: a constant. Fields that an op does not need are 0. The index of tables by dtype is the first type parameter of
 * the signature.
 */
/* Computes out[i] from in[..][i], where out may be one of the inputs. */
typedef void dfg_row_fn(int64_t n, void *out, const void *const *in, const union dfg_value *attr);

struct dfg_op {
	const char *name;
	const char *doc;                /* one line, for `dfg ops` and dfg-ops(7) */
	const char *sig;                /* "<T: float>(x: T) -> (y: T)": type parameters, inputs, outputs */
	const char *attr[DFG_ATTR_MAX]; /* "transpose_a: bool = false", "padding: string = 'SAME' in SAME|VALID" */
	unsigned flags;
	enum dfg_role role;
	enum dfg_meaning means;

	/*
	 * An op with DFG_READS or DFG_WRITES declares which elements of the state it accesses, and by which operation it combines
	 * each with an update (NOTHING: the update replaces it; a difference counts as a sum). The update is input 1 if the op
	 * accesses all elements, else input 2.
	 */
	enum dfg_elements elements;
	enum dfg_meaning combines;

	/*
	 * Infers the shapes of the outputs; an error for inputs with which the op can never run. NULL: the shape that all
	 * inputs broadcast to.
	 */
	struct dfg_err *(*shape)(struct dfg_infer *node);

	/* Infers the known elements of small integer outputs from inputs that are known in part: Shape, Pack, ... */
	struct dfg_err *(*known)(struct dfg_infer *node);

	/*
	 * Whether rows are independent: row r of each output, its slice at r of axis 0, depends on row r of the inputs in by_row
	 * (bit i: input i) and on all of the other inputs, and has the bits of a batch of one row. A bit may also be of a vector
	 * of known length whose first element is the number of rows. NULL, or the reason why not. Elementwise ops and
	 * reductions have a common rule (lib/pass/verify/row_independence.h); other ops without `rows` mix them.
	 */
	const char *(*rows)(const struct dfg_infer *node, uint64_t by_row);

	/*
	 * The gradient as a formula (lib/lang/lang.h), which reads the inputs, outputs, attributes and d<output>, and
	 * assigns d<input>.
	 */
	const char *gradient;
	struct dfg_err *(*gradient_fn)(struct dfg_gradient *node);

	/* By dtype: the row of an elementwise op; NULL for another op. Written .row = DFG_ROW_TABLE{[DFG_F32] = ...}. */
	dfg_row_fn *const *row;
	/* By dtype: the kernel of another op. Read by dfg_op_kernel(). */
	struct dfg_err *(*kernel[DFG_KERNEL_DTYPES])(struct dfg_kernel *ctx);
	/*
	 * The kernel for each dtype without one of its own; of an op with rows, the kernel for operands that do not
	 * broadcast.
	 */
	struct dfg_err *(*run)(struct dfg_kernel *ctx);

	/* The op whose row joins the first two of any number of inputs of one shape, then that with the third, and so on. */
	const struct dfg_op *joins_by;

	/*
	 * By dtype: how a reduction over the axes in input 1, with the attribute keep_dims, combines the elements of input 0;
	 * NULL for another op. Written .reducer = DFG_REDUCER_TABLE{[DFG_F32] = ...}.
	 */
	const struct dfg_reducer *const *reducer;

	/* Called before a row: an error for elements that it cannot compute, such as a zero divisor. */
	struct dfg_err *(*guard)(struct dfg_kernel *ctx);
	unsigned guard_reads; /* bit i: .guard reads elements of input i; it may read the types and shapes of all */
};

/* The table of a field of struct dfg_op. Most ops have none: the loader relocates each page of each op at start. */
#define DFG_ROW_TABLE (dfg_row_fn *const[DFG_DTYPES])
#define DFG_REDUCER_TABLE (const struct dfg_reducer *const[DFG_DTYPES])

/* The op's row, kernel or reducer for this dtype; NULL if it has none. */
static inline dfg_row_fn *dfg_op_row(const struct dfg_op *op, enum dfg_dtype dtype)
{
	return op->row ? op->row[dtype] : NULL;
}
static inline struct dfg_err *(*dfg_op_kernel(const struct dfg_op *op, enum dfg_dtype dtype))(struct dfg_kernel *ctx)
{
	return (int)dtype < DFG_KERNEL_DTYPES ? op->kernel[dtype] : NULL;
}
static inline const struct dfg_reducer *dfg_op_reducer(const struct dfg_op *op, enum dfg_dtype dtype)
{
	return op->reducer ? op->reducer[dtype] : NULL;
}

/* Fills one of the tables above: .kernel = {DFG_EACH_number(DFG_BY_DTYPE, matmul)} */
#define DFG_BY_DTYPE(NAME, name, type, number, stem) [DFG_##NAME] = stem##_##name,

/* Fills one with the same function for each dtype: .kernel = {DFG_EACH_number(DFG_FOR_DTYPE, matmul)} */
#define DFG_FOR_DTYPE(NAME, name, type, number, function) [DFG_##NAME] = function,

/* Whether the op puts elements into a queue or takes them out, and may wait for that. */
static inline bool dfg_op_is_queued(const struct dfg_op *op)
{
	return op->flags & DFG_BLOCKING && op->flags & DFG_WRITES;
}

/* All ops, by name in byte order; generated from the symbols of the kernels. */
extern const struct dfg_op *const dfg_ops[];
extern const size_t dfg_ops_count;

/* The op with this name, or NULL. */
const struct dfg_op *dfg_op_find(const char *name);

/* The most similar name of an op, or NULL. */
const char *dfg_op_nearest(const char *name);

/* The error "no op 'MatMull'; did you mean 'MatMul'?". */
DFG_MUST_CHECK struct dfg_err *dfg_op_missing(const char *name);

/*
 * The op's signature, parsed on first use and kept for the life of the process; from any thread. DFG_BUG: the
 * declaration cannot be parsed.
 */
DFG_MUST_CHECK struct dfg_err *dfg_op_signature(const struct dfg_op *op, const struct dfg_signature **out_signature);

/* The number of the attribute in op->attr, or -1. */
int dfg_op_attr(const struct dfg_signature *signature, const char *name);

/* Whether the op has a kernel or row for this dtype; one for f32 serves halves too. */
bool dfg_op_computes(const struct dfg_op *op, enum dfg_dtype dtype);

/*
 * Sets node->out and node->out_holds by the op's rule, after a check of the ranks, and node->out_known if elements are
 * known.
 */
DFG_MUST_CHECK struct dfg_err *dfg_op_shape(struct dfg_infer *node);
