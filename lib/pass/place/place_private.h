#pragma once

#include "lib/pass/place/place.h"

/*
 * What the files of placement share (place_*.c). A choice is a set of devices, by number; choice 0 is all of them, which
 * is to say that nothing was asked. Sets that are equal have one number.
 */
struct dfg_choices {
	const char *const *device;
	uint32_t devices, words;
	uint64_t *bits; /* `words` of them a choice */
	size_t count, bits_room;
	struct dfg_map text; /* what files ask for, and the choice of each */
	uint32_t *of_text;
	size_t of_text_room;
};
DFG_MUST_CHECK struct dfg_err *dfg_choices_init(
	struct dfg_choices *choices, const char *const *device, uint32_t devices);
void dfg_choices_release(struct dfg_choices *choices);
DFG_MUST_CHECK struct dfg_err *dfg_choice_one(struct dfg_choices *choices, uint32_t device, uint32_t *out_choice);
DFG_MUST_CHECK struct dfg_err *dfg_choice_named(struct dfg_choices *choices, const char *name, uint32_t *out_choice);

/* What is in both; *out_choice is DFG_NONE where nothing is. */
DFG_MUST_CHECK struct dfg_err *dfg_choice_both(
	struct dfg_choices *choices, uint32_t a, uint32_t b, uint32_t *out_choice);

/*
 * Whether a node's device is that of a session of one process, as TensorFlow's dumps name it ("/job:localhost/..."), and no
 * device here has that name: it says nothing of where the node goes.
 */
bool dfg_choices_leave(const struct dfg_choices *choices, const char *name);
bool dfg_choice_has(const struct dfg_choices *choices, uint32_t choice, uint32_t device);
uint32_t dfg_choice_first(const struct dfg_choices *choices, uint32_t choice); /* its lowest device */
bool dfg_choice_is_one(const struct dfg_choices *choices, uint32_t choice);

/* Why two nodes stand together. */
enum dfg_join_why {
	DFG_JOIN_HANDLE,  /* an edge of a handle or a variant */
	DFG_JOIN_REF,     /* an edge of a ref, to what takes it as such */
	DFG_JOIN_UNKNOWN, /* both have ops that are not known: what goes from one to the other has no known type */
	DFG_JOIN_STORED,  /* a Load of what a Save keeps */
	DFG_JOIN_NAME,    /* one variable under two nodes */
	DFG_JOIN_CLASS,   /* `_class` */
	DFG_JOIN_CONTROL, /* a primitive of control flow and its value */
	DFG_JOIN_FOLLOW,  /* a generator or metadata op */
	DFG_JOIN_UPDATE,  /* arithmetic between variables that are read and written in it */
	DFG_JOIN_LOOP,    /* the rest of a loop */
};
struct dfg_join {
	uint32_t a, b; /* a needs b */
	enum dfg_join_why why;
};

/* What a node asks for, and by which option; DFG_NONE: by its own text. */
struct dfg_ask {
	uint32_t choice, request;
};

/* What placement looks at again and again, a byte a node: a node of the graph is a cache line and more. */
enum dfg_place_kind {
	DFG_KIND_PRIMITIVE = 1, /* of control flow: goes where its value is */
	DFG_KIND_INVARIANT = 2, /* a constant Enter: the partitioner makes one a device */
	DFG_KIND_FED = 4,       /* a placeholder: its value comes from the launcher, so from device 0 */
	DFG_KIND_FOLLOWS = 8,   /* was joined to its consumer or producer */
	DFG_KIND_BINDS = 16,    /* makes handles, variants or refs */
	DFG_KIND_INITIAL = 32,  /* sets a variable at first, or serves that alone: no part of a step */
	DFG_KIND_DEFAULT = 64,  /* was asked for as everything was, by the pattern "*" */
};

