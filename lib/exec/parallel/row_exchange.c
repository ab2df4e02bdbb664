#include "lib/exec/parallel/row_exchange.h"

#include "lib/base/mem.h"
#include "lib/base/pool.h"

static const char exchange_kind[] = "row exchange", exchange_name[] = "_dfg/rows";

enum { TAG, ARRAY, FIELDS }; /* iteration[] of a message's key */
enum { WAITING_MOST = 1 << 20 };

struct waiting_message {
	uint32_t from;
	struct dfg_message message;
};

struct dfg_row_exchange {
	struct dfg_resource resource;
	uint32_t self, workers;
	struct dfg_link **link;     /* by worker; NULL for this one */
	struct dfg_rows_sent *sent; /* by worker. This and all fields below are guarded by the lock */
	pthread_mutex_t lock;
	struct dfg_event event; /* signalled when a message arrives, and on failure */
	uint64_t step;
	double timeout;
	struct waiting_message *waiting; /* those that were not taken yet, in the order of arrival */
	size_t count, capacity;
	struct dfg_err *failed, *lost; /* end the waits of this step, and of all steps */
};

static void drop_message(struct dfg_row_exchange *exchange, size_t i)
{
	dfg_tensor_release(&exchange->waiting[i].message.tensor);
	for (exchange->count--; i < exchange->count; i++)
		exchange->waiting[i] = exchange->waiting[i + 1];
}

static void free_exchange(struct dfg_resource *resource)
{
	struct dfg_row_exchange *exchange = (struct dfg_row_exchange *)resource;
	while (exchange->count)
		drop_message(exchange, exchange->count - 1);
	dfg_free(exchange->waiting);
	dfg_free(exchange->link);
	dfg_free(exchange->sent);
	dfg_err_free(exchange->failed);
	dfg_err_free(exchange->lost);
	pthread_mutex_destroy(&exchange->lock);
	dfg_free(exchange);
}

struct dfg_err *dfg_row_exchange_new(
	const struct dfg_link *const *link, uint32_t self, uint32_t workers, struct dfg_row_exchange **out_exchange)
{
	struct dfg_row_exchange *exchange = dfg_zeros(1, sizeof *exchange);
	if (!exchange || pthread_mutex_init(&exchange->lock, NULL)) {
		dfg_free(exchange);
		return dfg_no_memory("the exchange of rows");
	}
	exchange->resource = (struct dfg_resource){.kind = exchange_kind, .name = exchange_name, .free = free_exchange};
	atomic_init(&exchange->resource.refs, 1);
	exchange->self = self;
	exchange->workers = workers;
	exchange->link = dfg_zeros(workers, sizeof *exchange->link);
	exchange->sent = dfg_zeros(workers, sizeof *exchange->sent);
	if (!exchange->link || !exchange->sent) {
		free_exchange(&exchange->resource);
		return dfg_no_memory("the exchange of rows");
	}
	for (uint32_t i = 0; i < workers; i++)
		exchange->link[i] = (struct dfg_link *)(uintptr_t)link[i];
	*out_exchange = exchange;
	return NULL;
}

void dfg_row_exchange_free(struct dfg_row_exchange *exchange)
{
	if (exchange)
		dfg_resource_unref(&exchange->resource);
}

static struct dfg_err *make_exchange(void *arg, const char *name, struct dfg_resource **out_resource)
{
	const struct dfg_link *none = NULL;
	struct dfg_row_exchange *exchange;
	(void)arg, (void)name;
	DFG_TRY(dfg_row_exchange_new(&none, 0, 1, &exchange));
	*out_resource = &exchange->resource;
	return NULL;
}

static struct dfg_err *share_exchange(void *arg, const char *name, struct dfg_resource **out_resource)
{
	struct dfg_row_exchange *exchange = arg;
	(void)name;
	atomic_fetch_add(&exchange->resource.refs, 1);
	*out_resource = &exchange->resource;
	return NULL;
}

struct dfg_err *dfg_row_exchange_share(struct dfg_row_exchange *exchange, struct dfg_state *state)
{
	struct dfg_resource *resource;
	return dfg_state_resource(state, exchange_name, exchange_kind, share_exchange, exchange, &resource);
}

struct dfg_err *dfg_row_exchange_of(struct dfg_state *state, struct dfg_row_exchange **out_exchange)
{
	struct dfg_resource *resource;
	DFG_TRY(dfg_state_resource(state, exchange_name, exchange_kind, make_exchange, NULL, &resource));
	*out_exchange = (struct dfg_row_exchange *)resource;
	return NULL;
}

uint32_t dfg_row_exchange_self(const struct dfg_row_exchange *exchange)
{
	return exchange->self;
}

uint32_t dfg_row_exchange_workers(const struct dfg_row_exchange *exchange)
{
	return exchange->workers;
}

void dfg_row_exchange_begin(struct dfg_row_exchange *exchange, uint64_t step, double timeout)
{
	pthread_mutex_lock(&exchange->lock);
	struct dfg_err *failed = exchange->failed;
	exchange->failed = NULL;
	exchange->step = step;
	exchange->timeout = timeout;
	for (size_t i = exchange->count; i--;)
		if (exchange->waiting[i].message.key.step < step)
			drop_message(exchange, i);
	pthread_mutex_unlock(&exchange->lock);
	dfg_err_free(failed);
}

