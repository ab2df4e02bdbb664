#include "tests/unit/program.h"

/*
 * Attention, computed a block of rows at a time, has the bytes of its ops one after another, for any sizes, masks, threads
 * and kinds of vectors, and the scores have no memory.
 */
struct net {
	const char *text;
	int members; /* of the group that is attention; 0: there must be none */
};

#define HEAD "input t: f32[%d, %d, %d, %d]\ninput s: f32[%d, %d, %d, %d]\n"
#define SCORES "scores = t @ transpose(s, [0, 1, 3, 2])\n"

static const struct net nets[] = {
	{"y = softmax(t @ transpose(s, [0, 1, 3, 2])) @ s\n", 3},
	{"y = softmax(MatrixBandPart(t @ transpose(s, [0, 1, 3, 2]), -1, 0)) @ s\n", 0},
	{SCORES "y = softmax(scores * 0.3) @ s\n", 4},
	{SCORES "y = softmax(BatchMatMulV2(t, s, adj_y = true) * 0.3) @ s\n", 4},
	{SCORES "at = range(shape(scores)[3])\nto = range(shape(scores)[2])\n"
			"y = softmax(where(to[:, new] >= at, scores * 0.3, -1e9)) @ s\n",
		5},
	{SCORES "more = t[:, :, :, 0:1] * 3.0\ny = softmax((scores + more) * 0.5 - 1.0) @ s\n", 6},
	{SCORES "output p = softmax(scores)\ny = p @ s + sum(p)\n", 0},
	{SCORES "y = softmax(scores * scores) @ s\n", 0},
	{SCORES "y = BatchMatMulV2(softmax(scores * 2.0), transpose(s, [0, 1, 3, 2]), adj_y = true)\n", 4},
};

static const int sizes[][5] = {/* batch, heads, rows, columns, width */
	{1, 1, 64, 64, 8}, {2, 3, 7, 301, 5}, {1, 2, 300, 17, 64}, {3, 1, 1, 2100, 9}, {1, 1, 2100, 1, 3},
	{2, 2, 65, 65, 33}, {1, 1, 129, 2500, 16}};

static void fill(struct dfg_tensor *x, int seed)
{
	for (int64_t i = 0; i < dfg_shape_count(&x->shape); i++)
		((float *)x->data)[i] = sinf((float)(i * 7 + seed)) * 2;
}

static void run_net(const char *text, const struct dfg_session_options *options, const struct dfg_tensor *feeds,
	struct dfg_tensor *out, struct dfg_stats *out_stats)
{
	struct program program;
	struct dfg_plan *plan;
	struct dfg_edge in[2], y;
	succeeds(program_begin(&program, text, options));
	succeeds(dfg_graph_edge(&program.graph, "t", &in[0]));
	succeeds(dfg_graph_edge(&program.graph, "s", &in[1]));
	succeeds(dfg_graph_edge(&program.graph, "result", &y));
	succeeds(dfg_session_plan(
		program.session, &(struct dfg_step){.feed = in, .n_feed = 2, .fetch = &y, .n_fetch = 1}, &plan));
	for (int time = 0; time < 2; time++) {
		if (time)
			dfg_tensor_release(out);
		succeeds(dfg_plan_run(plan, feeds, out));
	}
	dfg_plan_stats(plan, out_stats);
	program_end(&program);
}

static void expect_same(const struct net *net, const int *size, int variant, const struct dfg_tensor *feeds)
{
	const struct dfg_session_options plain = {.threads = 1, .no_opt = true};
	struct dfg_session_options options = {.threads = variant + 1};
	struct dfg_tensor want, got;
	struct dfg_stats stats, plain_stats;
	char text[2000];
	int length =
		snprintf(text, sizeof text, HEAD, size[0], size[1], size[2], size[4], size[0], size[1], size[3], size[4]);
	snprintf(text + length, sizeof text - (size_t)length, "%soutput result = y\n", net->text);
	run_net(text, &plain, feeds, &want, &plain_stats);
	run_net(text, &options, feeds, &got, &stats);
	if (!dfg_shape_equal(&want.shape, &got.shape) || memcmp(want.data, got.data, dfg_tensor_bytes(&want)))
		fail_msg("%s differs (variant %d)", text, variant);
	bool large = (int64_t)size[0] * size[1] * size[2] * size[3] >= 2048;
	if (large && net->members)
		assert_true(stats.grouped >= (uint64_t)net->members);
	assert_int_equal(plain_stats.grouped, 0);
	dfg_tensor_release(&want);
	dfg_tensor_release(&got);
}

static void attention_has_the_bytes_of_its_ops(void **state)
{
	(void)state;
	for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
		const int *size = sizes[z];
		struct dfg_tensor feeds[2];
		for (int i = 0; i < 2; i++) {
			const struct dfg_shape shape = {.rank = 4, .dim = {size[0], size[1], size[2 + i], size[4]}};
			succeeds(dfg_tensor_new(DFG_F32, &shape, &feeds[i]));
			fill(&feeds[i], i);
		}
		for (size_t n = 0; n < sizeof nets / sizeof *nets; n++)
			for (int variant = 0; variant < 3; variant++)
				expect_same(&nets[n], size, variant, feeds);
		dfg_tensor_release(&feeds[0]);
		dfg_tensor_release(&feeds[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attention_has_the_bytes_of_its_ops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
