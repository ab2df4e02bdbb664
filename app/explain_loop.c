#include "app/explain_loop.h"

#include "lib/base/plural.h"

#include <inttypes.h>
#include <string.h>

static void add_bytes(struct dfg_text *text, int64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	double size = (double)bytes / 1000;
	int unit = 0;
	if (bytes < 0)
		return;
	if (bytes < 10000) {
		dfg_text_add(text, " (%" PRId64 " byte%s)", bytes, dfg_plural((uint64_t)bytes));
		return;
	}
	for (; size >= 1000 && unit < 3; unit++)
		size /= 1000;
	dfg_text_add(text, size < 100 ? " (%.1f %s)" : " (%.0f %s)", size, units[unit]);
}

/* "read", "+=", "=", ... */
static const char *kind_of(const struct dfg_array_access *access)
{
	if (access->is_rule)
		return "by a rule";
	if (!access->writes)
		return "read";
	if (access->reads)
		return "read =";
	switch (access->combines) {
	case DFG_MEANS_SUM:
		return "+=";
	case DFG_MEANS_PRODUCT:
		return "*=";
	case DFG_MEANS_QUOTIENT:
		return "/=";
	case DFG_MEANS_MAXIMUM:
		return "max=";
	case DFG_MEANS_MINIMUM:
		return "min=";
	default:
		return "=";
	}
}

/* Whether no earlier access has the same words; of_kind: the same words and kind. */
static bool is_first(const struct dfg_loop_dependences *loop, uint32_t access, bool of_kind)
{
	const struct dfg_array_access *x = &loop->access[access];
	for (uint32_t i = 0; i < access; i++)
		if (loop->access[i].array == x->array && !strcmp(loop->access[i].words, x->words) &&
			(!of_kind || !strcmp(kind_of(&loop->access[i]), kind_of(x))))
			return false;
	return true;
}

static void add_accesses(const struct dfg_loop_dependences *loop, uint32_t array, struct dfg_text *text)
{
	const char *comma = "";
	for (uint32_t i = 0; i < loop->n_access; i++) {
		const struct dfg_array_access *x = &loop->access[i];
		if (x->array != array || !is_first(loop, i, false))
			continue;
		dfg_text_add(text, "%s%s", comma, x->words);
		for (uint32_t k = i; k < loop->n_access; k++)
			if (loop->access[k].array == array && !strcmp(loop->access[k].words, x->words) && is_first(loop, k, true))
				dfg_text_add(text, " %s", kind_of(&loop->access[k]));
		comma = ", ";
	}
}

static void add_vectors(const struct dfg_loop_dependences *loop, uint32_t array, struct dfg_text *text)
{
	struct dfg_arena scratch = {0};
	const char *comma = " ";
	for (uint32_t i = 0; i < loop->n_vector; i++) {
		if (loop->vector[i].array != array)
			continue;
		const char *words = dfg_vector_words(&scratch, loop->vector[i].distance, loop->n_coordinate);
		dfg_text_add(text, "%s%s", comma, words ? words : "");
		text->short_of_memory |= !words;
		comma = ", ";
	}
	dfg_arena_release(&scratch);
}

static void add_array(const struct dfg_loop_dependences *loop, uint32_t array, struct dfg_text *text)
{
	const struct dfg_loop_array *item = &loop->array[array];
	add_accesses(loop, array, text);
	add_vectors(loop, array, text);
	if (item->is_accumulator && !item->is_buffered)
		dfg_text_add(text, " accumulator");
	if (item->is_buffered)
		dfg_text_add(text, " buffered, staleness %" PRId64, item->staleness);
}

static const char *home_words(enum dfg_array_home home)
{
	static const char *const words[] = {[DFG_HOME_SERVED] = "is served",
		[DFG_HOME_LOCAL] = "lies with its iterations",
		[DFG_HOME_STAYS] = "stays",
		[DFG_HOME_ROTATES] = "rotates",
		[DFG_HOME_COPIED] = "is copied",
		[DFG_HOME_SUMMED] = "is summed"};
	return words[home];
}

