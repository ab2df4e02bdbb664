/* TensorFlow's ops on checkpoints. The host knows the format of the files (lib/graph/tensor_files.h). */
#include "kernels/shape_rules.h"
#include "lib/base/text.h"
#include "lib/exec/state/state.h"
#include "lib/graph/kernel.h"
#include "lib/graph/tensor_files.h"

#include <inttypes.h>
#include <string.h>

enum { PREFIX, NAMES, SLICES, TENSORS }; /* inputs */

static struct dfg_err *files_of(struct dfg_kernel *ctx, const struct dfg_tensor_files **out_files)
{
	const struct dfg_state *state = ctx->host->state(ctx);
	*out_files = state ? state->files : NULL;
	return *out_files ? NULL
					  : DFG_ERR(DFG_DATA, "%s requires a session that reads and writes files", ctx->call->op->name);
}

/* A path from a string: not empty, without zero bytes. The caller frees it, also on error. */
static struct dfg_err *path_of(const struct dfg_string *string, struct dfg_text *out_path)
{
	*out_path = (struct dfg_text){0};
	dfg_text_put(out_path, string->s, string->length);
	DFG_TRY(dfg_text_check(out_path));
	if (!string->length || memchr(string->s, '\0', string->length))
		return DFG_ERR(DFG_DATA, "a path is empty, or has a zero byte");
	return NULL;
}

/* The path in input i, a scalar. */
static struct dfg_err *path_in(struct dfg_kernel *ctx, int i, struct dfg_text *out_path)
{
	const struct dfg_tensor *input = dfg_kernel_input(ctx, i);
	*out_path = (struct dfg_text){0};
	if (input->shape.rank)
		return DFG_ERR(DFG_DATA, "input %d has shape %s, expected a scalar", i, dfg_shape_words(&input->shape).s);
	return path_of(input->data, out_path);
}

/* Checks that there are `count` names, for whole tensors. */
static struct dfg_err *check_names(struct dfg_kernel *ctx, int64_t count)
{
	const struct dfg_tensor *names = dfg_kernel_input(ctx, NAMES), *slices = dfg_kernel_input(ctx, SLICES);
	const struct dfg_string *name = names->data, *slice = slices->data;
	if (names->shape.rank != 1 || slices->shape.rank != 1 || names->shape.dim[0] != count ||
		slices->shape.dim[0] != count)
		return DFG_ERR(DFG_DATA,
			"tensor_names has shape %s and shape_and_slices %s, expected [%" PRId64 "], one for each tensor",
			dfg_shape_words(&names->shape).s, dfg_shape_words(&slices->shape).s, count);
	for (int64_t i = 0; i < count; i++) {
		if (!name[i].length)
			return DFG_ERR(DFG_DATA, "tensor_names[%" PRId64 "] is empty", i);
		if (slice[i].length)
			return DFG_ERR(DFG_DATA, "shape_and_slices[%" PRId64 "] is '%.*s': slices of tensors are not supported", i,
				(int)(slice[i].length < 80 ? slice[i].length : 80), slice[i].s);
	}
	return NULL;
}

static struct dfg_err *names_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, PREFIX, 0));
	DFG_TRY(dfg_need_rank(node, NAMES, 1));
	return dfg_need_rank(node, SLICES, 1);
}

static struct dfg_err *save_run(struct dfg_kernel *ctx)
{
	const int64_t count = ctx->call->n_in - TENSORS;
	const struct dfg_tensor_files *files;
	struct dfg_text prefix = {0};
	DFG_TRY(files_of(ctx, &files));
	DFG_TRY(check_names(ctx, count));
	struct dfg_err *err = path_in(ctx, PREFIX, &prefix);
	if (!err)
		err = files->save(prefix.s, (size_t)count, dfg_kernel_input(ctx, NAMES)->data,
			(const struct dfg_tensor *const *)(ctx->in + TENSORS));
	dfg_text_release(&prefix);
	return err;
}

const struct dfg_op dfg_op_SaveV2 = {
	.name = "SaveV2",
	.doc = "writes tensors to the files of a checkpoint of TensorFlow",
	.sig = "<dtypes: [type]>(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes) -> ()",
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = names_shape,
	.run = save_run,
};

/* Gives the tensors to the outputs, and releases them. */
static struct dfg_err *give_all(struct dfg_kernel *ctx, struct dfg_tensor *tensor, int64_t count)
{
	const struct dfg_string *name = dfg_kernel_input(ctx, NAMES)->data;
	struct dfg_err *err = NULL;
	for (int64_t i = 0; i < count; i++) {
		const enum dfg_dtype dtype = (enum dfg_dtype)ctx->call->out_dtype[i];
		if (!err && tensor[i].dtype != dtype)
			err = DFG_ERR(DFG_DATA, "'%.*s' is %s, expected %s", (int)(name[i].length < 200 ? name[i].length : 200),
				name[i].s, dfg_dtype_name(tensor[i].dtype), dfg_dtype_name(dtype));
		if (err)
			dfg_tensor_release(&tensor[i]);
		else
			err = ctx->host->give(ctx, (int)i, &tensor[i]);
	}
	return err;
}

