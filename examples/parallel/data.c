/* Makes the data of the examples: data NAME DIR [N [ROWS [COLUMNS]]], where NAME is a program's and N its iterations. */
#include "npy.h"

#include <math.h>

static uint64_t state = 1;

static double draw(void) /* [0, 1) */
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 40) / (1 << 24);
}

/* A number below n, of which small ones are frequent, as by Zipf's law. */
static int32_t skewed(int n)
{
	double sum = 0, total = 0;
	int i = 0;
	for (int k = 1; k <= n; k++)
		total += 1 / pow(k, 0.8);
	double at = draw() * total;
	for (; i < n - 1 && (sum += 1 / pow(i + 1, 0.8)) < at; i++)
		continue;
	return i;
}

enum draws { UNIFORM, NORMAL, EVEN, SKEWED };

/* Writes `count` numbers of that kind, integers below `below`. */
static void write_numbers(
	const char *folder, const char *name, enum draws kind, size_t count, const char *shape, int below)
{
	char path[1000];
	void *data = malloc(count * 4 + 1);
	if (!data)
		fail("hold", name);
	for (size_t i = 0; i < count; i++)
		if (kind == UNIFORM)
			((float *)data)[i] = (float)draw();
		else if (kind == NORMAL)
			((float *)data)[i] = (float)(sqrt(-2 * log(1 - draw())) * cos(6.283185307 * draw()));
		else
			((int32_t *)data)[i] = kind == EVEN ? (int32_t)(draw() * below) : skewed(below);
	snprintf(path, sizeof path, "%s/%s.npy", folder, name);
	write_npy(path, kind <= NORMAL ? 'f' : 'i', shape, data, count);
	free(data);
}

static void write_rows(const char *folder, const char *name, enum draws kind, size_t rows, size_t width, int below)
{
	char shape[60];
	snprintf(shape, sizeof shape, width ? "%zu, %zu" : "%zu", rows, width);
	write_numbers(folder, name, kind, rows * (width ? width : 1), shape, below);
}

int main(int count, char **word)
{
	const char *name = count > 2 ? word[1] : "", *to = count > 2 ? word[2] : "";
	size_t n = count > 3 ? strtoul(word[3], NULL, 10) : 80;
	int rows = count > 4 ? (int)strtol(word[4], NULL, 10) : 12,
		columns = count > 5 ? (int)strtol(word[5], NULL, 10) : 9;
	if (!strcmp(name, "mf")) {
		write_rows(to, "user", SKEWED, n, 0, rows);
		write_rows(to, "item", SKEWED, n, 0, columns);
		write_rows(to, "rating", UNIFORM, n, 0, 0);
	} else if (!strcmp(name, "kmeans")) {
		write_rows(to, "x", NORMAL, n, 3, 0);
		write_rows(to, "first", NORMAL, 4, 3, 0);
	} else if (!strcmp(name, "histogram")) {
		write_rows(to, "leaf", EVEN, n, 0, 4);
		write_rows(to, "bin", SKEWED, n, 3, 8);
		write_rows(to, "slopes", NORMAL, n, 2, 0);
	} else if (!strcmp(name, "align")) {
		write_rows(to, "s", EVEN, n, 0, 4);
		write_rows(to, "t", EVEN, (size_t)rows, 0, 4);
	} else if (!strcmp(name, "lda")) {
		write_rows(to, "doc", EVEN, n, 0, 6);
		write_rows(to, "word", SKEWED, n, 0, 15);
		write_rows(to, "u", UNIFORM, n, 0, 0);
	} else if (!strcmp(name, "word2vec")) {
		write_rows(to, "center", SKEWED, n, 0, 20);
		write_rows(to, "context", SKEWED, n, 0, 20);
		write_rows(to, "noise", EVEN, n, 3, 20);
	} else if (!strcmp(name, "slr")) {
		write_rows(to, "ids", SKEWED, n, 5, 40);
		write_rows(to, "label", EVEN, n, 0, 2);
	} else {
		fprintf(stderr, "usage: data mf|kmeans|histogram|align|lda|word2vec|slr DIR [N [ROWS [COLUMNS]]]\n");
		return 2;
	}
	return 0;
}
