#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Base64 (RFC 4648, section 4). */

/* Most bytes that text of that length can hold, and the length of the text of that many bytes. */
static inline size_t dfg_base64_most(size_t length)
{
	return length / 4 * 3 + 3;
}
static inline size_t dfg_base64_length(size_t size)
{
	return (size + 2) / 3 * 4;
}

/* Decodes; false where the text is not base64, with its padding and without white space. */
bool dfg_base64_decode(const char *text, size_t length, uint8_t *out_bytes, size_t *out_size);

/* Writes dfg_base64_length(size) characters. */
void dfg_base64_encode(const uint8_t *bytes, size_t size, char *out_text);
