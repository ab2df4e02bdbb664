#include "formats/graphdef.h"

#include "formats/canonical.h"
#include "formats/graph.pb-c.h"
#include "formats/reader.h"
#include "lib/base/plural.h"
#include "lib/base/text.h"
#include "lib/pass/verify/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	MEMORY_LEAST = 64 * 1024 * 1024,
	MEMORY_TIMES = 4,
	SAMPLE = 256,     /* nodes after which the others are counted */
	EDGE_POOL = 8192, /* edges of a full block: single ones would be rounded up to 16 bytes by the arena */
	NAME_MOST = 4096,
	AHEAD = 2048, /* bytes between prefetching the file and counting its nodes */
};

/* The fields of a node. If a field is repeated, the last one counts. */
struct node_fields {
	struct dfg_wire_field name, op, device;
	struct dfg_wire_field kept[2]; /* fields that are only stored, debug_info and type; field is NULL if missing */
	bool complete;                 /* all fields were seen */
};

/* A position as text for messages, escaped. */
struct node_words {
	char s[400];
};

static struct node_words node_words(const struct dfg_reader *r, const struct node_fields *fields)
{
	struct node_words where;
	struct dfg_text name = {0}, op = {0};
	dfg_text_escape(&name, fields->name.bytes, fields->name.length, 128);
	dfg_text_escape(&op, fields->op.bytes, fields->op.length, 64);
	if (name.length && op.length)
		snprintf(where.s, sizeof where.s, "node '%.200s' (%.100s)", name.s, op.s);
	else if (name.length)
		snprintf(where.s, sizeof where.s, "node '%.200s'", name.s);
	else
		snprintf(where.s, sizeof where.s, "node number %" PRIu32, r->graph->count);
	dfg_text_release(&name);
	dfg_text_release(&op);
	return where;
}

/* Bytes allowed in node names: 1 anywhere, 2 not first. '_' begins names that TensorFlow generates. */
static const uint8_t name_byte[256] = {
	['a' ... 'z'] = 1,
	['A' ... 'Z'] = 1,
	['0' ... '9'] = 1,
	['.'] = 1,
	['_'] = 1,
	['/'] = 2,
	['-'] = 2,
	['>'] = 2,
};

static struct dfg_err *check_name(const struct dfg_wire_field *name)
{
	if (!name->length)
		return DFG_ERR(DFG_DATA, "a node has no name");
	if (name->length > NAME_MOST)
		return DFG_ERR(DFG_DATA, "the name has %zu bytes, the limit is %d", name->length, NAME_MOST);
	for (size_t i = 0; i < name->length; i++)
		if (!name_byte[name->bytes[i]] || (name_byte[name->bytes[i]] == 2 && !i))
			return DFG_ERR(DFG_DATA, "byte %zu of the name is 0x%02x: names consist of letters, digits and _ . - / >%s",
				i, name->bytes[i], i ? "" : ", and do not begin with - / >");
	return NULL;
}

static struct dfg_err *over_budget(const struct dfg_reader *r)
{
	return DFG_ERR(DFG_DATA, "needs more than %zu bytes of memory, the limit for a file of its size", r->budget);
}

static struct dfg_err *reserve_names(struct dfg_reader *r, size_t count)
{
	struct dfg_map *names = &r->graph->names;
	size_t slots = names->slots ? names->slots : 64, need = 0;
	while (slots / 2 < count)
		slots *= 2;
	need += slots > names->slots ? slots * sizeof *names->slot : 0;
	need += count > names->capacity ? (count + count / 2) * sizeof *names->name : 0;
	if (need > r->budget || r->arena->total + r->outside_bytes > r->budget - need)
		return over_budget(r);
	size_t before = names->slots * sizeof *names->slot + names->capacity * sizeof *names->name;
	if (!dfg_map_reserve(names, count))
		return dfg_no_memory("the names of nodes");
	r->outside_bytes += names->slots * sizeof *names->slot + names->capacity * sizeof *names->name - before;
	return NULL;
}

/* Collects faults, up to DFG_READER_ERRORS, as a fault in one node does not hide those of others. */
static struct dfg_err *gather(struct dfg_reader *r, struct dfg_err *err)
{
	if (!err || err->code != DFG_DATA || r->file.broken || ++r->n_errors == DFG_READER_ERRORS)
		return err;
	r->errors = dfg_err_join(r->errors, err);
	return NULL;
}

