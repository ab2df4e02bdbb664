/*
 * cost_estimate. Messages and bytes of a step, from the transfers that partition made. O(transfers * (log(transfers) +
 * links + loops)).
 */
#include "lib/pass/partition/cost_estimate.h"

#include "lib/base/mem.h"
#include "lib/pass/partition/memory_estimate.h"
#include "lib/graph/cycle.h"
#include "lib/graph/initialisers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct estimator {
	struct dfg_cost_estimate *estimate;
	struct dfg_arena *arena;
	const struct dfg_transfer *transfer;
	uint32_t transfers;
	struct dfg_map loops; /* paths of inner loops */
	const char **outer;   /* by number of the path: the enclosing loop */
	size_t outer_capacity;
	struct dfg_map sizes; /* the sizes that letters stand for, by number of the letter */
};

/* Appends a term; equal terms are merged when all are present. */
static struct dfg_err *add_term(struct dfg_amount *amount, uint64_t times, const char *sizes, const char *loop)
{
	if (!times)
		return NULL;
	if (!dfg_reserve(&amount->term, &amount->capacity, amount->count + 1, sizeof *amount->term))
		return dfg_no_memory("a cost estimate");
	amount->term[amount->count++] = (struct dfg_cost_term){times, sizes, loop};
	return NULL;
}

struct dfg_err *dfg_amount_add(struct dfg_amount *amount, uint64_t times, const char *sizes)
{
	return add_term(amount, times, sizes, "");
}

/*
 * The path of the loop around that of `inner`, whose depth is 2 or more. It is searched, because frame names may
 * contain '/'.
 */
static struct dfg_err *find_outer(const struct estimator *b, const struct dfg_transfer *inner, const char **out)
{
	const char *best = NULL, *slash = strrchr(inner->loop, '/');
	for (uint32_t t = 0; t < b->transfers; t++) {
		const char *path = b->transfer[t].loop;
		size_t length = strlen(path);
		if (b->transfer[t].depth + 1 == inner->depth && !strncmp(inner->loop, path, length) &&
			inner->loop[length] == '/' && (!best || length > strlen(best)))
			best = path;
	}
	*out = best ? best : dfg_arena_copy(b->arena, inner->loop, slash ? (size_t)(slash - inner->loop) : 0);
	return *out ? NULL : dfg_no_memory("a cost estimate");
}

static struct dfg_err *outer_of(struct estimator *b, const struct dfg_transfer *inner, const char **out)
{
	uint32_t number;
	bool is_new;
	if (!dfg_map_put(&b->loops, inner->loop, strlen(inner->loop), &number, &is_new) ||
		!dfg_reserve(&b->outer, &b->outer_capacity, b->loops.count, sizeof *b->outer))
		return dfg_no_memory("a cost estimate");
	if (is_new)
		DFG_TRY(find_outer(b, inner, &b->outer[number]));
	*out = b->outer[number];
	return NULL;
}

/* Adds a transfer: once per iteration and, with each_evaluation, once more each time that its loop is entered. */
static struct dfg_err *add_runs(
	struct estimator *b, struct dfg_amount *amount, const struct dfg_transfer *t, uint64_t times, const char *sizes)
{
	const char *outer = "";
	DFG_TRY(add_term(amount, times, sizes, t->loop));
	if (!t->depth || !t->each_evaluation)
		return NULL;
	if (t->depth > 1)
		DFG_TRY(outer_of(b, t, &outer));
	return add_term(amount, times, sizes, outer);
}

static struct dfg_err *new_letter(const struct estimator *b, const char *tensor, int axis, const char **out_name)
{
	static const char letters[] = "cdefghijklmopqrstuvwxyz";
	struct dfg_cost_estimate *estimate = b->estimate;
	size_t number = estimate->letters;
	const char letter = letters[number % (sizeof letters - 1)];
	size_t suffix = number / (sizeof letters - 1);
	if (!dfg_reserve(&estimate->letter, &estimate->letters_capacity, number + 1, sizeof *estimate->letter))
		return dfg_no_memory("a cost estimate");
	*out_name = suffix ? dfg_arena_print(b->arena, "%c%zu", letter, suffix) : dfg_arena_print(b->arena, "%c", letter);
	if (!*out_name)
		return dfg_no_memory("a cost estimate");
	estimate->letter[estimate->letters++] = (struct dfg_cost_letter){*out_name, tensor, axis};
	return NULL;
}

