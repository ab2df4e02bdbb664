#pragma once

#include "tests/unit/test.h"

#include "lib/exec/session.h"
#include "lib/graph/loops.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The parts of a graph, run in as many threads of this process: a session and a rendezvous each, which are joined by links
 * that hand a message over at once, or keep it until somebody reads it, in some order.
 */
#ifndef FLEET_ROOM
#define FLEET_ROOM 64 /* what a part may be asked for */
#endif
enum { FLEET_MOST = 4, FLEET_LIST = FLEET_ROOM, FLEET_TEXT = 48 };

struct fleet;

struct fleet_letter {
	struct fleet_letter *next;
	struct dfg_message message;
};

struct fleet_link {
	struct dfg_link link; /* first */
	struct fleet *fleet;
	uint32_t from, to;
	struct fleet_letter *first, *last; /* under the fleet's lock */
	bool busy;                         /* somebody delivers the first: the others must wait */
};

/* The feeds, fetches and targets of a part in a step. */
struct fleet_part {
	struct dfg_edge feed[FLEET_LIST], fetch[FLEET_LIST];
	uint32_t target[FLEET_LIST];
	struct dfg_step step;
	struct dfg_tensor value[FLEET_LIST], result[FLEET_LIST];
	uint32_t fetched[FLEET_LIST]; /* by fetch of the part: its place among all */
};

struct fleet {
	uint32_t workers;
	const struct dfg_graph *graph[FLEET_MOST];
	char name[FLEET_MOST][FLEET_TEXT];
	const char *device[FLEET_MOST];
	struct dfg_session *session[FLEET_MOST];
	struct dfg_rendezvous *rendezvous[FLEET_MOST];
	struct fleet_link link[FLEET_MOST][FLEET_MOST]; /* from, to */
	struct dfg_link *by_peer[FLEET_MOST][FLEET_MOST];
	struct fleet_part part[FLEET_MOST];
	uint64_t steps;
	atomic_uint sent; /* tensors, of all steps */
	bool slow;        /* messages wait to be read, by a thread of its own or by whoever polls */
	pthread_mutex_t lock;
	pthread_t courier;
	atomic_bool stop;
	uint64_t random;
	struct dfg_err *err; /* the first of a step */
	uint64_t left;
};

/* With the lock held, before and after. */
static bool fleet_carry(struct fleet_link *link)
{
	struct fleet *fleet = link->fleet;
	struct fleet_letter *letter = link->first;
	if (!letter || link->busy)
		return false;
	if (!(link->first = letter->next))
		link->last = NULL;
	link->busy = true;
	pthread_mutex_unlock(&fleet->lock);
	dfg_rendezvous_deliver(fleet->rendezvous[link->to], link->from, &letter->message);
	free(letter);
	pthread_mutex_lock(&fleet->lock);
	link->busy = false;
	return true;
}

/* What stands at sender's side of this link is read from the one that comes back. */
static bool fleet_poll(struct dfg_link *base)
{
	struct fleet_link *out = (struct fleet_link *)base;
	if (!out->fleet->slow)
		return false;
	pthread_mutex_lock(&out->fleet->lock);
	bool came = fleet_carry(&out->fleet->link[out->to][out->from]);
	pthread_mutex_unlock(&out->fleet->lock);
	return came;
}

static struct dfg_err *fleet_send(struct dfg_link *base, const struct dfg_message *message)
{
	struct fleet_link *link = (struct fleet_link *)base;
	struct dfg_message copy = *message;
	atomic_fetch_add(&link->fleet->sent, message->kind == DFG_MESSAGE_TENSOR);
	if (!message->dead)
		DFG_TRY(dfg_tensor_share(&message->tensor, &copy.tensor));
	if (!link->fleet->slow) {
		dfg_rendezvous_deliver(link->fleet->rendezvous[link->to], link->from, &copy);
		return NULL;
	}
	struct fleet_letter *letter = calloc(1, sizeof *letter);
	letter->message = copy;
	pthread_mutex_lock(&link->fleet->lock);
	if (link->last)
		link->last->next = letter;
	else
		link->first = letter;
	link->last = letter;
	pthread_mutex_unlock(&link->fleet->lock);
	return NULL;
}

static void fleet_close(struct dfg_link *link)
{
	(void)link;
}

static const struct dfg_link_kind fleet_kind = {
	.name = "test", .send = fleet_send, .poll = fleet_poll, .close = fleet_close};

static void *fleet_courier(void *arg)
{
	struct fleet *fleet = arg;
	while (!atomic_load(&fleet->stop)) {
		pthread_mutex_lock(&fleet->lock);
		fleet->random = fleet->random * 6364136223846793005u + 1442695040888963407u;
		uint32_t links = fleet->workers * fleet->workers, at = (uint32_t)(fleet->random >> 40) % links;
		for (uint32_t i = 0; i < links; i++, at = (at + 1) % links)
			if (fleet_carry(&fleet->link[at / fleet->workers][at % fleet->workers]))
				break;
		pthread_mutex_unlock(&fleet->lock);
		sched_yield();
	}
	return NULL;
}

