#include "lib/pass/mirror.h"

#include <string.h>

static bool is_taken(const struct dfg_mirror *m, const char *name)
{
	size_t length = strlen(name);
	for (uint32_t l = 1; l < m->loops.count; l++)
		if (m->loops.loop[l].name.length == length && !memcmp(m->loops.loop[l].name.s, name, length))
			return true;
	for (const struct dfg_frame *frame = m->frames; frame; frame = frame->next)
		if (!strcmp(frame->name, name))
			return true;
	return false;
}

struct dfg_err *dfg_frame_name(struct dfg_mirror *m, uint32_t loop, uint32_t base, const char **out_name)
{
	const struct dfg_string of = m->loops.loop[loop].name;
	struct dfg_arena *arena = m->builder->graph->arena;
	struct dfg_frame *frame = m->frames;
	while (frame && (frame->loop != loop || frame->base != base))
		frame = frame->next;
	for (int number = 0; !frame; number++) {
		char *name = number ? dfg_arena_print(arena, "%s/%.*s_%d", m->prefix, (int)of.length, of.s, number)
							: dfg_arena_print(arena, "%s/%.*s", m->prefix, (int)of.length, of.s);
		if (!name || (!is_taken(m, name) && !(frame = dfg_arena_zeros(&m->arena, 1, sizeof *frame))))
			return DFG_ERR(DFG_MEMORY, "no memory for a name");
		if (frame)
			*frame = (struct dfg_frame){name, loop, base, m->frames};
	}
	if (!m->frames || frame->next == m->frames)
		m->frames = frame;
	*out_name = frame->name;
	return NULL;
}
