#pragma once

#include "lib/base/err.h"

/*
 * Libraries that are opened when a command first needs them, so that those that do not need them start at once. A library
 * is a .def file with a row for each function that is used; its header is
 *
 *     #define FUNCTION(name) extern __typeof__(name) *dfg_##name;
 *     #include "remote/curl.def"
 *     #undef FUNCTION
 *
 * and its functions are called by these names: dfg_curl_easy_init().
 */
struct dfg_dynamic_library {
	const char *file;    /* "libcurl.so.4" */
	const char *package; /* of Debian, for messages */
	const struct dfg_library_function {
		const char *name;
		void **to;
	} * function; /* ends with a NULL name */
};

/* Opens it once and for the life of the program; any thread. DFG_CONFIG, naming file or function, where it is not there. */
DFG_MUST_CHECK struct dfg_err *dfg_library_open(const struct dfg_dynamic_library *library);
