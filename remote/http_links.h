#pragma once

#include "lib/exec/transport/link.h"

/*
 * The links of one process over HTTP/2. An object of this type listens, connects, and moves the bytes of all its links,
 * with one thread that sleeps while there is nothing to do; a thread that sends or polls does the work itself where it
 * can.
 *
 * Between two workers there is a long POST each way: its body carries one side's messages, its response the credits and
 * heartbeats of the other. Between launcher and worker there is one POST, the launcher's, that carries both directions,
 * because a worker may be unable to reach the launcher.
 *
 * A peer must present the secret of the run; from an unauthenticated peer only a header of bounded size is read.
 * Loopback connections are plain; all others use TLS 1.3, with a key made at start that the peers know by its
 * fingerprint.
 */
struct dfg_http_links;

enum {
	DFG_SECRET_SIZE = 65, /* 64 hexadecimal digits and a 0 */
	DFG_LEASE_MS = 3000,  /* ms of silence after which a peer is lost, by default */
};

/* A new secret, of 256 random bits. */
DFG_MUST_CHECK struct dfg_err *dfg_secret_make(char out_secret[DFG_SECRET_SIZE]);

struct dfg_http_links_options {
	uint32_t self;           /* this worker's number; DFG_LAUNCHER */
	const char *address;     /* to listen on: "127.0.0.1", "127.0.0.1:7000", "0.0.0.0", "[::1]"; NULL: nowhere */
	bool tls;                /* on loopback too */
	const uint8_t *key_seed; /* 32 bytes of which the key is made, with TLS; NULL: a random key */
	const char *secret;      /* of the run, from dfg_secret_make(); copied */
	struct dfg_link_sink sink;
	size_t tensor_bytes; /* bytes of the largest tensor accepted from a peer; 0: limited by the memory of the machine */
	uint32_t lease_ms;   /* 0: DFG_LEASE_MS */
};
DFG_MUST_CHECK struct dfg_err *dfg_http_links_new(
	const struct dfg_http_links_options *options, struct dfg_http_links **out_hub);

/* Closes the remaining links. NULL is allowed. */
void dfg_http_links_free(struct dfg_http_links *http);

/* Sets the lease. Call it before there are links, because both ends of a link must have the same lease. */
void dfg_http_links_set_lease(struct dfg_http_links *http, uint32_t ms);

/*
 * Allows a peer to be silent for `ms` milliseconds where that is longer than the lease; connections that are being made
 * have that time too; 0 ends it. Used while the links of a run are made: thousands of connections on one busy machine
 * take many seconds, and no process is lost for that. Any thread.
 */
void dfg_http_links_set_patience(struct dfg_http_links *http, uint32_t ms);

/* "127.0.0.1:41234", with the actual port, NULL if it does not listen; "sha256:BASE64", NULL without TLS. */
const char *dfg_http_links_address(const struct dfg_http_links *http);
const char *dfg_http_links_fingerprint(const struct dfg_http_links *http);

/*
 * A link to a peer that listens at the address ("HOST:PORT") with a key of the given fingerprint; NULL: no TLS, which
 * is only allowed for a loopback address (else DFG_CONFIG). Returns at once: messages wait until the link is
 * established. The link is owned by the links until it is closed (link->kind->close), which no function of the sink may do.
 *
 * Later errors are reported by sink.lost: DFG_UNAVAILABLE where the peer cannot be reached, has ended or is silent,
 * DFG_REFUSED where the secret or the key is wrong, DFG_PROTOCOL where it speaks another protocol. All name the peer.
 *
 * Two workers both connect to each other. A peer that connects before its link was requested here is kept waiting for
 * some seconds, so the order does not matter.
 */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_connect(struct dfg_http_links *http, uint32_t peer, const char *address,
	const char *fingerprint, struct dfg_link **out_link);

/* A link that the peer connects: a worker calls this for the launcher. Otherwise as dfg_http_links_connect. */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_expect(
	struct dfg_http_links *http, uint32_t peer, struct dfg_link **out_link);

/*
 * Waits until the link is established in both directions. DFG_DEADLINE after `ms` milliseconds; where the link was
 * lost, an error with the code and words that sink.lost got.
 */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_wait(struct dfg_link *link, uint32_t ms);

/* Measurements of two linked ends on loopback, with the installed libraries, for `dfg doctor`. */
struct dfg_http_links_report {
	char curl[32], nghttp2[32], openssl[32]; /* versions */
	double round_trip_us;                    /* median, of 4 bytes, with threads that sleep */
	double bulk_bytes_per_s;                 /* of 64 MB there and back */
	uint32_t stalls;                         /* round trips that took longer than half a second */
};

/* Returns the error of the step that failed. quick: only the versions are filled in. */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_self_test(bool quick, struct dfg_http_links_report *out_report);
