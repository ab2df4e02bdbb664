#include "remote/ssh_private.h"
#include "remote/ssh_stream.h"

#include "lib/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * An agent between libssh and the user's agent. libssh by itself waits for the agent without a limit, and offers all of
 * its keys to the server, which allows few attempts. Messages are a length of 4 bytes, a type, and the contents.
 * https://datatracker.ietf.org/doc/html/draft-ietf-sshm-ssh-agent
 */
enum { MESSAGE_MOST = 256 << 10, IDENTITIES_ANSWER = 12, LENGTH = 4 };

struct dfg_ssh_agent {
	bool limited; /* to these keys */
	char **key;   /* of the identity files: the public key in base64 */
	size_t n_keys;
	int agent, own; /* the user's agent; our end of a socket pair, whose other end is libssh's; -1: none */
	pthread_t thread;
	bool threaded;
	bool silent; /* the user's agent did not answer in time */
	unsigned char message[LENGTH + MESSAGE_MOST];
};

static uint32_t read_number(const unsigned char *s)
{
	return (uint32_t)s[0] << 24 | (uint32_t)s[1] << 16 | (uint32_t)s[2] << 8 | s[3];
}

static void write_number(unsigned char *s, size_t number)
{
	for (int i = 0; i < LENGTH; i++)
		s[i] = (unsigned char)(number >> (24 - 8 * i));
}

static bool move_all(int fd, unsigned char *bytes, size_t count, bool out)
{
	while (count) {
		ssize_t moved = out ? send(fd, bytes, count, MSG_NOSIGNAL) : recv(fd, bytes, count, 0);
		if (!moved || (moved < 0 && errno != EINTR))
			return false;
		bytes += moved > 0 ? moved : 0;
		count -= moved > 0 ? (size_t)moved : 0;
	}
	return true;
}

static bool read_message(struct dfg_ssh_agent *agent, int fd, size_t *out_size)
{
	if (!move_all(fd, agent->message, LENGTH, false))
		return false;
	const size_t size = read_number(agent->message);
	*out_size = LENGTH + size;
	return size && size <= MESSAGE_MOST && move_all(fd, agent->message + LENGTH, size, false);
}

/* Whether the bytes are what the base64 text encodes. */
static bool same_key(const char *text, const unsigned char *bytes, size_t count)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < count; i += 3, text += 4) {
		const unsigned b = (unsigned)bytes[i] << 16 | (i + 1 < count ? (unsigned)bytes[i + 1] << 8 : 0) |
						   (i + 2 < count ? bytes[i + 2] : 0);
		const char four[] = {digit[b >> 18], digit[b >> 12 & 63], i + 1 < count ? digit[b >> 6 & 63] : '=',
			i + 2 < count ? digit[b & 63] : '='};
		if (strncmp(text, four, sizeof four) != 0)
			return false;
	}
	return !*text;
}

static bool is_listed(const struct dfg_ssh_agent *agent, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < agent->n_keys; i++)
		if (same_key(agent->key[i], bytes, count))
			return true;
	return false;
}

/* The size of the string at s, with its length; 0: it does not end before the end. */
static size_t string_size(const unsigned char *s, const unsigned char *end)
{
	const size_t left = (size_t)(end - s);
	return left >= LENGTH && read_number(s) <= left - LENGTH ? LENGTH + read_number(s) : 0;
}

/* Removes other keys from the agent's list of keys: a number, then for each a key and a comment. Returns the new size. */
static size_t keep_listed(struct dfg_ssh_agent *agent, size_t size)
{
	enum { COUNT = LENGTH + 1, KEYS = COUNT + LENGTH };
	unsigned char *const end = agent->message + size, *to = agent->message + KEYS;
	uint32_t kept = 0;
	if (!agent->limited || size < KEYS || agent->message[LENGTH] != IDENTITIES_ANSWER)
		return size;
	for (unsigned char *s = to; s < end;) {
		const size_t key = string_size(s, end), comment = key ? string_size(s + key, end) : 0;
		if (!comment)
			break;
		if (is_listed(agent, s + LENGTH, key - LENGTH)) {
			memmove(to, s, key + comment);
			to += key + comment;
			kept++;
		}
		s += key + comment;
	}
	write_number(agent->message, (size_t)(to - agent->message) - LENGTH);
	write_number(agent->message + COUNT, kept);
	return (size_t)(to - agent->message);
}

