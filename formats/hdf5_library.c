#include "formats/hdf5_private.h"
#include "lib/base/dynamic_library.h"

#include <pthread.h>
#include <stdio.h>

#define FUNCTION(result, name, arguments) result(*dfg_##name) arguments;
#include "formats/hdf5.def"
#undef FUNCTION

static const struct dfg_library_function functions[] = {
#define FUNCTION(result, name, arguments) {#name, (void **)&dfg_##name},
#include "formats/hdf5.def"
#undef FUNCTION
	{NULL, NULL}};

/* The versions 1.10 and 1.14; the first is the one that a message names. */
static const struct dfg_dynamic_library libraries[] = {
	{"libhdf5_serial.so.103", "libhdf5-103", functions}, {"libhdf5_serial.so.310", "libhdf5-310", functions}};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct dfg_err *open_library(void)
{
	struct dfg_err *err = dfg_library_open(&libraries[0]);
	for (size_t i = 1; err && i < sizeof libraries / sizeof *libraries; i++) {
		struct dfg_err *other = dfg_library_open(&libraries[i]);
		if (other) {
			dfg_err_free(other);
			continue;
		}
		dfg_err_free(err);
		err = NULL;
	}
	return err;
}

/* Links to other files are not followed: a file must not choose which files are read. */
static struct dfg_err *prepare(void)
{
	static bool prepared;
	if (prepared)
		return NULL;
	if (dfg_H5dont_atexit() < 0 || dfg_H5open() < 0 || dfg_H5Lunregister(H5L_TYPE_EXTERNAL) < 0)
		return DFG_ERR(DFG_CONFIG, "libhdf5 does not start");
	prepared = true;
	return NULL;
}

struct dfg_err *dfg_hdf5_enter(void)
{
	pthread_mutex_lock(&lock);
	struct dfg_err *err = open_library();
	if (!err)
		err = prepare();
	if (err)
		pthread_mutex_unlock(&lock);
	else
		dfg_H5Eset_auto2(H5_DEFAULT, NULL, NULL); /* prints nothing; a setting of the thread */
	return err;
}

void dfg_hdf5_leave(void)
{
	pthread_mutex_unlock(&lock);
}

/* The first error of the stack is the cause. */
static int keep_first(unsigned n, const struct dfg_hdf5_error *error, void *data)
{
	if (!n && error->words)
		snprintf(data, 200, "%s", error->words);
	return 0;
}

struct dfg_err *dfg_hdf5_err(const char *what)
{
	char words[200] = "no reason given";
	dfg_H5Ewalk2(H5_DEFAULT, 0, keep_first, words);
	return DFG_ERR(DFG_DATA, "%s: libhdf5: %s", what, words);
}
