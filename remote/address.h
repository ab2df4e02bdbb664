#pragma once

#include "lib/base/err.h"

enum { DFG_ADDRESS_BYTES = 80 };

/* The address at which a socket listens, with its actual port: "127.0.0.1:41234", "[::1]:41234". */
DFG_MUST_CHECK struct dfg_err *dfg_address_of_socket(int fd, char out_address[DFG_ADDRESS_BYTES]);
