#include "kernels/fft_plan.h"

#include "kernels/special.h"

#include <string.h>

static struct dfg_fft_number times(struct dfg_fft_number a, struct dfg_fft_number b)
{
	return (struct dfg_fft_number){
		a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

static struct dfg_fft_number plus(struct dfg_fft_number a, struct dfg_fft_number b)
{
	return (struct dfg_fft_number){a.real + b.real, a.imaginary + b.imaginary};
}

static struct dfg_fft_number minus(struct dfg_fft_number a, struct dfg_fft_number b)
{
	return (struct dfg_fft_number){a.real - b.real, a.imaginary - b.imaginary};
}

/* -i a */
static struct dfg_fft_number turned(struct dfg_fft_number a)
{
	return (struct dfg_fft_number){a.imaginary, -a.real};
}

static struct dfg_fft_number conjugate(struct dfg_fft_number a)
{
	return (struct dfg_fft_number){a.real, -a.imaginary};
}

/* e^(-2 pi i k / n) for 0 <= k < n. Angles are reduced to an eighth of a turn, where they are exact to half a unit. */
static struct dfg_fft_number root_of_unity(int64_t k, int64_t n)
{
	bool lower = 2 * k > n;
	k = lower ? n - k : k;
	bool left = 4 * k > n;
	int64_t near = left ? n - 2 * k : 2 * k; /* half turns times n */
	bool steep = 4 * near > n;
	double angle = 0x1.921fb54442d18p+0 * ((double)(steep ? n - 2 * near : 2 * near) / (double)n);
	double c = dfg_math_cos(angle), s = dfg_math_sin(angle);
	double x = steep ? s : c, y = steep ? c : s;
	return (struct dfg_fft_number){left ? -x : x, lower ? y : -y};
}

/* Splits n into factors up to 13; false if a larger one is left. */
static bool split(int64_t n, struct dfg_fft_radix *radix)
{
	static const int factors[] = {4, 2, 3, 5, 7, 11, 13};
	radix->n = n;
	radix->factors = 0;
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
		for (; n % factors[i] == 0; n /= factors[i])
			radix->factor[radix->factors++] = factors[i];
	return n == 1;
}

static struct dfg_err *numbers_new(struct dfg_kernel *ctx, int64_t n, struct dfg_fft_number **out_numbers)
{
	if (n > INT64_MAX / 64)
		return DFG_ERR(DFG_DATA, "a transform of length %lld is too long", (long long)n);
	return dfg_kernel_scratch(ctx, (size_t)n * sizeof **out_numbers, (void **)out_numbers);
}

static struct dfg_err *fill_roots(struct dfg_kernel *ctx, struct dfg_fft_radix *radix)
{
	DFG_TRY(numbers_new(ctx, radix->n, &radix->root));
	for (int64_t k = 0; k < radix->n; k++)
		radix->root[k] = root_of_unity(k, radix->n);
	return NULL;
}

/* The sums of r numbers `step` apart with the roots of order r; r is a factor of radix->n. */
static void butterfly(
	const struct dfg_fft_radix *radix, int r, const struct dfg_fft_number *x, int64_t step, struct dfg_fft_number *out)
{
	if (r == 4) {
		struct dfg_fft_number a = plus(x[0], x[2 * step]), b = minus(x[0], x[2 * step]);
		struct dfg_fft_number c = plus(x[step], x[3 * step]), d = turned(minus(x[step], x[3 * step]));
		out[0] = plus(a, c);
		out[1] = plus(b, d);
		out[2] = minus(a, c);
		out[3] = minus(b, d);
		return;
	}
	for (int j = 0; j < r; j++) {
		out[j] = x[0];
		for (int k = 1; k < r; k++)
			out[j] = plus(out[j], times(x[k * step], radix->root[j * k % r * (radix->n / r)]));
	}
}

/* Transforms x, which has space for as many numbers again after it; the result is in either half. */
static struct dfg_fft_number *transform(const struct dfg_fft_radix *radix, struct dfg_fft_number *x)
{
	struct dfg_fft_number *from = x, *to = x + radix->n, sum[16];
	int64_t stride = 1, rest = radix->n;
	for (int f = 0; f < radix->factors; f++) {
		const int r = radix->factor[f];
		rest /= r;
		for (int64_t p = 0; p < rest; p++)
			for (int64_t t = 0; t < stride; t++) {
				butterfly(radix, r, from + t + stride * p, stride * rest, sum);
				for (int j = 0; j < r; j++)
					to[t + stride * (r * p + j)] = times(sum[j], radix->root[p * j * stride]);
			}
		struct dfg_fft_number *done = to;
		to = from;
		from = done;
		stride *= r;
	}
	return from;
}

static struct dfg_err *plan_chirp(struct dfg_kernel *ctx, struct dfg_fft_plan *plan)
{
	int64_t length = 1, n = plan->n;
	struct dfg_fft_number *memory;
	if (n > INT32_MAX)
		return DFG_ERR(DFG_DATA, "a transform of length %lld is too long", (long long)n);
	while (length < 2 * n - 1)
		length *= 2;
	split(length, &plan->radix);
	DFG_TRY(fill_roots(ctx, &plan->radix));
	DFG_TRY(numbers_new(ctx, n, &plan->chirp));
	DFG_TRY(numbers_new(ctx, length, &plan->chirp_image));
	DFG_TRY(numbers_new(ctx, 2 * length, &memory));
	memset(memory, 0, (size_t)length * sizeof *memory);
	for (int64_t j = 0; j < n; j++) {
		plan->chirp[j] = root_of_unity(j * j % (2 * n), 2 * n);
		memory[j] = memory[j ? length - j : 0] = conjugate(plan->chirp[j]);
	}
	memcpy(plan->chirp_image, transform(&plan->radix, memory), (size_t)length * sizeof *memory);
	return NULL;
}

struct dfg_err *dfg_fft_plan(struct dfg_kernel *ctx, int64_t n, bool inverse, struct dfg_fft_plan *out_plan)
{
	*out_plan = (struct dfg_fft_plan){.n = n, .inverse = inverse};
	return split(n, &out_plan->radix) ? fill_roots(ctx, &out_plan->radix) : plan_chirp(ctx, out_plan);
}

/* The convolution of x, times the chirp, with the conjugate chirp. */
static struct dfg_fft_number *convolve(const struct dfg_fft_plan *plan, struct dfg_fft_number *x)
{
	const int64_t length = plan->radix.n;
	for (int64_t j = 0; j < length; j++)
		x[j] = j < plan->n ? times(x[j], plan->chirp[j]) : (struct dfg_fft_number){0, 0};
	struct dfg_fft_number *image = transform(&plan->radix, x);
	for (int64_t j = 0; j < length; j++)
		x[j] = conjugate(times(image[j], plan->chirp_image[j]));
	image = transform(&plan->radix, x);
	for (int64_t k = 0; k < plan->n; k++) {
		image[k] = times(conjugate(image[k]), plan->chirp[k]);
		image[k].real /= (double)length;
		image[k].imaginary /= (double)length;
	}
	return image;
}

struct dfg_fft_number *dfg_fft_run(const struct dfg_fft_plan *plan, struct dfg_fft_number *memory)
{
	for (int64_t j = 0; j < plan->n && plan->inverse; j++)
		memory[j].imaginary = -memory[j].imaginary;
	struct dfg_fft_number *image = plan->chirp ? convolve(plan, memory) : transform(&plan->radix, memory);
	for (int64_t k = 0; k < plan->n && plan->inverse; k++)
		image[k] = (struct dfg_fft_number){image[k].real / (double)plan->n, -image[k].imaginary / (double)plan->n};
	return image;
}
