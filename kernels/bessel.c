#include "kernels/chebyshev.h"
#include "kernels/elementwise_rows.h" /* undefines bool */

/*
 * Bessel functions of orders 0 and 1, by Chebyshev series of functions that are smooth on an interval: near 0 in x or x^2,
 * and in 1/x or 1/x^2 beyond it (Abramowitz and Stegun 9.7, 9.2.5). The logarithm of K and Y is split off.
 */
/* e^-x I0(x) in x in [0, 8]: 2^-55. */
static const double i0_near[] = {
	0x1.5a84e9035a22ap-2,
	-0x1.37febc057cd8dp-2,
	0x1.5f7ac77ac88cp-3,
	-0x1.84b70342d06eap-4,
	0x1.93e8acea8a32dp-5,
	-0x1.84e9ef121b6fp-6,
	0x1.59961f3dde3ddp-7,
	-0x1.1b65e201aa849p-8,
	0x1.adc758a12100ep-10,
	-0x1.2e2fd1f15eb52p-11,
	0x1.8b51b74107cabp-13,
	-0x1.e2b2659c41d5ap-15,
	0x1.13f58be9a2859p-16,
	-0x1.2866fcba56427p-18,
	0x1.2bf24978cf4acp-20,
	-0x1.1ec638f227f8dp-22,
	0x1.03b769d4d6435p-24,
	-0x1.beaf68c0b30abp-27,
	0x1.6d903a454cb34p-29,
	-0x1.1d4fe13ae9556p-31,
	0x1.a98becc743c1p-34,
	-0x1.2fc957a946abcp-36,
	0x1.9fe2fe19bd324p-39,
	-0x1.1164c62ee1afp-41,
	0x1.59b464b262627p-44,
	-0x1.a5022c297fbebp-47,
	0x1.ee6d893f65ebap-50,
	-0x1.184eb721ebbb4p-52,
	0x1.33362977da589p-55,
	-0x1.45cb72134d0efp-58,
};

/* e^-x I1(x) / x in x in [0, 8]: 2^-56. */
static const double i1_near[] = {
	0x1.02a63724a7ffap-3,
	-0x1.694d10469192ep-3,
	0x1.a46dad536f53cp-4,
	-0x1.b1bbc537c9ebcp-5,
	0x1.951e3e7bb2349p-6,
	-0x1.5a29f7913a26ap-7,
	0x1.1065349d3a1b4p-8,
	-0x1.8cc620b3cd4a4p-10,
	0x1.0c95db6c6df7dp-11,
	-0x1.533cad3d694fep-13,
	0x1.911b542c70d0bp-15,
	-0x1.bd5f9b8debbcfp-17,
	0x1.d1c4ed511afc5p-19,
	-0x1.cc0798363992ap-21,
	0x1.ae344b347d108p-23,
	-0x1.7dd3e24b8c3e8p-25,
	0x1.4258e0239501p-27,
	-0x1.0361b28ea67e6p-29,
	0x1.8ea34b43fdf6cp-32,
	-0x1.2510397eb07dep-34,
	0x1.9cee2b21d3154p-37,
	-0x1.173835fb70366p-39,
	0x1.6af784779d955p-42,
	-0x1.c628e1c8f0b3bp-45,
	0x1.11d7f0615290cp-47,
	-0x1.3eaaa7e0d1573p-50,
	0x1.663e3e593bfacp-53,
	-0x1.857d0c38a0576p-56,
	0x1.99f2a0c3c4014p-59,
};

/* sqrt(x) e^-x I0(x) in 1/x in [0, 1/8]: 2^-55. */
static const double i0_far[] = {
	0x1.9be62aca809cbp-2,
	0x1.b998ca2e59049p-9,
	0x1.20fa378999e52p-14,
	0x1.8412bc101c586p-19,
	0x1.b8007d9cd616ep-23,
	0x1.8569280d6d56dp-26,
	0x1.d2c64a9225b87p-29,
	0x1.0f9ccc0f46f75p-31,
	0x1.a24feabe8004fp-37,
	-0x1.1511d08397425p-35,
	-0x1.d0fd7357e7bf2p-37,
	-0x1.f904303178d66p-40,
	0x1.94347fa268cecp-41,
	0x1.b1c8c6b83c073p-42,
	0x1.156ff0d5fc545p-46,
	-0x1.75d99cf68bb32p-45,
	-0x1.583fe7e65629ap-47,
	0x1.12a919094e6d7p-48,
	0x1.fee7da3eafb1fp-50,
	-0x1.8aee7d908de38p-52,
	-0x1.4600babd21fe4p-52,
	0x1.3f3dd076041cdp-55,
	0x1.9be1812d98421p-55,
	-0x1.646da6611912fp-58,
	-0x1.0adb754ca8b1ap-57,
};

