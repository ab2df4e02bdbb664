#include "lib/base/build_id.h"
#include "remote/curl.h"
#include "remote/http_links_private.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/*
 * The requests of this process, by libcurl's multi interface. A request's body never ends: it is paused while there is
 * nothing to send. Known faults of libcurl versions are avoided:
 *
 * - 7.88's second request on a connection fails: each request has a connection of its own.
 * - 7.88's downloads stall with a small buffer: before 8.2 it gets the largest possible.
 * - 7.88's uploads hang when the peer's window is used up: the peer opens the largest window, and credits bound the
 * bytes in flight.
 * - 8.1.0 to 8.1.2 stall in uploads: they are refused.
 */
enum { BUFFER = 512 << 10, BUFFER_LARGEST = 10 << 20, CONNECT_MS = 10000, URL_SIZE = 320, PATIENT_POLLS = 256 };
enum { OLDEST = 0x075800, STALLS_FROM = 0x080100, STALLS_TO = 0x080102, FIXED = 0x080200 };

/* The events of a socket that libcurl waits for; epoll is updated late, when its events differ from these. */
struct watch {
	struct watch *next;
	const CURL *easy;
	int fd;
	uint32_t wants, has;
	bool was_asked; /* whether it has more to write */
};

struct dfg_client {
	struct dfg_http_links *http;
	CURLM *multi;
	struct watch *watches;
	uint64_t due_ns;
	bool touched; /* libcurl was called since it was last checked */
	bool lazy;    /* it was not asked whether it has more to write, because it was given all pending bytes */
	int polls;    /* polls since then */
};

struct post {
	struct dfg_client *client;
	struct dfg_exchange *exchange;
	CURL *easy;
	struct curl_slist *headers;
	long status;
	bool paused;
	bool said_all;               /* whether it had no more to write at the last check */
	int no_socket;               /* errno, if the system gave no socket; else 0 */
	char version[24], build[48]; /* of the peer, from an answer that refuses ours; "": not known */
	char error[CURL_ERROR_SIZE];
};

struct dfg_err *dfg_client_versions(char curl[32], char openssl[32])
{
	DFG_TRY(dfg_library_open(&dfg_curl));
	const curl_version_info_data *version = dfg_curl_version_info(CURLVERSION_NOW);
	snprintf(curl, 32, "%s", version->version);
	snprintf(openssl, 32, "%s", version->ssl_version ? version->ssl_version : "");
	if (version->version_num < OLDEST)
		return DFG_ERR(DFG_CONFIG, "libcurl %s is too old for HTTP/2: install 7.88.0 or later", version->version);
	if (version->version_num >= STALLS_FROM && version->version_num <= STALLS_TO)
		return DFG_ERR(
			DFG_CONFIG, "libcurl %s stalls in long uploads over HTTP/2: install 8.2 or later", version->version);
	if (!(version->features & CURL_VERSION_HTTP2))
		return DFG_ERR(DFG_CONFIG, "libcurl %s was built without HTTP/2", version->version);
	return NULL;
}

static struct dfg_err *open_curl(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool is_open;
	char curl[32], openssl[32];
	DFG_TRY(dfg_client_versions(curl, openssl));
	pthread_mutex_lock(&lock);
	if (!is_open)
		is_open = !dfg_curl_global_init(CURL_GLOBAL_DEFAULT);
	bool good = is_open;
	pthread_mutex_unlock(&lock);
	return good ? NULL : DFG_ERR(DFG_CONFIG, "libcurl %s cannot be initialised", curl);
}

