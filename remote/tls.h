#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * TLS as a server. Between workers it is TLS 1.3 without certificates of an authority: a key is made at start, and clients
 * verify its fingerprint. For any client it is TLS 1.2 or 1.3 with a certificate from a file.
 */
struct dfg_tls;
struct dfg_tls_session;

enum { DFG_FINGERPRINT_SIZE = 64 };

/* With a random key, or one that is made of a seed of 32 bytes; NULL: random. */
DFG_MUST_CHECK struct dfg_err *dfg_tls_new(const uint8_t *key_seed, struct dfg_tls **out_tls);

/* The fingerprint of the key that a server has which was given this seed. */
DFG_MUST_CHECK struct dfg_err *dfg_tls_fingerprint_of(
	const uint8_t *key_seed, char out_fingerprint[DFG_FINGERPRINT_SIZE]);

/*
 * With a certificate, followed by those of its chain, and its key, both in PEM. The client chooses between HTTP/2 and
 * HTTP/1.1. DFG_NO_INPUT, DFG_CONFIG name the file that cannot be used; there is no fingerprint.
 */
DFG_MUST_CHECK struct dfg_err *dfg_tls_open(const char *certificate, const char *key, struct dfg_tls **out_tls);
void dfg_tls_free(struct dfg_tls *tls);

/* "sha256:BASE64" of the public key. */
const char *dfg_tls_fingerprint(const struct dfg_tls *tls);

/* One connection. It reads and writes memory only; the caller moves bytes to and from the network. */
DFG_MUST_CHECK struct dfg_err *dfg_tls_session_new(struct dfg_tls *tls, struct dfg_tls_session **out_session);
void dfg_tls_session_free(struct dfg_tls_session *session);

/* Takes all bytes, which came from the network. False where the connection cannot continue. */
bool dfg_tls_feed(struct dfg_tls_session *session, const uint8_t *bytes, size_t count);
bool dfg_tls_is_up(const struct dfg_tls_session *session); /* the handshake is complete */

/* Reads decrypted bytes; 0: none now; -1: the connection has ended. */
int dfg_tls_read(struct dfg_tls_session *session, uint8_t *to, size_t capacity);

/* Encrypts bytes for the peer; takes all. */
bool dfg_tls_write(struct dfg_tls_session *session, const uint8_t *bytes, size_t count);

/* Takes encrypted bytes for the network; returns their count. */
size_t dfg_tls_drain(struct dfg_tls_session *session, uint8_t *to, size_t capacity);
