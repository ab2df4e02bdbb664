#include "remote/ssh_private.h"
#include "remote/ssh_stream.h"

#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The attempted methods, for the message. */
struct login {
	struct dfg_ssh *ssh;
	struct dfg_text tried;
	bool done;
};

static int ask_none(ssh_session session, ssh_key key)
{
	(void)key;
	return dfg_ssh_userauth_none(session, NULL);
}

static int ask_agent(ssh_session session, ssh_key key)
{
	(void)key;
	return dfg_ssh_userauth_agent(session, NULL);
}

static int ask_whether(ssh_session session, ssh_key key)
{
	return dfg_ssh_userauth_try_publickey(session, NULL, key);
}

static int ask_with(ssh_session session, ssh_key key)
{
	return dfg_ssh_userauth_publickey(session, NULL, key);
}

/* One request to the server; an error only if the connection cannot be used any more. */
static struct dfg_err *ask(
	struct login *login, int (*question)(ssh_session session, ssh_key key), ssh_key key, int *out_answer)
{
	struct dfg_ssh *ssh = login->ssh;
	while ((*out_answer = question(ssh->session, key)) == SSH_AUTH_AGAIN && dfg_ssh_is_connected(ssh->session))
		DFG_TRY(dfg_ssh_turn(ssh, "answer"));
	if (dfg_ssh_is_connected(ssh->session))
		return NULL;
	return DFG_ERR(DFG_REFUSED, "%s hung up on user '%s'%s%s: %s", ssh->entry.host_name, ssh->entry.user,
		login->tried.length ? ", tried " : "", login->tried.length ? login->tried.s : "",
		dfg_ssh_get_error(ssh->session));
}

static void tried(struct login *login, const char *what, const char *why)
{
	dfg_text_add(&login->tried, "%s%s%s", login->tried.length ? ", " : "", what, why);
}

/* The socket of the agent; NULL: there is none. */
static const char *agent_path(const struct dfg_ssh *ssh)
{
	const char *named = ssh->entry.identity_agent;
	if (named)
		return strcasecmp(named, "none") != 0 ? named : NULL;
	return getenv("SSH_AUTH_SOCK");
}

static struct dfg_err *try_agent(struct login *login)
{
	int answer;
	struct dfg_ssh_agent *agent;
	const char *path = agent_path(login->ssh);
	if (!path)
		return NULL;
	DFG_TRY(dfg_ssh_agent_open(login->ssh, path, &agent));
	if (!agent)
		return NULL;
	tried(login, "the agent", "");
	struct dfg_err *err = ask(login, ask_agent, NULL, &answer);
	if (!dfg_ssh_agent_close(agent))
		dfg_text_add(&login->tried, " (no answer)");
	login->done = !err && answer == SSH_AUTH_SUCCESS;
	dfg_ssh_begin(login->ssh);
	return err;
}

/* Asks first whether the server accepts the key: a rejected key needs no passphrase. */
static struct dfg_err *is_wanted(struct login *login, const char *path, bool *out_wanted)
{
	ssh_key key = NULL;
	int answer = SSH_AUTH_SUCCESS;
	const char *public = dfg_arena_print(&login->ssh->arena, "%s.pub", path);
	struct dfg_err *err = NULL;
	if (public && !access(public, R_OK))
		DFG_TRY(dfg_ssh_stream_path(public, &login->ssh->arena, &public));
	if (public && !access(public, R_OK) && !dfg_ssh_pki_import_pubkey_file(public, &key)) {
		err = ask(login, ask_whether, key, &answer);
		dfg_ssh_key_free(key);
	}
	*out_wanted = answer == SSH_AUTH_SUCCESS;
	return err;
}

static struct dfg_err *try_key(struct login *login, const char *path)
{
	ssh_key key = NULL;
	bool wanted;
	int answer = SSH_AUTH_DENIED;
	const char *from;
	if (access(path, F_OK))
		return NULL;
	DFG_TRY(dfg_ssh_stream_path(path, &login->ssh->arena, &from));
	DFG_TRY(is_wanted(login, path, &wanted));
	if (!wanted) {
		tried(login, path, "");
		return NULL;
	}
	if (dfg_ssh_pki_import_privkey_file(from, NULL, NULL, NULL, &key)) {
		tried(login, path,
			access(path, R_OK) ? " (cannot be read)" : " (is not a key, or has a passphrase: run ssh-add)");
		return NULL;
	}
	tried(login, path, "");
	struct dfg_err *err = ask(login, ask_with, key, &answer);
	dfg_ssh_key_free(key);
	login->done = answer == SSH_AUTH_SUCCESS;
	return err;
}

static struct dfg_err *try_all(struct login *login)
{
	const struct dfg_ssh_words *identity = &login->ssh->entry.identity;
	int answer;
	DFG_TRY(ask(login, ask_none, NULL, &answer));
	login->done = answer == SSH_AUTH_SUCCESS;
	if (!login->done)
		DFG_TRY(try_agent(login));
	for (size_t i = 0; !login->done && i < identity->count; i++)
		DFG_TRY(try_key(login, identity->word[i]));
	return NULL;
}

struct dfg_err *dfg_ssh_login(struct dfg_ssh *ssh)
{
	struct login login = {.ssh = ssh};
	struct dfg_err *err = try_all(&login);
	if (!err && !login.done)
		err = DFG_ERR(DFG_REFUSED, "%s refuses user '%s': tried %s", ssh->entry.host_name, ssh->entry.user,
			login.tried.length ? login.tried.s : "no key: there is no agent and no key file");
	dfg_text_release(&login.tried);
	return err;
}
