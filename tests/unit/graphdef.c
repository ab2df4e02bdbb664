#include "formats/graphdef.h"

#include "formats/synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct dfg_graph_file file;

/* Opens what must be a graph. */
static const struct dfg_graph *open_graph(const char *path)
{
	struct dfg_err *err = dfg_graph_open(path, NULL, &file);
	if (err)
		fail_msg("%s", err->text);
	return &file.graph;
}

/* A graph with one node whose fields are in the bytes. */
static struct dfg_err *read_bytes(const void *bytes, size_t size, struct dfg_arena *arena, struct dfg_graph *graph)
{
	return dfg_graphdef_read(bytes, size, NULL, arena, graph);
}

#define REFUSES(bytes, words) refuses(bytes, sizeof(bytes) - 1, words)
static void refuses(const char *bytes, size_t size, const char *words)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_err *err = read_bytes(bytes, size, &arena, &graph);
	assert_non_null(err);
	assert_int_equal(err->code, DFG_DATA);
	if (!strstr(err->text, words))
		fail_msg("'%s' does not say '%s'", err->text, words);
	dfg_err_free(err);
	dfg_arena_release(&arena);
}

static void take_note(void *arg, const char *text)
{
	snprintf(arg, 200, "%s", text);
}

/* The file `from`, read and written, has the bytes of the file `same`. */
static void comes_out_as(const char *from, const char *same)
{
	char path[] = P_tmpdir "/graphdef-XXXXXX";
	struct dfg_blob want, got;
	close(mkstemp(path));
	assert_null(dfg_graph_save(&(struct dfg_graph_output){.path = path}, open_graph(from)));
	assert_null(dfg_blob_open(path, 0, &got));
	assert_null(dfg_blob_open(same, 0, &want));
	assert_int_equal(got.size, want.size);
	assert_memory_equal(got.bytes, want.bytes, want.size);
	dfg_blob_close(&want);
	dfg_blob_close(&got);
	dfg_graph_close(&file);
	unlink(path);
}

static void canonical_files_come_out_as_they_were(void **state)
{
	(void)state;
	comes_out_as("tests/graphs/every.pb", "tests/graphs/every.pb");
	comes_out_as("tests/graphs/network.pb", "tests/graphs/network.pb");
	comes_out_as("tests/graphs/loop.pb", "tests/graphs/loop.pb");
}

static void other_encodings_of_a_graph_come_out_canonical(void **state)
{
	(void)state;
	comes_out_as("tests/graphs/every.odd.pb", "tests/graphs/every.pb");
	comes_out_as("tests/graphs/network.odd.pb", "tests/graphs/network.pb");
	comes_out_as("tests/graphs/loop.odd.pb", "tests/graphs/loop.pb");
}

/* Large enough for two threads. */
static void large_graphs_come_out_as_they_were(void **state)
{
	(void)state;
	char path[] = P_tmpdir "/synthetic-XXXXXX";
	struct dfg_out out;
	close(mkstemp(path));
	assert_null(dfg_out_open(path, false, &out));
	assert_null(dfg_synthetic_write(50000, 120000, 7, &out));
	assert_null(dfg_out_commit(&out));
	dfg_out_release(&out);
	comes_out_as(path, path);
	uint64_t edges = 0;
	const struct dfg_graph *graph = open_graph(path);
	assert_int_equal(graph->count, 50000);
	for (uint32_t i = 0; i < graph->count; i++)
		for (uint32_t e = 0; e < graph->node[i].n_in; e++, edges++)
			assert_true(graph->node[i].in[e].node < i);
	assert_int_equal(edges, 120000);
	dfg_graph_close(&file);
	unlink(path);
}

/* A first node whose name is so long that the file begins like a text. */
static void a_long_first_name_makes_no_text(void **state)
{
	(void)state;
	char path[] = P_tmpdir "/name-XXXXXX", bytes[] = "\x0a\x89\x08\x0a\x80\x08";
	struct dfg_out out;
	char name[1024];
	memset(name, 'a', sizeof name);
	close(mkstemp(path));
	assert_null(dfg_out_open(path, false, &out));
	assert_null(dfg_out_write(&out, bytes, 6));
	assert_null(dfg_out_write(&out, name, sizeof name));
	assert_null(dfg_out_write(&out, "\x12\x04NoOp", 6));
	assert_null(dfg_out_commit(&out));
	dfg_out_release(&out);
	assert_int_equal(strlen(open_graph(path)->node[0].name), sizeof name);
	dfg_graph_close(&file);
	unlink(path);
}

