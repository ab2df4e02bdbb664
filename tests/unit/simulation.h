#pragma once

#include "lib/graph/loops.h"

#include <stdlib.h>

/*
 * Simulates a graph, or the parts of one, by the published rules of tags and dead tokens, without other code of the
 * program: scalars only, no windows, one node at a time in an order that `choose` decides. Messages have a tag and the number of
 * their transfer, and all must be taken.
 */
enum {
	SIM_PARTS = 4,
	SIM_TAGS = 4096,
	SIM_EVENTS = 65536,
	SIM_FRAMES = 4096,
	SIM_CONSTANTS = 16,
	SIM_MESSAGES = 65536
};

#define SIM_STOP UINT32_MAX /* in place of a choice: the run is given up */

struct sim_token {
	int64_t value;
	bool dead;
};

struct sim_instance {
	struct sim_token in[8], out[2];
	uint32_t pending, dead, controls;
	bool is_begun, has_run, live_in;
};

struct sim_tag {
	uint32_t parent;
	struct dfg_string name;
	int64_t iteration;
};

/* Of one part. */
struct sim_frame {
	uint32_t part, first; /* the tag of iteration 0 */
	uint32_t newest;
	uint32_t enters;
	struct {
		uint32_t node;
		struct sim_token token;
	} constant[SIM_CONSTANTS];
	uint32_t constants;
	bool *left; /* by node: this Exit has been live, or has left dead */
};

struct sim_event {
	uint32_t part, tag, node;
	bool dead;
};

struct sim_message {
	uint32_t edge, tag;
	struct sim_token token;
	bool is_sent, is_here, is_waited, is_taken;
	struct sim_event event; /* of the Recv, where it waits */
};

struct sim {
	const struct dfg_graph *part[SIM_PARTS];
	uint32_t parts;
	uint32_t *first[SIM_PARTS], *reader[SIM_PARTS], *slot[SIM_PARTS]; /* edges by maker */
	uint32_t *home[SIM_PARTS];                                        /* by node: Enters of its frame name */
	struct sim_instance *instance[SIM_PARTS][SIM_TAGS];
	struct sim_tag tag[SIM_TAGS];
	uint32_t tags;
	struct sim_frame frame[SIM_FRAMES];
	uint32_t frames;
	struct sim_event event[SIM_EVENTS];
	uint32_t events;
	struct sim_message message[SIM_MESSAGES];
	uint32_t messages, sent;
	bool
		by_mail; /* messages are under way until `choose` says which comes next; what a part does meanwhile has one order */
	int64_t (*feed)(const char *name);
	uint32_t (*choose)(void *arg, struct sim *sim, uint32_t n); /* a number less than n */
	void *choose_arg;
};

static enum dfg_role sim_role(const struct sim *s, uint32_t part, uint32_t n)
{
	return dfg_node_role(&s->part[part]->node[n]);
}

static int64_t sim_mark(const struct dfg_node *node)
{
	int64_t number = -1;
	dfg_node_mark(node, "_dfg_edge", &number);
	return number;
}

static struct dfg_string sim_frame_name(const struct dfg_node *enter)
{
	return dfg_node_attr(enter, "frame_name")->value.s;
}

static bool sim_same(struct dfg_string a, struct dfg_string b)
{
	return a.length == b.length && !memcmp(a.s, b.s, a.length);
}

static uint32_t sim_find_tag(struct sim *s, uint32_t parent, struct dfg_string name, int64_t iteration)
{
	for (uint32_t t = 1; t < s->tags; t++)
		if (s->tag[t].parent == parent && s->tag[t].iteration == iteration && sim_same(s->tag[t].name, name))
			return t;
	assert_true(s->tags < SIM_TAGS);
	s->tag[s->tags] = (struct sim_tag){parent, name, iteration};
	return s->tags++;
}

