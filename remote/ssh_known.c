#include "remote/ssh_private.h"
#include "remote/ssh_stream.h"

#include "lib/base/io.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Host keys in known_hosts files. libssh parses a line; this file decides which lines count, because libssh by itself
 * refuses nothing.
 */
enum { FILE_MOST = 16 << 20, LINE_MOST = 1 << 16 };

/* A known_hosts line for this host. */
struct known {
	const char *file;
	int line;
	bool revoked;
	ssh_key key;
};

struct search {
	const char *name; /* "host", or "[host]:2222" */
	void (*take_line)(struct search *search, const struct known *known);
	ssh_key key; /* the key that the host sent */
	const char *kinds[16];
	size_t n_kinds;
	bool found; /* a line has the same key */
	/* a line with a different key, of any type, since known types are requested first. .file NULL: none */
	struct known other;
	struct known revoked; /* .file NULL: not revoked */
};

static void see_line(struct search *search, const char *line, const char *file, int number)
{
	struct known known = {.file = file, .line = number, .revoked = !strncmp(line, "@revoked ", 9)};
	if (known.revoked)
		line += 9 + strspn(line + 9, " \t");
	/* Host certificates are not supported, so lines with their authorities are skipped. */
	if (!*line || *line == '#' || *line == '@')
		return;
	struct ssh_knownhosts_entry *entry = NULL;
	if (dfg_ssh_known_hosts_parse_line(search->name, line, &entry) != SSH_OK || !entry)
		return;
	known.key = entry->publickey;
	search->take_line(search, &known);
	dfg_ssh_knownhosts_entry_free(entry);
}

static struct dfg_err *see_file(struct search *search, const char *path, struct dfg_arena *arena)
{
	struct dfg_blob blob;
	if (access(path, F_OK))
		return NULL;
	const char *from;
	DFG_TRY(dfg_ssh_stream_path(path, arena, &from));
	DFG_TRY(dfg_blob_open(from, FILE_MOST, &blob));
	char *line = dfg_arena_zeros(arena, LINE_MOST, 1);
	const char *s = (const char *)blob.bytes, *end = s + blob.size;
	for (int number = 1; line && s < end; number++) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t length = (size_t)((stop ? stop : end) - s), used = length < LINE_MOST ? length : 0;
		memcpy(line, s, used);
		line[used - (used && line[used - 1] == '\r')] = '\0';
		see_line(search, line + strspn(line, " \t"), path, number);
		s += length + 1;
	}
	dfg_blob_close(&blob);
	return line ? NULL : dfg_no_memory("the known hosts");
}

static struct dfg_err *see_all(struct search *search, struct dfg_ssh *ssh)
{
	const struct dfg_ssh_words *files[] = {&ssh->entry.known_hosts, &ssh->entry.global_known_hosts};
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < files[i]->count; k++)
			DFG_TRY(see_file(search, files[i]->word[k], &ssh->arena));
	return NULL;
}

/* The name of the host in the files. */
static const char *known_name(struct dfg_ssh *ssh)
{
	const struct dfg_ssh_entry *entry = &ssh->entry;
	if (entry->host_key_alias)
		return entry->host_key_alias;
	return entry->port == 22 ? entry->host_name
							 : dfg_arena_print(&ssh->arena, "[%s]:%u", entry->host_name, entry->port);
}

static void note_kind(struct search *search, const struct known *known)
{
	const char *kind = dfg_ssh_key_type_to_char(dfg_ssh_key_type(known->key));
	for (size_t i = 0; i < search->n_kinds; i++)
		if (!strcmp(kind, search->kinds[i]))
			return;
	if (!known->revoked && search->n_kinds < sizeof search->kinds / sizeof *search->kinds)
		search->kinds[search->n_kinds++] = kind;
}

/* Adds a key type; RSA keys have several signature algorithms. */
static void add_kind(struct dfg_text *list, const char *kind)
{
	const char *algorithms = !strcmp(kind, "ssh-rsa") ? "rsa-sha2-512,rsa-sha2-256" : kind;
	if (!list->s || !strstr(list->s, algorithms))
		dfg_text_add(list, "%s%s", list->length ? "," : "", algorithms);
}

