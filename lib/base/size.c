#include "lib/base/size.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dfg_err *dfg_parse_size(const char *text, uint64_t *out_bytes)
{
	static const char prefix[] = "KMGT";
	char *end;
	errno = 0;
	double value = strtod(text, &end), unit = 1;
	const char *p = *end ? strchr(prefix, *end) : NULL;
	if (p) {
		end++;
		unit = pow(*end == 'i' ? 1024 : 1000, (double)(p - prefix + 1));
		end += *end == 'i';
	}
	end += *end == 'B';
	if (end == text || *end || errno || !(value >= 0) || value * unit >= 0x1p63)
		return DFG_ERR(DFG_USAGE, "'%s' is not a size such as 512, 64K, 2G or 1Gi", text);
	*out_bytes = (uint64_t)(value * unit);
	return NULL;
}