static struct dfg_err *restore_run(struct dfg_kernel *ctx)
{
	const int64_t count = ctx->call->n_out;
	const struct dfg_tensor_files *files;
	struct dfg_tensor *tensor;
	struct dfg_text prefix = {0};
	DFG_TRY(files_of(ctx, &files));
	DFG_TRY(check_names(ctx, count));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(count + 1) * sizeof *tensor, (void **)&tensor));
	memset(tensor, 0, (size_t)(count + 1) * sizeof *tensor);
	struct dfg_err *err = path_in(ctx, PREFIX, &prefix);
	if (!err)
		err = files->restore(prefix.s, (size_t)count, dfg_kernel_input(ctx, NAMES)->data, tensor);
	if (!err)
		err = give_all(ctx, tensor, count);
	dfg_text_release(&prefix);
	return err;
}

const struct dfg_op dfg_op_RestoreV2 = {
	.name = "RestoreV2",
	.doc = "reads tensors by name from the files of a checkpoint of TensorFlow",
	.sig = "<dtypes: [type]>(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: dtypes)",
	.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT,
	.shape = names_shape,
	.run = restore_run,
};

enum { DELETE_OLD_DIRS };

static struct dfg_err *merge_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 1));
	return dfg_need_rank(node, 1, 0);
}

static struct dfg_err *merge_paths(struct dfg_kernel *ctx, const struct dfg_tensor_files *files, struct dfg_text *path)
{
	const struct dfg_tensor *prefixes = dfg_kernel_input(ctx, 0);
	const int64_t count = dfg_shape_count(&prefixes->shape);
	const char **prefix;
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)(count + 1) * sizeof *prefix, (void **)&prefix));
	for (int64_t i = 0; i < count; i++) {
		DFG_TRY(path_of((const struct dfg_string *)prefixes->data + i, &path[i]));
		prefix[i] = path[i].s;
	}
	DFG_TRY(path_in(ctx, 1, &path[count]));
	return files->merge_prefixes((size_t)count, prefix, path[count].s, dfg_kernel_attr(ctx)[DELETE_OLD_DIRS].b);
}

static struct dfg_err *merge_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *prefixes = dfg_kernel_input(ctx, 0);
	const struct dfg_tensor_files *files;
	struct dfg_text *path;
	DFG_TRY(files_of(ctx, &files));
	if (prefixes->shape.rank != 1 || !prefixes->shape.dim[0])
		return DFG_ERR(DFG_DATA, "checkpoint_prefixes has shape %s, expected a vector of at least one",
			dfg_shape_words(&prefixes->shape).s);
	const size_t count = (size_t)prefixes->shape.dim[0] + 1;
	DFG_TRY(dfg_kernel_scratch(ctx, count * sizeof *path, (void **)&path));
	memset(path, 0, count * sizeof *path);
	struct dfg_err *err = merge_paths(ctx, files, path);
	for (size_t i = 0; i < count; i++)
		dfg_text_release(&path[i]);
	return err;
}

const struct dfg_op dfg_op_MergeV2Checkpoints = {
	.name = "MergeV2Checkpoints",
	.doc = "merges several checkpoints of TensorFlow into one",
	.sig = "(checkpoint_prefixes: string, destination_prefix: string) -> ()",
	.attr = {[DELETE_OLD_DIRS] = "delete_old_dirs: bool = true", "allow_missing_files: bool = false"},
	.flags = DFG_STATEFUL | DFG_NO_GRADIENT,
	.shape = merge_shape,
	.run = merge_run,
};

static struct dfg_err *sharded_shape(struct dfg_infer *node)
{
	for (int i = 0; i < 3; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *sharded_run(struct dfg_kernel *ctx)
{
	const struct dfg_string *name = dfg_kernel_input(ctx, 0)->data;
	struct dfg_tensor *out;
	struct dfg_text text = {0};
	for (int i = 0; i < 3; i++)
		if (dfg_kernel_input(ctx, i)->shape.rank)
			return DFG_ERR(DFG_DATA, "input %d has shape %s, expected a scalar", i,
				dfg_shape_words(&dfg_kernel_input(ctx, i)->shape).s);
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	dfg_text_put(&text, name->s, name->length);
	dfg_text_add(&text, "-%05d-of-%05d", *(const int32_t *)dfg_kernel_input(ctx, 1)->data,
		*(const int32_t *)dfg_kernel_input(ctx, 2)->data);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		err = dfg_kernel_string(ctx, 0, 0, text.s, text.length);
	dfg_text_release(&text);
	return err;
}

const struct dfg_op dfg_op_ShardedFilename = {
	.name = "ShardedFilename",
	.doc = "basename with the number of a shard and the number of shards: \"model-00000-of-00002\"",
	.sig = "(basename: string, shard: i32, num_shards: i32) -> (filename: string)",
	.flags = DFG_NO_GRADIENT,
	.shape = sharded_shape,
	.run = sharded_run,
};