static void add_homes(const struct dfg_loop_dependences *loop, enum dfg_array_home home, struct dfg_text *text)
{
	for (uint32_t i = 0; i < loop->n_array; i++) {
		if (loop->array[i].home != home)
			continue;
		dfg_text_add(text, ", %s %s", loop->array[i].name, home_words(home));
		if (home == DFG_HOME_STAYS || home == DFG_HOME_ROTATES)
			add_bytes(text, loop->array[i].bytes);
	}
}

/* "tiles of i, i + j" */
static void add_skew(const struct dfg_loop_dependences *loop, struct dfg_text *text)
{
	for (uint32_t r = 0; r < loop->n_counter; r++) {
		const char *plus = r ? ", " : " ";
		for (uint32_t i = 0; i <= r; i++) {
			int64_t factor = loop->skew[r * loop->n_counter + i];
			if (!factor)
				continue;
			dfg_text_add(text, "%s", plus);
			if (factor != 1)
				dfg_text_add(text, "%" PRId64 " ", factor);
			dfg_text_add(text, "%s", loop->coordinate[i].name);
			plus = " + ";
		}
	}
}

static void add_plan(const struct dfg_loop_dependences *loop, struct dfg_text *text)
{
	dfg_text_add(text, "  %s:", dfg_family_name(loop->family));
	switch (loop->family) {
	case DFG_FAMILY_1D:
	case DFG_FAMILY_2D:
		dfg_text_add(text, " space %s", loop->coordinate[loop->space].name);
		add_homes(loop, DFG_HOME_STAYS, text);
		if (loop->family == DFG_FAMILY_1D)
			break;
		dfg_text_add(text, "; time %s", loop->coordinate[loop->time].name);
		add_homes(loop, DFG_HOME_ROTATES, text);
		break;
	case DFG_FAMILY_WAVEFRONT:
		dfg_text_add(text, " tiles of");
		add_skew(loop, text);
		break;
	case DFG_FAMILY_SERIAL:
		dfg_text_add(text, " %s", loop->reason);
		return;
	default:
		dfg_text_add(text, " iterations are independent");
	}
	add_homes(loop, DFG_HOME_LOCAL, text);
	add_homes(loop, DFG_HOME_SERVED, text);
	add_homes(loop, DFG_HOME_COPIED, text);
	add_homes(loop, DFG_HOME_SUMMED, text);
}

void dfg_explain_loop_text(const struct dfg_loop_dependences *loop, bool with_order, struct dfg_text *text)
{
	const char *order = loop->is_ordered ? ", ordered" : with_order ? ", unordered" : "";
	dfg_text_add(
		text, "loop '%.*s'%s%c coordinates", (int)loop->name.length, loop->name.s, order, with_order ? ';' : ':');
	for (uint32_t i = 0; i < loop->n_coordinate; i++)
		dfg_text_add(text, "%s %s", i ? "," : "", loop->coordinate[i].name);
	dfg_text_add(text, "\n ");
	for (uint32_t i = 0; i < loop->n_array; i++) {
		dfg_text_add(text, "%s ", i ? ";" : "");
		add_array(loop, i, text);
	}
	dfg_text_add(text, loop->n_array ? "\n" : " no variables\n");
	add_plan(loop, text);
	dfg_text_add(text, "\n");
}

static void put_accesses(
	const struct dfg_graph *graph, const struct dfg_loop_dependences *loop, uint32_t array, struct dfg_json_out *json)
{
	dfg_json_key(json, "accesses"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < loop->n_access; i++) {
		if (loop->access[i].array != array)
			continue;
		dfg_json_open(json, '{');
		dfg_json_key(json, "node"), dfg_json_string(json, graph->node[loop->access[i].node].name);
		dfg_json_key(json, "kind"), dfg_json_string(json, kind_of(&loop->access[i]));
		dfg_json_key(json, "rows"), dfg_json_string(json, loop->access[i].words);
		dfg_json_close(json, '}');
	}
	dfg_json_close(json, ']');
}

