#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The syntax of HTTP/1.1 requests (RFC 9112), read strictly: whatever two readers could understand in two ways is
 * refused, because a proxy before the server may be the other reader. Refused are a bare CR or LF, folded lines, white
 * space before a colon, a second Content-Length or Host, Content-Length beside Transfer-Encoding, and every coding but
 * "chunked". Nothing here does input or output.
 */
enum { DFG_HTTP1_FIELDS = 100 };

struct dfg_http_field {
	const char *name; /* in lower case */
	const char *value;
};

/* The head of a request. All strings are in the bytes that were parsed. */
struct dfg_http1_head {
	const char *method, *target;
	struct dfg_http_field field[DFG_HTTP1_FIELDS];
	unsigned fields;
	bool keeps_alive;      /* the connection may carry another request */
	bool is_1_0;           /* the version is HTTP/1.0, which has no chunks */
	bool is_chunked;       /* the body is in chunks; otherwise it has `length` bytes */
	bool expects_continue; /* the client waits for "100 Continue" before it sends the body */
	uint64_t length;
};

/*
 * The number of bytes of the head at the start of `bytes`, its empty line included; 0: it is not complete. `from` is the
 * number of bytes that an earlier call has seen.
 */
size_t dfg_http1_head_size(const char *bytes, size_t size, size_t from);

/*
 * NULL, or why `bytes`, which hold no complete head, cannot become one; `from` as above. So that what is not HTTP is
 * refused at once, and not when the time of the request is over.
 */
const char *dfg_http1_fault(const char *bytes, size_t size, size_t from);

/*
 * Parses a complete head of `size` bytes, in place. Returns 0, or the status of the refusal (400, 431, 501, 505) with the
 * reason in *out_why.
 */
int dfg_http1_parse(char *bytes, size_t size, struct dfg_http1_head *out_head, const char **out_why);

/* A decoder of chunked bodies. Zero-initialised: at the start. */
struct dfg_http1_chunks {
	uint64_t left; /* bytes of the current chunk that have not come yet */
	unsigned line; /* bytes of the current line of framing, or of all trailers */
	uint8_t state;
};

/*
 * Decodes up to `size` bytes. *out_used is the number of bytes taken; of these, *out_data and *out_count are bytes of the
 * body. Returns false where the framing is wrong. *out_end: the body is complete, and later bytes are the next request's.
 */
bool dfg_http1_chunk(struct dfg_http1_chunks *chunks, const uint8_t *bytes, size_t size, size_t *out_used,
	const uint8_t **out_data, size_t *out_count, bool *out_end);
