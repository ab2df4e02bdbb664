#pragma once

#include "lib/base/dynamic_library.h"

#include <nghttp2/nghttp2.h>

#define FUNCTION(name) extern __typeof__(name) *dfg_##name;
#include "remote/nghttp2.def"
#undef FUNCTION

extern const struct dfg_dynamic_library dfg_nghttp2;
