#include "cmd/help.h"

#include "cmd/option.h"
#include "lib/base/map.h"
#include "lib/base/text.h"
#include "lib/graph/op.h"
#include "lib/lang/lang.h"

#include <string.h>

static void print_option(void *arg, const struct dfg_opt *o)
{
	FILE *out = arg;
	bool word = o->name[0] == '-';
	fprintf(out, "  ");
	if (o->letter)
		fprintf(out, "-%c, ", o->letter);
	fprintf(out, "%s%s%s%s\n        %s\n", word ? "" : "--", o->name, o->takes ? " " : "", o->takes ? o->takes : "",
		o->help);
}

void dfg_help_command(const struct dfg_cmd *cmd, FILE *out)
{
	bool upper = cmd->summary[0] >= 'a' && cmd->summary[0] <= 'z';
	fprintf(out, "usage: dfg %s [OPTIONS]%s%s\n\n%c%s.\n\n", cmd->name, *cmd->operands ? " " : "", cmd->operands,
		cmd->summary[0] - (upper ? 'a' - 'A' : 0), cmd->summary + 1);
	dfg_options_each(cmd, print_option, out);
}

static void print_commands(void)
{
	printf(
		"usage: dfg [-C DIR] COMMAND [OPTIONS] [FILE...]\n\n"
		"Dataflow graphs as files: build, differentiate, run and train them.\n\n");
	for (const struct dfg_cmd *const *c = dfg_commands; *c; c++)
		printf("  %-10s %s\n", (*c)->name, (*c)->summary);
	printf(
		"\n'dfg help COMMAND' explains a command; 'dfg help exit' lists the exit codes, 'dfg help std' the library.\n");
}

static void print_codes(void)
{
	printf("%4d  %s\n", 0, "done");
#define CODE(name, status, text) printf("%4d  %s\n", status, text);
#include "lib/base/code.def"
#undef CODE
	printf("128+n  signal n\n");
}

const struct dfg_cmd *dfg_command_find(const char *name)
{
	for (const struct dfg_cmd *const *c = dfg_commands; *c; c++)
		if (name && !strcmp((*c)->name, name))
			return *c;
	return NULL;
}

static const char *nearest_command(const char *name)
{
	struct dfg_nearest nearest = {.word = name};
	for (const struct dfg_cmd *const *c = dfg_commands; *c; c++)
		dfg_nearest_offer(&nearest, (*c)->name);
	return nearest.best;
}

struct dfg_err *dfg_command_unknown(const char *what, const char *name)
{
	const char *best = nearest_command(name);
	if (best)
		return DFG_ERR(DFG_USAGE, "%s '%s'; did you mean '%s'?", what, name, best);
	return DFG_ERR(DFG_USAGE, "%s '%s'; 'dfg help' lists them", what, name);
}

/* The error names the nearest topic, or without one all topics. */
static struct dfg_err *no_topic(const char *name)
{
	if (nearest_command(name))
		return dfg_command_unknown("no topic", name);
	struct dfg_text text = {0};
	for (const struct dfg_cmd *const *c = dfg_commands; *c; c++)
		dfg_text_add(&text, "%s, ", (*c)->name);
	struct dfg_err *err = DFG_ERR(DFG_USAGE, "no topic '%s'; there are %sexit, std", name, text.s ? text.s : "");
	dfg_text_release(&text);
	return err;
}

/* The words that `dfg help std` is asked for: a name, or a file of the library. */
struct library_topic {
	const char *word; /* NULL: all */
	struct dfg_nearest nearest;
	char best[64]; /* a copy of nearest.best */
	uint32_t found;
};

static void print_summary(const struct dfg_std_entry *entry)
{
	const struct dfg_op *op = entry->op ? dfg_op_find(entry->op) : NULL;
	const char *words = *entry->comment || !op ? entry->comment : op->doc, *end = strstr(words, ". ");
	printf("  %-20s %.*s\n", entry->name, (int)(end ? end - words : (long)strlen(words)), words);
}

static struct dfg_err *print_topic(void *arg, const struct dfg_std_entry *entry)
{
	struct library_topic *topic = arg;
	const bool of_file = topic->word && !strcmp(topic->word, entry->file);
	if (entry->name && topic->word)
		dfg_nearest_offer(&topic->nearest, entry->name);
	if (entry->name && topic->nearest.best == entry->name) {
		snprintf(topic->best, sizeof topic->best, "%s", entry->name);
		topic->nearest.best = topic->best;
	}
	if (!topic->word || of_file) {
		topic->found++;
		if (entry->name)
			print_summary(entry);
		else
			printf("%sstd:%s: %s\n", topic->found > 1 ? "\n" : "", entry->file, entry->comment);
	} else if (entry->name && !strcmp(topic->word, entry->name)) {
		const struct dfg_op *op = entry->op ? dfg_op_find(entry->op) : NULL;
		topic->found++;
		printf("%s\n\n%s\n%s%s", entry->signature, *entry->comment || !op ? entry->comment : op->doc,
			*entry->examples ? "\n" : "", entry->examples);
	}
	return NULL;
}

static struct dfg_err *help_library(const char *word)
{
	struct library_topic topic = {.word = word, .nearest = {.word = word}};
	DFG_TRY(dfg_lang_std_each(print_topic, &topic));
	if (topic.found)
		return NULL;
	if (topic.nearest.best)
		return DFG_ERR(DFG_USAGE, "no '%s' in the library; did you mean '%s'?", word, topic.nearest.best);
	return DFG_ERR(DFG_USAGE, "no '%s' in the library; 'dfg help std' lists all", word);
}

static struct dfg_err *help(char **operands, int *out_status)
{
	(void)out_status;
	if (!*operands) {
		print_commands();
		return NULL;
	}
	if (!strcmp(*operands, "std"))
		return help_library(operands[1]);
	if (operands[1])
		return DFG_ERR(DFG_USAGE, "topic %s takes no further operand, such as '%s'", *operands, operands[1]);
	if (!strcmp(*operands, "exit")) {
		print_codes();
		return NULL;
	}
	const struct dfg_cmd *cmd = dfg_command_find(*operands);
	if (!cmd)
		return no_topic(*operands);
	dfg_help_command(cmd, stdout);
	return NULL;
}

const struct dfg_cmd dfg_cmd_help = {
	.name = "help",
	.operands = "[COMMAND|exit|std [NAME]]",
	.summary = "explain a command or a name of the library, or list them",
	.most = 2,
	.run = help,
};
