#define _GNU_SOURCE
#include "lib/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Not every file system has files without a name: there the name is taken away at once. */
static int open_named(const char *folder)
{
	char path[4096];
	int fd = -1;
	for (unsigned i = 0; i < 100; i++) {
		int length = snprintf(path, sizeof path, "%s/.dfg-scratch-%ld-%u", folder, (long)getpid(), i);
		if (length < 0 || (size_t)length >= sizeof path) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = dfg_fs->open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd >= 0 && dfg_fs->unlink(path)) {
		int why = errno;
		dfg_fs->close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

struct dfg_err *dfg_fs_open_scratch(const char *folder, int *out_fd)
{
	int fd = dfg_fs->open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_named(folder);
	if (fd < 0)
		return DFG_ERR(
			dfg_code_of_errno(errno, DFG_NO_OUTPUT), "cannot create a scratch file in %s: %s", folder, strerror(errno));
	*out_fd = fd;
	return NULL;
}

struct dfg_err *dfg_fs_write_at(int fd, const char *folder, const void *bytes, size_t count, uint64_t offset)
{
	for (const char *from = bytes; count;) {
		ssize_t put = dfg_fs->write_at(fd, from, count, (off_t)offset);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return DFG_ERR(DFG_IO, "cannot write the scratch file in %s: %s", folder, strerror(put ? errno : ENOSPC));
		from += put;
		offset += (uint64_t)put;
		count -= (size_t)put;
	}
	return NULL;
}

struct dfg_err *dfg_fs_read_at(int fd, const char *folder, void *bytes, size_t count, uint64_t offset)
{
	for (char *to = bytes; count;) {
		ssize_t got = dfg_fs->read_at(fd, to, count, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return DFG_ERR(dfg_code_of_errno(errno, DFG_IO), "cannot read the scratch file in %s: %s", folder,
				got ? strerror(errno) : "the file was truncated");
		to += got;
		offset += (uint64_t)got;
		count -= (size_t)got;
	}
	return NULL;
}
