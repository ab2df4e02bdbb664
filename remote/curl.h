#pragma once

#include "lib/base/dynamic_library.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define FUNCTION(name) extern __typeof__(name) *dfg_##name;
#include "remote/curl.def"
#undef FUNCTION

extern const struct dfg_dynamic_library dfg_curl;
