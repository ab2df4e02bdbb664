#pragma once

#include "lib/exec/transport/link.h"

/*
 * The links of one process over HTTP/2. A hub listens, connects, and moves the bytes of all its links, with one thread of
 * its own that sleeps until there is something to do; a thread that sends or polls does the work in its place where it
 * can.
 *
 * Between two workers there is a long POST each way: its body is what one sends, its response what the other says back to
 * it (credits, signs of life). Between launcher and worker there is one POST, the launcher's, that carries both ways,
 * because a worker may have no way to reach the launcher.
 *
 * Who knows the secret of the run is let in, nobody else; of a stranger nothing is read but a header of bounded size. On
 * loopback bytes travel as they are; on any other address under TLS 1.3, with a key made at start that the others know
 * by its fingerprint.
 */
struct dfg_http_links;

enum {
	DFG_SECRET_ROOM = 65, /* 64 hexadecimal digits and a 0 */
	DFG_LEASE_MS = 3000,  /* a peer that is silent for so long is lost */
};

/* A new secret, of 256 random bits. */
DFG_MUST_CHECK struct dfg_err *dfg_secret_make(char out_secret[DFG_SECRET_ROOM]);

struct dfg_http_links_options {
	uint32_t self;       /* this worker's number; DFG_LAUNCHER */
	const char *address; /* to listen on: "127.0.0.1", "127.0.0.1:7000", "0.0.0.0", "[::1]"; NULL: nowhere */
	bool tls;            /* on loopback too */
	const char *secret;  /* of the run, as dfg_secret_make() makes them; copied */
	struct dfg_link_sink sink;
	size_t tensor_bytes; /* the largest tensor that is taken from a peer; 0: what fits the memory of the machine */
	uint32_t lease_ms;   /* 0: DFG_LEASE_MS */
};
DFG_MUST_CHECK struct dfg_err *dfg_http_links_new(
	const struct dfg_http_links_options *options, struct dfg_http_links **out_hub);

/* Closes the links that are left. NULL is fine. */
void dfg_http_links_free(struct dfg_http_links *hub);

/* The lease from now on; before there are links, because both ends of one must have the same. */
void dfg_http_links_set_lease(struct dfg_http_links *hub, uint32_t ms);

/*
 * A peer may be silent for so many milliseconds, where that is longer than the lease, and strangers and connections that
 * are being made have that time too; 0 ends it. For the time in which the links of a run are made: thousands of
 * connections on one busy machine take many seconds, and no process is lost for that. Any thread.
 */
void dfg_http_links_set_patience(struct dfg_http_links *hub, uint32_t ms);

/* "127.0.0.1:41234", with the port that it got, NULL where it listens nowhere; "sha256:BASE64", NULL without TLS. */
const char *dfg_http_links_address(const struct dfg_http_links *hub);
const char *dfg_http_links_fingerprint(const struct dfg_http_links *hub);

/*
 * A link to a peer that listens at the address ("HOST:PORT"), and whose key has the fingerprint; NULL: no TLS, which only
 * a loopback address may have (DFG_CONFIG). Returns at once: messages wait until the link stands. It belongs to the hub
 * until it is closed (link->kind->close), which no function of the sink may do.
 *
 * What goes wrong later comes by sink.lost: DFG_UNAVAILABLE where the peer cannot be reached, is gone or silent,
 * DFG_REFUSED where the secret or the key is not the right one, DFG_PROTOCOL where it speaks something else. All name it.
 *
 * Two workers both connect to each other. A peer that comes before its link was asked for here is kept waiting for some
 * seconds, so the two need not agree on who is first.
 */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_connect(struct dfg_http_links *hub, uint32_t peer, const char *address,
	const char *fingerprint, struct dfg_link **out_link);

/* A link that the peer connects: what a worker does for the launcher. The rest as above. */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_expect(
	struct dfg_http_links *hub, uint32_t peer, struct dfg_link **out_link);

/*
 * Waits until the link stands, both ways. DFG_DEADLINE after so many milliseconds; where the link was lost, an error of
 * the same code and words that sink.lost got.
 */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_wait(struct dfg_link *link, uint32_t ms);

/* What a pair of hubs on loopback reaches here, for `dfg doctor`: with the libraries that are installed. */
struct dfg_http_links_report {
	char curl[32], nghttp2[32], openssl[32]; /* versions */
	double round_trip_us;                    /* median, of 4 bytes, with threads that sleep */
	double bulk_bytes_per_s;                 /* of 64 MB there and back */
	uint32_t stalls;                         /* round trips that took longer than half a second */
};

/* An error where it does not work, in the words of what failed. Where it is to be quick, only the versions. */
DFG_MUST_CHECK struct dfg_err *dfg_http_links_self_test(bool quick, struct dfg_http_links_report *out_report);
