#define _GNU_SOURCE /* for accept4 */
#include "remote/http_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * The time limit of unauthenticated peers is five seconds, or the patience, and their number is limited. One more
 * evicts the oldest; one of the same address is spared while it is new, because many workers of one host connect at
 * once.
 */
enum { STRANGER_MS = 5000, STRANGERS = 512, STRANGERS_OF_ADDRESS = 64, NEW_MS = 500, ACCEPTS = 64 };

const char *dfg_server_address(const struct dfg_server *server)
{
	return server->address;
}

const char *dfg_server_fingerprint(const struct dfg_server *server)
{
	return server->tls ? dfg_tls_fingerprint(server->tls) : NULL;
}

static struct in6_addr address_of(const struct sockaddr_storage *from)
{
	struct in6_addr address = {0};
	if (from->ss_family == AF_INET6)
		address = ((const struct sockaddr_in6 *)from)->sin6_addr;
	else
		memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)from)->sin_addr, 4);
	return address;
}

static bool same_address(const struct in6_addr *a, const struct in6_addr *b)
{
	return !memcmp(a, b, sizeof *a);
}

/* Connections are listed newest first. */
static void make_way(struct dfg_server *server, const struct in6_addr *from)
{
	struct dfg_http_connection *first = NULL, *first_of_address = NULL;
	unsigned strangers = 0, of_address = 0;
	for (struct dfg_http_connection *connection = server->connections; connection; connection = connection->next) {
		if (connection->state != DFG_STRANGER && connection->state != DFG_ENDING)
			continue;
		strangers++;
		first = connection;
		if (same_address(&connection->from, from)) {
			of_address++;
			first_of_address = connection;
		}
	}
	uint64_t now = dfg_about_now_ns();
	if (strangers >= STRANGERS)
		dfg_http_connection_drop(first, NULL);
	else if (of_address >= STRANGERS_OF_ADDRESS && now - first_of_address->since_ns > (uint64_t)NEW_MS * 1000000)
		dfg_http_connection_drop(first_of_address, NULL);
}

static void receive(struct dfg_server *server, int fd, const struct sockaddr_storage *from)
{
	struct dfg_http_connection *connection;
	struct in6_addr address = address_of(from);
	make_way(server, &address);
	struct dfg_err *err = dfg_http_connection_new(server, fd, &connection);
	if (err) {
		dfg_err_free(err);
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	connection->from = address;
	connection->next = server->connections;
	server->connections = connection;
	dfg_http_connection_flush(connection);
}

/* deaf: accepts no more until the next tick, when a descriptor may be free. */
static void set_deaf(struct dfg_server *server, bool deaf)
{
	struct epoll_event event = {.events = deaf ? 0 : EPOLLIN, .data.u64 = DFG_ABOUT_LISTENER};
	epoll_ctl(server->http->epoll, EPOLL_CTL_MOD, server->fd, &event);
	server->deaf = deaf;
}

void dfg_server_accept(struct dfg_server *server)
{
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage from;
		socklen_t length = sizeof from;
		int fd = accept4(server->fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			receive(server, fd, &from);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			set_deaf(server, true);
		if (fd < 0)
			return;
	}
}

void dfg_server_tick(struct dfg_server *server, uint64_t now)
{
	uint64_t stranger = dfg_http_links_at_least_patience(server->http, (uint64_t)STRANGER_MS * 1000000);
	uint64_t waiting = dfg_http_links_at_least_patience(server->http, (uint64_t)DFG_HTTP_PATIENCE_MS * 1000000);
	if (server->deaf)
		set_deaf(server, false);
	for (struct dfg_http_connection *connection = server->connections; connection; connection = connection->next) {
		uint64_t age = now - connection->since_ns;
		if ((connection->state == DFG_STRANGER || connection->state == DFG_ENDING) && age > stranger)
			dfg_http_connection_drop(connection, NULL);
		if (connection->state == DFG_WAITING && age > waiting) {
			dfg_http_connection_answer(connection, "403");
			dfg_http_connection_flush(connection);
		}
	}
}

void dfg_server_admit(struct dfg_server *server, uint32_t peer)
{
	for (struct dfg_http_connection *connection = server->connections; connection; connection = connection->next)
		if (connection->state == DFG_WAITING && connection->request.peer == peer) {
			dfg_http_connection_admit(connection);
			dfg_http_connection_flush(connection);
		}
}

void dfg_server_sweep(struct dfg_server *server)
{
	for (struct dfg_http_connection **at = &server->connections, *connection; (connection = *at);) {
		if (connection->state != DFG_DEAD) {
			at = &connection->next;
			continue;
		}
		*at = connection->next;
		dfg_http_connection_free(connection);
	}
}

/* Splits "HOST", "HOST:PORT" or "[V6]:PORT"; PORT may be a range, "7000-7010". */
static struct dfg_err *split(const char *address, char host[72], unsigned long *out_first, unsigned long *out_last)
{
	const char *end = address[0] == '[' ? strchr(address, ']') : strchr(address, ':');
	size_t first = address[0] == '[', length = end ? (size_t)(end - address) - first : strlen(address) - first;
	const char *rest = end ? end + first : "";
	if ((first && !end) || !length || length >= 72 || (*rest && *rest != ':') || strlen(rest) > 12)
		return DFG_ERR(DFG_CONFIG, "'%s' is not an address to listen on, expected ADDR[:PORT]", address);
	memcpy(host, address + first, length);
	host[length] = 0;
	char *stop = (char *)rest, *start = NULL;
	*out_first = *out_last = *rest ? strtoul(start = stop + 1, &stop, 10) : 0;
	if (*stop == '-' && stop != start)
		*out_last = strtoul(start = stop + 1, &stop, 10);
	if (stop == start || *stop || *out_last < *out_first || *out_last > 65535)
		return DFG_ERR(DFG_CONFIG, "'%s' has no port to listen on", address);
	return NULL;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

static struct dfg_err *listen_at(struct dfg_server *server, const struct addrinfo *at, const char *address)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = DFG_ABOUT_LISTENER};
	server->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0)
		return DFG_ERR(DFG_MEMORY, "cannot create a socket: %s", strerror(errno));
	setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(server->fd, at->ai_addr, at->ai_addrlen) || listen(server->fd, SOMAXCONN))
		return DFG_ERR(dfg_code_of_errno(errno, DFG_UNAVAILABLE), "cannot listen on %s: %s", address, strerror(errno));
	if (epoll_ctl(server->http->epoll, EPOLL_CTL_ADD, server->fd, &event))
		return DFG_ERR(DFG_MEMORY, "cannot watch a socket: %s", strerror(errno));
	return dfg_address_of_socket(server->fd, server->address);
}

