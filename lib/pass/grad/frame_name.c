#include "lib/pass/grad/gradient_frames.h"

#include <string.h>

static bool is_taken(const struct dfg_gradient_frames *m, const char *name)
{
	size_t length = strlen(name);
	for (uint32_t l = 1; l < m->loops.count; l++)
		if (m->loops.loop[l].name.length == length && !memcmp(m->loops.loop[l].name.s, name, length))
			return true;
	for (const struct dfg_made_frame *frame = m->frames; frame; frame = frame->next)
		if (!strcmp(frame->name, name))
			return true;
	return false;
}

static struct dfg_err *add_name(struct dfg_gradient_frames *m, uint32_t loop, uint32_t base, const char **out_name)
{
	const struct dfg_string of = m->loops.loop[loop].name;
	struct dfg_made_frame *frame = dfg_arena_zeros(&m->arena, 1, sizeof *frame);
	char *name = NULL;
	for (int number = 0; frame && (!number || (name && is_taken(m, name))); number++)
		name = dfg_arena_print(
			m->builder->graph->arena, number ? "%s/%.*s_%d" : "%s/%.*s", m->prefix, (int)of.length, of.s, number);
	if (!name)
		return dfg_no_memory("a name");
	*frame = (struct dfg_made_frame){name, loop, base, m->frames};
	m->frames = frame;
	*out_name = name;
	return NULL;
}

struct dfg_err *dfg_frame_name(struct dfg_gradient_frames *m, uint32_t loop, uint32_t base, const char **out_name)
{
	for (const struct dfg_made_frame *frame = m->frames; frame; frame = frame->next)
		if (frame->loop == loop && frame->base == base) {
			*out_name = frame->name;
			return NULL;
		}
	return add_name(m, loop, base, out_name);
}
