#pragma once

#include "lib/base/arena.h"
#include "lib/base/err.h"

/*
 * Files of the ssh configuration are read more than once: by each attempt, for each host, and by libssh. The bytes of a
 * pipe, such as a shell's <(...), can be read only once, so they are copied. *out_path is `path` itself, or the path of a
 * copy in memory, in the arena, if it is a pipe or FIFO. DFG_NO_INPUT: no program wrote to the FIFO, or not to its end,
 * within 10 seconds. Any thread may call it.
 */
DFG_MUST_CHECK struct dfg_err *dfg_ssh_stream_path(const char *path, struct dfg_arena *arena, const char **out_path);
