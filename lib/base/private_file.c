#include "lib/base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct dfg_err *read_line(int fd, const char *path, char *out_line, size_t capacity)
{
	size_t at = 0;
	for (; at < capacity; at++) {
		ssize_t got;
		while ((got = read(fd, out_line + at, 1)) < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_INPUT), "%s: cannot be read: %s", path, strerror(errno));
		if (!got || out_line[at] == '\n')
			break;
	}
	if (at == capacity)
		return DFG_ERR(DFG_REFUSED, "%s: the first line is longer than %zu characters", path, capacity - 1);
	if (memchr(out_line, '\0', at))
		return DFG_ERR(DFG_REFUSED, "%s: the first line is not text", path);
	out_line[at] = '\0';
	return at ? NULL : DFG_ERR(DFG_REFUSED, "%s: the first line is empty", path);
}

struct dfg_err *dfg_private_file_line(const char *path, char *out_line, size_t capacity)
{
	struct stat file;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return DFG_ERR(dfg_code_of_errno(errno, DFG_NO_INPUT), "cannot read %s: %s", path, strerror(errno));
	struct dfg_err *err = NULL;
	if (!fstat(fd, &file) && (file.st_mode & (S_IRWXG | S_IRWXO)))
		err = DFG_ERR(DFG_REFUSED, "%s: users other than its owner can read it: chmod 600", path);
	if (!err)
		err = read_line(fd, path, out_line, capacity);
	close(fd);
	if (err)
		explicit_bzero(out_line, capacity);
	return err;
}