/* The letter of an unknown size; a tensor sent to several devices has one letter. */
static struct dfg_err *letter_of(struct estimator *b, const char *tensor, int axis, const char **out_name)
{
	const char *size = dfg_arena_print(b->arena, "%d %s", axis, tensor);
	uint32_t number;
	bool is_new;
	if (!size || !dfg_map_put(&b->sizes, size, strlen(size), &number, &is_new))
		return dfg_no_memory("a cost estimate");
	if (is_new)
		return new_letter(b, tensor, axis, out_name);
	*out_name = b->estimate->letter[number].name;
	return NULL;
}

static struct dfg_err *times_letter(struct estimator *b, const char *tensor, int axis, const char **sizes)
{
	const char *letter = "b";
	if (axis)
		DFG_TRY(letter_of(b, tensor, axis, &letter));
	*sizes = **sizes ? dfg_arena_print(b->arena, "%s*%s", *sizes, letter) : letter;
	return *sizes ? NULL : dfg_no_memory("a cost estimate");
}

static struct dfg_err *bytes_of(
	struct estimator *b, const struct dfg_transfer *t, uint64_t *out_times, const char **out_sizes)
{
	enum { ELEMENTS = -1, STRINGS = -2 };
	*out_times = dfg_dtype_size(t->dtype);
	*out_sizes = "";
	if (t->dtype == DFG_STRING) {
		*out_times = 1;
		return times_letter(b, t->tensor, STRINGS, out_sizes);
	}
	if (t->shape.rank < 0)
		return times_letter(b, t->tensor, ELEMENTS, out_sizes);
	for (int i = 0; i < t->shape.rank; i++)
		if (t->shape.dim[i] >= 0)
			*out_times *= (uint64_t)t->shape.dim[i];
		else
			DFG_TRY(times_letter(b, t->tensor, i, out_sizes));
	return NULL;
}

static struct dfg_err *link_of(
	struct dfg_cost_estimate *estimate, uint32_t from, uint32_t to, struct dfg_cost_link **out_link)
{
	for (size_t i = 0; i < estimate->links; i++)
		if (estimate->link[i].from == from && estimate->link[i].to == to) {
			*out_link = &estimate->link[i];
			return NULL;
		}
	if (!dfg_reserve(&estimate->link, &estimate->links_capacity, estimate->links + 1, sizeof *estimate->link))
		return dfg_no_memory("a cost estimate");
	*out_link = &estimate->link[estimate->links++];
	(*out_link)->from = from;
	(*out_link)->to = to;
	return NULL;
}

static struct dfg_err *add_transfer(struct estimator *b, const struct dfg_transfer *t)
{
	struct dfg_cost_link *link;
	uint64_t bytes;
	const char *sizes;
	DFG_TRY(link_of(b->estimate, t->from, t->to, &link));
	DFG_TRY(bytes_of(b, t, &bytes, &sizes));
	DFG_TRY(add_runs(b, &link->messages, t, 1, ""));
	DFG_TRY(add_runs(b, &b->estimate->messages, t, 1, ""));
	DFG_TRY(add_runs(b, &link->bytes, t, bytes, sizes));
	return add_runs(b, &b->estimate->bytes, t, bytes, sizes);
}

static int by_ends(const void *a, const void *b)
{
	const struct dfg_cost_link *one = a, *other = b;
	if (one->from != other->from)
		return one->from < other->from ? -1 : 1;
	return one->to < other->to ? -1 : one->to > other->to;
}

static int by_loop(const void *a, const void *b)
{
	const struct dfg_cost_term *one = a, *other = b;
	int order = strcmp(one->loop, other->loop);
	return order ? order : strcmp(one->sizes, other->sizes);
}

