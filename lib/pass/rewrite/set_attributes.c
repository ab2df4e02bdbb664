/* set_attributes. Requires: nothing. Result: attributes that a user named. O(entries * nodes). */
#define _GNU_SOURCE
#include "lib/pass/rewrite/surgery.h"

#include "lib/base/map.h"
#include "lib/base/plural.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* "PATTERN:ATTRIBUTE=VALUE" */
struct setting {
	const char *word, *pattern, *name, *value; /* value "": the attribute is removed */
};

/* The kind of an attribute of a node: declared, or that of the attribute that it has. */
struct form {
	enum dfg_attr_kind kind;
	bool is_list;
};

static struct dfg_err *read_setting(const char *word, struct dfg_arena *arena, struct setting *out_setting)
{
	const char *equals = strchr(word, '='), *colon = equals ? memrchr(word, ':', (size_t)(equals - word)) : NULL;
	if (!colon || colon == word || colon + 1 == equals)
		return DFG_ERR(DFG_USAGE, "--set must be PATTERN:ATTRIBUTE=VALUE, not '%s'", word);
	*out_setting = (struct setting){
		.word = word,
		.pattern = dfg_arena_copy(arena, word, (size_t)(colon - word)),
		.name = dfg_arena_copy(arena, colon + 1, (size_t)(equals - colon - 1)),
		.value = equals + 1,
	};
	return out_setting->pattern && out_setting->name ? NULL : dfg_no_memory("the attributes");
}

static bool find_declared(const struct dfg_signature *signature, const char *name, struct form *out_form)
{
	for (int i = 0; i < signature->n_param; i++)
		if (!strcmp(signature->param[i].name, name)) {
			const bool is_count = !signature->param[i].types;
			*out_form = (struct form){is_count ? DFG_ATTR_INT : DFG_ATTR_DTYPE, signature->param[i].is_list};
			return true;
		}
	const int i = dfg_op_attr(signature, name);
	if (i >= 0)
		*out_form = (struct form){signature->attr[i].kind, signature->attr[i].is_list};
	return i >= 0;
}

static struct dfg_err *find_form(const struct dfg_node *node, const char *name, struct form *out_form)
{
	const struct dfg_attr *has = dfg_node_attr(node, name);
	const struct dfg_signature *signature;
	*out_form = (struct form){DFG_ATTR_STRING, false};
	if (node->op) {
		DFG_TRY(dfg_op_signature(node->op, &signature));
		if (find_declared(signature, name, out_form))
			return NULL;
	}
	if (has)
		*out_form =
			has->kind == DFG_ATTR_LIST ? (struct form){has->value.list->kind, true} : (struct form){has->kind, false};
	else if (node->op && *name != '_')
		return DFG_ERR(DFG_DATA, "node '%s' (%s) has no attribute '%s'", node->name, node->op_name, name);
	return NULL;
}

static bool read_int(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return *text && !*end && !errno;
}

/* "[2,?]", or "?" for an unknown rank. */
static bool read_shape(const char *text, struct dfg_arena *arena, const struct dfg_shape **out_shape)
{
	struct dfg_shape *shape = dfg_arena_zeros(arena, 1, sizeof *shape);
	*out_shape = shape;
	if (!shape)
		return false;
	if (!strcmp(text, "?")) {
		shape->rank = -1;
		return true;
	}
	if (*text++ != '[')
		return false;
	while (*text != ']') {
		char *end;
		if (shape->rank == DFG_RANK_MAX)
			return false;
		const bool is_unknown = *text == '?';
		const long long dim = is_unknown ? -1 : strtoll(text, &end, 10);
		if (!is_unknown && (end == text || dim < 0))
			return false;
		text = is_unknown ? text + 1 : end;
		shape->dim[shape->rank++] = dim;
		if (*text == ',')
			text++;
		else if (*text != ']')
			return false;
	}
	return !text[1];
}

