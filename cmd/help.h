#pragma once

#include "cmd/cmd.h"

/*
 * Finds a command by name; NULL if name is NULL or unknown. dfg_command_unknown(): DFG_USAGE, "WHAT 'NAME'" with the
 * nearest name.
 */
const struct dfg_cmd *dfg_command_find(const char *name);
DFG_MUST_CHECK struct dfg_err *dfg_command_unknown(const char *what, const char *name);

/* Prints usage, summary and all options of a command. */
void dfg_help_command(const struct dfg_cmd *cmd, FILE *out);

/*
 * Commands for make and the shells: "__man" fills in a man page read from stdin, "__complete" prints the possible next
 * words. False if name is neither.
 */
bool dfg_documentation_command(const char *name, char **args, int *out_status);
