#pragma once

#include "app/replication.h"

/*
 * The shards that training steps took with --sync quorum: a text file with a line `STEP MASK` for each step, as in
 * "12 11011", where character i of the mask is 1 if the contribution of shard i counted. A file that is recorded is
 * written a line a step; a resumed run keeps the lines of the steps that its checkpoint includes. Zero-initialised: closed.
 *
 * With --sync ssp a line is of an update, `NUMBER MASK READ`, as in "12 0100 9": its number, counted from 1 over all shards of
 * all steps, the shard whose update it is, and the number of the last update before it read the variables. Updates of shards
 * without rows have numbers, but no lines.
 */
struct dfg_record {
	const struct dfg_replication *replication; /* set by the caller, as is `quorum`, before the session is opened */
	struct dfg_quorum quorum;
	uint64_t step; /* set by the caller: the number of the step that runs, or of the update */

	int fd;
	bool open;
	struct dfg_blob replayed;
	size_t at;                /* the offset in it of the next line */
	struct dfg_text line;     /* that is written */
	uint64_t shards, dropped; /* shards with rows so far; those of them that were not taken */
};

/* The quorum of a session, which borrows the record; NULL: steps take all shards. */
const struct dfg_quorum *dfg_record_quorum(struct dfg_record *record, const struct dfg_replication *replication);

/*
 * Opens the file to write, after that many steps of training, or reads the one to replay, of which it checks all lines:
 * DFG_DATA names the line. Does nothing without a quorum.
 */
DFG_MUST_CHECK struct dfg_err *dfg_record_open(struct dfg_record *record, uint32_t shards, uint64_t steps_done);

/* With --sync ssp: the shard and the read of the next update, DFG_NONE if none is replayed; notes those of an update. */
DFG_MUST_CHECK struct dfg_err *dfg_record_next(
	struct dfg_record *record, uint32_t shards, uint32_t *out_shard, uint64_t *out_read);
/* The read of the next update of a shard; 0: none is replayed; UINT64_MAX: the shard has no more. */
uint64_t dfg_record_read_of(const struct dfg_record *record, uint32_t shard);
DFG_MUST_CHECK struct dfg_err *dfg_record_put(
	struct dfg_record *record, uint32_t shards, uint32_t shard, uint64_t read);

/* Reports how many shards were dropped, if there is a quorum. */
void dfg_record_report(const struct dfg_record *record, const struct dfg_report *report);

/* Closes the files; the first error of closing. */
DFG_MUST_CHECK struct dfg_err *dfg_record_close(struct dfg_record *record);