static void edges_name_nodes_and_ports(void **state)
{
	(void)state;
	const struct dfg_graph *graph = open_graph("tests/graphs/every.pb");
	const struct dfg_node *end = &graph->node[dfg_graph_find(graph, "end")];
	assert_int_equal(end->n_in, 3);
	assert_int_equal(end->n_control, 2);
	assert_string_equal(graph->node[end->in[0].node].name, "all/kinds-1.2");
	assert_int_equal(end->in[0].port, 3);
	assert_int_equal(end->in[1].port, 0);
	assert_int_equal(end->in[3].port, DFG_CONTROL);
	assert_ptr_equal(&graph->node[end->in[3].node], end);
	dfg_graph_close(&file);
}

static void attributes_have_their_values(void **state)
{
	(void)state;
	const struct dfg_graph *graph = open_graph("tests/graphs/every.pb");
	const struct dfg_node *node = &graph->node[0];
	assert_string_equal(node->device, "/job:w/task:3/device:CPU:0");
	assert_int_equal(dfg_node_attr(node, "none")->kind, DFG_ATTR_NONE);
	assert_int_equal(dfg_node_attr(node, "i")->value.i, INT64_MIN);
	assert_true(dfg_node_attr(node, "inf")->value.f < -1e308);
	assert_int_equal(dfg_node_attr(node, "Tref")->value.dtype, DFG_REF + DFG_F32);
	assert_int_equal(dfg_node_attr(node, "shape")->value.shape->dim[1], DFG_UNKNOWN);
	assert_int_equal(dfg_node_attr(node, "rank")->value.shape->rank, DFG_UNKNOWN);
	const struct dfg_func *func = dfg_node_attr(node, "func")->value.func;
	assert_string_equal(func->name, "f");
	assert_string_equal(func->attr[1].value.func->name, "g");
	const struct dfg_list *list = dfg_node_attr(node, "li")->value.list;
	assert_int_equal(list->count, 4);
	assert_int_equal(list->item[2].i, -1);
	assert_int_equal(dfg_node_attr(node, "nothing")->value.list->kind, DFG_ATTR_NONE);
	assert_int_equal(dfg_node_attr(node, "s")->value.s.length, 11);
	dfg_graph_close(&file);
}

static const struct dfg_literal *constant(const struct dfg_graph *graph, const char *name)
{
	return dfg_node_attr(&graph->node[dfg_graph_find(graph, name)], "value")->value.tensor;
}

/* node { name: "a" op: "O" attr { "N": 1 } }, and so on: attributes that were there before are not read again. */
static void equal_attributes_are_kept_once(void **state)
{
	(void)state;
	static const char bytes[] =
		"\x0a\x0f\x0a\x01"
		"a\x12\x01O\x2a\x07\x0a\x01N\x12\x02\x18\x01"
		"\x0a\x0f\x0a\x01"
		"b\x12\x01O\x2a\x07\x0a\x01N\x12\x02\x18\x02"
		"\x0a\x0f\x0a\x01"
		"c\x12\x01O\x2a\x07\x0a\x01N\x12\x02\x18\x01"
		"\x0a\x06\x0a\x01"
		"d\x12\x01O";
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	assert_null(read_bytes(bytes, sizeof bytes - 1, &arena, &graph));
	assert_int_equal(dfg_node_attr(&graph.node[0], "N")->value.i, 1);
	assert_int_equal(dfg_node_attr(&graph.node[1], "N")->value.i, 2);
	assert_ptr_equal(graph.node[2].attr, graph.node[0].attr);
	assert_int_equal(graph.node[2].n_attr, 1);
	assert_int_equal(graph.node[3].n_attr, 0);
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
}

/* The attribute ends in field 15, which no AttrValue has: each node that has it counts. */
static void unknown_fields_of_equal_attributes_are_all_counted(void **state)
{
	(void)state;
	static const char bytes[] =
		"\x0a\x11\x0a\x01"
		"a\x12\x01O\x2a\x09\x0a\x01N\x12\x04\x18\x01\x78\x01"
		"\x0a\x11\x0a\x01"
		"b\x12\x01O\x2a\x09\x0a\x01N\x12\x04\x18\x01\x78\x01";
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	char told[200] = "";
	const struct dfg_graph_options options = {.notes = {.note = take_note, .arg = told}};
	assert_null(dfg_graphdef_read((const uint8_t *)bytes, sizeof bytes - 1, &options, &arena, &graph));
	assert_non_null(strstr(told, "2 unknown fields"));
	dfg_graph_release(&graph);
	dfg_arena_release(&arena);
}

