#include "app/server_placement.h"

#include "lib/base/map.h"

#include <stdlib.h>
#include <string.h>

/* A variable, and the server that it is on. */
struct stored {
	uint32_t node, owner; /* owner: index of the variable whose slot it is, or its own; its name is shorter */
	uint64_t bytes;       /* with its slots; of unknown sizes 0 */
	uint32_t server;
};

struct assignment {
	const struct dfg_graph *graph;
	struct stored *stored;
	uint32_t count;
	struct dfg_map names; /* of the variables, numbered as they are stored */
	uint64_t *load;       /* bytes by server */
	uint32_t servers;
};

static uint64_t bytes_of(const struct dfg_node *node)
{
	const struct dfg_attr *shape = dfg_node_attr(node, "shape"), *dtype = dfg_node_attr(node, "dtype");
	bool known = shape && shape->kind == DFG_ATTR_SHAPE && dtype && dtype->kind == DFG_ATTR_DTYPE &&
				 dfg_shape_known(shape->value.shape);
	size_t bytes = 0;
	struct dfg_err *err = known ? dfg_shape_bytes(shape->value.shape, dtype->value.dtype, &bytes) : NULL;
	dfg_err_free(err); /* a variable that does not fit any memory is refused when it is made */
	return bytes;
}

/* The variable with the longest name that the slot's name has before a slash; a variable owns itself. */
static uint32_t owner_of(const struct assignment *a, uint32_t i)
{
	const char *name = a->graph->node[a->stored[i].node].name;
	size_t longest = 0;
	uint32_t owner = i;
	for (const char *at = name; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		for (const char *end = strchr(at, '/'); end; end = strchr(end + 1, '/')) {
			size_t length = (size_t)(end - at);
			uint32_t k = length < longest ? DFG_NONE : dfg_map_find(&a->names, at, length);
			if (k == DFG_NONE || (length == longest && k > owner))
				continue;
			longest = length;
			owner = k;
		}
	return owner;
}

static uint32_t root_of(const struct assignment *a, uint32_t i)
{
	while (a->stored[i].owner != i)
		i = a->stored[i].owner;
	return i;
}

static struct dfg_err *find_variables(struct assignment *a, struct dfg_arena *arena)
{
	a->stored = dfg_arena_zeros(arena, a->graph->count, sizeof *a->stored);
	a->load = dfg_arena_zeros(arena, a->servers, sizeof *a->load);
	if (!a->stored || !a->load)
		return dfg_no_memory("the variables of the servers");
	for (uint32_t n = 0; n < a->graph->count; n++) {
		const struct dfg_node *node = &a->graph->node[n];
		uint32_t number;
		bool new;
		if (dfg_node_role(node) != DFG_VARIABLE)
			continue;
		if (!dfg_map_put(&a->names, node->name, strlen(node->name), &number, &new))
			return dfg_no_memory("the variables of the servers");
		a->stored[a->count++] = (struct stored){.node = n, .bytes = bytes_of(node)};
	}
	for (uint32_t i = 0; i < a->count; i++)
		a->stored[i].owner = owner_of(a, i);
	for (uint32_t i = 0; i < a->count; i++)
		if (a->stored[i].owner != i)
			a->stored[root_of(a, i)].bytes += a->stored[i].bytes;
	return NULL;
}

static uint32_t least_loaded(const struct assignment *a)
{
	uint32_t least = 0;
	for (uint32_t s = 1; s < a->servers; s++)
		if (a->load[s] < a->load[least])
			least = s;
	return least;
}

/* The largest variable that has no server yet; of several, the first by name. */
static uint32_t next_largest(const struct assignment *a, const bool *done)
{
	uint32_t best = DFG_NONE;
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->stored[i].owner != i || done[i])
			continue;
		const struct stored *one = &a->stored[i], *two = best == DFG_NONE ? one : &a->stored[best];
		int order = strcmp(a->graph->node[one->node].name, a->graph->node[two->node].name);
		if (best == DFG_NONE || one->bytes > two->bytes || (one->bytes == two->bytes && order < 0))
			best = i;
	}
	return best;
}

