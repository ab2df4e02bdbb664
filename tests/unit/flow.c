#define CLUSTER_ASKED 2048
#include "tests/unit/partitioned.h"
#include "tests/unit/scatter.h"
#include "tests/unit/trials.h"
#include "tests/unit/ways.h"
#include "tests/unit/words.h"

#include "lib/lang/lang.h"
#include "lib/pass/grad/grad.h"
#include "lib/pass/partition/partition.h"
#include "lib/pass/verify/verify.h"

#include <dirent.h>

/*
 * The promises of control flow: the numbered cases of tests/flow, each with every window, one thread and two, and a hundred
 * random schedules; and cut over two devices and three that are parts of this process. All must agree.
 */
enum { CASES = 54, DICED = 4 };

/* A trial with a window. */
struct subject {
	const struct trial *trial;
	int window;
	struct sketch sketch;
	struct dfg_facts facts;
	bool is_sound;
	struct question {
		const struct claim *claim;
		struct dfg_tensor value[WORDS_MOST];
		char name[WORDS_MOST][40];
		uint32_t feeds;
	} question[CLAIMS_MOST];
};

/* How a trial is run. */
struct way {
	const struct subject *subject;
	uint32_t devices;
	bool is_placed; /* as the trial says, so that messages are counted */
	struct dfg_session_options options;
};

static void fail_in(const struct way *way, const struct claim *claim, const char *what)
{
	fail_msg("%s:%d: %s (window %d, %d threads, schedule %d, %u devices)", way->subject->trial->file, claim->line, what,
		way->subject->window, way->options.threads, (int)way->options.schedule_seed, way->devices);
}

/* The program with each W, as a word, a window. */
static void with_window(const char *text, int window, char *out, size_t capacity)
{
	size_t at = 0;
	for (const char *from = text; *from; from++) {
		bool is_word =
			*from == 'W' && (from == text || !isalnum((unsigned char)from[-1])) && !isalnum((unsigned char)from[1]);
		assert_true(at + 12 < capacity);
		at += (size_t)(is_word ? snprintf(out + at, capacity - at, "%d", window)
							   : snprintf(out + at, capacity - at, "%c", *from));
	}
	out[at] = '\0';
}

static struct dfg_err *build(struct subject *s)
{
	static char text[16000];
	if (!s->trial->is_program) {
		expand(s->trial->text, s->window, text, sizeof text);
		sketch_init(&s->sketch, step_ops, text);
		return dfg_verify(&s->sketch.graph, &(struct dfg_verify_options){.marked = &s->sketch.graph}, &s->facts);
	}
	with_window(s->trial->text, s->window, text, sizeof text);
	const struct dfg_lang_options lang = {.grad = dfg_grad_edges, .text = text, .length = strlen(text)};
	s->sketch = (struct sketch){0};
	dfg_graph_init(&s->sketch.graph, &s->sketch.arena);
	DFG_TRY(dfg_lang_build(s->trial->file, &lang, &s->sketch.graph));
	return dfg_verify(&s->sketch.graph, &(struct dfg_verify_options){.marked = &s->sketch.graph}, &s->facts);
}

static void put_number(const char *text, enum dfg_dtype dtype, void *data, int64_t i)
{
	switch (dtype) {
	case DFG_F64:
		((double *)data)[i] = strtod(text, NULL);
		break;
	case DFG_F32:
		((float *)data)[i] = strtof(text, NULL);
		break;
	case DFG_BOOL:
		((bool *)data)[i] = !strcmp(text, "true");
		break;
	default:
		assert_int_equal(dtype, DFG_I32);
		((int32_t *)data)[i] = (int32_t)strtol(text, NULL, 10);
	}
}

/* "3", or "[1,2,3]". */
static struct dfg_tensor read_value(struct subject *s, enum dfg_dtype dtype, const char *text)
{
	struct dfg_tensor value = {.dtype = dtype, .shape = {.rank = *text == '['}, .capacity = 256};
	char copy[200], *rest = copy;
	value.data = dfg_arena_zeros(&s->sketch.arena, 1, value.capacity);
	if (!value.shape.rank) {
		put_number(text, dtype, value.data, 0);
		return value;
	}
	snprintf(copy, sizeof copy, "%s", text + 1);
	for (char *number; (number = strsep(&rest, ",]"));)
		if (*number)
			put_number(number, dtype, value.data, value.shape.dim[0]++);
	return value;
}

