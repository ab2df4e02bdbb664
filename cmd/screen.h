#pragma once

#include <stdbool.h>

/*
 * The last lines of the terminal on stderr: what was drawn there is redrawn in place, and other output is printed above
 * it. Any thread may call these functions.
 */

/* Whether stderr is a terminal whose cursor can be moved. */
bool dfg_screen_is_there(void);

/* Replaces the drawn lines; the last has no newline. Lines that exceed the screen are cut. */
void dfg_screen_draw(const char *lines);

void dfg_screen_clear(void);

/* Leaves the drawn lines; later output goes below. */
void dfg_screen_keep(void);

/* Bracket all other output to stderr. */
void dfg_screen_hide(void);
void dfg_screen_show(void);
