#include "remote/hosts.h"

#include "lib/base/io.h"
#include "lib/base/map.h"
#include "lib/base/mem.h"
#include "lib/base/plural.h"
#include "lib/base/text.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST = 1 << 20, NAME_MOST = 255 };

enum option { JOB, SSH, ADDR, SLOTS, DFG, TCP, PORT, OPTIONS };
static const char *const option_name[OPTIONS] = {"job", "ssh", "addr", "slots", "dfg", "tcp", "port"};

struct reading {
	struct dfg_arena *arena;
	struct dfg_worker_host *worker;
	size_t capacity;
	uint32_t count;
	bool file;           /* reading a file; else a list */
	bool attached;       /* hosts with tcp= run already */
	enum dfg_code fault; /* the code of errors */
};

/* A host as written in the file or list. */
struct entry {
	char *name;
	const char *option[OPTIONS]; /* NULL: not given */
};

static bool of(const char *set, const char *s, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!s[i] || !strchr(set, s[i]))
			return false;
	return length != 0;
}

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

bool dfg_host_name_valid(const char *name, size_t length)
{
	return length <= NAME_MOST && of(LETTERS DIGITS "._-", name, length) && name[0] != '-';
}

static struct dfg_err *check_name(const struct reading *r, const char *what, const char *name, size_t length)
{
	if (dfg_host_name_valid(name, length))
		return NULL;
	if (!length)
		return DFG_ERR(r->fault, "the %s is empty", what);
	struct dfg_text shown = {0};
	dfg_text_escape(&shown, name, length, 80);
	struct dfg_err *err =
		DFG_ERR(r->fault, "'%s' is not a valid %s: use letters, digits, '.', '_' and '-', and do not begin with '-'",
			shown.s ? shown.s : "", what);
	dfg_text_release(&shown);
	return err;
}

bool dfg_host_address_valid(const char *address, size_t length)
{
	return length <= NAME_MOST && memchr(address, ':', length) && of(DIGITS "abcdefABCDEF:.", address, length);
}

/* A name, an IPv4 address, or an IPv6 address in brackets or not. */
static struct dfg_err *check_address(const struct reading *r, const char *address, size_t length)
{
	bool brackets = length > 2 && address[0] == '[' && address[length - 1] == ']';
	if (dfg_host_address_valid(address + brackets, length - 2 * brackets))
		return NULL;
	return check_name(r, "address", address, length);
}

static struct dfg_err *read_number(
	const struct reading *r, const char *text, const char *what, uint32_t most, uint32_t *out_number)
{
	size_t length = strlen(text);
	unsigned long number = of(DIGITS, text, length) && length < 9 ? strtoul(text, NULL, 10) : 0;
	if (number < 1 || number > most)
		return DFG_ERR(r->fault, "%s must be a number from 1 to %u, not '%.40s'", what, most, text);
	*out_number = (uint32_t)number;
	return NULL;
}

/* USER@ADDR:PORT, of which ADDR is required; an IPv6 address is in brackets. */
static struct dfg_err *read_ssh(const struct reading *r, const char *text, struct dfg_worker_host *worker)
{
	const char *at = strchr(text, '@'), *addr = at ? at + 1 : text;
	const char *end = *addr == '[' && strchr(addr, ']') ? strchr(addr, ']') + 1 : addr + strcspn(addr, ":");
	if (at) {
		DFG_TRY(check_name(r, "user", text, (size_t)(at - text)));
		if (!(worker->user = dfg_arena_copy(r->arena, text, (size_t)(at - text))))
			return dfg_no_memory("the hosts file");
	}
	DFG_TRY(check_address(r, addr, (size_t)(end - addr)));
	bool brackets = *addr == '[';
	if (!(worker->ssh = dfg_arena_copy(r->arena, addr + brackets, (size_t)(end - addr) - 2 * brackets)))
		return dfg_no_memory("the hosts file");
	uint32_t port = 0;
	if (*end)
		DFG_TRY(*end == ':' ? read_number(r, end + 1, "a port", 65535, &port)
							: DFG_ERR(r->fault, "ssh= must be USER@ADDR:PORT, not '%.80s'", text));
	worker->port = (uint16_t)port;
	return NULL;
}

