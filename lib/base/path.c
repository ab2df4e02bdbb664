#include "lib/base/path.h"

#include <string.h>
#include <sys/stat.h>

/* The identity of a file: device and inode, and the name if it does not exist yet (else NULL). */
struct file_id {
	dev_t device;
	ino_t inode;
	const char *name;
};

/* False if nothing can be lost at that path. */
static bool find_file_id(const char *path, struct file_id *out_id)
{
	char folder[4096] = ".";
	struct stat stat_;
	const char *slash = strrchr(path, '/'), *name = NULL;
	if (stat(path, &stat_)) {
		size_t length = slash ? (size_t)(slash - path) + 1 : 0;
		if (length >= sizeof folder)
			return false;
		if (length) {
			memcpy(folder, path, length);
			folder[length] = '\0';
		}
		name = slash ? slash + 1 : path;
		if (stat(folder, &stat_))
			return false;
	} else if (!S_ISREG(stat_.st_mode)) {
		return false;
	}
	*out_id = (struct file_id){stat_.st_dev, stat_.st_ino, name};
	return true;
}

bool dfg_same_file(const char *a, const char *b)
{
	struct file_id x, y;
	if (!strcmp(a, "-") || !strcmp(b, "-") || !find_file_id(a, &x) || !find_file_id(b, &y))
		return false;
	if (x.device != y.device || x.inode != y.inode || !x.name != !y.name)
		return false;
	return !x.name || !strcmp(x.name, y.name);
}

bool dfg_is_directory(const char *path)
{
	struct stat stat_;
	return !stat(path, &stat_) && S_ISDIR(stat_.st_mode);
}
