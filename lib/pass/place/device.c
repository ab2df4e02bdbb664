/* device. Names of devices, full and partial, and sets of devices. */
#include "lib/base/mem.h"
#include "lib/pass/place/place_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "/job:worker/replica:0/task:1/device:CPU:0" or parts of it. A number that is missing or '*' is -1. */
struct device_name {
	struct dfg_string job, type; /* NULL: any */
	long replica, task, index;
};

static bool read_number(const char *text, size_t length, long *out)
{
	char digits[12] = "", *end;
	*out = -1;
	if (length == 1 && *text == '*')
		return true;
	if (!length || length >= sizeof digits || !isdigit((unsigned char)*text))
		return false;
	memcpy(digits, text, length);
	*out = strtol(digits, &end, 10);
	return !*end;
}

/* "CPU:0" or "CPU" */
static bool read_kind(const char *text, size_t length, struct device_name *out)
{
	const char *colon = memchr(text, ':', length);
	size_t word = colon ? (size_t)(colon - text) : length;
	if (!word)
		return false;
	out->type = word == 1 && *text == '*' ? (struct dfg_string){0} : (struct dfg_string){text, word};
	return !colon || read_number(colon + 1, length - word - 1, &out->index);
}

static bool begins(const char *text, size_t length, const char *word)
{
	return length >= strlen(word) && !strncasecmp(text, word, strlen(word));
}

/* One part between two '/'; "cpu:0" and "gpu:0" are the form of old files. */
static bool read_part(const char *text, size_t length, struct device_name *out)
{
	if (begins(text, length, "job:")) {
		out->job = length == 5 && text[4] == '*' ? (struct dfg_string){0} : (struct dfg_string){text + 4, length - 4};
		return length > 4;
	}
	if (begins(text, length, "replica:"))
		return read_number(text + 8, length - 8, &out->replica);
	if (begins(text, length, "task:"))
		return read_number(text + 5, length - 5, &out->task);
	if (begins(text, length, "device:"))
		return read_kind(text + 7, length - 7, out);
	return (begins(text, length, "cpu:") || begins(text, length, "gpu:")) && read_kind(text, length, out);
}

static bool read_name(const char *text, struct device_name *out)
{
	*out = (struct device_name){.replica = -1, .task = -1, .index = -1};
	if (*text != '/')
		return false;
	while (*text) {
		size_t length = strcspn(text + 1, "/");
		if (!read_part(text + 1, length, out))
			return false;
		text += 1 + length;
	}
	return true;
}

static bool word_fits(struct dfg_string want, struct dfg_string have, bool any_case)
{
	if (!want.s)
		return true;
	if (want.length != have.length)
		return false;
	return any_case ? !strncasecmp(want.s, have.s, want.length) : !memcmp(want.s, have.s, want.length);
}

static bool number_fits(long want, long have)
{
	return want < 0 || want == (have < 0 ? 0 : have);
}

/* "w1", by index */
static bool short_fits(const char *want, uint32_t device)
{
	long number;
	return *want == 'w' && want[1] != '*' && read_number(want + 1, strlen(want + 1), &number) && number == (long)device;
}

/* "ps1" is the device of task 1 of job ps, a parameter server. */
static bool server_fits(const char *want, const char *device)
{
	struct device_name whole;
	long number;
	return !strncmp(want, "ps", 2) && read_number(want + 2, strlen(want + 2), &number) && read_name(device, &whole) &&
		   whole.job.length == 2 && !memcmp(whole.job.s, "ps", 2) && number == whole.task;
}

static bool name_fits(const char *want, const char *const *device, uint32_t d)
{
	struct device_name partial, whole;
	if (short_fits(want, d) || server_fits(want, device[d]) || !strcmp(want, device[d]))
		return true;
	return read_name(want, &partial) && read_name(device[d], &whole) && word_fits(partial.job, whole.job, false) &&
		   word_fits(partial.type, whole.type, true) && number_fits(partial.replica, whole.replica) &&
		   number_fits(partial.task, whole.task) && number_fits(partial.index, whole.index);
}

/* A GPU without a job also belongs to the single-process session that made the graph. */
static bool is_of_session(const struct device_name *name)
{
	static const char here[] = "localhost";
	if (name->job.s)
		return name->job.length == strlen(here) && !memcmp(name->job.s, here, strlen(here));
	return name->task < 0 && name->type.s && strncasecmp(name->type.s, "CPU", name->type.length);
}

bool dfg_choices_leave(const struct dfg_choices *choices, const char *name)
{
	struct device_name want;
	if (!read_name(name, &want) || !is_of_session(&want))
		return false;
	for (uint32_t d = 0; d < choices->devices; d++)
		if (name_fits(name, choices->device, d))
			return false;
	return true;
}

static struct dfg_err *no_such_device(const char *name, const char *const *device, uint32_t devices)
{
	struct dfg_nearest nearest = {.word = name};
	for (uint32_t d = 0; d < devices; d++)
		dfg_nearest_offer(&nearest, device[d]);
	if (nearest.best)
		return DFG_ERR(DFG_DATA, "no device '%.200s'; did you mean '%.200s'?", name, nearest.best);
	if (devices == 1)
		return DFG_ERR(DFG_DATA, "no device '%.200s'; the only device is w0, '%.200s'", name, device[0]);
	return DFG_ERR(DFG_DATA, "no device '%.200s'; the devices are w0 to w%u, '%.200s' to '%.200s'", name, devices - 1,
		device[0], device[devices - 1]);
}