/* sqrt(x) e^-x I1(x) in 1/x in [0, 1/8]: 2^-56. */
static const double i1_far[] = {
	0x1.8ea18b55b1514p-2,
	-0x1.3fda053fcdb4cp-7,
	-0x1.cfd7f804aa9a6p-14,
	-0x1.048df49ca0373p-18,
	-0x1.0dbfd2e9e5443p-22,
	-0x1.c415394bb46c1p-26,
	-0x1.0790b9ad53528p-28,
	-0x1.334ca5423dd8p-31,
	-0x1.4dcf9d4504c0cp-36,
	0x1.1e1a1f1587865p-35,
	0x1.f101f653c457bp-37,
	0x1.1e7d3f6439fa3p-39,
	-0x1.953e1076ab493p-41,
	-0x1.cbc458e73e255p-42,
	-0x1.7a9482e6d22ap-46,
	0x1.80d3c26b3281ep-45,
	0x1.776e1762d31e8p-47,
	-0x1.12db5138afbc7p-48,
	-0x1.0efcd8bc4d22ap-49,
	0x1.7d68e5f04a2dp-52,
	0x1.55915fceb588ap-52,
	-0x1.2806c9c773321p-55,
	-0x1.acea3b2532276p-55,
	0x1.45b8aea87b94cp-58,
	0x1.1556db352e8e8p-57,
};

/* K0(x) + log(x / 2) I0(x) in x^2 in [0, 4]: 2^-56. */
static const double k0_near[] = {
	-0x1.12166e9d2f61fp-2,
	0x1.608d881213db9p-2,
	0x1.26bf6554a9085p-5,
	0x1.4b82e75633d73p-10,
	0x1.7f900fe8cfcap-16,
	0x1.102bce7f95efcp-22,
	0x1.05c1367e58a13p-29,
	0x1.6c25c475120bep-37,
	0x1.7fb0ac384a073p-45,
	0x1.3cee1e6b887dcp-53,
};

/* x (K1(x) - log(x / 2) I1(x)) in x^2 in [0, 4]: 2^-57. */
static const double k1_near[] = {
	0x1.867a1361008cap-1,
	-0x1.69a1b757b0dd4p-2,
	-0x1.f637243c1db74p-4,
	-0x1.c92939d7d4192p-8,
	-0x1.6ade2e5a3bd02p-13,
	-0x1.469b32c832e3ap-19,
	-0x1.7c41d145c31dp-26,
	-0x1.3663bb84626cap-33,
	-0x1.77502ddd0e045p-41,
	-0x1.5dd517a0399ep-49,
	-0x1.032283d3cda56p-57,
};

/* sqrt(x) e^x K0(x) in 1/x in [0, 1/2]: 2^-56. */
static const double k0_far[] = {
	0x1.385bd9f4e6907p+0,
	-0x1.019f72d4ff71ep-5,
	0x1.9b891fca79342p-10,
	-0x1.0d797e7889f42p-13,
	0x1.d413fcc7470a9p-17,
	-0x1.ebb547f18d3a9p-20,
	0x1.2915981e3e46fp-22,
	-0x1.905541b54f2afp-25,
	0x1.269a0033f428ep-27,
	-0x1.d29d5f22bf5e2p-30,
	0x1.8956c819ff63dp-32,
	-0x1.5df95d2e7ca15p-34,
	0x1.46808475fbf4dp-36,
	-0x1.3dafc3f00540bp-38,
	0x1.40fa32fcce645p-40,
	-0x1.4f87721a3b2dbp-42,
	0x1.69c4ecd913e48p-44,
	-0x1.9145ebaf9922fp-46,
	0x1.c8d9c4a6808e8p-48,
	-0x1.0a690ed1130dp-49,
	0x1.3dbf96cd7929dp-51,
	-0x1.82f947bd75936p-53,
	0x1.e092e5c062a6ap-55,
	-0x1.2feccb331b557p-56,
	0x1.871a5cf6ebbb5p-58,
};

