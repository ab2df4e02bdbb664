#pragma once

#include "remote/http_links.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Keys from a secret file. Workers that the launcher does not start itself cannot tell it the fingerprint of a random key,
 * so worker N's TLS key is derived from the secret that both have, by HKDF (RFC 5869, with SHA-256): whoever has the file
 * knows the fingerprint of each worker, and nobody else can answer in a worker's place.
 */
enum { DFG_KEY_SIZE = 32, DFG_SECRET_LEAST = 32 /* characters of the secret in a file */ };

struct dfg_secret_key {
	uint8_t bits[DFG_KEY_SIZE];
};

/*
 * Reads the first line of a file. DFG_REFUSED if users other than the owner can read the file, or if the line is too short
 * to be safe from guessing; DFG_NO_INPUT if it cannot be read.
 */
DFG_MUST_CHECK struct dfg_err *dfg_secret_key_read(const char *path, struct dfg_secret_key *out_key);

/* The secret of the run, for dfg_http_links_options.secret. */
void dfg_secret_key_run(const struct dfg_secret_key *key, char out_secret[DFG_SECRET_SIZE]);

/* The seed of a worker's key, for dfg_http_links_options.key_seed. */
void dfg_secret_key_worker(const struct dfg_secret_key *key, uint32_t worker, uint8_t out_seed[DFG_KEY_SIZE]);

/* HKDF's two steps; the output has one block, of 32 bytes. */
void dfg_hkdf_extract(
	const void *salt, size_t salt_length, const void *secret, size_t length, uint8_t out_key[DFG_KEY_SIZE]);
void dfg_hkdf_expand(const uint8_t key[DFG_KEY_SIZE], const void *info, size_t info_length, uint8_t out[DFG_KEY_SIZE]);
