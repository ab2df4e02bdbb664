#pragma once

#include "lib/base/err.h"

#include <stddef.h>

/* The bytes at the beginning of an ELF file that name its processor. */
enum { DFG_ELF_HEADER = 20 };

/* The processor that an ELF file is built for, as `uname -m` names it. NULL: not an ELF file, or not known. */
const char *dfg_elf_machine(const unsigned char *header, size_t count);

/*
 * The error for a program that cannot be executed because it is built for a processor other than `machine`, as
 * `uname -m` names it; NULL: that is not the reason.
 */
DFG_MUST_CHECK struct dfg_err *dfg_elf_check(
	const char *program, const unsigned char *header, size_t count, const char *machine);

/* The same for a file here; NULL where it cannot be read. */
DFG_MUST_CHECK struct dfg_err *dfg_elf_check_file(const char *program);