/* Of a node, together because they are looked at together, over edges. Seconds; of all iterations where it is in a loop. */
struct dfg_place_job {
	uint32_t root;
	float send;   /* until what it makes is elsewhere */
	float way;    /* from its beginning to the end of all that needs it */
	float finish; /* when it is done */
};

struct dfg_placing {
	const struct dfg_graph *graph;
	const struct dfg_facts *facts;
	const struct dfg_place_options *options;
	struct dfg_arena scratch;
	struct dfg_choices choices;
	struct dfg_loops loops;
	uint32_t *order; /* inputs first; NULL: the graph's own */
	uint8_t *kind;
	struct dfg_ask *ask;
	uint32_t *parent;      /* union-find; the lowest number of a group is its root. After grouping, the root itself */
	uint32_t *choice;      /* by root */
	uint32_t *decider;     /* by root: the node whose request it is; DFG_NONE */
	uint32_t *follows;     /* by node: what a node of DFG_KIND_FOLLOWS goes with */
	struct dfg_join *join; /* those that made two groups one: a forest */
	size_t joins, joins_room;
	uint32_t *device; /* by root; DFG_NONE until it is decided */
	struct dfg_place_job *job;
	float *work; /* by root: seconds */
	bool *whole; /* by root: holds nodes of a loop, which are placed as one */
};

/* What each node asks for. */
DFG_MUST_CHECK struct dfg_err *dfg_place_ask(struct dfg_placing *placing);

/* What must stand together, and what each group may choose. DFG_DATA where two nodes of a group disagree. */
DFG_MUST_CHECK struct dfg_err *dfg_place_group(struct dfg_placing *placing);

/* Draws the devices of groups that nobody asked for. */
DFG_MUST_CHECK struct dfg_err *dfg_place_random(struct dfg_placing *placing);

/* What had better, and does unless they ask for different devices; after that `parent` is the root. */
DFG_MUST_CHECK struct dfg_err *dfg_place_follow(struct dfg_placing *placing);
DFG_MUST_CHECK struct dfg_err *dfg_place_attract(
	struct dfg_placing *placing, uint32_t a, uint32_t b, enum dfg_join_why why, bool *out_together);
uint32_t dfg_place_root(struct dfg_placing *placing, uint32_t node);
DFG_MUST_CHECK struct dfg_err *dfg_place_conflict(const struct dfg_placing *placing, uint32_t a, uint32_t b);

/* Two relations in arrays: what follows n begins at first[n] and ends at first[n + 1]. */
struct dfg_place_lists {
	uint32_t *first, *item;
};

/* By node: who reads it, or waits for it. Of those that are `told` only, and in other groups; NULL: all. */
DFG_MUST_CHECK struct dfg_err *dfg_place_readers(
	struct dfg_placing *placing, const bool *told, struct dfg_place_lists *out_readers);

/* Decides every group. */
DFG_MUST_CHECK struct dfg_err *dfg_place_schedule(struct dfg_placing *placing);

/* Moves groups that nobody asked for to where they save more transfer than they are work. */
DFG_MUST_CHECK struct dfg_err *dfg_place_refine(struct dfg_placing *placing);

/*
 * Estimates, in seconds, of a run of a node that moves so many bytes in and out. They compare, no more: what a device can do is
 * what a core of a server does, and the wire is a 10 Gb/s one. That is also what HTTP/2 does within a machine: 64 MB took
 * 63 ms, 4 bytes to one who slept 72 us, to which a network adds its own. Shared memory is a tenth of both and less.
 */
#define DFG_PLACE_LATENCY 1e-4                                            /* of a message */
#define DFG_PLACE_BYTES_A_SECOND 1e9                                      /* between devices */
enum { DFG_PLACE_TRIPS = 16 };                                            /* of a loop whose trips nobody knows */
double dfg_place_bytes(const struct dfg_placing *placing, uint32_t node); /* of its outputs */
double dfg_place_cost(const struct dfg_placing *placing, uint32_t node, double bytes_moved);
