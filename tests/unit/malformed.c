/*
 * Files from strangers: every prefix and many random changes of recorded graphs, and the kinds of bad file that have
 * brought other readers down. A bad file is refused with DFG_DATA, never with a signal; memory stays within the budget,
 * which an allocator in front of the heap enforces; the stack is small.
 */
#include "formats/encode.h"
#include "formats/graph.pb-c.h"
#include "formats/graphdef.h"
#include "formats/pbtxt.h"
#include "formats/reader.h"
#include "lib/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CHANGES = 100000, STACK = 256 * 1024, SLACK = 64 * 1024 /* for the text of errors */ };

static const char *const seeds[] = {
	"tests/graphs/every.pb",
	"tests/graphs/network.pb",
	"tests/graphs/loop.pb",
	"tests/graphs/loop.odd.pb",
	"tests/graphs/image.pb",
	"tests/graphs/branch.pb",
	"tests/graphs/words.pb",
	"tests/graphs/store.pb",
	"tests/graphs/queue.pb",
	"tests/graphs/table.pb",
	"tests/graphs/calls.pb",
};
enum { SEEDS = sizeof seeds / sizeof *seeds };

/* The graph in canonical form, in memory. */
static struct dfg_err *append(void *text, struct dfg_encoder *part)
{
	size_t length = part->length;
	uint8_t *bytes = dfg_zeros(length + 1, 1);
	assert_non_null(bytes);
	dfg_encoder_copy(part, bytes);
	dfg_encoder_empty(part);
	dfg_text_put(text, bytes, length);
	dfg_free(bytes);
	return NULL;
}

/* A graph that was read and written is the same when it is read and written again. */
static void comes_out_stable(const struct dfg_graph *graph)
{
	struct dfg_text once = {0}, twice = {0};
	struct dfg_arena arena = {0};
	struct dfg_graph again;
	assert_null(dfg_graphdef_parts(graph, append, &once));
	struct dfg_err *err = dfg_graphdef_read((const uint8_t *)once.s, once.length, NULL, &arena, &again);
	if (err)
		fail_msg("what was written is not read: %s", err->text);
	assert_null(dfg_graphdef_parts(&again, append, &twice));
	assert_int_equal(once.length, twice.length);
	assert_memory_equal(once.s, twice.s, once.length);
	dfg_graph_release(&again);
	dfg_arena_release(&arena);
	dfg_text_release(&once);
	dfg_text_release(&twice);
}

/* Reads what may be anything: a graph, or an error of the data. True for a graph. */
static bool reads(const uint8_t *bytes, size_t size)
{
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	struct dfg_err *err = dfg_graphdef_read(bytes, size, NULL, &arena, &graph);
	bool good = !err;
	if (err)
		assert_int_equal(err->code, DFG_DATA);
	else
		comes_out_stable(&graph);
	dfg_err_free(err);
	if (good)
		dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return good;
}

static void open_seed(int i, struct dfg_blob *blob)
{
	assert_null(dfg_blob_open(seeds[i], 0, blob));
	assert_true(reads(blob->bytes, blob->size));
}

/* A copy of the right size, so that a sanitiser sees every byte read after its end. */
static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = dfg_zeros(size + !size, 1);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	return copy;
}

