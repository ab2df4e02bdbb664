#pragma once

#include "lib/graph/op.h"

/*
 * The context of a running kernel. A kernel is pure: it allocates only through this, keeps nothing, uses no globals and
 * may run on any thread. It reads its inputs and writes only the outputs that dfg_kernel_output() returns. It checks
 * indices and sizes that come from values again.
 */
struct dfg_kernel {
	const struct dfg_resolved_node *call;
	struct dfg_tensor *const *in;
	struct dfg_tensor *const *out;
	const struct dfg_kernel_services *host;
	void *runner; /* private to the host */
};

/*
 * A kernel that cannot continue yet (a queue is empty) requests a pause and returns, so that no thread waits. It is run
 * again with the same pause after wake has been called, once; if its step ends earlier, it is abandoned instead.
 */
struct dfg_pause {
	void (*wake)(struct dfg_pause *pause); /* the host's; any thread */
	void *attempt;                         /* the kernel's own, as is abandon: gives back what the attempt holds */
	void (*abandon)(struct dfg_pause *pause);
};

/*
 * How a kernel prepares one of its inputs: it computes memory, such as packed weights, from the input's elements. The form
 * is all else that the result of `make` depends on.
 */
struct dfg_preparation {
	size_t bytes;
	void (*make)(struct dfg_kernel *ctx, const struct dfg_preparation *preparation, const void *elements, void *out);
	const void *arg; /* for make; what it points to may differ where the form is the same */
	int64_t form[6];
};

/* The tiles of Winograd's convolutions, F(2,3) or F(4,3), whose sums differ in their last bits from direct ones. */
enum dfg_winograd { DFG_WINOGRAD_2, DFG_WINOGRAD_4, DFG_NO_WINOGRAD };

/* The services for kernels, implemented by the executor and by constant folding (lib/graph/eval.c). */
struct dfg_kernel_services {
	/* Memory of at least `bytes` for output i, whose planned memory is too small. */
	struct dfg_err *(*grow)(struct dfg_kernel *ctx, int i, size_t bytes);
	/* Memory until the kernel returns, aligned to DFG_ALIGN, not zeroed. */
	struct dfg_err *(*scratch)(struct dfg_kernel *ctx, size_t bytes, void **out_memory);
	/* Calls part(arg, i) for each i in [0, n) on all threads; the order of the parts is undefined. */
	void (*parallel)(struct dfg_kernel *ctx, int64_t n, void (*part)(void *arg, int64_t i), void *arg);
	/* Input i as a tensor to keep: a reference if its buffer is counted, else a copy. */
	struct dfg_err *(*keep)(struct dfg_kernel *ctx, int i, struct dfg_tensor *out_tensor);
	/* Sets output i to this tensor, without a copy where possible. Takes the tensor's reference. */
	struct dfg_err *(*give)(struct dfg_kernel *ctx, int i, struct dfg_tensor *tensor);
	/* Variables and other state by name; NULL if the host has none. */
	struct dfg_state *(*state)(struct dfg_kernel *ctx);
	/* The variable that input i, a ref, refers to (lib/exec/state/state.h); NULL if it is not a ref. */
	struct dfg_variable *(*ref)(struct dfg_kernel *ctx, int i);
	/* Makes output i a ref to the variable. */
	struct dfg_err *(*give_ref)(struct dfg_kernel *ctx, int i, struct dfg_variable *variable);
	/*
	 * Whether input i has no other reader and no other holder of its buffer, so that it may be overwritten: see
	 * DFG_IN_PLACE.
	 */
	bool (*alone)(struct dfg_kernel *ctx, int i);
	/* The pause that preceded this run, or NULL; and a new pause. */
	struct dfg_pause *(*paused)(struct dfg_kernel *ctx);
	struct dfg_err *(*pause)(struct dfg_kernel *ctx, struct dfg_pause **out_pause);
	/* Tells the caller of the step that the node stores an element of an array; NULL: the host has no such caller. */
	struct dfg_err *(*element)(struct dfg_kernel *ctx, int64_t index, const struct dfg_tensor *value);
	/* dfg_kernel_kept(); NULL: no input is constant. */
	struct dfg_err *(*kept)(struct dfg_kernel *ctx, int i, const struct dfg_preparation *preparation,
		const void *elements, const void **out_memory);
	/* The tile for a node whose weights are constant in the whole graph; for other nodes, or where NULL: none. */
	enum dfg_winograd (*winograd)(struct dfg_kernel *ctx);
};

