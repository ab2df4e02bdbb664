#include "cmd/show.h"

#include "formats/json.h"
#include "lib/base/plural.h"

#include <math.h>
#include <string.h>

/* One value over the steps. Non-finite values are gaps. */
struct series {
	const char *name, *run; /* run: the file, if there are several */
	double *x, *y;
	size_t count, x_capacity, y_capacity;
};

struct curves {
	struct series *series;
	size_t count, capacity;
	struct dfg_arena arena;
	const char *run; /* the file that is read, if there are several; else NULL */
	double step;     /* step of the last line that had one; an evaluation belongs to that step */
};

bool dfg_is_metrics(const struct dfg_blob *blob)
{
	static const char *const begins[] = {"{\"step\":", "{\"epoch\":"};
	for (int i = 0; i < 2; i++)
		if (blob->size > strlen(begins[i]) && !memcmp(blob->bytes, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static struct series *find_series(struct curves *curves, const char *prefix, const char *name)
{
	size_t skip = strlen(prefix);
	for (size_t i = 0; i < curves->count; i++) {
		const char *own = curves->series[i].name;
		if (curves->series[i].run == curves->run && !strncmp(own, prefix, skip) && !strcmp(own + skip, name))
			return &curves->series[i];
	}
	if (!dfg_reserve(&curves->series, &curves->capacity, curves->count + 1, sizeof *curves->series))
		return NULL;
	struct series *series = &curves->series[curves->count];
	series->name = dfg_arena_print(&curves->arena, "%s%s", prefix, name);
	series->run = curves->run;
	curves->count += series->name != NULL;
	return series->name ? series : NULL;
}

static struct dfg_err *add_point(struct curves *curves, const char *prefix, const struct dfg_json *value)
{
	if (value->kind != DFG_JSON_NUMBER)
		return NULL;
	struct series *series = find_series(curves, prefix, value->key);
	if (!series || !dfg_reserve(&series->x, &series->x_capacity, series->count + 1, sizeof *series->x) ||
		!dfg_reserve(&series->y, &series->y_capacity, series->count + 1, sizeof *series->y))
		return dfg_no_memory("the metrics");
	series->x[series->count] = curves->step;
	series->y[series->count++] = value->number;
	return NULL;
}

static struct dfg_err *add_line(struct curves *curves, const struct dfg_json *line)
{
	const struct dfg_json *step = dfg_json_get(line, "step"), *eval = dfg_json_get(line, "eval");
	if (step && step->kind == DFG_JSON_NUMBER)
		curves->step = step->number;
	for (const struct dfg_json *value = eval ? eval->first : NULL; value; value = value->next)
		DFG_TRY(add_point(curves, "eval ", value));
	for (const struct dfg_json *value = line->first; value; value = value->next)
		if (strcmp(value->key, "step") && strcmp(value->key, "epoch") && strcmp(value->key, "seconds"))
			DFG_TRY(add_point(curves, "", value));
	return NULL;
}

/* An incomplete last line belongs to a run in progress. */
static struct dfg_err *read_lines(const struct dfg_blob *blob, struct curves *curves)
{
	const char *at = (const char *)blob->bytes, *end = at + blob->size;
	for (size_t number = 1; at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			return NULL;
		struct dfg_arena arena = {0};
		struct dfg_json *line;
		struct dfg_err *err = dfg_json_read(at, (size_t)(newline - at), &arena, &line);
		if (!err && line->kind != DFG_JSON_OBJECT)
			err = DFG_ERR(DFG_DATA, "is %s, not an object", dfg_json_kind_name(line->kind));
		if (!err)
			err = add_line(curves, line);
		dfg_arena_release(&arena);
		DFG_TRY(dfg_err_note(err, "line %zu", number));
		at = newline + 1;
	}
	return NULL;
}

struct range {
	double least, most;
};

static struct range range_of(const double *value, size_t count)
{
	struct range range = {INFINITY, -INFINITY};
	for (size_t i = 0; i < count; i++)
		if (isfinite(value[i])) {
			range.least = value[i] < range.least ? value[i] : range.least;
			range.most = value[i] > range.most ? value[i] : range.most;
		}
	return range;
}

enum { COLUMNS = 72, ROWS = 10 }; /* size in braille characters, each of 2 by 4 dots */

/* Bits of the braille dots, by column and row within a character. */
static const unsigned char dot[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

/* Draws the mean of the values of each dot column, so that many steps give a line and not a band. */
static void draw(const struct series *series, struct range steps, struct range range, unsigned char sign[ROWS][COLUMNS])
{
	double first = steps.least, span = steps.most - first, height = range.most - range.least;
	for (size_t i = 0; i < series->count;) {
		int column = span > 0 ? (int)((series->x[i] - first) / span * (2 * COLUMNS - 1)) : 0, here = column;
		double sum = 0;
		size_t n = 0;
		for (; i < series->count && here == column; i++) {
			sum += isfinite(series->y[i]) ? series->y[i] : 0;
			n += isfinite(series->y[i]);
			if (i + 1 < series->count)
				here = span > 0 ? (int)((series->x[i + 1] - first) / span * (2 * COLUMNS - 1)) : 0;
		}
		if (!n || column < 0 || column >= 2 * COLUMNS)
			continue;
		int row = height > 0 ? (int)((range.most - sum / (double)n) / height * (4 * ROWS - 1) + 0.5) : 2 * ROWS;
		sign[row / 4][column / 2] |= dot[column % 2][row % 4];
	}
}

static void print_summary(const char *name, const struct series *series, struct dfg_text *out)
{
	struct range range = range_of(series->y, series->count);
	dfg_text_escape(out, name, strlen(name), SIZE_MAX);
	dfg_text_add(out, ": %.6g -> %.6g over steps %.0f to %.0f, least %.6g, most %.6g\n", series->y[0],
		series->y[series->count - 1], series->x[0], series->x[series->count - 1], range.least, range.most);
}

static void print_dots(unsigned char sign[ROWS][COLUMNS], struct range range, struct dfg_text *out)
{
	for (int row = 0; row < ROWS; row++) {
		double value = range.most - (range.most - range.least) * row / (ROWS - 1);
		dfg_text_add(out, "%10.4g ", value);
		for (int column = 0; column < COLUMNS; column++) /* U+2800 and the dots, in UTF-8 */
			dfg_text_add(out, "\xe2%c%c", 0xa0 | sign[row][column] >> 6, 0x80 | (sign[row][column] & 0x3f));
		dfg_text_put(out, "\n", 1);
	}
}

/* The curves of one value, one for each run, in one system of coordinates. */
struct family {
	const struct series **series;
	size_t count;
	struct range steps, range;
};

static struct range joined(struct range a, struct range b)
{
	return (struct range){a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most};
}

/* Gathers the runs that have this series' value, of which it is the first. *out_family->series is in the arena. */
static struct dfg_err *gather(struct curves *curves, size_t first, struct family *out_family)
{
	*out_family = (struct family){.series = dfg_arena_zeros(&curves->arena, curves->count, sizeof *out_family->series),
		.steps = {INFINITY, -INFINITY},
		.range = {INFINITY, -INFINITY}};
	if (!out_family->series)
		return dfg_no_memory("the metrics");
	for (size_t i = first; i < curves->count; i++) {
		const struct series *series = &curves->series[i];
		if (strcmp(series->name, curves->series[first].name))
			continue;
		out_family->series[out_family->count++] = series;
		out_family->steps = joined(out_family->steps, range_of(series->x, series->count));
		out_family->range = joined(out_family->range, range_of(series->y, series->count));
	}
	return NULL;
}

static bool is_first_of_name(const struct curves *curves, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(curves->series[i].name, curves->series[at].name))
			return false;
	return true;
}

/* The mean and the sample standard deviation of the last values. */
static void print_spread(const struct family *family, struct dfg_text *out)
{
	double sum = 0, squares = 0, n = (double)family->count;
	for (size_t i = 0; i < family->count; i++)
		sum += family->series[i]->y[family->series[i]->count - 1];
	for (size_t i = 0; i < family->count; i++)
		squares += pow(family->series[i]->y[family->series[i]->count - 1] - sum / n, 2);
	dfg_text_escape(out, family->series[0]->name, strlen(family->series[0]->name), SIZE_MAX);
	dfg_text_add(out, " of %zu run%s: last values have mean %.6g, deviation %.6g\n", family->count,
		dfg_plural(family->count), sum / n, sqrt(squares / (n - 1)));
}

static void print_family(const struct family *family, struct dfg_text *out)
{
	unsigned char sign[ROWS][COLUMNS] = {0};
	const bool several = family->series[0]->run;
	bool any = false;
	if (several)
		print_spread(family, out);
	for (size_t i = 0; i < family->count; i++) {
		const struct series *series = family->series[i];
		print_summary(several ? series->run : series->name, series, out);
		any |= series->count > 1;
		if (series->count > 1 && family->range.most >= family->range.least)
			draw(series, family->steps, family->range, sign);
	}
	if (any && family->range.most >= family->range.least)
		print_dots(sign, family->range, out);
}

enum { WIDTH = 800, HEIGHT = 260, LEFT = 70, RIGHT = 10, TOP = 30, BOTTOM = 25 };

/* Control characters, which XML cannot hold at all, are escaped first. */
static void print_svg_text(const char *text, struct dfg_text *out)
{
	struct dfg_text plain = {0};
	dfg_text_printable(&plain, text, strlen(text), "");
	for (const char *s = plain.s; s && *s; s++)
		if (*s == '<' || *s == '&')
			dfg_text_add(out, "%s", *s == '<' ? "&lt;" : "&amp;");
		else
			dfg_text_put(out, s, 1);
	out->short_of_memory |= plain.short_of_memory;
	dfg_text_release(&plain);
}

static const char *const colours[] = {
	"#2563a8", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0e7490", "#a16207", "#475569"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

static void print_svg_curve(const struct family *family, size_t number, int top, struct dfg_text *out)
{
	const struct series *series = family->series[number];
	double first = family->steps.least, span = family->steps.most - first;
	double least = family->range.least, height = family->range.most - least;
	const char *colour = colours[number % N_COLOURS];
	if (series->run) {
		dfg_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"%s\">", WIDTH - RIGHT,
			top + TOP + 14 * (int)number, colour);
		print_svg_text(series->run, out);
		dfg_text_add(out, "</text>\n");
	}
	dfg_text_add(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
	for (size_t i = 0; i < series->count; i++) {
		double x = span > 0 ? (series->x[i] - first) / span : 0, y = height > 0 ? (series->y[i] - least) / height : 0.5;
		if (isfinite(y))
			dfg_text_add(out, "%.1f,%.1f ", LEFT + x * (WIDTH - LEFT - RIGHT),
				top + HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM));
	}
	dfg_text_add(out, "\"/>\n");
}

static void print_svg_family(const struct family *family, int top, struct dfg_text *out)
{
	dfg_text_add(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT, top + TOP - 10);
	print_svg_text(family->series[0]->name, out);
	dfg_text_add(out, "</text>\n<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6, top + TOP + 4,
		family->range.most);
	dfg_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6, top + HEIGHT - BOTTOM,
		family->range.least);
	dfg_text_add(out, "<text x=\"%d\" y=\"%d\">%.0f</text>\n", LEFT, top + HEIGHT - 8, family->steps.least);
	dfg_text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f</text>\n", WIDTH - RIGHT, top + HEIGHT - 8,
		family->steps.most);
	for (size_t i = 0; i < family->count; i++)
		print_svg_curve(family, i, top, out);
}

static struct dfg_err *print_svg(struct curves *curves, struct dfg_text *out)
{
	struct family family;
	int panels = 0;
	for (size_t i = 0; i < curves->count; i++)
		panels += is_first_of_name(curves, i);
	dfg_text_add(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, panels * HEIGHT);
	panels = 0;
	for (size_t i = 0; i < curves->count; i++) {
		if (!is_first_of_name(curves, i))
			continue;
		DFG_TRY(gather(curves, i, &family));
		print_svg_family(&family, panels++ * HEIGHT, out);
	}
	dfg_text_add(out, "</svg>\n");
	return NULL;
}

static struct dfg_err *print_text(struct curves *curves, struct dfg_text *out)
{
	struct family family;
	for (size_t i = 0; i < curves->count; i++) {
		if (!is_first_of_name(curves, i))
			continue;
		DFG_TRY(gather(curves, i, &family));
		print_family(&family, out);
	}
	return NULL;
}

static void print_json(const struct curves *curves, struct dfg_text *out)
{
	struct dfg_json_out json = {.text = *out};
	dfg_json_open(&json, '{');
	for (size_t i = 0; i < curves->count; i++) {
		const struct series *series = &curves->series[i];
		struct range range = range_of(series->y, series->count);
		dfg_json_key(&json, series->name), dfg_json_open(&json, '{');
		dfg_json_key(&json, "points"), dfg_json_uint(&json, series->count);
		dfg_json_key(&json, "first"), dfg_json_f64(&json, series->y[0]);
		dfg_json_key(&json, "last"), dfg_json_f64(&json, series->y[series->count - 1]);
		dfg_json_key(&json, "min"), dfg_json_f64(&json, range.least);
		dfg_json_key(&json, "max"), dfg_json_f64(&json, range.most);
		dfg_json_close(&json, '}');
	}
	dfg_json_close(&json, '}');
	dfg_text_put(&json.text, "\n", 1);
	*out = json.text;
}

static struct dfg_err *print_all(struct curves *curves, bool svg, struct dfg_text *out)
{
	if (!curves->count)
		return DFG_ERR(DFG_DATA, "holds no numbers");
	if (!dfg_globals.json)
		return svg ? print_svg(curves, out) : print_text(curves, out);
	print_json(curves, out);
	return NULL;
}

static void release(struct curves *curves)
{
	for (size_t i = 0; i < curves->count; i++) {
		dfg_free(curves->series[i].x);
		dfg_free(curves->series[i].y);
	}
	dfg_free(curves->series);
	dfg_arena_release(&curves->arena);
}

struct dfg_err *dfg_show_metrics(const struct dfg_blob *blob, bool svg, struct dfg_text *out)
{
	struct curves curves = {0};
	struct dfg_err *err = read_lines(blob, &curves);
	if (!err)
		err = print_all(&curves, svg, out);
	release(&curves);
	return err;
}

struct dfg_err *dfg_show_runs(char **paths, bool svg, struct dfg_text *out)
{
	struct curves curves = {0};
	struct dfg_err *err = NULL;
	for (; *paths && !err; paths++) {
		struct dfg_blob blob;
		if ((err = dfg_blob_open(*paths, 0, &blob)))
			break;
		curves.run = *paths;
		curves.step = 0;
		err = dfg_err_note(read_lines(&blob, &curves), "%s", *paths);
		dfg_blob_close(&blob);
	}
	if (!err)
		err = print_all(&curves, svg, out);
	release(&curves);
	return err;
}