static void constants_are_there_in_every_form(void **state)
{
	(void)state;
	const struct dfg_graph *graph = open_graph("tests/graphs/every.pb");
	struct dfg_tensor tensor;
	assert_null(dfg_literal_tensor(constant(graph, "list/DT_INT16/splat"), &tensor));
	assert_int_equal(dfg_shape_count(&tensor.shape), 3);
	assert_int_equal(dfg_tensor_int(&tensor, 2), -32768);
	dfg_tensor_release(&tensor);
	assert_null(dfg_literal_tensor(constant(graph, "list/DT_UINT64/whole"), &tensor));
	assert_true(((uint64_t *)tensor.data)[0] == UINT64_MAX);
	dfg_tensor_release(&tensor);
	assert_null(dfg_literal_tensor(constant(graph, "content/float32"), &tensor));
	assert_int_equal(tensor.shape.dim[1], 3);
	assert_true(dfg_tensor_float(&tensor, 5) == 5);
	dfg_tensor_release(&tensor);
	assert_int_equal(constant(graph, "list/DT_STRING/whole")->given, 3);
	const struct dfg_string *string = constant(graph, "list/DT_STRING/whole")->data;
	assert_memory_equal(string[2].s, "abc", 3);
	dfg_graph_close(&file);
}

static void what_is_broken_names_its_place(void **state)
{
	(void)state;
	REFUSES("", "the graph has no nodes");
	REFUSES("\x0a\x05\x0a", "byte 0: a field of GraphDef has length 5, but only 1 bytes are left");
	REFUSES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "byte 0: the length");
	REFUSES("\x02\x00", "byte 0: field number 0");
	REFUSES("\x0b\x0c", "byte 0: field 1 of a GraphDef has unknown wire type 3");
	REFUSES("\x08\x01", "byte 0: node of a GraphDef has the wrong wire type");
	REFUSES("\x22\x00\x22\x00", "byte 2: versions of a GraphDef is given twice");
	REFUSES("\x0a\x0b\x2a\x09\x0a\x01T\x12\x04\x18\x01\x18\x01", "i of a AttrValue is given twice");
}

static void names_and_inputs_are_checked(void **state)
{
	(void)state;
	REFUSES("\x0a\x03\x12\x01X", "a node has no name");
	REFUSES("\x0a\x03\x0a\x01x", "node 'x': a node has no op");
	REFUSES("\x0a\x06\x0a\x01\x1b\x12\x01X", "node '\\x1b' (X): byte 0 of the name is 0x1b");
	REFUSES("\x0a\x06\x0a\x01x\x12\x01X\x0a\x06\x0a\x01x\x12\x01Y",
		"two nodes are named 'x': number 0 and number 1 (X and Y)");
	REFUSES("\x0a\x0b\x0a\x03xyz\x12\x01X\x1a\x01x", "node 'xyz' (X): input 0: no node 'x'");
	REFUSES("\x0a\x0a\x0a\x01x\x12\x01X\x1a\x02x:", "input 0 'x:' has no number");
	REFUSES("\x0a\x0c\x0a\x01x\x12\x01X\x1a\x04x:-1", "input 0 'x:-1' has a negative output number");
	REFUSES("\x0a\x15\x0a\x01x\x12\x01X\x1a\x0dx:99999999999", "input 0 'x:99999999999' has a larger output number");
	REFUSES("\x0a\x0d\x0a\x01x\x12\x01X\x1a\x02^x\x1a\x01x", "input 1 'x' is a data input after a control input");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_files_come_out_as_they_were),
		cmocka_unit_test(other_encodings_of_a_graph_come_out_canonical),
		cmocka_unit_test(large_graphs_come_out_as_they_were),
		cmocka_unit_test(a_long_first_name_makes_no_text),
		cmocka_unit_test(edges_name_nodes_and_ports),
		cmocka_unit_test(attributes_have_their_values),
		cmocka_unit_test(equal_attributes_are_kept_once),
		cmocka_unit_test(unknown_fields_of_equal_attributes_are_all_counted),
		cmocka_unit_test(constants_are_there_in_every_form),
		cmocka_unit_test(what_is_broken_names_its_place),
		cmocka_unit_test(names_and_inputs_are_checked),
	};
	return cmocka_run_group_tests_name("graphdef", tests, NULL, NULL);
}
