#include "kernels/fft_plan.h"
#include "kernels/shape_rules.h"

#include <string.h>

/*
 * Fourier transforms over the last one, two or three dimensions. The transforms of one dimension are lines; each pass over a
 * dimension reads and writes the tensor, rounded to its type. That of real numbers keeps the first n / 2 + 1 results, the others
 * being their conjugates; its inverse reads no more.
 */
enum { INPUT, LENGTHS }; /* inputs */

/* Lines of a tensor: element j of a line is at distance j * stride. */
struct side {
	char *data;
	enum dfg_dtype dtype;
	int64_t count;              /* elements of a line */
	int64_t stride;             /* in elements */
	const struct dfg_shape *at; /* of the tensor; the lines run along dimension `axis` */
};

struct pass {
	struct dfg_fft_plan plan;
	struct dfg_fft_number *memory; /* for each block of lines */
	struct side from, to;
	int axis;
	int64_t lines, block;
};

static struct dfg_fft_number read(const struct side *side, int64_t i)
{
	switch (side->dtype) {
	case DFG_C64:
		return (struct dfg_fft_number){(double)((float *)side->data)[2 * i], (double)((float *)side->data)[2 * i + 1]};
	case DFG_C128:
		return (struct dfg_fft_number){((double *)side->data)[2 * i], ((double *)side->data)[2 * i + 1]};
	case DFG_F32:
		return (struct dfg_fft_number){(double)((float *)side->data)[i], 0};
	default:
		return (struct dfg_fft_number){((double *)side->data)[i], 0};
	}
}

static void write(const struct side *side, int64_t i, struct dfg_fft_number x)
{
	switch (side->dtype) {
	case DFG_C64:
		((float *)side->data)[2 * i] = (float)x.real;
		((float *)side->data)[2 * i + 1] = (float)x.imaginary;
		break;
	case DFG_C128:
		((double *)side->data)[2 * i] = x.real;
		((double *)side->data)[2 * i + 1] = x.imaginary;
		break;
	case DFG_F32:
		((float *)side->data)[i] = (float)x.real;
		break;
	default:
		((double *)side->data)[i] = x.real;
	}
}

/* The first element of a line; lines are counted over the tensor `to`, whose other dimensions may be smaller. */
static int64_t start_of(const struct pass *pass, const struct side *side, int64_t line)
{
	int64_t at = 0, step = 1;
	for (int i = side->at->rank - 1; i >= 0; i--) {
		if (i != pass->axis) {
			at += line % pass->to.at->dim[i] * step;
			line /= pass->to.at->dim[i];
		}
		step *= side->at->dim[i];
	}
	return at;
}

static void run_lines(void *arg, int64_t first, int64_t last)
{
	const struct pass *pass = arg;
	struct dfg_fft_number *memory = pass->memory + first / pass->block * dfg_fft_memory(&pass->plan);
	const int64_t n = pass->plan.n;
	for (int64_t line = first; line < last; line++) {
		int64_t from = start_of(pass, &pass->from, line), to = start_of(pass, &pass->to, line);
		for (int64_t j = 0; j < n; j++)
			if (j < pass->from.count)
				memory[j] = read(&pass->from, from + j * pass->from.stride);
			else /* of the inverse of a real transform */
				memory[j] = (struct dfg_fft_number){memory[n - j].real, -memory[n - j].imaginary};
		const struct dfg_fft_number *image = dfg_fft_run(&pass->plan, memory);
		for (int64_t k = 0; k < pass->to.count; k++)
			write(&pass->to, to + k * pass->to.stride, image[k]);
	}
}

static struct side side_of(void *data, enum dfg_dtype dtype, const struct dfg_shape *shape, int axis, int64_t count)
{
	return (struct side){data, dtype, count, dfg_count_between(shape, axis + 1, shape->rank), shape};
}

