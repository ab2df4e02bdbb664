#include "lib/base/dynamic_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

static struct dfg_err *open_all(const struct dfg_dynamic_library *library)
{
	const struct dfg_library_function *function = library->function;
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return DFG_ERR(
			DFG_CONFIG, "cannot open %s (Debian's package %s): %s", library->file, library->package, dlerror());
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
