#include "app/shard_variables.h"

#include "lib/pass/rewrite/shard_variable.h"
#include "lib/pass/verify/verify.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 1024 };

static struct dfg_err *parse(const char *word, struct dfg_arena *arena, struct dfg_shard_request *out_request)
{
	const char *equals = strrchr(word, '=');
	char *end = NULL;
	unsigned long parts = equals && equals[1] >= '0' && equals[1] <= '9' ? strtoul(equals + 1, &end, 10) : 0;
	bool by_div = end && !strcmp(end, ",div");
	if (!equals || equals == word || !end || (*end && !by_div && strcmp(end, ",mod")))
		return DFG_ERR(DFG_USAGE, "--shard-variable must be PATTERN=K, PATTERN=K,mod or PATTERN=K,div, not '%s'", word);
	if (parts < 1 || parts > PARTS_MOST)
		return DFG_ERR(DFG_USAGE, "--shard-variable '%s': the number of parts must be from 1 to %d", word, PARTS_MOST);
	*out_request = (struct dfg_shard_request){
		.pattern = dfg_arena_copy(arena, word, (size_t)(equals - word)), .parts = (uint32_t)parts, .by_div = by_div};
	return out_request->pattern ? NULL : dfg_no_memory("the parts of variables");
}

static struct dfg_err *rewrite(struct dfg_graph *graph, struct dfg_shard_request *request, size_t requests)
{
	struct dfg_builder builder = {0};
	DFG_TRY(dfg_builder_init(&builder, graph));
	struct dfg_err *err = dfg_shard_variables(&builder, request, requests);
	dfg_builder_release(&builder);
	return err;
}

struct dfg_err *dfg_shard_model(const struct dfg_words_list *words, struct dfg_model *model)
{
	struct dfg_shard_request *request = dfg_arena_zeros(&model->arena, words->count + 1, sizeof *request);
	if (!words->count)
		return NULL;
	if (!request)
		return dfg_no_memory("the parts of variables");
	for (size_t i = 0; i < words->count; i++)
		DFG_TRY(parse(words->word[i], &model->arena, &request[i]));
	struct dfg_err *err = rewrite(&model->file.graph, request, words->count);
	for (size_t i = 0; i < words->count && !err; i++)
		if (!request[i].used)
			err = DFG_ERR(DFG_DATA, "--shard-variable '%s' matches no variable", words->word[i]);
	if (!err) {
		dfg_facts_release(&model->facts);
		model->facts = (struct dfg_facts){0};
		err = dfg_verify(&model->file.graph, NULL, &model->facts);
	}
	return dfg_err_of_file(err, model->file.graph.source);
}

static size_t row_bytes(const struct dfg_tensor *tensor)
{
	struct dfg_shape row = tensor->shape;
	row.dim[0] = 1;
	return (size_t)dfg_shape_count(&row) * dfg_dtype_size(tensor->dtype);
}

struct dfg_err *dfg_shard_take_rows(
	const struct dfg_row_part *part, const struct dfg_tensor *whole, struct dfg_tensor *out_tensor)
{
	struct dfg_shape shape = whole->shape;
	if (shape.rank < 1 || shape.dim[0] != part->rows || dfg_dtype_is_object(whole->dtype))
		return DFG_ERR(DFG_DATA, "array '%.*s' is %s, expected %lld rows", (int)part->whole.length, part->whole.s,
			dfg_type_words(whole->dtype, &whole->shape).s, (long long)part->rows);
	shape.dim[0] = dfg_row_part_rows(part);
	DFG_TRY(dfg_tensor_new(whole->dtype, &shape, out_tensor));
	size_t bytes = row_bytes(whole);
	for (int64_t i = 0; i < shape.dim[0]; i++)
		memcpy((char *)out_tensor->data + (size_t)i * bytes,
			(const char *)whole->data + (size_t)dfg_row_part_at(part, i) * bytes, bytes);
	return NULL;
}

/* Copies the rows of a part, which it releases, to their places. */
static struct dfg_err *put_rows(const struct dfg_row_part *part, struct dfg_tensor *rows, struct dfg_tensor *whole)
{
	size_t bytes = row_bytes(whole);
	bool fits = part->rows == whole->shape.dim[0] && rows->dtype == whole->dtype &&
				rows->shape.rank == whole->shape.rank && rows->shape.dim[0] == dfg_row_part_rows(part) &&
				(!rows->shape.dim[0] || row_bytes(rows) == bytes);
	for (int64_t i = 0; i < dfg_row_part_rows(part) && fits; i++)
		memcpy((char *)whole->data + (size_t)dfg_row_part_at(part, i) * bytes,
			(const char *)rows->data + (size_t)i * bytes, bytes);
	dfg_tensor_release(rows);
	return fits ? NULL
				: DFG_ERR(DFG_DATA, "part %u has a dtype or shape that does not fit the other parts", part->part);
}

static bool same_whole(const struct dfg_row_part *a, const struct dfg_row_part *b)
{
	return a->whole.length == b->whole.length && !memcmp(a->whole.s, b->whole.s, a->whole.length);
}

/* Whether an earlier variable, from variable `first` on, is the same part. */
static bool is_repeated(const struct dfg_model *model, const struct dfg_variables *variables, uint32_t first,
	uint32_t i, const struct dfg_row_part *part)
{
	struct dfg_row_part other;
	for (uint32_t k = first; k < i; k++)
		if (dfg_row_part_of(&model->file.graph.node[variables->ref[k].node], &other) && other.part == part->part &&
			same_whole(&other, part))
			return true;
	return false;
}

static struct dfg_err *read_part(const struct dfg_model *model, const struct dfg_variables *variables, uint32_t i,
	const struct dfg_row_part *part, struct dfg_tensor *whole)
{
	struct dfg_tensor rows;
	DFG_TRY(dfg_session_read(model->session, &variables->ref[i], &rows));
	if (!whole->dtype) {
		struct dfg_shape shape = rows.shape;
		shape.dim[0] = part->rows;
		struct dfg_err *err =
			shape.rank < 1 || dfg_dtype_is_object(rows.dtype)
				? DFG_ERR(DFG_DATA, "part %u is %s%s, expected a tensor of numbers with at least one dimension",
					  part->part, dfg_dtype_name(rows.dtype), dfg_shape_words(&rows.shape).s)
				: dfg_tensor_new(rows.dtype, &shape, whole);
		if (err) {
			dfg_tensor_release(&rows);
			return err;
		}
	}
	return put_rows(part, &rows, whole);
}

struct dfg_err *dfg_shard_read_whole(const struct dfg_model *model, const struct dfg_variables *variables, uint32_t i,
	struct dfg_tensor *out_tensor, bool *out_set)
{
	struct dfg_row_part first, part;
	struct dfg_tensor whole = {0};
	uint32_t found = 0;
	struct dfg_err *err = NULL;
	(void)dfg_row_part_of(&model->file.graph.node[variables->ref[i].node], &first);
	for (uint32_t k = i; k < variables->count && !err; k++) {
		const struct dfg_node *node = &model->file.graph.node[variables->ref[k].node];
		if (!variables->fact[k].set || !dfg_row_part_of(node, &part) || !same_whole(&first, &part))
			continue;
		err = is_repeated(model, variables, i, k, &part)
				  ? DFG_ERR(DFG_DATA, "part %u occurs twice: two variables of the graph claim to be it", part.part)
				  : read_part(model, variables, k, &part, &whole);
		found++;
	}
	*out_set = !err && found == first.parts;
	if (*out_set)
		*out_tensor = whole;
	else
		dfg_tensor_release(&whole);
	return err;
}
