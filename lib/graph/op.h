#pragma once

#include "lib/graph/tensor.h"

/*
 * An op is a declaration: all that varies with the op is data in kernels/, all that walks a graph is one file that
 * names no op.
 *
 * To add an op:
 *   1. a row in a family's table (kernels/elementwise.def), or a file of its own that defines dfg_op_<Name>
 *      (kernels/matmul.c; '>' in a name is '_' in the symbol);
 *   2. a few lines in tests/ops/<stem>.t, values from an independent source.
 * No other file changes: make collects the symbols dfg_op_*. Forget something and `make check` says which: every op
 * has a doc, a case, a kernel, row or role, and exactly one of gradient, gradient_fn and DFG_NO_GRADIENT.
 */

enum { DFG_ATTR_MAX = 16, DFG_PARAM_MAX = 8, DFG_PORT_MAX = 16 };

enum dfg_op_flags {
	DFG_NO_GRADIENT = 1 << 0, /* has none: `grad` refuses to go through. Where nothing flows, .gradient is "" instead */
	DFG_STATEFUL = 1 << 1,  /* not folded, not merged with its like, not recomputed, not dropped if it has no outputs */
	DFG_EXPENSIVE = 1 << 2, /* goes to the pool instead of running where it became ready */
	DFG_ANY_RANK = 1 << 3,  /* its shape function copes with inputs of unknown rank; others are not called then */
	DFG_COMMUTATIVE = 1 << 4, /* its two inputs may change places */
	DFG_VIEW = 1 << 5,        /* output 0 may be a view of input 0's elements */
	DFG_IN_PLACE = 1 << 6,    /* the kernel may write output 0 into input 0's room, if nobody else reads that */
	DFG_EXACT = 1 << 7,       /* same bits on every machine: may be folded into files */
	DFG_BLOCKING = 1 << 8,    /* may wait for another op: queues, receive */
	DFG_BROADCASTS = 1 << 9,  /* stretches its inputs to a common shape, though .shape is its own */
	DFG_ANALYTIC = 1 << 10,   /* of complex numbers: .gradient is read with cotangents conjugated, before and after */
	/*
	 * Access to the states whose handles or refs are the op's inputs. A queue has two ends, so that an enqueue and a
	 * dequeue need no order; every other state has one, and a write changes both.
	 */
	DFG_READS = 1 << 11,
	DFG_PUTS = 1 << 12,
	DFG_TAKES = 1 << 13,
	DFG_WRITES = DFG_PUTS | DFG_TAKES,
	DFG_KNOWS_MATRICES = 1 << 14, /* its rules read known values of rank 2 by rows, or copy them; others see none */
};

/* The few ops that the executor and the passes know by what they do, never by name. */
enum dfg_role {
	DFG_PLAIN,
	DFG_CONST,
	DFG_PLACEHOLDER,         /* must be fed */
	DFG_PLACEHOLDER_DEFAULT, /* may be fed */
	DFG_IDENTITY,            /* output i is input i */
	DFG_NO_OP,
	DFG_VARIABLE, /* makes a handle (resource) or a ref */
	DFG_READ,     /* value of the variable in input 0 */
	DFG_ASSIGN,   /* writes input 1 to the variable in input 0 */
	DFG_SWITCH,
	DFG_MERGE,
	DFG_ENTER,
	DFG_EXIT,
	DFG_NEXT_ITERATION,
	DFG_LOOP_COND,
	DFG_SAVE, /* of a value in a loop, under the loop's index, and the reading of it elsewhere: kernels/save.c */
	DFG_LOAD,
	DFG_CONTROL_TRIGGER,
	DFG_SLEEP, /* output 0 is input 0, after the seconds in input 1 */
	DFG_SEND,  /* the ends of an edge between devices: kernels/send.c */
	DFG_RECV,
	DFG_CALL, /* functional: lowered before it runs */
};

/* The predicates of roles, which alone depend on the order above. A primitive of control flow: */
static inline bool dfg_role_is_flow(enum dfg_role role)
{
	return role >= DFG_SWITCH && role <= DFG_LOOP_COND;
}

/* A primitive of control flow, or a value kept for each iteration of a loop. */
static inline bool dfg_role_is_flow_or_saved(enum dfg_role role)
{
	return dfg_role_is_flow(role) || role == DFG_SAVE || role == DFG_LOAD;
}

/* Its execution needs more than its inputs: branches, iterations, time, another device or a function. */
static inline bool dfg_role_is_structural(enum dfg_role role)
{
	return role >= DFG_SWITCH && role <= DFG_CALL;
}

/* A constant of a file, as the file had it, so that writing it again gives the same bytes. data may be unaligned. */
struct dfg_literal {
	enum dfg_dtype dtype;
	struct dfg_shape shape; /* known */
	bool content;           /* written as one run of bytes, not as a list of values */
	int64_t given;          /* elements at data: all, or fewer, and the last repeats (none: zeros) */
	const void *data;       /* elements of dtype; strings as struct dfg_string. Borrowed from arena or mapped file */
	/* Handles and variants are only kept: data is the file's TensorProto, canonical, and given counts its bytes. */
};

