#include "app/seeds.h"

#include "lib/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct dfg_err *no_memory(void)
{
	return dfg_no_memory("the results of the seeds");
}

static struct dfg_err *find_score(
	struct dfg_seed_scores *scores, const char *prefix, const char *name, struct dfg_seed_score **out_score)
{
	const size_t skip = strlen(prefix), length = skip + strlen(name) + 1;
	for (size_t i = 0; i < scores->count; i++)
		if (!strncmp(scores->score[i].name, prefix, skip) && !strcmp(scores->score[i].name + skip, name)) {
			*out_score = &scores->score[i];
			return NULL;
		}
	if (!dfg_reserve(&scores->score, &scores->capacity, scores->count + 1, sizeof *scores->score))
		return no_memory();
	*out_score = &scores->score[scores->count];
	**out_score = (struct dfg_seed_score){.name = dfg_zeros(length, 1)};
	if (!(*out_score)->name)
		return no_memory();
	snprintf((*out_score)->name, length, "%s%s", prefix, name);
	scores->count++;
	return NULL;
}

static struct dfg_err *add_value(struct dfg_seed_scores *scores, const char *prefix, const char *name, double value)
{
	struct dfg_seed_score *score;
	DFG_TRY(find_score(scores, prefix, name, &score));
	if (!dfg_reserve(&score->value, &score->capacity, score->count + 1, sizeof *score->value))
		return no_memory();
	score->value[score->count++] = value;
	return NULL;
}

static struct dfg_err *check_complete(const struct dfg_seed_scores *scores)
{
	for (size_t i = 1; i < scores->count; i++)
		if (scores->score[i].count != scores->score[0].count)
			return DFG_ERR(DFG_DATA, "'%s' does not have a value after every training", scores->score[i].name);
	return NULL;
}

struct dfg_err *dfg_seed_scores_add(
	struct dfg_seed_scores *scores, const struct dfg_run *run, const struct dfg_arrays *results)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct dfg_tensor *tensor = &results->array[i].tensor;
		if (!tensor->shape.rank && dfg_dtype_is(tensor->dtype, "number"))
			DFG_TRY(add_value(scores, "", results->array[i].name, dfg_tensor_float(tensor, 0)));
	}
	for (uint32_t i = 0; i < run->evaluated.count; i++)
		DFG_TRY(add_value(scores, "eval_", run->evaluated.name[i], run->evaluated.value[i]));
	return check_complete(scores);
}

static double mean_of(const struct dfg_seed_score *score)
{
	double sum = 0;
	for (size_t i = 0; i < score->count; i++)
		sum += score->value[i];
	return sum / (double)score->count;
}

static double deviation_of(const struct dfg_seed_score *score)
{
	const double mean = mean_of(score);
	double squares = 0;
	for (size_t i = 0; i < score->count; i++)
		squares += (score->value[i] - mean) * (score->value[i] - mean);
	return sqrt(squares / ((double)score->count - 1));
}

static struct dfg_err *add_array(
	struct dfg_arrays *results, const char *name, const double *value, const struct dfg_shape *shape)
{
	struct dfg_tensor tensor;
	DFG_TRY(dfg_tensor_new(DFG_F64, shape, &tensor));
	memcpy(tensor.data, value, (size_t)dfg_shape_count(shape) * sizeof *value);
	return dfg_arrays_add(results, name, &tensor);
}

static struct dfg_err *add_score(
	const struct dfg_seed_score *score, struct dfg_arena *arena, struct dfg_arrays *results)
{
	const char *mean = dfg_arena_print(arena, "%s/mean", score->name),
			   *deviation = dfg_arena_print(arena, "%s/deviation", score->name);
	const double of[] = {mean_of(score), deviation_of(score)};
	if (!mean || !deviation)
		return no_memory();
	DFG_TRY(
		add_array(results, score->name, score->value, &(struct dfg_shape){.rank = 1, .dim = {(int64_t)score->count}}));
	DFG_TRY(add_array(results, mean, &of[0], &DFG_SHAPE_SCALAR));
	return add_array(results, deviation, &of[1], &DFG_SHAPE_SCALAR);
}

struct dfg_err *dfg_seed_scores_results(const struct dfg_seed_scores *scores, struct dfg_arrays *out_results)
{
	struct dfg_arena arena = {0};
	struct dfg_err *err = NULL;
	for (size_t i = 0; i < scores->count && !err; i++)
		err = add_score(&scores->score[i], &arena, out_results);
	dfg_arena_release(&arena);
	return err;
}

void dfg_seed_scores_release(struct dfg_seed_scores *scores)
{
	for (size_t i = 0; i < scores->count; i++) {
		dfg_free(scores->score[i].name);
		dfg_free(scores->score[i].value);
	}
	dfg_free(scores->score);
	*scores = (struct dfg_seed_scores){0};
}
