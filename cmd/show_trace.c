#include "cmd/show.h"

#include "formats/json.h"
#include "lib/base/map.h"
#include "lib/base/plural.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The events of an op, a node or a thread, and their time in microseconds. */
struct use {
	const char *name, *op; /* op: of a node */
	uint64_t calls;
	double us;
};
struct uses {
	struct dfg_map names;
	struct use *use;
	size_t capacity;
};

struct summary {
	struct uses ops, nodes, threads; /* a thread is named "w0 thread 3" */
	struct dfg_map process;
	uint64_t events, dead, transfers;
	double us, first, last; /* in events; the begin of the first and the end of the last */
	struct dfg_arena arena;
};

bool dfg_is_trace(const struct dfg_blob *blob)
{
	static const char key[] = "\"traceEvents\"";
	const char *at = (const char *)blob->bytes, *end = at + blob->size;
	for (int brace = 0; at < end && *at && (strchr(" \t\r\n", *at) || (*at == '{' && !brace)); at++)
		brace += *at == '{';
	return (size_t)(end - at) >= strlen(key) && !memcmp(at, key, strlen(key));
}

static struct dfg_err *add_use(struct summary *summary, struct uses *uses, const char *name, const char *op, double us)
{
	uint32_t number;
	bool is_new;
	const char *copy = dfg_arena_copy(&summary->arena, name, strlen(name));
	if (!copy || !dfg_map_put(&uses->names, copy, strlen(copy), &number, &is_new) ||
		!dfg_reserve(&uses->use, &uses->capacity, uses->names.count, sizeof *uses->use))
		return dfg_no_memory("the trace");
	if (is_new)
		uses->use[number] = (struct use){.name = copy, .op = dfg_arena_copy(&summary->arena, op, strlen(op))};
	uses->use[number].calls++;
	uses->use[number].us += us;
	return uses->use[number].op ? NULL : dfg_no_memory("the trace");
}

/* The member's text or number, or a default for what is not there: other programs write traces, too. */
static const char *text_of(const struct dfg_json *object, const char *key, const char *absent)
{
	const struct dfg_json *member = dfg_json_get(object, key);
	return member && member->kind == DFG_JSON_STRING ? member->string : absent;
}
static double number_of(const struct dfg_json *object, const char *key)
{
	const struct dfg_json *member = dfg_json_get(object, key);
	return member && member->kind == DFG_JSON_NUMBER ? member->number : 0;
}

/* A complete event is a node that ran. Its times are microseconds of some clock, which a double holds exactly. */
static struct dfg_err *add_node(struct summary *summary, const struct dfg_json *event, uint64_t i)
{
	const struct dfg_json *args = dfg_json_get(event, "args"), *dead = dfg_json_get(args, "dead");
	const double begin = number_of(event, "ts"), us = number_of(event, "dur");
	if (!(fabs(begin) < 0x1p53 && us >= 0 && us < 0x1p53))
		return DFG_ERR(DFG_DATA, "event %llu has no valid time: it begins at %g us and lasts %g us",
			(unsigned long long)i, begin, us);
	const char *name = text_of(event, "name", ""), *op = text_of(args, "op", "other");
	const char *process = dfg_arena_print(&summary->arena, "w%.0f", number_of(event, "pid"));
	const char *thread =
		dfg_arena_print(&summary->arena, "%s thread %.0f", process ? process : "", number_of(event, "tid"));
	if (!process || !thread || !dfg_map_put(&summary->process, process, strlen(process), &(uint32_t){0}, NULL))
		return dfg_no_memory("the trace");
	summary->first = summary->events ? fmin(summary->first, begin) : begin;
	summary->last = summary->events ? fmax(summary->last, begin + us) : begin + us;
	summary->events++;
	summary->dead += dead && dead->kind == DFG_JSON_BOOL && dead->truth;
	summary->us += us;
	DFG_TRY(add_use(summary, &summary->threads, thread, "", us));
	DFG_TRY(add_use(summary, &summary->ops, op, "", us));
	return add_use(summary, &summary->nodes, name, op, us);
}

static struct dfg_err *add_event(void *arg, const struct dfg_json *object, const struct dfg_json *event, uint64_t i)
{
	struct summary *summary = arg;
	(void)object;
	if (event->kind != DFG_JSON_OBJECT)
		return DFG_ERR(
			DFG_DATA, "event %llu is %s, not an object", (unsigned long long)i, dfg_json_kind_name(event->kind));
	const char *phase = text_of(event, "ph", "");
	summary->transfers += !strcmp(phase, "s");
	return strcmp(phase, "X") ? NULL : add_node(summary, event, i);
}

static int by_time(const void *a, const void *b)
{
	const struct use *one = a, *two = b;
	if (one->us != two->us)
		return one->us < two->us ? 1 : -1;
	return strcmp(one->name, two->name);
}