/* The graphs are borrowed. slow: messages are handed over in an order that options->schedule_seed says. */
static void fleet_begin(struct fleet *fleet, const struct dfg_graph *const *graph, uint32_t workers,
	const struct dfg_session_options *options, bool slow)
{
	assert_true(workers <= FLEET_MOST);
	*fleet = (struct fleet){.workers = workers, .slow = slow, .random = options->schedule_seed};
	pthread_mutex_init(&fleet->lock, NULL);
	for (uint32_t i = 0; i < workers; i++) {
		snprintf(fleet->name[i], FLEET_TEXT, "/job:worker/task:%u/device:CPU:0", i);
		fleet->device[i] = fleet->name[i];
		fleet->graph[i] = graph[i];
		for (uint32_t j = 0; j < workers; j++) {
			fleet->link[i][j] = (struct fleet_link){.link = {&fleet_kind, j, {0}}, .fleet = fleet, .from = i, .to = j};
			fleet->by_peer[i][j] = i == j ? NULL : &fleet->link[i][j].link;
		}
	}
	for (uint32_t i = 0; i < workers; i++) {
		struct dfg_session_options own = *options;
		succeeds(dfg_rendezvous_new(&(struct dfg_rendezvous_options){.self = i,
										.device = fleet->device,
										.workers = workers,
										.link = fleet->by_peer[i],
										.budget = slow}, /* one byte: all is held back that nobody waits for */
			&fleet->rendezvous[i]));
		own.rendezvous = fleet->rendezvous[i];
		succeeds(dfg_session_new(graph[i], &own, &fleet->session[i]));
	}
	if (slow)
		assert_int_equal(pthread_create(&fleet->courier, NULL, fleet_courier, fleet), 0);
}

static void fleet_end(struct fleet *fleet)
{
	atomic_store(&fleet->stop, true);
	if (fleet->slow)
		pthread_join(fleet->courier, NULL);
	for (uint32_t i = 0; i < fleet->workers; i++) {
		for (uint32_t j = 0; j < fleet->workers; j++)
			while (fleet->link[i][j].first) {
				struct fleet_letter *letter = fleet->link[i][j].first;
				fleet->link[i][j].first = letter->next;
				dfg_tensor_release(&letter->message.tensor);
				free(letter);
			}
		dfg_session_free(fleet->session[i]);
		dfg_rendezvous_free(fleet->rendezvous[i]);
	}
	dfg_err_free(fleet->err);
	pthread_mutex_destroy(&fleet->lock);
}

/* The part that has the node, where it is not an end of a transfer. */
static uint32_t fleet_find(const struct fleet *fleet, const char *name, struct dfg_edge *out_edge)
{
	for (uint32_t i = 0; i < fleet->workers; i++) {
		struct dfg_err *err = dfg_graph_edge(fleet->graph[i], name, out_edge);
		if (!err && dfg_node_role(&fleet->graph[i]->node[out_edge->node]) != DFG_RECV)
			return i;
		dfg_err_free(err);
	}
	fail_msg("no part has '%s'", name);
	return 0;
}

static void fleet_step_begin(struct fleet *fleet)
{
	for (uint32_t i = 0; i < fleet->workers; i++) {
		struct fleet_part *part = &fleet->part[i];
		part->step = (struct dfg_step){.feed = part->feed, .fetch = part->fetch, .target = part->target};
	}
}

static void fleet_feed(struct fleet *fleet, const char *name, const struct dfg_tensor *value)
{
	struct dfg_edge edge;
	struct fleet_part *part = &fleet->part[fleet_find(fleet, name, &edge)];
	part->feed[part->step.n_feed] = edge;
	part->value[part->step.n_feed++] = *value;
}

/* place: where its value goes. A name such as "^init" is run for effect. */
static void fleet_fetch(struct fleet *fleet, const char *name, uint32_t place)
{
	struct dfg_edge edge;
	struct fleet_part *part = &fleet->part[fleet_find(fleet, name, &edge)];
	if (edge.port == DFG_CONTROL) {
		part->target[part->step.n_target++] = edge.node;
		return;
	}
	part->fetched[part->step.n_fetch] = place;
	part->fetch[part->step.n_fetch++] = edge;
}

static bool fleet_fed(const struct dfg_step *step, struct dfg_edge edge)
{
	for (uint32_t i = 0; i < step->n_feed; i++)
		if (step->feed[i].node == edge.node && (step->feed[i].port == edge.port || edge.port == DFG_CONTROL))
			return true;
	return false;
}

static bool fleet_target(struct fleet_part *part, uint32_t n)
{
	for (uint32_t t = 0; t < part->step.n_target; t++)
		if (part->target[t] == n)
			return false;
	assert_true(part->step.n_target < FLEET_LIST);
	part->target[part->step.n_target++] = n;
	return true;
}

