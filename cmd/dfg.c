#include "cmd/cmd.h"

#include "cmd/help.h"
#include "cmd/option.h"
#include "cmd/screen.h"
#include "kernels/gemm/gemm.h"
#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/message.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct dfg_cmd *const dfg_commands[] = {
#define COMMAND(name) &dfg_cmd_##name,
#include "cmd/commands.def"
#undef COMMAND
	NULL,
};

struct dfg_globals dfg_globals;
static const char *color = "auto";
static bool line_is_lost; /* there was no memory to print a line of the result */

const struct dfg_opt dfg_global_options[] = {
	{"quiet", 'q', .flag = &dfg_globals.quiet, .help = "Print only errors on stderr."},
	{"verbose", 'v', .number = &dfg_globals.verbose, .help = "Print more; -vv prints even more."},
	{"color", .takes = "WHEN", .text = &color, .help = "Color output: auto, always or never."},
	{"help", 'h', .flag = &dfg_globals.help, .help = "Print this help."},
	{0},
};

/* Prints text without the characters that steer a terminal. It requires no memory, so that no result is cut short. */
static void put_text(FILE *to, const char *text, size_t length)
{
	enum { PART = 1 << 11, ESCAPED = 4 }; /* ESCAPED: the most characters that a byte becomes, as in \x1b */
	char bytes[ESCAPED * PART + 1];
	for (size_t part; length; text += part, length -= part) {
		part = length < PART ? length : PART;
		while (part < length && part > PART - 4 && (text[part] & 0xc0) == 0x80)
			part--; /* to the beginning of a character */
		struct dfg_text plain = {.s = bytes, .capacity = sizeof bytes};
		dfg_text_printable(&plain, text, part, "\n\t");
		fwrite(plain.s, 1, plain.length, to);
	}
}

void dfg_print(const struct dfg_text *text)
{
	put_text(stdout, text->s, text->length);
}

void dfg_printf(const char *fmt, ...)
{
	char line[1000], *whole = line;
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	size_t length = (size_t)vsnprintf(line, sizeof line, fmt, args);
	if (length >= sizeof line && (whole = dfg_zeros(length + 1, 1)))
		vsnprintf(whole, length + 1, fmt, again);
	va_end(again);
	va_end(args);
	if (whole)
		put_text(stdout, whole, length);
	else
		line_is_lost = true;
	if (whole != line)
		dfg_free(whole);
}

int dfg_cmd_report(struct dfg_err *err)
{
	int status = err ? (int)err->code : 0;
	dfg_screen_hide();
	for (const struct dfg_err *e = err; e; e = e->next) {
		put_text(stderr, e->text, strlen(e->text));
		fputc('\n', stderr);
		if (dfg_globals.verbose)
			fprintf(stderr, "    (%s:%d)\n", e->file, e->line);
	}
	if (status == DFG_BUG) /* so that nobody looks for the fault in the graph */
		fprintf(stderr, "This is probably an error in dfg itself: please report it, with the command and its files.\n");
	dfg_screen_show();
	dfg_err_free(err);
	return status;
}

static void put_line(void *arg, enum dfg_report_level level, const char *text)
{
	(void)arg;
	if (dfg_globals.quiet || (level == DFG_REPORT_DETAIL && !dfg_globals.verbose))
		return;
	dfg_screen_hide();
	put_text(stderr, text, strlen(text));
	fputc('\n', stderr);
	dfg_screen_show();
}

const struct dfg_report dfg_stderr = {put_line, NULL};

static void put_message(const char *text)
{
	put_line(NULL, DFG_REPORT_NOTE, text);
}

void dfg_talk(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	dfg_report_args(&dfg_stderr, DFG_REPORT_NOTE, fmt, args);
	va_end(args);
}

void dfg_talk_lines(const struct dfg_text *text)
{
	for (size_t at = 0; at < text->length;) {
		const char *line = text->s + at, *end = strchr(line, '\n');
		size_t length = end ? (size_t)(end - line) : text->length - at;
		dfg_talk("%.*s", (int)length, line);
		at += length + 1;
	}
}

/* A result that was not printed must not look like success, nor like the answer "no". */
static int finish(int status)
{
	if (line_is_lost && (!status || status == DFG_NEGATIVE))
		return dfg_cmd_report(dfg_no_memory("a line of the result"));
	if ((fflush(stdout) || ferror(stdout)) && (!status || status == DFG_NEGATIVE))
		return dfg_cmd_report(DFG_ERR(DFG_IO, "cannot write to stdout"));
	return status;
}

