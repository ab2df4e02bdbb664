/* requests. The request for each node: the last option that matches its name, else the device in the graph. */
#include "lib/base/map.h"
#include "lib/pass/place/place_private.h"
#include "lib/base/plural.h"

#include <fnmatch.h>
#include <string.h>

/* Compares the prefix before the first '*' first, because most names differ there. */
static bool matches(const char *pattern, const char *name)
{
	for (; *pattern && !strchr("*?[\\", *pattern); pattern++, name++)
		if (*pattern != *name)
			return false;
	return !fnmatch(pattern, name, 0);
}

/* The requests, so that those for one name each, which may be as many as there are nodes, are found at once. */
struct by_name {
	const struct dfg_place_request *request;
	struct dfg_map names; /* patterns that are plain names */
	uint32_t *last;       /* by number of a name: the last request for it */
	uint32_t *others;     /* the requests with other patterns, in their order */
	size_t n_others;
};

static struct dfg_err *list_requests(struct dfg_placing *p, struct by_name *by)
{
	size_t count = p->options->requests;
	by->request = p->options->request;
	by->last = dfg_arena_zeros(&p->scratch, count, sizeof *by->last);
	by->others = dfg_arena_zeros(&p->scratch, count, sizeof *by->others);
	if (!by->last || !by->others)
		return dfg_no_memory("the placement requests");
	for (size_t i = 0; i < count; i++) {
		const char *pattern = by->request[i].pattern;
		uint32_t number;
		bool new;
		if (strpbrk(pattern, "*?[\\")) {
			by->others[by->n_others++] = (uint32_t)i;
			continue;
		}
		if (!dfg_map_put(&by->names, pattern, strlen(pattern), &number, &new))
			return dfg_no_memory("the placement requests");
		by->last[number] = (uint32_t)i;
	}
	return NULL;
}

static uint32_t last_match(const struct by_name *by, const char *name)
{
	uint32_t number = dfg_map_find(&by->names, name, strlen(name)), last = DFG_NONE;
	if (number != DFG_NONE)
		last = by->last[number];
	for (size_t i = by->n_others; i && (last == DFG_NONE || by->others[i - 1] > last); i--)
		if (matches(by->request[by->others[i - 1]].pattern, name))
			return by->others[i - 1];
	return last;
}

static struct dfg_err *ask_option(struct dfg_placing *p, uint32_t n, uint32_t request)
{
	const struct dfg_place_request *asked = &p->options->request[request];
	if (asked->device >= p->options->devices)
		return DFG_ERR(DFG_DATA, "'%.200s' requests device %u, but there %s only %u device%s", asked->text,
			asked->device, p->options->devices == 1 ? "is" : "are", p->options->devices,
			dfg_plural(p->options->devices));
	p->ask[n].request = request;
	if (!strcmp(asked->pattern, "*"))
		p->kind[n] |= DFG_KIND_DEFAULT;
	return dfg_choice_one(&p->choices, asked->device, &p->ask[n].choice);
}

/* The graph's own requests. Consecutive nodes usually have the same device, so its text is parsed once. */
struct file_request {
	const char *device;
	uint32_t choice;
	bool left;             /* the name is ignored: dfg_choices_leave() */
	uint32_t first, count; /* the nodes for which it is */
};

static struct dfg_err *ask_file(struct dfg_placing *p, uint32_t n, struct file_request *file)
{
	const struct dfg_node *node = &p->graph->node[n];
	if (!file->device || strcmp(node->device, file->device)) {
		file->left = dfg_choices_leave(&p->choices, node->device);
		file->choice = 0;
		if (!file->left)
			DFG_TRY(dfg_err_note(dfg_choice_named(&p->choices, node->device, &file->choice), "node '%.200s' (%.100s)",
				node->name, node->op_name));
		file->device = node->device;
	}
	p->ask[n].choice = file->choice;
	if (file->left && !file->count++)
		file->first = n;
	return NULL;
}

static void note_left(const struct dfg_placing *p, const struct file_request *file)
{
	const struct dfg_node *node = &p->graph->node[file->first];
	struct dfg_text *notes = p->options->notes;
	if (!file->count || !notes)
		return;
	dfg_text_add(notes, "node '%.200s' ", node->name);
	if (file->count > 1)
		dfg_text_add(notes, "and %u more nodes ask", file->count - 1);
	else
		dfg_text_add(notes, "asks");
	dfg_text_add(
		notes, " for '%.200s', a device that does not exist in this run: the request is ignored\n", node->device);
}

static struct dfg_err *ask_all(struct dfg_placing *p, const struct by_name *by)
{
	struct file_request file = {0};
	for (uint32_t n = 0; n < p->graph->count; n++) {
		uint32_t request = last_match(by, p->graph->node[n].name);
		p->ask[n] = (struct dfg_ask){0, DFG_NONE};
		if (request != DFG_NONE)
			DFG_TRY(ask_option(p, n, request));
		else if (*p->graph->node[n].device)
			DFG_TRY(ask_file(p, n, &file));
	}
	note_left(p, &file);
	return NULL;
}

struct dfg_err *dfg_place_ask(struct dfg_placing *p)
{
	struct by_name by = {0};
	struct dfg_err *err = list_requests(p, &by);
	if (!err)
		err = ask_all(p, &by);
	dfg_map_release(&by.names);
	return err;
}
