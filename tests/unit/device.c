#define _GNU_SOURCE
#include "tests/unit/test.h"

#include "lib/exec/device/provider.h"
#include "lib/exec/device/row_launch.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The rules of CUDA that the stand-in enforces, and the faults that it injects. Each case is a process of its own. */

static const struct dfg_device_api *api;
static const struct dfg_device_provider *provider;

/* In the child: a claim that does not hold ends it. */
#define must(claim)                                                     \
	do {                                                                \
		if (!(claim)) {                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim); \
			_exit(1);                                                   \
		}                                                               \
	} while (0)
#define good(call) must((call) == cudaSuccess)

/* A device in use: a stream, and the pool. */
struct bench {
	cudaStream_t stream;
	cudaMemPool_t pool;
};

static void name_standin(void)
{
	char path[3000];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	assert_true(length > 0);
	path[length] = '\0';
	for (int up = 0; up < 3; up++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/dfg-cuda-standin.so");
	setenv("DFG_CUDA", path, 1);
}

/* Runs the case on a stand-in with these settings, and returns how its process ended, as of waitpid. */
static int run_case(const char *settings, void (*body)(struct bench *bench))
{
	int status = -1;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct bench bench;
		signal(SIGSEGV, SIG_DFL); /* not cmocka's */
		setenv("DFG_STANDIN", settings, 1);
		name_standin();
		struct dfg_err *err = dfg_device_provider_open(&provider);
		if (err)
			fprintf(stderr, "%s\n", err->text);
		must(!err);
		api = &provider->api;
		good(api->cudaSetDevice(0));
		good(api->cudaStreamCreateWithFlags(&bench.stream, cudaStreamNonBlocking));
		good(api->cudaDeviceGetDefaultMemPool(&bench.pool, 0));
		body(&bench);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void *allocate(const struct bench *bench, size_t bytes)
{
	void *memory;
	good(api->cudaMallocFromPoolAsync(&memory, bytes, bench->pool, bench->stream));
	return memory;
}

static const void *kernel_of(const char *name)
{
	for (size_t i = 0; i < provider->kernels; i++)
		if (!strcmp(provider->kernel[0][i].name, name))
			return provider->kernel[0][i].function;
	must(!"no such kernel");
	return NULL;
}

static cudaError_t launch_add(const struct bench *bench, float *out, const float *a, const float *b, int64_t n)
{
	struct dfg_row_launch launch = {.count = n, .out = out, .in = {a, b}, .plain = 3};
	void *arguments[] = {&launch};
	return api->cudaLaunchKernel(
		kernel_of("AddV2_f32"), (dim3){2, 1, 1}, (dim3){64, 1, 1}, arguments, 0, bench->stream);
}

enum { N = 1000 };

static void adds(struct bench *bench)
{
	float x[N], y[N], *a = allocate(bench, sizeof x), *b = allocate(bench, sizeof x);
	for (int i = 0; i < N; i++)
		x[i] = (float)i, y[i] = 0.5f;
	good(api->cudaMemcpyAsync(a, x, sizeof x, cudaMemcpyHostToDevice, bench->stream));
	good(api->cudaMemcpyAsync(b, y, sizeof y, cudaMemcpyHostToDevice, bench->stream));
	good(launch_add(bench, a, a, b, N));
	good(launch_add(bench, a, a, b, N));
	good(api->cudaMemcpyAsync(y, a, sizeof y, cudaMemcpyDeviceToHost, bench->stream));
	good(api->cudaStreamSynchronize(bench->stream));
	for (int i = 0; i < N; i++)
		must(y[i] == (float)(i + 1));
}

static void test_kernels_and_copies_keep_the_order_of_a_stream(void **state)
{
	(void)state;
	assert_int_equal(run_case("", adds), 0);
	assert_int_equal(run_case("delay=7,poison", adds), 0);
}

static void waits_for_events(struct bench *bench)
{
	cudaStream_t other;
	cudaEvent_t made, copied;
	float *a = allocate(bench, N * sizeof *a), *x, *y;
	good(api->cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	good(api->cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
	good(api->cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
	good(api->cudaMallocHost((void **)&x, N * sizeof *x));
	good(api->cudaMallocHost((void **)&y, N * sizeof *y));
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < N; i++)
			x[i] = (float)(round + i);
		good(api->cudaMemcpyAsync(a, x, N * sizeof *x, cudaMemcpyHostToDevice, bench->stream));
		good(launch_add(bench, a, a, a, N));
		good(api->cudaEventRecord(made, bench->stream));
		good(api->cudaStreamWaitEvent(other, made, 0));
		good(api->cudaMemcpyAsync(y, a, N * sizeof *y, cudaMemcpyDeviceToHost, other));
		good(api->cudaEventRecord(copied, other));
		good(api->cudaEventSynchronize(copied));
		must(api->cudaEventQuery(made) == cudaSuccess);
		for (int i = 0; i < N; i++)
			must(y[i] == (float)(2 * (round + i)));
	}
	good(api->cudaFreeHost(x));
	must(api->cudaFreeHost(x) == cudaErrorInvalidValue);
}

static void test_events_order_streams(void **state)
{
	(void)state;
	assert_int_equal(run_case("delay=3", waits_for_events), 0);
}

static void breaks_rules(struct bench *bench)
{
	char host[64];
	void *a = allocate(bench, 64), *arguments[] = {host};
	cudaStream_t stream;
	cudaEvent_t event;
	good(api->cudaStreamCreateWithFlags(&stream, 0));
	good(api->cudaStreamDestroy(stream));
	must(api->cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
	must(api->cudaStreamSynchronize((cudaStream_t)host) == cudaErrorInvalidResourceHandle);
	good(api->cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	good(api->cudaEventDestroy(event));
	must(api->cudaEventRecord(event, bench->stream) == cudaErrorInvalidResourceHandle);
	must(api->cudaMemcpyAsync(host, a, 64, cudaMemcpyHostToDevice, bench->stream) == cudaErrorInvalidMemcpyDirection);
	must(api->cudaMemcpyAsync(a, host, 257, cudaMemcpyHostToDevice, bench->stream) == cudaErrorInvalidValue);
	must(api->cudaLaunchKernel(host, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, 0, bench->stream) ==
		 cudaErrorInvalidDeviceFunction);
	must(api->cudaLaunchKernel(kernel_of("Exp_f32"), (dim3){1, 1, 1}, (dim3){1025, 1, 1}, arguments, 0,
			 bench->stream) == cudaErrorInvalidConfiguration);
	must(api->cudaSetDevice(1) == cudaErrorInvalidDevice);
	good(api->cudaFreeAsync(a, bench->stream));
	must(api->cudaFreeAsync(a, bench->stream) == cudaErrorInvalidValue);
	must(api->cudaMemcpyAsync(a, host, 64, cudaMemcpyHostToDevice, bench->stream) == cudaErrorInvalidValue);
}

static void test_wrong_handles_copies_and_frees_are_refused(void **state)
{
	(void)state;
	assert_int_equal(run_case("", breaks_rules), 0);
}

static void runs_out(struct bench *bench)
{
	void *half = allocate(bench, 512 << 10), *more;
	size_t available, total;
	uint64_t most;
	must(api->cudaMallocFromPoolAsync(&more, 600 << 10, bench->pool, bench->stream) == cudaErrorMemoryAllocation);
	good(api->cudaMemGetInfo(&available, &total));
	must(total == 1 << 20 && available == 512 << 10);
	good(api->cudaFreeAsync(half, bench->stream));
	good(api->cudaMallocFromPoolAsync(&more, 1 << 20, bench->pool, bench->stream));
	good(api->cudaMemPoolGetAttribute(bench->pool, cudaMemPoolAttrUsedMemHigh, &most));
	must(most == 1 << 20);
}

static void test_memory_ends_and_is_used_again(void **state)
{
	(void)state;
	assert_int_equal(run_case("memory=1M", runs_out), 0);
}

static void poisons(struct bench *bench)
{
	float x[16], *a = allocate(bench, sizeof x);
	good(api->cudaMemcpyAsync(x, a, sizeof x, cudaMemcpyDeviceToHost, bench->stream));
	for (int i = 0; i < 16; i++)
		must(isnan(x[i]));
}

static void test_fresh_memory_is_poisoned(void **state)
{
	(void)state;
	assert_int_equal(run_case("poison", poisons), 0);
}

static void touches_the_device(struct bench *bench)
{
	*(volatile float *)allocate(bench, 64) = 1;
}

static void reads_the_host(struct bench *bench)
{
	float x[16] = {0}, *a = allocate(bench, sizeof x);
	good(launch_add(bench, a, a, x, 16));
	must(api->cudaStreamSynchronize(bench->stream) == cudaErrorIllegalAddress);
	must(api->cudaStreamSynchronize(bench->stream) == cudaErrorIllegalAddress);
	must(api->cudaMallocFromPoolAsync((void **)&a, 64, bench->pool, bench->stream) == cudaErrorIllegalAddress);
}

static void test_neither_side_reaches_the_others_memory(void **state)
{
	(void)state;
	int status = run_case("", touches_the_device);
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0);
	assert_int_equal(run_case("", reads_the_host), 0);
}

static void fails_the_third(struct bench *bench)
{
	void *memory;
	allocate(bench, 64);
	allocate(bench, 64);
	must(api->cudaMallocFromPoolAsync(&memory, 64, bench->pool, bench->stream) == cudaErrorMemoryAllocation);
	allocate(bench, 64);
}

static void loses_the_second(struct bench *bench)
{
	float *a = allocate(bench, 64);
	good(launch_add(bench, a, a, a, 16));
	good(api->cudaStreamSynchronize(bench->stream));
	cudaError_t error = launch_add(bench, a, a, a, 16);
	must(error == cudaSuccess || error == cudaErrorLaunchFailure);
	must(api->cudaStreamSynchronize(bench->stream) == cudaErrorLaunchFailure);
	must(api->cudaDeviceSynchronize() == cudaErrorLaunchFailure);
}

static void damages_the_first(struct bench *bench)
{
	float *a = allocate(bench, 64);
	must(launch_add(bench, a, a, a, 16) == cudaErrorECCUncorrectable);
	must(api->cudaStreamSynchronize(bench->stream) == cudaErrorECCUncorrectable);
}

static void test_calls_fail_and_devices_are_lost_as_asked(void **state)
{
	(void)state;
	assert_int_equal(run_case("fail=cudaMallocFromPoolAsync:3", fails_the_third), 0);
	assert_int_equal(run_case("lost=2", loses_the_second), 0);
	assert_int_equal(run_case("ecc=1", damages_the_first), 0);
}

static void test_errors_have_codes_and_names(void **state)
{
	(void)state;
	succeeds(dfg_cuda_error(cudaSuccess, "x"));
	fails(dfg_cuda_error(cudaErrorMemoryAllocation, "x"), DFG_MEMORY, "x: out of memory (cudaErrorMemoryAllocation)");
	fails(dfg_cuda_error(cudaErrorLaunchFailure, "x"), DFG_UNAVAILABLE, "the device is lost");
	fails(dfg_cuda_error(12345, "x"), DFG_BUG, "error 12345");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_and_copies_keep_the_order_of_a_stream),
		cmocka_unit_test(test_events_order_streams),
		cmocka_unit_test(test_wrong_handles_copies_and_frees_are_refused),
		cmocka_unit_test(test_memory_ends_and_is_used_again),
		cmocka_unit_test(test_fresh_memory_is_poisoned),
		cmocka_unit_test(test_neither_side_reaches_the_others_memory),
		cmocka_unit_test(test_calls_fail_and_devices_are_lost_as_asked),
		cmocka_unit_test(test_errors_have_codes_and_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