struct dfg_err *dfg_place_device(const char *name, const char *const *device, uint32_t devices, uint32_t *out_device)
{
	for (*out_device = 0; *out_device < devices; ++*out_device)
		if (name_fits(name, device, *out_device))
			return NULL;
	*out_device = DFG_NONE;
	return devices ? no_such_device(name, device, devices) : DFG_ERR(DFG_DATA, "there is no device to place nodes on");
}

/* The number of the set stored after the last one: that of an equal set, or a new one. */
static struct dfg_err *keep_choice(struct dfg_choices *choices, uint32_t *out_choice)
{
	const uint64_t *last = choices->bits + choices->count * choices->words;
	for (uint32_t c = 0; c < choices->count; c++)
		if (!memcmp(choices->bits + (size_t)c * choices->words, last, choices->words * sizeof *last)) {
			*out_choice = c;
			return NULL;
		}
	*out_choice = (uint32_t)choices->count++;
	if (!dfg_reserve(
			&choices->bits, &choices->bits_capacity, (choices->count + 1) * choices->words, sizeof *choices->bits))
		return DFG_ERR(DFG_MEMORY, "no memory for %zu sets of devices", choices->count);
	return NULL;
}

static uint64_t *next_choice(struct dfg_choices *choices)
{
	uint64_t *bits = choices->bits + choices->count * choices->words;
	memset(bits, 0, choices->words * sizeof *bits);
	return bits;
}

static void add_device(uint64_t *bits, uint32_t device)
{
	bits[device / 64] |= UINT64_C(1) << device % 64;
}

struct dfg_err *dfg_choices_init(struct dfg_choices *choices, const char *const *device, uint32_t devices)
{
	uint32_t all;
	*choices = (struct dfg_choices){.device = device, .devices = devices, .words = devices / 64 + 1};
	if (!dfg_reserve(&choices->bits, &choices->bits_capacity, choices->words, sizeof *choices->bits))
		return DFG_ERR(DFG_MEMORY, "no memory for %u devices", devices);
	uint64_t *bits = next_choice(choices);
	for (uint32_t d = 0; d < devices; d++)
		add_device(bits, d);
	return keep_choice(choices, &all);
}

void dfg_choices_release(struct dfg_choices *choices)
{
	dfg_map_release(&choices->text);
	dfg_free(choices->bits);
	dfg_free(choices->of_text);
}

struct dfg_err *dfg_choice_one(struct dfg_choices *choices, uint32_t device, uint32_t *out_choice)
{
	add_device(next_choice(choices), device);
	return keep_choice(choices, out_choice);
}

struct dfg_err *dfg_choice_named(struct dfg_choices *choices, const char *name, uint32_t *out_choice)
{
	uint32_t number, any;
	bool is_new;
	if (!dfg_map_put(&choices->text, name, strlen(name), &number, &is_new) ||
		!dfg_reserve(&choices->of_text, &choices->of_text_capacity, choices->text.count, sizeof *choices->of_text))
		return dfg_no_memory("the names of devices");
	if (is_new) {
		DFG_TRY(dfg_place_device(name, choices->device, choices->devices, &any));
		uint64_t *bits = next_choice(choices);
		for (uint32_t d = 0; d < choices->devices; d++)
			if (name_fits(name, choices->device, d))
				add_device(bits, d);
		DFG_TRY(keep_choice(choices, &choices->of_text[number]));
	}
	*out_choice = choices->of_text[number];
	return NULL;
}

struct dfg_err *dfg_choice_both(struct dfg_choices *choices, uint32_t a, uint32_t b, uint32_t *out_choice)
{
	uint64_t any = 0;
	*out_choice = a ? a : b;
	if (!a || !b || a == b)
		return NULL;
	uint64_t *bits = next_choice(choices);
	for (uint32_t w = 0; w < choices->words; w++) {
		bits[w] = choices->bits[(size_t)a * choices->words + w] & choices->bits[(size_t)b * choices->words + w];
		any |= bits[w];
	}
	*out_choice = DFG_NONE;
	return any ? keep_choice(choices, out_choice) : NULL;
}

bool dfg_choice_has(const struct dfg_choices *choices, uint32_t choice, uint32_t device)
{
	return choices->bits[(size_t)choice * choices->words + device / 64] >> device % 64 & 1;
}

uint32_t dfg_choice_first(const struct dfg_choices *choices, uint32_t choice)
{
	uint32_t device = 0;
	while (device < choices->devices && !dfg_choice_has(choices, choice, device))
		device++;
	return device;
}

bool dfg_choice_is_one(const struct dfg_choices *choices, uint32_t choice)
{
	int devices = 0;
	for (uint32_t w = 0; w < choices->words; w++)
		devices += __builtin_popcountll(choices->bits[(size_t)choice * choices->words + w]);
	return devices == 1;
}