static void unwatch(struct dfg_client *client, struct watch *watch)
{
	struct watch **at = &client->watches;
	while (*at && *at != watch)
		at = &(*at)->next;
	if (*at)
		*at = watch->next;
	if (watch->has)
		epoll_ctl(client->http->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	dfg_free(watch);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *arg_of_socket)
{
	static const uint32_t wanted[] = {
		[CURL_POLL_IN] = EPOLLIN, [CURL_POLL_OUT] = EPOLLOUT, [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT};
	struct dfg_client *client = arg;
	struct watch *watch = arg_of_socket;
	if (what == CURL_POLL_REMOVE) {
		if (watch)
			unwatch(client, watch);
		return 0;
	}
	if (!watch) {
		if (!(watch = dfg_zeros(1, sizeof *watch)))
			return -1;
		*watch = (struct watch){.next = client->watches, .easy = easy, .fd = fd};
		client->watches = watch;
		dfg_curl_multi_assign(client->multi, fd, watch);
	}
	watch->wants = wanted[what & 3];
	return 0;
}

/*
 * After a write, libcurl waits for the socket to be writable again, mostly to find that there is nothing more: it is
 * called at once. Any connection may have ended after a call.
 */
static bool write_more(struct dfg_client *client)
{
	int running;
	struct watch *watch = client->watches;
	while (watch && (watch->was_asked || !(watch->wants & ~watch->has & EPOLLOUT)))
		watch = watch->next;
	if (!watch)
		return false;
	watch->was_asked = true;
	dfg_curl_multi_socket_action(client->multi, watch->fd, CURL_CSELECT_OUT, &running);
	return true;
}

static void tell_epoll(struct dfg_client *client)
{
	for (struct watch *watch = client->watches; watch; watch = watch->next) {
		watch->was_asked = false;
		if (watch->wants == watch->has)
			continue;
		struct epoll_event event = {
			.events = watch->wants, .data.u64 = (uint64_t)watch->fd << DFG_ABOUT_BITS | DFG_ABOUT_CLIENT};
		epoll_ctl(client->http->epoll, watch->has ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event);
		watch->has = watch->wants;
	}
}

static int set_timer(CURLM *multi, long ms, void *arg)
{
	struct dfg_client *client = arg;
	(void)multi;
	client->due_ns = ms < 0 ? UINT64_MAX : ms == 0 ? 0 : dfg_now() + (uint64_t)ms * 1000000;
	return 0;
}

uint64_t dfg_client_due_ns(const struct dfg_client *client)
{
	return client->due_ns;
}

struct dfg_err *dfg_client_new(struct dfg_http_links *http, struct dfg_client **out_client)
{
	DFG_TRY(open_curl());
	struct dfg_client *client = dfg_zeros(1, sizeof *client);
	if (!client || !(client->multi = dfg_curl_multi_init())) {
		dfg_free(client);
		return dfg_no_memory("an HTTP request");
	}
	client->http = http;
	client->due_ns = UINT64_MAX;
	dfg_curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	dfg_curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	dfg_curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	dfg_curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	dfg_curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	*out_client = client;
	return NULL;
}

void dfg_client_free(struct dfg_client *client)
{
	if (!client)
		return;
	dfg_curl_multi_cleanup(client->multi);
	while (client->watches)
		unwatch(client, client->watches);
	dfg_free(client);
}

/* The error for a status other than 200. */
static struct dfg_err *refused(const struct post *post)
{
	switch (post->status) {
	case 401:
		return DFG_ERR(DFG_REFUSED, "refused the connection: it belongs to a run with a different secret");
	case 403:
		return DFG_ERR(
			DFG_REFUSED, "refused the connection: it does not expect %s", dfg_peer_words(post->client->http->self).s);
	case 409:
		return DFG_ERR(DFG_REFUSED, "refused the connection: it already has a link to %s",
			dfg_peer_words(post->client->http->self).s);
	case 505:
		if (!strcmp(post->version, DFG_VERSION) && !dfg_build_ids_agree(post->build, dfg_build_id()))
			return dfg_build_check(post->build);
		return DFG_ERR(DFG_PROTOCOL, "runs dfg %s, but this is dfg %s: install the same version on all hosts",
			*post->version ? post->version : "of another protocol", DFG_VERSION);
	default:
		return DFG_ERR(DFG_PROTOCOL, "answered with status %ld", post->status);
	}
}

/* "dfg-version: 0.1.0": it goes into a message, so that only the characters of a version or a build are taken. */
static void take_word(const char *name, const char *bytes, size_t count, char *out, size_t capacity)
{
	size_t at = strlen(name), length = 0;
	if (count < at || memcmp(bytes, name, at) != 0)
		return;
	while (at + length < count && length + 1 < capacity && bytes[at + length] &&
		   (isalnum((unsigned char)bytes[at + length]) || strchr(".+-_", bytes[at + length])))
		length++;
	snprintf(out, capacity, "%.*s", (int)length, bytes + at);
}

static size_t header_callback(char *bytes, size_t size, size_t count, void *arg)
{
	struct post *post = arg;
	(void)size;
	if (count >= 7 && !memcmp(bytes, "HTTP/1.", 7)) /* over TLS, the peer may choose HTTP/1.1 */
		dfg_exchange_breaks(post->exchange, DFG_ERR(DFG_PROTOCOL, "speaks HTTP/1, not HTTP/2"));
	take_word("dfg-version: ", bytes, count, post->version, sizeof post->version);
	take_word("dfg-build: ", bytes, count, post->build, sizeof post->build);
	if (count == 2 && post->status && post->status != 200) /* the end of the header */
		dfg_exchange_breaks(post->exchange, refused(post));
	if (count < 12 || memcmp(bytes, "HTTP/2 ", 7) || !isdigit((unsigned char)bytes[7]))
		return count;
	post->status = (bytes[7] - '0') * 100 + (bytes[8] - '0') * 10 + (bytes[9] - '0');
	if (post->status == 200)
		dfg_exchange_stands(post->exchange);
	return count;
}

static size_t write_callback(char *bytes, size_t size, size_t count, void *arg)
{
	struct post *post = arg;
	(void)size;
	return dfg_exchange_hears(post->exchange, (const uint8_t *)bytes, count) ? count : CURL_WRITEFUNC_ERROR;
}

/* The read callback. Sends nothing before the peer has admitted us. */
static size_t read_callback(char *to, size_t size, size_t capacity, void *arg)
{
	struct post *post = arg;
	size_t count = post->exchange->stands ? dfg_exchange_says(post->exchange, (uint8_t *)to, size * capacity) : 0;
	post->paused = !count;
	post->said_all = count < size * capacity;
	return count ? count : CURL_READFUNC_PAUSE;
}

static const struct watch *watch_of(const struct post *post)
{
	const struct watch *watch = post->client->watches;
	while (watch && watch->easy != post->easy)
		watch = watch->next;
	return watch;
}

/*
 * Called with a writable socket, libcurl writes; called without one, it would first try to read. While short messages
 * follow each other, libcurl is not asked after each one whether it has more to write, and so need not be told of the
 * next one.
 */
static void flush_post(void *of)
{
	struct post *post = of;
	struct dfg_client *client = post->client;
	const struct watch *watch = watch_of(post);
	int running;
	if (!post->paused && !client->lazy)
		return;
	if (post->paused)
		dfg_curl_easy_pause(post->easy, CURLPAUSE_CONT);
	post->paused = post->said_all = false;
	if (watch)
		dfg_curl_multi_socket_action(client->multi, watch->fd, CURL_CSELECT_OUT, &running);
	client->lazy = post->said_all;
	client->touched |= !post->said_all;
	client->polls = 0;
}

void dfg_client_do_postponed(struct dfg_client *client)
{
	client->touched |= client->lazy;
	client->lazy = false;
}

void dfg_client_polled(struct dfg_client *client)
{
	if (client->lazy && ++client->polls > PATIENT_POLLS)
		dfg_client_do_postponed(client);
}

static void end_post(void *of)
{
	struct post *post = of;
	dfg_curl_multi_remove_handle(post->client->multi, post->easy);
	dfg_curl_easy_cleanup(post->easy);
	dfg_curl_slist_free_all(post->headers);
	dfg_free(post);
}

static const struct dfg_transport transport = {.flush = flush_post, .end = end_post};

/* Whether the peer, or the network, ended the connection during TLS's handshake. libcurl has one code for all that can
 * fail there; only its text holds OpenSSL's: "error:0A00010B:SSL routines...". A broken socket has none. */
static bool ended_in_handshake(const struct post *post)
{
	const char *error = strstr(post->error, "error:");
	return !error || ERR_GET_REASON(strtoul(error + strlen("error:"), NULL, 16)) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

/* Translates libcurl's code. An established connection was lost; another one could not be made. */
static struct dfg_err *failed(const struct post *post, CURLcode code)
{
	const char *words = post->error[0] ? post->error : dfg_curl_easy_strerror(code);
	if (code == CURLE_OK)
		return post->status == 200 ? DFG_ERR(DFG_UNAVAILABLE, "closed the link") : refused(post);
	if (code == CURLE_SSL_PINNEDPUBKEYNOTMATCH)
		return DFG_ERR(DFG_REFUSED, "uses a TLS key that does not match the expected fingerprint");
	if (!post->exchange->stands && code == CURLE_SSL_CONNECT_ERROR && ended_in_handshake(post))
		return DFG_ERR(DFG_UNAVAILABLE, "hung up during the TLS handshake: %s", words);
	if (!post->exchange->stands &&
		(code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM || code == CURLE_WEIRD_SERVER_REPLY ||
			code == CURLE_SSL_CONNECT_ERROR || code == CURLE_UNSUPPORTED_PROTOCOL))
		return DFG_ERR(DFG_PROTOCOL, "does not speak this protocol: %s", words);
	if (!post->exchange->stands && (code == CURLE_GOT_NOTHING || code == CURLE_PARTIAL_FILE ||
									   code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR))
		return DFG_ERR(DFG_UNAVAILABLE, "hung up without an answer: it has ended, or does not speak this protocol");
	if (code == CURLE_OUT_OF_MEMORY)
		return dfg_no_memory("an HTTP request");
	if (post->no_socket)
		return DFG_ERR(dfg_code_of_errno(post->no_socket, DFG_UNAVAILABLE), "no socket: %s", strerror(post->no_socket));
	return DFG_ERR(DFG_UNAVAILABLE, "%s: %s", post->exchange->stands ? "connection lost" : "cannot be reached", words);
}

static void see_ended(struct dfg_client *client)
{
	CURLMsg *message;
	for (int left; (message = dfg_curl_multi_info_read(client->multi, &left));)
		for (struct dfg_http_links_link *link = client->http->links; link; link = link->next) {
			struct dfg_exchange *exchange = &link->exchange[DFG_OURS];
			const struct post *post = exchange->transport ? exchange->of : NULL;
			if (post && post->easy == message->easy_handle)
				dfg_exchange_breaks(exchange, failed(post, message->data.result));
		}
}

void dfg_client_due(struct dfg_client *client)
{
	int running;
	if (!client->touched && (client->due_ns == UINT64_MAX || client->due_ns > dfg_now()))
		return;
	client->touched = client->lazy = false;
	while (client->due_ns == 0 || (client->due_ns != UINT64_MAX && client->due_ns <= dfg_now())) {
		client->due_ns = UINT64_MAX;
		dfg_curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	while (write_more(client))
		continue;
	see_ended(client);
	tell_epoll(client);
}

/* The exchange of this socket if it is not established yet; NULL: none. */
static struct dfg_exchange *begun_at(const struct dfg_client *client, int fd)
{
	const struct watch *watch = client->watches;
	while (watch && watch->fd != fd)
		watch = watch->next;
	for (struct dfg_http_links_link *link = client->http->links; watch && link; link = link->next) {
		struct dfg_exchange *exchange = &link->exchange[DFG_OURS];
		const struct post *post = exchange->transport ? exchange->of : NULL;
		if (post && post->easy == watch->easy)
			return exchange->stands ? NULL : exchange;
	}
	return NULL;
}

/* libcurl takes an HTTP/1.1 answer to an HTTP/2 request for the begin of a long frame, and waits for the remainder. */
static void see_old_version(const struct dfg_client *client, int fd)
{
	char begin[5];
	struct dfg_exchange *exchange = begun_at(client, fd);
	if (exchange && recv(fd, begin, sizeof begin, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof begin &&
		!memcmp(begin, "HTTP/", sizeof begin))
		dfg_exchange_breaks(exchange, DFG_ERR(DFG_PROTOCOL, "speaks HTTP/1, not HTTP/2"));
}

void dfg_client_event(struct dfg_client *client, int fd, uint32_t events)
{
	int running, what = 0;
	if (events & EPOLLIN)
		see_old_version(client, fd);
	if (events & EPOLLIN)
		what |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		what |= CURL_CSELECT_ERR;
	client->touched = true;
	dfg_curl_multi_socket_action(client->multi, fd, what, &running);
}

/* A host name may begin with 127. too, so only an address counts. */
static bool is_127(const char *host, size_t length)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr address;
	return length < sizeof text && snprintf(text, sizeof text, "%.*s", (int)length, host) > 0 &&
		   inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* Accepts "HOST:PORT", and no character with a meaning in a URL. */
static struct dfg_err *check_address(const char *address, bool *out_loopback)
{
	const char *colon = strrchr(address, ':');
	size_t host = colon ? (size_t)(colon - address) : 0;
	bool six = host > 2 && address[0] == '[' && address[host - 1] == ']';
	bool good =
		host > 0 && host < 256 && colon[1] && strlen(colon + 1) <= 5 && !colon[1 + strspn(colon + 1, "0123456789")];
	for (size_t i = six ? 1 : 0; good && i < (six ? host - 1 : host); i++)
		good = isalnum((unsigned char)address[i]) || strchr(six ? ":." : "._-", address[i]);
	if (!good)
		return DFG_ERR(DFG_CONFIG, "'%s' is not an address: use HOST:PORT", address);
	*out_loopback = !strncmp(address, "[::1]:", 6) || !strncmp(address, "localhost:", 10) || is_127(address, host);
	return NULL;
}

static struct dfg_err *set_trust(struct post *post, const char *fingerprint, bool loopback)
{
	CURL *easy = post->easy;
	char pin[96];
	if (!fingerprint) {
		dfg_curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
		return loopback
				   ? NULL
				   : DFG_ERR(DFG_CONFIG, "has no known fingerprint: links without TLS are only allowed over loopback");
	}
	if (strncmp(fingerprint, "sha256:", 7) || strlen(fingerprint) > 64)
		return DFG_ERR(DFG_CONFIG, "'%s' is not a fingerprint: use sha256:BASE64", fingerprint);
	snprintf(pin, sizeof pin, "sha256//%s", fingerprint + 7);
	/* The key itself is verified by its pinned fingerprint, not by an authority. */
	dfg_curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
	dfg_curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_3);
	dfg_curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	dfg_curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	if (dfg_curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, pin))
		return DFG_ERR(DFG_CONFIG, "this libcurl cannot check the key of a peer (CURLOPT_PINNEDPUBLICKEY)");
	return NULL;
}

static bool add_header(struct post *post, const char *name, const char *value)
{
	char line[160];
	snprintf(line, sizeof line, "%s: %s", name, value);
	struct curl_slist *more = dfg_curl_slist_append(post->headers, line);
	explicit_bzero(line, sizeof line);
	post->headers = more ? more : post->headers;
	return more;
}

static bool set_headers(struct post *post)
{
	char bearer[DFG_SECRET_SIZE + 8], number[16];
	snprintf(bearer, sizeof bearer, "Bearer %s", post->client->http->secret);
	snprintf(number, sizeof number, "%u", post->client->http->self);
	bool good = add_header(post, "authorization", bearer) && add_header(post, "dfg-peer", number) &&
				add_header(post, "dfg-link", "1") && add_header(post, "dfg-version", DFG_VERSION) &&
				add_header(post, "dfg-build", dfg_build_id()) &&
				add_header(post, "content-type", "application/octet-stream") && add_header(post, "expect", "") &&
				add_header(post, "accept", "");
	explicit_bzero(bearer, sizeof bearer);
	return good;
}

/* Close-on-exec: a child process does not inherit the connection, which ends with this process. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	(void)purpose;
	struct post *post = arg;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	post->no_socket = fd < 0 ? errno : 0;
	return fd;
}

/* Without proxy, redirect, password file, cookie or signal: only this host, this protocol, this request. */
static struct dfg_err *set_options(struct post *post, const char *address, bool tls)
{
	CURL *easy = post->easy;
	char url[URL_SIZE];
	snprintf(url, sizeof url, "%s://%s/link", tls ? "https" : "http", address);
	bool good = !dfg_curl_easy_setopt(easy, CURLOPT_URL, url) &&
				!dfg_curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, tls ? "https" : "http") &&
				!dfg_curl_easy_setopt(easy, CURLOPT_PROXY, "") && !dfg_curl_easy_setopt(easy, CURLOPT_NOPROXY, "*") &&
				set_headers(post);
	dfg_curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	dfg_curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	dfg_curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	dfg_curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
		(long)(dfg_http_links_at_least_patience(post->client->http, (uint64_t)CONNECT_MS * 1000000) / 1000000));
	dfg_curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	dfg_curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, post);
	dfg_curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	dfg_curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	dfg_curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	bool is_fixed = dfg_curl_version_info(CURLVERSION_NOW)->version_num >= FIXED;
	dfg_curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)(is_fixed ? BUFFER : BUFFER_LARGEST));
	dfg_curl_easy_setopt(easy, CURLOPT_POST, 1L);
	dfg_curl_easy_setopt(easy, CURLOPT_HTTPHEADER, post->headers);
	dfg_curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_callback);
	dfg_curl_easy_setopt(easy, CURLOPT_READDATA, post);
	dfg_curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write_callback);
	dfg_curl_easy_setopt(easy, CURLOPT_WRITEDATA, post);
	dfg_curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header_callback);
	dfg_curl_easy_setopt(easy, CURLOPT_HEADERDATA, post);
	dfg_curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, post->error);
	return good ? NULL : DFG_ERR(DFG_MEMORY, "libcurl cannot set up a request");
}

struct dfg_err *dfg_client_post(
	struct dfg_client *client, struct dfg_exchange *exchange, const char *address, const char *fingerprint)
{
	bool loopback;
	DFG_TRY(check_address(address, &loopback));
	struct post *post = dfg_zeros(1, sizeof *post);
	if (!post || !(post->easy = dfg_curl_easy_init())) {
		dfg_free(post);
		return dfg_no_memory("an HTTP request");
	}
	post->client = client;
	post->exchange = exchange;
	struct dfg_err *err = set_trust(post, fingerprint, loopback);
	if (!err)
		err = set_options(post, address, fingerprint);
	if (!err && dfg_curl_multi_add_handle(client->multi, post->easy))
		err = DFG_ERR(DFG_MEMORY, "libcurl takes no more requests");
	if (err) {
		end_post(post);
		return err;
	}
	exchange->heard_ns = dfg_about_now_ns();
	exchange->of = post;
	exchange->transport = &transport;
	return NULL;
}
