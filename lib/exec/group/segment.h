#pragma once

#include "lib/base/err.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory that the replicas of one host share: a memfd that replica 0 makes and passes to the others. Its layout is
 * computed by each replica from its own plan. Counters that a peer writes are compared only, and never used as an index
 * or a size, so that the worst that a peer can do is to give a wrong sum.
 */
enum { SEGMENT_LINE = 128 }; /* bytes between fields that different replicas write, against false sharing */

/* A replica that sleeps, and the word that it sleeps on. */
struct segment_bell {
	alignas(SEGMENT_LINE) _Atomic uint32_t word;
	_Atomic uint32_t sleepers;
};

/*
 * The progress of a bucket, as generations: the number of the step that a fact holds for. A replica writes its own mark;
 * the mark of all is written by the replica that adds all of a small bucket.
 */
struct segment_mark {
	alignas(SEGMENT_LINE) _Atomic uint32_t ready; /* it has contributed, or has nothing to; it reads no older result */
	_Atomic uint32_t done;                        /* its slice of the result is complete */
	_Atomic uint64_t done_ns;                     /* since then, on the clock of the host */
};

struct segment {
	int fd;
	size_t bytes;
};

/* A segment of that size, zeroed, all of whose memory is reserved. DFG_MEMORY. */
DFG_MUST_CHECK struct dfg_err *dfg_segment_new(size_t bytes, struct segment *out_segment);

/* Checks a segment of a peer: DFG_PROTOCOL if it has another size, or could shrink. Takes fd, also on error. */
DFG_MUST_CHECK struct dfg_err *dfg_segment_open(int fd, size_t bytes, struct segment *out_segment);

/* Maps a part, whose offset is a multiple of the page size; unmapped with munmap(). */
DFG_MUST_CHECK struct dfg_err *dfg_segment_map(
	const struct segment *segment, size_t offset, size_t bytes, void **out_memory);

/* Replaces mapped memory by a private copy of its contents, at the same address. */
DFG_MUST_CHECK struct dfg_err *dfg_segment_detach(void *memory, size_t bytes);

/* Closes the descriptor; mappings stay. */
void dfg_segment_close(struct segment *segment);

/* A multiple of the page size that is at least `bytes`. */
size_t dfg_segment_pages(size_t bytes);

/* Wakes the replica if it sleeps, after the stores that it must see. */
void dfg_bell_ring(struct segment_bell *bell);

/* Wakes it in any case: a peer may have cleared the count of sleepers. */
void dfg_bell_strike(struct segment_bell *bell);

/* Sleeps until the bell rings, or until `ns` of the monotonic clock, 0: however long. */
void dfg_bell_sleep(struct segment_bell *bell, uint32_t seen, uint64_t ns);
