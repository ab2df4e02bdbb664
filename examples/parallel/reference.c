/*
 * The computations of the examples, one iteration after the other: reference NAME DIR reads the data of DIR and prints the
 * results, a number on a line, in the order of the program's outputs.
 */
#include "npy.h"

#include <math.h>

static const char *folder;

static void *read_numbers(const char *name, size_t *count)
{
	char path[1000];
	size_t ignored;
	snprintf(path, sizeof path, "%s/%s.npy", folder, name);
	return read_npy(path, count ? count : &ignored);
}

static void print_floats(const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%.6g\n", (double)x[i]);
}

static void print_ints(const int32_t *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%d\n", x[i]);
}

/* Three passes. */
static void mf(void)
{
	enum { USERS = 12, ITEMS = 9, RANK = 4 };
	size_t n;
	int32_t *user = read_numbers("user", &n), *item = read_numbers("item", NULL);
	float *rating = read_numbers("rating", NULL), w[USERS][RANK], h[ITEMS][RANK], squares = 0;
	for (int k = 0; k < RANK; k++) {
		for (int u = 0; u < USERS; u++)
			w[u][k] = 0.3f;
		for (int v = 0; v < ITEMS; v++)
			h[v][k] = 0.5f;
	}
	for (int pass = 0; pass < 3; pass++) {
		squares = 0;
		for (size_t i = 0; i < n; i++) {
			float *a = w[user[i]], *b = h[item[i]], product = 0, old;
			for (int k = 0; k < RANK; k++)
				product += a[k] * b[k];
			float e = rating[i] - product;
			for (int k = 0; k < RANK; k++) {
				old = a[k];
				a[k] += 0.05f * e * b[k];
				b[k] += 0.05f * e * old;
			}
			squares += e * e;
		}
	}
	float error = sqrtf(squares / (float)n);
	print_floats(&error, 1);
	print_floats(w[0], USERS * RANK);
	print_floats(h[0], ITEMS * RANK);
}

/* Three passes, after the start. */
static void kmeans(void)
{
	enum { CLUSTERS = 4, WIDTH = 3 };
	size_t n;
	float *x = read_numbers("x", &n), *center = read_numbers("first", NULL);
	int32_t count[CLUSTERS];
	n /= WIDTH;
	for (int pass = 0; pass < 3; pass++) {
		float sum[CLUSTERS][WIDTH] = {{0}};
		memset(count, 0, sizeof count);
		for (size_t i = 0; i < n; i++) {
			float least = INFINITY;
			int near = 0;
			for (int c = 0; c < CLUSTERS; c++) {
				float distance = 0;
				for (int k = 0; k < WIDTH; k++)
					distance += (center[c * WIDTH + k] - x[i * WIDTH + k]) * (center[c * WIDTH + k] - x[i * WIDTH + k]);
				near = distance < least ? c : near;
				least = distance < least ? distance : least;
			}
			count[near]++;
			for (int k = 0; k < WIDTH; k++)
				sum[near][k] += x[i * WIDTH + k];
		}
		for (int c = 0; c < CLUSTERS; c++)
			for (int k = 0; k < WIDTH && count[c]; k++)
				center[c * WIDTH + k] = sum[c][k] / (float)count[c];
	}
	print_ints(count, CLUSTERS);
	print_floats(center, CLUSTERS * WIDTH);
}

static void histogram(void)
{
	enum { LEAVES = 4, FEATURES = 3, BINS = 8 };
	static float sum[LEAVES][FEATURES][BINS][2];
	static int32_t count[LEAVES][FEATURES][BINS];
	size_t n;
	int32_t *leaf = read_numbers("leaf", &n), *bin = read_numbers("bin", NULL);
	float *slope = read_numbers("slopes", NULL);
	for (size_t i = 0; i < n; i++)
		for (int j = 0; j < FEATURES; j++) {
			int b = bin[i * FEATURES + (size_t)j];
			count[leaf[i]][j][b]++;
			sum[leaf[i]][j][b][0] += slope[2 * i];
			sum[leaf[i]][j][b][1] += slope[2 * i + 1];
		}
	print_ints(count[0][0], LEAVES * FEATURES * BINS);
	print_floats(sum[0][0][0], LEAVES * FEATURES * BINS * 2);
}

static void align(void)
{
	enum { WIDTH = 65 };
	static int32_t d[WIDTH][WIDTH];
	size_t n, m;
	int32_t *s = read_numbers("s", &n), *t = read_numbers("t", &m), best = 0;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			int32_t score = d[i - 1][j - 1] + (s[i - 1] == t[j - 1] ? 2 : -1);
			score = d[i - 1][j] - 1 > score ? d[i - 1][j] - 1 : score;
			score = d[i][j - 1] - 1 > score ? d[i][j - 1] - 1 : score;
			d[i][j] = score > 0 ? score : 0;
			best = d[i][j] > best ? d[i][j] : best;
		}
	print_ints(d[0], WIDTH * WIDTH);
	print_ints(&best, 1);
}