/* sqrt(x) e^x K1(x) in 1/x in [0, 1/2]: 2^-56. */
static const double k1_far[] = {
	0x1.5c3d7aa062c8ap+0,
	0x1.a9abef9e023fbp-4,
	-0x1.76946be66b48ap-9,
	0x1.9965888f6908ep-13,
	-0x1.44d711dcdb2e5p-16,
	0x1.42fe31752d1b6p-19,
	-0x1.780528fada5c6p-22,
	0x1.ed27c668fc461p-25,
	-0x1.637a49fe1e088p-27,
	0x1.14f242a73d252p-29,
	-0x1.ccbc00365cf5fp-32,
	0x1.956d008a43059p-34,
	-0x1.76b539401d12cp-36,
	0x1.69ab846c05207p-38,
	-0x1.6adec61fc71a4p-40,
	0x1.78ffa0409e616p-42,
	-0x1.94465d4c8014bp-44,
	0x1.be3e9590877a3p-46,
	-0x1.f9d52362a3ep-48,
	0x1.25cedf006519fp-49,
	-0x1.5d2a3d9ce2a5p-51,
	0x1.a7d5e4c65543cp-53,
	-0x1.0661525866f5ap-54,
	0x1.4af1aa55c043fp-56,
	-0x1.a8c5d42a4b314p-58,
};

/* J0(x) in x^2 in [0, 64]: 2^-55. */
static const double j0_near[] = {
	0x1.4306e1f9314dbp-3,
	-0x1.1dd989ce98ea2p-7,
	0x1.0f8afb7d3a552p-2,
	-0x1.7afa2e9c62a9ep-2,
	0x1.43b8af58b7ffap-3,
	-0x1.1dd989ce98ea2p-5,
	0x1.3bd46ccab9dap-8,
	-0x1.e300651cd3ae3p-12,
	0x1.104c067d74d17p-15,
	-0x1.d8f811cd3e853p-20,
	0x1.46c4a4b32aa3bp-24,
	-0x1.703bda6758f6fp-29,
	0x1.593076e904d04p-34,
	-0x1.1192067e71726p-39,
	0x1.73936aa3d0207p-45,
	-0x1.b5729d242acaep-51,
	0x1.c2c89ea282aaap-57,
};

/* J1(x) / x in x^2 in [0, 64]: 2^-56. */
static const double j1_near[] = {
	0x1.4bf5ae47a615p-4,
	-0x1.3119e17fdbffdp-3,
	0x1.49b9fb3408e33p-3,
	-0x1.52a8c7827daa8p-4,
	0x1.6bf2c1f5f71e1p-6,
	-0x1.de030538b55bp-9,
	0x1.a8b56cedfe58p-12,
	-0x1.11188227a5012p-15,
	0x1.0a8a3a628fc7bp-19,
	-0x1.98f754605f635p-24,
	0x1.fac17c7273311p-29,
	-0x1.030d00d42d6f4p-33,
	0x1.bcc0916376113p-39,
	-0x1.453d2b4e985cbp-44,
	0x1.9a36afedba862p-50,
	-0x1.c2dff424052f8p-56,
};

/* Y0(x) - 2 / pi log(x) J0(x) in x^2 in [0, 64]: 2^-55. */
static const double y0_near[] = {
	-0x1.0f88700652ecbp-5,
	-0x1.190fcad75eca2p-2,
	0x1.6ea98ade961a1p-3,
	0x1.0bd84f7777bd6p-2,
	-0x1.6b1d515347a69p-3,
	0x1.82a2a1c96271fp-5,
	-0x1.dd9fb881100e6p-8,
	0x1.8ad9320695afp-11,
	-0x1.d873fa854ed4dp-15,
	0x1.ae5f9e7adde46p-19,
	-0x1.35649a4058471p-23,
	0x1.68b1c63f94e89p-28,
	-0x1.5c457ea1daccep-33,
	0x1.1b53ed8a54178p-38,
	-0x1.89f1fa5209ce6p-44,
	0x1.d9b425efafdd8p-50,
	-0x1.f1a771157613p-56,
};