/* P or P1-P2, at the end of the value of option `key`; each of the workers there takes one port. */
static struct dfg_err *read_ports(
	const struct reading *r, const char *key, const char *text, uint32_t workers, struct dfg_worker_host *worker)
{
	uint32_t bound[2] = {0, 0};
	const char *part = text;
	for (size_t i = 0; i < 2; i++) {
		size_t length = i ? strlen(part) : strcspn(part, "-");
		unsigned long port = of(DIGITS, part, length) && length < 6 ? strtoul(part, NULL, 10) : 0;
		if (port < 1 || port > 65535)
			return DFG_ERR(
				r->fault, "the port of %s= must be a number from 1 to 65535 or a range P1-P2, not '%.40s'", key, text);
		bound[i] = (uint32_t)port;
		part += part[length] ? length + 1 : 0;
	}
	if (bound[1] < bound[0])
		return DFG_ERR(r->fault, "%s= has the range of ports %.40s, whose end is before its start", key, text);
	uint32_t ports = bound[1] - bound[0] + 1;
	if (ports < workers)
		return DFG_ERR(
			r->fault, "%s= has %u port%s (%.40s) for %u workers", key, ports, dfg_plural(ports), text, workers);
	worker->ports = text;
	return NULL;
}

/* A worker on another machine listens on a numeric address that others can reach. */
static struct dfg_err *check_listening(const struct reading *r, const char *tcp, const char *address)
{
	struct in_addr v4;
	struct in6_addr v6;
	bool is_v4 = inet_pton(AF_INET, address, &v4) == 1;
	if (!is_v4 && inet_pton(AF_INET6, address, &v6) != 1)
		return DFG_ERR(r->fault, "tcp= requires a numeric address of that machine, not the name '%.80s'", address);
	if (is_v4 ? ntohl(v4.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&v6))
		return DFG_ERR(r->fault, "tcp=%.80s: other workers cannot reach a loopback address", tcp);
	return NULL;
}

/* ADDR:PORT, on which one worker listens. */
static struct dfg_err *read_tcp(
	const struct reading *r, const char *text, uint32_t workers, struct dfg_worker_host *worker)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
	if (!colon || strchr(colon, '-') || (!brackets && memchr(text, ':', length)))
		return DFG_ERR(r->fault, "tcp= must be ADDR:PORT, not '%.80s'", text);
	DFG_TRY(check_address(r, text, length));
	DFG_TRY(read_ports(r, "tcp", colon + 1, workers, worker));
	worker->tcp = dfg_arena_copy(r->arena, text + brackets, length - 2 * brackets);
	if (!worker->tcp)
		return dfg_no_memory("the hosts file");
	return r->attached ? NULL : check_listening(r, text, worker->tcp);
}

static struct dfg_err *read_listening(
	const struct reading *r, const struct entry *entry, uint32_t workers, struct dfg_worker_host *worker)
{
	if (entry->option[TCP] && entry->option[PORT])
		return DFG_ERR(r->fault, "tcp= already has a port: leave out port=");
	if (entry->option[TCP])
		return read_tcp(r, entry->option[TCP], workers, worker);
	return entry->option[PORT] ? read_ports(r, "port", entry->option[PORT], workers, worker) : NULL;
}

static struct dfg_err *read_job(const struct reading *r, const char *job, struct dfg_worker_host *worker)
{
	size_t length = strlen(job);
	if (length > NAME_MOST || !of(LETTERS DIGITS "_", job, length) || !of(LETTERS, job, 1))
		return DFG_ERR(r->fault, "'%.80s' is not a job: use letters, digits and '_', and begin with a letter", job);
	worker->job = job;
	return NULL;
}

static struct dfg_err *read_program(const struct reading *r, const char *path, struct dfg_worker_host *worker)
{
	if (!*path || *path == '-')
		return DFG_ERR(r->fault, "dfg= must be the path of a program, not '%.80s'", path);
	worker->dfg = path;
	return NULL;
}

/* Adds `count` workers like this one. */
static struct dfg_err *add_workers(struct reading *r, const struct dfg_worker_host *worker, uint32_t count)
{
	if (count > DFG_HOSTS_MOST - r->count)
		return DFG_ERR(r->fault, "the hosts have more than %d workers, the limit", DFG_HOSTS_MOST);
	if (!dfg_reserve(&r->worker, &r->capacity, r->count + count, sizeof *r->worker))
		return dfg_no_memory("the hosts file");
	for (uint32_t i = 0; i < count; i++)
		r->worker[r->count++] = *worker;
	return NULL;
}

/* A host listed twice in a file could have contradicting options. */
static struct dfg_err *check_new(const struct reading *r, const struct dfg_worker_host *worker)
{
	for (uint32_t i = 0; r->file && i < r->count; i++)
		if (!r->worker[i].local && !strcmp(r->worker[i].name, worker->name) && !strcmp(r->worker[i].job, worker->job))
			return DFG_ERR(r->fault, "'%s' is listed twice: slots=2 gives two workers there", worker->name);
	return NULL;
}

