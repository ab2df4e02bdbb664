#include "remote/web/web_private.h"

#include <time.h>

/* Answers that come in pieces: their handler adds pieces on its thread, and the server's thread sends them. */

enum { LULL_NS = 2000000 };

/* Waits are timed by the clock of dfg_now(). */
void dfg_web_stream_init(struct dfg_web *web)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&web->moved, &attributes);
	pthread_condattr_destroy(&attributes);
}

static bool is_gone(const struct dfg_web_request *request)
{
	return atomic_load(&request->gone_ns) == 1;
}

/* Adds to the exchange, and to the list of answers unless it is there already. */
static void post(struct dfg_web_exchange *exchange, const struct dfg_text *piece, bool is_over, bool is_cut_off)
{
	struct dfg_web *web = exchange->web;
	bool wakes = false;
	pthread_mutex_lock(&web->lock);
	if (piece && piece->length && !is_gone(&exchange->request)) {
		dfg_text_put(&exchange->pieces, piece->s, piece->length);
		exchange->unsent += piece->length;
	}
	exchange->is_over = is_over;
	exchange->is_cut_off |= is_cut_off || exchange->pieces.short_of_memory || (piece && piece->short_of_memory);
	if (!exchange->is_posted)
		wakes = dfg_web_post(exchange, is_over);
	exchange->is_posted = true;
	pthread_mutex_unlock(&web->lock);
	if (wakes)
		dfg_web_wake(web);
}

void dfg_web_begin(struct dfg_web_request *request, const struct dfg_web_answer *answer)
{
	struct dfg_web_exchange *exchange = (struct dfg_web_exchange *)request;
	exchange->answer = *answer;
	exchange->is_streamed = true;
	post(exchange, NULL, false, false);
}

void dfg_web_put(struct dfg_web_request *request, struct dfg_text *piece)
{
	post((struct dfg_web_exchange *)request, piece, false, false);
	dfg_text_release(piece);
}

void dfg_web_end(struct dfg_web_request *request, bool is_whole)
{
	post((struct dfg_web_exchange *)request, NULL, true, !is_whole);
}

size_t dfg_web_wait(struct dfg_web_request *request, size_t most, size_t before, uint64_t until_ns)
{
	struct dfg_web_exchange *exchange = (struct dfg_web_exchange *)request;
	struct dfg_web *web = exchange->web;
	const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
	pthread_mutex_lock(&web->lock);
	while (exchange->unsent > most && exchange->unsent >= before && !is_gone(request) && dfg_now() < until_ns)
		pthread_cond_timedwait(&web->moved, &web->lock, &until);
	size_t unsent = exchange->unsent;
	pthread_mutex_unlock(&web->lock);
	return unsent;
}

void dfg_web_stream_gone(struct dfg_web *web)
{
	pthread_mutex_lock(&web->lock);
	pthread_cond_broadcast(&web->moved);
	pthread_mutex_unlock(&web->lock);
}

void dfg_web_stream_take(struct dfg_web *web, struct dfg_web_exchange *exchange)
{
	struct dfg_web_connection *connection = exchange->connection;
	pthread_mutex_lock(&web->lock);
	struct dfg_text pieces = exchange->pieces;
	bool is_cut_off = exchange->is_cut_off;
	exchange->pieces = (struct dfg_text){0};
	exchange->has_all = exchange->is_over;
	exchange->is_posted = false;
	pthread_mutex_unlock(&web->lock);
	web->lull_ns = dfg_now() + LULL_NS;
	if (connection && !exchange->is_counted)
		connection->streamed++;
	exchange->is_counted = true;
	if (connection && !dfg_web_has_output(connection))
		connection->sent_ns = dfg_now(); /* the client's time to take bytes begins now */
	if (connection && connection->http2)
		dfg_web_http2_pieces(connection, exchange, &pieces, is_cut_off);
	else if (connection)
		dfg_web_http1_pieces(connection, exchange, &pieces, is_cut_off);
	else if (exchange->has_all)
		dfg_web_exchange_free(exchange);
	dfg_text_release(&pieces);
}

static void set_unsent(struct dfg_web_exchange *exchange, size_t taken)
{
	exchange->unsent = exchange->pieces.length + taken;
}

void dfg_web_stream_account(struct dfg_web_connection *connection)
{
	struct dfg_web *web = connection->web;
	pthread_mutex_lock(&web->lock);
	if (connection->handled && connection->handled->is_begun)
		set_unsent(connection->handled, connection->out.length - connection->sent);
	for (struct dfg_web_exchange *stream = connection->streams; stream; stream = stream->next_stream)
		if (stream->is_begun)
			set_unsent(stream, stream->answer.body.length - stream->sent);
	pthread_cond_broadcast(&web->moved);
	pthread_mutex_unlock(&web->lock);
}
