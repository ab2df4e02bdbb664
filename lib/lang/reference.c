#include "lib/lang/lang.h"
#include "lib/lang/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The reference of the library, from its texts. A comment belongs to the fn or layer on the line below it. */

/* Adds the lines as one: blanks, newlines and the # of comment lines become one space; lines of examples are left out. */
static void put_line(struct dfg_text *text, const char *from, const char *end)
{
	bool blank = false, line_start = true;
	size_t before = text->length;
	for (; from < end; from++) {
		if (line_start && end - from > 1 && !memcmp(from, "#>", 2))
			while (from + 1 < end && *from != '\n')
				from++;
		if (isspace((unsigned char)*from) || (line_start && *from == '#')) {
			blank = true;
			line_start |= *from == '\n';
			continue;
		}
		if (blank && text->length > before)
			dfg_text_put(text, " ", 1);
		blank = line_start = false;
		dfg_text_put(text, from, 1);
	}
	dfg_text_put(text, "", 1);
	text->length--;
}

/* Adds the examples, which are the lines of a comment that begin with #>. */
static void put_examples(struct dfg_text *text, const char *from, const char *end)
{
	while (from < end) {
		const char *line = from, *newline = memchr(from, '\n', (size_t)(end - from));
		from = newline ? newline + 1 : end;
		if (end - line > 3 && !memcmp(line, "#> ", 3))
			dfg_text_put(text, line + 3, (size_t)(from - line - 3));
	}
	dfg_text_put(text, "", 1);
	text->length--;
}

/* The start of the comment that ends on the line above `at`, which is the start of a line; `at` if there is none. */
static uint32_t comment_start(const struct dfg_source *source, uint32_t at)
{
	for (;;) {
		uint32_t line = at;
		while (line && (line == at || source->text[line - 1] != '\n'))
			line--;
		if (line == at || source->text[line] != '#')
			return at;
		at = line;
	}
}

/* The op of `fn f(x) { Op(x) }`, or NULL. */
static const char *only_op(const struct dfg_tree *block)
{
	const struct dfg_tree *tree = block->n == 1 ? block->kid[0] : NULL;
	if (!tree || tree->kind != DFG_TREE_DO || tree->kid[0]->n != 1)
		return NULL;
	tree = tree->kid[0]->kid[0];
	if (tree->kind != DFG_TREE_CALL || tree->kid[0]->kind != DFG_TREE_NAME)
		return NULL;
	const char *name = tree->kid[0]->text;
	return isupper((unsigned char)*name) ? name : NULL;
}

struct walk {
	struct dfg_text signature, comment, examples;
	struct dfg_err *(*each)(void *arg, const struct dfg_std_entry *entry);
	void *arg;
};

static struct dfg_err *visit(
	struct walk *walk, const char *file, const struct dfg_source *source, const struct dfg_tree *tree)
{
	struct dfg_std_entry entry = {.file = file, .name = tree->text, .op = only_op(tree->kid[3])};
	const char *comment = source->text + comment_start(source, tree->at), *at = source->text + tree->at;
	walk->signature.length = walk->comment.length = walk->examples.length = 0;
	put_line(&walk->signature, source->text + tree->at, source->text + tree->kid[3]->at);
	put_line(&walk->comment, comment, at);
	put_examples(&walk->examples, comment, at);
	DFG_TRY(dfg_text_check(&walk->examples));
	DFG_TRY(dfg_text_check(&walk->signature));
	DFG_TRY(dfg_text_check(&walk->comment));
	entry.signature = walk->signature.s;
	entry.comment = walk->comment.s;
	entry.examples = walk->examples.s;
	if (!*entry.comment && !entry.op)
		return dfg_source_err(source, tree->at, DFG_BUG, "a fn or layer of the library requires a comment");
	return strncmp(entry.comment, "Internal:", 9) != 0 ? walk->each(walk->arg, &entry) : NULL;
}

static struct dfg_err *visit_file(struct walk *walk, const struct dfg_source *source, const char *file)
{
	struct dfg_arena arena = {0};
	struct dfg_tree *block;
	struct dfg_std_entry head = {.file = file};
	const char *blank = strstr(source->text, "\n\n");
	put_line(&walk->comment, source->text, blank ? blank : source->text);
	struct dfg_err *err = dfg_text_check(&walk->comment);
	head.comment = walk->comment.s;
	if (!err)
		err = walk->each(walk->arg, &head);
	if (!err)
		err = dfg_parse(source, &arena, &block);
	for (uint32_t i = 0; !err && i < block->n; i++)
		err = visit(walk, file, source, block->kid[i]);
	dfg_arena_release(&arena);
	return err;
}

struct dfg_err *dfg_lang_std_each(struct dfg_err *(*each)(void *arg, const struct dfg_std_entry *entry), void *arg)
{
	struct walk walk = {.each = each, .arg = arg};
	struct dfg_err *err = NULL;
	const char *file;
	for (size_t i = 0; !err && (file = dfg_lang_std_name(i)); i++) {
		char path[64];
		size_t length;
		struct dfg_source source = {path, dfg_lang_std(file, &length), 0, true};
		snprintf(path, sizeof path, "std:%s", file);
		source.length = (uint32_t)length;
		walk.comment.length = 0;
		err = visit_file(&walk, &source, file);
	}
	dfg_text_release(&walk.signature);
	dfg_text_release(&walk.comment);
	dfg_text_release(&walk.examples);
	return err;
}
