#pragma once

#include "lib/base/err.h"

/* What `dfg doctor` is asked of other machines. */
struct dfg_doctor_hosts {
	const char *hosts;      /* --hosts; NULL: operands name entries of the ssh config */
	const char *ssh_config; /* --ssh-config */
	char **operands;        /* NULL-terminated; none: all of --hosts */
};

/* Visits each, all at once, and prints a line of each; *out_status is that of the first trouble. */
DFG_MUST_CHECK struct dfg_err *dfg_doctor_hosts(const struct dfg_doctor_hosts *asked, int *out_status);
