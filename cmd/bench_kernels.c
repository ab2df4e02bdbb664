#include "cmd/bench.h"

#include "app/ceiling.h"
#include "app/profile.h"
#include "cmd/graph.h"
#include "cmd/shared_options.h"
#include "formats/json.h"
#include "lib/base/io.h"
#include "lib/base/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A row is a program; its inputs are noise. The time is that of a step (the fastest tenth), the operations and bytes are those
 * that its nodes count.
 */
static const struct kernel {
	const char *name, *program;
} kernels[] = {
	{"product 256x256x256", "input a: f32[256, 256]\ninput b: f32[256, 256]\noutput y = a @ b\n"},
	{"product 1024x1024x1024", "input a: f32[1024, 1024]\ninput b: f32[1024, 1024]\noutput y = a @ b\n"},
	{"product 1x1024x1024", "input a: f32[1, 1024]\ninput b: f32[1024, 1024]\noutput y = a @ b\n"},
	{"product, b transposed, 64x512x512",
		"input a: f32[64, 512]\ninput b: f32[512, 512]\noutput y = MatMul(a, b, transpose_b = true)\n"},
	{"product of bf16 256x256x256", "input a: bf16[256, 256]\ninput b: bf16[256, 256]\noutput y = a @ b\n"},
	{"product of bf16 1x1024x1024", "input a: bf16[1, 1024]\ninput b: bf16[1024, 1024]\noutput y = a @ b\n"},
	{"convolution 3x3 28x28x128",
		"input x: f32[1, 28, 28, 128]\ninput k: f32[3, 3, 128, 128]\n"
		"output y = Conv2D(x, k, strides = [1, 1, 1, 1], padding = \"SAME\")\n"},
	{"convolution 1x1 14x14x256",
		"input x: f32[1, 14, 14, 256]\ninput k: f32[1, 1, 256, 256]\n"
		"output y = Conv2D(x, k, strides = [1, 1, 1, 1], padding = \"SAME\")\n"},
	{"image gradient 3x3 28x28x128",
		"input d: f32[1, 28, 28, 128]\ninput k: f32[3, 3, 128, 128]\n"
		"output y = Conv2DBackpropInput([1, 28, 28, 128], k, d, strides = [1, 1, 1, 1], padding = \"SAME\")\n"},
	{"filter gradient 3x3 28x28x128",
		"input x: f32[1, 28, 28, 128]\ninput d: f32[1, 28, 28, 128]\n"
		"output y = Conv2DBackpropFilter(x, [3, 3, 128, 128], d, strides = [1, 1, 1, 1], padding = \"SAME\")\n"},
	{"depthwise 3x3 56x56x144",
		"input x: f32[1, 56, 56, 144]\ninput k: f32[3, 3, 144, 1]\n"
		"output y = DepthwiseConv2dNative(x, k, strides = [1, 1, 1, 1], padding = \"SAME\")\n"},
	{"max pooling 2x2 56x56x64",
		"input x: f32[8, 56, 56, 64]\n"
		"output y = MaxPool(x, ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = \"VALID\")\n"},
	{"max pooling gradient 56x56x64",
		"input x: f32[8, 56, 56, 64]\ninput z: f32[8, 28, 28, 64]\ninput d: f32[8, 28, 28, 64]\n"
		"output y = MaxPoolGrad(x, z, d, ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = \"VALID\")\n"},
	{"sum of rows 1024x1024", "input x: f32[1024, 1024]\noutput y = sum(x, 1)\n"},
	{"sum of columns 1024x1024", "input x: f32[1024, 1024]\noutput y = sum(x, 0)\n"},
	{"softmax 1024x1024", "input x: f32[1024, 1024]\noutput y = softmax(x)\n"},
	{"layer norm 1024x1024",
		"input x: f32[1024, 1024]\nd = x - mean(x, axis = 1, keep_dims = true)\n"
		"output y = d * rsqrt(mean(d * d, axis = 1, keep_dims = true) + 0.00001)\n"},
	{"attention 8x256x64",
		"input q: f32[8, 256, 64]\ninput k: f32[8, 256, 64]\ninput v: f32[8, 256, 64]\n"
		"output y = softmax(BatchMatMulV2(q, k, adj_y = true) * 0.125) @ v\n"},
	{"add 1 M", "input x: f32[1048576]\ninput z: f32[1048576]\noutput y = x + z\n"},
	{"tanh 1 M", "input x: f32[1048576]\noutput y = tanh(x)\n"},
	{"chain of 4 ops, 1 M", "input x: f32[1048576]\noutput y = relu(x * 2 + 1) - x\n"},
	{"transpose 1024x1024", "input x: f32[1024, 1024]\noutput y = transpose(x, [1, 0])\n"},
	{"gather 8192 rows of 128", "input x: f32[4096, 128]\noutput y = Gather(x, Range(0, 32768, 4) * 7 % 4096)\n"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Microseconds of a step; operations and bytes of one. */
struct figures {
	double us, operations, bytes;
};

static struct dfg_err *measure_file(const char *path, struct dfg_run_options *options, struct figures *out_figures)
{
	struct dfg_profile profile;
	struct dfg_run run = {.options = options,
		.execution = &dfg_shared.execution,
		.replication = &dfg_shared.replication,
		.input = dfg_cmd_graph_input()};
	struct dfg_err *err = dfg_run_made_up(path, 1, &run);
	if (!err)
		err = dfg_profile_read(run.model.session, &run.model.arena, &profile);
	*out_figures = (struct figures){0};
	for (size_t i = 0; !err && i < profile.nodes; i++) {
		out_figures->operations += profile.node[i].operations;
		out_figures->bytes += (double)profile.node[i].bytes;
	}
	double steps = (double)(options->repeat + options->warmup);
	out_figures->us = run.timing.value[1];
	out_figures->operations /= steps;
	out_figures->bytes /= steps;
	dfg_run_close(&run);
	return err;
}

static struct dfg_err *measure(
	const struct kernel *kernel, struct dfg_run_options *options, struct figures *out_figures)
{
	char path[] = P_tmpdir "/dfg-kernel-XXXXXX.dfg";
	int fd = mkstemps(path, 4);
	if (fd < 0)
		return DFG_ERR(DFG_NO_OUTPUT, "%s: cannot create a temporary file: %s", P_tmpdir, strerror(errno));
	size_t length = strlen(kernel->program);
	bool written = write(fd, kernel->program, length) == (ssize_t)length;
	close(fd);
	struct dfg_err *err = written ? measure_file(path, options, out_figures)
								  : DFG_ERR(DFG_NO_OUTPUT, "%s: cannot write a temporary file", path);
	unlink(path);
	return err;
}

static void print_row(
	const char *name, const struct figures *f, const struct dfg_ceiling *ceiling, struct dfg_json_out *json)
{
	double limit = dfg_ceiling_share(ceiling, 1e-6 * f->us, 1, f->operations, f->bytes), per_s = 1e6 / f->us;
	dfg_json_open(json, '{');
	dfg_json_key(json, "name"), dfg_json_string(json, name);
	dfg_json_key(json, "us"), dfg_json_f64(json, f->us);
	dfg_json_key(json, "operations_per_s"), dfg_json_f64(json, f->operations * per_s);
	dfg_json_key(json, "bytes_per_s"), dfg_json_f64(json, f->bytes * per_s);
	dfg_json_key(json, "of_limit"), dfg_json_f64(json, limit);
	dfg_json_close(json, '}');
	if (!dfg_globals.json)
		printf("%12.1f %8.1f %8.1f %7.1f  %s\n", f->us, 1e-9 * f->operations * per_s, 1e-9 * f->bytes * per_s,
			100 * limit, name);
}

struct dfg_err *dfg_bench_kernels(struct dfg_run_options *options)
{
	struct dfg_json_out json = {0};
	struct dfg_ceiling ceiling;
	struct dfg_err *err = NULL;
	int threads = dfg_shared.execution.threads ? (int)dfg_shared.execution.threads : dfg_threads_allowed();
	options->repeat = options->repeat < 0 ? 50 : options->repeat;
	options->profile = true;
	DFG_TRY(dfg_ceiling_measure(threads, &ceiling));
	dfg_json_open(&json, '{');
	dfg_ceiling_json(&ceiling, &json);
	if (!dfg_globals.json)
		printf("%s\n%12s %8s %8s %7s\n", dfg_ceiling_words(&ceiling).s, "us", "GFLOP/s", "GB/s", "limit%");
	dfg_json_key(&json, "rows"), dfg_json_open(&json, '[');
	for (int i = 0; i < KERNELS && !err; i++) {
		struct figures figures = {0};
		err = dfg_err_note(measure(&kernels[i], options, &figures), "%s", kernels[i].name);
		if (!err)
			print_row(kernels[i].name, &figures, &ceiling, &json);
	}
	dfg_json_close(&json, ']');
	dfg_json_close(&json, '}');
	if (!err)
		err = dfg_text_check(&json.text);
	if (!err && dfg_globals.json)
		dfg_print(&json.text), printf("\n");
	dfg_text_release(&json.text);
	return err;
}
