#include "kernels/gemm/micro.h"
#include "lib/base/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct dfg_product_variant *const variants[] = {
#if defined(__x86_64__)
	&dfg_product_avx512,
	&dfg_product_avx2,
#endif
	&dfg_product_generic,
	&dfg_product_mul,
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool is_there(const struct dfg_product_variant *variant)
{
#if defined(__x86_64__)
	if (variant == &dfg_product_avx512)
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
	if (variant == &dfg_product_avx2)
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
	return true;
}

/* Where the compiler's target has fused multiply-adds, the generic functions use them. */
static bool is_fast(const struct dfg_product_variant *variant)
{
#if defined(__FP_FAST_FMAF) && defined(__FP_FAST_FMA)
	(void)variant;
	return true;
#else
	return variant != &dfg_product_generic;
#endif
}

static struct {
	pthread_once_t once;
	const struct dfg_product_variant *variant;
	bool wrong;
} chosen = {.once = PTHREAD_ONCE_INIT};

static void choose(void)
{
	const char *option = getenv("DFG_CPU");
	for (int i = VARIANTS; i--;)
		if (is_there(variants[i]) && is_fast(variants[i]))
			chosen.variant = variants[i];
	if (!option || !*option)
		return;
	chosen.wrong = true;
	for (int i = 0; i < VARIANTS; i++)
		if (!strcmp(option, variants[i]->option) && is_there(variants[i])) {
			chosen.variant = variants[i];
			chosen.wrong = false;
		}
}

const struct dfg_product_variant *dfg_product_variant(void)
{
	static const struct dfg_product_variant *known; /* spares small products the call */
	const struct dfg_product_variant *variant = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (variant)
		return variant;
	pthread_once(&chosen.once, choose);
	__atomic_store_n(&known, chosen.variant, __ATOMIC_RELAXED);
	return chosen.variant;
}

const char *dfg_product_name(void)
{
	return dfg_product_variant()->name;
}

const char *dfg_product_fingerprint(void)
{
	return dfg_product_variant()->fingerprint;
}

struct dfg_err *dfg_product_cpu(void)
{
	dfg_product_variant();
	if (!chosen.wrong)
		return NULL;
	struct dfg_text names = {0};
	for (int i = 0; i < VARIANTS; i++)
		if (is_there(variants[i]))
			dfg_text_add(&names, "%s%s", names.length ? ", " : "", variants[i]->option);
	struct dfg_err *err =
		DFG_ERR(DFG_CONFIG, "the environment variable DFG_CPU is '%.100s': this processor can be one of: %s",
			getenv("DFG_CPU"), names.s ? names.s : "generic");
	dfg_text_release(&names);
	return err;
}

static const struct dfg_product_functions *functions(enum dfg_dtype dtype)
{
	const struct dfg_product_variant *variant = dfg_product_variant();
	return dtype == DFG_F32 ? variant->f32 : dtype == DFG_F64 ? variant->f64 : dfg_product_i32;
}

void dfg_product_f32(const struct dfg_product *p, const float *a, const float *b, float *c)
{
	functions(DFG_F32)->product(p, a, b, c);
}

void dfg_product_f64(const struct dfg_product *p, const double *a, const double *b, double *c)
{
	functions(DFG_F64)->product(p, a, b, c);
}

int64_t dfg_product_strip(enum dfg_dtype dtype)
{
	return functions(dtype)->strip;
}

void dfg_product_pack(
	const struct dfg_product *p, enum dfg_dtype dtype, const void *b, int64_t first, int64_t last, void *out)
{
	functions(dtype)->pack(p, b, first, last, out);
}

void dfg_product_packed(const struct dfg_product *p, enum dfg_dtype dtype, const void *a, const void *packed, void *c)
{
	functions(dtype)->packed(p, a, packed, c);
}

void dfg_product_gathered(
	const struct dfg_gathered *g, enum dfg_dtype dtype, const void *a, const void *packed, void *c)
{
	functions(dtype)->gathered(g, a, packed, c);
}
