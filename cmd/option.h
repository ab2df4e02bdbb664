#pragma once

#include "cmd/cmd.h"

/*
 * Reads the arguments of a command into what its rows point to. Forms: --name VALUE, --name=VALUE, --flag, -o VALUE,
 * -oVALUE, grouped letters, -- for the end of options; options may stand behind operands; nothing is abbreviated, because
 * a script must not break when an option is added. operands has room for argc + 1 entries and ends in NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_options_parse(const struct dfg_cmd *cmd, char **args, char **operands);

/* Calls see(arg, row) for each row of the command, those it shares and the global ones included, in their order. */
void dfg_options_each(const struct dfg_cmd *cmd, void (*see)(void *arg, const struct dfg_opt *row), void *arg);

/* The rows that every command has. */
extern const struct dfg_opt dfg_global_options[];

/* "512", "64K", "2G", "1Gi" as bytes: K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024. */
DFG_MUST_CHECK struct dfg_err *dfg_parse_size(const char *text, uint64_t *out_bytes);