static struct sim_instance *sim_instance(struct sim *s, uint32_t part, uint32_t tag, uint32_t n)
{
	if (!s->instance[part][tag])
		s->instance[part][tag] = calloc(s->part[part]->count, sizeof(struct sim_instance));
	struct sim_instance *i = &s->instance[part][tag][n];
	const struct dfg_node *node = &s->part[part]->node[n];
	if (!i->is_begun) {
		i->is_begun = true;
		i->pending = node->n_in + node->n_control;
		i->controls = node->n_control;
		assert_true(node->n_in <= 8);
	}
	return i;
}

static void sim_ready(struct sim *s, uint32_t part, uint32_t tag, uint32_t n, bool dead)
{
	assert_true(s->events < SIM_EVENTS);
	s->event[s->events++] = (struct sim_event){part, tag, n, dead};
}

static void sim_merge_arrives(struct sim *s, const struct sim_event *at, struct sim_instance *i, uint32_t slot,
	struct sim_token token, bool entered)
{
	uint32_t n_in = s->part[at->part]->node[at->node].n_in;
	if (slot >= n_in) {
		i->controls--;
	} else if (token.dead) {
		i->dead += entered ? n_in : 1;
	} else {
		assert_false(i->live_in); /* two live inputs */
		i->live_in = true;
		i->out[0] = token;
		i->out[1] = (struct sim_token){slot, false};
	}
	if (i->controls || i->has_run || (!i->live_in && i->dead < n_in))
		return;
	i->has_run = true;
	sim_ready(s, at->part, at->tag, at->node, !i->live_in);
}

/* A token comes along edge e of the list of edges. */
static void sim_deliver(struct sim *s, uint32_t part, uint32_t tag, uint32_t from, uint32_t e, struct sim_token token)
{
	uint32_t n = s->reader[part][e], slot = s->slot[part][e];
	const struct dfg_node *node = &s->part[part]->node[n];
	const struct sim_event at = {part, tag, n, false};
	struct sim_instance *i = sim_instance(s, part, tag, n);
	if (dfg_node_role(node) == DFG_MERGE) {
		sim_merge_arrives(s, &at, i, slot, token, sim_role(s, part, from) == DFG_ENTER);
		return;
	}
	assert_true(i->pending > 0);
	i->pending--;
	i->dead += token.dead;
	if (slot < node->n_in)
		i->in[slot] = token;
	if (!i->pending) {
		i->has_run = true;
		sim_ready(s, part, tag, n, i->dead && dfg_node_role(node) != DFG_CONTROL_TRIGGER);
	}
}

/* out: by port. */
static void sim_send_on(struct sim *s, uint32_t part, uint32_t tag, uint32_t n, const struct sim_token *out, bool dead)
{
	for (uint32_t e = s->first[part][n]; e < s->first[part][n + 1]; e++) {
		const struct dfg_node *reader = &s->part[part]->node[s->reader[part][e]];
		int32_t port = reader->in[s->slot[part][e]].port;
		sim_deliver(s, part, tag, n, e, port < 0 ? (struct sim_token){0, dead} : out[port]);
	}
}

static struct sim_frame *sim_frame_of(struct sim *s, uint32_t part, uint32_t first)
{
	for (uint32_t f = 0; f < s->frames; f++)
		if (s->frame[f].part == part && s->frame[f].first == first)
			return &s->frame[f];
	assert_true(s->frames < SIM_FRAMES);
	s->frame[s->frames] = (struct sim_frame){.part = part, .first = first, .newest = first};
	s->frame[s->frames].left = calloc(s->part[part]->count + 1, sizeof(bool));
	return &s->frame[s->frames++];
}

static struct sim_frame *sim_frame_at(struct sim *s, uint32_t part, uint32_t tag)
{
	return sim_frame_of(s, part, sim_find_tag(s, s->tag[tag].parent, s->tag[tag].name, 0));
}

