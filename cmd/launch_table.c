#include "cmd/launch_table.h"

#include "cmd/cmd.h"
#include "cmd/screen.h"
#include "lib/base/pool.h"

#include <string.h>

enum { HIDDEN_MS = 300, RENEW_MS = 100, ROWS_MOST = 20 };

static const char *const stage_name[] = {
	[DFG_LAUNCH_WAITING] = "",
	[DFG_LAUNCH_CONNECTING] = "connecting",
	[DFG_LAUNCH_PUSHING] = "pushing dfg",
	[DFG_LAUNCH_STARTING] = "starting",
	[DFG_LAUNCH_LINKING] = "linking",
	[DFG_LAUNCH_LOADING] = "loading its part",
	[DFG_LAUNCH_READY] = "ready",
	[DFG_LAUNCH_FAILED] = "failed",
};

static const char *place_of(const struct dfg_worker_host *host)
{
	return host->local && !host->attached ? "here" : host->name;
}

static int widest_place(const struct dfg_hosts *hosts)
{
	size_t widest = 4;
	for (uint32_t i = 0; i < hosts->count; i++)
		if (strlen(place_of(&hosts->worker[i])) > widest)
			widest = strlen(place_of(&hosts->worker[i]));
	return widest < 30 ? (int)widest : 30;
}

static void add_row(const struct dfg_launch_table *table, uint32_t worker, int width, struct dfg_text *text)
{
	const struct dfg_worker_host *host = &table->hosts->worker[worker];
	const struct dfg_launch_row *row = &table->row[worker];
	bool colored = dfg_globals.color_err;
	const char *color = row->stage == DFG_LAUNCH_READY ? "\033[32m" : row->stage == DFG_LAUNCH_FAILED ? "\033[31m" : "";
	double seconds = row->stage < DFG_LAUNCH_READY ? dfg_seconds() - table->began : row->after;
	dfg_text_add(text, "%-5s %-*.*s %6.1f s  %s%s%s", host->label, width, width, place_of(host), seconds,
		colored ? color : "", *row->words ? row->words : stage_name[row->stage], colored && *color ? "\033[0m" : "");
}

static bool is_settled(const struct dfg_launch_row *row)
{
	return row->stage == DFG_LAUNCH_READY;
}

/* Lists workers that are not ready first, as the table may be cut. */
static void add_rows(const struct dfg_launch_table *table, struct dfg_text *text)
{
	uint32_t count = table->hosts->count, shown = 0, ready = 0;
	int width = widest_place(table->hosts);
	for (uint32_t i = 0; i < count; i++)
		ready += is_settled(&table->row[i]);
	for (uint32_t i = 0; i < count && shown < ROWS_MOST; i++) {
		if (count > ROWS_MOST && is_settled(&table->row[i]))
			continue;
		dfg_text_add(text, shown++ ? "\n" : "");
		add_row(table, i, width, text);
	}
	if (count > ROWS_MOST)
		dfg_text_add(text, "%s%u of %u workers are ready", shown ? "\n" : "", ready, count);
}

static void paint(struct dfg_launch_table *table)
{
	struct dfg_text text = {0};
	pthread_mutex_lock(&table->lock);
	add_rows(table, &text);
	pthread_mutex_unlock(&table->lock);
	if (text.s)
		dfg_screen_draw(text.s);
	dfg_text_release(&text);
}

/* Draws only after a short time, so that a fast launch shows no table. */
static void *paint_now_and_then(void *arg)
{
	struct dfg_launch_table *table = arg;
	uint64_t due = dfg_now() + (uint64_t)HIDDEN_MS * 1000000;
	while (!atomic_load(&table->over)) {
		uint32_t seen = atomic_load(&table->event.word);
		if (dfg_now() >= due) {
			paint(table);
			due = dfg_now() + (uint64_t)RENEW_MS * 1000000;
		}
		if (!atomic_load(&table->over))
			dfg_event_sleep(&table->event, seen, due);
	}
	return NULL;
}

static void begin(void *arg, const struct dfg_hosts *hosts)
{
	struct dfg_launch_table *table = arg;
	bool wanted = !dfg_globals.quiet && !dfg_globals.verbose && dfg_screen_is_there();
	*table = (struct dfg_launch_table){.hosts = hosts, .began = dfg_seconds()};
	table->row = dfg_zeros(hosts->count, sizeof *table->row);
	if (pthread_mutex_init(&table->lock, NULL)) {
		dfg_free(table->row);
		table->row = NULL;
	}
	table->painting = wanted && table->row && !pthread_create(&table->painter, NULL, paint_now_and_then, table);
}

static void end(void *arg, bool failed)
{
	struct dfg_launch_table *table = arg;
	if (!table->row)
		return;
	atomic_store(&table->over, true);
	dfg_event_signal(&table->event);
	if (table->painting) {
		pthread_join(table->painter, NULL);
		if (failed)
			paint(table);
		if (failed)
			dfg_screen_keep();
		else
			dfg_screen_clear();
	}
	pthread_mutex_destroy(&table->lock);
	dfg_free(table->row);
	*table = (struct dfg_launch_table){0};
}

/* Keeps the error's text without the host's name, which is already in the row, and without control characters. */
static void keep_words(struct dfg_launch_row *row, const struct dfg_worker_host *host, const char *words)
{
	struct dfg_text plain = {0};
	size_t name = strlen(host->name);
	if (!strncmp(words, host->name, name) && !strncmp(words + name, ": ", 2))
		words += name + 2;
	dfg_text_escape(&plain, words, strlen(words), sizeof row->words - 1);
	snprintf(row->words, sizeof row->words, "%s", plain.s ? plain.s : "");
	dfg_text_release(&plain);
}

static void reached(void *arg, uint32_t worker, enum dfg_launch_stage stage, const char *words)
{
	struct dfg_launch_table *table = arg;
	if (!table->row)
		return;
	const struct dfg_worker_host *host = &table->hosts->worker[worker];
	double after = dfg_seconds() - table->began;
	pthread_mutex_lock(&table->lock);
	struct dfg_launch_row *row = &table->row[worker];
	*row = (struct dfg_launch_row){.stage = stage, .after = after};
	keep_words(row, host, words ? words : "");
	pthread_mutex_unlock(&table->lock);
	if (dfg_globals.verbose && stage != DFG_LAUNCH_FAILED) /* a failure is also the error of the run */
		dfg_talk("%s (%s): %s after %.2f s", host->label, place_of(host), stage_name[stage], after);
}

struct dfg_launch_watch dfg_launch_table_watch(struct dfg_launch_table *table)
{
	return (struct dfg_launch_watch){begin, reached, end, table};
}