static void read_question(struct subject *s, struct question *q)
{
	for (; q->claim->feed[q->feeds]; q->feeds++) {
		struct dfg_edge edge;
		char *name = q->name[q->feeds];
		const char *equals = strchr(q->claim->feed[q->feeds], '=');
		assert_non_null(equals);
		snprintf(name, sizeof q->name[0], "%.*s", (int)(equals - q->claim->feed[q->feeds]), q->claim->feed[q->feeds]);
		succeeds(dfg_graph_edge(&s->sketch.graph, name, &edge));
		q->value[q->feeds] = read_value(s, s->is_sound ? dfg_facts_of(&s->facts, edge)->dtype : DFG_I32, equals + 1);
	}
}

static void subject_begin(struct subject *s, const struct trial *trial, int window)
{
	*s = (struct subject){.trial = trial, .window = window};
	struct dfg_err *err = build(s), *fault = err;
	s->is_sound = !err;
	if (!err != !trial->refused)
		fail_msg("%s: %s, but the verifier says '%s'", trial->file, trial->refused ? trial->refused : "no fault",
			err ? err->text : "");
	while (fault && !strstr(fault->text, trial->refused))
		fault = fault->next;
	if (err && !fault)
		fail_msg("%s: '%s', not '%s'", trial->file, err->text, trial->refused);
	dfg_err_free(err);
	for (int i = 0; i < trial->claims; i++) {
		s->question[i].claim = &trial->claim[i];
		read_question(s, &s->question[i]);
	}
}

static void subject_end(struct subject *s)
{
	dfg_facts_release(&s->facts);
	sketch_release(&s->sketch);
}

/* "ticks 3, saves 7": what this way of running cannot count is passed over. */
static void compare_counts(
	const struct way *way, const struct claim *claim, const struct dfg_stats *stats, unsigned sent)
{
	char name[20];
	int wanted, length;
	for (const char *at = claim->counts; at && *at; at += length) {
		assert_int_equal(sscanf(at, "%19s %d%n", name, &wanted, &length), 2);
		length += at[length] == ',';
		uint64_t got = (uint64_t)wanted;
		if (!strcmp(name, "ticks"))
			got = (uint64_t)tick_count;
		else if (!strcmp(name, "saves"))
			got = stats ? stats->saves : got;
		else if (!strcmp(name, "sent"))
			got = way->is_placed ? sent : got;
		else
			fail_in(way, claim, name);
		if (got != (uint64_t)wanted)
			fail_msg("%s:%d: %s %d, not %d (window %d)", way->subject->trial->file, claim->line, name, (int)got, wanted,
				way->subject->window);
	}
}

/* On several devices, the message for a dead fetch does not name the cause: only the part before it is compared. */
static void compare_error(const struct way *way, const struct claim *claim, struct dfg_err *err)
{
	char words[1000];
	const char *dead = strstr(claim->error, " is dead");
	snprintf(words, sizeof words, "%.*s", dead && way->devices > 1 ? (int)(dead - claim->error) : 999, claim->error);
	if (!err)
		fail_in(way, claim, "succeeded");
	else if (err->code != DFG_DATA || !strstr(err->text, words))
		fail_in(way, claim, err->text);
	dfg_err_free(err);
}

static void compare(const struct way *way, const struct claim *claim, struct dfg_err *err, struct dfg_tensor *got)
{
	char words[1000], *of_scalar = words;
	if (claim->error) {
		compare_error(way, claim, err);
		return;
	}
	if (err)
		fail_in(way, claim, err->text);
	for (int i = 0; claim->wanted[i]; i++) {
		program_words(&got[i], words, sizeof words);
		of_scalar = strncmp(words, "[] ", 3) ? words : words + 3;
		if (strcmp(of_scalar, claim->wanted[i]))
			fail_in(way, claim, of_scalar);
		dfg_tensor_release(&got[i]);
	}
}

static struct dfg_err *ask_session(
	struct dfg_session *session, const struct subject *s, const struct question *q, struct dfg_tensor *out)
{
	struct dfg_edge feed[WORDS_MOST], fetch[WORDS_MOST];
	struct dfg_step step = {.feed = feed, .fetch = fetch};
	for (; step.n_feed < q->feeds; step.n_feed++)
		DFG_TRY(dfg_graph_edge(&s->sketch.graph, q->name[step.n_feed], &feed[step.n_feed]));
	for (; q->claim->fetch[step.n_fetch]; step.n_fetch++)
		DFG_TRY(dfg_graph_edge(&s->sketch.graph, q->claim->fetch[step.n_fetch], &fetch[step.n_fetch]));
	last_plan = NULL;
	DFG_TRY(dfg_session_plan(session, &step, &last_plan));
	return dfg_plan_run(last_plan, q->value, out);
}

