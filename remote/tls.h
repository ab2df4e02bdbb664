#pragma once

#include "lib/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * TLS 1.3 as a server, without certificates that somebody would have to sign: a key is made at start, and whoever
 * connects knows it by its fingerprint.
 */
struct dfg_tls;
struct dfg_tls_session;

enum { DFG_FINGERPRINT_ROOM = 64 };

DFG_MUST_CHECK struct dfg_err *dfg_tls_new(struct dfg_tls **out_tls);
void dfg_tls_free(struct dfg_tls *tls);

/* "sha256:BASE64" of the public key. */
const char *dfg_tls_fingerprint(const struct dfg_tls *tls);

/* One connection. It reads and writes memory only. */
DFG_MUST_CHECK struct dfg_err *dfg_tls_session_new(struct dfg_tls *tls, struct dfg_tls_session **out_session);
void dfg_tls_session_free(struct dfg_tls_session *session);

/* Bytes of the network, in; all are taken. False where that cannot go on. */
bool dfg_tls_feed(struct dfg_tls_session *session, const uint8_t *bytes, size_t count);
bool dfg_tls_is_up(const struct dfg_tls_session *session); /* the handshake is over */

/* What the peer said; 0: nothing more now; -1: the connection is over. */
int dfg_tls_read(struct dfg_tls_session *session, uint8_t *to, size_t room);

/* To the peer; all is taken. */
bool dfg_tls_write(struct dfg_tls_session *session, const uint8_t *bytes, size_t count);

/* Bytes for the network, out. */
size_t dfg_tls_drain(struct dfg_tls_session *session, uint8_t *to, size_t room);
