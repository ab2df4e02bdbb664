#define _GNU_SOURCE
#include "cmd/doctor.h"

#include "cmd/cmd.h"
#include "formats/json.h"
#include "lib/base/mem.h"
#include "lib/base/pool.h"
#include "remote/ssh.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One host, examined by its own thread. */
struct visit {
	const struct dfg_worker_host *host;
	const struct dfg_ssh_options *options;
	pthread_t thread;
	struct dfg_text answer; /* output of `dfg doctor --json` on that host */
	struct dfg_ssh_end end;
	struct dfg_err *err;

	struct dfg_arena arena;
	const char *version, *processor, *threads, *memory; /* as reported by the host; NULL: not reported */
	double ahead; /* seconds by which the host's clock is ahead; NAN: not reported */
};

/* Local time at which the answer began to arrive; the host writes it immediately after reading its clock. */
static double time_heard(const struct visit *v)
{
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9 - (double)(dfg_now() - v->end.heard) / 1e9;
}

static const char *value_of(const struct dfg_json *answer, const char *what)
{
	const struct dfg_json *value = dfg_json_get(dfg_json_get(answer, what), "value");
	return value && value->kind == DFG_JSON_STRING ? value->string : NULL;
}

/* Parses "2026-11-21 16:50:52.123 UTC" to seconds; NAN if malformed. */
static double seconds_of(const char *text)
{
	struct tm tm = {0};
	const char *rest = text ? strptime(text, "%Y-%m-%d %H:%M:%S", &tm) : NULL;
	return rest ? (double)timegm(&tm) + (*rest == '.' ? strtod(rest, NULL) : 0) : NAN;
}

static struct dfg_err *understand(struct visit *v)
{
	struct dfg_json *answer = NULL;
	struct dfg_err *err = dfg_json_read(v->answer.s ? v->answer.s : "", v->answer.length, &v->arena, &answer);
	if (err && (v->end.status < 0 || v->end.status > 1)) {
		dfg_err_free(err);
		return dfg_ssh_end_error(&v->end);
	}
	DFG_TRY(dfg_err_note(err, "the output of its dfg"));
	v->version = value_of(answer, "dfg");
	v->processor = value_of(answer, "processor");
	v->threads = value_of(answer, "threads");
	v->memory = value_of(answer, "memory");
	v->ahead = seconds_of(value_of(answer, "clock")) - time_heard(v);
	if (!v->version || strcmp(v->version, DFG_VERSION))
		return DFG_ERR(
			DFG_UNAVAILABLE, "dfg has version %s there, but " DFG_VERSION " here", v->version ? v->version : "unknown");
	const struct dfg_json *links = dfg_json_get(dfg_json_get(answer, "links"), "wrong");
	if (links && links->kind == DFG_JSON_STRING)
		return DFG_ERR(DFG_UNAVAILABLE, "cannot be reached by other hosts: %s", links->string);
	return NULL;
}

static void *ask(void *arg)
{
	static const char *const words[] = {"doctor", "--json", "--quick", NULL};
	struct visit *v = arg;
	v->err = dfg_ssh_run(v->host, v->options, words, &v->answer, &v->end);
	if (!v->err)
		v->err = understand(v);
	return NULL;
}

/* Prints text of another host without control characters. */
static void print_plain(const char *words)
{
	struct dfg_text text = {0};
	dfg_text_escape(&text, words, strlen(words), SIZE_MAX);
	dfg_printf("%s", text.s ? text.s : "");
	dfg_text_release(&text);
}

static void print_line(const struct visit *v)
{
	dfg_printf(v->err ? "%-16s -- " : "%-16s ", v->host->name);
	if (v->err) {
		print_plain(v->err->text);
	} else if (v->host->local) {
		dfg_printf("this machine");
	} else {
		dfg_printf("dfg %s, ", v->version);
		print_plain(v->processor ? v->processor : "unknown processor");
		dfg_printf(", ");
		print_plain(v->threads ? v->threads : "unknown threads");
		dfg_printf(", ");
		print_plain(v->memory ? v->memory : "unknown memory");
		dfg_printf(isnan(v->ahead) ? ", unknown clock" : ", clock %+.3f s", v->ahead);
	}
	dfg_printf("\n");
}

