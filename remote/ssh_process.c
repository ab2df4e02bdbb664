#include "remote/ssh_process.h"

#include "lib/base/io.h"

#include <errno.h>
#include <string.h>

enum { BLOCK = 32768, LINE_MOST = 1 << 20, PUSH_BLOCK = 65536 };

/* Adds one word of a command line, quoted so that no shell interprets it. */
static void add_quoted(struct dfg_text *text, const char *word)
{
	const bool plain =
		*word && !word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-")];
	if (plain) {
		dfg_text_add(text, "%s", word);
		return;
	}
	dfg_text_add(text, "'");
	for (; *word; word++)
		dfg_text_put(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
	dfg_text_add(text, "'");
}

/* Commands start in the home directory, so ~/ is removed and needs no shell. */
void dfg_ssh_add_program(struct dfg_text *text, const char *path)
{
	const bool home = path && path[0] == '~' && path[1] == '/';
	if (home)
		dfg_text_add(text, "./");
	add_quoted(text, !path ? "dfg" : home ? path + 2 : path);
}

/*
 * This program, sent as the first blocks of stdin: the file is removed before it runs, so that it never remains. dd
 * reads whole blocks and no byte after them.
 */
static struct dfg_err *add_push(struct dfg_ssh_process *process, struct dfg_text *command)
{
	static const char zeros[PUSH_BLOCK];
	struct dfg_blob blob;
	DFG_TRY(dfg_blob_open("/proc/self/exe", 0, &blob));
	const size_t blocks = (blob.size + PUSH_BLOCK - 1) / PUSH_BLOCK;
	dfg_text_put(&process->queue, blob.bytes, blob.size);
	dfg_text_put(&process->queue, zeros, blocks * PUSH_BLOCK - blob.size);
	dfg_blob_close(&blob);
	dfg_text_add(command,
		"exec sh -c 'umask 077; f=$(mktemp \"${TMPDIR:-/tmp}/dfg.XXXXXXXX\") || exit 73; "
		"trap \"rm -f \\\"$f\\\"\" EXIT; trap \"exit 1\" HUP INT TERM; "
		"dd bs=%d count=%zu iflag=fullblock of=\"$f\" 2>/dev/null; "
		"[ \"$(wc -c <\"$f\")\" -eq %zu ] || { echo no space for dfg in \"${TMPDIR:-/tmp}\" >&2; exit 74; }; "
		"chmod 700 \"$f\"; exec 9<\"$f\"; rm -f \"$f\"; exec /proc/self/fd/9 \"$@\"' dfg",
		PUSH_BLOCK, blocks, blocks * PUSH_BLOCK);
	return NULL;
}

static struct dfg_err *write_command(
	struct dfg_ssh_process *process, const char *const *argument, struct dfg_text *command)
{
	if (process->options.push)
		DFG_TRY(add_push(process, command));
	else {
		dfg_text_add(command, "exec "); /* not every shell replaces itself: its end is then the program's */
		dfg_ssh_add_program(command, process->host->dfg);
	}
	for (; *argument; argument++) {
		dfg_text_add(command, " ");
		add_quoted(command, *argument);
	}
	return dfg_text_check(command);
}

static void see_status(ssh_session session, ssh_channel channel, int status, void *arg)
{
	(void)session, (void)channel;
	struct dfg_ssh_process *process = arg;
	process->end.status = status;
	process->status_came = true;
}

/* The only callback in which libssh reports an end by a signal. */
static void see_signal(ssh_session session, ssh_channel channel, const char *signal, int core, const char *message,
	const char *language, void *arg)
{
	(void)session, (void)channel, (void)core, (void)message, (void)language;
	struct dfg_ssh_process *process = arg;
	strncpy(process->end.signal, signal ? signal : "?", sizeof process->end.signal - 1);
	process->status_came = true;
}

struct dfg_err *dfg_ssh_channel_start(struct dfg_ssh *ssh, ssh_channel channel, const char *command)
{
	int status;
	dfg_ssh_begin(ssh);
	while ((status = dfg_ssh_channel_open_session(channel)) == SSH_AGAIN)
		DFG_TRY(dfg_ssh_turn(ssh, "open a session"));
	if (!status)
		while ((status = dfg_ssh_channel_request_exec(channel, command)) == SSH_AGAIN)
			DFG_TRY(dfg_ssh_turn(ssh, "start a command"));
	if (status)
		return DFG_ERR(
			DFG_UNAVAILABLE, "%s cannot start a command: %s", ssh->entry.host_name, dfg_ssh_get_error(ssh->session));
	return NULL;
}

static struct dfg_err *request(struct dfg_ssh_process *process, const char *command)
{
	struct dfg_ssh *ssh = &process->ssh;
	if (!(process->channel = dfg_ssh_channel_new(ssh->session)))
		return dfg_no_memory("an ssh connection");
	process->callbacks = (struct ssh_channel_callbacks_struct){
		.userdata = process, .channel_exit_status_function = see_status, .channel_exit_signal_function = see_signal};
	ssh_callbacks_init(&process->callbacks);
	dfg_ssh_set_channel_callbacks(process->channel, &process->callbacks);
	return dfg_ssh_channel_start(ssh, process->channel, command);
}

struct dfg_err *dfg_ssh_process_exec(struct dfg_ssh_process *process, const char *const *argument)
{
	struct dfg_text command = {0};
	struct dfg_err *err = write_command(process, argument, &command);
	if (!err)
		err = request(process, command.s);
	dfg_text_release(&command);
	return err;
}

/*
 * Takes a line without its newline: the first of stdout is the hello, those of stderr are passed to `say`. Nothing else of
 * stdout is shown: a worker prints no more there, and another program may repeat the secret or print without an end.
 */
static void take_line(struct dfg_ssh_process *process, bool is_stderr)
{
	struct dfg_text *line = &process->line[is_stderr];
	const struct dfg_ssh_options *options = &process->options;
	if (!line->s) /* out of memory: the line is lost */
		return;
	if (line->length && line->s[line->length - 1] == '\r')
		line->s[--line->length] = '\0';
	if (!is_stderr) {
		if (!process->hello.s) {
			process->hello = *line;
			*line = (struct dfg_text){0};
		}
		line->length = 0;
		return;
	}
	if (line->length)
		memcpy(process->end.last_line, line->s,
			1 + (line->length < sizeof process->end.last_line ? line->length : sizeof process->end.last_line - 2));
	if (options->say && !process->deaf)
		options->say(options->arg, process->host, line->s);
	line->length = 0;
}

static void take(struct dfg_ssh_process *process, bool is_stderr, const char *bytes, size_t count)
{
	struct dfg_text *line = &process->line[is_stderr];
	if (!is_stderr && process->whole) {
		dfg_text_put(process->whole, bytes, count);
		return;
	}
	for (const char *end = bytes + count; bytes < end;) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		const char *stop = newline ? newline : end;
		if (line->length < LINE_MOST)
			dfg_text_put(line, bytes, (size_t)(stop - bytes));
		if (newline)
			take_line(process, is_stderr);
		bytes = stop + (newline != NULL);
	}
}

