#pragma once

#include "lib/base/err.h"

#include <stddef.h>

/*
 * Reads the first line of a file that holds a secret, without its newline. DFG_REFUSED if users other than its owner can
 * read it, or the line is empty or has `capacity` characters or more.
 */
DFG_MUST_CHECK struct dfg_err *dfg_private_file_line(const char *path, char *out_line, size_t capacity);
