#pragma once

#include <stdbool.h>

/*
 * The last lines of the terminal that stderr is: what is drawn there is drawn again in its place, and whatever else is
 * said goes above it. Any thread.
 */

/* Whether there is such a terminal: one whose cursor can be moved. */
bool dfg_screen_is_there(void);

/* In place of what was drawn: lines, each with its end but for the last. What is wider or longer than the screen is cut. */
void dfg_screen_draw(const char *lines);

void dfg_screen_clear(void);

/* What was drawn stays as it is; what comes goes below. */
void dfg_screen_keep(void);

/* Around whatever else is written to stderr. */
void dfg_screen_hide(void);
void dfg_screen_show(void);