static inline const struct dfg_tensor *dfg_kernel_input(const struct dfg_kernel *ctx, int i)
{
	return ctx->in[i];
}

static inline const union dfg_value *dfg_kernel_attr(const struct dfg_kernel *ctx)
{
	return ctx->call->attr;
}

/* Output i with the given shape and the dtype of its port, contents undefined (objects: zero). Belongs to the step. */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_output(
	struct dfg_kernel *ctx, int i, const struct dfg_shape *shape, struct dfg_tensor **out_tensor);

/* Output i has the elements of input j, seen in another shape with as many elements: Identity, Reshape. No copy. */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_view(struct dfg_kernel *ctx, int i, int j, const struct dfg_shape *shape);

/* Element e of output i, a string tensor, becomes a copy of the bytes. */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_string(
	struct dfg_kernel *ctx, int i, int64_t e, const void *bytes, size_t length);

DFG_MUST_CHECK static inline struct dfg_err *dfg_kernel_scratch(struct dfg_kernel *ctx, size_t bytes, void **out_memory)
{
	return ctx->host->scratch(ctx, bytes, out_memory);
}

/*
 * Prepares input i, whose elements are given, once for all steps; *out_memory is NULL where the input may change from step
 * to step, or where there is no memory to keep it. dfg_kernel_prepared() then prepares it until the kernel returns.
 */
DFG_MUST_CHECK struct dfg_err *dfg_kernel_kept(struct dfg_kernel *ctx, int i, const struct dfg_preparation *preparation,
	const void *elements, const void **out_memory);
DFG_MUST_CHECK struct dfg_err *dfg_kernel_prepared(struct dfg_kernel *ctx, int i,
	const struct dfg_preparation *preparation, const void *elements, const void **out_memory);

/* The tile for this node: see enum dfg_winograd. */
static inline enum dfg_winograd dfg_kernel_winograd(struct dfg_kernel *ctx)
{
	return ctx->host->winograd ? ctx->host->winograd(ctx) : DFG_NO_WINOGRAD;
}

/*
 * Splits [0, n) into blocks of `block` items, the same whatever the number of threads, so that results are too; calls
 * range(arg, first, last) for each. Items, not bytes: choose the block so that one is some 20 us of work or more.
 */
typedef void dfg_range_fn(void *arg, int64_t first, int64_t last);
void dfg_kernel_ranges(struct dfg_kernel *ctx, int64_t n, int64_t block, dfg_range_fn *range, void *arg);

/* The number of items in a block of some `work` units of work, of which an item has `each`; at least 1. */
static inline int64_t dfg_kernel_block(int64_t each, int64_t work)
{
	return each < work ? work / (each > 0 ? each : 1) : 1;
}

/* The dtype that is the index of an op's tables: the first type parameter, or DFG_NO_DTYPE if there is none. */
enum dfg_dtype dfg_kernel_dtype(const struct dfg_resolved_node *call);

/* The function that runs the node: the op's kernel, the one of all ops with rows, or the one that widens halves. */
typedef struct dfg_err *dfg_run_fn(struct dfg_kernel *ctx);
DFG_MUST_CHECK struct dfg_err *dfg_kernel_find(const struct dfg_resolved_node *call, dfg_run_fn **out_run);

/* The kernel of all ops with rows; operands that broadcast are repeated tile by tile. */
DFG_MUST_CHECK struct dfg_err *dfg_elementwise_run(struct dfg_kernel *ctx);

/*
 * The row that computes a node whose operands, at most DFG_ROW_OPERANDS, do not broadcast: elements [0, n) of the
 * output from those of the inputs. The op's guard must be called first. NULL if the op has no row, or for halves.
 */
enum { DFG_ROW_OPERANDS = 4 };
dfg_row_fn *dfg_kernel_row(const struct dfg_resolved_node *call);

/* Runs the op's f32 kernel on widened inputs, then rounds its outputs. */
DFG_MUST_CHECK struct dfg_err *dfg_half_run(struct dfg_kernel *ctx);

/*
 * Runs one node by itself, on this thread, without state, for constant folding and tests. in are borrowed; the caller
 * releases out_tensors, also after an error. DFG_DATA: the kernel requested more than `most` bytes at once, for an
 * output or as scratch.
 */
DFG_MUST_CHECK struct dfg_err *dfg_eval(const struct dfg_resolved_node *call, const struct dfg_tensor *const *in,
	size_t most, struct dfg_tensor *out_tensors);
