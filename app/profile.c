#include "app/profile.h"

#include "lib/base/mem.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Rows of one kind. */
struct rows {
	struct dfg_profile_row *row;
	size_t count, capacity;
};

struct reader {
	struct dfg_arena *arena;
	struct rows node, op;
	struct dfg_err *err;
};

static void add_row(
	struct reader *reader, struct rows *rows, const char *name, const char *op, const struct dfg_profiled *of)
{
	if (reader->err)
		return;
	if (!dfg_reserve(&rows->row, &rows->capacity, rows->count + 1, sizeof *rows->row)) {
		reader->err = dfg_no_memory("the profile");
		return;
	}
	rows->row[rows->count++] =
		(struct dfg_profile_row){name, op, of->calls, of->iterations, of->bytes, of->seconds, of->operations};
}

static void join(struct dfg_text *text, const char *const *word, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		dfg_text_add(text, "%s%s", i ? "+" : "", word[i]);
}

static void take(void *arg, const struct dfg_profiled *of)
{
	struct reader *reader = arg;
	struct dfg_text node = {0}, op = {0};
	join(&node, of->node, of->nodes);
	join(&op, of->op ? of->op : (const char *const[]){"loop"}, of->op ? of->nodes : 1);
	const char *name = node.s ? dfg_arena_print(reader->arena, "%s", node.s) : NULL;
	const char *ops = op.s ? dfg_arena_print(reader->arena, "%s", op.s) : NULL;
	if (!reader->err && (!name || !ops))
		reader->err = dfg_no_memory("the profile");
	add_row(reader, &reader->node, name, ops, of);
	add_row(reader, &reader->op, ops, ops, of);
	dfg_text_release(&node);
	dfg_text_release(&op);
}

static int by_name(const void *a, const void *b)
{
	const struct dfg_profile_row *x = a, *y = b;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->op, y->op);
}

/* Makes one row of all that have the same name and op. */
static void merge(struct rows *rows)
{
	size_t count = 0;
	qsort(rows->row, rows->count, sizeof *rows->row, by_name);
	for (size_t i = 0; i < rows->count; i++) {
		const struct dfg_profile_row *from = &rows->row[i];
		if (!count || by_name(&rows->row[count - 1], from)) {
			rows->row[count++] = *from;
			continue;
		}
		struct dfg_profile_row *to = &rows->row[count - 1];
		to->calls += from->calls;
		to->iterations += from->iterations;
		to->bytes += from->bytes;
		to->seconds += from->seconds;
		to->operations += from->operations;
	}
	rows->count = count;
}

static int by_time(const void *a, const void *b)
{
	const struct dfg_profile_row *x = a, *y = b;
	return x->seconds != y->seconds ? (x->seconds < y->seconds) - (x->seconds > y->seconds) : strcmp(x->name, y->name);
}

/* Moves the rows to the arena. */
static struct dfg_profile_row *finish(struct reader *reader, struct rows *rows, size_t *out_count)
{
	if (rows->count) {
		merge(rows);
		qsort(rows->row, rows->count, sizeof *rows->row, by_time);
	}
	*out_count = rows->count;
	struct dfg_profile_row *row = dfg_arena_zeros(reader->arena, rows->count, sizeof *row);
	if (row && rows->count)
		memcpy(row, rows->row, rows->count * sizeof *row);
	else if (!row && !reader->err)
		reader->err = dfg_no_memory("the profile");
	dfg_free(rows->row);
	return row;
}

struct dfg_err *dfg_profile_read(struct dfg_session *session, struct dfg_arena *arena, struct dfg_profile *out_profile)
{
	struct reader reader = {.arena = arena};
	*out_profile = (struct dfg_profile){0};
	dfg_session_profile(session, take, &reader);
	out_profile->node = finish(&reader, &reader.node, &out_profile->nodes);
	out_profile->op = finish(&reader, &reader.op, &out_profile->ops);
	for (size_t i = 0; i < out_profile->ops && !reader.err; i++)
		out_profile->seconds += out_profile->op[i].seconds;
	return reader.err;
}