/* (Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x in x^2 in [0, 64]: 2^-57. */
static const double y1_near[] = {
	0x1.4ca997b04b826p-9,
	-0x1.07927e87fd36bp-6,
	-0x1.88db11a1e0337p-4,
	0x1.59ea4fc627f66p-4,
	-0x1.d020c3798a51ap-6,
	0x1.5aadc0f38e31dp-8,
	-0x1.504ea6f6291cdp-11,
	0x1.cde014f53622dp-15,
	-0x1.dadf80f6e35f9p-19,
	0x1.7c45af600d3dcp-23,
	-0x1.e8a21e8e1cb71p-28,
	0x1.01c33ee943bc5p-32,
	-0x1.c6f1d25aa2e2ap-38,
	0x1.54fcf661706ffp-43,
	-0x1.b7b8e4b5d24fcp-49,
	0x1.ed24ebd671b4p-55,
	-0x1.e58358b5996e3p-61,
};

/* With w = x - (2 n + 1) pi / 4: sqrt(pi x / 2) Jn(x) = P cos w - Q / x sin w, that of Yn is P sin w + Q / x cos w; in 1 / x^2 in [0, 1/64]. */
static const double p0_far[] = {
	0x1.ffb944543151ep-1,
	-0x1.194ac5283c04ap-11,
	0x1.9cbe8b7395851p-19,
	-0x1.bc26938a82ce2p-25,
	0x1.c03a8b38ca73cp-30,
	-0x1.59ddcc28538a8p-34,
	0x1.6baf23642c655p-38,
	-0x1.e4a709e74825bp-42,
	0x1.85b481672b1eep-45,
	-0x1.6d432cb7153fep-48,
	0x1.84fff80b613c2p-51,
	-0x1.cdb3179595bbdp-54,
	0x1.2cca86c6338d9p-56,
};

static const double q0_far[] = {
	-0x1.fdbbf76547cafp-4,
	0x1.1ed40c7bf4761p-11,
	-0x1.8e1017183d06p-18,
	0x1.34c3b3f0f3e19p-23,
	-0x1.8fc71e52a528p-28,
	0x1.7334b27ad2886p-32,
	-0x1.c34f407df8ba4p-36,
	0x1.52763be90a889p-39,
	-0x1.2c827d7f6e2d5p-42,
	0x1.329f0c1b6c666p-45,
	-0x1.5fa3147b301c9p-48,
	0x1.bd9648f62c6b8p-51,
	-0x1.33cdb710c05d6p-53,
	0x1.cab223df72976p-56,
	-0x1.6d757f20d1676p-58,
	0x1.351cf3ac934b3p-60,
};

static const double p1_far[] = {
	0x1.003b2e82f5f12p+0,
	0x1.d7545f75d7da9p-11,
	-0x1.0b9505ce79bbap-18,
	0x1.0953cdc0829efp-24,
	-0x1.01454cf5d6acp-29,
	0x1.83c5742be2cc3p-34,
	-0x1.9171afe32fc02p-38,
	0x1.088a8b6783e5p-41,
	-0x1.a5ead8bea617fp-45,
	0x1.88e8192bcb004p-48,
	-0x1.a045d1e6aa4e8p-51,
	0x1.ebf5d803cd896p-54,
	-0x1.3f5b1671b84fbp-56,
};

static const double q1_far[] = {
	0x1.7f34213492af6p-2,
	-0x1.93d0e4fa70662p-11,
	0x1.eaa02bf61504bp-18,
	-0x1.681617e8645adp-23,
	0x1.c467999a69933p-28,
	-0x1.9c37875f5ebcp-32,
	0x1.eeb91abca8164p-36,
	-0x1.6f877e53fb185p-39,
	0x1.43f8057a1761fp-42,
	-0x1.48ac416e30219p-45,
	0x1.772d4dd737bf2p-48,
	-0x1.d994b1fddb9fp-51,
	0x1.46123a8bbc898p-53,
	-0x1.e48d4f144b8b2p-56,
	0x1.811d207bb2e69p-58,
};
#define TWO_OVER_PI 0x1.45f306dc9c883p-1