struct dfg_err *dfg_ssh_known_kinds(struct dfg_ssh *ssh, const char **out_kinds)
{
	static const char *const usual[] = {
		"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"};
	struct search search = {.name = known_name(ssh), .take_line = note_kind};
	struct dfg_text list = {0};
	if (!search.name)
		return dfg_no_memory("the known hosts");
	DFG_TRY(see_all(&search, ssh));
	for (size_t i = 0; i < search.n_kinds; i++)
		add_kind(&list, search.kinds[i]);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		add_kind(&list, usual[i]);
	struct dfg_err *err = dfg_text_check(&list);
	if (!err && !(*out_kinds = dfg_arena_copy(&ssh->arena, list.s, list.length)))
		err = dfg_no_memory("the known hosts");
	dfg_text_release(&list);
	return err;
}

static void compare(struct search *search, const struct known *known)
{
	bool same = !dfg_ssh_key_cmp(known->key, search->key, SSH_KEY_CMP_PUBLIC);
	if (known->revoked && same)
		search->revoked = *known;
	if (known->revoked)
		return;
	search->found |= same;
	if (!same && !search->other.file)
		search->other = *known;
}

/* The fingerprint for users to compare: "ssh-ed25519 SHA256:...". */
static struct dfg_err *fingerprint(ssh_key key, char out_print[static 128])
{
	unsigned char *hash = NULL;
	size_t count = 0;
	if (dfg_ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &count))
		return DFG_ERR(DFG_UNAVAILABLE, "the host's key cannot be read");
	char *print = dfg_ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, count);
	struct dfg_text text = {0};
	dfg_text_add(&text, "%s %s", dfg_ssh_key_type_to_char(dfg_ssh_key_type(key)), print ? print : "");
	strncpy(out_print, text.s ? text.s : "", 127);
	dfg_text_release(&text);
	dfg_ssh_string_free_char(print);
	dfg_ssh_clean_pubkey_hash(&hash);
	return NULL;
}

/* The key type's name for ssh-keyscan. */
static const char *scan_kind(enum ssh_keytypes_e kind)
{
	return kind == SSH_KEYTYPE_ED25519 ? "ed25519" : kind == SSH_KEYTYPE_RSA ? "rsa" : "ecdsa";
}

/* The file to which new keys are added, which may not exist yet; NULL: there is none, or it is /dev/null or a pipe. */
static const char *file_for_new(const struct dfg_ssh *ssh)
{
	struct stat file;
	const char *path = ssh->entry.known_hosts.count ? ssh->entry.known_hosts.word[0] : NULL;
	return path && !stat(path, &file) && !S_ISREG(file.st_mode) ? NULL : path;
}

static struct dfg_err *refuse_unknown(const struct dfg_ssh *ssh, const struct search *search, const char *print)
{
	const char *address = ssh->entry.host_name, *file = file_for_new(ssh), *config = ssh->wish.file;
	const char *kind = scan_kind(dfg_ssh_key_type(search->key));
	if (!file)
		return DFG_ERR(DFG_REFUSED,
			"the host key of %s is not known: %s. It cannot be recorded, because UserKnownHostsFile is %s: name a file "
			"in the ssh configuration",
			search->name, print, ssh->entry.known_hosts.count ? ssh->entry.known_hosts.word[0] : "none");
	if (ssh->jump || ssh->proxy || ssh->entry.host_key_alias)
		return DFG_ERR(DFG_REFUSED,
			"the host key of %s is not known: %s. If that is its key, let ssh record it: ssh %s%s%s%s true",
			search->name, print, config ? "-F " : "", config ? config : "", config ? " " : "", ssh->wish.host);
	return DFG_ERR(DFG_REFUSED,
		"the host key of %s is not known: %s. If that is its key, run: ssh-keyscan -t %s -p %u %s >>%s", search->name,
		print, kind, ssh->entry.port, address, file);
}

