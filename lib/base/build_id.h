#pragma once

#include "lib/base/err.h"

#include <stdbool.h>

/*
 * The identity of this program's build, "x86_64-0123456789abcdef": its processor, and the beginning of the note that the
 * linker makes of its content (NT_GNU_BUILD_ID). "": it has no such note. Valid until the process ends.
 */
const char *dfg_build_id(void);

/* Whether two ids may be of one build: the ids are equal, or of different processors, or one is not known. */
bool dfg_build_ids_agree(const char *one, const char *two);

/* DFG_PROTOCOL, for the peer whose build has that id, unless it agrees with this program's. */
DFG_MUST_CHECK struct dfg_err *dfg_build_check(const char *id);