/* A worker that this run only connects to. */
static struct dfg_err *check_attached(const struct reading *r, const struct entry *entry)
{
	static const enum option of_start[] = {SSH, ADDR, DFG, SLOTS};
	for (size_t i = 0; i < sizeof of_start / sizeof *of_start; i++)
		if (entry->option[of_start[i]])
			return DFG_ERR(r->fault,
				"%s= does not apply to a worker that runs already: with --secret-file, tcp= is where one listens",
				option_name[of_start[i]]);
	return NULL;
}

static struct dfg_err *add_remote(struct reading *r, const struct entry *entry, struct dfg_worker_host *worker)
{
	uint32_t slots = 1;
	DFG_TRY(check_name(r, "host", entry->name, strlen(entry->name)));
	worker->name = worker->ssh = entry->name;
	if (entry->option[SSH])
		DFG_TRY(read_ssh(r, entry->option[SSH], worker));
	if (entry->option[ADDR])
		DFG_TRY(check_address(r, entry->option[ADDR], strlen(entry->option[ADDR])));
	worker->addr = entry->option[ADDR];
	if (entry->option[SLOTS])
		DFG_TRY(read_number(r, entry->option[SLOTS], "slots=", DFG_HOSTS_MOST, &slots));
	worker->attached = r->attached && entry->option[TCP];
	if (worker->attached)
		DFG_TRY(check_attached(r, entry));
	DFG_TRY(read_listening(r, entry, slots, worker));
	DFG_TRY(check_new(r, worker));
	return add_workers(r, worker, slots);
}

static struct dfg_err *add_local(struct reading *r, const struct entry *entry, struct dfg_worker_host *worker)
{
	static const enum option not_here[] = {SSH, ADDR, SLOTS, TCP};
	uint32_t count;
	DFG_TRY(read_number(r, entry->name + strlen("local:"), "N of local:N", DFG_HOSTS_MOST, &count));
	for (size_t i = 0; i < sizeof not_here / sizeof *not_here; i++)
		if (entry->option[not_here[i]])
			return DFG_ERR(r->fault, "%s= does not apply to processes of this machine", option_name[not_here[i]]);
	DFG_TRY(read_listening(r, entry, count, worker));
	worker->local = true;
	return add_workers(r, worker, count);
}

static struct dfg_err *add_entry(struct reading *r, const struct entry *entry)
{
	struct dfg_worker_host worker = {.job = "worker"};
	if (entry->option[JOB])
		DFG_TRY(read_job(r, entry->option[JOB], &worker));
	if (entry->option[DFG])
		DFG_TRY(read_program(r, entry->option[DFG], &worker));
	bool local = !strncmp(entry->name, "local:", 6);
	return local ? add_local(r, entry, &worker) : add_remote(r, entry, &worker);
}

static struct dfg_err *read_option(const struct reading *r, char *word, struct entry *entry)
{
	char *equals = strchr(word, '=');
	if (!equals)
		return DFG_ERR(r->fault, "'%.80s' is not an option: an option is KEY=VALUE, and a line has one host", word);
	*equals = '\0';
	struct dfg_nearest nearest = {.word = word};
	for (size_t i = 0; i < OPTIONS; i++) {
		dfg_nearest_offer(&nearest, option_name[i]);
		if (strcmp(word, option_name[i]))
			continue;
		if (entry->option[i])
			return DFG_ERR(r->fault, "%s= is given twice", word);
		entry->option[i] = equals + 1;
		return NULL;
	}
	return DFG_ERR(r->fault, "there is no option '%.80s='%s%s%s", word, nearest.best ? ", did you mean '" : "",
		nearest.best ? nearest.best : "",
		nearest.best ? "='?" : "; the options are job, ssh, addr, slots, dfg, tcp and port");
}

/* The next word of the line, or NULL; ends it with a 0. */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t\r");
	if (!*word || *word == '#')
		return NULL;
	char *end = word + strcspn(word, " \t\r");
	*line = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static struct dfg_err *read_line(struct reading *r, char *line)
{
	struct entry entry = {.name = next_word(&line)};
	char *word;
	if (!entry.name)
		return NULL;
	for (const char *c = entry.name; *c; c++)
		if ((unsigned char)*c < ' ')
			return check_name(r, "host", entry.name, strlen(entry.name));
	while ((word = next_word(&line)))
		DFG_TRY(read_option(r, word, &entry));
	return add_entry(r, &entry);
}