static double far_argument(double x, double *out_root)
{
	*out_root = __builtin_sqrt(x);
	return 1 / x;
}

static double bessel_i0e_f64(double x)
{
	double a = abs_f64(x), root;
	if (a <= 8)
		return CHEBYSHEV(i0_near, 0, 8, a);
	double t = far_argument(a, &root);
	return CHEBYSHEV(i0_far, 0, 0.125, t) / root;
}

static double bessel_i1e_f64(double x)
{
	double a = abs_f64(x), root;
	if (a <= 8)
		return x * CHEBYSHEV(i1_near, 0, 8, a);
	double t = far_argument(a, &root);
	return sign_f64(CHEBYSHEV(i1_far, 0, 0.125, t) / root, x);
}

/* e^x y, where e^x may overflow alone. */
static double grown(double y, double x)
{
	double half = exp_f64(0.5 * x);
	return y * half * half;
}

static double bessel_i0_f64(double x)
{
	return abs_f64(x) == MATH_INFINITY ? MATH_INFINITY : grown(bessel_i0e_f64(x), abs_f64(x));
}

static double bessel_i1_f64(double x)
{
	return abs_f64(x) == MATH_INFINITY ? x : grown(bessel_i1e_f64(x), abs_f64(x));
}

/* The functions of the second kind at 0 and below: `pole` and NaN. */
static double at_most_zero(double x, double pole)
{
	return x == 0 ? pole : MATH_NAN;
}

static double k0_to_2(double x)
{
	return CHEBYSHEV(k0_near, 0, 4, x * x) - log_f64(0.5 * x) * bessel_i0_f64(x);
}

static double k1_to_2(double x)
{
	return CHEBYSHEV(k1_near, 0, 4, x * x) / x + log_f64(0.5 * x) * bessel_i1_f64(x);
}

static double bessel_k0e_f64(double x)
{
	double root;
	if (!(x > 0))
		return at_most_zero(x, MATH_INFINITY);
	if (x <= 2)
		return exp_f64(x) * k0_to_2(x);
	double t = far_argument(x, &root);
	return CHEBYSHEV(k0_far, 0, 0.5, t) / root;
}

static double bessel_k1e_f64(double x)
{
	double root;
	if (!(x > 0))
		return at_most_zero(x, MATH_INFINITY);
	if (x <= 2)
		return exp_f64(x) * k1_to_2(x);
	double t = far_argument(x, &root);
	return CHEBYSHEV(k1_far, 0, 0.5, t) / root;
}

static double bessel_k0_f64(double x)
{
	return x > 0 && x <= 2 ? k0_to_2(x) : x > 2 ? grown(bessel_k0e_f64(x), -x) : at_most_zero(x, MATH_INFINITY);
}

static double bessel_k1_f64(double x)
{
	return x > 0 && x <= 2 ? k1_to_2(x) : x > 2 ? grown(bessel_k1e_f64(x), -x) : at_most_zero(x, MATH_INFINITY);
}

/* p sin(w + quarters pi / 2) + q / x cos(w + quarters pi / 2), times sqrt(2 / (pi x)), where w = x - pi / 4 and x > 8. */
static double wave(double x, double p, double q, int quarters)
{
	double sine = dfg_math_sin(x), cosine = dfg_math_cos(x), turn;
	double a = sine - cosine, b = sine + cosine; /* sqrt 2 times sin w and cos w */
	for (; quarters > 0; quarters--) {
		turn = a;
		a = b;
		b = -turn;
	}
	return (p * a + q / x * b) * __builtin_sqrt(0.5 * TWO_OVER_PI / x);
}

static double wave_0(double x, int quarters)
{
	double z = 1 / (x * x);
	if (x == MATH_INFINITY)
		return 0;
	return wave(x, CHEBYSHEV(p0_far, 0, 0x1p-6, z), CHEBYSHEV(q0_far, 0, 0x1p-6, z), quarters);
}

/* Its w is that of order 0 less pi / 2, which is three quarters more. */
static double wave_1(double x, int quarters)
{
	double z = 1 / (x * x);
	if (x == MATH_INFINITY)
		return 0;
	return wave(x, CHEBYSHEV(p1_far, 0, 0x1p-6, z), CHEBYSHEV(q1_far, 0, 0x1p-6, z), quarters + 3);
}

