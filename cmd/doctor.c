#define _GNU_SOURCE
#include "cmd/doctor.h"

#include "cmd/cmd.h"
#include "formats/json.h"
#include "kernels/conv/winograd.h"
#include "kernels/gemm/gemm.h"
#include "lib/base/pool.h"
#include "lib/base/vector.h"
#include "lib/exec/device/provider.h"
#include "lib/graph/op.h"
#include "remote/http_links.h"
#include "remote/libssh.h"

#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct dfg_doctor_hosts asked;
static bool quick;

static const struct dfg_opt options[] = {
	{"hosts", .takes = "H", .text = &asked.hosts,
		.help = "Examine the hosts of file or list H, or only those named as operands."},
	{"ssh-config", .takes = "FILE", .text = &asked.ssh_config,
		.help = "Read FILE instead of ~/.ssh/config, as ssh -F."},
	{"quick", .flag = &quick, .help = "Skip the test of links, which takes a second or more."},
	{"json", .flag = &dfg_globals.json, .help = "Print one JSON document."},
	{0},
};

/* A finding and its fault; `wrong` NULL: no fault. */
struct finding {
	const char *what;
	char value[160];
	const char *wrong;
	struct dfg_err *err; /* error whose text is `wrong`, or NULL */
};

static void look_at_version(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "%s", DFG_VERSION);
}

/* Prints the clock; another host compares it with its own. */
static void look_at_clock(struct finding *f)
{
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	size_t length = strftime(f->value, sizeof f->value, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(f->value + length, sizeof f->value - length, ".%03d UTC", (int)(now.tv_nsec / 1000000));
}

/* The widest vector instructions that the kernels use on this processor. */
static void look_at_processor(struct finding *f)
{
#if defined __x86_64__
	__builtin_cpu_init();
	bool wide = __builtin_cpu_supports("avx512f"), avx2 = __builtin_cpu_supports("avx2");
	snprintf(f->value, sizeof f->value, "%s", wide ? "x86-64 with AVX-512" : avx2 ? "x86-64 with AVX2" : "x86-64");
	f->wrong = avx2 ? NULL : "no AVX2: kernels run at a quarter of their speed";
#else
	snprintf(f->value, sizeof f->value, "no x86-64");
	f->wrong = "kernels run as plain C here";
#endif
}

static void look_at_threads(struct finding *f)
{
	int allowed = dfg_threads_allowed();
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	snprintf(f->value, sizeof f->value, "%d of %ld processors", allowed, all);
}

static void look_at_memory(struct finding *f)
{
	double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	snprintf(f->value, sizeof f->value, "%.1f GiB", bytes / (1 << 30));
}

static void look_at_huge_pages(struct finding *f)
{
	static const char path[] = "/sys/kernel/mm/transparent_hugepage/enabled";
	FILE *file = fopen(path, "r");
	char line[80] = "unknown";
	if (file && !fgets(line, sizeof line, file))
		strncpy(line, "unknown", sizeof line - 1);
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = '\0';
	snprintf(f->value, sizeof f->value, "%s", line);
	f->wrong = strstr(line, "[never]") ? "large tensors are slower on small pages" : NULL;
}

static void look_at_denormals(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "%s", DFG_CAN_FLUSH ? "flushed to zero, unless --denormals keep" : "kept");
	f->wrong = DFG_CAN_FLUSH ? NULL : "results differ from those of hosts that flush denormals";
}

static void look_at_files(struct finding *f)
{
	struct rlimit limit = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(f->value, sizeof f->value, "%llu open files", (unsigned long long)limit.rlim_cur);
	f->wrong = limit.rlim_cur < 64 ? "too few: dfg requires at least 64" : NULL;
}

static void look_at_protobuf(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "protobuf-c %s", protobuf_c_version());
}

static void look_at_ops(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "%zu", dfg_ops_count);
}

static void take_error(struct finding *f, struct dfg_err *err)
{
	f->err = err;
	f->wrong = err ? err->text : f->wrong;
}

/* The instructions of products, whose results are compared with those of plain C. */
static void look_at_products(struct finding *f)
{
	int ways;
	take_error(f, dfg_product_check(&ways));
	snprintf(f->value, sizeof f->value, "%s (bits: %s)", dfg_product_name(), dfg_product_fingerprint());
	if (!ways)
		f->wrong = "products are slower without fused multiply-adds";
	else if (!f->err)
		snprintf(f->value + strlen(f->value), sizeof f->value - strlen(f->value),
			"; %d kinds tested: same results as plain C", ways);
}

/* The vectors of elementwise ops, sums and losses; each kind gives the same bits. */
static void look_at_vectors(struct finding *f)
{
	snprintf(f->value, sizeof f->value, "%s", dfg_vectors_name());
}

