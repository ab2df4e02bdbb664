#include "formats/reader.h"

#include "lib/base/text.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * Resolves the inputs. They are most of a graph's file, and each costs some cache misses: so they are looked up in
 * batches, and in a large graph as two concurrent halves.
 */

enum { BATCH = 32, NODES_FOR_TWO = 20000 };

/* An input that names no tensor. */
struct bad {
	uint32_t node, slot;
	const char *what; /* the fault; NULL: the node does not exist */
	const char *s;
	size_t length;
};

/* Nodes [first, end) and the first faults among them. */
struct half {
	struct dfg_reader *r;
	uint32_t first, end;
	struct dfg_name name[BATCH];
	struct dfg_edge *edge[BATCH]; /* the edge to be set, by name */
	uint32_t node[BATCH];
	size_t count;
	struct bad bad[DFG_READER_ERRORS];
	int n_bad;
};

static void fault(struct half *half, uint32_t node, uint32_t slot, const char *what, const struct dfg_name *text)
{
	if (half->n_bad < DFG_READER_ERRORS)
		half->bad[half->n_bad++] = (struct bad){node, slot, what, text->s, text->length};
}

static void flush(struct half *half)
{
	uint32_t number[BATCH];
	struct dfg_graph *graph = half->r->graph;
	dfg_map_find_many(&graph->names, half->name, half->count, number);
	for (size_t i = 0; i < half->count; i++) {
		half->edge[i]->node = number[i];
		if (number[i] == DFG_NONE)
			fault(half, half->node[i], (uint32_t)(half->edge[i] - graph->node[half->node[i]].in), NULL, &half->name[i]);
	}
	half->count = 0;
}

/* The input's text, already validated, at the offset of its field. */
static struct dfg_name text_of(const struct dfg_reader *r, uint64_t offset)
{
	const uint8_t *at = r->file.start + offset;
	uint64_t length;
	while (*at++ >= 0x80) /* the tag */
		;
	if (*at < 0x80)
		length = *at++;
	else
		dfg_wire_varint(&at, at + 10, &length);
	return (struct dfg_name){.s = (const char *)at, .length = (uint32_t)length};
}

/* Removes ":7" from the name. Other text after a colon remains, and then no node has the name. */
static const char *take_port(struct dfg_name *name, int32_t *out_port)
{
	uint32_t i = name->length;
	*out_port = 0;
	while (i && name->s[i - 1] >= '0' && name->s[i - 1] <= '9')
		i--;
	if (!i || (name->s[i - 1] != ':' && name->s[i - 1] != '-'))
		return NULL;
	if (name->s[i - 1] == '-')
		return i > 1 && name->s[i - 2] == ':' ? "has a negative output number" : NULL;
	int64_t port = 0;
	for (uint32_t j = i; j < name->length; j++)
		if ((port = port * 10 + name->s[j] - '0') > INT32_MAX)
			return "has a larger output number than any op";
	if (i == name->length)
		return "has no number after the colon";
	name->length = i - 1;
	*out_port = (int32_t)port;
	return NULL;
}

static void add_edge(struct half *half, uint32_t n, uint32_t slot)
{
	struct dfg_node *node = &half->r->graph->node[n];
	struct dfg_edge *edge = &node->in[slot];
	uint64_t offset;
	memcpy(&offset, edge, sizeof offset);
	struct dfg_name name = text_of(half->r, offset), whole = name;
	bool control = name.length && *name.s == '^';
	const char *wrong = NULL;
	if (control) {
		name.s++;
		name.length--;
		edge->port = DFG_CONTROL;
		node->n_control++;
	} else {
		wrong = node->n_control ? "is a data input after a control input" : take_port(&name, &edge->port);
	}
	if (wrong) {
		fault(half, n, slot, wrong, &whole);
		return;
	}
	name.hash = dfg_map_hash(name.s, name.length);
	half->name[half->count] = name;
	half->edge[half->count] = edge;
	half->node[half->count] = n;
	if (++half->count == BATCH)
		flush(half);
}

static void *resolve(void *half_)
{
	struct half *half = half_;
	for (uint32_t n = half->first; n < half->end; n++) {
		struct dfg_node *node = &half->r->graph->node[n];
		uint32_t count = node->n_in;
		for (uint32_t slot = 0; slot < count; slot++)
			add_edge(half, n, slot);
		node->n_in = count - node->n_control;
	}
	flush(half);
	return NULL;
}

static struct dfg_err *describe(const struct dfg_graph *graph, const struct bad *bad)
{
	const struct dfg_node *node = &graph->node[bad->node];
	struct dfg_text word = {0};
	struct dfg_err *err;
	dfg_text_escape(&word, bad->s, bad->length, 128);
	const char *name = word.s ? word.s : "", *nearest = bad->what ? NULL : dfg_graph_nearest(graph, name);
	if (bad->what)
		err = DFG_ERR(DFG_DATA, "input %u '%s' %s", bad->slot, name, bad->what);
	else if (nearest)
		err = DFG_ERR(DFG_DATA, "input %u: no node '%s'; did you mean '%s'?", bad->slot, name, nearest);
	else
		err = DFG_ERR(DFG_DATA, "input %u: no node '%s'", bad->slot, name);
	dfg_text_release(&word);
	return dfg_err_note(err, "node '%s' (%s)", node->name, node->op_name);
}

/* Orders faults by position, as batches find missing nodes later than malformed inputs. */
static int compare(const void *a_, const void *b_)
{
	const struct bad *a = a_, *b = b_;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Whether the edge may lead to a node that could not be read. */
static bool is_lost(struct dfg_reader *r, const struct bad *bad)
{
	return !bad->what && (r->lost_unnamed || dfg_map_find(&r->lost, bad->s, bad->length) != DFG_NONE);
}

struct dfg_err *dfg_reader_edges(struct dfg_reader *r)
{
	uint32_t count = r->graph->count, middle = count / 2;
	struct half half[2] = {{.r = r, .end = middle}, {.r = r, .first = middle, .end = count}};
	pthread_t other;
	bool two = count > NODES_FOR_TWO && !pthread_create(&other, NULL, resolve, &half[1]);
	resolve(&half[0]);
	if (two)
		pthread_join(other, NULL);
	else
		resolve(&half[1]);
	struct dfg_err *err = NULL;
	r->resolved = true;
	for (int i = 0, told = r->n_errors; i < 2; i++) {
		qsort(half[i].bad, (size_t)half[i].n_bad, sizeof *half[i].bad, compare);
		for (int j = 0; j < half[i].n_bad && told < DFG_READER_ERRORS; j++)
			if (!is_lost(r, &half[i].bad[j]) && ++told)
				err = dfg_err_join(err, describe(r->graph, &half[i].bad[j]));
	}
	return err;
}
