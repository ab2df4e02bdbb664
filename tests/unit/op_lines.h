#pragma once

#include "tests/unit/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls try_line for every case of one file of tests/ops, without its newline. */
static inline void each_line_of(const char *name, void (*try_line)(const char *line))
{
	char path[300], *line = NULL;
	size_t capacity = 0;
	snprintf(path, sizeof path, "tests/ops/%s", name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	for (ssize_t length; (length = getline(&line, &capacity, file)) > 0;) {
		line[length - (line[length - 1] == '\n')] = '\0';
		if (*line && *line != '#')
			try_line(line);
	}
	free(line);
	fclose(file);
}

/* Calls try_line for every case in tests/ops, in the order of the files' names. */
static inline void each_op_line(void (*try_line)(const char *line))
{
	struct dirent **entry;
	int count = scandir("tests/ops", &entry, NULL, alphasort);
	assert_true(count > 2);
	for (int i = 0; i < count; i++) {
		size_t length = strlen(entry[i]->d_name);
		if (length > 2 && !strcmp(entry[i]->d_name + length - 2, ".t"))
			each_line_of(entry[i]->d_name, try_line);
		free(entry[i]);
	}
	free(entry);
}
