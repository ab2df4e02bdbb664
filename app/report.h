#pragma once

#include <stdarg.h>

/*
 * Receives the lines for a user that are neither results nor errors. The functions that have something to say are given
 * a report, or one is in the context that they are given; none of them prints.
 */
enum dfg_report_level {
	DFG_REPORT_NOTE,   /* a note or a warning */
	DFG_REPORT_DETAIL, /* for a user who asked for more: times of phases, transports */
};
struct dfg_report {
	void (*line)(void *arg, enum dfg_report_level level, const char *text); /* text has no newline at its end */
	void *arg;
};

/*
 * Formats a line and passes it to the report; NULL drops it. If there is no memory for a long line, its beginning is
 * passed. May be called on any thread if the report's line() may.
 */
void dfg_report_note(const struct dfg_report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dfg_report_detail(const struct dfg_report *report, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dfg_report_args(const struct dfg_report *report, enum dfg_report_level level, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Times the phases of some work. A caller sets `report`. */
struct dfg_phases {
	const struct dfg_report *report;
	double since; /* end of the last phase, by dfg_seconds() */
};

/* Reports the time since the last call as a detail, with the name of the phase that ends now; NULL: the first begins. */
void dfg_phase_end(struct dfg_phases *phases, const char *name);