static void sort_amount(struct dfg_amount *amount)
{
	struct dfg_cost_term *term = amount->term;
	size_t kept = 0;
	if (amount->count)
		qsort(term, amount->count, sizeof *term, by_loop);
	for (size_t i = 0; i < amount->count; i++)
		if (kept && !by_loop(&term[kept - 1], &term[i]))
			term[kept - 1].times += term[i].times;
		else
			term[kept++] = term[i];
	amount->count = kept;
}

static void sort_terms(struct dfg_cost_estimate *estimate)
{
	if (estimate->links)
		qsort(estimate->link, estimate->links, sizeof *estimate->link, by_ends);
	for (size_t i = 0; i < estimate->links; i++) {
		sort_amount(&estimate->link[i].messages);
		sort_amount(&estimate->link[i].bytes);
	}
	sort_amount(&estimate->messages);
	sort_amount(&estimate->bytes);
}

struct dfg_err *dfg_cost_transfers(const struct dfg_transfer *transfer, uint32_t transfers, struct dfg_arena *arena,
	struct dfg_cost_estimate *out_estimate)
{
	struct estimator b = {.estimate = out_estimate, .arena = arena, .transfer = transfer, .transfers = transfers};
	struct dfg_err *err = NULL;
	*out_estimate = (struct dfg_cost_estimate){0};
	for (uint32_t t = 0; t < transfers && !err; t++)
		err = add_transfer(&b, &transfer[t]);
	sort_terms(out_estimate);
	dfg_map_release(&b.loops);
	dfg_map_release(&b.sizes);
	dfg_free(b.outer);
	if (err)
		dfg_cost_release(out_estimate);
	return err;
}

/* Counts the transfers of a step; those that only initialise variables are left out. */
static struct dfg_err *take_steps(const struct dfg_graph *graph, const struct dfg_parts *parts, struct dfg_arena *arena,
	struct dfg_transfer **out_transfer, uint32_t *out_count)
{
	uint32_t *order, *initial, count;
	struct dfg_transfer *kept = dfg_arena_zeros(arena, (size_t)parts->transfers + 1, sizeof *kept);
	if (!kept)
		return dfg_no_memory("a cost estimate");
	DFG_TRY(dfg_pass_order(graph, arena, &order, &count));
	DFG_TRY(dfg_initialiser_nodes(graph, order, arena, &initial));
	*out_transfer = kept;
	*out_count = 0;
	for (uint32_t t = 0; t < parts->transfers; t++) {
		struct dfg_edge edge;
		DFG_TRY(dfg_graph_edge(graph, parts->transfer[t].tensor, &edge));
		if (initial[edge.node] == DFG_NONE)
			kept[(*out_count)++] = parts->transfer[t];
	}
	return NULL;
}

struct dfg_err *dfg_cost_step(const struct dfg_graph *graph, const struct dfg_parts *parts, struct dfg_arena *arena,
	struct dfg_cost_estimate *out_estimate)
{
	struct dfg_transfer *transfer;
	uint32_t transfers;
	*out_estimate = (struct dfg_cost_estimate){0};
	DFG_TRY(take_steps(graph, parts, arena, &transfer, &transfers));
	return dfg_cost_transfers(transfer, transfers, arena, out_estimate);
}

struct dfg_err *dfg_cost_estimate(const struct dfg_graph *graph, const struct dfg_facts *facts,
	const struct dfg_placed *placed, const struct dfg_parts *parts, struct dfg_arena *arena,
	struct dfg_cost_estimate *out_estimate)
{
	DFG_TRY(dfg_cost_step(graph, parts, arena, out_estimate));
	out_estimate->hosts = parts->parts;
	out_estimate->host = dfg_zeros((size_t)parts->parts + 1, sizeof *out_estimate->host);
	struct dfg_err *err = out_estimate->host ? dfg_cost_memory(graph, facts, placed, parts->parts, out_estimate->host)
											 : dfg_no_memory("a cost estimate");
	if (err)
		dfg_cost_release(out_estimate);
	return err;
}

