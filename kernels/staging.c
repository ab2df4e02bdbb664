/*
 * Staging areas: elements, each a list of tensors, first in, first out. Ops refer to an area of the session by name. An op that
 * cannot be served yet waits without a thread (struct dfg_pause).
 */
#include "kernels/variable.h"

#include <inttypes.h>
#include <string.h>

enum { CAPACITY, MEMORY_LIMIT, CONTAINER, SHARED_NAME };
static const char staging_kind[] = "staging area";

struct element {
	struct dfg_tensor *tensor;
	size_t count;
	uint64_t bytes;
};

enum purpose { PUT, TAKE, PEEK, PURPOSES };

/* One execution of an op that may have to wait. */
struct visit {
	struct visit *next;
	enum purpose purpose;
	struct dfg_pause *pause; /* the kernel to wake; NULL: it still runs */
	bool done;
	int64_t at;                   /* of PEEK: which element */
	const struct dfg_list *types; /* that the op expects; borrowed from the node */
	struct element element;       /* to be put, or what was taken */
	struct dfg_err *err;
};

struct area {
	struct dfg_resource resource;
	pthread_mutex_t lock;
	uint64_t capacity, memory_limit; /* in elements and bytes; 0: unlimited */
	struct element *element;         /* [first, first + count) */
	size_t first, count, allocated;
	uint64_t bytes;      /* of all elements */
	struct visit *visit; /* those that wait, the oldest first */
};

static void free_element(struct element *element)
{
	for (size_t i = 0; i < element->count; i++)
		dfg_tensor_release(&element->tensor[i]);
	dfg_free(element->tensor);
	*element = (struct element){0};
}

static void free_visit(struct visit *visit)
{
	free_element(&visit->element);
	dfg_err_free(visit->err);
	dfg_free(visit);
}

static void clear(struct area *area)
{
	for (size_t i = 0; i < area->count; i++)
		free_element(&area->element[area->first + i]);
	area->first = area->count = 0;
	area->bytes = 0;
}

static void free_area(struct dfg_resource *resource)
{
	struct area *area = (struct area *)resource;
	clear(area);
	dfg_free(area->element);
	pthread_mutex_destroy(&area->lock);
	dfg_free(area);
}

static struct dfg_err *make_area(void *arg, const char *name, struct dfg_resource **out_resource)
{
	const union dfg_value *attr = arg;
	const size_t length = strlen(name);
	struct area *area = dfg_zeros(1, sizeof *area + length + 1);
	if (!area || pthread_mutex_init(&area->lock, NULL)) {
		dfg_free(area);
		return dfg_no_memory("a staging area");
	}
	const char *copy = memcpy(area + 1, name, length + 1);
	area->resource = (struct dfg_resource){.kind = staging_kind, .name = copy, .free = free_area};
	atomic_init(&area->resource.refs, 1);
	area->capacity = (uint64_t)attr[CAPACITY].i;
	area->memory_limit = (uint64_t)attr[MEMORY_LIMIT].i;
	*out_resource = &area->resource;
	return NULL;
}

/* The area of the node; borrowed from the session. The op that is first to name it decides its limits, as in TensorFlow. */
static struct dfg_err *find_area(struct dfg_kernel *ctx, struct area **out_area)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_resource *resource = NULL;
	struct dfg_text name, full = {0};
	struct dfg_err *err = dfg_shared_name(ctx, attr[CONTAINER].s, attr[SHARED_NAME].s, &name);
	if (!err) {
		dfg_text_add(&full, "dfg/staging/%s", name.s);
		err = dfg_text_check(&full);
	}
	if (!err)
		err = dfg_state_resource(ctx->host->state(ctx), full.s, staging_kind, make_area, (void *)attr, &resource);
	dfg_text_release(&name);
	dfg_text_release(&full);
	*out_area = (struct area *)resource;
	return err;
}

/* Serving. */

