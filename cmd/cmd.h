#pragma once

#include "app/names.h"
#include "app/report.h"
#include "lib/base/err.h"
#include "lib/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * To add a subcommand: a file like check.c that defines dfg_cmd_<name>, its line in commands.def, and
 * man/dfg-<name>.1.in for the prose. Usage, the OPTIONS of the man page and completions are generated from the rows.
 * `make check` runs the examples of the page, and fails if a command has no page or no case in tests/cli.
 */

/* An option. The pointer that is set gives the type of its value. A row without a pointer and a name ends the table. */
struct dfg_opt {
	const char *name;  /* without the dashes */
	char letter;       /* the short form; 0: none */
	const char *takes; /* name of the argument in usage */
	const char *help;  /* one sentence, with its full stop */
	bool *flag;
	const char **text;
	struct dfg_words_list *list; /* may be given many times */
	int64_t *number;
	double *real;
	uint64_t *size;             /* bytes: 512, 64K, 2G, 1Gi */
	const struct dfg_opt *rows; /* further rows, for options that commands share */
	int64_t least;              /* the least valid number, real or size */
	bool *given;                /* NULL, or set to true where the option is given */
};

struct dfg_cmd {
	const char *name;
	const char *operands; /* as shown by usage: "G..." */
	const char *summary;  /* "validate graphs" */
	const struct dfg_opt *options;
	int least, most; /* operands; most -1: any */
	struct dfg_err *(*run)(
		char **operands, int *out_status); /* operands is NULL-terminated; *out_status is preset to 0 */
};

/* Values of the options that every command has. */
struct dfg_globals {
	bool quiet, json, help;
	bool usage; /* the error is in the arguments: refer to the help */
	int64_t verbose;
	bool color_out, color_err; /* decided from --color, NO_COLOR and the terminal */
};
extern struct dfg_globals dfg_globals;

/* Prints err to stderr and frees it; returns its exit status, 0 for NULL. */
int dfg_cmd_report(struct dfg_err *err);

/* Ends a program that dfg_child_run() runs, then removes all temporary files and folders. Safe in a signal handler. */
void dfg_clean_up(void);

/*
 * Prints text to stdout; all that commands print there goes through these two. Characters of files, hosts or arguments that
 * would steer a terminal are escaped as \xNN (in JSON there are none, because it escapes them by its own rules).
 */
void dfg_print(const struct dfg_text *text);
void dfg_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints lines to stderr, unless -q is given; details only with -v. dfg_talk() prints a note. */
extern const struct dfg_report dfg_stderr;
void dfg_talk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints a note for each line of the text, which a pass wrote. */
struct dfg_text;
void dfg_talk_lines(const struct dfg_text *text);

/* Installs an allocator that fails where the tests ask for it: cmd/failing_allocation.c. */
void dfg_failing_allocation_install(void);

/* All commands, in the order of commands.def; ends in NULL. */
extern const struct dfg_cmd *const dfg_commands[];

#define COMMAND(name) extern const struct dfg_cmd dfg_cmd_##name;
#include "cmd/commands.def"
#undef COMMAND