/* Transforms lines of n along the axis. Both sides may be the same memory if their shapes are equal. */
static struct dfg_err *run_pass(struct dfg_kernel *ctx, struct pass *pass, int axis, int64_t n, bool inverse)
{
	int64_t lines = dfg_shape_count(pass->to.at) / pass->to.at->dim[axis];
	pass->axis = axis;
	pass->block = n < 4096 ? 4096 / n : 1;
	DFG_TRY(dfg_fft_plan(ctx, n, inverse, &pass->plan));
	struct dfg_shape memory = {
		.rank = 2, .dim = {(lines + pass->block - 1) / pass->block, dfg_fft_memory(&pass->plan)}};
	size_t bytes;
	DFG_TRY(dfg_shape_bytes(&memory, DFG_C128, &bytes));
	DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, (void **)&pass->memory));
	dfg_kernel_ranges(ctx, lines, pass->block, run_lines, pass);
	return NULL;
}

/* The number of transformed dimensions, which is the digit in the op's name, or 1. */
static int dims_of(const struct dfg_resolved_node *call)
{
	for (const char *s = call->op->name; *s; s++)
		if (*s >= '0' && *s <= '9')
			return *s - '0';
	return 1;
}

static struct dfg_err *need_dims(const struct dfg_resolved_node *call, const struct dfg_shape *in)
{
	if (in->rank < dims_of(call))
		return DFG_ERR(DFG_DATA, "the input has shape %s, expected at least %d dimension%s", dfg_shape_words(in).s,
			dims_of(call), dims_of(call) == 1 ? "" : "s");
	return NULL;
}

static struct dfg_err *complex_shape(struct dfg_infer *node)
{
	DFG_TRY(need_dims(node->call, node->in[INPUT]));
	node->out[0] = *node->in[INPUT];
	return NULL;
}

static struct dfg_err *transform_complex(struct dfg_kernel *ctx, bool inverse)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT);
	const struct dfg_shape *shape = &in->shape;
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	void *from = in->data;
	for (int axis = shape->rank - 1; axis >= shape->rank - dims_of(ctx->call) && dfg_shape_count(shape); axis--) {
		struct pass pass = {.from = side_of(from, in->dtype, shape, axis, shape->dim[axis]),
			.to = side_of(out->data, out->dtype, shape, axis, shape->dim[axis])};
		DFG_TRY(run_pass(ctx, &pass, axis, shape->dim[axis], inverse));
		from = out->data;
	}
	return NULL;
}

static struct dfg_err *fft(struct dfg_kernel *ctx)
{
	return transform_complex(ctx, false);
}

static struct dfg_err *ifft(struct dfg_kernel *ctx)
{
	return transform_complex(ctx, true);
}

/* The shape of RFFT and IRFFT: fft_length replaces the last dimensions of the input, which must not be shorter. */
static struct dfg_err *real_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[INPUT];
	int dims = dims_of(node->call);
	bool inverse = node->call->op->name[0] == 'I';
	DFG_TRY(need_dims(node->call, in));
	if (!dfg_shape_fits(node->in[LENGTHS], &DFG_SHAPE_VECTOR(dims)))
		return DFG_ERR(
			DFG_DATA, "'fft_length' has shape %s, expected a vector of %d", dfg_shape_words(node->in[LENGTHS]).s, dims);
	if (dfg_dtype_size(node->call->in_dtype[0]) * (inverse ? 1 : 2) !=
		dfg_dtype_size(node->call->out_dtype[0]) * (inverse ? 2 : 1))
		return DFG_ERR(DFG_DATA, "the input is %s and the output %s, expected equal precision",
			dfg_dtype_name(node->call->in_dtype[0]), dfg_dtype_name(node->call->out_dtype[0]));
	node->out[0] = *in;
	for (int i = 0; i < dims; i++) {
		int64_t length = dfg_int_of(node, LENGTHS, i), dim = in->dim[in->rank - dims + i];
		bool known = length != DFG_NOT_KNOWN, halved = i == dims - 1;
		if (known && length < 1)
			return DFG_ERR(DFG_DATA, "'fft_length' contains %lld, expected positive numbers", (long long)length);
		int64_t least = !known ? 0 : halved && inverse ? length / 2 + 1 : length;
		if (dim != DFG_UNKNOWN && dim < least)
			return DFG_ERR(DFG_DATA, "the input has shape %s, expected at least %lld along dimension %d",
				dfg_shape_words(in).s, (long long)least, in->rank - dims + i);
		node->out[0].dim[in->rank - dims + i] = !known ? DFG_UNKNOWN : halved && !inverse ? length / 2 + 1 : length;
	}
	return NULL;
}