/* Bytes at data. */
size_t dfg_literal_bytes(const struct dfg_literal *literal);

/* All elements: borrowed where they are there and aligned, else with a buffer. */
DFG_MUST_CHECK struct dfg_err *dfg_literal_tensor(const struct dfg_literal *literal, struct dfg_tensor *out_tensor);

/* The first elements, `most` of them or all, as a vector; the cost does not depend on how many the shape declares. */
DFG_MUST_CHECK struct dfg_err *dfg_literal_first(
	const struct dfg_literal *literal, int64_t most, struct dfg_tensor *out_tensor);

/* A function and its attributes, as an attribute. */
struct dfg_func {
	const char *name;
	const struct dfg_attr *attr;
	uint32_t n_attr;
};

/* An attribute's value. The declaration, or struct dfg_attr's kind, says which member is meant. */
union dfg_value {
	bool b;
	int64_t i;
	double f; /* a float of the file, widened */
	enum dfg_dtype dtype;
	struct dfg_string s; /* not always ended by 0 */
	const struct dfg_shape *shape;
	const struct dfg_literal *tensor;
	const struct dfg_func *func;
	const struct dfg_list *list;
};

enum dfg_attr_kind {
	DFG_ATTR_NONE, /* the oneof is not set */
	DFG_ATTR_STRING,
	DFG_ATTR_INT,
	DFG_ATTR_FLOAT,
	DFG_ATTR_BOOL,
	DFG_ATTR_DTYPE, /* a ref type keeps its + 100 */
	DFG_ATTR_SHAPE,
	DFG_ATTR_TENSOR,
	DFG_ATTR_FUNC,
	DFG_ATTR_PLACEHOLDER, /* the name of an attribute of the function: in .s */
	DFG_ATTR_LIST,
};

struct dfg_list {
	enum dfg_attr_kind kind; /* of the items; an empty list of a file has DFG_ATTR_NONE */
	uint32_t count;
	const union dfg_value *item;
};

/* An attribute of a node, as the file has it. */
struct dfg_attr {
	const char *name;
	enum dfg_attr_kind kind;
	union dfg_value value;
};

/*
 * A signature, parsed: "<T: float, N: int>(x: N * T, axis: i32, flow: ref T) -> (y: T, z: [Tlist])".
 * Type parameters are attributes of the node. `<T: float>` is a type of that class, `<T: float = f32>` has a default,
 * `<N: int>` counts a list of equal types (N * T), one at least, or as many as `<N: int >= 2>` says, `<L: [type]>` is a list
 * of types, one an item of the port `x: L`.
 */
struct dfg_param {
	char name[24];
	uint64_t types; /* allowed; 0 for a count */
	bool is_list;
	enum dfg_dtype default_dtype; /* DFG_NO_DTYPE: none */
	int least;                    /* of a count */
};
struct dfg_port {
	char name[32];
	int16_t type;  /* parameter number, or -1 and dtype is fixed */
	int16_t count; /* parameter number of N, or -1 */
	bool is_list;  /* one tensor an item of the type list parameter */
	bool is_ref;
	enum dfg_dtype dtype;
};
struct dfg_attr_decl {
	char name[32];
	enum dfg_attr_kind kind;
	bool is_list, has_default;
	union dfg_value value; /* the default */
	const char *allowed;   /* "SAME|VALID", in the declaration's text; NULL: any */
	int64_t least;         /* of an int, or of a list's length; INT64_MIN: any */
};
struct dfg_signature {
	int n_param, n_in, n_out, n_attr;
	struct dfg_param param[DFG_PARAM_MAX];
	struct dfg_port in[DFG_PORT_MAX], out[DFG_PORT_MAX];
	struct dfg_attr_decl attr[DFG_ATTR_MAX];
};

/*
 * A node with all that its declaration says worked out: attributes in the order of op->attr with defaults filled in,
 * parameters in the order of the signature, ports counted and typed. Made once a node, before the first step; read-only.
 */
struct dfg_call {
	const struct dfg_op *op;
	const struct dfg_signature *signature;
	const union dfg_value *attr;
	const union dfg_value *param;         /* .dtype, .i of a count, .list of a type list */
	uint16_t n_in, n_out;                 /* tensors, lists spread out */
	const uint8_t *in_dtype, *out_dtype;  /* enum dfg_dtype, a tensor each */
	const uint16_t *in_first, *out_first; /* by port: its first tensor; one more entry than ports */
	uint8_t in_ref, out_ref;              /* bit i: port i is a ref */
	uint32_t alike;   /* calls with the same number, not 0, differ only in `node`: lib/graph/facts.h */
	const char *node; /* the node's name; messages read "node 'fc1' (MatMul): ...": dfg_call_note() */
};

/* Whether tensor i of the inputs, or of the outputs, is a ref. */
bool dfg_call_in_is_ref(const struct dfg_call *call, int i);
bool dfg_call_out_is_ref(const struct dfg_call *call, int i);