static struct dfg_err *refuse_changed(const struct search *search, const char *print)
{
	return DFG_ERR(DFG_REFUSED,
		"the host key of %s has changed: it is %s, not the one in %s:%d. Somebody may be intercepting the connection; "
		"if the host really "
		"has a new key, run: ssh-keygen -f %s -R '%s'",
		search->name, print, search->other.file, search->other.line, search->other.file, search->name);
}

/* As ssh does where ~/.ssh does not exist yet. */
static void make_folder_of(const char *path, struct dfg_arena *arena)
{
	const char *slash = strrchr(path, '/');
	const char *folder = slash && slash > path ? dfg_arena_copy(arena, path, (size_t)(slash - path)) : NULL;
	if (folder)
		(void)dfg_fs->mkdir(folder, 0700); /* if it cannot be made, opening the file says so */
}

/* Appends a line, which begins with a line end for a file whose last line has none. */
static struct dfg_err *append_line(const char *path, const struct dfg_text *line)
{
	struct stat file;
	char last = '\n';
	int fd = dfg_fs->open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_OUTPUT), "cannot write %s: %s", path, strerror(errno));
	const bool is_whole =
		fstat(fd, &file) || !file.st_size || dfg_fs->read_at(fd, &last, 1, file.st_size - 1) != 1 || last == '\n';
	struct dfg_err *err = dfg_fs_write_all(fd, path, line->s + is_whole, line->length - is_whole);
	dfg_fs->close(fd);
	return err;
}

/* The user's config accepts new hosts: adds the key as a line, if there is a file that keeps it. */
static struct dfg_err *write_down(struct dfg_ssh *ssh, const struct search *search)
{
	const char *path = file_for_new(ssh);
	char *base64 = NULL;
	struct dfg_text line = {0};
	if (!path)
		return NULL;
	if (dfg_ssh_pki_export_pubkey_base64(search->key, &base64))
		return DFG_ERR(DFG_UNAVAILABLE, "the host's key cannot be read");
	dfg_text_add(&line, "\n%s %s %s\n", search->name, dfg_ssh_key_type_to_char(dfg_ssh_key_type(search->key)), base64);
	dfg_ssh_string_free_char(base64);
	struct dfg_err *err = dfg_text_check(&line);
	make_folder_of(path, &ssh->arena);
	if (!err)
		err = append_line(path, &line);
	dfg_text_release(&line);
	return err;
}

static struct dfg_err *judge(struct dfg_ssh *ssh, struct search *search)
{
	char print[128] = "";
	DFG_TRY(see_all(search, ssh));
	DFG_TRY(fingerprint(search->key, print));
	if (search->revoked.file)
		return DFG_ERR(DFG_REFUSED, "the host key of %s is revoked: %s, by %s:%d", search->name, print,
			search->revoked.file, search->revoked.line);
	if (search->found)
		return NULL;
	if (search->other.file)
		return refuse_changed(search, print);
	/* As in ssh, a key known for the host without a port is valid for each of its ports. */
	struct search plain = {.name = ssh->entry.host_name, .take_line = compare, .key = search->key};
	if (strcmp(plain.name, search->name) && !ssh->entry.host_key_alias) {
		DFG_TRY(see_all(&plain, ssh));
		if (plain.found && !plain.revoked.file)
			return NULL;
	}
	return ssh->entry.accept_new ? write_down(ssh, search) : refuse_unknown(ssh, search, print);
}

struct dfg_err *dfg_ssh_known_check(struct dfg_ssh *ssh)
{
	struct search search = {.name = known_name(ssh), .take_line = compare};
	if (!search.name)
		return dfg_no_memory("the known hosts");
	if (dfg_ssh_get_server_publickey(ssh->session, &search.key))
		return DFG_ERR(DFG_UNAVAILABLE, "the host did not give its host key");
	struct dfg_err *err = judge(ssh, &search);
	dfg_ssh_key_free(search.key);
	return err;
}