static struct dfg_err *rfft(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	const struct dfg_shape *shape = &out->shape;
	int last = shape->rank - 1, dims = dims_of(ctx->call);
	int64_t n = dfg_tensor_int(ctx->in[LENGTHS], dims - 1);
	if (!dfg_shape_count(shape))
		return NULL;
	struct pass pass = {.from = side_of(in->data, in->dtype, &in->shape, last, n),
		.to = side_of(out->data, out->dtype, shape, last, shape->dim[last])};
	DFG_TRY(run_pass(ctx, &pass, last, n, false));
	for (int axis = last - 1; axis > last - dims; axis--) {
		pass.to = pass.from = side_of(out->data, out->dtype, shape, axis, shape->dim[axis]);
		DFG_TRY(run_pass(ctx, &pass, axis, shape->dim[axis], false));
	}
	return NULL;
}

static struct dfg_err *irfft(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, INPUT);
	struct dfg_tensor *out;
	DFG_TRY(dfg_output_now(ctx, &out));
	struct dfg_shape middle = out->shape;
	int last = middle.rank - 1, dims = dims_of(ctx->call);
	size_t bytes;
	void *half = in->data;
	middle.dim[last] = out->shape.dim[last] / 2 + 1;
	DFG_TRY(dfg_shape_bytes(&middle, in->dtype, &bytes));
	if (!dfg_shape_count(&out->shape))
		return NULL;
	struct pass pass;
	const struct dfg_shape *from = &in->shape;
	for (int axis = last - dims + 1; axis < last; axis++) {
		void *data = half;
		if (half == in->data)
			DFG_TRY(dfg_kernel_scratch(ctx, bytes + 1, &half));
		pass = (struct pass){.from = side_of(data, in->dtype, from, axis, middle.dim[axis]),
			.to = side_of(half, in->dtype, &middle, axis, middle.dim[axis])};
		DFG_TRY(run_pass(ctx, &pass, axis, middle.dim[axis], true));
		from = &middle;
	}
	int64_t n = out->shape.dim[last];
	pass = (struct pass){.from = side_of(half, in->dtype, from, last, n / 2 + 1),
		.to = side_of(out->data, out->dtype, &out->shape, last, n)};
	return run_pass(ctx, &pass, last, n, true);
}

#define KERNELS(function)                           \
	{                                               \
		[DFG_C64] = function, [DFG_C128] = function \
	}
#define REAL_KERNELS(function)                     \
	{                                              \
		[DFG_F32] = function, [DFG_F64] = function \
	}
#define COUNT(dims)                                                                         \
	"n = Cast(Prod(Slice(Shape(doutput), ExpandDims(Rank(doutput) - " #dims ", 0), [" #dims \
	"]), [0]), "                                                                            \
	"DstT = Tcomplex)\n"
#define COMPLEX_SIG "<Tcomplex: complex = c64>(input: Tcomplex) -> (output: Tcomplex)"

