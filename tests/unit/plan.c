#include "tests/unit/test.h"

#include "formats/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/sketch.h"

#define W "/job:worker/task:"
#define D0 W "0/device:CPU:0"
#define D1 W "1/device:CPU:0"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PART(i, name, file) "{\"name\":\"" name "\",\"file\":\"" file "\",\"nodes\":1,\"sha256\":\"" HASH "\"}"
#define PARTS PART(0, D0, "w0.pb") "," PART(1, D1, "w1.pb")
#define PLAN(version, parts, transfers) \
	"{\"format\":\"dfg plan\",\"version\":" version ",\"devices\":[" parts "],\"transfers\":[" transfers "]}"
#define MOVE(number, from, to, suspended) \
	"{\"number\":" number ",\"tensor\":\"a\",\"from\":\"" from "\",\"to\":\"" to "\"," suspended "}"
#define REST "\"dtype\":\"f32\",\"shape\":[2,null],\"loop\":\"\",\"depth\":0,\"each\":\"step\""

static char path[64];

static struct dfg_err *read_text(const char *text, struct dfg_plan_folder *plan)
{
	*plan = (struct dfg_plan_folder){.device = NULL};
	return dfg_plan_folder_read(text, strlen(text), plan);
}

static void prints_what_it_reads(void **state)
{
	(void)state;
	static const char text[] = "{\"format\":\"dfg plan\",\"version\":1,\"devices\":[\n" PART(0, D0, "w0.pb") ",\n" PART(
		1, D1, "w1.pb") "\n],\"transfers\":[\n" MOVE("0", "w0", "w1", REST) ",\n" MOVE("1", "w1", "w0",
		"\"dtype\":\"i64\",\"shape\":null,\"loop\":\"a/b\",\"depth\":2,\"each\":\"turn\"") ",\n" MOVE("2", "w1", "w0",
		"\"dtype\":\"bool\",\"shape\":[],\"loop\":\"a\",\"depth\":1,\"each\":\"pivot\"") "\n]}\n";
	struct dfg_plan_folder plan;
	struct dfg_out out;
	struct dfg_blob again;
	succeeds(read_text(text, &plan));
	assert_int_equal(plan.parts.transfers, 3);
	assert_int_equal(plan.parts.transfer[0].shape.dim[1], DFG_UNKNOWN);
	assert_true(plan.parts.transfer[1].each_evaluation);
	assert_false(plan.parts.transfer[2].each_evaluation);
	succeeds(dfg_out_open(path, false, &out));
	succeeds(dfg_plan_folder_print(&plan, &out));
	succeeds(dfg_out_commit(&out));
	dfg_out_release(&out);
	succeeds(dfg_blob_open(path, 0, &again));
	assert_int_equal(again.size, sizeof text - 1);
	assert_memory_equal(again.bytes, text, again.size);
	dfg_blob_close(&again);
	assert_int_equal(unlink(path), 0);
	dfg_plan_folder_close(&plan);
}

