#include "lib/exec/linear/activation_private.h"

/* The memory that one run of a program works in. */

void dfg_line_start(struct line *line, uint32_t slot)
{
	line->tensor[slot] = line->layout->start[slot];
	if (line->layout->in_block[slot])
		line->tensor[slot].data = (char *)line->block + (uintptr_t)line->layout->start[slot].data;
}

void dfg_line_free(struct line *line)
{
	dfg_runner_release(&line->runner);
	dfg_free(line->block);
	dfg_free(line->tensor);
	dfg_free(line->at);
	dfg_free(line->data);
	dfg_free(line->shift);
	dfg_free(line->chosen);
	dfg_free(line->iteration);
	for (uint32_t i = 0; line->saved && i < line->plan->course->saves; i++)
		dfg_saved_release(&line->saved[i]);
	dfg_free(line->saved);
	dfg_free(line);
}

void dfg_lines_free(struct line *line)
{
	while (line) {
		struct line *next = line->next;
		dfg_line_free(line);
		line = next;
	}
}