/* The transform over `dims` dimensions, whose names end in D. */
#define TRANSFORM(D, dims, text)                                    \
	const struct dfg_op dfg_op_FFT##D = {                           \
		.name = "FFT" #D,                                           \
		.doc = "Fourier transform over the last " text,             \
		.sig = COMPLEX_SIG,                                         \
		.shape = complex_shape,                                     \
		.gradient = COUNT(dims) "dinput = IFFT" #D "(doutput) * n", \
		.kernel = KERNELS(fft),                                     \
	};                                                              \
	const struct dfg_op dfg_op_IFFT##D = {                          \
		.name = "IFFT" #D,                                          \
		.doc = "inverse Fourier transform over the last " text,     \
		.sig = COMPLEX_SIG,                                         \
		.shape = complex_shape,                                     \
		.gradient = COUNT(dims) "dinput = FFT" #D "(doutput) / n",  \
		.kernel = KERNELS(ifft),                                    \
	};
TRANSFORM(, 1, "dimension")
TRANSFORM(2D, 2, "two dimensions")
TRANSFORM(3D, 3, "three dimensions")

/* The cotangent of the whole spectrum is 0 where results were left out; elements that were not read have a cotangent of 0. */
#define REAL_GRADIENT(D, last)                                                                          \
	"shape = Shape(doutput)\n"                                                                          \
	"target = ConcatV2([Slice(shape, [0], ExpandDims(Rank(doutput) - 1, 0)), Slice(fft_length, [" #last \
	"], [1])], 0)\n"                                                                                    \
	"spectrum = Pad(doutput, Pack([ZerosLike(shape), target - shape], axis = 1))\n"                     \
	"n = Cast(Prod(fft_length, [0]), DstT = Treal)\n"                                                   \
	"whole = Real(IFFT" #D                                                                              \
	"(spectrum), Tout = Treal) * n\n"                                                                   \
	"dinput = Pad(whole, Pack([ZerosLike(shape), Shape(input) - Shape(whole)], axis = 1))"

/* A result that has a conjugate counts twice. */
#define INVERSE_GRADIENT(D, last)                                                          \
	"spectrum = RFFT" #D                                                                   \
	"(doutput, fft_length, Tcomplex = Tcomplex)\n"                                         \
	"length = Slice(fft_length, [" #last                                                   \
	"], [1])\n"                                                                            \
	"k = Range(0, Reshape(FloorDiv(length, 2), []) + 1, 1)\n"                              \
	"alone = Cast(Equal(k, 0), DstT = Treal) + Cast(Equal(2 * k, length), DstT = Treal)\n" \
	"n = Cast(Prod(fft_length, [0]), DstT = Treal)\n"                                      \
	"whole = spectrum * Cast((2.0 - alone) / n, DstT = Tcomplex)\n"                        \
	"dinput = Pad(whole, Pack([ZerosLike(Shape(whole)), Shape(input) - Shape(whole)], axis = 1))"

#define REAL_TRANSFORM(D, last, text)                                                                                  \
	const struct dfg_op dfg_op_RFFT##D = {                                                                             \
		.name = "RFFT" #D,                                                                                             \
		.doc = "Fourier transform of real numbers over the last " text,                                                \
		.sig = "<Treal: f32|f64 = f32, Tcomplex: complex = c64>(input: Treal, fft_length: i32) -> (output: Tcomplex)", \
		.shape = real_shape,                                                                                           \
		.gradient = REAL_GRADIENT(D, last),                                                                            \
		.kernel = REAL_KERNELS(rfft),                                                                                  \
	};                                                                                                                 \
	const struct dfg_op dfg_op_IRFFT##D = {                                                                            \
		.name = "IRFFT" #D,                                                                                            \
		.doc = "inverse Fourier transform to real numbers over the last " text,                                        \
		.sig = "<Treal: f32|f64 = f32, Tcomplex: complex = c64>(input: Tcomplex, fft_length: i32) -> (output: Treal)", \
		.shape = real_shape,                                                                                           \
		.gradient = INVERSE_GRADIENT(D, last),                                                                         \
		.kernel = REAL_KERNELS(irfft),                                                                                 \
	};
REAL_TRANSFORM(, 0, "dimension")
REAL_TRANSFORM(2D, 1, "two dimensions")
REAL_TRANSFORM(3D, 2, "three dimensions")