static void every_prefix_is_a_graph_or_refused(void **state)
{
	(void)state;
	for (int i = 0; i < SEEDS; i++) {
		struct dfg_blob blob;
		open_seed(i, &blob);
		for (size_t size = 0; size < blob.size; size++) {
			uint8_t *copy = copy_of(blob.bytes, size);
			reads(copy, size);
			dfg_free(copy);
		}
		dfg_blob_close(&blob);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static void changed_bytes_make_a_graph_or_are_refused(void **state)
{
	(void)state;
	uint64_t random = 88172645463325252u;
	size_t good = 0;
	for (int i = 0; i < SEEDS; i++) {
		struct dfg_blob blob;
		open_seed(i, &blob);
		uint8_t *copy = copy_of(blob.bytes, blob.size);
		for (int n = 0; n < CHANGES / SEEDS; n++) {
			size_t at[3], changes = 1 + next_random(&random) % 3;
			for (size_t c = 0; c < changes; c++) {
				at[c] = next_random(&random) % blob.size;
				copy[at[c]] = (uint8_t)next_random(&random);
			}
			good += reads(copy, blob.size);
			for (size_t c = 0; c < changes; c++)
				copy[at[c]] = blob.bytes[at[c]];
		}
		dfg_free(copy);
		dfg_blob_close(&blob);
	}
	assert_in_range(good, 1, CHANGES - 1);
}

static void changed_text_is_a_graph_or_refused(void **state)
{
	(void)state;
	struct dfg_blob blob;
	uint64_t random = 1;
	assert_null(dfg_blob_open("tests/graphs/loop.pbtxt", 0, &blob));
	uint8_t *copy = copy_of(blob.bytes, blob.size);
	for (int n = 0; n < CHANGES / 50; n++) {
		static const char signs[] = "{}[]<>:,;\"'\\-#. \n0x9azTe";
		size_t at = next_random(&random) % blob.size, size = n % 2 ? blob.size : at;
		struct dfg_wire_file file = {.start = copy};
		struct dfg_text wire = {0};
		copy[at] = n % 3 ? (uint8_t)signs[next_random(&random) % (sizeof signs - 1)] : (uint8_t)next_random(&random);
		struct dfg_err *err = dfg_pbtxt_to_wire(&dfg__graph_def__descriptor, copy, size, &file, &wire);
		if (err)
			assert_int_equal(err->code, DFG_DATA);
		else
			reads((const uint8_t *)wire.s, wire.length);
		dfg_err_free(err);
		dfg_text_release(&wire);
		copy[at] = blob.bytes[at];
	}
	dfg_free(copy);
	dfg_blob_close(&blob);
}

/* A file to build from its end. */
static struct dfg_encoder made;

/* Closes a node around what was put last: an attribute's entry around a value, and so on. */
static void put_node_around(const char *attr, size_t mark)
{
	if (attr) {
		dfg_encode_head(&made, ENTRY_VALUE, mark);
		dfg_encode_string(&made, ENTRY_KEY, attr, strlen(attr));
		dfg_encode_head(&made, NODE_ATTR, mark);
	}
	dfg_encode_string(&made, NODE_OP, "Const", 5);
	dfg_encode_string(&made, NODE_NAME, "n", 1);
	dfg_encode_head(&made, GRAPH_NODE, mark);
}

struct verdict {
	const uint8_t *bytes;
	size_t size;
	struct dfg_err *err;
	int64_t took; /* ns of processor time */
};

static int64_t processor_time(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void *read_in_thread(void *verdict_)
{
	struct verdict *verdict = verdict_;
	struct dfg_arena arena = {0};
	struct dfg_graph graph;
	int64_t began = processor_time();
	verdict->err = dfg_graphdef_read(verdict->bytes, verdict->size, NULL, &arena, &graph);
	verdict->took = processor_time() - began;
	if (!verdict->err)
		dfg_graph_release(&graph);
	dfg_arena_release(&arena);
	return NULL;
}

/*
 * Reads what was made, on a small stack and with no more memory than is promised; words NULL: it must be a graph. Returns
 * the ns of processor time that reading took.
 */
static int64_t judge(const char *words)
{
	struct dfg_mem_limit limit;
	struct dfg_allocator *heap = dfg_mem;
	struct verdict verdict = {.size = made.length};
	pthread_attr_t attr;
	pthread_t thread;
	uint8_t *bytes = dfg_zeros(made.length + 1, 1);
	dfg_encoder_copy(&made, bytes);
	verdict.bytes = bytes;
	dfg_encoder_release(&made);
	dfg_mem_limit_init(&limit, heap, 64 * 1024 * 1024 + 4 * verdict.size + SLACK);
	dfg_mem = &limit.base;
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, read_in_thread, &verdict), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	dfg_mem = heap;
	if (words && !verdict.err)
		fail_msg("not refused, though '%s'", words);
	if (verdict.err && (!words || verdict.err->code != DFG_DATA || !strstr(verdict.err->text, words)))
		fail_msg("'%s', code %d, does not say '%s'", verdict.err->text, verdict.err->code, words ? words : "no error");
	dfg_mem = &limit.base;
	dfg_err_free(verdict.err);
	dfg_mem = heap;
	assert_int_equal(limit.used, 0);
	dfg_free(bytes);
	return verdict.took;
}

/* Functions within attributes of functions: the field numbers of the messages on the way, over and over. */
static void nest(size_t levels)
{
	static const uint32_t field[] = {FUNC_ATTR, ENTRY_VALUE, VALUE_FUNC};
	size_t mark = dfg_encode_mark(&made);
	for (size_t i = levels; i-- > 0;)
		dfg_encode_head(&made, field[(i + 2) % 3], mark);
	put_node_around("f", mark);
}

static void nesting_is_bounded(void **state)
{
	(void)state;
	nest(3 * 30 + 1);
	judge("the name of an attribute is empty"); /* entries have no key: so far the reader went */
	nest(3 * 33);
	judge("nested deeper than 100");
	nest(1000000);
	judge("nested deeper than 100");
}

/* The library is another reader's business. */
static void nesting_in_functions_is_bounded(void **state)
{
	(void)state;
	size_t mark = dfg_encode_mark(&made);
	for (int i = 0; i < 1000000; i++)
		dfg_encode_head(&made, 2, mark); /* FullTypeDef.args */
	dfg_encode_head(&made, 17, mark);
	dfg_encode_head(&made, 2, mark);
	dfg_encode_head(&made, FUNCTION_SIGNATURE, mark);
	dfg_encode_head(&made, LIBRARY_FUNCTION, mark);
	dfg_encode_head(&made, GRAPH_LIBRARY, mark);
	judge("nested deeper than 100");
}

static void masses_of_empty_messages_are_refused(void **state)
{
	(void)state;
	enum { MASS = 4 * 1024 * 1024 };
	for (int i = 0; i < MASS; i++)
		dfg_encode_varint(&made, 0), dfg_encode_varint(&made, GRAPH_NODE << 3 | 2);
	judge("a node has no name");
	for (int i = 0; i < MASS; i++)
		dfg_encode_varint(&made, 0), dfg_encode_varint(&made, NODE_ATTR << 3 | 2);
	put_node_around(NULL, 0);
	judge("the name of an attribute is empty");
	for (int i = 0; i < MASS; i++)
		dfg_encode_varint(&made, 0), dfg_encode_varint(&made, NODE_INPUT << 3 | 2);
	put_node_around(NULL, 0);
	judge("input 0: no node ''");
	for (int i = 0; i < MASS; i++)
		dfg_encode_varint(&made, 0), dfg_encode_varint(&made, VALUE_SHAPE << 3 | 2);
	dfg_encode_head(&made, VALUE_LIST, 0);
	put_node_around("shapes", 0);
	judge("needs more than");
	for (int i = 0; i < MASS; i++)
		dfg_encode_varint(&made, 0), dfg_encode_varint(&made, LIBRARY_FUNCTION << 3 | 2);
	dfg_encode_head(&made, GRAPH_LIBRARY, 0);
	judge("exceeds the loader's memory limit");
}

static void what_stands_once_stands_once(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++)
		dfg_encode_varint(&made, 0), dfg_encode_varint(&made, TENSOR_SHAPE << 3 | 2);
	dfg_encode_head(&made, VALUE_TENSOR, 0);
	put_node_around("value", 0);
	judge("tensor_shape of a TensorProto is given twice");
	dfg_encode_number(&made, VALUE_I, 1);
	dfg_encode_number(&made, VALUE_B, 1);
	put_node_around("value", 0);
	judge("i of a AttrValue is given twice, or together with b");
	for (int i = 0; i < 2; i++) {
		size_t mark = dfg_encode_mark(&made);
		dfg_encode_string(&made, ENTRY_KEY, "T", 1);
		dfg_encode_head(&made, NODE_ATTR, mark);
	}
	put_node_around(NULL, 0);
	judge("node 'n' (Const): attribute 'T' is given twice");
	for (int i = 0; i < 2; i++) {
		size_t mark = dfg_encode_mark(&made);
		dfg_encode_string(&made, OPDEF_NAME, "f", 1);
		dfg_encode_head(&made, FUNCTION_SIGNATURE, mark);
		dfg_encode_head(&made, LIBRARY_FUNCTION, mark);
	}
	dfg_encode_head(&made, GRAPH_LIBRARY, 0);
	judge("function 'f' is defined twice: number 0 and number 1");
}

static void put_dims(const int64_t *dim, int rank)
{
	size_t all = dfg_encode_mark(&made);
	for (int i = rank; i-- > 0;) {
		size_t mark = dfg_encode_mark(&made);
		dfg_encode_number(&made, DIM_SIZE, (uint64_t)dim[i]);
		dfg_encode_head(&made, SHAPE_DIM, mark);
	}
	dfg_encode_head(&made, TENSOR_SHAPE, all);
}

/* A constant of that type and shape, its content or values put before. */
static void judge_tensor(uint64_t dtype, const int64_t *dim, int rank, const char *words)
{
	put_dims(dim, rank);
	dfg_encode_number(&made, TENSOR_DTYPE, dtype);
	dfg_encode_head(&made, VALUE_TENSOR, 0);
	put_node_around("value", 0);
	judge(words);
}
#define DIMS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static void constants_are_what_they_say(void **state)
{
	(void)state;
	const int64_t far = INT64_C(1) << 32, farther = INT64_C(1) << 62;
	judge_tensor(0, DIMS(1), "a tensor has the invalid type number 0");
	judge_tensor(9999, DIMS(1), "a tensor has the invalid type number 9999");
	judge_tensor(101, DIMS(1), "a tensor has the invalid type number 101");
	judge_tensor(DFG_F32, DIMS(-1), "a tensor has shape [?]");
	judge_tensor(DFG_F32, DIMS(2, -5), "dimension 1 of a shape is -5");
	judge_tensor(DFG_F32, DIMS(INT64_MAX), "larger than any memory");
	judge_tensor(DFG_F32, DIMS(far, far), "larger than any memory");
	judge_tensor(DFG_F32, DIMS(0, farther, farther), "larger than any memory");
	judge_tensor(DFG_F32, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), "a shape has more than 8 dimensions");
	judge_tensor(DFG_F32, DIMS(far), NULL); /* zeros, of which none is stored */
	dfg_encode_string(&made, TENSOR_CONTENT, "1234567", 7);
	judge_tensor(DFG_F32, DIMS(2), "f32[2] has 7 bytes in tensor_content, not 8");
	dfg_encode_string(&made, TENSOR_CONTENT, "\0\1\2", 3);
	judge_tensor(DFG_BOOL, DIMS(3), "element 2 of a bool tensor is the byte 2");
	dfg_encode_string(&made, TENSOR_CONTENT, "\3abc", 4);
	judge_tensor(DFG_STRING, DIMS(1), "a tensor of string has tensor_content");
	dfg_encode_number(&made, dfg_tensor_list_field(DFG_I32), 1);
	dfg_encode_string(&made, TENSOR_CONTENT, "1234", 4);
	judge_tensor(DFG_I32, DIMS(1), "both tensor_content and int_val");
	dfg_encode_number(&made, dfg_tensor_list_field(DFG_I32), 1);
	judge_tensor(DFG_F32, DIMS(1), "a tensor of f32 has its values in field int_val");
	dfg_encode_string(&made, dfg_tensor_list_field(DFG_I32), "\1\2\3", 3);
	judge_tensor(DFG_I32, DIMS(2), "i32[2] has 3 values in int_val");
	dfg_encode_number(&made, dfg_tensor_list_field(DFG_I32), 7);
	judge_tensor(DFG_I32, DIMS(INT64_C(1) << 40), NULL); /* one value for all, spread out by nobody */
	dfg_encode_string(&made, dfg_tensor_list_field(DFG_F32), "12345", 5);
	judge_tensor(DFG_F32, DIMS(2), "float_val is truncated");
}

