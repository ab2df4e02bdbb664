#include "cmd/cmd.h"
#include "lib/base/io.h"
#include "lib/lang/lang.h"

#include <string.h>

static bool in_place, only_check;

static const struct dfg_opt options[] = {
	{"write", 'w', .flag = &in_place, .help = "Write each file back where its layout changes, and print nothing."},
	{"check", .flag = &only_check, .help = "Change and print nothing; status 1 where a layout would change."},
	{0},
};

static struct dfg_err *write_text(const char *path, const struct dfg_text *text)
{
	struct dfg_out out = {0};
	struct dfg_err *err = dfg_out_open(path, true, &out);
	if (!err)
		err = dfg_out_write(&out, text->s ? text->s : "", text->length);
	if (!err)
		err = dfg_out_commit(&out);
	dfg_out_release(&out);
	return err;
}

static struct dfg_err *format_file(const char *path, int *out_status)
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
			dfg_talk("%s: its layout would change", path);
	} else if (!err)
		err = write_text(in_place && is_file ? path : "-", &text);
	dfg_text_release(&text);
	return err;
}

static struct dfg_err *fmt(char **operands, int *out_status)
{
	for (; *operands; operands++)
		DFG_TRY(format_file(*operands, out_status));
	return NULL;
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
