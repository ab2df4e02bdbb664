#include "app/test_form.h"

#include "lib/base/map.h"

#include <float.h>
#include <string.h>

/* The members of a case, of its steps, of its error and of its grad. */
static const struct form {
	const char *of, *key;
	enum dfg_json_kind kind; /* elements of an array are strings, except in steps */
	bool needed;
} forms[] = {
	{"case", "what", DFG_JSON_STRING, false},
	{"case", "from", DFG_JSON_STRING, false},
	{"case", "tags", DFG_JSON_ARRAY, false},
	{"case", "load", DFG_JSON_STRING, false},
	{"case", "steps", DFG_JSON_ARRAY, true},
	{"case", "error", DFG_JSON_OBJECT, false},
	{"case", "grad", DFG_JSON_OBJECT, false},
	{"steps", "feeds", DFG_JSON_STRING, false},
	{"steps", "targets", DFG_JSON_ARRAY, false},
	{"steps", "fetch", DFG_JSON_ARRAY, false},
	{"steps", "expect", DFG_JSON_STRING, false},
	{"steps", "rtol", DFG_JSON_NUMBER, false},
	{"steps", "atol", DFG_JSON_NUMBER, false},
	{"error", "at", DFG_JSON_STRING, true},
	{"error", "mentions", DFG_JSON_ARRAY, false},
	{"grad", "of", DFG_JSON_STRING, true},
	{"grad", "wrt", DFG_JSON_ARRAY, true},
	{"grad", "expect", DFG_JSON_STRING, true},
	{"grad", "rtol", DFG_JSON_NUMBER, false},
	{"grad", "atol", DFG_JSON_NUMBER, false},
	{"grad", "order", DFG_JSON_NUMBER, false},
};
enum { FORMS = sizeof forms / sizeof *forms };

static struct dfg_err *check_object(const char *of, const struct dfg_json *json);

static struct dfg_err *unknown(const char *of, const char *key)
{
	struct dfg_nearest nearest = {.word = key};
	for (int i = 0; i < FORMS; i++)
		if (!strcmp(forms[i].of, of))
			dfg_nearest_offer(&nearest, forms[i].key);
	if (nearest.best)
		return DFG_ERR(DFG_DATA, "%s: unknown member '%.100s'; did you mean '%s'?", of, key, nearest.best);
	return DFG_ERR(DFG_DATA, "%s: unknown member '%.100s'", of, key);
}

static struct dfg_err *check_list(const char *key, const struct dfg_json *list)
{
	bool steps = !strcmp(key, "steps");
	for (const struct dfg_json *item = list->first; item; item = item->next) {
		if (steps)
			DFG_TRY(check_object(key, item));
		else if (item->kind != DFG_JSON_STRING)
			return DFG_ERR(
				DFG_DATA, "'%s' must be a list of strings, but contains %s", key, dfg_json_kind_name(item->kind));
	}
	return NULL;
}

static struct dfg_err *check_member(const char *of, const struct dfg_json *member)
{
	const struct form *form = NULL;
	for (int i = 0; i < FORMS && !form; i++)
		if (!strcmp(forms[i].of, of) && !strcmp(forms[i].key, member->key))
			form = &forms[i];
	if (!form)
		return unknown(of, member->key);
	if (member->kind != form->kind)
		return DFG_ERR(DFG_DATA, "%s: '%s' is %s, must be %s", of, form->key, dfg_json_kind_name(member->kind),
			dfg_json_kind_name(form->kind));
	if (form->kind == DFG_JSON_NUMBER && !(member->number >= 0 && member->number <= DBL_MAX))
		return DFG_ERR(DFG_DATA, "%s: '%s' is %g, must be at least 0", of, form->key, member->number);
	if (form->kind == DFG_JSON_OBJECT)
		return check_object(form->key, member);
	return form->kind == DFG_JSON_ARRAY ? check_list(form->key, member) : NULL;
}

static struct dfg_err *check_object(const char *of, const struct dfg_json *json)
{
	if (json->kind != DFG_JSON_OBJECT)
		return DFG_ERR(DFG_DATA, "%s: is %s, must be an object", of, dfg_json_kind_name(json->kind));
	for (const struct dfg_json *member = json->first; member; member = member->next)
		DFG_TRY(check_member(of, member));
	for (int i = 0; i < FORMS; i++)
		if (forms[i].needed && !strcmp(forms[i].of, of) && !dfg_json_get(json, forms[i].key))
			return DFG_ERR(DFG_DATA, "%s: '%s' is missing", of, forms[i].key);
	return NULL;
}

static bool lists(const struct dfg_json *step, const char *key)
{
	const struct dfg_json *list = dfg_json_get(step, key);
	return list && list->first;
}

/* A step with expected results names its fetches; a step without fetches has targets, or is expected to fail. */
static struct dfg_err *check_step(const struct dfg_json *step, bool fails)
{
	bool fetches = lists(step, "fetch"), expects = dfg_json_get(step, "expect");
	if (expects && !fetches)
		return DFG_ERR(DFG_DATA, "steps: a step has 'expect', but no 'fetch'");
	if (fetches && !expects && !fails)
		return DFG_ERR(DFG_DATA, "steps: a step has 'fetch', but no 'expect'");
	return fetches || lists(step, "targets") ? NULL
											 : DFG_ERR(DFG_DATA, "steps: a step has neither fetches nor targets");
}

static struct dfg_err *check_error(const struct dfg_json *error)
{
	const char *at = error ? dfg_json_get(error, "at")->string : "run";
	return !strcmp(at, "load") || !strcmp(at, "run")
			   ? NULL
			   : DFG_ERR(DFG_DATA, "error: 'at' is '%.40s', must be load or run", at);
}

/* The gradient is evaluated at the feeds of the last step. */
static struct dfg_err *check_grad(const struct dfg_json *grad, const struct dfg_json *steps)
{
	const struct dfg_json *order = dfg_json_get(grad, "order");
	if (!grad)
		return NULL;
	if (!lists(grad, "wrt"))
		return DFG_ERR(DFG_DATA, "grad: 'wrt' is empty");
	if (order && (!order->whole || order->integer < 1))
		return DFG_ERR(DFG_DATA, "grad: 'order' is %g, but must be an integer of at least 1", order->number);
	return steps->first ? NULL : DFG_ERR(DFG_DATA, "grad: requires a step before it");
}

struct dfg_err *dfg_test_form(const struct dfg_json *json)
{
	DFG_TRY(check_object("case", json));
	const struct dfg_json *steps = dfg_json_get(json, "steps"), *error = dfg_json_get(json, "error");
	DFG_TRY(check_error(error));
	DFG_TRY(check_grad(dfg_json_get(json, "grad"), steps));
	for (const struct dfg_json *step = steps->first; step; step = step->next)
		DFG_TRY(check_step(step, error));
	return steps->first || error ? NULL : DFG_ERR(DFG_DATA, "case: 'steps' is empty, expected at least one step");
}
