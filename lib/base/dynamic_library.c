#include "lib/base/dynamic_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

/* dlopen() tells the reason only in words: descriptors have run out if none is left for another file either. */
static enum dfg_code code_of_failure(void)
{
	int fd = open("/", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return dfg_code_of_errno(errno, DFG_CONFIG);
	close(fd);
	return DFG_CONFIG;
}

static struct dfg_err *open_all(const struct dfg_dynamic_library *library)
{
	const struct dfg_library_function *function = library->function;
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return DFG_ERR(
			code_of_failure(), "cannot open %s (Debian's package %s): %s", library->file, library->package, dlerror());
	for (; function->name; function++)
		if (!(*function->to = dlsym(handle, function->name)))
			return DFG_ERR(DFG_CONFIG, "%s lacks %s", library->file, function->name);
	return NULL;
}

static bool is_open(const struct dfg_dynamic_library *library)
{
	const struct dfg_library_function *function = library->function;
	while (function->name && *function->to)
		function++;
	return !function->name;
}

struct dfg_err *dfg_library_open(const struct dfg_dynamic_library *library)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	struct dfg_err *err = is_open(library) ? NULL : open_all(library);
	pthread_mutex_unlock(&lock);
	return err;
}