static void shapes_and_types_of_attributes_are_checked(void **state)
{
	(void)state;
	dfg_encode_number(&made, VALUE_TYPE, 99);
	put_node_around("T", 0);
	judge("node 'n' (Const): attribute 'T': type number 99 is unknown");
	dfg_encode_number(&made, SHAPE_UNKNOWN_RANK, 1);
	size_t mark = dfg_encode_mark(&made);
	dfg_encode_head(&made, SHAPE_DIM, mark);
	dfg_encode_head(&made, VALUE_SHAPE, 0);
	put_node_around("shape", 0);
	judge("attribute 'shape': a shape of unknown rank has 1 dimensions");
	dfg_encode_string(&made, VALUE_PLACEHOLDER, "\xff", 1);
	put_node_around("p", 0);
	judge("not UTF-8");
}

static void names_that_would_harm_a_terminal_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t length;
		const char *words;
	} row[] = {
		{"a\0b", 3, "byte 1 of the name is 0x00"},
		{"\x1b[31m", 5, "node '\\x1b[31m' (X): byte 0 of the name is 0x1b"},
		{"caf\xc3\xa9", 5, "byte 3 of the name is 0xc3"},
		{"a b", 3, "byte 1 of the name is 0x20"},
		{"-a", 2, "byte 0 of the name is 0x2d"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		dfg_encode_string(&made, NODE_OP, "X", 1);
		dfg_encode_string(&made, NODE_NAME, row[i].name, row[i].length);
		dfg_encode_head(&made, GRAPH_NODE, 0);
		judge(row[i].words);
	}
	char *long_name = dfg_zeros(5000, 1);
	memset(long_name, 'a', 4999);
	dfg_encode_string(&made, NODE_OP, "X", 1);
	dfg_encode_string(&made, NODE_NAME, long_name, 4999);
	dfg_encode_head(&made, GRAPH_NODE, 0);
	judge("the name has 4999 bytes, the limit is 4096");
	dfg_free(long_name);
	dfg_encode_string(&made, NODE_OP, "X\0Y", 3);
	dfg_encode_string(&made, NODE_NAME, "n", 1);
	dfg_encode_head(&made, GRAPH_NODE, 0);
	judge("the op contains the control character 0x00");
}

