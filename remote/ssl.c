#include "remote/ssl.h"

#define FUNCTION(name) __typeof__(name) *dfg_##name;
#include "remote/ssl.def"
#include "remote/crypto.def"
#undef FUNCTION

#define FUNCTION(name) {#name, (void **)&dfg_##name},
static const struct dfg_library_function ssl_functions[] = {
#include "remote/ssl.def"
	{NULL, NULL}};
static const struct dfg_library_function crypto_functions[] = {
#include "remote/crypto.def"
	{NULL, NULL}};
#undef FUNCTION

const struct dfg_dynamic_library dfg_ssl = {"libssl.so.3", "libssl3", ssl_functions};
const struct dfg_dynamic_library dfg_crypto = {"libcrypto.so.3", "libssl3", crypto_functions};