static void put_vectors(const struct dfg_loop_dependences *loop, uint32_t array, struct dfg_json_out *json)
{
	dfg_json_key(json, "vectors"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < loop->n_vector; i++) {
		if (loop->vector[i].array != array)
			continue;
		dfg_json_open(json, '[');
		for (uint32_t k = 0; k < loop->n_coordinate; k++) {
			const struct dfg_distance *d = &loop->vector[i].distance[k];
			if (d->kind == DFG_DISTANCE_NUMBER)
				dfg_json_int(json, d->number);
			else
				dfg_json_string(json, d->kind == DFG_DISTANCE_ANY ? "any" : ">0");
		}
		dfg_json_close(json, ']');
	}
	dfg_json_close(json, ']');
}

static void put_array(
	const struct dfg_graph *graph, const struct dfg_loop_dependences *loop, uint32_t array, struct dfg_json_out *json)
{
	const struct dfg_loop_array *item = &loop->array[array];
	dfg_json_open(json, '{');
	dfg_json_key(json, "variable"), dfg_json_string(json, item->name);
	if (item->bytes >= 0)
		dfg_json_key(json, "bytes"), dfg_json_int(json, item->bytes);
	if (item->is_accumulator)
		dfg_json_key(json, "accumulator"), dfg_json_bool(json, true);
	if (item->is_buffered)
		dfg_json_key(json, "staleness"), dfg_json_int(json, item->staleness);
	put_accesses(graph, loop, array, json);
	put_vectors(loop, array, json);
	dfg_json_key(json, "home"), dfg_json_string(json, home_words(item->home));
	dfg_json_close(json, '}');
}

static void put_skew(const struct dfg_loop_dependences *loop, struct dfg_json_out *json)
{
	dfg_json_key(json, "skew"), dfg_json_open(json, '[');
	for (uint32_t r = 0; r < loop->n_counter; r++) {
		dfg_json_open(json, '[');
		for (uint32_t i = 0; i < loop->n_counter; i++)
			dfg_json_int(json, loop->skew[r * loop->n_counter + i]);
		dfg_json_close(json, ']');
	}
	dfg_json_close(json, ']');
}

void dfg_explain_loop_json(
	const struct dfg_graph *graph, const struct dfg_loop_dependences *loop, struct dfg_json_out *json)
{
	const char *name = dfg_arena_copy(graph->arena, loop->name.s, loop->name.length);
	dfg_json_open(json, '{');
	dfg_json_key(json, "loop"), dfg_json_string(json, name ? name : "");
	dfg_json_key(json, "ordered"), dfg_json_bool(json, loop->is_ordered);
	dfg_json_key(json, "coordinates"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < loop->n_coordinate; i++)
		dfg_json_string(json, loop->coordinate[i].name);
	dfg_json_close(json, ']');
	dfg_json_key(json, "arrays"), dfg_json_open(json, '[');
	for (uint32_t i = 0; i < loop->n_array; i++)
		put_array(graph, loop, i, json);
	dfg_json_close(json, ']');
	dfg_json_key(json, "family"), dfg_json_string(json, dfg_family_name(loop->family));
	if (loop->family == DFG_FAMILY_1D || loop->family == DFG_FAMILY_2D)
		dfg_json_key(json, "space"), dfg_json_string(json, loop->coordinate[loop->space].name);
	if (loop->family == DFG_FAMILY_2D)
		dfg_json_key(json, "time"), dfg_json_string(json, loop->coordinate[loop->time].name);
	if (loop->skew)
		put_skew(loop, json);
	if (loop->reason)
		dfg_json_key(json, "reason"), dfg_json_string(json, loop->reason);
	dfg_json_close(json, '}');
}
