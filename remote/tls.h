#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * TLS 1.3 as a server, without certificates of an authority: a key is made at start, and clients verify its
 * fingerprint.
 */
struct dfg_tls;
struct dfg_tls_session;

enum { DFG_FINGERPRINT_SIZE = 64 };

DFG_MUST_CHECK struct dfg_err *dfg_tls_new(struct dfg_tls **out_tls);
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
