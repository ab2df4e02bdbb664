#pragma once

#include "formats/json.h"
#include "lib/base/arena.h"
#include "remote/hosts.h"
#include "remote/http_links.h"

/*
 * Workers that mpirun or srun starts, not the launcher: rank i of the job is worker i. Each says where it listens in a line
 * of JSON, as `dfg serve --worker` does, with its "rank", "host" and "machine"; a rank that fails has "error" and "code"
 * instead.
 */
enum { DFG_RANK_LINE = 1024 };

struct dfg_ranks {
	const char *what;             /* "rank", "task": for messages */
	char secret[DFG_SECRET_SIZE]; /* of the run */
	int fd;                       /* the lines come from it */
	double seconds;               /* the time that all ranks have for them; 0: no limit */
	uint32_t count;               /* of ranks; 0: the first line says it, as {"ranks":4} */
	bool in_memory;               /* if all are on the launcher's machine, they listen in shared memory alone */
	bool met;                     /* all lines have come */
	struct dfg_arena arena;
	struct dfg_rank {
		const char *line, *name, *machine; /* name: "rank 2 (node7)" */
		const char *reach;                 /* the address at which other machines reach it */
	} * rank;
};

/* Reads the lines, unless that has been done. DFG_DEADLINE names the ranks that are missing. */
DFG_MUST_CHECK struct dfg_err *dfg_ranks_meet(struct dfg_ranks *ranks);

/* Of a rank: adds to its line, an open object, its number, host and machine, and the address that others reach. */
void dfg_ranks_put_self(uint32_t number, const char *host, struct dfg_json_out *json);

/* The workers, once the ranks have met; all text is borrowed from them. */
DFG_MUST_CHECK struct dfg_err *dfg_ranks_hosts(
	const struct dfg_ranks *ranks, struct dfg_arena *arena, struct dfg_hosts *out_hosts);

void dfg_ranks_release(struct dfg_ranks *ranks);

/* A text that is equal for processes of one machine, which can share memory. */
enum { DFG_MACHINE_SIZE = 136 };
void dfg_ranks_machine(char out_machine[DFG_MACHINE_SIZE]);

/* An address of this machine that others can reach: that of its name, or else of its first interface; "": there is none. */
enum { DFG_REACH_SIZE = 64 };
void dfg_ranks_reach(char out_address[DFG_REACH_SIZE]);
