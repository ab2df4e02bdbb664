#pragma once

#include <stdint.h>

/* The end of the noun that follows a count: "" for one, else "s". */
static inline const char *dfg_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}
