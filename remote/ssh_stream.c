#define _GNU_SOURCE
#include "remote/ssh_stream.h"

#include "lib/base/io.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SECONDS = 10, BYTES_MOST = 16 << 20, PIPES = 0x50495045 /* PIPEFS_MAGIC */ };

/* The copies live as long as the process: another host, or another attempt, reads the same file. */
static struct stream {
	struct stream *next;
	dev_t device;
	ino_t inode;
	int copy;
} * streams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int copy_of(const struct stat *file)
{
	for (const struct stream *stream = streams; stream; stream = stream->next)
		if (stream->device == file->st_dev && stream->inode == file->st_ino)
			return stream->copy;
	return -1;
}

/* Waits for bytes or for the end. A FIFO that no program has opened for writing has neither. */
static struct dfg_err *wait_for_writer(int fd, const char *path, uint64_t deadline)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	for (;;) {
		const uint64_t now = dfg_now();
		if (now >= deadline)
			return DFG_ERR(DFG_NO_INPUT, "%s: is a pipe, and its end did not arrive within %d s", path, SECONDS);
		const int ready = poll(&poller, 1, (int)((deadline - now) / 1000000) + 1);
		if (ready > 0)
			return NULL;
		if (ready < 0 && errno != EINTR)
			return DFG_ERR(DFG_IO, "%s: cannot wait for its bytes: %s", path, strerror(errno));
	}
}

/* The writers of a nameless pipe exist before the pipe is opened again; those of a FIFO may come later. */
static bool has_name(int fd)
{
	struct statfs system;
	return fstatfs(fd, &system) || system.f_type != PIPES;
}

static struct dfg_err *copy_all(int fd, const char *path, int copy)
{
	const uint64_t deadline = dfg_now() + SECONDS * UINT64_C(1000000000);
	char bytes[4096];
	size_t total = 0;
	bool wait = has_name(fd);
	for (;;) {
		if (wait)
			DFG_TRY(wait_for_writer(fd, path, deadline));
		const ssize_t got = dfg_fs->read(fd, bytes, sizeof bytes);
		if (!got)
			return NULL;
		wait = true;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "%s: %s", path, strerror(errno));
		if (got < 0)
			continue;
		total += (size_t)got;
		if (total > BYTES_MOST)
			return DFG_ERR(DFG_DATA, "%s: larger than the limit of %d bytes", path, BYTES_MOST);
		DFG_TRY(dfg_fs_write_all(copy, path, bytes, (size_t)got));
	}
}

static struct dfg_err *read_stream(const char *path, const struct stat *file, int *out_copy)
{
	struct stream *stream = dfg_zeros(1, sizeof *stream);
	if (!stream)
		return dfg_no_memory("a pipe's bytes");
	const int fd = dfg_fs->open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	*stream = (struct stream){streams, file->st_dev, file->st_ino, memfd_create("dfg-ssh", MFD_CLOEXEC)};
	struct dfg_err *err = NULL;
	if (fd < 0 || stream->copy < 0)
		err = DFG_ERR(dfg_code_of_errno(errno, DFG_NO_INPUT), "%s: cannot read: %s", path, strerror(errno));
	if (!err)
		err = copy_all(fd, path, stream->copy);
	if (fd >= 0)
		dfg_fs->close(fd);
	if (!err) {
		*out_copy = stream->copy;
		streams = stream;
		return NULL;
	}
	if (stream->copy >= 0)
		close(stream->copy);
	dfg_free(stream);
	return err;
}

struct dfg_err *dfg_ssh_stream_path(const char *path, struct dfg_arena *arena, const char **out_path)
{
	struct stat file;
	struct dfg_err *err = NULL;
	*out_path = path;
	if (stat(path, &file) || !S_ISFIFO(file.st_mode))
		return NULL;
	pthread_mutex_lock(&lock);
	int copy = copy_of(&file);
	if (copy < 0)
		err = read_stream(path, &file, &copy);
	pthread_mutex_unlock(&lock);
	if (!err && !(*out_path = dfg_arena_print(arena, "/proc/self/fd/%d", copy)))
		err = dfg_no_memory("a file's name");
	return err;
}