static bool read_value(enum dfg_attr_kind kind, const char *text, struct dfg_arena *arena, union dfg_value *out_value)
{
	char *end;
	*out_value = (union dfg_value){.i = 0};
	switch (kind) {
	case DFG_ATTR_BOOL:
		out_value->b = !strcmp(text, "true");
		return out_value->b || !strcmp(text, "false");
	case DFG_ATTR_INT:
		return read_int(text, &out_value->i);
	case DFG_ATTR_FLOAT:
		out_value->f = strtod(text, &end);
		return *text && !*end;
	case DFG_ATTR_DTYPE:
		out_value->dtype = dfg_dtype_find(text, strlen(text));
		return out_value->dtype;
	case DFG_ATTR_SHAPE:
		return read_shape(text, arena, &out_value->shape);
	case DFG_ATTR_STRING:
		out_value->s = (struct dfg_string){text, strlen(text)};
		return true;
	default:
		return false;
	}
}

/* "[1,2]", whose items have no commas. */
static bool read_list(enum dfg_attr_kind kind, const char *text, struct dfg_arena *arena, union dfg_value *out_value)
{
	const size_t length = strlen(text);
	struct dfg_list *list = dfg_arena_zeros(arena, 1, sizeof *list);
	union dfg_value *item = dfg_arena_zeros(arena, length, sizeof *item);
	if (length < 2 || *text != '[' || text[length - 1] != ']' || !list || !item || kind == DFG_ATTR_SHAPE)
		return false;
	char *copy = dfg_arena_copy(arena, text + 1, length - 2);
	list->item = item;
	for (char *at = copy, *next; copy && at; at = next) {
		if (!*copy)
			break;
		next = strchr(at, ',');
		if (next)
			*next++ = 0;
		if (!read_value(kind, at, arena, &item[list->count++]))
			return false;
	}
	list->kind = list->count ? kind : DFG_ATTR_NONE;
	out_value->list = list;
	return copy;
}

static struct dfg_err *remove_attribute(struct dfg_graph *graph, struct dfg_node *node, const char *name)
{
	struct dfg_attr *attr = dfg_arena_zeros(graph->arena, (size_t)node->n_attr + 1, sizeof *attr);
	uint32_t count = 0;
	if (!attr)
		return dfg_no_memory("the attributes");
	for (uint32_t i = 0; i < node->n_attr; i++)
		if (strcmp(node->attr[i].name, name) != 0)
			attr[count++] = node->attr[i];
	node->attr = attr;
	node->n_attr = count;
	return NULL;
}

static struct dfg_err *set_attribute(struct dfg_graph *graph, uint32_t n, const struct setting *setting)
{
	struct dfg_node *node = &graph->node[n];
	struct form form;
	union dfg_value value;
	DFG_TRY(find_form(node, setting->name, &form));
	if (!*setting->value)
		return remove_attribute(graph, node, setting->name);
	const bool is_read = form.is_list ? read_list(form.kind, setting->value, graph->arena, &value)
									  : read_value(form.kind, setting->value, graph->arena, &value);
	if (!is_read)
		return DFG_ERR(DFG_DATA, "node '%s' (%s): '%s' is not a value of attribute '%s'", node->name, node->op_name,
			setting->value, setting->name);
	return dfg_node_set_attr(graph, n, setting->name, form.is_list ? DFG_ATTR_LIST : form.kind, value);
}

struct dfg_err *dfg_set_attributes(
	struct dfg_graph *graph, const char *const *word, size_t count, struct dfg_text *report)
{
	for (size_t i = 0; i < count; i++) {
		struct setting setting;
		uint32_t changed = 0;
		DFG_TRY(read_setting(word[i], graph->arena, &setting));
		for (uint32_t n = 0; n < graph->count; n++) {
			if (fnmatch(setting.pattern, graph->node[n].name, 0))
				continue;
			DFG_TRY(dfg_err_note(set_attribute(graph, n, &setting), "--set %s", word[i]));
			changed++;
		}
		if (!changed)
			return DFG_ERR(DFG_DATA, "--set %s: no node has such a name", word[i]);
		dfg_text_add(report, "set: changed '%s' of %u node%s\n", setting.name, changed, dfg_plural(changed));
	}
	return NULL;
}
