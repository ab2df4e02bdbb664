#pragma once

#include "tests/unit/test.h"

#include "lib/base/io.h"
#include "lib/graph/tensor.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Files of graphs and what is claimed of them (tests/flow). A file has one trial or several, "## ..." in front of each. What
 * a line says that begins with
 *
 *     #: n=3 xs=[1,2] -> y z = 9 / [2] 1 2; ticks 0    fed these, y and z are that, and this was counted
 *     #: n=3 -> y ! words                              an error with these words
 *     #! words                                         the verifier refuses the graph with these words
 *     #@ v*=w1 y=w2                                    where nodes are placed, when the graph is cut
 *
 * All else is the graph: a program of the language in a .dfg, where W is the window; lines of ways.h in a .sketch.
 */
enum { CLAIMS_MOST = 24, TRIALS_MOST = 16, WORDS_MOST = 8 };

struct claim {
	int line;
	char *feed[WORDS_MOST], *fetch[WORDS_MOST], *wanted[WORDS_MOST]; /* NULL after the last */
	char *error, *counts;                                            /* or NULL */
};

struct trial {
	const char *file;
	bool is_program;
	char *text, *refused, *places;
	struct claim claim[CLAIMS_MOST];
	int claims;
};

struct trials {
	char *bytes, *graph; /* the file, cut into words; the graphs alone */
	struct trial trial[TRIALS_MOST];
	int count;
};

static char *trimmed(char *words)
{
	while (isspace((unsigned char)*words))
		words++;
	for (char *end = words + strlen(words); end > words && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	return words;
}

static void split(char *words, const char *between, char **out)
{
	int n = 0;
	for (char *word; (word = strsep(&words, between));) {
		if (!*(word = trimmed(word)))
			continue;
		assert_true(n < WORDS_MOST - 1);
		out[n++] = word;
	}
}

static void read_claim(struct trial *trial, char *words, int line)
{
	assert_true(trial->claims < CLAIMS_MOST);
	struct claim *claim = &trial->claim[trial->claims++];
	char *arrow = strstr(words, "->"), *wanted, *counts;
	claim->line = line;
	if (!arrow)
		fail_msg("%s:%d: no '->'", trial->file, line);
	*arrow = '\0';
	split(words, " ", claim->feed);
	arrow += 2;
	if ((wanted = strstr(arrow, " ! "))) {
		*wanted = '\0';
		claim->error = trimmed(wanted + 3);
	} else {
		if (!(wanted = strstr(arrow, " = ")))
			fail_msg("%s:%d: neither '=' nor '!'", trial->file, line);
		*wanted = '\0';
		if ((counts = strchr(wanted + 3, ';'))) {
			*counts = '\0';
			claim->counts = trimmed(counts + 1);
		}
		split(wanted + 3, "/", claim->wanted);
	}
	split(arrow, " ", claim->fetch);
}

static void read_line(struct trials *trials, char *line, int number, char **graph)
{
	struct trial *trial = &trials->trial[trials->count - 1];
	if (!strncmp(line, "#:", 2))
		read_claim(trial, line + 2, number);
	else if (!strncmp(line, "#!", 2))
		trial->refused = trimmed(line + 2);
	else if (!strncmp(line, "#@", 2))
		trial->places = trimmed(line + 2);
	else if (*trimmed(line) && *trimmed(line) != '#')
		*graph += sprintf(*graph, "%s\n", line);
}

static void trials_read(struct trials *trials, const char *path)
{
	struct dfg_blob blob;
	char *rest, *graph;
	int number = 0;
	succeeds(dfg_blob_open(path, 0, &blob));
	*trials = (struct trials){.bytes = strndup((const char *)blob.bytes, blob.size), .count = 1};
	graph = trials->graph = calloc(1, blob.size + 1 + TRIALS_MOST);
	dfg_blob_close(&blob);
	trials->trial[0].text = graph;
	rest = trials->bytes;
	for (char *line; (line = strsep(&rest, "\n"));) {
		number++;
		if (!strncmp(line, "##", 2) && trials->trial[trials->count - 1].text != graph) {
			assert_true(trials->count < TRIALS_MOST);
			trials->trial[trials->count++].text = ++graph;
		}
		trials->trial[trials->count - 1].file = path;
		trials->trial[trials->count - 1].is_program = strstr(path, ".dfg") != NULL;
		read_line(trials, line, number, &graph);
	}
}

static void trials_release(struct trials *trials)
{
	free(trials->bytes);
	free(trials->graph);
}
