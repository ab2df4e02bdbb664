#include "cmd/show.h"

#include <string.h>

/* A plan for dot(1): a coloured box per device, and transfers as dashed edges. */

static const char *const color[] = {
	"#dbe9f6", "#fde5cc", "#dcf0d8", "#f7d9d9", "#e8e0f2", "#eee0da", "#fbe0ef", "#e4e4e4", "#f1f1c9", "#d3f0f3"};

static struct dfg_err *draw_part(const struct dfg_plan_folder *plan, uint32_t i, struct dfg_text *out)
{
	struct dfg_facts facts = {0};
	struct dfg_shown shown;
	char name[16];
	snprintf(name, sizeof name, "w%u", i);
	dfg_text_add(out, "\tsubgraph cluster%s {\n\tlabel = \"%s  ", name, name);
	dfg_text_escape(out, plan->device[i], strlen(plan->device[i]), SIZE_MAX);
	dfg_text_add(out, "\"\n\tstyle = filled\n\tcolor = \"%s\"\n", color[i % (sizeof color / sizeof *color)]);
	dfg_text_add(out, "\tnode [style = filled, fillcolor = white]\n");
	struct dfg_err *err = dfg_shown_init(&plan->parts.part[i], &facts, &shown);
	if (!err)
		err = dfg_show_dot_part(&shown, name, out);
	dfg_text_add(out, "\t}\n");
	dfg_facts_release(&facts);
	return err;
}

/* Finds the node at that end of each transfer, as number + 1. */
static void find_ends(const struct dfg_plan_folder *plan, enum dfg_role role, uint32_t *end)
{
	for (uint32_t i = 0; i < plan->parts.parts; i++)
		for (uint32_t n = 0; n < plan->parts.part[i].count; n++) {
			const struct dfg_node *node = &plan->parts.part[i].node[n];
			int64_t number;
			if (node->op && node->op->role == role && dfg_node_mark(node, "_dfg_edge", &number) && number >= 0 &&
				number < plan->parts.transfers)
				end[number] = n + 1;
		}
}

struct dfg_err *dfg_show_plan_dot(const struct dfg_plan_folder *plan, struct dfg_text *out)
{
	struct dfg_arena arena = {0};
	uint32_t *send = dfg_arena_zeros(&arena, plan->parts.transfers, sizeof *send);
	uint32_t *recv = dfg_arena_zeros(&arena, plan->parts.transfers, sizeof *recv);
	struct dfg_err *err = send && recv ? NULL : dfg_no_memory("the drawing");
	dfg_text_add(out, "digraph {\n\tnode [shape = box, fontsize = 10]\n");
	for (uint32_t i = 0; i < plan->parts.parts && !err; i++)
		err = draw_part(plan, i, out);
	if (!err) {
		find_ends(plan, DFG_SEND, send);
		find_ends(plan, DFG_RECV, recv);
	}
	for (uint32_t i = 0; i < plan->parts.transfers && !err; i++) {
		const struct dfg_transfer *transfer = &plan->parts.transfer[i];
		if (send[i] && recv[i])
			dfg_text_add(out, "\tw%un%u -> w%un%u [style = dashed, color = red, label = \"%u: %s\", fontsize = 8]\n",
				transfer->from, send[i] - 1, transfer->to, recv[i] - 1, i,
				dfg_type_words(transfer->dtype, &transfer->shape).s);
	}
	dfg_text_add(out, "}\n");
	dfg_arena_release(&arena);
	return err;
}