static void sort(struct uses *uses)
{
	if (uses->names.count)
		qsort(uses->use, uses->names.count, sizeof *uses->use, by_time);
}

enum { MOST = 20 };

static void print_uses(const struct summary *summary, struct uses *uses, const char *title, struct dfg_text *out)
{
	const size_t count = uses->names.count, shown = count < MOST ? count : MOST;
	sort(uses);
	dfg_text_add(out, "\n%10s %12s %7s  %s\n", "calls", "us", "share", title);
	for (size_t i = 0; i < shown; i++) {
		const struct use *use = &uses->use[i];
		dfg_text_add(out, "%10llu %12.1f %6.1f%%  ", (unsigned long long)use->calls, use->us,
			summary->us > 0 ? 100 * use->us / summary->us : 0);
		dfg_text_printable(out, use->name, strlen(use->name), "");
		if (*use->op) {
			dfg_text_put(out, " (", 2);
			dfg_text_printable(out, use->op, strlen(use->op), "");
			dfg_text_put(out, ")", 1);
		}
		dfg_text_put(out, "\n", 1);
	}
	if (shown < count)
		dfg_text_add(out, "%10s and %zu more\n", "", count - shown);
}

static void print_text(struct summary *summary, struct dfg_text *out)
{
	dfg_text_add(out, "%llu call%s of %zu node%s in %zu process%s: %.1f us from first to last, %.1f us in calls",
		(unsigned long long)summary->events, dfg_plural(summary->events), summary->nodes.names.count,
		dfg_plural(summary->nodes.names.count), summary->process.count, summary->process.count == 1 ? "" : "es",
		summary->last - summary->first, summary->us);
	if (summary->dead)
		dfg_text_add(out, ", %llu dead", (unsigned long long)summary->dead);
	if (summary->transfers)
		dfg_text_add(out, ", %llu transfers", (unsigned long long)summary->transfers);
	dfg_text_put(out, "\n", 1);
	print_uses(summary, &summary->ops, "op", out);
	print_uses(summary, &summary->nodes, "node", out);
	print_uses(summary, &summary->threads, "thread", out);
}

static void put_uses(struct dfg_json_out *json, const char *key, const char *name, struct uses *uses)
{
	sort(uses);
	dfg_json_key(json, key), dfg_json_open(json, '[');
	for (size_t i = 0; i < uses->names.count; i++) {
		const struct use *use = &uses->use[i];
		dfg_json_open(json, '{');
		dfg_json_key(json, name), dfg_json_string(json, use->name);
		if (*use->op)
			dfg_json_key(json, "op"), dfg_json_string(json, use->op);
		dfg_json_key(json, "calls"), dfg_json_uint(json, use->calls);
		dfg_json_key(json, "us"), dfg_json_f64(json, use->us);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, ']');
}

static void print_json(struct summary *summary, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	dfg_json_open(&json, '{');
	dfg_json_key(&json, "calls"), dfg_json_uint(&json, summary->events);
	dfg_json_key(&json, "dead"), dfg_json_uint(&json, summary->dead);
	dfg_json_key(&json, "transfers"), dfg_json_uint(&json, summary->transfers);
	dfg_json_key(&json, "span_us"), dfg_json_f64(&json, summary->last - summary->first);
	dfg_json_key(&json, "busy_us"), dfg_json_f64(&json, summary->us);
	put_uses(&json, "ops", "op", &summary->ops);
	put_uses(&json, "nodes", "node", &summary->nodes);
	put_uses(&json, "threads", "thread", &summary->threads);
	dfg_json_close(&json, '}');
	dfg_text_put(&json.text, "\n", 1);
	*out = json.text;
}

static void release(struct uses *uses)
{
	dfg_map_release(&uses->names);
	dfg_free(uses->use);
}

struct dfg_err *dfg_show_trace(const struct dfg_blob *blob, struct dfg_text *out)
{
	struct summary summary = {0};
	const struct dfg_json_rows rows = {"traceEvents", add_event, &summary};
	struct dfg_json *whole;
	struct dfg_arena arena = {0};
	struct dfg_err *err = dfg_json_read_rows(blob->bytes, blob->size, &rows, &arena, &whole);
	const struct dfg_json *events = err ? NULL : dfg_json_get(whole, rows.key);
	if (!err && events->kind != DFG_JSON_ARRAY)
		err = DFG_ERR(DFG_DATA, "%s is %s, not an array", rows.key, dfg_json_kind_name(events->kind));
	if (!err && dfg_globals.json)
		print_json(&summary, out);
	else if (!err)
		print_text(&summary, out);
	release(&summary.ops);
	release(&summary.nodes);
	release(&summary.threads);
	dfg_map_release(&summary.process);
	dfg_arena_release(&summary.arena);
	dfg_arena_release(&arena);
	return err;
}