/* The Send of the transfer, somewhere, becomes a target. */
static bool fleet_want(struct fleet *fleet, int64_t number)
{
	for (uint32_t i = 0; i < fleet->workers; i++)
		for (uint32_t n = 0; n < fleet->graph[i]->count; n++) {
			struct fleet_part *part = &fleet->part[i];
			int64_t mark;
			if (dfg_node_role(&fleet->graph[i]->node[n]) != DFG_SEND ||
				!dfg_node_mark(&fleet->graph[i]->node[n], "_dfg_edge", &mark) || mark != number)
				continue;
			return fleet_target(part, n);
		}
	fail_msg("nobody sends transfer %lld", (long long)number);
	return false;
}

static bool fleet_follow(struct fleet *fleet, uint32_t worker)
{
	const struct dfg_graph *graph = fleet->graph[worker];
	const struct dfg_step *step = &fleet->part[worker].step;
	uint32_t *stack = calloc((size_t)graph->count + 1, sizeof *stack), depth = 0;
	bool *seen = calloc((size_t)graph->count + 1, sizeof *seen), more = false;
	for (uint32_t i = 0; i < step->n_fetch + step->n_target; i++) {
		struct dfg_edge edge =
			i < step->n_fetch ? step->fetch[i] : (struct dfg_edge){step->target[i - step->n_fetch], DFG_CONTROL};
		if (!seen[edge.node] && !fleet_fed(step, edge))
			stack[depth++] = edge.node;
		seen[edge.node] |= !fleet_fed(step, edge);
	}
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		int64_t number;
		if (dfg_node_role(node) == DFG_RECV && dfg_node_mark(node, "_dfg_edge", &number)) {
			more |= fleet_want(fleet, number);
			fleet_target(&fleet->part[worker], (uint32_t)(node - graph->node)); /* what is sent is taken, also where */
		}                                                                       /* the plan can do without it */
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			if (seen[node->in[e].node] || fleet_fed(step, node->in[e]))
				continue;
			seen[node->in[e].node] = true;
			stack[depth++] = node->in[e].node;
		}
	}
	free(stack);
	free(seen);
	return more;
}

struct fleet_thread {
	struct fleet *fleet;
	uint32_t worker;
	pthread_t thread;
};

/* One that fails fails the others. */
static void fleet_failed(struct fleet *fleet, uint32_t worker, struct dfg_err *err)
{
	for (uint32_t i = 0; i < fleet->workers; i++)
		if (i != worker)
			dfg_rendezvous_fail(fleet->rendezvous[i], dfg_err_copy(err));
	pthread_mutex_lock(&fleet->lock);
	bool first = !fleet->err;
	if (first)
		fleet->err = err;
	pthread_mutex_unlock(&fleet->lock);
	if (!first)
		dfg_err_free(err);
}

static void *fleet_work(void *arg)
{
	const struct fleet_thread *thread = arg;
	struct fleet *fleet = thread->fleet;
	struct fleet_part *part = &fleet->part[thread->worker];
	struct dfg_plan *plan = NULL;
	struct dfg_err *err = dfg_session_plan(fleet->session[thread->worker], &part->step, &plan);
	if (!err)
		err = dfg_plan_run(plan, part->value, part->result);
	if (err) {
		memset(part->result, 0, sizeof part->result);
		fleet_failed(fleet, thread->worker, err);
		return NULL;
	}
	struct dfg_stats stats;
	dfg_plan_stats(plan, &stats);
	pthread_mutex_lock(&fleet->lock);
	fleet->left += stats.left;
	pthread_mutex_unlock(&fleet->lock);
	return NULL;
}

/* After fleet_step_begin, and what is fed and fetched. Values by their place; an error leaves none. */
static struct dfg_err *fleet_step(struct fleet *fleet, struct dfg_tensor *out)
{
	struct fleet_thread thread[FLEET_MOST];
	bool more = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < fleet->workers; i++)
			more |= fleet_follow(fleet, i);
	}
	fleet->steps++;
	fleet->left = 0;
	for (uint32_t i = 0; i < fleet->workers; i++)
		dfg_rendezvous_begin(fleet->rendezvous[i], fleet->steps);
	for (uint32_t i = 0; i < fleet->workers; i++) {
		thread[i] = (struct fleet_thread){.fleet = fleet, .worker = i};
		assert_int_equal(pthread_create(&thread[i].thread, NULL, fleet_work, &thread[i]), 0);
	}
	for (uint32_t i = 0; i < fleet->workers; i++)
		pthread_join(thread[i].thread, NULL);
	for (uint32_t i = 0; i < fleet->workers; i++)
		fleet->left += dfg_rendezvous_end(fleet->rendezvous[i]);
	struct dfg_err *err = fleet->err;
	fleet->err = NULL;
	for (uint32_t i = 0; i < fleet->workers; i++)
		for (uint32_t f = 0; f < fleet->part[i].step.n_fetch; f++)
			if (err)
				dfg_tensor_release(&fleet->part[i].result[f]);
			else
				out[fleet->part[i].fetched[f]] = fleet->part[i].result[f];
	return err;
}