/*
 * Reports that node n has the name of another one. It still gets a number in the map, as names are numbered like nodes.
 */
static struct dfg_err *refuse_double(struct dfg_reader *r, uint32_t n, uint32_t other)
{
	bool is_new;
	uint32_t number;
	struct dfg_graph *graph = r->graph;
	const char *none = dfg_arena_print(r->arena, "\xff%" PRIu32, n); /* not UTF-8, so not a valid name */
	if (!none || !dfg_map_put(&graph->names, none, strlen(none), &number, &is_new))
		return dfg_no_memory("the names of nodes");
	return gather(
		r, DFG_ERR(DFG_DATA, "two nodes are named '%s': number %" PRIu32 " and number %" PRIu32 " (%s and %s)",
			   graph->node[n].name, other, n, graph->node[other].op_name, graph->node[n].op_name));
}

/* Adds names to the map some nodes later, when the cache lines of their slots have been fetched. */
static struct dfg_err *put_late_names(struct dfg_reader *r)
{
	struct dfg_graph *graph = r->graph;
	DFG_TRY(reserve_names(r, graph->count));
	for (unsigned i = 0; i < r->n_late; i++) {
		uint32_t number, node = r->late[i].node;
		bool is_new;
		if (!dfg_map_put_hash(
				&graph->names, graph->node[node].name, r->late[i].length, r->late[i].hash, &number, &is_new))
			return dfg_no_memory("the names of nodes");
		if (!is_new)
			DFG_TRY(refuse_double(r, node, number));
	}
	r->n_late = 0;
	return NULL;
}

static struct dfg_err *add_late_name(struct dfg_reader *r, const struct dfg_wire_field *name)
{
	DFG_TRY(dfg_reader_string(r, name->bytes, name->length, &r->graph->node[r->graph->count].name));
	uint32_t hash = dfg_map_hash((const char *)name->bytes, name->length);
	dfg_map_prefetch(&r->graph->names, hash);
	r->late[r->n_late++] = (struct dfg_reader_late){r->graph->count, (uint32_t)name->length, hash};
	return NULL;
}

static struct dfg_err *find_op(struct dfg_reader *r, const struct dfg_wire_field *field, struct dfg_node *node)
{
	uint32_t number;
	DFG_TRY(dfg_reader_word_number(r, field, "the op", &number));
	node->op_name = r->words.name[number].s;
	if (!r->word[number].asked)
		r->word[number] = (struct dfg_reader_word){dfg_op_find(node->op_name), true};
	node->op = r->word[number].op;
	return NULL;
}

static struct dfg_err *encode_kept(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct node_fields *fields, struct dfg_encoder *encoder)
{
	for (int i = 1; i >= 0; i--) {
		struct dfg_wire inner;
		size_t mark = dfg_encode_mark(encoder);
		if (!fields->kept[i].field)
			continue;
		DFG_TRY(dfg_wire_open(wire, &fields->kept[i], &inner));
		DFG_TRY(dfg_canonical_put(&inner, r->budget - r->outside_bytes, encoder));
		dfg_encode_head(encoder, fields->kept[i].field->id, mark);
	}
	return dfg_encoder_check(encoder);
}

static struct dfg_err *keep_fields(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct node_fields *fields, struct dfg_node *node)
{
	struct dfg_encoder encoder = {0};
	uint8_t *kept = NULL;
	if (!fields->kept[0].field && !fields->kept[1].field)
		return NULL;
	struct dfg_err *err = encode_kept(r, wire, fields, &encoder);
	if (!err)
		err = dfg_reader_allocate(r, encoder.length, 1, &kept);
	if (!err)
		dfg_encoder_copy(&encoder, kept);
	node->debug = kept;
	node->n_debug = (uint32_t)encoder.length;
	dfg_encoder_release(&encoder);
	return err;
}

/* Allocates the inputs of a node, in the arena. */
static struct dfg_err *take_edges(struct dfg_reader *r, size_t count, struct dfg_edge **out_edges)
{
	if (count > r->edge_left) {
		size_t block = dfg_reader_block(r->edge_size, count, EDGE_POOL);
		if (count > block / 4)
			return dfg_reader_allocate(r, count, sizeof **out_edges, out_edges);
		DFG_TRY(dfg_reader_allocate(r, block, sizeof *r->edge, &r->edge));
		r->edge_size = r->edge_left = block;
	}
	*out_edges = r->edge;
	r->edge += count;
	r->edge_left -= count;
	return NULL;
}

