#include "lib/graph/dtype.h"

#include <string.h>

size_t dfg_dtype_size(enum dfg_dtype dtype)
{
	static const uint8_t size[DFG_DTYPES] = {
#define SIZE(NAME, name, type, ...) [DFG_##NAME] = sizeof(type),
		DFG_EACH_type(SIZE)
#undef SIZE
	};
	return (unsigned)dtype < DFG_DTYPES ? size[dtype] : 0;
}

const char *dfg_dtype_name(enum dfg_dtype dtype)
{
	static const char *const name[DFG_DTYPES] = {
#define NAMED(NAME, name, ...) [DFG_##NAME] = #name,
		DFG_EACH_type(NAMED)
#undef NAMED
	};
	const char *found = (unsigned)dtype < DFG_DTYPES ? name[dtype] : NULL;
	return found ? found : "no dtype";
}

enum dfg_dtype dfg_dtype_find(const char *name, size_t length)
{
	for (int dtype = 1; dtype < DFG_DTYPES; dtype++) {
		const char *candidate = dfg_dtype_name((enum dfg_dtype)dtype);
		if (dfg_dtype_size((enum dfg_dtype)dtype) && strlen(candidate) == length && !memcmp(candidate, name, length))
			return (enum dfg_dtype)dtype;
	}
	return DFG_NO_DTYPE;
}

#define BIT(NAME, ...) | UINT64_C(1) << DFG_##NAME

/* The classes of types that signatures name. A class with f32 has the halves too. */
static const struct {
	const char *name;
	uint64_t types;
} classes[] = {
	{"float", 0 DFG_EACH_float(BIT) DFG_EACH_half(BIT)},
	{"half", 0 DFG_EACH_half(BIT)},
	{"signed", 0 DFG_EACH_signed(BIT)},
	{"unsigned", 0 DFG_EACH_unsigned(BIT)},
	{"int", 0 DFG_EACH_int(BIT)},
	{"real", 0 DFG_EACH_real(BIT) DFG_EACH_half(BIT)},
	{"number", 0 DFG_EACH_number(BIT) DFG_EACH_half(BIT)},
	{"complex", 0 DFG_EACH_complex(BIT)},
	{"numeric", 0 DFG_EACH_numeric(BIT) DFG_EACH_half(BIT)},
	{"plain", 0 DFG_EACH_plain(BIT) DFG_EACH_half(BIT)},
	{"index", UINT64_C(1) << DFG_I32 | UINT64_C(1) << DFG_I64},
	{"type", 0 DFG_EACH_type(BIT)},
};

uint64_t dfg_dtype_class(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strlen(classes[i].name) == length && !memcmp(classes[i].name, name, length))
			return classes[i].types;
	enum dfg_dtype one = dfg_dtype_find(name, length);
	return one ? dfg_dtype_bit(one) : 0;
}

bool dfg_dtype_is(enum dfg_dtype dtype, const char *class_name)
{
	return dfg_dtype_class(class_name, strlen(class_name)) & dfg_dtype_bit(dtype);
}