static bool read_some(struct dfg_ssh_process *process, bool is_stderr)
{
	char bytes[BLOCK];
	int count = dfg_ssh_channel_read_nonblocking(process->channel, bytes, sizeof bytes, is_stderr);
	if (count > 0 && !is_stderr && !process->end.heard)
		process->end.heard = dfg_now();
	if (count > 0)
		take(process, is_stderr, bytes, (size_t)count);
	return count > 0;
}

/* The caller holds the lock. */
static bool write_some(struct dfg_ssh_process *process)
{
	struct dfg_text *queue = &process->queue;
	const size_t left = queue->length - process->sent;
	int count = 0;
	if (left)
		count =
			dfg_ssh_channel_write(process->channel, queue->s + process->sent, left < BLOCK ? (uint32_t)left : BLOCK);
	process->sent += count > 0 ? (size_t)count : 0;
	if (process->sent == queue->length && queue->length) {
		dfg_text_release(queue); /* a pushed program is large */
		process->sent = 0;
	}
	if (process->closing && !queue->length && !process->eof_sent)
		process->eof_sent = dfg_ssh_channel_send_eof(process->channel) == SSH_OK;
	return count > 0;
}

/* A last line may lack its newline. */
static void finish(struct dfg_ssh_process *process)
{
	process->over = true;
	process->end.lost = !process->status_came;
	for (int i = 0; i < 2; i++)
		if (process->line[i].length)
			take_line(process, i);
	if (process->end.lost && process->ssh.proxy)
		dfg_ssh_proxy_tell_end(process->ssh.proxy, process->end.last_line, sizeof process->end.last_line);
}

/* After the end of both outputs, reads process no further packets: polling the exit status does. */
static bool has_ended(struct dfg_ssh_process *process)
{
	const bool silent = dfg_ssh_channel_is_eof(process->channel);
	if (silent && !process->status_came)
		dfg_ssh_channel_get_exit_status(process->channel);
	return (silent && process->status_came) || dfg_ssh_channel_is_closed(process->channel) ||
		   !dfg_ssh_is_connected(process->ssh.session);
}

bool dfg_ssh_process_move(struct dfg_ssh_process *process)
{
	bool moved = read_some(process, false);
	moved |= read_some(process, true);
	pthread_mutex_lock(&process->lock);
	moved |= write_some(process);
	pthread_mutex_unlock(&process->lock);
	if (!moved && has_ended(process))
		finish(process);
	return moved || process->over;
}

static struct dfg_err *missing(const struct dfg_ssh_process *process)
{
	const char *program = process->host->dfg ? process->host->dfg : "dfg";
	return DFG_ERR(DFG_UNAVAILABLE,
		"no dfg there: '%s' is not found (set dfg=PATH in the hosts file, or send this program with --push)", program);
}

struct dfg_err *dfg_ssh_end_error(const struct dfg_ssh_end *end)
{
	const bool line = end->last_line[0];
	const char *open = line ? ": " : "", *last = end->last_line;
	if (end->lost)
		return DFG_ERR(DFG_UNAVAILABLE, "the connection was lost%s%s", open, last);
	if (end->status < 0)
		return DFG_ERR(DFG_UNAVAILABLE, "dfg was ended by signal %s%s%s", end->signal, open, last);
	return DFG_ERR(DFG_UNAVAILABLE, "dfg ended with status %d%s%s", end->status, open, last);
}

struct dfg_err *dfg_ssh_end_reason(struct dfg_ssh_process *process)
{
	const struct dfg_ssh_end *end = &process->end;
	const bool not_executed = end->status == 126 || end->status == 127;
	struct dfg_err *err = not_executed ? dfg_ssh_process_diagnose(process) : NULL;
	if (err)
		return err;
	if (end->status == 127 && !process->options.push)
		return missing(process);
	return dfg_ssh_end_error(end);
}