/* In one session; each claim twice, so that remains of a step show. */
static void run_whole(const struct way *way)
{
	const struct subject *s = way->subject;
	struct dfg_session *session;
	succeeds(dfg_session_new(&s->sketch.graph, &way->options, &session));
	for (int i = 0; i < 2 * s->trial->claims; i++) {
		const struct question *q = &s->question[i / 2];
		struct dfg_tensor got[WORDS_MOST];
		struct dfg_stats stats = {0};
		tick_count = 0;
		compare(way, q->claim, ask_session(session, s, q, got), got);
		if (last_plan)
			dfg_plan_stats(last_plan, &stats);
		assert_int_equal(stats.left, 0);
		compare_counts(way, q->claim, &stats, 0);
	}
	dfg_session_free(session);
}

static void run_parts(const struct way *way, const struct dfg_parts *parts)
{
	static struct cluster cluster;
	const struct dfg_graph *part[CLUSTER_MOST];
	for (uint32_t d = 0; d < way->devices; d++)
		part[d] = &parts->part[d];
	cluster_begin(&cluster, part, way->devices, &way->options, way->options.schedule_seed % 10 == 1);
	for (int i = 0; i < way->subject->trial->claims; i++) {
		const struct question *q = &way->subject->question[i];
		struct dfg_tensor got[WORDS_MOST];
		tick_count = 0;
		cluster.sent = 0;
		cluster_step_begin(&cluster);
		for (uint32_t f = 0; f < q->feeds; f++)
			cluster_feed(&cluster, q->name[f], &q->value[f]);
		for (uint32_t f = 0; q->claim->fetch[f]; f++)
			cluster_fetch(&cluster, q->claim->fetch[f], f);
		compare(way, q->claim, cluster_step(&cluster, got), got);
		assert_true(q->claim->error || !cluster.left);
		compare_counts(way, q->claim, NULL, cluster.sent);
	}
	cluster_end(&cluster);
}

static const char *const devices[] = {
	"/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0", "/job:worker/task:2/device:CPU:0"};

/* SCHEDULES=n: another number than a hundred. */
static uint64_t schedules(void)
{
	const char *asked = getenv("SCHEDULES");
	return asked ? (uint64_t)atoi(asked) : SCHEDULES;
}

/* Placed as the trial says, the parts run in all ways; by chance, in two. */
static void cut_and_run(const struct way *way, const struct dfg_placed *placed)
{
	const struct dfg_place_options place = {.device = devices, .devices = way->devices};
	struct dfg_arena arena = {0};
	struct dfg_parts parts;
	struct dfg_graph *graph = (struct dfg_graph *)&way->subject->sketch.graph;
	succeeds(dfg_partition(graph, &way->subject->facts, placed, &place, &arena, &parts));
	struct way one = *way;
	int threads = way->is_placed ? 2 : 1;
	for (uint64_t seed = 0; seed <= (way->is_placed ? schedules() : 1); seed++)
		for (int i = 0; i < threads; i++) {
			one.options = (struct dfg_session_options){.threads = way->is_placed ? i + 1 : (int)way->devices - 1,
				.timeout = 600,
				.random_schedule = seed > 0,
				.schedule_seed = seed};
			run_parts(&one, &parts);
		}
	dfg_parts_release(&parts);
	dfg_arena_release(&arena);
}

/* "v*=w1 y=w2"; what nobody asks for is on device 0. */
static void run_placed(struct subject *s)
{
	struct dfg_arena arena = {0};
	struct dfg_place_request request[WORDS_MOST + 1] = {{.pattern = "*", .text = "*=w0"}};
	struct dfg_place_options place = {.device = devices, .devices = 1, .request = request, .requests = 1};
	struct dfg_placed *placed;
	char *word[WORDS_MOST] = {0};
	split(dfg_arena_copy(&arena, s->trial->places, strlen(s->trial->places)), " ", word);
	for (int i = 0; word[i]; i++) {
		char *equals = strchr(word[i], '=');
		*equals = '\0';
		uint32_t device = (uint32_t)(equals[2] - '0');
		request[place.requests++] = (struct dfg_place_request){.pattern = word[i], .text = word[i], .device = device};
		place.devices = device >= place.devices ? device + 1 : place.devices;
	}
	succeeds(dfg_place(&s->sketch.graph, &s->facts, &place, &arena, &placed));
	cut_and_run(&(struct way){.subject = s, .devices = place.devices, .is_placed = true}, placed);
	dfg_arena_release(&arena);
}

