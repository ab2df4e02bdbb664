#include "kernels/cuda/standin/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER = 13000, DEVICES = 1 };
static const uint64_t memory_bytes = 1 << 30;

static const char *const function_names[] = {
#define CALL(name, parameters, arguments) #name,
#include "lib/exec/device/api.def"
#undef CALL
};

/* A positive number, which K, M or G may follow. */
static bool read_number(const char *text, uint64_t *out_number)
{
	char *end;
	if (!text || *text < '0' || *text > '9')
		return false;
	*out_number = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	*out_number <<= shift;
	return !end[shift != 0];
}

/* "CALL:N" */
static bool read_failure(char *text, struct standin_settings *settings)
{
	char *colon = text ? strchr(text, ':') : NULL;
	if (!colon || !read_number(colon + 1, &settings->fail_at))
		return false;
	*colon = '\0';
	for (size_t i = 0; i < sizeof function_names / sizeof *function_names; i++)
		if (!strcmp(function_names[i], text))
			settings->fail = function_names[i];
	return settings->fail;
}

static bool read_setting(char *word, struct standin_settings *settings)
{
	char *value = strchr(word, '=');
	uint64_t number = 0;
	if (value)
		*value++ = '\0';
	if (!strcmp(word, "poison"))
		return settings->poison = !value;
	if (!strcmp(word, "fail"))
		return read_failure(value, settings);
	if (!read_number(value, &number))
		return false;
	if (!strcmp(word, "devices") && number <= STANDIN_DEVICES)
		return settings->devices = (int)number, true;
	if (!strcmp(word, "driver") && number <= INT32_MAX)
		return settings->driver = (int)number, true;
	uint64_t *to = !strcmp(word, "memory")  ? &settings->memory
				   : !strcmp(word, "delay") ? &settings->delay
				   : !strcmp(word, "lost")  ? &settings->lost
				   : !strcmp(word, "ecc")   ? &settings->ecc
											: NULL;
	return to && (*to = number);
}

bool standin_settings_read(const char *text, struct standin_settings *out_settings, char *why, size_t capacity)
{
	*out_settings = (struct standin_settings){.devices = DEVICES, .driver = DRIVER, .memory = memory_bytes};
	char copy[1000], *rest = copy, *word;
	bool good = true;
	snprintf(copy, sizeof copy, "%s", text ? text : "");
	while (good && (word = strsep(&rest, ","))) {
		char name[64];
		snprintf(name, sizeof name, "%s", word);
		good = !*word || read_setting(word, out_settings);
		if (!good)
			snprintf(why, capacity,
				"DFG_STANDIN has '%s', expected devices=N, memory=SIZE, driver=VERSION, delay=SEED, poison, "
				"fail=FUNCTION:N, lost=N or ecc=N",
				name);
	}
	return good;
}
