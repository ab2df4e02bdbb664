#pragma once

#include "lib/base/dynamic_library.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#define FUNCTION(name) extern __typeof__(name) *dfg_##name;
#include "remote/ssl.def"
#include "remote/crypto.def"
#undef FUNCTION

/* OpenSSL's two libraries: dfg_ssl needs dfg_crypto. */
extern const struct dfg_dynamic_library dfg_ssl, dfg_crypto;
