#pragma once

#include "formats/graphdef.h"
#include "formats/wire.h"

/*
 * Shared by the parts of the GraphDef reader: graphdef_read.c (graph, nodes), graphdef_attr.c (attributes),
 * graphdef_tensor.c (constants), graphdef_edges.c (inputs).
 */

/* Field numbers of graph.proto that the code names. */
enum {
	GRAPH_NODE = 1,
	GRAPH_LIBRARY = 2,
	GRAPH_VERSION = 3,
	GRAPH_VERSIONS = 4,
	GRAPH_DEBUG_INFO = 5,
	NODE_NAME = 1,
	NODE_OP = 2,
	NODE_INPUT = 3,
	NODE_DEVICE = 4,
	NODE_ATTR = 5,
	NODE_DEBUG_INFO = 6,
	NODE_TYPE = 7,
	VERSIONS_PRODUCER = 1,
	VERSIONS_MIN_CONSUMER = 2,
	VERSIONS_BAD_CONSUMERS = 3,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
	VALUE_LIST = 1,
	VALUE_S = 2,
	VALUE_I = 3,
	VALUE_F = 4,
	VALUE_B = 5,
	VALUE_TYPE = 6,
	VALUE_SHAPE = 7,
	VALUE_TENSOR = 8,
	VALUE_PLACEHOLDER = 9,
	VALUE_FUNC = 10,
	LIST_FUNC = 9,
	FUNC_NAME = 1,
	FUNC_ATTR = 2,
	SHAPE_DIM = 2,
	SHAPE_UNKNOWN_RANK = 3,
	DIM_SIZE = 1,
	DIM_NAME = 2,
	TENSOR_DTYPE = 1,
	TENSOR_SHAPE = 2,
	TENSOR_VERSION = 3,
	TENSOR_CONTENT = 4,
	TENSOR_FLOAT8 = 18,
	LIBRARY_FUNCTION = 1,
	FUNCTION_SIGNATURE = 1,
	OPDEF_NAME = 1,
};

struct dfg_reader {
	struct dfg_wire_file file;
	struct dfg_graph *graph;
	struct dfg_arena *arena;
	size_t budget;        /* memory limit in bytes, including the arena */
	size_t outside_bytes; /* allocated outside of the arena */

	struct dfg_map words; /* interned names of ops, attributes and devices */
	struct dfg_reader_word {
		const struct dfg_op *op;
		bool asked;
	} * word; /* interned words, by number */
	size_t word_capacity;
	struct dfg_reader_recent {
		const char *s;
		uint32_t length, number;
	} recent[64];                /* cache: most words are one of the last few */
	char *pool;                  /* storage for the bytes of names */
	size_t pool_size, pool_left; /* bytes of the last block, and those of it that are free */
	struct dfg_edge *edge;       /* space for edges of nodes */
	size_t edge_size, edge_left; /* edges of the last block, and those of it that are free */

	struct dfg_attr *attr; /* stack of attributes: those of the current node, and of functions within them */
	size_t n_attr, attr_capacity;
	struct dfg_reader_run {
		const uint8_t *bytes; /* bytes of the file: the attributes at the end of a node */
		uint32_t length, n_attr;
		struct dfg_attr *attr;
	} run[256];                    /* cache of the last runs by hash: nodes with equal attributes share them */
	struct dfg_reader_run *unread; /* slot for the attributes being read; NULL: not shared */
	uint32_t unread_length;
	size_t unknown;  /* file.unknown before these attributes */
	uint64_t *input; /* offsets of the node's input fields in the file */
	size_t n_input, input_capacity;

	struct dfg_reader_late {
		uint32_t node, length, hash;
	} late[16]; /* names to be added to the map */
	unsigned n_late;
	struct dfg_err *errors;
	int n_errors;
	struct dfg_map lost; /* names of nodes that could not be read */
	bool lost_unnamed;   /* there is such a node whose name is unknown */
	bool resolved;       /* whether the inputs are edges; inputs that name no node are not */
};

enum { DFG_READER_ERRORS = 20 };

/*
 * The elements of the next block, from which pieces of `count` are to be cut, after one of `last` (0: none): blocks double
 * up to `most`, so that a small file does not pay for a large one. If count is more than a quarter of it, a piece gets an
 * allocation of its own.
 */
size_t dfg_reader_block(size_t last, size_t count, size_t most);

/* Allocates from the arena; DFG_DATA if the memory limit is exceeded. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_allocate(struct dfg_reader *r, size_t count, size_t size, void *out_memory);

/* Grows an array outside of the arena, as dfg_reserve. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_reserve(
	struct dfg_reader *r, void *array, size_t *capacity, size_t count, size_t size);

/* Copies a string with a terminating 0 to the storage of names. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_string(
	struct dfg_reader *r, const uint8_t *bytes, size_t length, const char **out_string);

/*
 * The interned word as a C string; `what` names it in errors. DFG_DATA if it is empty, too long, binary or not UTF-8.
 */
DFG_MUST_CHECK struct dfg_err *dfg_reader_word(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, const char **out_word);

/* The same, as a number in r->words. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_word_number(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, uint32_t *out_number);

/* The canonical form of a message, in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_canonical(
	struct dfg_reader *r, const struct dfg_wire *message, const void **out_bytes, size_t *out_length);

/* Counts a field that the schema has but the graph cannot represent as unknown. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_drop(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field);

/* The name in the signature of a function of a library; length 0 if it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_function_name(
	const struct dfg_wire *library, const struct dfg_wire_field *function, struct dfg_string *out_name);

/*
 * graphdef_attr.c: pushes an entry of an attribute map on the stack; and pops the entries above `base`, sorted, to the
 * arena.
 */
DFG_MUST_CHECK struct dfg_err *dfg_reader_attr(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *entry);
DFG_MUST_CHECK struct dfg_err *dfg_reader_attrs_end(
	struct dfg_reader *r, size_t base, struct dfg_attr **out_attr, uint32_t *out_count);
DFG_MUST_CHECK struct dfg_err *dfg_reader_attr_value(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_attr *attr);

/*
 * graphdef_shared_attrs.c. At the first attribute of a node: true if the rest of the node equals that of an earlier node,
 * whose attributes it then shares. Otherwise the second function keeps the attributes after they are read.
 */
bool dfg_reader_attrs_share(
	struct dfg_reader *r, struct dfg_wire *wire, const struct dfg_wire_field *first, struct dfg_node *node);
void dfg_reader_attrs_note(struct dfg_reader *r, const struct dfg_node *node);

DFG_MUST_CHECK struct dfg_err *dfg_reader_shape(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_shape *out_shape);

/* graphdef_tensor.c */
DFG_MUST_CHECK struct dfg_err *dfg_reader_tensor(struct dfg_reader *r, const struct dfg_wire *wire,
	const struct dfg_wire_field *field, const struct dfg_literal **out);

/* The field of TensorProto that lists values of this type; 0: none. */
uint32_t dfg_tensor_list_field(enum dfg_dtype dtype);

/* function.c */
extern const struct dfg_function_codec dfg_function_codec;

/* graphdef_edges.c: replaces each input, stored as the offset of its text in the file, by an edge. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_edges(struct dfg_reader *r);