static void refuses_manifests_that_lie(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"", "line 1"},
		{"[]", "format"},
		{"{\"format\":\"dfg checkpoint\",\"version\":1}", "expected \"dfg plan\" version 1 to 3"},
		{PLAN("0", PARTS, ""), "expected \"dfg plan\" version 1 to 3"},
		{PLAN("4", PARTS, ""), "expected \"dfg plan\" version 1 to 3"},
		{PLAN("2", PARTS, ""), "shards"},
		{PLAN("2,\"shards\":1,\"buckets\":1", PARTS, ""), "\"shards\" is 1, expected 2 to 65536"},
		{PLAN("2,\"shards\":65537,\"buckets\":1", PARTS, ""), "\"shards\" is 65537, expected 2 to 65536"},
		{PLAN("2,\"shards\":2,\"buckets\":-1", PARTS, ""), "buckets"},
		{PLAN("2,\"shards\":2,\"buckets\":4294967296", PARTS, ""), "\"buckets\" is 4294967296"},
		{PLAN("1", "", ""), "0 devices"},
		{PLAN("1", PART(0, D0, "../w0.pb"), ""), "device 0: \"file\" is \"../w0.pb\", must be \"w0.pb\""},
		{PLAN("1", PART(0, D0, "/etc/passwd"), ""), "must be \"w0.pb\""},
		{PLAN("1", PART(0, D0, "w1.pb"), ""), "must be \"w0.pb\""},
		{PLAN("1", PART(0, D0, "w0.pb\\u0000"), ""), "contains a zero character"},
		{PLAN("1", PART(0, "worker", "w0.pb"), ""), "expected the name of a device"},
		{PLAN("1", PART(0, W "0\\u001b[2J", "w0.pb"), ""), "expected the name of a device"},
		{PLAN("1", PART(0, W "0\\u0000", "w0.pb"), ""), "contains a zero character"},
		{PLAN("1", PART(0, D0, "w0.pb") "," PART(1, D0, "w1.pb"), ""), "w0 also has the name"},
		{PLAN("1", "{\"name\":\"" D0 "\",\"file\":\"w0.pb\",\"nodes\":-1,\"sha256\":\"\"}", ""), "nodes"},
		{PLAN("1", "{\"name\":\"" D0 "\",\"file\":\"w0.pb\",\"nodes\":1,\"sha256\":\"ab\"}", ""), "64 lower-case"},
		{PLAN("1", "{\"name\":\"" D0 "\",\"file\":\"w0.pb\",\"nodes\":1,\"sha256\":\"G" HASH "\"}", ""),
			"64 lower-case"},
		{PLAN("1", PARTS, MOVE("1", "w0", "w1", REST)), "transfer 0: \"number\" is 1"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w0", REST)), "goes from w0 to w0: its ends must be on two devices"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w2", REST)), "\"to\" must be from w0 to w1"},
		{PLAN("1", PARTS, MOVE("0", "w00", "w1", REST)), "\"from\" must be from w0 to"},
		{PLAN("1", PARTS, MOVE("0", "", "w1", REST)), "\"from\" must be from w0 to"},
		{PLAN("1", PARTS, MOVE("0", "w-1", "w1", REST)), "\"from\" must be from w0 to"},
		{PLAN("1", PARTS, MOVE("0", "w1x", "w0", REST)), "\"from\" must be from w0 to"},
		{PLAN("1", PARTS, MOVE("0", "w99999999999999999999", "w0", REST)), "\"from\" must be from w0 to"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w1", "\"dtype\":\"f31\"")), "\"dtype\" is 'f31', expected a dtype"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w1", "\"dtype\":\"f32\"")), "shape"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[-1]")), "\"shape\" has dimension 0"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[1.5]")), "\"shape\" has dimension 0"},
		{PLAN("1", PARTS, MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[1,1,1,1,1,1,1,1,1]")), "9 dims"},
		{PLAN("1", PARTS,
			 MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[],\"loop\":\"\",\"depth\":1,\"each\":\"turn\"")),
			"\"depth\" is 1 in loop ''"},
		{PLAN("1", PARTS,
			 MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[],\"loop\":\"a\",\"depth\":99,\"each\":\"turn\"")),
			"\"depth\" is 99"},
		{PLAN("1", PARTS,
			 MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[],\"loop\":\"a\",\"depth\":1,\"each\":\"step\"")),
			"in a loop"},
		{PLAN("1", PARTS,
			 MOVE("0", "w0", "w1", "\"dtype\":\"f32\",\"shape\":[],\"loop\":\"\",\"depth\":0,\"each\":\"turn\"")),
			"outside of loops"},
		{PLAN("1", PARTS, "7"), "transfer 0"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct dfg_plan_folder plan;
		fails(read_text(bad[i].text, &plan), DFG_DATA, bad[i].words);
		dfg_plan_folder_close(&plan);
	}
}

/* Two parts, and a tensor that goes from the first to the second: what a test then changes. */
struct cut {
	struct sketch sketch[2];
	struct dfg_graph part[2];
	struct dfg_transfer transfer;
	struct dfg_parts parts;
};
static const char *const device[] = {D0, D1};

static void cut_graph(struct cut *cut, const char *first, const char *second)
{
	const char *text[] = {first, second};
	for (int i = 0; i < 2; i++) {
		sketch_init(&cut->sketch[i], NULL, text[i]);
		cut->part[i] = cut->sketch[i].graph;
	}
	cut->transfer = (struct dfg_transfer){
		.from = 0, .to = 1, .tensor = "x", .dtype = DFG_F32, .shape = DFG_SHAPE_UNKNOWN, .loop = ""};
	cut->parts = (struct dfg_parts){.part = cut->part, .parts = 2, .transfer = &cut->transfer, .transfers = 1};
}

static void drop_graph(struct cut *cut)
{
	for (int i = 0; i < 2; i++)
		sketch_release(&cut->sketch[i]);
}

