/* place_ask. What each node asks for: the last option that matches its name, else its own text. */
#include "lib/pass/place/place_private.h"

#include <fnmatch.h>
#include <string.h>

/* What begins otherwise than the pattern is soon told apart. */
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
		return DFG_ERR(
			DFG_DATA, "'%.200s' asks for device %u, there are %u", asked->text, asked->device, p->options->devices);
	p->ask[n].request = request;
	if (!strcmp(asked->pattern, "*"))
		p->kind[n] |= DFG_KIND_DEFAULT;
	return dfg_choice_one(&p->choices, asked->device, &p->ask[n].choice);
}

struct dfg_err *dfg_place_ask(struct dfg_placing *p)
{
	const char *last = "";
	uint32_t choice = 0;
	for (uint32_t n = 0; n < p->graph->count; n++) {
		const struct dfg_node *node = &p->graph->node[n];
		uint32_t request = last_match(p->options, node->name);
		p->ask[n] = (struct dfg_ask){0, DFG_NONE};
		if (request != DFG_NONE) {
			DFG_TRY(ask_option(p, n, request));
			continue;
		}
		if (!*node->device)
			continue;
		if (strcmp(node->device, last)) {
			struct dfg_err *err = dfg_choice_named(&p->choices, node->device, &choice);
			if (err)
				return dfg_err_note(err, "node '%.200s' (%.100s)", node->name, node->op_name);
			last = node->device;
		}
		p->ask[n].choice = choice;
	}
	return NULL;
}
