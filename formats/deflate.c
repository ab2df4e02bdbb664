#include "formats/deflate.h"

#include <string.h>
#include <zlib.h>

static void *z_take(void *opaque, unsigned count, unsigned size)
{
	(void)opaque;
	return dfg_zeros(count, size);
}

static void z_give(void *opaque, void *memory)
{
	(void)opaque;
	dfg_free(memory);
}

enum { GZIP = 16 + MAX_WBITS, RAW = -MAX_WBITS, STEP = 1 << 30 };

static struct dfg_err *start(z_stream *z, int form)
{
	*z = (z_stream){.zalloc = z_take, .zfree = z_give};
	return inflateInit2(z, form) == Z_OK ? NULL : DFG_ERR(DFG_MEMORY, "no memory to decompress");
}

/* zlib counts in unsigned int: passes at most STEP bytes of input and output at a time. */
static int step(z_stream *z, const uint8_t *from_end, const uint8_t *to_end)
{
	size_t left = (size_t)(from_end - z->next_in), capacity = (size_t)(to_end - z->next_out);
	z->avail_in = left < STEP ? (unsigned)left : STEP;
	z->avail_out = capacity < STEP ? (unsigned)capacity : STEP;
	return inflate(z, Z_NO_FLUSH);
}

/* Inflates until the end of the stream or the end of the buffer. */
static int fill(z_stream *z, const uint8_t *from_end, const uint8_t *to_end)
{
	int state = Z_OK;
	while (state == Z_OK && z->next_out < to_end)
		state = step(z, from_end, to_end);
	return state;
}

struct dfg_err *dfg_inflate(const uint8_t *from, size_t size, size_t bytes, struct dfg_buffer **out_buffer)
{
	z_stream z;
	struct dfg_buffer *buffer = NULL;
	uint8_t behind;
	DFG_TRY(dfg_buffer_new(DFG_U8, bytes, &buffer));
	struct dfg_err *err = start(&z, RAW);
	if (err) {
		dfg_buffer_unref(buffer);
		return err;
	}
	z.next_in = (uint8_t *)from;
	z.next_out = buffer->data;
	int state = fill(&z, from + size, (uint8_t *)buffer->data + bytes);
	bool full = z.next_out == (uint8_t *)buffer->data + bytes;
	if (state == Z_OK && full) { /* only the end of the stream may remain */
		z.next_out = &behind;
		state = fill(&z, from + size, &behind + 1);
		full = z.next_out == &behind;
	}
	bool good = state == Z_STREAM_END && full && z.next_in == from + size;
	inflateEnd(&z);
	if (good) {
		*out_buffer = buffer;
		return NULL;
	}
	dfg_buffer_unref(buffer);
	if (state == Z_MEM_ERROR)
		return DFG_ERR(DFG_MEMORY, "no memory to decompress");
	return DFG_ERR(DFG_DATA, "the compressed data is damaged, or does not unpack to the declared %zu bytes", bytes);
}

bool dfg_is_gzip(const uint8_t *bytes, size_t size)
{
	return size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Doubles the buffer, up to the limit. */
static struct dfg_err *grow(struct dfg_buffer **buffer, size_t used, size_t limit)
{
	struct dfg_buffer *larger;
	size_t capacity = used > limit / 2 ? limit : 2 * used;
	if (used >= limit)
		return DFG_ERR(DFG_DATA, "decompresses to more than the limit of %zu bytes", limit);
	DFG_TRY(dfg_buffer_new(DFG_U8, capacity, &larger));
	memcpy(larger->data, (*buffer)->data, used);
	dfg_buffer_unref(*buffer);
	*buffer = larger;
	return NULL;
}

/* Unpacks to *buffer and grows it; *used is the number of bytes used. */
static struct dfg_err *gunzip(z_stream *z, const uint8_t *end, size_t limit, struct dfg_buffer **buffer, size_t *used)
{
	for (;;) {
		uint8_t *data = (*buffer)->data;
		z->next_out = data + *used;
		int state = fill(z, end, data + (*buffer)->capacity);
		*used = (size_t)(z->next_out - data);
		if (state == Z_STREAM_END && z->next_in < end)
			inflateReset(z);
		else if (state == Z_STREAM_END)
			return NULL;
		else if (state == Z_MEM_ERROR)
			return DFG_ERR(DFG_MEMORY, "no memory to decompress");
		else if (state != Z_OK)
			break;
		else if (*used == (*buffer)->capacity)
			DFG_TRY(grow(buffer, *used, limit));
	}
	return DFG_ERR(DFG_DATA, "the gzip stream is damaged or truncated");
}

struct dfg_err *dfg_gunzip(const uint8_t *from, size_t size, struct dfg_buffer **out_buffer)
{
	z_stream z;
	size_t used = 0, limit = dfg_inflate_limit(size);
	struct dfg_buffer *buffer = NULL;
	DFG_TRY(start(&z, GZIP));
	struct dfg_err *err = dfg_buffer_new(DFG_U8, size < limit / 4 ? 4 * size + 1024 : limit, &buffer);
	z.next_in = (uint8_t *)from;
	if (!err)
		err = gunzip(&z, from + size, limit, &buffer, &used);
	inflateEnd(&z);
	if (err) {
		dfg_buffer_unref(buffer);
		return err;
	}
	buffer->capacity = used;
	*out_buffer = buffer;
	return NULL;
}
