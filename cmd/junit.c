#include "cmd/junit.h"

#include "lib/base/io.h"

#include <string.h>

/* XML has no control characters, so these become \xNN; the five characters of its syntax become entities. */
static void add_escaped(struct dfg_text *to, const char *words)
{
	struct dfg_text plain = {0};
	dfg_text_printable(&plain, words, strlen(words), "");
	for (size_t i = 0; i < plain.length; i++)
		switch (plain.s[i]) {
		case '&':
			dfg_text_add(to, "&amp;");
			break;
		case '<':
			dfg_text_add(to, "&lt;");
			break;
		case '>':
			dfg_text_add(to, "&gt;");
			break;
		case '"':
			dfg_text_add(to, "&quot;");
			break;
		case '\'':
			dfg_text_add(to, "&apos;");
			break;
		default:
			dfg_text_put(to, plain.s + i, 1);
		}
	to->short_of_memory |= plain.short_of_memory;
	dfg_text_release(&plain);
}

void dfg_junit_add(
	struct dfg_junit *junit, const char *group, const char *name, double seconds, const struct dfg_err *err)
{
	struct dfg_text *to = &junit->cases;
	junit->tests++;
	junit->failures += err != NULL;
	junit->seconds += seconds;
	dfg_text_add(to, "<testcase classname=\"");
	add_escaped(to, group);
	dfg_text_add(to, "\" name=\"");
	add_escaped(to, name);
	dfg_text_add(to, "\" time=\"%.6f\"", seconds);
	if (!err) {
		dfg_text_add(to, "/>\n");
		return;
	}
	dfg_text_add(to, "><failure message=\"");
	add_escaped(to, err->text);
	dfg_text_add(to, "\">");
	for (const struct dfg_err *e = err; e; e = e->next) {
		add_escaped(to, e->text);
		dfg_text_add(to, "\n");
	}
	dfg_text_add(to, "</failure></testcase>\n");
}

struct dfg_err *dfg_junit_write(const struct dfg_junit *junit, const char *path)
{
	struct dfg_text text = {0};
	dfg_text_add(&text,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites><testsuite name=\"dfg test\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"0\" "
		"time=\"%.6f\">\n",
		junit->tests, junit->failures, junit->seconds);
	if (junit->cases.length)
		dfg_text_put(&text, junit->cases.s, junit->cases.length);
	dfg_text_add(&text, "</testsuite></testsuites>\n");
	struct dfg_err *err = dfg_text_check(&junit->cases);
	if (!err)
		err = dfg_out_text(path, false, &text);
	dfg_text_release(&text);
	return err;
}

void dfg_junit_release(struct dfg_junit *junit)
{
	dfg_text_release(&junit->cases);
}
