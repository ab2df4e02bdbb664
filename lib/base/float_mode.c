#include "lib/base/float_mode.h"

#include <string.h>

const char *const dfg_denormals_name[2] = {[DFG_FLUSH] = "flush", [DFG_KEEP] = "keep"};

bool dfg_denormals_find(const char *word, enum dfg_denormals *out_denormals)
{
	*out_denormals = strcmp(word, dfg_denormals_name[DFG_KEEP]) ? DFG_FLUSH : DFG_KEEP;
	return !strcmp(word, dfg_denormals_name[*out_denormals]);
}
