#pragma once

#include "lib/base/err.h"

/*
 * Libraries that are opened when a command first needs them, so that commands without them start at once. A library is
 * a .def file with a row for each function that is used; its header is
 *
 *     #define FUNCTION(name) extern __typeof__(name) *dfg_##name;
 *     #include "remote/curl.def"
 *     #undef FUNCTION
 *
 * and its functions are called by these names: dfg_curl_easy_init().
 */
struct dfg_dynamic_library {
	const char *file;    /* "libcurl.so.4" */
	const char *package; /* the Debian package, for messages */
	const struct dfg_library_function {
		const char *name;
		void **to;
	} * function; /* ends with a NULL name */
};

/*
 * Opens the library once, for the life of the program; any thread. DFG_CONFIG, naming the file or function, where it is
 * missing.
 */
DFG_MUST_CHECK struct dfg_err *dfg_library_open(const struct dfg_dynamic_library *library);
