/* requests. The request for each node: the last option that matches its name, else the device in the graph. */
#include "lib/pass/place/place_private.h"

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

static uint32_t last_match(const struct dfg_place_options *options, const char *name)
{
	for (size_t i = options->requests; i; i--)
		if (matches(options->request[i - 1].pattern, name))
			return (uint32_t)(i - 1);
	return DFG_NONE;
}

static struct dfg_err *ask_option(struct dfg_placing *p, uint32_t n, uint32_t request)
{
	const struct dfg_place_request *asked = &p->options->request[request];
	if (asked->device >= p->options->devices)
		return DFG_ERR(DFG_DATA, "'%.200s' requests device %u, but there are only %u devices", asked->text,
			asked->device, p->options->devices);
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
		dfg_text_add(notes, "and %u more ask", file->count - 1);
	else
		dfg_text_add(notes, "asks");
	dfg_text_add(
		notes, " for '%.200s', a device that does not exist in this run: the request is ignored\n", node->device);
}

struct dfg_err *dfg_place_ask(struct dfg_placing *p)
{
	struct file_request file = {0};
	for (uint32_t n = 0; n < p->graph->count; n++) {
		uint32_t request = last_match(p->options, p->graph->node[n].name);
		p->ask[n] = (struct dfg_ask){0, DFG_NONE};
		if (request != DFG_NONE)
			DFG_TRY(ask_option(p, n, request));
		else if (*p->graph->node[n].device)
			DFG_TRY(ask_file(p, n, &file));
	}
	note_left(p, &file);
	return NULL;
}