static void *serve(void *arg)
{
	struct dfg_ssh_agent *agent = arg;
	size_t size;
	while (read_message(agent, agent->own, &size)) {
		errno = 0;
		if (!move_all(agent->agent, agent->message, size, true) || !read_message(agent, agent->agent, &size)) {
			agent->silent = errno == EAGAIN;
			break;
		}
		if (!move_all(agent->own, agent->message, keep_listed(agent, size), true))
			break;
	}
	shutdown(agent->own, SHUT_RDWR);
	return NULL;
}

static bool import_public(const char *path, ssh_key *out_key)
{
	return path && !access(path, R_OK) && !dfg_ssh_pki_import_pubkey_file(path, out_key);
}

/*
 * The public key of an identity file: in the file itself, which may be the public one, or beside it. *out_text is NULL if
 * it is not known.
 */
static struct dfg_err *public_key(struct dfg_arena *arena, const char *path, char **out_text)
{
	ssh_key key = NULL;
	const char *public = dfg_arena_print(arena, "%s.pub", path);
	*out_text = NULL;
	DFG_TRY(dfg_ssh_stream_path(path, arena, &path));
	if (public)
		DFG_TRY(dfg_ssh_stream_path(public, arena, &public));
	if (!import_public(path, &key) && !import_public(public, &key))
		return NULL;
	if (dfg_ssh_pki_export_pubkey_base64(key, out_text))
		*out_text = NULL;
	dfg_ssh_key_free(key);
	return NULL;
}

static struct dfg_err *read_keys(struct dfg_ssh_agent *agent, struct dfg_ssh *ssh)
{
	const struct dfg_ssh_words *identity = &ssh->entry.identity;
	agent->key = dfg_zeros(identity->count + 1, sizeof *agent->key);
	if (!agent->key)
		return dfg_no_memory("the keys of the agent");
	for (size_t i = 0; i < identity->count; i++) {
		DFG_TRY(public_key(&ssh->arena, identity->word[i], &agent->key[agent->n_keys]));
		agent->n_keys += agent->key[agent->n_keys] != NULL;
	}
	return NULL;
}

/* Connects to the user's agent, which has these seconds for each answer; false where there is none. */
static bool connect_agent(struct dfg_ssh_agent *agent, const char *path, double seconds)
{
	const struct timeval limit = {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (!path || strlen(path) >= sizeof address.sun_path)
		return false;
	memcpy(address.sun_path, path, strlen(path));
	agent->agent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (agent->agent < 0)
		return false;
	setsockopt(agent->agent, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(agent->agent, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	return !connect(agent->agent, (struct sockaddr *)&address, sizeof address);
}

static struct dfg_err *start(struct dfg_ssh_agent *agent, ssh_session session)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return DFG_ERR(DFG_MEMORY, "cannot create a descriptor: %s", strerror(errno));
	agent->own = pair[0];
	if (dfg_ssh_set_agent_socket(session, pair[1])) {
		close(pair[1]);
		return DFG_ERR(DFG_UNAVAILABLE, "libssh cannot use the ssh agent: %s", dfg_ssh_get_error(session));
	}
	int error = pthread_create(&agent->thread, NULL, serve, agent);
	if (error)
		return DFG_ERR(DFG_MEMORY, "cannot start a thread: %s", strerror(error));
	agent->threaded = true;
	return NULL;
}

struct dfg_err *dfg_ssh_agent_open(struct dfg_ssh *ssh, const char *path, struct dfg_ssh_agent **out_agent)
{
	struct dfg_ssh_agent *agent = dfg_zeros(1, sizeof *agent);
	*out_agent = NULL;
	if (!agent)
		return dfg_no_memory("the agent");
	agent->agent = agent->own = -1;
	agent->limited = ssh->entry.identities_only;
	struct dfg_err *err = agent->limited ? read_keys(agent, ssh) : NULL;
	if (!err && (agent->n_keys || !agent->limited) && connect_agent(agent, path, ssh->seconds))
		err = start(agent, ssh->session);
	if (!err && agent->threaded)
		*out_agent = agent;
	else
		(void)dfg_ssh_agent_close(agent);
	return err;
}

bool dfg_ssh_agent_close(struct dfg_ssh_agent *agent)
{
	if (!agent)
		return false;
	if (agent->threaded) {
		shutdown(agent->own, SHUT_RDWR);
		shutdown(agent->agent, SHUT_RDWR);
		pthread_join(agent->thread, NULL);
	}
	if (agent->own >= 0)
		close(agent->own);
	if (agent->agent >= 0)
		close(agent->agent);
	for (size_t i = 0; i < agent->n_keys; i++)
		dfg_ssh_string_free_char(agent->key[i]);
	const bool answered = !agent->silent;
	dfg_free(agent->key);
	dfg_free(agent);
	return answered;
}