/* Listens on the first free port. */
static struct dfg_err *listen_on_one(
	struct dfg_server *server, struct addrinfo *at, unsigned long first, unsigned long last, const char *address)
{
	struct dfg_err *err = NULL;
	for (unsigned long port = first; port <= last; port++) {
		if (at->ai_family == AF_INET6)
			((struct sockaddr_in6 *)at->ai_addr)->sin6_port = htons((uint16_t)port);
		else
			((struct sockaddr_in *)at->ai_addr)->sin_port = htons((uint16_t)port);
		dfg_err_free(err);
		err = listen_at(server, at, address);
		if (!err || err->code != DFG_UNAVAILABLE)
			return err;
		close(server->fd);
		server->fd = -1;
	}
	return err;
}

static struct dfg_err *open_server(struct dfg_server *server, const char *address, bool tls, const uint8_t *key_seed)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *at;
	char host[72];
	unsigned long first, last;
	DFG_TRY(dfg_library_open(&dfg_nghttp2));
	DFG_TRY(dfg_http_connection_callbacks(server));
	DFG_TRY(split(address, host, &first, &last));
	if (getaddrinfo(host, "0", &hints, &at))
		return DFG_ERR(DFG_CONFIG, "'%s' is not an address to listen on, expected ADDR[:PORT]", address);
	struct dfg_err *err = tls || !is_loopback(at->ai_addr) ? dfg_tls_new(key_seed, &server->tls) : NULL;
	if (!err)
		err = listen_on_one(server, at, first, last, address);
	freeaddrinfo(at);
	return err;
}

struct dfg_err *dfg_server_new(
	struct dfg_http_links *http, const char *address, bool tls, const uint8_t *key_seed, struct dfg_server **out_server)
{
	struct dfg_server *server = dfg_zeros(1, sizeof *server);
	if (!server)
		return dfg_no_memory("the HTTP server");
	server->http = http;
	server->fd = -1;
	struct dfg_err *err = open_server(server, address, tls, key_seed);
	if (err)
		dfg_server_free(server);
	else
		*out_server = server;
	return err;
}

void dfg_server_free(struct dfg_server *server)
{
	if (!server)
		return;
	for (struct dfg_http_connection *connection; (connection = server->connections);) {
		server->connections = connection->next;
		dfg_http_connection_free(connection);
	}
	if (server->fd >= 0)
		close(server->fd);
	if (server->callbacks)
		dfg_nghttp2_session_callbacks_del(server->callbacks);
	if (server->option)
		dfg_nghttp2_option_del(server->option);
	dfg_tls_free(server->tls);
	dfg_free(server);
}