static bool colored(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (!strcmp(color, "always"))
		return true;
	bool never = !strcmp(color, "never") || (no_color && *no_color) || (term && !strcmp(term, "dumb"));
	return !never && isatty(fd);
}

static struct dfg_err *check_color(void)
{
	if (!strcmp(color, "auto") || !strcmp(color, "always") || !strcmp(color, "never"))
		return NULL;
	return DFG_ERR(DFG_USAGE, "--color must be auto, always or never, not '%s'", color);
}

/* An error of an option or operand names the command, as it names no file. */
static struct dfg_err *name_command(const struct dfg_cmd *cmd, struct dfg_err *err)
{
	return err && err->code == DFG_USAGE ? dfg_err_note(err, "dfg %s", cmd->name) : err;
}

static int run_command(const struct dfg_cmd *cmd, int argc, char **args)
{
	char **operands = dfg_zeros((size_t)argc + 1, sizeof *operands);
	int status = 0;
	struct dfg_err *err = operands ? dfg_options_parse(cmd, args, operands) : dfg_no_memory("the operands");
	if (!err)
		err = check_color();
	err = dfg_err_note(err, "dfg %s", cmd->name);
	dfg_globals.color_out = colored(STDOUT_FILENO);
	dfg_globals.color_err = colored(STDERR_FILENO);
	if (!err && dfg_globals.help)
		dfg_help_command(cmd, stdout);
	else if (!err)
		err = name_command(cmd, cmd->run(operands, &status));
	else
		dfg_globals.usage = true;
	bool usage = dfg_globals.usage && err && err->code == DFG_USAGE;
	int failed = dfg_cmd_report(err);
	if (usage)
		fprintf(stderr, "See 'dfg help %s'.\n", cmd->name);
	dfg_free(operands);
	return failed ? failed : status;
}

/* -C DIR precedes the command and may be repeated. */
static struct dfg_err *change_directory(char ***args)
{
	while (**args && !strcmp(**args, "-C")) {
		const char *directory = (*args)[1];
		if (!directory)
			return DFG_ERR(DFG_USAGE, "dfg: -C requires a directory");
		if (chdir(directory))
			return DFG_ERR(DFG_NO_INPUT, "dfg: no directory '%s'", directory);
		*args += 2;
	}
	return NULL;
}

/* The command for a word: its name, or an option that is an alias, such as --version. */
static const char *command_name(const char *word)
{
	if (!word || !strcmp(word, "--help") || !strcmp(word, "-h"))
		return "help";
	return !strcmp(word, "--version") ? "version" : word;
}

/* A fatal signal removes what is temporary, then is raised again with its default action. */
static void on_signal(int number)
{
	dfg_clean_up();
	signal(number, SIG_DFL);
	raise(number);
}

/* Files are memory-mapped: truncating one while it is read raises SIGBUS, which ends the program like a read error. */
static void on_bus_error(int number)
{
	static const char words[] = "dfg: a file was truncated while it was read\n";
	(void)number;
	dfg_clean_up();
	(void)!write(STDERR_FILENO, words, sizeof words - 1);
	_exit(DFG_IO);
}

static void catch_signals(void)
{
	signal(SIGBUS, on_bus_error);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit then fails, and the partial file is removed */
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
		if (signal(caught[i], on_signal) == SIG_IGN)
			signal(caught[i], SIG_IGN);
}

/*
 * Opens descriptors 0 to 2 if they are closed, so that no file gets them. Each gets an access mode that makes its use
 * fail as before.
 */
static void fill_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	fill_standard();
	catch_signals();
	char **args = argv + 1;
	dfg_failing_allocation_install();
	dfg_messages_to(put_message);
	struct dfg_err *err = change_directory(&args);
	if (!err)
		err = dfg_product_cpu();
	if (err)
		return dfg_cmd_report(err);
	const char *name = command_name(*args);
	args += *args != NULL;
	const struct dfg_cmd *cmd = dfg_command_find(name);
	int status;
	if (cmd)
		return finish(run_command(cmd, argc, args));
	if (dfg_documentation_command(name, args, &status))
		return finish(status);
	return dfg_cmd_report(dfg_command_unknown("dfg: no command", name));
}