static void sim_enter(struct sim *s, const struct sim_event *at, struct sim_token token)
{
	const struct dfg_node *node = &s->part[at->part]->node[at->node];
	struct sim_frame *frame = sim_frame_of(s, at->part, sim_find_tag(s, at->tag, sim_frame_name(node), 0));
	const struct dfg_attr *constant = dfg_node_attr(node, "is_constant");
	struct dfg_string name = s->tag[frame->first].name;
	frame->enters++;
	if (!constant || !constant->value.b) {
		sim_send_on(s, at->part, frame->first, at->node, &token, token.dead);
		return;
	}
	assert_true(frame->constants < SIM_CONSTANTS);
	frame->constant[frame->constants].node = at->node;
	frame->constant[frame->constants++].token = token;
	for (int64_t i = 0; i <= s->tag[frame->newest].iteration; i++)
		sim_send_on(s, at->part, sim_find_tag(s, at->tag, name, i), at->node, &token, token.dead);
}

static void sim_next(struct sim *s, const struct sim_event *at, struct sim_token token)
{
	struct sim_frame *frame = sim_frame_at(s, at->part, at->tag);
	if (token.dead)
		return;
	uint32_t tag = sim_find_tag(s, s->tag[at->tag].parent, s->tag[at->tag].name, s->tag[at->tag].iteration + 1);
	if (s->tag[tag].iteration > s->tag[frame->newest].iteration) {
		frame->newest = tag;
		for (uint32_t i = 0; i < frame->constants; i++)
			sim_send_on(
				s, at->part, tag, frame->constant[i].node, &frame->constant[i].token, frame->constant[i].token.dead);
	}
	sim_send_on(s, at->part, tag, at->node, &token, false);
}

static void sim_exit(struct sim *s, const struct sim_event *at, struct sim_token token)
{
	struct sim_frame *frame = sim_frame_at(s, at->part, at->tag);
	if (token.dead)
		return;
	assert_false(frame->left[at->node]);
	frame->left[at->node] = true;
	sim_instance(s, at->part, s->tag[at->tag].parent, at->node)->out[0] = token;
	sim_send_on(s, at->part, s->tag[at->tag].parent, at->node, &token, false);
}

/* Each key is sent once and taken once. */
static struct sim_message *sim_find_message(struct sim *s, uint32_t edge, uint32_t tag)
{
	for (uint32_t m = 0; m < s->messages; m++)
		if (s->message[m].edge == edge && s->message[m].tag == tag)
			return &s->message[m];
	assert_true(s->messages < SIM_MESSAGES);
	s->message[s->messages] = (struct sim_message){.edge = edge, .tag = tag};
	return &s->message[s->messages++];
}

static void sim_take(struct sim *s, struct sim_message *message)
{
	if (!message->is_here || !message->is_waited)
		return;
	struct sim_event at = message->event;
	struct sim_token token = message->token;
	message->is_taken = true;
	sim_instance(s, at.part, at.tag, at.node)->out[0] = token;
	sim_send_on(s, at.part, at.tag, at.node, &token, token.dead);
}

static void sim_message(struct sim *s, uint32_t tag, uint32_t edge, struct sim_token token)
{
	struct sim_message *message = sim_find_message(s, edge, tag);
	assert_false(message->is_sent);
	message->is_sent = true;
	message->token = token;
	message->is_here = !s->by_mail;
	s->sent++;
	sim_take(s, message);
}

static void sim_receive(struct sim *s, const struct sim_event *at, uint32_t edge)
{
	struct sim_message *message = sim_find_message(s, edge, at->tag);
	assert_false(message->is_waited);
	message->is_waited = true;
	message->event = *at;
	sim_take(s, message);
}

