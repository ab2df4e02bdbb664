#pragma once

#include "lib/base/err.h"

#include <stdint.h>

/* Parses a size in bytes such as "512", "64K", "1Gi": K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024. DFG_USAGE. */
DFG_MUST_CHECK struct dfg_err *dfg_parse_size(const char *text, uint64_t *out_bytes);
