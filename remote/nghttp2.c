#include "remote/nghttp2.h"

#define FUNCTION(name) __typeof__(name) *dfg_##name;
#include "remote/nghttp2.def"
#undef FUNCTION

static const struct dfg_library_function functions[] = {
#define FUNCTION(name) {#name, (void **)&dfg_##name},
#include "remote/nghttp2.def"
#undef FUNCTION
	{NULL, NULL}};

const struct dfg_dynamic_library dfg_nghttp2 = {"libnghttp2.so.14", "libnghttp2-14", functions};