/* Three passes, after the start. */
static void lda(void)
{
	enum { DOCUMENTS = 6, WORDS = 15, TOPICS = 4 };
	int32_t by_doc[DOCUMENTS][TOPICS] = {{0}}, by_word[WORDS][TOPICS] = {{0}}, total[TOPICS] = {0};
	size_t n;
	int32_t *doc = read_numbers("doc", &n), *word = read_numbers("word", NULL), *topic = malloc(n * sizeof *topic + 1);
	float *u = read_numbers("u", NULL);
	for (int pass = -1; topic && pass < 3; pass++)
		for (size_t i = 0; i < n; i++) {
			float sum[TOPICS];
			int new = (int)(i % TOPICS);
			if (pass >= 0) {
				by_doc[doc[i]][topic[i]]--, by_word[word[i]][topic[i]]--, total[topic[i]]--;
				for (int k = 0; k < TOPICS; k++) {
					float weight = ((float)by_doc[doc[i]][k] + 0.1f) * ((float)by_word[word[i]][k] + 0.05f) /
								   ((float)total[k] + 0.05f * WORDS);
					sum[k] = (k ? sum[k - 1] : 0) + weight;
				}
				for (new = 0; new < TOPICS - 1 && sum[new] <= u[i] * sum[TOPICS - 1];)
					new ++;
			}
			topic[i] = new;
			by_doc[doc[i]][new]++, by_word[word[i]][new]++, total[new]++;
		}
	print_ints(topic, n);
	print_ints(total, TOPICS);
	print_ints(by_doc[0], DOCUMENTS * TOPICS);
}

/* Three passes. The slope of softplus(-sign * dot) by dot is -sign / (1 + exp(sign * dot)). */
static void word2vec(void)
{
	enum { WORDS = 20, WIDTH = 6, NEGATIVES = 3, OTHERS = 1 + NEGATIVES };
	static float inner[WORDS][WIDTH], outer[WORDS][WIDTH];
	size_t n;
	int32_t *center = read_numbers("center", &n), *context = read_numbers("context", NULL),
			*noise = read_numbers("noise", NULL);
	for (int w = 0; w < WORDS; w++)
		for (int k = 0; k < WIDTH; k++)
			inner[w][k] = 0.1f, outer[w][k] = 0.2f;
	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < n; i++) {
			float *v = inner[center[i]], slope_v[WIDTH] = {0}, slope_o[OTHERS][WIDTH];
			int32_t other[OTHERS] = {context[i]};
			memcpy(other + 1, noise + i * NEGATIVES, NEGATIVES * sizeof *noise);
			for (int o = 0; o < OTHERS; o++) {
				float dot = 0, sign = o ? -1 : 1;
				for (int k = 0; k < WIDTH; k++)
					dot += v[k] * outer[other[o]][k];
				float slope = -sign / (1 + expf(sign * dot));
				for (int k = 0; k < WIDTH; k++) {
					slope_v[k] += slope * outer[other[o]][k];
					slope_o[o][k] = slope * v[k];
				}
			}
			for (int k = 0; k < WIDTH; k++) {
				v[k] -= 0.25f * slope_v[k];
				for (int o = 0; o < OTHERS; o++)
					outer[other[o]][k] -= 0.25f * slope_o[o][k];
			}
		}
	print_floats(inner[0], WORDS * WIDTH);
	print_floats(outer[0], WORDS * WIDTH);
}

/* Three passes of adagrad: AdaRevision without delays. Slopes of one feature in a sample are added first. */
static void slr(void)
{
	enum { FEATURES = 40, NONZERO = 5 };
	float weight[FEATURES] = {0}, squares[FEATURES], loss = 0;
	size_t n;
	int32_t *ids = read_numbers("ids", NULL), *label = read_numbers("label", &n);
	for (int f = 0; f < FEATURES; f++)
		squares[f] = 1;
	for (int pass = 0; pass < 3; pass++) {
		loss = 0;
		for (size_t i = 0; i < n; i++) {
			float x = 0, slope[FEATURES] = {0};
			for (int k = 0; k < NONZERO; k++)
				x += weight[ids[i * NONZERO + (size_t)k]];
			loss += log1pf(expf(x)) - (float)label[i] * x;
			for (int k = 0; k < NONZERO; k++)
				slope[ids[i * NONZERO + (size_t)k]] += 1 / (1 + expf(-x)) - (float)label[i];
			for (int f = 0; f < FEATURES; f++) {
				squares[f] += slope[f] * slope[f];
				weight[f] -= 0.1f * slope[f] / sqrtf(squares[f]);
			}
		}
	}
	print_floats(&loss, 1);
	print_floats(weight, FEATURES);
}

int main(int count, char **word)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {{"mf", mf}, {"kmeans", kmeans}, {"histogram", histogram}, {"align", align}, {"lda", lda},
		{"word2vec", word2vec}, {"slr", slr}};
	folder = count == 3 ? word[2] : "";
	for (size_t i = 0; count == 3 && i < sizeof programs / sizeof *programs; i++)
		if (!strcmp(word[1], programs[i].name)) {
			programs[i].run();
			return 0;
		}
	fprintf(stderr, "usage: reference mf|kmeans|histogram|align|lda|word2vec|slr DIR\n");
	return 2;
}