static struct dfg_err *assign(struct assignment *a, struct dfg_arena *arena)
{
	bool *done = dfg_arena_zeros(arena, a->count, sizeof *done);
	if (!done)
		return dfg_no_memory("the variables of the servers");
	for (uint32_t i; (i = next_largest(a, done)) != DFG_NONE; done[i] = true) {
		a->stored[i].server = least_loaded(a);
		a->load[a->stored[i].server] += a->stored[i].bytes;
	}
	for (uint32_t i = 0; i < a->count; i++)
		a->stored[i].server = a->stored[root_of(a, i)].server;
	return NULL;
}

/* A pattern that matches this name alone. */
static const char *pattern_of(const char *name, struct dfg_arena *arena)
{
	char *pattern = dfg_arena_zeros(arena, 2 * strlen(name) + 1, 1), *at = pattern;
	for (; pattern && *name; *at++ = *name++)
		if (strchr("*?[]\\", *name))
			*at++ = '\\';
	return pattern;
}

static uint32_t server_of_name(const struct assignment *a, const struct dfg_string *name)
{
	for (uint32_t i = 0; i < a->count; i++) {
		const char *other = a->graph->node[a->stored[i].node].name;
		if (strlen(other) == name->length && !memcmp(other, name->s, name->length))
			return a->stored[i].server;
	}
	return 0;
}

static bool is_start(const struct dfg_node *node)
{
	return node->op && node->op->flags & DFG_CONTRIBUTES;
}

/* An all-reduce is on the server of the first variable whose gradient it adds. */
static uint32_t server_of_bucket(const struct assignment *a, const struct dfg_node *start)
{
	const struct dfg_attr *names = dfg_node_attr(start, "tensors");
	bool known =
		names && names->kind == DFG_ATTR_LIST && names->value.list->kind == DFG_ATTR_STRING && names->value.list->count;
	return known ? server_of_name(a, &names->value.list->item[0].s) : 0;
}

/* A node that takes the handle of a variable or a queue is with it. */
static bool takes_state(const struct dfg_graph *graph, const struct dfg_node *node)
{
	bool takes = node->op && dfg_op_is_queued(node->op);
	for (uint32_t e = 0; e < node->n_in; e++)
		takes |= dfg_node_role(&graph->node[node->in[e].node]) == DFG_VARIABLE;
	return takes;
}

/* Queues, whose handles the node takes, are on the first server: what replicas put there is for all of them. */
static void place_queues(const struct dfg_graph *graph, const struct dfg_node *node, uint32_t *server_of)
{
	if (!node->op || !dfg_op_is_queued(node->op))
		return;
	for (uint32_t depth = 0; node->n_in && depth < graph->count; depth++) { /* a branch hands handles on */
		uint32_t handle = node->in[0].node;
		server_of[handle] = 0;
		node = &graph->node[handle];
	}
}

static bool is_done(const struct dfg_node *node)
{
	return node->op && node->op->flags & DFG_COLLECTS;
}

/* Gives a node and its inputs a server, as far as they have none. */
static void spread(const struct assignment *a, uint32_t first, uint32_t server, uint32_t *stack, uint32_t *server_of)
{
	uint32_t depth = 1;
	stack[0] = first;
	while (depth) {
		const struct dfg_node *node = &a->graph->node[stack[--depth]];
		for (uint32_t e = 0; e < node->n_in && !is_done(node); e++) {
			uint32_t in = node->in[e].node;
			if (server_of[in] != DFG_NONE)
				continue;
			server_of[in] = server;
			stack[depth++] = in;
		}
	}
}

/* The variable that a node writes, as an index; DFG_NONE: none. */
static uint32_t written_by(const struct assignment *a, const struct dfg_node *node)
{
	bool writes = node->op && node->n_in && (node->op->flags & DFG_WRITES || node->op->role == DFG_ASSIGN);
	for (uint32_t i = 0; i < a->count && writes; i++)
		if (a->stored[i].node == node->in[0].node)
			return i;
	return DFG_NONE;
}

/*
 * By node, its server: that of the first variable whose update needs it. Those that the gradients need too are on no server,
 * which is the number of servers.
 */