struct dfg_err *dfg_row_exchange_send(
	struct dfg_row_exchange *exchange, uint32_t to, const struct dfg_rows_key *key, const struct dfg_tensor *bytes)
{
	struct dfg_message message = {.kind = DFG_MESSAGE_ROWS, .tensor = *bytes};
	pthread_mutex_lock(&exchange->lock);
	message.key = (struct dfg_transfer_key){.step = exchange->step,
		.number = key->channel,
		.depth = FIELDS,
		.iteration = {[TAG] = key->tag, [ARRAY] = key->array}};
	exchange->sent[to].messages++;
	exchange->sent[to].bytes += dfg_tensor_bytes(bytes);
	pthread_mutex_unlock(&exchange->lock);
	struct dfg_link *link = exchange->link[to];
	return dfg_err_note(link->kind->send(link, &message), "worker w%u", to);
}

/* Takes the message if it has arrived; else the error that ends waits, if there is one. The lock is held. */
static struct dfg_err *look(struct dfg_row_exchange *exchange, uint32_t from, const struct dfg_rows_key *key,
	struct dfg_tensor *out_bytes, bool *out_found)
{
	for (size_t i = 0; i < exchange->count; i++) {
		struct waiting_message *at = &exchange->waiting[i];
		const struct dfg_transfer_key *has = &at->message.key;
		if (at->from != from || has->step != exchange->step || has->number != key->channel ||
			has->iteration[TAG] != key->tag || has->iteration[ARRAY] != key->array)
			continue;
		*out_bytes = at->message.tensor;
		at->message.tensor = (struct dfg_tensor){0};
		drop_message(exchange, i);
		*out_found = true;
		return NULL;
	}
	return dfg_err_copy(exchange->lost ? exchange->lost : exchange->failed);
}

struct dfg_err *dfg_row_exchange_take(
	struct dfg_row_exchange *exchange, uint32_t from, const struct dfg_rows_key *key, struct dfg_tensor *out_bytes)
{
	uint64_t until = exchange->timeout > 0 ? dfg_now() + (uint64_t)(exchange->timeout * 1e9) : 0;
	for (;;) {
		bool found = false;
		uint32_t seen = atomic_load(&exchange->event.word);
		pthread_mutex_lock(&exchange->lock);
		struct dfg_err *err = look(exchange, from, key, out_bytes, &found);
		pthread_mutex_unlock(&exchange->lock);
		if (err || found)
			return err;
		if (until && dfg_now() >= until)
			return DFG_ERR(DFG_DEADLINE, "worker w%u has not sent its part after %g s", from, exchange->timeout);
		dfg_event_sleep(&exchange->event, seen, until);
	}
}

static bool fits(const struct dfg_row_exchange *exchange, uint32_t from, const struct dfg_message *message)
{
	const struct dfg_tensor *tensor = &message->tensor;
	return from < exchange->workers && from != exchange->self && message->key.depth == FIELDS &&
		   tensor->dtype == DFG_U8 && tensor->shape.rank == 1 && exchange->count < WAITING_MOST;
}

void dfg_row_exchange_deliver(struct dfg_row_exchange *exchange, uint32_t from, struct dfg_message *message)
{
	struct dfg_err *err = NULL;
	pthread_mutex_lock(&exchange->lock);
	bool is_old = message->key.step < exchange->step;
	if (!fits(exchange, from, message))
		err = DFG_ERR(DFG_PROTOCOL, "worker w%u sent rows in a message that is malformed", from);
	else if (!is_old &&
			 !dfg_reserve(&exchange->waiting, &exchange->capacity, exchange->count + 1, sizeof *exchange->waiting))
		err = dfg_no_memory("the exchange of rows");
	if (err || is_old)
		dfg_tensor_release(&message->tensor);
	else
		exchange->waiting[exchange->count++] = (struct waiting_message){from, *message};
	pthread_mutex_unlock(&exchange->lock);
	if (err)
		dfg_row_exchange_lost(exchange, err);
	else
		dfg_event_signal(&exchange->event);
}

/* Sets an error unless there is one. Takes err. */
static void set_error(struct dfg_row_exchange *exchange, struct dfg_err **error, struct dfg_err *err)
{
	pthread_mutex_lock(&exchange->lock);
	struct dfg_err *later = *error ? err : NULL;
	*error = later ? *error : err;
	pthread_mutex_unlock(&exchange->lock);
	dfg_err_free(later);
	dfg_event_signal(&exchange->event);
}

void dfg_row_exchange_fail(struct dfg_row_exchange *exchange, struct dfg_err *err)
{
	set_error(exchange, &exchange->failed, err);
}

void dfg_row_exchange_lost(struct dfg_row_exchange *exchange, struct dfg_err *err)
{
	set_error(exchange, &exchange->lost, err);
}

struct dfg_rows_sent dfg_row_exchange_sent(struct dfg_row_exchange *exchange, uint32_t to)
{
	struct dfg_rows_sent sent = {0};
	pthread_mutex_lock(&exchange->lock);
	if (to < exchange->workers)
		sent = exchange->sent[to];
	pthread_mutex_unlock(&exchange->lock);
	return sent;
}
