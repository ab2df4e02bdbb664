#include "app/report.h"

#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

void dfg_report_args(const struct dfg_report *report, enum dfg_report_level level, const char *fmt, va_list args)
{
	char line[1000];
	va_list again;
	if (!report)
		return;
	va_copy(again, args);
	size_t length = (size_t)vsnprintf(line, sizeof line, fmt, args);
	size_t size = 2 * length + 1; /* of one line */
	char *whole = size <= sizeof line ? NULL : dfg_zeros(size, 1);
	if (whole)
		vsnprintf(whole, size, fmt, again);
	va_end(again);
	char *text = whole ? whole : line; /* without memory its beginning */
	if (dfg_breaks_come_from_names(fmt))
		dfg_one_line(text, whole ? size : sizeof line);
	report->line(report->arg, level, text);
	dfg_free(whole);
}

void dfg_report_note(const struct dfg_report *report, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	dfg_report_args(report, DFG_REPORT_NOTE, fmt, args);
	va_end(args);
}

void dfg_report_detail(const struct dfg_report *report, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	dfg_report_args(report, DFG_REPORT_DETAIL, fmt, args);
	va_end(args);
}

void dfg_phase_end(struct dfg_phases *phases, const char *name)
{
	double now = dfg_seconds();
	if (name)
		dfg_report_detail(phases->report, "%-9s %.3f s", name, now - phases->since);
	phases->since = now;
}