/* The transforms of Winograd's convolutions, which surround their products. */
static void look_at_convolutions(struct finding *f)
{
	int kinds;
	take_error(f, dfg_winograd_check(&kinds));
	snprintf(f->value, sizeof f->value, "%s; 3x3 with constant filters: Winograd F(2,3), with --winograd 4 F(4,3)",
		dfg_product_name());
	if (kinds && !f->err)
		snprintf(f->value + strlen(f->value), sizeof f->value - strlen(f->value),
			"; %d transforms tested: same results as plain C", kinds);
}

/* Tests the links that carry tensors between hosts with both ends here, unless --quick. */
static void look_at_links(struct finding *f)
{
	struct dfg_http_links_report report = {0};
	struct dfg_err *err = dfg_http_links_self_test(quick, &report);
	take_error(f, err);
	if (err)
		snprintf(f->value, sizeof f->value, "none");
	else if (quick)
		snprintf(f->value, sizeof f->value, "libcurl %s, nghttp2 %s, %s", report.curl, report.nghttp2, report.openssl);
	else
		snprintf(f->value, sizeof f->value, "libcurl %s, nghttp2 %s, %s: %.0f us there and back, %.2f GB/s",
			report.curl, report.nghttp2, report.openssl, report.round_trip_us, report.bulk_bytes_per_s / 1e9);
	if (report.stalls)
		f->wrong = "messages stall for half a second and more";
}

/* Examines ssh, which starts workers on other hosts. */
static void look_at_ssh(struct finding *f)
{
	take_error(f, dfg_libssh_open());
	snprintf(f->value, sizeof f->value, "%s%s", f->err ? "none" : "libssh ", f->err ? "" : dfg_ssh_version(0));
	f->value[strcspn(f->value, "/")] = '\0';
}

/* The devices of CUDA, or of the stand-in for it that DFG_CUDA names. */
static void look_at_devices(struct finding *f)
{
	const struct dfg_device_provider *provider;
	char name[80] = "unknown";
	int count = 0;
	snprintf(f->value, sizeof f->value, "none");
	if (!dfg_device_provider_exists())
		return;
	take_error(f, dfg_device_provider_open(&provider));
	if (!f->err)
		take_error(f, dfg_device_count(provider, &count));
	if (f->err || !provider->describe(0, name, sizeof name))
		return;
	snprintf(f->value, sizeof f->value, "%s: %d, cuda:0 is %s; %s", provider->name, count, name, dfg_device_verified());
}

static const struct {
	const char *what;
	void (*look)(struct finding *f);
} looks[] = {
	{"dfg", look_at_version},
	{"processor", look_at_processor},
	{"threads", look_at_threads},
	{"memory", look_at_memory},
	{"huge pages", look_at_huge_pages},
	{"limits", look_at_files},
	{"matrix products", look_at_products},
	{"vectors", look_at_vectors},
	{"convolutions", look_at_convolutions},
	{"denormals", look_at_denormals},
	{"devices", look_at_devices},
	{"messages", look_at_protobuf},
	{"operations", look_at_ops},
	{"links", look_at_links},
	{"ssh", look_at_ssh},
	{"clock", look_at_clock},
};

static struct dfg_err *print_json(const struct finding *finding, size_t count)
{
	struct dfg_json_out out = {0};
	dfg_json_open(&out, '{');
	for (size_t i = 0; i < count; i++) {
		dfg_json_key(&out, finding[i].what), dfg_json_open(&out, '{');
		dfg_json_key(&out, "value"), dfg_json_string(&out, finding[i].value);
		dfg_json_key(&out, "wrong");
		if (finding[i].wrong)
			dfg_json_string(&out, finding[i].wrong);
		else
			dfg_json_null(&out);
		dfg_json_close(&out, '}');
	}
	dfg_json_close(&out, '}');
	struct dfg_err *err = dfg_text_check(&out.text);
	if (!err)
		puts(out.text.s);
	dfg_text_release(&out.text);
	return err;
}

static void print_lines(const struct finding *finding, size_t count)
{
	for (const struct finding *f = finding; f < finding + count; f++)
		dfg_printf("%-16s %s%s%s\n", f->what, f->value, f->wrong ? " -- " : "", f->wrong ? f->wrong : "");
}

static struct dfg_err *doctor(char **operands, int *out_status)
{
	asked.operands = operands;
	if (asked.hosts || *operands)
		return dfg_doctor_hosts(&asked, out_status);
	enum { COUNT = sizeof looks / sizeof *looks };
	struct finding finding[COUNT] = {0};
	for (size_t i = 0; i < COUNT; i++) {
		finding[i].what = looks[i].what;
		looks[i].look(&finding[i]);
		*out_status |= finding[i].wrong != NULL;
	}
	struct dfg_err *err = NULL;
	if (dfg_globals.json)
		err = print_json(finding, COUNT);
	else
		print_lines(finding, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		dfg_err_free(finding[i].err);
	return err;
}

const struct dfg_cmd dfg_cmd_doctor = {
	.name = "doctor",
	.operands = "[HOST...]",
	.summary = "report what this machine or other hosts can do, and what is wrong with them",
	.options = options,
	.most = -1,
	.run = doctor,
};