static bool put_element(struct area *area, struct visit *visit)
{
	if (area->memory_limit && visit->element.bytes > area->memory_limit) {
		visit->err = DFG_ERR(DFG_DATA, "the values have %" PRIu64 " bytes, more than memory_limit = %" PRIu64,
			visit->element.bytes, area->memory_limit);
		return true;
	}
	if (area->capacity && area->count >= area->capacity)
		return false;
	if (area->memory_limit && area->bytes + visit->element.bytes > area->memory_limit)
		return false;
	if (area->first && area->first >= area->count) {
		memmove(area->element, area->element + area->first, area->count * sizeof *area->element);
		area->first = 0;
	}
	if (!dfg_reserve(&area->element, &area->allocated, area->first + area->count + 1, sizeof *area->element)) {
		visit->err = dfg_no_memory("a staging area");
		return true;
	}
	area->element[area->first + area->count++] = visit->element;
	area->bytes += visit->element.bytes;
	visit->element = (struct element){0};
	return true;
}

static struct dfg_err *check_types(const struct element *element, const struct dfg_list *types)
{
	if (element->count != types->count)
		return DFG_ERR(DFG_DATA, "the element has %zu tensors, expected %u", element->count, types->count);
	for (uint32_t i = 0; i < types->count; i++)
		if (element->tensor[i].dtype != types->item[i].dtype)
			return DFG_ERR(DFG_DATA, "tensor %u of the element is %s, expected %s", i,
				dfg_dtype_name(element->tensor[i].dtype), dfg_dtype_name(types->item[i].dtype));
	return NULL;
}

static bool take_element(struct area *area, struct visit *visit)
{
	if (!area->count)
		return false;
	struct element *first = &area->element[area->first];
	visit->err = check_types(first, visit->types);
	if (visit->err)
		return true;
	visit->element = *first;
	area->bytes -= first->bytes;
	area->first++;
	area->count--;
	return true;
}

static struct dfg_err *share_element(const struct element *from, struct element *to)
{
	to->tensor = dfg_zeros(from->count, sizeof *to->tensor);
	if (!to->tensor)
		return dfg_no_memory("an element of a staging area");
	for (; to->count < from->count; to->count++)
		DFG_TRY(dfg_tensor_share(&from->tensor[to->count], &to->tensor[to->count]));
	return NULL;
}

static bool peek_element(struct area *area, struct visit *visit)
{
	if ((uint64_t)visit->at >= area->count)
		return false;
	const struct element *element = &area->element[area->first + (size_t)visit->at];
	visit->err = check_types(element, visit->types);
	if (!visit->err)
		visit->err = share_element(element, &visit->element);
	return true;
}

static bool serve_one(struct area *area, struct visit *visit)
{
	if (visit->purpose == PUT)
		return put_element(area, visit);
	return visit->purpose == TAKE ? take_element(area, visit) : peek_element(area, visit);
}

/* Serves all visits that can be: those that put, and those that take, in the order in which they came. */
static void serve(struct area *area)
{
	for (bool further = true; further;) {
		bool held[PURPOSES] = {0};
		further = false;
		for (struct visit **at = &area->visit; *at;) {
			struct visit *visit = *at;
			if (held[visit->purpose] || !serve_one(area, visit)) {
				held[visit->purpose] = visit->purpose != PEEK;
				at = &visit->next;
				continue;
			}
			*at = visit->next;
			visit->next = NULL;
			visit->done = further = true;
			if (visit->pause)
				visit->pause->wake(visit->pause);
		}
	}
}

/* Kernels. */

/* A kernel that waits also holds a reference to the area, because the step may end first. */
struct waiting {
	struct area *area;
	struct visit *visit;
};

static void withdraw(struct area *area, struct visit *visit)
{
	pthread_mutex_lock(&area->lock);
	for (struct visit **at = &area->visit; *at; at = &(*at)->next)
		if (*at == visit) {
			*at = visit->next;
			break;
		}
	serve(area);
	pthread_mutex_unlock(&area->lock);
	free_visit(visit);
}

