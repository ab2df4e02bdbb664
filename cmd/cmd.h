#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * To add a subcommand: a file like check.c that defines dfg_cmd_<name>, its line in commands.def, man/dfg-<name>.1.in for
 * the prose. Usage, the OPTIONS of the man page and completions are printed from the rows. `make check` runs the examples
 * of the page, and fails where a command lacks a page or a case in tests/cli.
 */

/* An option. Which of the pointers is set says what the option takes; none of them, and no name, ends the table. */
struct dfg_opt {
	const char *name;  /* without the dashes */
	char letter;       /* of a short form; 0: none */
	const char *takes; /* what usage calls the argument */
	const char *help;  /* one sentence, with its full stop */
	bool *flag;
	const char **text;
	struct dfg_words_list *list; /* may be given many times */
	int64_t *number;             /* 0 or more, and so is a real */
	double *real;
	uint64_t *size;             /* bytes: 512, 64K, 2G, 1Gi */
	const struct dfg_opt *rows; /* further rows here: options that commands share */
};

/* Arguments of an option that may be given many times; NULL-terminated. */
struct dfg_words_list {
	const char **word;
	size_t count, room;
};

struct dfg_cmd {
	const char *name;
	const char *operands; /* as in usage: "G..." */
	const char *summary;  /* "validate graphs" */
	const struct dfg_opt *options;
	int least, most;                                          /* operands; most -1: any */
	struct dfg_err *(*run)(char **operands, int *out_status); /* NULL-terminated; *out_status is preset to 0 */
};

/* What the options that every command takes have set. */
struct dfg_globals {
	bool quiet, json, help;
	bool usage; /* the error is of the arguments: point to the help */
	int64_t verbose;
	bool color_out, color_err; /* decided from --color, NO_COLOR and the terminal */
};
extern struct dfg_globals dfg_globals;

/* Prints err to stderr and frees it; returns its exit status, 0 for NULL. */
int dfg_cmd_report(struct dfg_err *err);

/* A line to stderr; nothing with -q. */
void dfg_talk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Puts a failing allocator in front of memory where the tests ask for one: cmd/fault.c. */
void dfg_fault_install(void);

/* All commands, in the order of commands.def; ends in NULL. */
extern const struct dfg_cmd *const dfg_commands[];

#define COMMAND(name) extern const struct dfg_cmd dfg_cmd_##name;
#include "cmd/commands.def"
#undef COMMAND
