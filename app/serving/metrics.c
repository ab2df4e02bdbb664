#include "app/serving/serving_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const double dfg_seconds_bounds[DFG_SERVING_BUCKETS] = {
	0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5};
const double dfg_rows_bounds[DFG_SERVING_BUCKETS] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};

void dfg_histogram_add(struct dfg_serving_histogram *histogram, double value, const double *bounds)
{
	int i = 0;
	while (i < DFG_SERVING_BUCKETS && value > bounds[i])
		i++;
	histogram->bucket[i]++;
	histogram->sum += value;
}

void dfg_served_count(struct dfg_served *served, const char *protocol, int status)
{
	size_t most = sizeof served->count / sizeof *served->count;
	pthread_mutex_lock(&served->lock);
	for (size_t i = 0; i < most; i++) {
		struct dfg_serving_count *count = &served->count[i];
		if (count->protocol && (strcmp(count->protocol, protocol) != 0 || count->status != status))
			continue;
		count->protocol = protocol;
		count->status = status;
		count->count++;
		break;
	}
	pthread_mutex_unlock(&served->lock);
}

/* A label's value: backslash, quote and line feed are escaped. */
static void put_label(struct dfg_text *out, const char *value)
{
	for (; *value; value++)
		if (*value == '\n')
			dfg_text_add(out, "\\n");
		else
			dfg_text_add(out, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
}

static void put_head(struct dfg_text *out, const char *name, const char *type, const char *help)
{
	dfg_text_add(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_counts(struct dfg_text *out, const struct dfg_served *served)
{
	size_t most = sizeof served->count / sizeof *served->count;
	for (size_t i = 0; i < most && served->count[i].protocol; i++) {
		dfg_text_add(out, "dfg_requests_total{model=\"");
		put_label(out, served->name);
		dfg_text_add(out, "\",protocol=\"%s\",code=\"%d\"} %" PRIu64 "\n", served->count[i].protocol,
			served->count[i].status, served->count[i].count);
	}
}

static void put_histogram(struct dfg_text *out, const char *name, const struct dfg_served *served,
	const struct dfg_serving_histogram *histogram, const double *bounds)
{
	uint64_t count = 0;
	for (int i = 0; i <= DFG_SERVING_BUCKETS; i++) {
		count += histogram->bucket[i];
		dfg_text_add(out, "%s_bucket{model=\"", name);
		put_label(out, served->name);
		if (i < DFG_SERVING_BUCKETS)
			dfg_text_add(out, "\",le=\"%g\"} %" PRIu64 "\n", bounds[i], count);
		else
			dfg_text_add(out, "\",le=\"+Inf\"} %" PRIu64 "\n", count);
	}
	dfg_text_add(out, "%s_sum{model=\"", name);
	put_label(out, served->name);
	dfg_text_add(out, "\"} %.9g\n%s_count{model=\"", histogram->sum, name);
	put_label(out, served->name);
	dfg_text_add(out, "\"} %" PRIu64 "\n", count);
}

static void put_number(struct dfg_text *out, const char *name, const struct dfg_served *served, uint64_t value)
{
	dfg_text_add(out, "%s{model=\"", name);
	put_label(out, served->name);
	dfg_text_add(out, "\"} %" PRIu64 "\n", value);
}

static void put_models(struct dfg_text *out, const struct dfg_served *copy, size_t n)
{
	put_head(out, "dfg_request_seconds", "histogram", "Time from the first byte of a request to its answer.");
	for (size_t i = 0; i < n; i++)
		put_histogram(out, "dfg_request_seconds", &copy[i], &copy[i].seconds, dfg_seconds_bounds);
	put_head(out, "dfg_queue_seconds", "histogram", "Time for which a request waited for its step.");
	for (size_t i = 0; i < n; i++)
		put_histogram(out, "dfg_queue_seconds", &copy[i], &copy[i].queued, dfg_seconds_bounds);
	put_head(out, "dfg_batch_size", "histogram", "Number of rows in a step's batch.");
	for (size_t i = 0; i < n; i++)
		put_histogram(out, "dfg_batch_size", &copy[i], &copy[i].rows, dfg_rows_bounds);
	put_head(out, "dfg_stream_first_seconds", "histogram", "Time from the first byte of a request to its first event.");
	for (size_t i = 0; i < n; i++)
		put_histogram(out, "dfg_stream_first_seconds", &copy[i], &copy[i].first_event, dfg_seconds_bounds);
	put_head(out, "dfg_stream_events_total", "counter", "Events of streams that have ended.");
	for (size_t i = 0; i < n; i++)
		put_number(out, "dfg_stream_events_total", &copy[i], copy[i].events);
	put_head(out, "dfg_queue_length", "gauge", "Requests that wait for a step.");
	for (size_t i = 0; i < n; i++)
		put_number(out, "dfg_queue_length", &copy[i], copy[i].waiting);
	put_head(out, "dfg_steps_total", "counter", "Steps that were run.");
	for (size_t i = 0; i < n; i++)
		put_number(out, "dfg_steps_total", &copy[i], copy[i].steps);
}

/* Resident bytes; 0: unknown. The size of a file of /proc is not known before it is read. */
static uint64_t resident_bytes(void)
{
	unsigned long long size, resident = 0;
	char text[100] = "";
	int fd = dfg_fs->open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	bool good = dfg_fs->read(fd, text, sizeof text - 1) > 0 && sscanf(text, "%llu %llu", &size, &resident) == 2;
	dfg_fs->close(fd);
	return good ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void put_process(struct dfg_text *out)
{
	struct timespec cpu;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	put_head(out, "process_cpu_seconds_total", "counter", "Processor time of the process.");
	dfg_text_add(out, "process_cpu_seconds_total %.3f\n", (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9);
	put_head(out, "process_resident_memory_bytes", "gauge", "Resident memory of the process.");
	dfg_text_add(out, "process_resident_memory_bytes %" PRIu64 "\n", resident_bytes());
}

/* Copies of the counters, each consistent in itself. */
static struct dfg_served *copy_counters(struct dfg_serving *serving)
{
	struct dfg_served *copy = dfg_zeros(serving->n_served + 1, sizeof *copy);
	for (size_t i = 0; copy && i <= serving->n_served; i++) {
		struct dfg_served *served = i < serving->n_served ? &serving->served[i] : &serving->other;
		pthread_mutex_lock(&served->lock);
		copy[i] = *served;
		pthread_mutex_unlock(&served->lock);
	}
	return copy;
}

void dfg_serving_metrics(struct dfg_serving *serving, struct dfg_web_request *request)
{
	struct dfg_web_answer answer = {.status = 200, .type = "text/plain; version=0.0.4; charset=utf-8"};
	struct dfg_served *copy = copy_counters(serving);
	if (!copy) {
		dfg_serving_error(&serving->other, request, "metrics", 503, "no memory for the metrics");
		return;
	}
	put_head(&answer.body, "dfg_requests_total", "counter", "Requests that were answered.");
	for (size_t i = 0; i <= serving->n_served; i++)
		put_counts(&answer.body, &copy[i]);
	put_models(&answer.body, copy, serving->n_served);
	put_head(&answer.body, "dfg_steps_running", "gauge", "Steps that run now.");
	dfg_text_add(&answer.body, "dfg_steps_running %d\n", atomic_load(&serving->running));
	pthread_mutex_lock(&serving->lock);
	int64_t streams = serving->streams;
	pthread_mutex_unlock(&serving->lock);
	put_head(&answer.body, "dfg_streams", "gauge", "Streams that run or wait for their step.");
	dfg_text_add(&answer.body, "dfg_streams %" PRId64 "\n", streams);
	put_process(&answer.body);
	dfg_free(copy);
	dfg_serving_reply(&serving->other, request, "metrics", &answer);
}