static void abandon(struct dfg_pause *pause)
{
	struct waiting *waiting = pause->attempt;
	withdraw(waiting->area, waiting->visit);
	dfg_resource_unref(&waiting->area->resource);
	dfg_free(waiting);
	pause->attempt = NULL;
}

static struct dfg_err *wait_for(struct dfg_kernel *ctx, struct area *area, struct visit *visit)
{
	struct waiting *waiting = dfg_zeros(1, sizeof *waiting);
	struct dfg_pause *pause;
	struct dfg_err *err = waiting ? ctx->host->pause(ctx, &pause) : dfg_no_memory("a staging area");
	if (err) {
		dfg_free(waiting);
		withdraw(area, visit);
		return err;
	}
	dfg_resource_ref(&area->resource);
	*waiting = (struct waiting){area, visit};
	pause->attempt = waiting;
	pause->abandon = abandon;
	pthread_mutex_lock(&area->lock);
	const bool done = visit->done;
	if (!done)
		visit->pause = pause;
	pthread_mutex_unlock(&area->lock);
	if (done)
		pause->wake(pause);
	return NULL;
}

/* A copy of the visit, which takes its element, and its area; the element is freed on error. */
static struct dfg_err *new_visit(
	struct dfg_kernel *ctx, const struct visit *of, struct area **out_area, struct visit **out_visit)
{
	struct element element = of->element;
	struct dfg_err *err = find_area(ctx, out_area);
	*out_visit = err ? NULL : dfg_zeros(1, sizeof **out_visit);
	if (*out_visit) {
		**out_visit = *of;
		return NULL;
	}
	free_element(&element);
	return err ? err : dfg_no_memory("a staging area");
}

/* Serves the visit or lets the kernel wait. *out_visit: the visit that is done, which the caller frees; NULL: it waits. */
static struct dfg_err *begin(struct dfg_kernel *ctx, const struct visit *of, struct visit **out_visit)
{
	struct area *area;
	struct visit *visit;
	*out_visit = NULL;
	DFG_TRY(new_visit(ctx, of, &area, &visit));
	pthread_mutex_lock(&area->lock);
	struct visit **last = &area->visit;
	while (*last)
		last = &(*last)->next;
	*last = visit;
	serve(area);
	const bool done = visit->done;
	pthread_mutex_unlock(&area->lock);
	if (!done)
		return wait_for(ctx, area, visit);
	*out_visit = visit;
	return NULL;
}

/* The visit for which this kernel waited, which is done now; NULL: it has not waited. */
static struct visit *visit_after_pause(struct dfg_kernel *ctx)
{
	struct dfg_pause *pause = ctx->host->paused(ctx);
	if (!pause)
		return NULL;
	struct waiting *waiting = pause->attempt;
	struct visit *visit = waiting->visit;
	dfg_resource_unref(&waiting->area->resource);
	dfg_free(waiting);
	pause->attempt = NULL;
	return visit;
}

/* Ends a visit: its tensors are the outputs. */
static struct dfg_err *end(struct dfg_kernel *ctx, struct visit *visit)
{
	struct dfg_err *err = visit->err;
	visit->err = NULL;
	for (size_t i = 0; visit->purpose != PUT && i < visit->element.count && !err; i++) {
		struct dfg_tensor tensor = visit->element.tensor[i];
		visit->element.tensor[i] = (struct dfg_tensor){0};
		err = ctx->host->give(ctx, (int)i, &tensor);
	}
	free_visit(visit);
	return err;
}

static struct dfg_err *keep_inputs(struct dfg_kernel *ctx, struct element *out_element)
{
	out_element->tensor = dfg_zeros(ctx->call->n_in, sizeof *out_element->tensor);
	if (!out_element->tensor)
		return dfg_no_memory("an element of a staging area");
	for (int i = 0; i < ctx->call->n_in; i++) {
		DFG_TRY(ctx->host->keep(ctx, i, &out_element->tensor[i]));
		out_element->count++;
		out_element->bytes += dfg_tensor_bytes(&out_element->tensor[i]);
	}
	return NULL;
}

