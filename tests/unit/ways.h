#pragma once

#include "tests/unit/step.h"

#include <stdio.h>

/*
 * Loops in few words. Beside the lines of a sketch, a graph may say
 *
 *     while F P            frame F runs on while P; F is its LoopCond
 *     carry F v START NEXT a variable of F: v.m in the condition, v in the body, v.out after the loop
 *     into F v X           v is X, in all iterations of F; "handle F v X": the same of a resource
 *     parallel_iterations=W  in a line of its own kind: the window
 *     count F N G          frame F, in frame G, runs for F.i = 0, 1 .. N - 1; F.0 is 0 and F.1 is 1
 *     count F N            the same where there is no G, but nodes .0 and .1
 *
 * and is run with every window, number of threads and order of what is ready: all must agree.
 */
static void add_line(char *text, size_t capacity, const char *line, int window)
{
	char f[40], a[40], b[40] = "", c[40];
	size_t at = strlen(text);
	char *to = text + at;
	capacity -= at;
	if (sscanf(line, "while %39s %39s", f, a) == 2)
		snprintf(to, capacity, "%s LoopCond %s\n", f, a);
	else if (sscanf(line, "carry %39s %39s %39s %39s", f, a, b, c) == 4)
		snprintf(to, capacity,
			"%s.e Enter %s T=i32 frame_name='%s' parallel_iterations=%d\n%s.m Merge %s.e %s.n T=i32 N=2\n"
			"%s.s Switch %s.m %s T=i32\n%s Identity %s.s:1 T=i32\n%s.n NextIteration %s T=i32\n%s.out Exit %s.s "
			"T=i32\n",
			a, b, f, window, a, a, a, a, a, f, a, a, a, c, a, a);
	else if (sscanf(line, "handle %39s %39s %39s", f, a, b) == 3)
		snprintf(to, capacity, "%s Enter %s T=resource frame_name='%s' is_constant=true parallel_iterations=%d\n", a, b,
			f, window);
	else if (sscanf(line, "into %39s %39s %39s", f, a, b) == 3)
		snprintf(to, capacity, "%s Enter %s T=i32 frame_name='%s' is_constant=true parallel_iterations=%d\n", a, b, f,
			window);
	else if (sscanf(line, "count %39s %39s %39s", f, a, b) >= 2) {
		char words[7][200];
		snprintf(words[0], 200, "into %s %s.limit %s", f, f, a);
		snprintf(words[1], 200, "into %s %s.0 %s.0", f, f, b);
		snprintf(words[2], 200, "into %s %s.1 %s.1", f, f, b);
		snprintf(words[3], 200, "%s.less Below %s.i.m %s.limit", f, f, f);
		snprintf(words[4], 200, "while %s %s.less", f, f);
		snprintf(words[5], 200, "carry %s %s.i %s.0 %s.more", f, f, b, f);
		snprintf(words[6], 200, "%s.more Plus %s.i %s.1 T=i32", f, f, f);
		for (int i = 0; i < 7; i++)
			add_line(text, capacity + at, words[i], window);
	} else {
		const char *w = strstr(line, "=W");
		if (w)
			snprintf(to, capacity, "%.*s%d%s\n", (int)(w + 1 - line), line, window, w + 2);
		else
			snprintf(to, capacity, "%s\n", line);
	}
}

static void expand(const char *graph, int window, char *text, size_t capacity)
{
	char copy[8000], *rest;
	assert_true(strlen(graph) < sizeof copy);
	strcpy(copy, graph);
	*text = '\0';
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		add_line(text, capacity, line, window);
	assert_true(strlen(text) + 1 < capacity);
}

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { SCHEDULES = 10 };
#else
enum { SCHEDULES = 100 };
#endif
static const int all_windows[] = {1, 2, 10, 32};

/*
 * Calls check(arg, options, text) for each window, number of threads, and schedule. Seeds from 1 on are random schedules;
 * seed 0 runs loops as register code, -1 as machine code, -2 node by node.
 */
static void in_all_ways(
	const char *graph, void (*check)(void *arg, const struct dfg_session_options *options, const char *text), void *arg)
{
	static char text[16000];
	for (int w = 0; w < 4; w++) {
		expand(graph, all_windows[w], text, sizeof text);
		for (int threads = 1; threads <= 2; threads++)
			for (int seed = -2; seed <= SCHEDULES; seed++)
				check(arg,
					&(struct dfg_session_options){.threads = threads,
						.random_schedule = seed > 0,
						.schedule_seed = seed > 0 ? (uint64_t)seed : 0,
						.emit_loops_after = seed == -1 ? 2 : 0,
						.no_compiled_loops = seed == -2},
					text);
	}
}

struct asked {
	const char *feeds, *fetch, *words;
	int32_t wanted;
	int seen; /* Ticks in each way */
};

static void nothing_is_left(void)
{
	struct dfg_stats stats;
	if (!last_plan)
		return;
	dfg_plan_stats(last_plan, &stats);
	assert_int_equal(stats.left, 0);
}

static void check_value(void *arg, const struct dfg_session_options *options, const char *text)
{
	const struct asked *asked = arg;
	struct steps steps;
	steps_begin(&steps, options, text);
	for (int time = 0; time < 2; time++) {
		int32_t got = -12345;
		tick_count = 0;
		succeeds(steps_run(&steps, asked->feeds, asked->fetch, &got));
		if (got != asked->wanted)
			fail_msg("%s is %d, not %d (threads %d, schedule %d)", asked->fetch, got, asked->wanted, options->threads,
				(int)options->schedule_seed);
		if (asked->seen >= 0)
			assert_int_equal(tick_count, asked->seen);
		nothing_is_left();
	}
	steps_end(&steps);
}

/* The fetch is `wanted`, whatever the window, threads and schedule; ticks: how often a Tick runs, or -1. */
static inline void always(const char *graph, const char *feeds, const char *fetch, int32_t wanted, int ticks)
{
	in_all_ways(graph, check_value, &(struct asked){feeds, fetch, NULL, wanted, ticks});
}

static void check_error(void *arg, const struct dfg_session_options *options, const char *text)
{
	const struct asked *asked = arg;
	struct steps steps;
	int32_t got[16];
	steps_begin(&steps, options, text);
	for (int time = 0; time < 2; time++) {
		fails(steps_run(&steps, asked->feeds, asked->fetch, got), DFG_DATA, asked->words);
		nothing_is_left();
	}
	steps_end(&steps);
}

static inline void never(const char *graph, const char *feeds, const char *fetch, const char *words)
{
	in_all_ways(graph, check_error, &(struct asked){feeds, fetch, words, 0, -1});
}
