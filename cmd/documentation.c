#include "cmd/help.h"

#include "cmd/option.h"
#include "lib/graph/op.h"
#include "lib/lang/lang.h"

#include <string.h>

/* The escape of a character that roff prints as another one, or reads as a quote; NULL: it prints as it is. */
static const char *roff_escape(char c)
{
	static const struct {
		char c;
		const char *escape;
	} rows[] = {
		{'-', "\\-"}, {'\\', "\\e"}, {'^', "\\(ha"}, {'~', "\\(ti"}, {'`', "\\(ga"}, {'\'', "\\(aq"}, {'"', "\\(dq"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].c == c)
			return rows[i].escape;
	return NULL;
}

/* A dot at the start of a line would be a request; each sentence begins a line, as mdoc asks. */
static void print_roff(const char *text)
{
	bool line_start = true;
	for (; *text; text++) {
		const char *escape = roff_escape(*text);
		if (line_start && *text == '.')
			printf("\\&");
		line_start = !strncmp(text, ". ", 2) && strlen(text) > 2;
		printf("%.*s", escape ? (int)strlen(escape) : 1, escape ? escape : text);
		if (line_start) {
			putchar('\n');
			text++;
		}
	}
}

static void man_option(void *arg, const struct dfg_opt *o)
{
	(void)arg;
	const char *dash = o->name[0] == '-' ? "" : "\\-\\-";
	printf(".It Xo\n");
	if (o->letter)
		printf(".Li \\-%c ,\n", o->letter);
	printf(".Li %s", dash);
	print_roff(o->name);
	if (o->takes) {
		printf("\n.Ar ");
		print_roff(o->takes);
	}
	printf("\n.Xc\n");
	print_roff(o->help);
	putchar('\n');
}

static void man_options(const struct dfg_cmd *cmd)
{
	printf(".Bl -tag -width Ds\n");
	dfg_options_each(cmd, man_option, NULL);
	printf(".El\n");
}

static void man_codes(void)
{
	printf(".Bl -tag -width Ds\n.It 0\ndone\n");
#define CODE(name, status, text) printf(".It %d\n%s\n", status, text);
#include "lib/base/code.def"
#undef CODE
	printf(".It 128+n\nsignal n\n.El\n");
}

static void man_commands(void)
{
	printf(".Bl -tag -width Ds\n");
	for (const struct dfg_cmd *const *c = dfg_commands; *c; c++)
		printf(".It Xr dfg-%s 1\n%s\n", (*c)->name, (*c)->summary);
	printf(".El\n");
}

static void man_ops(void)
{
	printf(".Bl -tag -width Ds\n");
	for (size_t i = 0; i < dfg_ops_count; i++) {
		printf(".It Li ");
		print_roff(dfg_ops[i]->name);
		printf("\n");
		print_roff(dfg_ops[i]->doc);
		printf("\n.D1 ");
		print_roff(dfg_ops[i]->sig);
		putchar('\n');
	}
	printf(".El\n");
}

/* Each line as a display of its own. */
static void man_examples(const char *text)
{
	while (*text) {
		const char *end = strchr(text, '\n');
		char line[512];
		snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
		printf(".Dl ");
		print_roff(line);
		putchar('\n');
		text = end + 1;
	}
}

static struct dfg_err *man_entry(void *arg, const struct dfg_std_entry *entry)
{
	bool *open = arg;
	if (!entry->name) {
		printf("%s.Ss std:%s\n", *open ? ".El\n" : "", entry->file);
		print_roff(entry->comment);
		printf("\n.Bl -tag -width Ds\n");
		*open = true;
		return NULL;
	}
	const struct dfg_op *op = entry->op ? dfg_op_find(entry->op) : NULL;
	printf(".It Li ");
	print_roff(entry->signature);
	printf("\n");
	print_roff(*entry->comment || !op ? entry->comment : op->doc);
	printf("\n");
	man_examples(entry->examples);
	return NULL;
}

static struct dfg_err *man_library(void)
{
	bool open = false;
	DFG_TRY(dfg_lang_std_each(man_entry, &open));
	printf("%s", open ? ".El\n" : "");
	return NULL;
}

/* Copies a page from stdin and replaces each line that is a word in @ by the table of that name. */
static int man(const struct dfg_cmd *cmd)
{
	char line[4096];
	struct dfg_err *err = NULL;
	while (!err && fgets(line, sizeof line, stdin))
		if (!strcmp(line, "@OPTIONS@\n") && cmd)
			man_options(cmd);
		else if (!strcmp(line, "@SYNOPSIS@\n") && cmd)
			printf(".Nm dfg %s\n.Op Ar OPTIONS\n%s%s\n", cmd->name, *cmd->operands ? ".Ar " : ".\\\"", cmd->operands);
		else if (!strcmp(line, "@EXIT@\n"))
			man_codes();
		else if (!strcmp(line, "@COMMANDS@\n"))
			man_commands();
		else if (!strcmp(line, "@OPS@\n"))
			man_ops();
		else if (!strcmp(line, "@LIBRARY@\n"))
			err = man_library();
		else
			fputs(line, stdout);
	return err ? dfg_cmd_report(err) : ferror(stdin) ? DFG_IO : 0;
}

static void print_word(void *arg, const struct dfg_opt *o)
{
	(void)arg;
	printf("%s%s\t%s\n", o->name[0] == '-' ? "" : "--", o->name, o->help);
}

static struct dfg_err *print_entry(void *arg, const struct dfg_std_entry *entry)
{
	(void)arg;
	if (entry->name)
		printf("%s\t%s\n", entry->name, entry->comment);
	return NULL;
}

/*
 * "__complete" prints the commands, "__complete CMD" its options; "__complete ops" also the op names, "__complete help
 * std" the names of the library.
 */
static int complete(char **words)
{
	const char *name = *words;
	const struct dfg_cmd *cmd = dfg_command_find(name);
	if (cmd && !strcmp(cmd->name, "help") && words[1] && !strcmp(words[1], "std")) {
		struct dfg_err *err = dfg_lang_std_each(print_entry, NULL);
		return err ? dfg_cmd_report(err) : 0;
	}
	if (cmd)
		dfg_options_each(cmd, print_word, NULL);
	if (cmd && !strcmp(cmd->name, "ops"))
		for (size_t i = 0; i < dfg_ops_count; i++)
			printf("%s\t%s\n", dfg_ops[i]->name, dfg_ops[i]->doc);
	for (const struct dfg_cmd *const *c = dfg_commands; *c && (!cmd || !strcmp(cmd->name, "help")); c++)
		printf("%s\t%s\n", (*c)->name, (*c)->summary);
	return 0;
}

bool dfg_documentation_command(const char *name, char **args, int *out_status)
{
	if (!strcmp(name, "__man"))
		*out_status = man(dfg_command_find(*args));
	else if (!strcmp(name, "__complete"))
		*out_status = complete(args);
	else
		return false;
	return true;
}