static int64_t sim_value(const struct sim *s, const struct dfg_node *node, const struct sim_token *in)
{
	const char *op = node->op_name;
	int64_t a = in[0].value, b = in[1].value;
	if (!strcmp(op, "Const")) {
		const struct dfg_literal *literal = dfg_node_attr(node, "value")->value.tensor;
		return literal->given ? ((const int32_t *)literal->data)[0] : 0;
	}
	if (!strcmp(op, "Placeholder"))
		return s->feed(node->name);
	if (!strcmp(op, "Add"))
		return a + b;
	if (!strcmp(op, "Sub"))
		return a - b;
	if (!strcmp(op, "Mul"))
		return a * b;
	if (!strcmp(op, "Less"))
		return a < b;
	if (!strcmp(op, "GreaterEqual"))
		return a >= b;
	if (!strcmp(op, "LogicalAnd"))
		return a && b;
	if (!strcmp(op, "LogicalNot"))
		return !a;
	if (!strcmp(op, "Neg"))
		return -a;
	if (strcmp(op, "NoOp") && strcmp(op, "Identity") && strcmp(op, "LoopCond"))
		fail_msg("the simulation has no %s", op);
	return a;
}

static void sim_run_node(struct sim *s, const struct sim_event *at)
{
	const struct dfg_node *node = &s->part[at->part]->node[at->node];
	struct sim_instance *i = sim_instance(s, at->part, at->tag, at->node);
	switch (dfg_node_role(node)) {
	case DFG_SWITCH:
		i->out[0] = (struct sim_token){i->in[0].value, at->dead || i->in[1].value};
		i->out[1] = (struct sim_token){i->in[0].value, at->dead || !i->in[1].value};
		break;
	case DFG_MERGE:
		if (at->dead)
			i->out[0] = i->out[1] = (struct sim_token){0, true};
		break;
	case DFG_ENTER:
		sim_enter(s, at, (struct sim_token){i->in[0].value, at->dead});
		return;
	case DFG_EXIT:
		sim_exit(s, at, (struct sim_token){i->in[0].value, at->dead});
		return;
	case DFG_NEXT_ITERATION:
		sim_next(s, at, (struct sim_token){i->in[0].value, at->dead});
		return;
	case DFG_SEND: /* a dead control input: nothing to send */
		if (i->dead == i->in[0].dead)
			sim_message(s, at->tag, (uint32_t)sim_mark(node), (struct sim_token){i->in[0].value, i->in[0].dead});
		return;
	case DFG_RECV:
		if (!at->dead) {
			sim_receive(s, at, (uint32_t)sim_mark(node));
			return;
		}
		i->out[0] = (struct sim_token){0, true};
		break;
	default:
		i->out[0] = (struct sim_token){at->dead ? 0 : sim_value(s, node, i->in), at->dead};
	}
	sim_send_on(s, at->part, at->tag, at->node, i->out, at->dead);
}

static bool sim_within(const struct sim *s, uint32_t tag, uint32_t first)
{
	for (; tag; tag = s->tag[tag].parent)
		if (s->tag[tag].parent == s->tag[first].parent && sim_same(s->tag[tag].name, s->tag[first].name))
			return true;
	return false;
}

/* Nothing can happen in the frame any more, nothing being ready anywhere. */
static bool sim_is_done(struct sim *s, const struct sim_frame *frame)
{
	uint32_t enters = 0;
	const struct dfg_graph *graph = s->part[frame->part];
	for (uint32_t n = 0; n < graph->count; n++)
		enters += dfg_node_role(&graph->node[n]) == DFG_ENTER &&
				  sim_same(sim_frame_name(&graph->node[n]), s->tag[frame->first].name);
	if (frame->enters < enters)
		return false;
	for (uint32_t m = 0; m < s->messages; m++)
		if (s->message[m].is_waited && !s->message[m].is_taken && s->message[m].event.part == frame->part &&
			sim_within(s, s->message[m].tag, frame->first))
			return false;
	return true;
}

