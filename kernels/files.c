/* Whole files as strings: ReadFile, WriteFile. The paths are those of the process that runs the node. */
#include "kernels/shape_rules.h"
#include "lib/base/io.h"
#include "lib/base/text.h"

#include <string.h>

enum { FILENAME, CONTENTS };

static struct dfg_err *path_in(struct dfg_kernel *ctx, struct dfg_text *out_path)
{
	const struct dfg_tensor *name = dfg_kernel_input(ctx, FILENAME);
	const struct dfg_string *path = name->data;
	*out_path = (struct dfg_text){0};
	if (name->shape.rank)
		return DFG_ERR(DFG_DATA, "filename has shape %s, expected a scalar", dfg_shape_words(&name->shape).s);
	if (!path->length || memchr(path->s, '\0', path->length))
		return DFG_ERR(DFG_DATA, "filename is empty, or has a zero byte");
	dfg_text_put(out_path, path->s, path->length);
	return dfg_text_check(out_path);
}

static struct dfg_err *read_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return dfg_need_rank(node, FILENAME, 0);
}

static struct dfg_err *read_run(struct dfg_kernel *ctx)
{
	struct dfg_text path;
	struct dfg_blob blob = {0};
	struct dfg_tensor *out;
	struct dfg_err *err = path_in(ctx, &path);
	if (!err)
		err = dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out);
	if (!err)
		err = dfg_blob_open_plain(path.s, 0, &blob);
	if (!err)
		err = dfg_kernel_string(ctx, 0, 0, blob.bytes, blob.size);
	dfg_blob_close(&blob);
	dfg_text_release(&path);
	return err;
}

const struct dfg_op dfg_op_ReadFile = {
	.name = "ReadFile",
	.doc = "the bytes of a file",
	.sig = "(filename: string) -> (contents: string)",
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = read_shape,
	.run = read_run,
};

static struct dfg_err *write_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, FILENAME, 0));
	return dfg_need_rank(node, CONTENTS, 0);
}

static struct dfg_err *write_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *contents = dfg_kernel_input(ctx, CONTENTS);
	const struct dfg_string *bytes = contents->data;
	struct dfg_text path, text = {0};
	if (contents->shape.rank)
		return DFG_ERR(DFG_DATA, "contents have shape %s, expected a scalar", dfg_shape_words(&contents->shape).s);
	struct dfg_err *err = path_in(ctx, &path);
	if (!err && path.length == 1 && *path.s == '-')
		err = DFG_ERR(DFG_DATA, "filename is '-', expected the name of a file");
	dfg_text_put(&text, bytes->s, bytes->length);
	if (!err)
		err = dfg_text_check(&text);
	if (!err)
		err = dfg_out_text(path.s, false, &text);
	dfg_text_release(&text);
	dfg_text_release(&path);
	return err;
}

const struct dfg_op dfg_op_WriteFile = {
	.name = "WriteFile",
	.doc = "writes a file, whole or not at all",
	.sig = "(filename: string, contents: string) -> ()",
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = write_shape,
	.run = write_run,
};