/* Inputs are kept as offsets in the file until all names are known; the first byte tells control inputs. */
static struct dfg_err *keep_inputs(struct dfg_reader *r, struct dfg_node *node)
{
	if (!r->n_input)
		return NULL;
	_Static_assert(sizeof *node->in == sizeof *r->input, "an offset has the size of the edge that replaces it");
	DFG_TRY(take_edges(r, r->n_input, &node->in));
	memcpy(node->in, r->input, r->n_input * sizeof *node->in);
	node->n_in = (uint32_t)r->n_input;
	return NULL;
}

/* Reads the fields of a node: copies those that are stored separately, and records the positions of others. */
static struct dfg_err *read_fields(
	struct dfg_reader *r, struct dfg_wire *wire, struct node_fields *fields, struct dfg_node *node)
{
	for (;;) {
		struct dfg_wire_field field;
		DFG_TRY(dfg_wire_next(wire, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		switch (field.field->id) {
		case NODE_NAME:
			fields->name = field;
			break;
		case NODE_OP:
			fields->op = field;
			break;
		case NODE_INPUT:
			do {
				if (r->n_input == r->input_capacity)
					DFG_TRY(dfg_reader_reserve(r, &r->input, &r->input_capacity, r->n_input + 1, sizeof *r->input));
				r->input[r->n_input++] = (uint64_t)(field.tag - r->file.start);
			} while (dfg_wire_next_same(wire, &field));
			break;
		case NODE_DEVICE:
			fields->device = field;
			break;
		case NODE_ATTR:
			if (!r->n_attr && dfg_reader_attrs_share(r, wire, &field, node))
				return NULL;
			DFG_TRY(dfg_reader_attr(r, wire, &field));
			break;
		default:
			fields->kept[field.field->id == NODE_TYPE] = field;
		}
	}
}

static struct dfg_err *fill_node(
	struct dfg_reader *r, const struct dfg_wire *wire, struct node_fields *fields, struct dfg_node *node)
{
	struct dfg_wire walk = *wire;
	DFG_TRY(read_fields(r, &walk, fields, node));
	fields->complete = true;
	DFG_TRY(check_name(&fields->name));
	if (!fields->op.length)
		return DFG_ERR(DFG_DATA, "a node has no op");
	DFG_TRY(find_op(r, &fields->op, node));
	node->device = "";
	if (fields->device.length)
		DFG_TRY(dfg_reader_word(r, &fields->device, "the device", &node->device));
	DFG_TRY(keep_inputs(r, node));
	if (r->n_attr) {
		DFG_TRY(dfg_reader_attrs_end(r, 0, &node->attr, &node->n_attr));
		dfg_reader_attrs_note(r, node);
	}
	DFG_TRY(keep_fields(r, wire, fields, node));
	return add_late_name(r, &fields->name);
}

/* An edge to a node that could not be read is not a fault. */
static void note_lost(struct dfg_reader *r, const struct node_fields *fields)
{
	uint32_t number;
	const struct dfg_wire_field *name = &fields->name;
	r->lost_unnamed |= name->field ? !dfg_map_put(&r->lost, (const char *)name->bytes, name->length, &number, NULL)
								   : !fields->complete;
}

static struct dfg_err *read_node(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct node_fields fields = {.name = {.field = NULL}};
	struct dfg_wire inner;
	struct dfg_graph *graph = r->graph;
	if (graph->count == DFG_NONE - 1)
		return DFG_ERR(DFG_DATA, "the graph has more than %" PRIu32 " nodes, the limit", graph->count);
	DFG_TRY(dfg_reader_reserve(r, &graph->node, &graph->capacity, (size_t)graph->count + 1, sizeof *graph->node));
	DFG_TRY(dfg_wire_open(wire, field, &inner));
	struct dfg_node *node = &graph->node[graph->count];
	*node = (struct dfg_node){0};
	r->n_attr = r->n_input = 0;
	struct dfg_err *err = fill_node(r, &inner, &fields, node);
	if (err) {
		note_lost(r, &fields);
		return dfg_err_note(err, "%s", node_words(r, &fields).s);
	}
	graph->count++;
	return NULL;
}

/* Counts the remaining nodes. Stops at the first malformed field, which the reader reports later. */
static size_t count_nodes(const struct dfg_wire *wire)
{
	const uint8_t *at = wire->at;
	size_t count = 0;
	while (at < wire->end && *at < 0x80 && (*at & 7) == 2) {
		uint64_t length;
		bool is_node = *at++ >> 3 == GRAPH_NODE;
		__builtin_prefetch(at + AHEAD);
		if (!dfg_wire_varint(&at, wire->end, &length) || length > (size_t)(wire->end - at))
			break;
		at += length;
		count += is_node;
	}
	return count;
}

/*
 * Allocates all nodes and names at once: growing by halves would hold two copies, and whether a file is within the
 * memory limit would depend on its size relative to powers of two. For the same reason the map's slots, two to four per
 * name, are charged as four.
 */
static struct dfg_err *expect_nodes(struct dfg_reader *r, const struct dfg_wire *wire)
{
	struct dfg_graph *graph = r->graph;
	size_t count = graph->count + count_nodes(wire), slots = 4 * count * sizeof *graph->names.slot;
	size_t need = count * (sizeof *graph->node + sizeof *graph->names.name) + slots;
	if (need > r->budget || r->arena->total + r->outside_bytes > r->budget - need)
		return over_budget(r);
	DFG_TRY(dfg_reader_reserve(r, &graph->node, &graph->capacity, count, sizeof *graph->node));
	DFG_TRY(reserve_names(r, count));
	r->outside_bytes += slots - graph->names.slots * sizeof *graph->names.slot;
	return NULL;
}

static struct dfg_err *read_versions(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_wire inner, walk;
	struct dfg_wire_field met;
	struct dfg_graph *graph = r->graph;
	int32_t *bad = NULL;
	DFG_TRY(dfg_wire_open(wire, field, &inner));
	graph->unversioned = false;
	graph->producer = 0;
	if (field->length) /* an item has at least a byte */
		DFG_TRY(dfg_reader_allocate(r, field->length, sizeof *bad, &bad));
	graph->bad_consumer = bad;
	for (walk = inner;;) {
		DFG_TRY(dfg_wire_next(&walk, &met));
		if (met.kind == DFG_WIRE_END)
			return NULL;
		if (met.field->id == VERSIONS_PRODUCER)
			graph->producer = (int32_t)met.value;
		else if (met.field->id == VERSIONS_MIN_CONSUMER)
			graph->min_consumer = (int32_t)met.value;
		while (met.kind == DFG_WIRE_ITEMS) {
			uint64_t value;
			bool more;
			DFG_TRY(dfg_wire_item(&walk, &met, &value, &more));
			if (!more)
				break;
			bad[graph->n_bad_consumer++] = (int32_t)value;
		}
	}
}

/* Checks the functions of a library in canonical form, which is well-formed. */
static struct dfg_err *check_functions(const struct dfg_wire *library, struct dfg_map *names)
{
	struct dfg_wire walk = *library;
	for (;;) {
		struct dfg_wire_field field;
		struct dfg_string name;
		bool is_new;
		uint32_t number;
		DFG_TRY(dfg_wire_next(&walk, &field));
		if (field.kind == DFG_WIRE_END)
			return NULL;
		if (field.field->id != LIBRARY_FUNCTION)
			continue;
		DFG_TRY(dfg_function_name(&walk, &field, &name));
		if (!name.length)
			return DFG_ERR(DFG_DATA, "function number %zu has no name", names->count);
		if (!dfg_map_put(names, name.s, name.length, &number, &is_new))
			return dfg_no_memory("the names of functions");
		if (!is_new)
			return DFG_ERR(DFG_DATA, "function '%.*s' is defined twice: number %" PRIu32 " and number %zu",
				(int)(name.length < 128 ? name.length : 128), name.s, number, names->count);
	}
}

static struct dfg_err *read_library(
	struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_wire inner;
	struct dfg_map names = {0};
	struct dfg_graph *graph = r->graph;
	DFG_TRY(dfg_wire_open(wire, field, &inner));
	DFG_TRY(dfg_reader_canonical(r, &inner, &graph->library, &graph->n_library));
	graph->codec = &dfg_function_codec;
	struct dfg_wire_file file = {.start = graph->library};
	struct dfg_wire library = dfg_wire_start(&file, inner.type, graph->library, graph->n_library);
	struct dfg_err *err = check_functions(&library, &names);
	dfg_map_release(&names);
	return err;
}

static struct dfg_err *read_field(struct dfg_reader *r, const struct dfg_wire *wire, const struct dfg_wire_field *field)
{
	struct dfg_wire inner;
	switch (field->field->id) {
	case GRAPH_NODE:
		DFG_TRY(gather(r, read_node(r, wire, field)));
		if (r->n_late == sizeof r->late / sizeof *r->late)
			DFG_TRY(put_late_names(r));
		return r->graph->count == SAMPLE ? expect_nodes(r, wire) : NULL;
	case GRAPH_LIBRARY:
		return dfg_err_note(read_library(r, wire, field), "function library");
	case GRAPH_VERSION:
		r->graph->old_version = (int32_t)field->value;
		return NULL;
	case GRAPH_VERSIONS:
		return read_versions(r, wire, field);
	default:
		DFG_TRY(dfg_wire_open(wire, field, &inner));
		return dfg_reader_canonical(r, &inner, &r->graph->debug, &r->graph->n_debug);
	}
}

static struct dfg_err *read_graph(struct dfg_reader *r, size_t size)
{
	struct dfg_wire wire = dfg_wire_start(&r->file, &dfg__graph_def__descriptor, r->file.start, size);
	struct dfg_wire_field field;
	for (;;) {
		DFG_TRY(dfg_wire_next(&wire, &field));
		if (field.kind == DFG_WIRE_END)
			break;
		DFG_TRY(read_field(r, &wire, &field));
	}
	DFG_TRY(put_late_names(r));
	if (!r->graph->count && !r->errors)
		return DFG_ERR(DFG_DATA, "the graph has no nodes");
	return dfg_reader_edges(r);
}

/* Adds faults of the nodes that could be read to err. Takes err. */
static struct dfg_err *check_calls(struct dfg_reader *r, struct dfg_err *err)
{
	struct dfg_faults faults = {.err = err, .left = DFG_READER_ERRORS};
	for (const struct dfg_err *e = err; e; e = e->next)
		faults.left--;
	if (err && err->code == DFG_DATA && r->resolved)
		dfg_calls_check(r->graph, false, &faults);
	return faults.err;
}

static void tell_unknown(const struct dfg_reader *r, const struct dfg_graph_options *options)
{
	const struct dfg_wire_file *file = &r->file;
	char text[200];
	if (!file->unknown || !options || !options->notes.note)
		return;
	snprintf(text, sizeof text, "dropped %zu unknown field%s, first field %" PRIu32 " of a %s, at byte %zu",
		file->unknown, dfg_plural(file->unknown), file->first_unknown.number, file->first_unknown.message,
		file->first_unknown.at);
	options->notes.note(options->notes.arg, text);
}

size_t dfg_graphdef_limit(size_t size)
{
	return MEMORY_LEAST + MEMORY_TIMES * size;
}

struct dfg_err *dfg_graphdef_read(const uint8_t *bytes, size_t size, const struct dfg_graph_options *options,
	struct dfg_arena *arena, struct dfg_graph *out_graph)
{
	size_t limit = arena->limit;
	struct dfg_reader r = {
		.file = {.start = bytes, .strict = options && options->strict},
		.graph = out_graph,
		.arena = arena,
		.budget = arena->total + (options && options->limit ? options->limit : dfg_graphdef_limit(size)),
	};
	dfg_graph_init(out_graph, arena);
	out_graph->unversioned = true;
	out_graph->producer = 0;
	struct dfg_err *err = read_graph(&r, size);
	err = dfg_err_join(r.errors, err);
	if (options && options->thorough)
		err = check_calls(&r, err);
	if (!err)
		tell_unknown(&r, options);
	arena->limit = limit;
	dfg_map_release(&r.words);
	dfg_map_release(&r.lost);
	dfg_free(r.word);
	dfg_free(r.attr);
	dfg_free(r.input);
	if (err)
		dfg_graph_release(out_graph);
	return err;
}