#define WHERE " tensor_name='x' send_device='" D0 "' send_device_incarnation=0 recv_device='" D1 "'"
#define SEND "x Placeholder dtype=f32\ns _Send x T=f32 _dfg_edge=0" WHERE
#define RECV "r _Recv tensor_type=f32 _dfg_edge=0" WHERE "\ny Neg r T=f32"

static struct dfg_err *check(const char *first, const char *second)
{
	struct cut cut;
	struct dfg_faults faults = {.left = 20};
	cut_graph(&cut, first, second);
	cut.part[0].source = "w0.pb", cut.part[1].source = "w1.pb";
	dfg_plan_folder_check(&(struct dfg_plan_folder){.parts = cut.parts, .device = (const char **)device}, &faults);
	drop_graph(&cut);
	return faults.err;
}

static void the_two_ends_of_a_transfer_must_agree(void **state)
{
	(void)state;
	succeeds(check(SEND, RECV));
	fails(check(SEND, "y NoOp"), DFG_DATA, "w1.pb: has no _Recv of transfer 0 ('x')");
	fails(check("x NoOp", RECV), DFG_DATA, "w0.pb: has no _Send of transfer 0 ('x')");
	fails(check("x NoOp", SEND), DFG_DATA,
		"w1.pb: node 's' (_Send): transfer 0: must be in w0 according to manifest.json, but is in w1");
	fails(check(SEND "\nt _Send x T=f32 _dfg_edge=0" WHERE, RECV), DFG_DATA,
		"transfer 0 has two nodes of this op, expected one: also 's'");
	fails(check(SEND, "r _Recv tensor_type=f32 _dfg_edge=1" WHERE), DFG_DATA, "manifest.json does not list");
	fails(check(SEND, "r _Recv tensor_type=f32 _dfg_edge=-1" WHERE), DFG_DATA, "manifest.json does not list");
	fails(check(SEND, "r _Recv tensor_type=f32" WHERE), DFG_DATA,
		"attribute '_dfg_edge', the number of the transfer, is missing");
	fails(check(SEND, "r _Recv tensor_type=i32 _dfg_edge=0" WHERE), DFG_DATA,
		"w1.pb: node 'r' (_Recv): transfer 0: 'x' is f32[...] in manifest.json, but i32[...] in the node");
	fails(check(SEND, "r _Recv tensor_type=f32 _dfg_edge=0 _dfg_shape=[3]" WHERE), DFG_DATA, "f32[3] in the node");
	fails(check(SEND, "_dfg/loop/1/1/turn NoOp\nr _Recv ^_dfg/loop/1/1/turn tensor_type=f32 _dfg_edge=0" WHERE),
		DFG_DATA, "'x' is sent each step according to manifest.json, but each turn according to the node");
	fails(check(SEND, "r _Recv tensor_type=f32 _dfg_edge=0 tensor_name='z' send_device='" D0 "' recv_device='" D1 "'"),
		DFG_DATA, "the node names another tensor than manifest.json, which says 'x'");
	fails(check(SEND, "r _Recv tensor_type=f32 _dfg_edge=0 send_device='x' recv_device='y'"), DFG_DATA,
		"the node names other devices");
}

static int make_folder(void **state)
{
	static char folder[] = "/tmp/dfg-plan-XXXXXX";
	*state = mkdtemp(folder);
	snprintf(path, sizeof path, "%s/plan", folder);
	return 0;
}

static int drop_folder(void **state)
{
	char command[100];
	snprintf(command, sizeof command, "rm -r '%s'", (const char *)*state);
	return system(command);
}

static struct dfg_err *save(const char *first, const char *second)
{
	struct cut cut;
	cut_graph(&cut, first, second);
	struct dfg_err *err = dfg_plan_folder_save(path, false, &cut.parts, device, 1, 0, NULL);
	drop_graph(&cut);
	return err;
}

static struct dfg_err *open_plan(void)
{
	struct dfg_plan_folder plan;
	DFG_TRY(dfg_plan_folder_open(path, NULL, NULL, &plan));
	dfg_plan_folder_close(&plan);
	return NULL;
}

static void what_was_saved_is_what_is_opened(void **state)
{
	(void)state;
	struct dfg_plan_folder plan;
	succeeds(save(SEND, RECV));
	assert_true(dfg_plan_folder_is(path));
	succeeds(dfg_plan_folder_open(path, NULL, NULL, &plan));
	assert_int_equal(plan.parts.parts, 2);
	assert_string_equal(plan.device[1], D1);
	assert_string_equal(plan.parts.part[1].node[0].name, "r");
	assert_string_equal(plan.parts.transfer[0].tensor, "x");
	struct dfg_faults faults = {.left = 20};
	dfg_plan_folder_check(&plan, &faults);
	succeeds(faults.err);
	dfg_plan_folder_close(&plan);
}

