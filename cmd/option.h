#pragma once

#include "cmd/cmd.h"

/*
 * Parses the arguments of a command into the variables of its rows. Forms: --name VALUE, --name=VALUE, --flag, -o
 * VALUE, -oVALUE, grouped letters, -- for the end of options. Options may follow operands. Names cannot be abbreviated,
 * so that a new option does not break a script. operands holds argc + 1 entries and ends in NULL.
 */
DFG_MUST_CHECK struct dfg_err *dfg_options_parse(const struct dfg_cmd *cmd, char **args, char **operands);

/* Calls see(arg, row) for each row of the command in order, shared and global rows included. */
void dfg_options_each(const struct dfg_cmd *cmd, void (*see)(void *arg, const struct dfg_opt *row), void *arg);

/* The rows that every command has. */
extern const struct dfg_opt dfg_global_options[];