static void run_diced(struct subject *s)
{
	struct scatter scatter;
	struct dfg_placed *placed = calloc(s->sketch.graph.count, sizeof *placed);
	scatter_begin(&scatter, &s->sketch.graph, &s->facts);
	for (uint32_t i = 0; i < DICED; i++) {
		struct way way = {.subject = s, .devices = 2 + i % 2};
		scatter_place(&scatter, way.devices, placed);
		cut_and_run(&way, placed);
	}
	scatter_end(&scatter);
	free(placed);
}

static void run_trial(const struct trial *trial)
{
	static struct subject s;
	for (int w = 0; w < 4; w++) {
		subject_begin(&s, trial, all_windows[w]);
		for (int threads = 1; threads <= 2; threads++)
			for (uint64_t seed = 0; seed <= schedules() && trial->claims; seed++) {
				struct way way = {.subject = &s, .devices = 1};
				way.options = (struct dfg_session_options){
					.threads = threads, .random_schedule = seed > 0, .schedule_seed = seed};
				run_whole(&way);
				for (int loops = 0; loops < 2 && !seed; loops++) {
					way.options.no_compiled_loops = !loops;
					way.options.emit_loops_after = (uint64_t)loops;
					run_whole(&way);
				}
			}
		if (s.is_sound && trial->claims)
			run_diced(&s);
		if (s.is_sound && trial->places)
			run_placed(&s);
		subject_end(&s);
	}
}

static const char *root(void)
{
	return getenv("ROOT") ? getenv("ROOT") : ".";
}

static void run_file(void **state)
{
	char path[600];
	struct trials trials;
	snprintf(path, sizeof path, "%s/tests/flow/%s", root(), (const char *)*state);
	trials_read(&trials, path);
	for (int i = 0; i < trials.count; i++)
		run_trial(&trials.trial[i]);
	trials_release(&trials);
}

static bool stands_in(const char *file, const char *words)
{
	char path[600];
	struct dfg_blob blob;
	snprintf(path, sizeof path, "%s/%s", root(), file);
	succeeds(dfg_blob_open(path, 0, &blob));
	char *text = strndup((const char *)blob.bytes, blob.size);
	dfg_blob_close(&blob);
	bool found = strstr(text, words);
	free(text);
	return found;
}

/* "22 claim | file: words in it | why not here". */
static void read_elsewhere(const char *line, bool *known)
{
	int number;
	char file[100], words[100];
	if (sscanf(line, "%d %*[^|]| %99[^:]: %99[^|]|", &number, file, words) != 3)
		return;
	assert_true(number > 0 && number <= CASES && !known[number]);
	known[number] = true;
	if (!stands_in(file, trimmed(words)))
		fail_msg("case %d: '%s' is not in %s", number, words, file);
}

/* Names of files that are cases. */
static char *file[2 * CASES];
static size_t files;

static void every_number_is_here_or_elsewhere(void **state)
{
	(void)state;
	bool known[CASES + 1] = {true};
	char path[600], line[600];
	for (size_t i = 0; i < files; i++)
		known[atoi(file[i])] = true;
	snprintf(path, sizeof path, "%s/tests/flow/elsewhere", root());
	FILE *list = fopen(path, "r");
	assert_non_null(list);
	while (fgets(line, sizeof line, list))
		read_elsewhere(line, known);
	fclose(list);
	for (int i = 1; i <= CASES; i++)
		if (!known[i])
			fail_msg("case %d is nowhere", i);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void find_files(void)
{
	char path[600];
	snprintf(path, sizeof path, "%s/tests/flow", root());
	DIR *folder = opendir(path);
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) <= CASES && files < 2 * CASES)
			file[files++] = strdup(entry->d_name);
	if (folder)
		closedir(folder);
	qsort(file, files, sizeof *file, by_name);
}

/* flow [NUMBER]: that case alone. */
int main(int argc, char **argv)
{
	static struct CMUnitTest tests[2 * CASES + 1] = {cmocka_unit_test(every_number_is_here_or_elsewhere)};
	size_t count = 1;
	find_files();
	for (size_t i = 0; i < files; i++)
		if (argc < 2 || atoi(argv[1]) == atoi(file[i]))
			tests[count++] = (struct CMUnitTest){.name = file[i], .test_func = run_file, .initial_state = file[i]};
	return _cmocka_run_group_tests("flow", tests, count, NULL, NULL);
}