static double bessel_j0_f64(double x)
{
	double a = abs_f64(x);
	return a <= 8 ? CHEBYSHEV(j0_near, 0, 64, a * a) : wave_0(a, 1);
}

static double bessel_j1_f64(double x)
{
	double a = abs_f64(x);
	return a <= 8 ? x * CHEBYSHEV(j1_near, 0, 64, a * a) : sign_f64(1, x) * wave_1(a, 1);
}

static double bessel_y0_f64(double x)
{
	if (!(x > 0))
		return at_most_zero(x, -MATH_INFINITY);
	if (x > 8)
		return wave_0(x, 0);
	return CHEBYSHEV(y0_near, 0, 64, x * x) + TWO_OVER_PI * log_f64(x) * bessel_j0_f64(x);
}

static double bessel_y1_f64(double x)
{
	if (!(x > 0))
		return at_most_zero(x, -MATH_INFINITY);
	if (x > 8)
		return wave_1(x, 0);
	return x * CHEBYSHEV(y1_near, 0, 64, x * x) + TWO_OVER_PI * (log_f64(x) * bessel_j1_f64(x) - 1 / x);
}

#define NARROW(function)                         \
	static float function##_f32(float x)         \
	{                                            \
		return (float)function##_f64((double)x); \
	}
NARROW(bessel_i0)
NARROW(bessel_i0e)
NARROW(bessel_i1)
NARROW(bessel_i1e)
NARROW(bessel_k0)
NARROW(bessel_k0e)
NARROW(bessel_k1)
NARROW(bessel_k1e)
NARROW(bessel_j0)
NARROW(bessel_j1)
NARROW(bessel_y0)
NARROW(bessel_y1)

/* clang-format off */
#define BESSEL(Op, function, formula, text) UNARY(Op, float, 0, OF_FLOAT(function, x)(x), formula, text)
/* The derivative at 0, where it is a limit, is 0.5; dividing by 1 there keeps the next derivative finite. */
#define BUT_AT_0(formula)                                     \
	"zero = Equal(x, ZerosLike(x))\n"                         \
	"divisor = SelectV2(zero, OnesLike(x), x)\n"              \
	"dx = dy * SelectV2(zero, 0.5 * OnesLike(x), " formula ")"
BESSEL(BesselI0,  bessel_i0,  "dx = dy * BesselI1(x)",                    "modified Bessel function of the first kind, order 0")
BESSEL(BesselI0e, bessel_i0e, "dx = dy * (BesselI1e(x) - Sign(x) * y)",   "BesselI0 times e^-|x|")
BESSEL(BesselI1,  bessel_i1,  BUT_AT_0("BesselI0(x) - y / divisor"),     "modified Bessel function of the first kind, order 1")
BESSEL(BesselI1e, bessel_i1e, BUT_AT_0("BesselI0e(x) - y * (Sign(x) + Reciprocal(divisor))"), "BesselI1 times e^-|x|")
BESSEL(BesselK0,  bessel_k0,  "dx = -(dy * BesselK1(x))",                 "modified Bessel function of the second kind, order 0")
BESSEL(BesselK0e, bessel_k0e, "dx = dy * (y - BesselK1e(x))",             "BesselK0 times e^x")
BESSEL(BesselK1,  bessel_k1,  "dx = -(dy * (BesselK0(x) + y / x))",       "modified Bessel function of the second kind, order 1")
BESSEL(BesselK1e, bessel_k1e, "dx = dy * (y * (1 - Reciprocal(x)) - BesselK0e(x))", "BesselK1 times e^x")
BESSEL(BesselJ0,  bessel_j0,  "dx = -(dy * BesselJ1(x))",                 "Bessel function of the first kind, order 0")
BESSEL(BesselJ1,  bessel_j1,  BUT_AT_0("BesselJ0(x) - y / divisor"),     "Bessel function of the first kind, order 1")
BESSEL(BesselY0,  bessel_y0,  "dx = -(dy * BesselY1(x))",                 "Bessel function of the second kind, order 0")
BESSEL(BesselY1,  bessel_y1,  "dx = dy * (BesselY0(x) - y / x)",          "Bessel function of the second kind, order 1")