static void write_json(struct dfg_json_out *out, const struct visit *v)
{
	dfg_json_key(out, v->host->name), dfg_json_open(out, '{');
	dfg_json_key(out, "wrong");
	if (v->err)
		dfg_json_string(out, v->err->text);
	else
		dfg_json_null(out);
	if (!v->err && !v->host->local) {
		dfg_json_key(out, "clock_ahead"), dfg_json_f64(out, v->ahead);
		dfg_json_key(out, "machine"), dfg_json_raw(out);
		dfg_text_put(&out->text, v->answer.s, v->answer.length - (v->answer.s[v->answer.length - 1] == '\n'));
	}
	dfg_json_close(out, '}');
}

static struct dfg_err *print_all(const struct visit *visit, size_t count)
{
	struct dfg_json_out out = {0};
	dfg_json_open(&out, '{');
	for (size_t i = 0; i < count; i++)
		if (dfg_globals.json)
			write_json(&out, &visit[i]);
		else
			print_line(&visit[i]);
	dfg_json_close(&out, '}');
	struct dfg_err *err = dfg_text_check(&out.text);
	if (!err && dfg_globals.json)
		puts(out.text.s);
	dfg_text_release(&out.text);
	return err;
}

static void say(void *arg, const struct dfg_worker_host *host, const char *line)
{
	(void)arg;
	dfg_talk("%s: %s", host->name, line);
}

/* Selects each host once, whatever its number of workers; with operands, only those. */
static struct dfg_err *choose(const struct dfg_doctor_hosts *asked, const struct dfg_hosts *hosts, bool *chosen)
{
	for (uint32_t i = 0; i < hosts->count; i++)
		chosen[i] = !(asked->hosts && *asked->operands) && hosts->worker[i].machine == i;
	for (char **name = asked->operands; asked->hosts && *name; name++) {
		uint32_t number;
		DFG_TRY(dfg_hosts_find(hosts, *name, &number));
		chosen[hosts->worker[number].machine] = true;
	}
	return NULL;
}

static struct dfg_err *visit_all(
	const struct dfg_ssh_options *options, const struct dfg_hosts *hosts, const bool *chosen, int *out_status)
{
	size_t count = 0;
	struct visit *visit = dfg_zeros(hosts->count, sizeof *visit);
	if (!visit)
		return dfg_no_memory("the hosts");
	for (uint32_t i = 0; i < hosts->count; i++) {
		struct visit *v = &visit[count];
		if (!chosen[i])
			continue;
		count++;
		v->host = &hosts->worker[i];
		v->options = options;
		if (!v->host->local && pthread_create(&v->thread, NULL, ask, v)) {
			v->thread = 0;
			v->err = DFG_ERR(DFG_MEMORY, "cannot start a thread");
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (visit[i].thread)
			pthread_join(visit[i].thread, NULL);
		if (visit[i].err && !*out_status)
			*out_status = visit[i].err->code;
	}
	struct dfg_err *err = print_all(visit, count);
	for (size_t i = 0; i < count; i++) {
		dfg_err_free(visit[i].err);
		dfg_text_release(&visit[i].answer);
		dfg_arena_release(&visit[i].arena);
	}
	dfg_free(visit);
	return err;
}

/* Builds the host list from the operands if --hosts is not given. */
static struct dfg_err *list(const struct dfg_doctor_hosts *asked, struct dfg_arena *arena, struct dfg_hosts *out_hosts)
{
	struct dfg_text text = {0};
	for (char **name = asked->operands; *name; name++)
		dfg_text_add(&text, "%s%s", text.length ? "," : "", *name);
	struct dfg_err *err = dfg_text_check(&text);
	if (!err)
		err = dfg_hosts_read_list(text.s, arena, out_hosts);
	dfg_text_release(&text);
	return err;
}

struct dfg_err *dfg_doctor_hosts(const struct dfg_doctor_hosts *asked, int *out_status)
{
	struct dfg_arena arena = {0};
	struct dfg_hosts hosts;
	const struct dfg_ssh_options options = {.config = asked->ssh_config, .say = say};
	bool *chosen = NULL;
	struct dfg_err *err = asked->hosts ? dfg_hosts_read(asked->hosts, &arena, &hosts) : list(asked, &arena, &hosts);
	if (!err && !(chosen = dfg_arena_zeros(&arena, hosts.count, sizeof *chosen)))
		err = dfg_no_memory("the hosts");
	if (!err)
		err = choose(asked, &hosts, chosen);
	if (!err)
		err = visit_all(&options, &hosts, chosen, out_status);
	dfg_arena_release(&arena);
	return err;
}
