#include "remote/curl.h"

#define FUNCTION(name) __typeof__(name) *dfg_##name;
#include "remote/curl.def"
#undef FUNCTION

static const struct dfg_library_function functions[] = {
#define FUNCTION(name) {#name, (void **)&dfg_##name},
#include "remote/curl.def"
#undef FUNCTION
	{NULL, NULL}};

const struct dfg_dynamic_library dfg_curl = {"libcurl.so.4", "libcurl4", functions};