static struct dfg_err *find_updates(const struct assignment *a, struct dfg_arena *arena, uint32_t *server_of)
{
	uint32_t *stack = dfg_arena_zeros(arena, (size_t)a->graph->count + 1, sizeof *stack);
	if (!stack)
		return dfg_no_memory("the variables of the servers");
	for (uint32_t n = 0; n < a->graph->count; n++)
		server_of[n] = DFG_NONE;
	for (uint32_t n = 0; n < a->graph->count; n++)
		if (is_start(&a->graph->node[n]))
			spread(a, n, a->servers, stack, server_of);
	for (uint32_t n = 0; n < a->graph->count; n++) {
		uint32_t variable = written_by(a, &a->graph->node[n]);
		if (variable != DFG_NONE)
			spread(a, n, a->stored[variable].server, stack, server_of);
	}
	for (uint32_t i = 0; i < a->count; i++)
		server_of[a->stored[i].node] = a->stored[i].server;
	for (uint32_t n = 0; n < a->graph->count; n++)
		if (is_start(&a->graph->node[n]))
			server_of[n] = server_of_bucket(a, &a->graph->node[n]);
		else if (takes_state(a->graph, &a->graph->node[n]) || is_done(&a->graph->node[n]) ||
				 dfg_node_role(&a->graph->node[n]) == DFG_PLACEHOLDER)
			server_of[n] = DFG_NONE; /* a Done is with its Start */
	for (uint32_t n = 0; n < a->graph->count; n++)
		place_queues(a->graph, &a->graph->node[n], server_of);
	return NULL;
}

static struct dfg_err *request(const struct assignment *a, uint32_t first_server, struct dfg_arena *arena,
	struct dfg_place_request *out_request, size_t *out_count)
{
	uint32_t *server_of = dfg_arena_zeros(arena, (size_t)a->graph->count + 1, sizeof *server_of);
	if (!server_of)
		return dfg_no_memory("the placement requests");
	DFG_TRY(find_updates(a, arena, server_of));
	out_request[(*out_count)++] = (struct dfg_place_request){"*", 0, "the first worker"};
	for (uint32_t n = 0; n < a->graph->count; n++) {
		const char *pattern = pattern_of(a->graph->node[n].name, arena);
		if (!pattern)
			return dfg_no_memory("the placement requests");
		if (server_of[n] < a->servers)
			out_request[(*out_count)++] =
				(struct dfg_place_request){pattern, first_server + server_of[n], "variables are on servers"};
	}
	return NULL;
}

struct dfg_err *dfg_server_requests(const struct dfg_graph *graph, uint32_t workers, uint32_t servers,
	struct dfg_arena *arena, struct dfg_place_request **out_request, size_t *out_count)
{
	struct assignment a = {.graph = graph, .servers = servers};
	*out_request = dfg_arena_zeros(arena, (size_t)graph->count + 1, sizeof **out_request);
	if (!*out_request)
		return dfg_no_memory("the placement requests");
	*out_count = 0;
	struct dfg_err *err = find_variables(&a, arena);
	if (!err)
		err = assign(&a, arena);
	if (!err)
		err = request(&a, workers, arena, *out_request, out_count);
	dfg_map_release(&a.names);
	return err;
}

/* DFG_DATA if the node, which is on that worker, must be on a server. */
static struct dfg_err *check_node(const struct dfg_node *node, uint32_t worker)
{
	if (dfg_node_role(node) != DFG_VARIABLE && !is_start(node))
		return NULL;
	return DFG_ERR(DFG_DATA,
		"node '%s' (%s) is placed on w%u, but with --sync ps the variables and the reduction of their gradients are on "
		"hosts of job=ps",
		node->name, node->op_name, worker);
}

struct dfg_err *dfg_server_check(const struct dfg_graph *graph, const struct dfg_placed *placed, uint32_t workers)
{
	for (uint32_t n = 0; n < graph->count; n++)
		if (placed[n].device < workers)
			DFG_TRY(check_node(&graph->node[n], placed[n].device));
	return NULL;
}

struct dfg_err *dfg_server_check_part(const struct dfg_graph *part, uint32_t worker)
{
	for (uint32_t n = 0; n < part->count; n++)
		DFG_TRY(check_node(&part->node[n], worker));
	return NULL;
}
