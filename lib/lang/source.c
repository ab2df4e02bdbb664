#include "lib/lang/source.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 120 }; /* the most bytes of the line that a message shows */

void dfg_source_location(const struct dfg_source *source, uint32_t at, uint32_t *out_line, uint32_t *out_column)
{
	uint32_t line = 1, begin = 0;
	for (uint32_t i = 0; i < at && i < source->length; i++)
		if (source->text[i] == '\n') {
			line++;
			begin = i + 1;
		}
	*out_line = line;
	*out_column = at - begin + 1;
}

/* Writes the blanks before the caret, with the tabs of the line, so that it is right for any width of tabs. */
static void indent(char *to, const char *line, uint32_t column)
{
	for (uint32_t i = 0; i + 1 < column; i++)
		to[i] = line[i] == '\t' ? '\t' : ' ';
	to[column - 1] = '\0';
}

struct dfg_source_words dfg_source_words(const struct dfg_source *source)
{
	struct dfg_source_words words;
	snprintf(words.s, sizeof words.s, "%s", source->path);
	dfg_one_line(words.s, sizeof words.s);
	return words;
}

static struct dfg_err *at_location(
	const struct dfg_source *source, uint32_t at, enum dfg_code code, const char *kind, const char *what)
{
	uint32_t line, column;
	dfg_source_location(source, at, &line, &column);

	const char *text = source->text + (at - (column - 1));
	uint32_t skipped = column > SHOWN ? column - SHOWN / 2 : 0;
	int length = (int)strcspn(text + skipped, "\n");
	char blank[SHOWN + 1];
	indent(blank, text + skipped, column - skipped);
	struct dfg_err *err = DFG_ERR(code, "%s:%u:%u: %s: %s\n    %.*s\n    %s^", dfg_source_words(source).s, line, column,
		kind, what, length < SHOWN ? length : SHOWN, text + skipped, blank);
	return dfg_err_of_file(err, NULL);
}

struct dfg_err *dfg_source_err(const struct dfg_source *source, uint32_t at, enum dfg_code code, const char *what)
{
	return at_location(source, at, code, "error", what);
}

struct dfg_err *dfg_source_warning(const struct dfg_source *source, uint32_t at, const char *what)
{
	return at_location(source, at, DFG_DATA, "warning", what);
}
