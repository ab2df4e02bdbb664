#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that is mapped, not taken from dfg_mem, counts against its limit (struct dfg_mem_limit) from charge to discharge; where
 * there is no limit nothing is counted. False if the limit would be exceeded.
 */
bool dfg_mem_charge(size_t bytes);
void dfg_mem_discharge(size_t bytes);
