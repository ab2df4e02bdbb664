#include "kernels/elementwise_rows.h"

#define floor(x) OF_FLOAT(floor, x)(x)
#define ceil(x) OF_FLOAT(ceil, x)(x)
#define rint(x) OF_FLOAT(rint, x)(x)
#define round(x) OF_NUMBER(round, x)(x)
#define divide(x, y) OF_NUMERIC(divide, x)(x, y)
#define floor_div(x, y) OF_NUMBER(floor_div, x)(x, y)
#define floor_mod(x, y) OF_NUMBER(floor_mod, x)(x, y)
#define truncate_div(x, y) OF_NUMBER(truncate_div, x)(x, y)
#define truncate_mod(x, y) OF_NUMBER(truncate_mod, x)(x, y)
#define power(x, y) OF_NUMBER(power, x)(x, y)

#include "kernels/arithmetic.def"
