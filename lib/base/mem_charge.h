#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Counts memory that is mapped, not taken from dfg_mem, against the limit of dfg_mem (struct dfg_mem_limit) until it is
 * discharged. Without a limit both do nothing. False if the limit would be exceeded.
 */
bool dfg_mem_charge(size_t bytes);
void dfg_mem_discharge(size_t bytes);
