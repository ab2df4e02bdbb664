#pragma once

#include "formats/graphdef.h"
#include "formats/wire.h"

/*
 * What the parts of the GraphDef reader share: graphdef_read.c (graph, nodes), graphdef_attr.c (attributes),
 * graphdef_tensor.c (constants), graphdef_edges.c (inputs).
 */

/* The numbers of graph.proto that C names. */
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
	size_t budget; /* bytes that may be taken, what the arena has included */
	size_t held;   /* of those, what is not in the arena */

	struct dfg_map words; /* names of ops, attributes and devices, each kept once */
	struct dfg_reader_word {
		const struct dfg_op *op;
		bool asked;
	} * word; /* by number */
	size_t word_room;
	struct dfg_reader_recent {
		const char *s;
		uint32_t length, number;
	} recent[64]; /* a word is mostly one of the last few */
	char *pool;   /* room for the bytes of names */
	size_t pool_left;
	struct dfg_edge *edge; /* room for edges of nodes */
	size_t edge_left;

	struct dfg_attr *attr; /* of the node being read, and of functions within its attributes, as a stack */
	size_t n_attr, attr_room;
	struct dfg_reader_run {
		const uint8_t *bytes; /* of the file: attributes that stand at the end of a node */
		uint32_t length, n_attr;
		struct dfg_attr *attr;
	} run[256];                    /* by hash, the last of them: nodes that are alike share theirs */
	struct dfg_reader_run *unread; /* the slot for the attributes being read; NULL: they are not shared */
	uint32_t unread_length;
	size_t unknown;  /* file.unknown before them */
	uint64_t *input; /* offsets of the node's input fields */
	size_t n_input, input_room;

	struct dfg_reader_late {
		uint32_t node, length, hash;
	} late[16]; /* names on their way into the map */
	unsigned n_late;
	struct dfg_err *errors;
	int n_errors;
	bool resolved; /* the inputs are edges, but those that name no node */
};

enum { DFG_READER_ERRORS = 20 };

/* Room in the arena; DFG_DATA where it is the budget that refuses. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_room(struct dfg_reader *r, size_t count, size_t size, void *out_room);

/* Room in an array outside of the arena, as dfg_reserve. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_reserve(
	struct dfg_reader *r, void *array, size_t *room, size_t count, size_t size);

/* A copy that ends in 0, packed. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_string(
	struct dfg_reader *r, const uint8_t *bytes, size_t length, const char **out_string);

/* The word as a C string, kept once; `what` names it in errors. What is empty, long, binary or not UTF-8 is refused. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_word(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, const char **out_word);

/* The same as a number in r->words. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_word_number(
	struct dfg_reader *r, const struct dfg_wire_field *field, const char *what, uint32_t *out_number);

/* The canonical form of a message, in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_canonical(
	struct dfg_reader *r, const struct dfg_wire *message, const void **out_bytes, size_t *out_length);

/* A field that the schema knows and the graph has no place for: told with the unknown ones. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_drop(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field);

/* The name of a function that a library's walk has met, by its signature; of length 0 where it has none. */
DFG_MUST_CHECK struct dfg_err *dfg_function_name(
	const struct dfg_wire *library, const struct dfg_wire_field *function, struct dfg_string *out_name);

/* graphdef_attr.c: an entry of a map of attributes, onto the stack; then the stack above `base`, sorted, in the arena. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_attr(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *entry);
DFG_MUST_CHECK struct dfg_err *dfg_reader_attrs_end(
	struct dfg_reader *r, size_t base, struct dfg_attr **out_attr, uint32_t *out_count);
DFG_MUST_CHECK struct dfg_err *dfg_reader_attr_value(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_attr *attr);

/*
 * graphdef_again.c. From the first attribute of a node on: true where the rest of the node is what another node had, whose
 * attributes it gets. Else what is read of it will be kept, by the second.
 */
bool dfg_reader_attrs_again(
	struct dfg_reader *r, struct dfg_wire *wire, const struct dfg_wire_field *first, struct dfg_node *node);
void dfg_reader_attrs_keep(struct dfg_reader *r, const struct dfg_node *node);

DFG_MUST_CHECK struct dfg_err *dfg_reader_shape(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field, struct dfg_shape *out_shape);

/* graphdef_tensor.c */
DFG_MUST_CHECK struct dfg_err *dfg_reader_tensor(struct dfg_reader *r, const struct dfg_wire *wire,
	const struct dfg_wire_field *field, const struct dfg_literal **out);

/* The field of TensorProto that lists values of this type; 0 for none. */
uint32_t dfg_tensor_list_field(enum dfg_dtype dtype);

/* function.c */
extern const struct dfg_function_codec dfg_function_codec;

/* graphdef_edges.c: turns each input, which is the offset of its text in the file, into an edge. */
DFG_MUST_CHECK struct dfg_err *dfg_reader_edges(struct dfg_reader *r);
