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
#ifndef CLUSTER_ASKED
#define CLUSTER_ASKED 64 /* what a part may be asked for */
#endif
enum { CLUSTER_MOST = 4, CLUSTER_LIST = CLUSTER_ASKED, CLUSTER_TEXT = 48 };

struct cluster;

struct cluster_letter {
	struct cluster_letter *next;
	struct dfg_message message;
};

struct cluster_link {
	struct dfg_link link; /* first */
	struct cluster *cluster;
	uint32_t from, to;
	struct cluster_letter *first, *last; /* under the cluster's lock */
	bool busy;                           /* somebody delivers the first: the others must wait */
};

/* The feeds, fetches and targets of a part in a step. */
struct cluster_part {
	struct dfg_edge feed[CLUSTER_LIST], fetch[CLUSTER_LIST];
	uint32_t target[CLUSTER_LIST];
	struct dfg_step step;
	struct dfg_tensor value[CLUSTER_LIST], result[CLUSTER_LIST];
	uint32_t fetched[CLUSTER_LIST]; /* by fetch of the part: its place among all */
};

struct cluster {
	uint32_t workers;
	const struct dfg_graph *graph[CLUSTER_MOST];
	char name[CLUSTER_MOST][CLUSTER_TEXT];
	const char *device[CLUSTER_MOST];
	struct dfg_session *session[CLUSTER_MOST];
	struct dfg_rendezvous *rendezvous[CLUSTER_MOST];
	struct cluster_link link[CLUSTER_MOST][CLUSTER_MOST]; /* from, to */
	struct dfg_link *by_peer[CLUSTER_MOST][CLUSTER_MOST];
	struct cluster_part part[CLUSTER_MOST];
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
static bool cluster_carry(struct cluster_link *link)
{
	struct cluster *cluster = link->cluster;
	struct cluster_letter *letter = link->first;
	if (!letter || link->busy)
		return false;
	if (!(link->first = letter->next))
		link->last = NULL;
	link->busy = true;
	pthread_mutex_unlock(&cluster->lock);
	dfg_rendezvous_deliver(cluster->rendezvous[link->to], link->from, &letter->message);
	free(letter);
	pthread_mutex_lock(&cluster->lock);
	link->busy = false;
	return true;
}

/* Messages to the sender's end of this link are read from the link in the other direction. */
static bool cluster_poll(struct dfg_link *base)
{
	struct cluster_link *out = (struct cluster_link *)base;
	if (!out->cluster->slow)
		return false;
	pthread_mutex_lock(&out->cluster->lock);
	bool came = cluster_carry(&out->cluster->link[out->to][out->from]);
	pthread_mutex_unlock(&out->cluster->lock);
	return came;
}

static struct dfg_err *cluster_send(struct dfg_link *base, const struct dfg_message *message)
{
	struct cluster_link *link = (struct cluster_link *)base;
	struct dfg_message copy = *message;
	atomic_fetch_add(&link->cluster->sent, message->kind == DFG_MESSAGE_TENSOR);
	if (!message->dead)
		DFG_TRY(dfg_tensor_share(&message->tensor, &copy.tensor));
	if (!link->cluster->slow) {
		dfg_rendezvous_deliver(link->cluster->rendezvous[link->to], link->from, &copy);
		return NULL;
	}
	struct cluster_letter *letter = calloc(1, sizeof *letter);
	letter->message = copy;
	pthread_mutex_lock(&link->cluster->lock);
	if (link->last)
		link->last->next = letter;
	else
		link->first = letter;
	link->last = letter;
	pthread_mutex_unlock(&link->cluster->lock);
	return NULL;
}

static void cluster_close(struct dfg_link *link)
{
	(void)link;
}

static const struct dfg_link_kind cluster_kind = {
	.name = "test", .send = cluster_send, .poll = cluster_poll, .close = cluster_close};

static void *cluster_courier(void *arg)
{
	struct cluster *cluster = arg;
	while (!atomic_load(&cluster->stop)) {
		pthread_mutex_lock(&cluster->lock);
		cluster->random = cluster->random * 6364136223846793005u + 1442695040888963407u;
		uint32_t links = cluster->workers * cluster->workers, at = (uint32_t)(cluster->random >> 40) % links;
		for (uint32_t i = 0; i < links; i++, at = (at + 1) % links)
			if (cluster_carry(&cluster->link[at / cluster->workers][at % cluster->workers]))
				break;
		pthread_mutex_unlock(&cluster->lock);
		sched_yield();
	}
	return NULL;
}

/* The graphs are borrowed. slow: messages are handed over in an order that options->schedule_seed says. */
static void cluster_begin(struct cluster *cluster, const struct dfg_graph *const *graph, uint32_t workers,
	const struct dfg_session_options *options, bool slow)
{
	assert_true(workers <= CLUSTER_MOST);
	*cluster = (struct cluster){.workers = workers, .slow = slow, .random = options->schedule_seed};
	pthread_mutex_init(&cluster->lock, NULL);
	for (uint32_t i = 0; i < workers; i++) {
		snprintf(cluster->name[i], CLUSTER_TEXT, "/job:worker/task:%u/device:CPU:0", i);
		cluster->device[i] = cluster->name[i];
		cluster->graph[i] = graph[i];
		for (uint32_t j = 0; j < workers; j++) {
			cluster->link[i][j] =
				(struct cluster_link){.link = {&cluster_kind, j, {0}}, .cluster = cluster, .from = i, .to = j};
			cluster->by_peer[i][j] = i == j ? NULL : &cluster->link[i][j].link;
		}
	}
	for (uint32_t i = 0; i < workers; i++) {
		struct dfg_session_options own = *options;
		succeeds(dfg_rendezvous_new(&(struct dfg_rendezvous_options){.self = i,
										.device = cluster->device,
										.workers = workers,
										.link = cluster->by_peer[i],
										.credit = slow}, /* one byte: all is held back that nobody waits for */
			&cluster->rendezvous[i]));
		own.rendezvous = cluster->rendezvous[i];
		succeeds(dfg_session_new(graph[i], &own, &cluster->session[i]));
	}
	if (slow)
		assert_int_equal(pthread_create(&cluster->courier, NULL, cluster_courier, cluster), 0);
}

static void cluster_end(struct cluster *cluster)
{
	atomic_store(&cluster->stop, true);
	if (cluster->slow)
		pthread_join(cluster->courier, NULL);
	for (uint32_t i = 0; i < cluster->workers; i++) {
		for (uint32_t j = 0; j < cluster->workers; j++)
			while (cluster->link[i][j].first) {
				struct cluster_letter *letter = cluster->link[i][j].first;
				cluster->link[i][j].first = letter->next;
				dfg_tensor_release(&letter->message.tensor);
				free(letter);
			}
		dfg_session_free(cluster->session[i]);
		dfg_rendezvous_free(cluster->rendezvous[i]);
	}
	dfg_err_free(cluster->err);
	pthread_mutex_destroy(&cluster->lock);
}

/* The part that has the node, where it is not an end of a transfer. */
static uint32_t cluster_find(const struct cluster *cluster, const char *name, struct dfg_edge *out_edge)
{
	for (uint32_t i = 0; i < cluster->workers; i++) {
		struct dfg_err *err = dfg_graph_edge(cluster->graph[i], name, out_edge);
		if (!err && dfg_node_role(&cluster->graph[i]->node[out_edge->node]) != DFG_RECV)
			return i;
		dfg_err_free(err);
	}
	fail_msg("no part has '%s'", name);
	return 0;
}

static void cluster_step_begin(struct cluster *cluster)
{
	for (uint32_t i = 0; i < cluster->workers; i++) {
		struct cluster_part *part = &cluster->part[i];
		part->step = (struct dfg_step){.feed = part->feed, .fetch = part->fetch, .target = part->target};
	}
}

static void cluster_feed(struct cluster *cluster, const char *name, const struct dfg_tensor *value)
{
	struct dfg_edge edge;
	struct cluster_part *part = &cluster->part[cluster_find(cluster, name, &edge)];
	part->feed[part->step.n_feed] = edge;
	part->value[part->step.n_feed++] = *value;
}

/* place: where its value goes. A name such as "^init" is run for effect. */
static void cluster_fetch(struct cluster *cluster, const char *name, uint32_t place)
{
	struct dfg_edge edge;
	struct cluster_part *part = &cluster->part[cluster_find(cluster, name, &edge)];
	if (edge.port == DFG_CONTROL) {
		part->target[part->step.n_target++] = edge.node;
		return;
	}
	part->fetched[part->step.n_fetch] = place;
	part->fetch[part->step.n_fetch++] = edge;
}

static bool cluster_fed(const struct dfg_step *step, struct dfg_edge edge)
{
	for (uint32_t i = 0; i < step->n_feed; i++)
		if (step->feed[i].node == edge.node && (step->feed[i].port == edge.port || edge.port == DFG_CONTROL))
			return true;
	return false;
}

static bool cluster_target(struct cluster_part *part, uint32_t n)
{
	for (uint32_t t = 0; t < part->step.n_target; t++)
		if (part->target[t] == n)
			return false;
	assert_true(part->step.n_target < CLUSTER_LIST);
	part->target[part->step.n_target++] = n;
	return true;
}

/* The Send of the transfer, somewhere, becomes a target. */
static bool cluster_want(struct cluster *cluster, int64_t number)
{
	for (uint32_t i = 0; i < cluster->workers; i++)
		for (uint32_t n = 0; n < cluster->graph[i]->count; n++) {
			struct cluster_part *part = &cluster->part[i];
			int64_t mark;
			if (dfg_node_role(&cluster->graph[i]->node[n]) != DFG_SEND ||
				!dfg_node_mark(&cluster->graph[i]->node[n], "_dfg_edge", &mark) || mark != number)
				continue;
			return cluster_target(part, n);
		}
	fail_msg("nobody sends transfer %lld", (long long)number);
	return false;
}

static bool cluster_follow(struct cluster *cluster, uint32_t worker)
{
	const struct dfg_graph *graph = cluster->graph[worker];
	const struct dfg_step *step = &cluster->part[worker].step;
	uint32_t *stack = calloc((size_t)graph->count + 1, sizeof *stack), depth = 0;
	bool *seen = calloc((size_t)graph->count + 1, sizeof *seen), more = false;
	for (uint32_t i = 0; i < step->n_fetch + step->n_target; i++) {
		struct dfg_edge edge =
			i < step->n_fetch ? step->fetch[i] : (struct dfg_edge){step->target[i - step->n_fetch], DFG_CONTROL};
		if (!seen[edge.node] && !cluster_fed(step, edge))
			stack[depth++] = edge.node;
		seen[edge.node] |= !cluster_fed(step, edge);
	}
	while (depth) {
		const struct dfg_node *node = &graph->node[stack[--depth]];
		int64_t number;
		if (dfg_node_role(node) == DFG_RECV && dfg_node_mark(node, "_dfg_edge", &number)) {
			more |= cluster_want(cluster, number);
			cluster_target(
				&cluster->part[worker], (uint32_t)(node - graph->node)); /* what is sent is taken, also where */
		}                                                                /* the plan can do without it */
		for (uint32_t e = 0; e < node->n_in + node->n_control; e++) {
			if (seen[node->in[e].node] || cluster_fed(step, node->in[e]))
				continue;
			seen[node->in[e].node] = true;
			stack[depth++] = node->in[e].node;
		}
	}
	free(stack);
	free(seen);
	return more;
}

struct cluster_thread {
	struct cluster *cluster;
	uint32_t worker;
	pthread_t thread;
};

/* One that fails fails the others. */
static void cluster_failed(struct cluster *cluster, uint32_t worker, struct dfg_err *err)
{
	for (uint32_t i = 0; i < cluster->workers; i++)
		if (i != worker)
			dfg_rendezvous_fail(cluster->rendezvous[i], dfg_err_copy(err));
	pthread_mutex_lock(&cluster->lock);
	bool first = !cluster->err;
	if (first)
		cluster->err = err;
	pthread_mutex_unlock(&cluster->lock);
	if (!first)
		dfg_err_free(err);
}

static void *cluster_work(void *arg)
{
	const struct cluster_thread *thread = arg;
	struct cluster *cluster = thread->cluster;
	struct cluster_part *part = &cluster->part[thread->worker];
	struct dfg_plan *plan = NULL;
	struct dfg_err *err = dfg_session_plan(cluster->session[thread->worker], &part->step, &plan);
	if (!err)
		err = dfg_plan_run(plan, part->value, part->result);
	if (err) {
		memset(part->result, 0, sizeof part->result);
		cluster_failed(cluster, thread->worker, err);
		return NULL;
	}
	struct dfg_stats stats;
	dfg_plan_stats(plan, &stats);
	pthread_mutex_lock(&cluster->lock);
	cluster->left += stats.left;
	pthread_mutex_unlock(&cluster->lock);
	return NULL;
}

/* After cluster_step_begin, and what is fed and fetched. Values by their place; an error leaves none. */
static struct dfg_err *cluster_step(struct cluster *cluster, struct dfg_tensor *out)
{
	struct cluster_thread thread[CLUSTER_MOST];
	bool more = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < cluster->workers; i++)
			more |= cluster_follow(cluster, i);
	}
	cluster->steps++;
	cluster->left = 0;
	for (uint32_t i = 0; i < cluster->workers; i++)
		dfg_rendezvous_begin(cluster->rendezvous[i], cluster->steps);
	for (uint32_t i = 0; i < cluster->workers; i++) {
		thread[i] = (struct cluster_thread){.cluster = cluster, .worker = i};
		assert_int_equal(pthread_create(&thread[i].thread, NULL, cluster_work, &thread[i]), 0);
	}
	for (uint32_t i = 0; i < cluster->workers; i++)
		pthread_join(thread[i].thread, NULL);
	for (uint32_t i = 0; i < cluster->workers; i++)
		cluster->left += dfg_rendezvous_end(cluster->rendezvous[i]);
	struct dfg_err *err = cluster->err;
	cluster->err = NULL;
	for (uint32_t i = 0; i < cluster->workers; i++)
		for (uint32_t f = 0; f < cluster->part[i].step.n_fetch; f++)
			if (err)
				dfg_tensor_release(&cluster->part[i].result[f]);
			else
				out[cluster->part[i].fetched[f]] = cluster->part[i].result[f];
	return err;
}
