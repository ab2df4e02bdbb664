#pragma once

#include "cmd/cmd.h"

/* Usage, summary and every option of a command. */
void dfg_help_command(const struct dfg_cmd *cmd, FILE *out);

/*
 * Modes of the program that only make and the shells call: "__man" fills a page from stdin, "__complete" prints the words
 * that may stand next. False where name is none of them.
 */
bool dfg_hidden_command(const char *name, char **args, int *out_status);