/* Writes over the bytes of a file of the plan, or makes one. */
static void spoil(const char *name, const char *mode, const char *text)
{
	char file[100];
	snprintf(file, sizeof file, "%s/%s", path, name);
	FILE *out = fopen(file, mode);
	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void spoil_and_link(const char *name, const char *to)
{
	char file[100];
	snprintf(file, sizeof file, "%s/%s", path, name);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(to ? symlink(to, file) : 0, 0);
}

static void a_part_that_was_changed_is_named(void **state)
{
	(void)state;
	succeeds(save(SEND, RECV));
	spoil("w1.pb", "a", "x");
	fails(open_plan(), DFG_DATA, "plan/w1.pb: differs from the file that manifest.json lists");
	spoil_and_link("w1.pb", NULL);
	fails(open_plan(), DFG_NO_INPUT, "plan/w1.pb");
	succeeds(save(SEND, RECV));
	spoil_and_link("w1.pb", "w0.pb");
	fails(open_plan(), DFG_DATA, "plan/w1.pb: is a symbolic link");
	succeeds(save(SEND, RECV));
	spoil_and_link("manifest.json", NULL);
	assert_true(dfg_plan_folder_is(path));
	fails(open_plan(), DFG_NO_INPUT, "has a part of a plan (w0.pb), but no manifest.json");
	fails(save(SEND, RECV), DFG_NO_OUTPUT, "is not a plan");
	spoil("manifest.json", "w", "{\"format\":\"dfg checkpoint\"}");
	fails(save(SEND, RECV), DFG_NO_OUTPUT, "is not a plan");
	spoil("manifest.json", "w", "{\"format\":\"dfg plan\",");
	fails(open_plan(), DFG_DATA, "manifest.json: line 1");
	succeeds(save(SEND, RECV));
	succeeds(open_plan());
}

static void see_note(void *arg, const char *text)
{
	snprintf(arg, 200, "%.199s", text);
}

static void a_part_that_the_manifest_does_not_name_is_noted(void **state)
{
	(void)state;
	char note[200] = "";
	const struct dfg_graph_options options = {.notes = {see_note, note}};
	struct dfg_plan_folder plan;
	succeeds(save(SEND, RECV));
	succeeds(dfg_plan_folder_open(path, &options, NULL, &plan));
	dfg_plan_folder_close(&plan);
	assert_string_equal(note, "");
	spoil("w2.pb", "w", "");
	succeeds(dfg_plan_folder_open(path, &options, NULL, &plan));
	dfg_plan_folder_close(&plan);
	assert_string_equal(note, "'w2.pb' is not part of this plan: manifest.json does not list it");
}

/* Opening the plan fails with the first contradiction; a caller that collects faults gets all of them. */
static void a_manifest_that_was_changed_is_held_against_the_parts(void **state)
{
	(void)state;
	struct dfg_plan_folder plan;
	struct dfg_faults faults = {.left = 20};
	char file[100], text[2000] = "";
	succeeds(save(SEND, RECV));
	snprintf(file, sizeof file, "%s/manifest.json", path);
	FILE *in = fopen(file, "r");
	assert_true(in && fread(text, 1, sizeof text - 1, in));
	fclose(in);
	memcpy(strstr(text, "\"f32\""), "\"i64\"", 5);
	spoil("manifest.json", "w", text);
	fails(open_plan(), DFG_DATA, "plan/w0.pb: node 's' (_Send): transfer 0: 'x' is i64");
	succeeds(dfg_plan_folder_open(path, NULL, &faults, &plan));
	dfg_plan_folder_close(&plan);
	assert_non_null(faults.err->next);
	assert_non_null(strstr(faults.err->next->text, "plan/w1.pb: node 'r' (_Recv): transfer 0: 'x' is i64"));
	fails(faults.err, DFG_DATA, "plan/w0.pb: node 's' (_Send): transfer 0: 'x' is i64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prints_what_it_reads),
		cmocka_unit_test(refuses_manifests_that_lie),
		cmocka_unit_test(the_two_ends_of_a_transfer_must_agree),
		cmocka_unit_test(what_was_saved_is_what_is_opened),
		cmocka_unit_test(a_part_that_was_changed_is_named),
		cmocka_unit_test(a_part_that_the_manifest_does_not_name_is_noted),
		cmocka_unit_test(a_manifest_that_was_changed_is_held_against_the_parts),
	};
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
