#include "cmd/progress.h"

#include "cmd/run_command.h"
#include "cmd/screen.h"
#include "lib/base/pool.h"
#include "lib/base/text.h"

#include <signal.h>

static void begin(void *arg, uint64_t done, uint64_t steps, uint64_t epochs)
{
	double now = dfg_seconds();
	*(struct dfg_progress *)arg = (struct dfg_progress){
		.terminal = dfg_screen_is_there(), .since = now, .last = now, .first = done, .steps = steps, .epochs = epochs};
}

static void put_progress(struct dfg_text *text, const struct dfg_progress *progress, uint64_t step, uint64_t epoch,
	const char *name, double value)
{
	double rate = (double)(step - progress->first) / (progress->last - progress->since);
	dfg_text_add(text, "epoch %llu", (unsigned long long)epoch);
	if (progress->epochs)
		dfg_text_add(text, "/%llu", (unsigned long long)progress->epochs);
	dfg_text_add(text, "  step %llu", (unsigned long long)step);
	if (progress->steps)
		dfg_text_add(text, "/%llu", (unsigned long long)progress->steps);
	if (name)
		dfg_text_add(text, "  %s %.5g", name, value);
	dfg_text_add(text, "  %.1f steps/s", rate);
	if (progress->steps > step && rate > 0) {
		unsigned long long left = (unsigned long long)((double)(progress->steps - step) / rate);
		dfg_text_add(text, "  %llu:%02llu left", left / 60, left % 60);
	}
}

static void show_step(void *arg, uint64_t step, uint64_t epoch, const char *name, double value)
{
	struct dfg_progress *progress = arg;
	double now = dfg_seconds(), wait = progress->terminal ? 0.1 : 10;
	struct dfg_text text = {0};
	if (dfg_globals.quiet || now - progress->last < wait || now - progress->since < 0.5)
		return;
	progress->last = now;
	put_progress(&text, progress, step, epoch, name, value);
	if (text.s && progress->terminal)
		dfg_screen_draw(text.s);
	else if (text.s)
		dfg_talk("%s", text.s);
	dfg_text_release(&text);
}

static void clear(void *arg)
{
	const struct dfg_progress *progress = arg;
	if (progress->terminal)
		dfg_screen_clear();
}

static const char *signal_name(void *arg)
{
	int number = dfg_stop_signal();
	(void)arg;
	return !number ? NULL : number == SIGINT ? "SIGINT" : "SIGTERM";
}

struct dfg_data_watch dfg_progress_watch(struct dfg_progress *progress)
{
	return (struct dfg_data_watch){signal_name, begin, show_step, clear, progress};
}