/* Exits that were dead in the last iteration leave when the frame is done; those of an inner frame before. */
static bool sim_leave(struct sim *s)
{
	bool some = false;
	for (uint32_t f = s->frames; f-- > 0 && !some;) {
		struct sim_frame *frame = &s->frame[f];
		const struct dfg_graph *graph = s->part[frame->part];
		if (!sim_is_done(s, frame))
			continue;
		for (uint32_t n = 0; n < graph->count; n++) {
			struct sim_instance *last = s->instance[frame->part][frame->newest];
			if (dfg_node_role(&graph->node[n]) != DFG_EXIT || frame->left[n] || !last || !last[n].has_run)
				continue;
			frame->left[n] = some = true;
			struct sim_token dead = {0, true};
			sim_instance(s, frame->part, s->tag[frame->first].parent, n)->out[0] = dead;
			sim_send_on(s, frame->part, s->tag[frame->first].parent, n, &dead, true);
		}
	}
	return some;
}

static void sim_connect(struct sim *s, uint32_t part)
{
	const struct dfg_graph *graph = s->part[part];
	uint32_t edges = 0;
	s->first[part] = calloc(graph->count + 2, sizeof(uint32_t));
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++, edges++)
			s->first[part][graph->node[n].in[e].node + 1]++;
	for (uint32_t n = 0; n < graph->count; n++)
		s->first[part][n + 1] += s->first[part][n];
	s->reader[part] = calloc(edges + 1, sizeof(uint32_t));
	s->slot[part] = calloc(edges + 1, sizeof(uint32_t));
	uint32_t *next = calloc(graph->count + 1, sizeof(uint32_t));
	for (uint32_t n = 0; n < graph->count; n++)
		for (uint32_t e = 0; e < graph->node[n].n_in + graph->node[n].n_control; e++) {
			uint32_t from = graph->node[n].in[e].node, at = s->first[part][from] + next[from]++;
			s->reader[part][at] = n;
			s->slot[part][at] = e;
		}
	free(next);
}

static void sim_start(struct sim *s)
{
	s->tags = 1;
	for (uint32_t p = 0; p < s->parts; p++) {
		sim_connect(s, p);
		for (uint32_t n = 0; n < s->part[p]->count; n++)
			if (!(s->part[p]->node[n].n_in + s->part[p]->node[n].n_control)) {
				sim_instance(s, p, 0, n)->has_run = true;
				sim_ready(s, p, 0, n, false);
			}
	}
}

/* One of those that are under way arrives; false where there is none, or `choose` gives up. */
static bool sim_bring(struct sim *s)
{
	uint32_t under_way[SIM_MESSAGES], count = 0;
	for (uint32_t m = 0; m < s->messages; m++)
		if (s->message[m].is_sent && !s->message[m].is_here)
			under_way[count++] = m;
	uint32_t next = count ? s->choose(s->choose_arg, s, count) : SIM_STOP;
	if (next == SIM_STOP)
		return false;
	s->message[under_way[next]].is_here = true;
	sim_take(s, &s->message[under_way[next]]);
	return true;
}

static void sim_step(struct sim *s)
{
	uint32_t next = s->choose && !s->by_mail ? s->choose(s->choose_arg, s, s->events) : s->events - 1;
	struct sim_event event = s->event[next];
	s->event[next] = s->event[--s->events];
	sim_run_node(s, &event);
}

/* Everything that was begun is done. */
static void sim_check_done(const struct sim *s)
{
	for (uint32_t m = 0; m < s->messages; m++)
		if (!s->message[m].is_taken)
			fail_msg("transfer %u in iteration %d: %s", s->message[m].edge, (int)s->tag[s->message[m].tag].iteration,
				s->message[m].is_waited ? "nothing came" : "nobody took it");
}

/* Runs all to the end. */
static void sim_run(struct sim *s)
{
	sim_start(s);
	while (s->events || sim_leave(s) || (s->by_mail && sim_bring(s)))
		if (s->events)
			sim_step(s);
}

static void sim_release(struct sim *s)
{
	for (uint32_t p = 0; p < s->parts; p++) {
		free(s->first[p]);
		free(s->reader[p]);
		free(s->slot[p]);
		for (uint32_t t = 0; t < s->tags; t++)
			free(s->instance[p][t]);
	}
	for (uint32_t f = 0; f < s->frames; f++)
		free(s->frame[f].left);
	free(s);
}
