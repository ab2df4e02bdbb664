#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SHA-256 (FIPS 180-4) of bytes that arrive in pieces; it identifies files. */
enum { DFG_SHA256 = 32 };

struct dfg_sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes so far */
	uint8_t rest[64];
	bool portable; /* without the CPU's own instructions: for tests */
};
void dfg_sha256_init(struct dfg_sha256 *sha);
void dfg_sha256_add(struct dfg_sha256 *sha, const void *bytes, size_t count);
void dfg_sha256_end(struct dfg_sha256 *sha, uint8_t out_digest[DFG_SHA256]);

/* In lower-case hexadecimal digits; dfg_sha256_words(digest).s lives to the end of the full expression. */
struct dfg_sha256_words {
	char s[2 * DFG_SHA256 + 1];
};
struct dfg_sha256_words dfg_sha256_words(const uint8_t digest[DFG_SHA256]);
