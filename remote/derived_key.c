#include "remote/derived_key.h"

#include "lib/base/private_file.h"
#include "lib/base/sha256.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, SECRET_MOST = 4096 };

/* HMAC (RFC 2104) of the concatenation of two texts. */
static void hmac(
	const uint8_t *key, size_t key_length, const void *text, size_t length, uint8_t last, uint8_t out[DFG_SHA256])
{
	uint8_t inner[BLOCK] = {0}, outer[BLOCK];
	struct dfg_sha256 sha;
	if (key_length > BLOCK) {
		dfg_sha256_init(&sha);
		dfg_sha256_add(&sha, key, key_length);
		dfg_sha256_end(&sha, inner);
	} else if (key_length) {
		memcpy(inner, key, key_length);
	}
	for (int i = 0; i < BLOCK; i++) {
		outer[i] = inner[i] ^ 0x5c;
		inner[i] ^= 0x36;
	}
	dfg_sha256_init(&sha);
	dfg_sha256_add(&sha, inner, BLOCK);
	dfg_sha256_add(&sha, text, length);
	if (last)
		dfg_sha256_add(&sha, &last, 1);
	dfg_sha256_end(&sha, out);
	dfg_sha256_init(&sha);
	dfg_sha256_add(&sha, outer, BLOCK);
	dfg_sha256_add(&sha, out, DFG_SHA256);
	dfg_sha256_end(&sha, out);
	explicit_bzero(inner, sizeof inner);
	explicit_bzero(outer, sizeof outer);
	explicit_bzero(&sha, sizeof sha);
}

void dfg_hkdf_extract(
	const void *salt, size_t salt_length, const void *secret, size_t length, uint8_t out_key[DFG_KEY_SIZE])
{
	hmac(salt, salt_length, secret, length, 0, out_key);
}

void dfg_hkdf_expand(const uint8_t key[DFG_KEY_SIZE], const void *info, size_t info_length, uint8_t out[DFG_KEY_SIZE])
{
	hmac(key, DFG_KEY_SIZE, info, info_length, 1, out);
}

struct dfg_err *dfg_secret_key_read(const char *path, struct dfg_secret_key *out_key)
{
	static const char salt[] = "dfg secret file";
	char line[SECRET_MOST];
	DFG_TRY(dfg_private_file_line(path, line, sizeof line));
	size_t length = strlen(line);
	struct dfg_err *err = length < DFG_SECRET_LEAST
							  ? DFG_ERR(DFG_REFUSED,
									"%s: the secret, its first line, has %zu characters, but must have at least %d: "
									"openssl rand -hex 32 makes one",
									path, length, DFG_SECRET_LEAST)
							  : NULL;
	dfg_hkdf_extract(salt, sizeof salt - 1, line, length, out_key->bits);
	explicit_bzero(line, sizeof line);
	return err;
}

void dfg_secret_key_run(const struct dfg_secret_key *key, char out_secret[DFG_SECRET_SIZE])
{
	static const char info[] = "secret of the run";
	uint8_t bits[DFG_KEY_SIZE];
	dfg_hkdf_expand(key->bits, info, sizeof info - 1, bits);
	snprintf(out_secret, DFG_SECRET_SIZE, "%s", dfg_sha256_words(bits).s);
	explicit_bzero(bits, sizeof bits);
}

void dfg_secret_key_worker(const struct dfg_secret_key *key, uint32_t worker, uint8_t out_seed[DFG_KEY_SIZE])
{
	char info[40];
	int length = snprintf(info, sizeof info, "key of worker %u", worker);
	dfg_hkdf_expand(key->bits, info, (size_t)length, out_seed);
}
