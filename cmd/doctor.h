#pragma once

#include "lib/base/err.h"

/* Arguments of `dfg doctor` for remote hosts. */
struct dfg_doctor_hosts {
	const char *hosts;      /* --hosts; NULL: operands name entries of the ssh config */
	const char *ssh_config; /* --ssh-config */
	char **operands;        /* NULL-terminated; empty: all of --hosts */
};

/* Examines all hosts concurrently and prints a line for each; *out_status is that of the first failure. */
DFG_MUST_CHECK struct dfg_err *dfg_doctor_hosts(const struct dfg_doctor_hosts *asked, int *out_status);