static struct dfg_err *read_file(struct reading *r, const char *path)
{
	struct dfg_blob blob;
	DFG_TRY(dfg_blob_open(path, FILE_MOST, &blob));
	char *text = dfg_arena_copy(r->arena, blob.bytes, blob.size);
	struct dfg_err *err = !text ? dfg_no_memory("the hosts file")
						  : blob.size && memchr(text, 0, blob.size)
							  ? DFG_ERR(DFG_CONFIG, "%s: is not a text file, as it contains a zero byte", path)
							  : NULL;
	dfg_blob_close(&blob);
	int number = 0;
	for (char *next; !err && text; text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		err = dfg_err_note(read_line(r, text), "%s:%d", path, ++number);
	}
	if (!err && !r->count)
		err = DFG_ERR(DFG_CONFIG, "%s: lists no host", path);
	return err;
}

static struct dfg_err *read_list(struct reading *r, const char *list)
{
	char *text = dfg_arena_copy(r->arena, list, strlen(list));
	struct dfg_err *err = text ? NULL : dfg_no_memory("the hosts file");
	for (char *next; !err && text; text = next) {
		next = strchr(text, ',');
		if (next)
			*next++ = '\0';
		err = add_entry(r, &(struct entry){.name = text});
	}
	return dfg_err_note(err, "hosts '%s'", list);
}

void dfg_hosts_find_machines(struct dfg_hosts *hosts)
{
	for (uint32_t i = 0; i < hosts->count; i++) {
		struct dfg_worker_host *worker = &hosts->worker[i];
		worker->machine = i;
		for (uint32_t k = i; k--;) {
			const struct dfg_worker_host *other = &hosts->worker[k];
			if (worker->local ? other->local : !other->local && !strcmp(other->name, worker->name))
				worker->machine = k;
		}
	}
}

/* Sets label, task, device and machine of each worker, from those before it. */
static struct dfg_err *number_all(const struct reading *r, struct dfg_hosts *hosts)
{
	const char **device = dfg_arena_zeros(r->arena, r->count, sizeof *device);
	for (uint32_t i = 0; device && i < r->count; i++) {
		struct dfg_worker_host *worker = &hosts->worker[i];
		worker->entry = i;
		for (uint32_t k = i; k--;)
			worker->task += !strcmp(hosts->worker[k].job, worker->job);
		worker->label = dfg_arena_print(r->arena, "w%u", i);
		worker->name = worker->local ? worker->label : worker->name;
		worker->device = device[i] =
			dfg_arena_print(r->arena, "/job:%s/task:%u/device:CPU:0", worker->job, worker->task);
		if (!worker->label || !worker->device)
			return dfg_no_memory("the hosts file");
	}
	dfg_hosts_find_machines(hosts);
	hosts->device = device;
	return device ? NULL : dfg_no_memory("the hosts file");
}

static struct dfg_err *read_any(
	const char *text, bool file, bool attached, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	struct reading r = {.arena = arena, .file = file, .attached = attached, .fault = file ? DFG_CONFIG : DFG_USAGE};
	*out_hosts = (struct dfg_hosts){0};
	struct dfg_err *err = file ? read_file(&r, text) : read_list(&r, text);
	if (!err && !(out_hosts->worker = dfg_arena_zeros(arena, r.count, sizeof *r.worker)))
		err = dfg_no_memory("the hosts file");
	if (!err) {
		memcpy(out_hosts->worker, r.worker, r.count * sizeof *r.worker);
		out_hosts->count = r.count;
		err = number_all(&r, out_hosts);
	}
	dfg_free(r.worker);
	return err;
}

static bool is_file(const char *hosts)
{
	struct stat there;
	const bool exists = !stat(hosts, &there) && !S_ISDIR(there.st_mode); /* a host may have the name of a folder */
	return exists || strchr(hosts, '/') || !strcmp(hosts, "-");
}

struct dfg_err *dfg_hosts_read(const char *hosts, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	return read_any(hosts, is_file(hosts), false, arena, out_hosts);
}

struct dfg_err *dfg_hosts_read_attached(const char *hosts, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	return read_any(hosts, is_file(hosts), true, arena, out_hosts);
}

struct dfg_err *dfg_hosts_read_list(const char *list, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	return read_any(list, false, false, arena, out_hosts);
}

struct dfg_err *dfg_hosts_find(const struct dfg_hosts *hosts, const char *name, uint32_t *out_number)
{
	struct dfg_nearest nearest = {.word = name};
	for (uint32_t i = 0; i < hosts->count; i++) {
		const struct dfg_worker_host *worker = &hosts->worker[i];
		if (!strcmp(name, worker->name) || !strcmp(name, worker->label)) {
			*out_number = i;
			return NULL;
		}
		dfg_nearest_offer(&nearest, worker->name);
		dfg_nearest_offer(&nearest, worker->label);
	}
	return DFG_ERR(DFG_DATA, "host '%.80s' is not in --hosts%s%s%s", name, nearest.best ? "; did you mean '" : "",
		nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}