/* Puts "node 'fc1' (MatMul): " in front of an error; NULL stays NULL. */
DFG_MUST_CHECK struct dfg_err *dfg_call_note(struct dfg_err *err, const struct dfg_call *call);

/* A small integer tensor (of rank 2 only in ops of DFG_KNOWS_MATRICES) as far as it is known before the graph runs. */
struct dfg_known_value {
	int rank;
	int64_t count;
	int64_t v[]; /* by rows; DFG_NOT_KNOWN where it is not */
};
#define DFG_NOT_KNOWN INT64_MIN

/* What a resource handle refers to. */
struct dfg_handle_type {
	enum dfg_dtype dtype;
	struct dfg_shape shape;
};

/*
 * What a shape function sees. The arrays belong to the caller; out is preset to unknown ranks. in[i] may have unknown
 * dims, its rank only under DFG_ANY_RANK. known[i] is NULL where nothing is known of input i's elements.
 */
struct dfg_infer {
	const struct dfg_call *call;
	const struct dfg_shape *const *in;
	const struct dfg_known_value *const *known;
	const struct dfg_handle_type *const *in_holds; /* by input, of resources and refs; NULL where not known */
	struct dfg_shape *out;
	const struct dfg_known_value **out_known; /* set by op->known, preset to NULL */
	const struct dfg_handle_type **out_holds; /* preset to NULL */
	struct dfg_arena *arena;                  /* lives as long as the results */
};

struct dfg_kernel;   /* what a kernel sees: lib/graph/kernel.h */
struct dfg_gradient; /* what a gradient in C sees: lib/pass/grad/grad.h */

/*
 * One op, constant and complete when the program starts. Fields that an op does not need are left out.
 * Tables indexed by dtype go by the first type parameter of the signature.
 */
struct dfg_op {
	const char *name;
	const char *doc;                /* one line, for `dfg ops` and dfg-ops(7) */
	const char *sig;                /* "<T: float>(x: T) -> (y: T)": type parameters, inputs, outputs */
	const char *attr[DFG_ATTR_MAX]; /* "transpose_a: bool = false", "padding: string = 'SAME' in SAME|VALID" */
	unsigned flags;
	enum dfg_role role;

	/* NULL: the shape that all inputs broadcast to. Refuses what can never run. */
	struct dfg_err *(*shape)(struct dfg_infer *node);

	/* What can be said of a small integer output before the step, where inputs are known only in part: Shape, Pack, ... */
	struct dfg_err *(*known)(struct dfg_infer *node);

	/* Statements in the language: read the inputs, outputs, attributes and d<output>; bind d<input>. */
	const char *gradient;
	struct dfg_err *(*gradient_fn)(struct dfg_gradient *node);

	/* An elementwise op has rows: out[i] from in[..][i]; out may be one of the inputs. Any other op has kernels. */
	void (*row[DFG_DTYPES])(int64_t n, void *out, const void *const *in, const union dfg_value *attr);
	struct dfg_err *(*kernel[DFG_DTYPES])(struct dfg_kernel *ctx);
	/* For every dtype that has no kernel of its own; where there are rows, for operands that do not broadcast. */
	struct dfg_err *(*run)(struct dfg_kernel *ctx);

	/* Before a row runs: refuses what it cannot compute, such as a zero divisor. */
	struct dfg_err *(*guard)(struct dfg_kernel *ctx);
	unsigned guard_reads; /* bit i: it looks at elements of input i; types and shapes of all it may know */
};

/* Fills one of the tables above: .kernel = {DFG_EACH_number(DFG_BY_DTYPE, matmul)} */
#define DFG_BY_DTYPE(NAME, name, type, number, stem) [DFG_##NAME] = stem##_##name,

/* All ops, by name in byte order; made from the symbols that exist. */
extern const struct dfg_op *const dfg_ops[];
extern const size_t dfg_ops_count;

/* NULL where there is no such op. */
const struct dfg_op *dfg_op_find(const char *name);

/* The nearest name there is, or NULL. */
const char *dfg_op_nearest(const char *name);

/* "no op 'MatMull'; did you mean 'MatMul'?" */
DFG_MUST_CHECK struct dfg_err *dfg_op_missing(const char *name);

/* Parsed on first use and kept for the life of the program; any thread. A declaration that does not parse is DFG_BUG. */
DFG_MUST_CHECK struct dfg_err *dfg_op_signature(const struct dfg_op *op, const struct dfg_signature **out_signature);

/* Number of the attribute in op->attr, or -1. */
int dfg_op_attr(const struct dfg_signature *signature, const char *name);

/* Whether some kernel or row computes this op in this dtype; halves count where f32 does. */
bool dfg_op_computes(const struct dfg_op *op, enum dfg_dtype dtype);

/* Fills node->out (and holds) by the op's rule, the ranks being checked; adds node->out_known where something is known. */
DFG_MUST_CHECK struct dfg_err *dfg_op_shape(struct dfg_infer *node);