void dfg_cost_release(struct dfg_cost_estimate *estimate)
{
	for (size_t i = 0; i < estimate->links; i++) {
		dfg_free(estimate->link[i].messages.term);
		dfg_free(estimate->link[i].bytes.term);
	}
	for (uint32_t h = 0; estimate->host && h < estimate->hosts; h++) {
		dfg_free(estimate->host[h].parameters.term);
		dfg_free(estimate->host[h].activations.term);
	}
	dfg_free(estimate->messages.term);
	dfg_free(estimate->bytes.term);
	dfg_free(estimate->link);
	dfg_free(estimate->host);
	dfg_free(estimate->letter);
	*estimate = (struct dfg_cost_estimate){0};
}

static void term_text(const struct dfg_cost_term *term, struct dfg_text *text)
{
	const char *between = "";
	if (term->times != 1 || (!*term->sizes && !*term->loop)) {
		dfg_text_add(text, "%" PRIu64, term->times);
		between = "*";
	}
	if (*term->sizes) {
		dfg_text_add(text, "%s%s", between, term->sizes);
		between = "*";
	}
	if (!*term->loop)
		return;
	dfg_text_add(text, "%sn(", between);
	dfg_text_printable(text, term->loop, strlen(term->loop), "");
	dfg_text_put(text, ")", 1);
}

void dfg_amount_text(const struct dfg_amount *amount, struct dfg_text *text)
{
	if (!amount->count)
		dfg_text_add(text, "0");
	for (size_t i = 0; i < amount->count; i++) {
		if (i)
			dfg_text_add(text, " + ");
		term_text(&amount->term[i], text);
	}
}

double dfg_amount_at(const struct dfg_amount *amount, double size, double iterations)
{
	double sum = 0;
	for (size_t i = 0; i < amount->count; i++) {
		const struct dfg_cost_term *term = &amount->term[i];
		double product = (double)term->times * (*term->loop ? iterations : 1);
		for (const char *s = term->sizes; *s; s += strcspn(s, "*"), s += *s == '*')
			product *= size;
		sum += product;
	}
	return sum;
}

void dfg_cost_letter_text(const struct dfg_cost_letter *letter, struct dfg_text *text)
{
	if (letter->axis >= 0)
		dfg_text_add(text, "%s is dimension %d of '%s'", letter->name, letter->axis, letter->tensor);
	else
		dfg_text_add(text, "%s is the number of %s of '%s'", letter->name, letter->axis == -1 ? "elements" : "bytes",
			letter->tensor);
}

static void count_text(const struct dfg_amount *amount, const char *noun, struct dfg_text *text)
{
	const size_t first = text->length;
	dfg_amount_text(amount, text);
	const bool is_one = text->length == first + 1 && text->s[first] == '1';
	dfg_text_add(text, " %s%s", noun, is_one ? "" : "s");
}

static void traffic_text(const struct dfg_amount *messages, const struct dfg_amount *bytes, struct dfg_text *text)
{
	count_text(messages, "message", text);
	dfg_text_add(text, ", ");
	count_text(bytes, "byte", text);
	dfg_text_add(text, "\n");
}

void dfg_cost_text(const struct dfg_cost_estimate *estimate, struct dfg_text *text)
{
	dfg_text_add(text, "a step: ");
	traffic_text(&estimate->messages, &estimate->bytes, text);
	for (size_t i = 0; i < estimate->links; i++) {
		dfg_text_add(text, "w%u -> w%u: ", estimate->link[i].from, estimate->link[i].to);
		traffic_text(&estimate->link[i].messages, &estimate->link[i].bytes, text);
	}
	for (uint32_t h = 0; h < estimate->hosts; h++) {
		dfg_text_add(text, "w%u: ", h);
		dfg_amount_text(&estimate->host[h].parameters, text);
		dfg_text_add(text, " bytes of parameters, about ");
		dfg_amount_text(&estimate->host[h].activations, text);
		dfg_text_add(text, " of activations\n");
	}
	for (size_t i = 0; i < estimate->letters; i++) {
		dfg_cost_letter_text(&estimate->letter[i], text);
		dfg_text_add(text, "\n");
	}
}
