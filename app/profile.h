#pragma once

#include "lib/base/arena.h"
#include "lib/exec/plan/profile.h"
#include "lib/exec/session.h"

/* The costs of the steps of a session, by node and by op, the most expensive first. */
struct dfg_profile_row {
	/* The name of a node, "a+b+c" for a group of nodes, or the frame of a compiled loop; in a row by op, the op. */
	const char *name;
	const char *op; /* "Mul+AddV2" for a group, "loop" for a compiled loop */
	uint64_t calls, iterations, bytes;
	double seconds, operations;
};
struct dfg_profile {
	struct dfg_profile_row *node, *op;
	size_t nodes, ops;
	double seconds; /* of all rows */
};

/* Rows and their texts are in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_profile_read(
	struct dfg_session *session, struct dfg_arena *arena, struct dfg_profile *out_profile);