static struct dfg_err *stage_run(struct dfg_kernel *ctx)
{
	struct visit *visit = visit_after_pause(ctx), new = {.purpose = PUT};
	if (!visit) {
		struct dfg_err *err = keep_inputs(ctx, &new.element);
		if (err) {
			free_element(&new.element);
			return err;
		}
		DFG_TRY(begin(ctx, &new, &visit));
	}
	return visit ? end(ctx, visit) : NULL;
}

static struct dfg_err *give_element(struct dfg_kernel *ctx, const struct visit *of)
{
	struct visit *visit = visit_after_pause(ctx);
	if (!visit)
		DFG_TRY(begin(ctx, of, &visit));
	return visit ? end(ctx, visit) : NULL;
}

static struct dfg_err *unstage_run(struct dfg_kernel *ctx)
{
	return give_element(ctx, &(struct visit){.purpose = TAKE, .types = ctx->call->param[0].list});
}

static struct dfg_err *peek_run(struct dfg_kernel *ctx)
{
	const int64_t at = dfg_tensor_int(dfg_kernel_input(ctx, 0), 0);
	if (at < 0)
		return DFG_ERR(DFG_DATA, "index is %" PRId64 ", expected at least 0", at);
	return give_element(ctx, &(struct visit){.purpose = PEEK, .at = at, .types = ctx->call->param[0].list});
}

static struct dfg_err *size_run(struct dfg_kernel *ctx)
{
	struct area *area;
	struct dfg_tensor *out;
	DFG_TRY(find_area(ctx, &area));
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_SCALAR, &out));
	pthread_mutex_lock(&area->lock);
	*(int32_t *)out->data = (int32_t)area->count;
	pthread_mutex_unlock(&area->lock);
	return NULL;
}

static struct dfg_err *clear_run(struct dfg_kernel *ctx)
{
	struct area *area;
	DFG_TRY(find_area(ctx, &area));
	pthread_mutex_lock(&area->lock);
	clear(area);
	serve(area);
	pthread_mutex_unlock(&area->lock);
	return NULL;
}

static struct dfg_err *no_shape(struct dfg_infer *node)
{
	(void)node;
	return NULL;
}

static struct dfg_err *size_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *peek_shape(struct dfg_infer *node)
{
	const struct dfg_shape *index = node->in[0];
	return index->rank > 0 ? DFG_ERR(DFG_DATA, "index has shape %s, expected a scalar", dfg_shape_words(index).s)
						   : NULL;
}

#define STAGING(Op, signature, more, shape_, run_, text)                 \
	const struct dfg_op dfg_op_##Op = {                                  \
		.name = #Op,                                                     \
		.doc = text,                                                     \
		.sig = signature,                                                \
		.attr = {[CAPACITY] = "capacity: int = 0 >= 0",                  \
			[MEMORY_LIMIT] = "memory_limit: int = 0 >= 0",               \
			[CONTAINER] = "container: string = ''",                      \
			[SHARED_NAME] = "shared_name: string = ''"},                 \
		.flags = DFG_STATEFUL | DFG_ANY_RANK | DFG_NO_GRADIENT | (more), \
		.shape = shape_,                                                 \
		.run = run_,                                                     \
	};
STAGING(Stage, "<dtypes: [type]>(values: dtypes) -> ()", DFG_BLOCKING, no_shape, stage_run,
	"puts the values as one element into the staging area of that name; waits while it is full")
STAGING(Unstage, "<dtypes: [type]>() -> (values: dtypes)", DFG_BLOCKING, no_shape, unstage_run,
	"takes the first element of a staging area; waits until there is one")
STAGING(StagePeek, "<dtypes: [type]>(index: i32) -> (values: dtypes)", DFG_BLOCKING, peek_shape, peek_run,
	"the element at index of a staging area, which stays there; waits until there is one")
STAGING(
	StageSize, "<dtypes: [type]>() -> (size: i32)", 0, size_shape, size_run, "the number of elements in a staging area")
STAGING(StageClear, "<dtypes: [type]>() -> ()", 0, no_shape, clear_run, "removes all elements from a staging area")
