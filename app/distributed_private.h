#pragma once

#include "app/distributed.h"

/* distributed_hosts.c: the file of hosts, which may change during a run. */
struct dfg_hosts_file dfg_distributed_look_at_hosts(const struct dfg_distributed *distributed);

/* `changed` and `replace` of dfg_launch_options; arg is the struct dfg_distributed. */
bool dfg_distributed_hosts_changed(void *arg);
bool dfg_distributed_replace_hosts(void *arg, uint32_t first, uint32_t count);
