#include "remote/emulation.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Reads a duration such as "20ms", "0.5s" or "500us"; *rest points after it. */
static bool read_duration(const char *text, const char **rest, double *out_seconds)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"s", 1}};
	int length = 0;
	if (sscanf(text, "%lf%n", out_seconds, &length) != 1 || !(*out_seconds >= 0 && *out_seconds <= 3600))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strncmp(text + length, units[i].unit, strlen(units[i].unit))) {
			*out_seconds *= units[i].seconds;
			*rest = text + length + strlen(units[i].unit);
			return true;
		}
	return false;
}

static bool read_sigma(const char *rest, double *out_sigma)
{
	int length = 0;
	return sscanf(rest, ",%lf%n", out_sigma, &length) == 1 && !rest[length] && *out_sigma >= 0 && *out_sigma <= 10;
}

struct dfg_err *dfg_emulation_parse(const char *text, struct dfg_emulation *out_emulation)
{
	static const char *const name[] = {
		[DFG_DELAY_FIXED] = "fixed:", [DFG_DELAY_LOGNORMAL] = "lognormal:", [DFG_DELAY_EXPONENTIAL] = "exponential:"};
	for (int i = DFG_DELAY_FIXED; i <= DFG_DELAY_EXPONENTIAL; i++) {
		const char *rest;
		if (strncmp(text, name[i], strlen(name[i])) != 0 ||
			!read_duration(text + strlen(name[i]), &rest, &out_emulation->seconds))
			continue;
		out_emulation->delay = (enum dfg_delay)i;
		if (i == DFG_DELAY_LOGNORMAL ? read_sigma(rest, &out_emulation->sigma) : !*rest)
			return NULL;
	}
	return DFG_ERR(DFG_USAGE,
		"--emulate: compute must be fixed:T, lognormal:T,S or exponential:T, with T as in 20ms, at most an hour, not "
		"'%s'",
		text);
}

/* A well mixed function of its argument: the finaliser of SplitMix64. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Above 0 and below 1. */
static double uniform(uint64_t bits)
{
	return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

uint64_t dfg_emulation_delay(const struct dfg_emulation *emulation, uint32_t replica, uint64_t step)
{
	const double circle = 6.283185307179586;
	uint64_t bits = mix(mix(mix(emulation->seed + 1) + replica) + step);
	double u = uniform(bits), v = uniform(mix(bits)), seconds = emulation->seconds;
	if (emulation->delay == DFG_DELAY_EXPONENTIAL)
		seconds *= -log(u);
	if (emulation->delay == DFG_DELAY_LOGNORMAL)
		seconds *= exp(emulation->sigma * sqrt(-2 * log(u)) * cos(circle * v));
	return emulation->delay == DFG_DELAY_NONE ? 0 : (uint64_t)(fmin(seconds, 86400) * 1e9);
}
