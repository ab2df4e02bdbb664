#pragma once

#include "cmd/cmd.h"

/* `dfg serve --worker`: serve_worker.c. Runs until the launcher or stdin ends. host NULL, port negative: not given. */
extern const struct dfg_opt dfg_serve_worker_options[];
DFG_MUST_CHECK struct dfg_err *dfg_serve_worker(const char *host, int64_t port);

/* serve.c: closes the object and prints it as a line on stdout, at once. Releases the JSON. */
struct dfg_json_out;
DFG_MUST_CHECK struct dfg_err *dfg_serve_hello(struct dfg_json_out *json);
