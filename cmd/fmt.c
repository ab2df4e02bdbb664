#include "cmd/cmd.h"
#include "lib/base/io.h"
#include "lib/base/text.h"
#include "lib/lang/lang.h"

#include <string.h>

static bool in_place, only_check, if_changed;

static const struct dfg_opt options[] = {
	{"write", 'w', .flag = &in_place, .help = "Rewrite each file whose layout changes, and print nothing."},
	{"if-changed", .flag = &if_changed, .help = "Leave a file whose layout is canonical untouched, as -w always does."},
	{"check", .flag = &only_check, .help = "Change and print nothing; exit with 1 if a layout would change."},
	{0},
};

/* Appends the formatted text or message to `out`. */
static struct dfg_err *format_file(const char *path, struct dfg_text *out, int *out_status)
{
	struct dfg_blob blob = {0};
	struct dfg_text text = {0};
	bool is_file = strcmp(path, "-") != 0;
	DFG_TRY(dfg_blob_open(path, 0, &blob));
	struct dfg_err *err = dfg_lang_format(is_file ? path : "stdin", (const char *)blob.bytes, blob.size, &text);
	bool same = !err && text.length == blob.size && (!blob.size || !memcmp(text.s, blob.bytes, blob.size));
	dfg_blob_close(&blob);
	if (!err && only_check) {
		*out_status |= !same;
		if (!same)
			dfg_talk("%s: the layout is not canonical; dfg fmt -w changes it", path);
	} else if (!err && in_place && is_file) {
		err = dfg_out_text(path, true, &text);
	} else if (!err) {
		dfg_text_put(out, text.s ? text.s : "", text.length);
	}
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *fmt(char **operands, int *out_status)
{
	struct dfg_text text = {0};
	struct dfg_err *err = NULL;
	if (in_place && only_check)
		return DFG_ERR(DFG_USAGE, "--write and --check exclude each other");
	if (if_changed && !in_place)
		return DFG_ERR(DFG_USAGE, "--if-changed requires --write");
	for (; *operands && !err; operands++)
		err = format_file(*operands, &text, out_status);
	if (!err)
		err = dfg_out_text("-", false, &text);
	dfg_text_release(&text);
	return err;
}

const struct dfg_cmd dfg_cmd_fmt = {
	.name = "fmt",
	.operands = "PROGRAM.dfg...",
	.summary = "print a text program in canonical layout",
	.options = options,
	.least = 1,
	.most = -1,
	.run = fmt,
};
