#pragma once

#include "cmd/cmd.h"

/* By its name, which may be NULL; NULL: there is none. DFG_USAGE, "WHAT 'NAME'" with the nearest name, says so. */
const struct dfg_cmd *dfg_command_find(const char *name);
DFG_MUST_CHECK struct dfg_err *dfg_command_unknown(const char *what, const char *name);

/* Usage, summary and every option of a command. */
void dfg_help_command(const struct dfg_cmd *cmd, FILE *out);

/*
 * Modes of the program that only make and the shells call: "__man" fills a page from stdin, "__complete" prints the words
 * that may stand next. False where name is none of them.
 */
bool dfg_hidden_command(const char *name, char **args, int *out_status);