/* One node that reads `half` others and waits for as many. */
static void put_wide(int half)
{
	for (int i = 0; i < 2 * half; i++)
		dfg_encode_string(&made, NODE_INPUT, i < half ? "^n" : "n:3", i < half ? 2 : 3);
	put_node_around(NULL, 0);
}

/* As many nodes, each of which reads the one that follows. */
static void put_chain(int nodes)
{
	char name[16];
	for (int i = 0; i < nodes; i++) {
		size_t mark = dfg_encode_mark(&made);
		dfg_encode_string(&made, NODE_OP, "X", 1);
		if (i)
			dfg_encode_string(&made, NODE_INPUT, name, strlen(name));
		snprintf(name, sizeof name, "n%d", i);
		dfg_encode_string(&made, NODE_NAME, name, strlen(name));
		dfg_encode_head(&made, GRAPH_NODE, mark);
	}
}

/* The least processor time, in ns, of three readings of a graph of that size. */
static int64_t reading_takes(void (*put)(int size), int size)
{
	int64_t least = INT64_MAX;
	for (int i = 0; i < 3; i++) {
		put(size);
		int64_t took = judge(NULL);
		least = took < least ? took : least;
	}
	return least;
}

/* A chain, a node that reads many others, as many control edges: no walk recurses, or looks twice at a node or an edge. */
static void large_graphs_are_read_in_linear_time(void **state)
{
	(void)state;
	enum { MANY = 32000, TIMES = 8 }; /* a square would take 64 times as long */
	static void (*const puts[])(int size) = {put_wide, put_chain};
	for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
		int64_t few = reading_takes(puts[i], MANY), many = reading_takes(puts[i], TIMES * MANY);
		if (many > 4 * TIMES * few)
			fail_msg("graph %zu: %lld ns, but %lld ns if %d times as large", i, (long long)few, (long long)many, TIMES);
	}
}

