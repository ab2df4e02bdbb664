#include "remote/libssh.h"

#define FUNCTION(name) __typeof__(name) *dfg_##name;
#include "remote/libssh.def"
#undef FUNCTION

static const struct dfg_library_function functions[] = {
#define FUNCTION(name) {#name, (void **)&dfg_##name},
#include "remote/libssh.def"
#undef FUNCTION
	{0},
};

struct dfg_err *dfg_libssh_open(void)
{
	static const struct dfg_dynamic_library libssh = {"libssh.so.4", "libssh-4", functions};
	return dfg_library_open(&libssh);
}
