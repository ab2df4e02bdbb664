#pragma once

#include "lib/exec/state/state.h"
#include "lib/exec/transport/link.h"

/*
 * The messages by which the workers of parallel loops send each other rows. All workers run the same step; a message is found
 * by its sender, the step and this key. An exchange is a resource of a session's state.
 */
struct dfg_row_exchange;
struct dfg_rows_key {
	uint32_t channel; /* the number of the loop */
	uint32_t array;   /* of its operands */
	int64_t tag;      /* of the unit after which it was sent */
};

/* The exchange of the session; one worker by itself if none was shared. Borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_row_exchange_of(struct dfg_state *state, struct dfg_row_exchange **out_exchange);

/* link: by worker, NULL for this one; the array is copied, the links are borrowed. */
DFG_MUST_CHECK struct dfg_err *dfg_row_exchange_new(
	const struct dfg_link *const *link, uint32_t self, uint32_t workers, struct dfg_row_exchange **out_exchange);
void dfg_row_exchange_free(struct dfg_row_exchange *exchange); /* drops a reference; NULL is allowed */

/* The exchange becomes that of the session, whose exchange must not have been asked for before. */
DFG_MUST_CHECK struct dfg_err *dfg_row_exchange_share(struct dfg_row_exchange *exchange, struct dfg_state *state);

uint32_t dfg_row_exchange_self(const struct dfg_row_exchange *exchange);
uint32_t dfg_row_exchange_workers(const struct dfg_row_exchange *exchange);

/* Begins a step; messages of earlier ones are dropped. timeout: the most seconds of one wait; 0: no limit. */
void dfg_row_exchange_begin(struct dfg_row_exchange *exchange, uint64_t step, double timeout);

/* Sends a vector of u8, whose elements must not change afterwards, in the step that has begun. */
DFG_MUST_CHECK struct dfg_err *dfg_row_exchange_send(
	struct dfg_row_exchange *exchange, uint32_t to, const struct dfg_rows_key *key, const struct dfg_tensor *bytes);

/*
 * Waits for a message, which the caller releases. An error of dfg_row_exchange_fail() or dfg_row_exchange_lost() ends the
 * wait; DFG_DEADLINE after the timeout.
 */
DFG_MUST_CHECK struct dfg_err *dfg_row_exchange_take(
	struct dfg_row_exchange *exchange, uint32_t from, const struct dfg_rows_key *key, struct dfg_tensor *out_bytes);

/* Handles a message of kind DFG_MESSAGE_ROWS; takes its tensor. Any thread. */
void dfg_row_exchange_deliver(struct dfg_row_exchange *exchange, uint32_t from, struct dfg_message *message);

/* Ends the waits of the step in progress. Takes err. Any thread. */
void dfg_row_exchange_fail(struct dfg_row_exchange *exchange, struct dfg_err *err);

/* A worker is lost: ends the waits of this step and of all later ones. Takes err. Any thread. */
void dfg_row_exchange_lost(struct dfg_row_exchange *exchange, struct dfg_err *err);

/* Totals of what was sent to a worker. */
struct dfg_rows_sent {
	uint64_t messages, bytes;
};
struct dfg_rows_sent dfg_row_exchange_sent(struct dfg_row_exchange *exchange, uint32_t to);