/* Finding 40. A million nodes of 23 bytes each take 137 MB, of 159 MB that their file may take. */
static void a_long_chain_is_within_the_budget(void **state)
{
	(void)state;
	for (int nodes = 500000; nodes <= 1000000; nodes += 100000) {
		put_chain(nodes);
		judge(NULL);
	}
}

/* Budgets that are too small from some 24,000 nodes on, whichever powers of two lie between. */
static void a_chain_longer_than_a_refused_one_is_refused(void **state)
{
	(void)state;
	int refused = 0;
	for (int nodes = 4000; nodes <= 70000; nodes += 1000) {
		struct dfg_arena arena = {0};
		struct dfg_graph graph;
		put_chain(nodes);
		struct dfg_graph_options options = {.limit = 1024 * 1024 + 4 * made.length};
		uint8_t *bytes = dfg_zeros(made.length, 1);
		assert_non_null(bytes);
		dfg_encoder_copy(&made, bytes);
		struct dfg_err *err = dfg_graphdef_read(bytes, made.length, &options, &arena, &graph);
		if (!err && refused)
			fail_msg("a chain of %d nodes is refused, one of %d is not", refused, nodes);
		if (!err)
			dfg_graph_release(&graph);
		else
			assert_int_equal(err->code, DFG_DATA);
		refused = err && !refused ? nodes : refused;
		dfg_err_free(err);
		dfg_arena_release(&arena);
		dfg_free(bytes);
		dfg_encoder_release(&made);
	}
	assert_in_range(refused, 10000, 40000);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	struct dfg_allocator *heap = dfg_mem;
	for (int i = 0; i < SEEDS; i++) {
		struct dfg_blob blob;
		bool good = false;
		open_seed(i, &blob);
		for (long left = 0; !good; left++) {
			struct dfg_mem_failing failing;
			struct dfg_arena arena = {0};
			struct dfg_graph graph;
			dfg_mem_failing_init(&failing, heap, left, false);
			dfg_mem = &failing.base;
			struct dfg_err *err = dfg_graphdef_read(blob.bytes, blob.size, NULL, &arena, &graph);
			good = !err;
			if (err)
				assert_int_equal(err->code, DFG_MEMORY);
			else
				dfg_graph_release(&graph);
			dfg_err_free(err);
			dfg_arena_release(&arena);
			dfg_mem = heap;
		}
		dfg_blob_close(&blob);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_prefix_is_a_graph_or_refused),
		cmocka_unit_test(changed_bytes_make_a_graph_or_are_refused),
		cmocka_unit_test(changed_text_is_a_graph_or_refused),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(nesting_in_functions_is_bounded),
		cmocka_unit_test(masses_of_empty_messages_are_refused),
		cmocka_unit_test(what_stands_once_stands_once),
		cmocka_unit_test(constants_are_what_they_say),
		cmocka_unit_test(shapes_and_types_of_attributes_are_checked),
		cmocka_unit_test(names_that_would_harm_a_terminal_are_refused),
		cmocka_unit_test(large_graphs_are_read_in_linear_time),
		cmocka_unit_test(a_long_chain_is_within_the_budget),
		cmocka_unit_test(a_chain_longer_than_a_refused_one_is_refused),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("malformed", tests, NULL, NULL);
}
