#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The memory that two processes share: a ring of bytes each way, with one writer and one reader. Positions only grow.
 * Each side keeps a private copy of its own position and publishes it; the position that the other side publishes is
 * checked before use, because that process is not trusted.
 */
enum {
	RING_BYTES = 1 << 20, /* a power of two that fits the caches of both cores */
	/* bytes between fields of two cores, against false sharing, also by the adjacent-line prefetcher */
	RING_LINE = 128,
};

struct ring_way {
	alignas(RING_LINE) _Atomic uint64_t written;
	alignas(RING_LINE) _Atomic uint64_t read;
};

/* The threads of a process that must be woken by its socket when there is something to read: each sets its own bit. */
enum {
	RING_THREAD_ASLEEP = 1,
	RING_POLLER_ASLEEP = 2, /* it has polled in vain for long, and may be about to stop */
};

/* The flags of one process: its sleeping threads; whether it waits for space in the ring; its heartbeat. */
struct ring_end {
	alignas(RING_LINE) _Atomic uint32_t asleep;
	_Atomic uint32_t waiting;
	alignas(RING_LINE) _Atomic uint32_t beats;
};

/* Way and end 0 belong to the connecting process, which writes way 0. */
struct ring_segment {
	struct ring_way way[2];
	struct ring_end end[2];
	alignas(4096) uint8_t bytes[2][RING_BYTES];
};

struct ring_writer {
	struct ring_way *way;
	uint8_t *bytes;
	uint64_t at, read; /* the position of the next byte; the last seen position of the reader */
};

struct ring_reader {
	struct ring_way *way;
	const uint8_t *bytes;
	uint64_t at, written;
};

/*
 * The number of bytes that can be written; the reader's position is read again where fewer than `want` were known.
 * False: that position is impossible.
 */
static inline bool ring_space(struct ring_writer *writer, size_t want, size_t *out_free)
{
	if (RING_BYTES - (writer->at - writer->read) < want) {
		uint64_t read = atomic_load_explicit(&writer->way->read, memory_order_acquire);
		if (read - writer->read > writer->at - writer->read)
			return false;
		writer->read = read;
	}
	*out_free = RING_BYTES - (size_t)(writer->at - writer->read);
	return true;
}

/* The number of bytes that can be read; false: the writer's position is impossible. */
static inline bool ring_there(struct ring_reader *reader, size_t *out_there)
{
	if (reader->written == reader->at) {
		uint64_t written = atomic_load_explicit(&reader->way->written, memory_order_acquire);
		if (written - reader->at > RING_BYTES)
			return false;
		reader->written = written;
	}
	*out_there = (size_t)(reader->written - reader->at);
	return true;
}

/* Writes bytes for which there is space. The reader sees them after ring_publish. */
static inline void ring_put(struct ring_writer *writer, const void *from, size_t count)
{
	size_t offset = writer->at & (RING_BYTES - 1), first = RING_BYTES - offset < count ? RING_BYTES - offset : count;
	if (first)
		memcpy(writer->bytes + offset, from, first);
	if (count > first)
		memcpy(writer->bytes, (const uint8_t *)from + first, count - first);
	writer->at += count;
}

static inline void ring_publish(struct ring_writer *writer)
{
	atomic_store_explicit(&writer->way->written, writer->at, memory_order_release);
}

/* Reads available bytes. The writer may reuse their space after ring_give_back. */
static inline void ring_get(struct ring_reader *reader, void *to, size_t count)
{
	size_t offset = reader->at & (RING_BYTES - 1), first = RING_BYTES - offset < count ? RING_BYTES - offset : count;
	if (first)
		memcpy(to, reader->bytes + offset, first);
	if (count > first)
		memcpy((uint8_t *)to + first, reader->bytes, count - first);
	reader->at += count;
}

static inline void ring_give_back(struct ring_reader *reader)
{
	atomic_store_explicit(&reader->way->read, reader->at, memory_order_release);
}
