#include "remote/ssh_process.h"

#include "remote/elf.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * A shell tells in its own words why it cannot execute a program, or not at all (bash: "Success"). A second command on
 * the same connection finds the program's path, its first bytes and the processor, for a better message.
 */
enum { BLOCK = 4096, ANSWER_MOST = 1 << 16 };

/* Each answer has a line of its own, marked, since a login shell may print as well. $1: the program; "": none. */
static const char script[] =
	"f=$(command -v \"$1\") && printf \"\\n#dfg-path %s\\n#dfg-head %s\\n\" \"$f\" "
	"\"$(head -c 20 \"$f\" | od -An -v -tx1 | tr -d \" \\n\")\"; "
	"printf \"\\n#dfg-machine %s\\n\" \"$(uname -m)\"";

struct answers {
	char path[512], machine[32];
	unsigned char head[DFG_ELF_HEADER];
	size_t n_head;
};

static struct dfg_err *read_all(struct dfg_ssh *ssh, ssh_channel channel, struct dfg_text *out)
{
	char bytes[BLOCK];
	dfg_ssh_begin(ssh);
	while (out->length < ANSWER_MOST && !dfg_ssh_channel_is_closed(channel)) {
		const int count = dfg_ssh_channel_read_nonblocking(channel, bytes, sizeof bytes, 0);
		if (count > 0)
			dfg_text_put(out, bytes, (size_t)count);
		else if ((count < 0 && count != SSH_AGAIN) || dfg_ssh_channel_is_eof(channel))
			break;
		else
			DFG_TRY(dfg_ssh_turn(ssh, "answer"));
	}
	return dfg_text_check(out);
}

/* The text of the marked line; "": there is none. */
static void get_line(const char *text, const char *mark, char *out_value, size_t size)
{
	const char *found = strstr(text, mark), *value = found ? found + strlen(mark) : "";
	const size_t length = strcspn(value, "\r\n"), used = length < size ? length : size - 1;
	memcpy(out_value, value, used);
	out_value[used] = '\0';
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, c) : NULL;
	return found ? (int)(found - digits) : -1;
}

static void parse(const char *text, struct answers *out)
{
	char hex[2 * DFG_ELF_HEADER + 1];
	get_line(text, "\n#dfg-path ", out->path, sizeof out->path);
	get_line(text, "\n#dfg-head ", hex, sizeof hex);
	get_line(text, "\n#dfg-machine ", out->machine, sizeof out->machine);
	for (const char *s = hex; digit(s[0]) >= 0 && digit(s[1]) >= 0; s += 2)
		out->head[out->n_head++] = (unsigned char)(digit(s[0]) << 4 | digit(s[1]));
}

static struct dfg_err *ask(struct dfg_ssh *ssh, const char *program, struct answers *out)
{
	struct dfg_text command = {0}, text = {0};
	dfg_text_add(&command, "exec sh -c '%s' sh ", script);
	dfg_ssh_add_program(&command, program);
	ssh_channel channel = dfg_ssh_channel_new(ssh->session);
	struct dfg_err *err = channel ? dfg_text_check(&command) : dfg_no_memory("a command");
	if (!err)
		err = dfg_ssh_channel_start(ssh, channel, command.s);
	if (!err)
		err = read_all(ssh, channel, &text);
	if (!err && text.s)
		parse(text.s, out);
	if (channel)
		dfg_ssh_channel_free(channel);
	dfg_text_release(&command);
	dfg_text_release(&text);
	return err;
}

/* With --push, the program is this one. */
static void read_own_head(struct answers *answers)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const ssize_t count = fd < 0 ? 0 : read(fd, answers->head, sizeof answers->head);
	answers->n_head = count > 0 ? (size_t)count : 0;
	if (fd >= 0)
		close(fd);
}

struct dfg_err *dfg_ssh_process_diagnose(struct dfg_ssh_process *process)
{
	const bool push = process->options.push;
	const char *program = process->host->dfg ? process->host->dfg : "dfg";
	struct answers answers = {0};
	struct dfg_err *unknown = ask(&process->ssh, program, &answers);
	if (unknown) {
		dfg_err_free(unknown); /* the shell's own words are returned */
		return NULL;
	}
	if (push)
		read_own_head(&answers);
	struct dfg_err *err = NULL;
	if (*answers.machine)
		err =
			dfg_elf_check(push ? "this program (--push)" : answers.path, answers.head, answers.n_head, answers.machine);
	if (!err && *answers.path && process->end.status == 127 && !push)
		err = DFG_ERR(DFG_UNAVAILABLE, "%s cannot be run there: %s", answers.path, process->end.last_line);
	return err;
}
