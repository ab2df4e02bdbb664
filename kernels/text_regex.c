/* Regular expressions: RegexFullMatch, RegexReplace, and their forms with the expression as an attribute. */
#include "kernels/regex.h"
#include "kernels/shape_rules.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

#include <inttypes.h>
#include <string.h>

static struct dfg_err *elements_shape(struct dfg_infer *node)
{
	node->out[0] = *node->in[0];
	for (int i = 1; i < node->call->n_in; i++)
		DFG_TRY(dfg_need_rank(node, i, 0));
	return NULL;
}

/* Input i, a scalar. */
static struct dfg_err *scalar_of(struct dfg_kernel *ctx, int i, struct dfg_string *out_string)
{
	if (ctx->in[i]->shape.rank)
		return DFG_ERR(DFG_DATA, "input %d has shape %s, expected a scalar", i, dfg_shape_words(&ctx->in[i]->shape).s);
	*out_string = *(const struct dfg_string *)ctx->in[i]->data;
	return NULL;
}

static const struct dfg_string *string_at(struct dfg_kernel *ctx, int64_t i)
{
	return (const struct dfg_string *)ctx->in[0]->data + i;
}

static struct dfg_err *match_all(struct dfg_kernel *ctx, struct dfg_string pattern)
{
	struct dfg_regex regex;
	struct dfg_tensor *out = NULL;
	struct dfg_err *err = dfg_regex_init(pattern.s, pattern.length, &regex);
	if (!err)
		err = dfg_output_now(ctx, &out);
	for (int64_t i = 0; !err && i < dfg_shape_count(&out->shape); i++)
		((_Bool *)out->data)[i] = dfg_regex_is_whole(&regex, string_at(ctx, i)->s, string_at(ctx, i)->length);
	dfg_regex_release(&regex);
	return err;
}

static struct dfg_err *match_run(struct dfg_kernel *ctx)
{
	struct dfg_string pattern;
	DFG_TRY(scalar_of(ctx, 1, &pattern));
	return match_all(ctx, pattern);
}

static struct dfg_err *static_match_run(struct dfg_kernel *ctx)
{
	return match_all(ctx, dfg_kernel_attr(ctx)[0].s);
}

struct replacement {
	struct dfg_regex *regex;
	struct dfg_string rewrite;
	bool all;
	struct dfg_text text;
};

/* In the replacement, \0 is the match, \1 to \9 are groups, and \\ is a backslash. *out_group: the highest group. */
static struct dfg_err *check_rewrite(struct dfg_string rewrite, int *out_group)
{
	*out_group = 0;
	for (size_t i = 0; i < rewrite.length; i++) {
		if (rewrite.s[i] != '\\')
			continue;
		char next = ++i < rewrite.length ? rewrite.s[i] : 0;
		if (next != '\\' && (next < '0' || next > '9'))
			return DFG_ERR(
				DFG_DATA, "rewrite has a backslash at byte %zu, expected a digit or a backslash after it", i - 1);
		if (next != '\\' && next - '0' > *out_group)
			*out_group = next - '0';
	}
	return NULL;
}

static void put_rewrite(struct replacement *r, const char *s, const int64_t *slot)
{
	for (size_t i = 0; i < r->rewrite.length; i++) {
		const char *byte = r->rewrite.s + i;
		if (*byte != '\\' || *++byte == '\\') {
			dfg_text_put(&r->text, byte, 1);
		} else {
			const int64_t *group = slot + 2 * (*byte - '0');
			if (group[0] >= 0 && group[1] > group[0])
				dfg_text_put(&r->text, s + group[0], (size_t)(group[1] - group[0]));
		}
		i += r->rewrite.s[i] == '\\';
	}
}

static size_t character_at(struct dfg_string s, size_t at)
{
	uint32_t code;
	size_t size = dfg_utf8_get(s.s + at, s.length - at, &code);
	return size ? size : 1;
}

static void put_bytes(struct dfg_text *text, const char *s, size_t from, size_t end)
{
	if (end > from)
		dfg_text_put(text, s + from, end - from);
}

/* An empty match directly after a match does not count. */
static void replace_in(struct replacement *r, struct dfg_string s)
{
	int64_t slot[DFG_REGEX_SLOTS], last = -1;
	size_t at = 0;
	r->text.length = 0;
	while (at <= s.length && (r->all || last < 0) && dfg_regex_find(r->regex, s.s, s.length, at, slot)) {
		put_bytes(&r->text, s.s, at, (size_t)slot[0]);
		if (slot[0] == last && slot[1] == slot[0]) {
			size_t next = at < s.length ? at + character_at(s, at) : at + 1;
			put_bytes(&r->text, s.s, at, next < s.length ? next : s.length);
			at = next;
			continue;
		}
		put_rewrite(r, s.s, slot);
		last = slot[1];
		at = (size_t)slot[1];
	}
	if (at < s.length)
		put_bytes(&r->text, s.s, at, s.length);
}

/* As in RE2, nothing is replaced where the replacement refers to a group that the expression does not have. */
static struct dfg_err *replace_elements(struct dfg_kernel *ctx, struct replacement *r)
{
	struct dfg_tensor *out;
	int group;
	DFG_TRY(check_rewrite(r->rewrite, &group));
	if (group > r->regex->groups)
		return dfg_kernel_view(ctx, 0, 0, &ctx->in[0]->shape);
	DFG_TRY(dfg_output_now(ctx, &out));
	for (int64_t i = 0; i < dfg_shape_count(&out->shape); i++) {
		replace_in(r, *string_at(ctx, i));
		DFG_TRY(dfg_text_check(&r->text));
		DFG_TRY(dfg_kernel_string(ctx, 0, i, r->text.s, r->text.length));
	}
	return NULL;
}

static struct dfg_err *replace_all(
	struct dfg_kernel *ctx, struct dfg_string pattern, struct dfg_string rewrite, bool all)
{
	struct dfg_regex regex;
	struct replacement r = {.regex = &regex, .rewrite = rewrite, .all = all};
	struct dfg_err *err = dfg_regex_init(pattern.s, pattern.length, &regex);
	if (!err)
		err = replace_elements(ctx, &r);
	dfg_regex_release(&regex);
	dfg_text_release(&r.text);
	return err;
}

static struct dfg_err *replace_run(struct dfg_kernel *ctx)
{
	struct dfg_string pattern, rewrite;
	DFG_TRY(scalar_of(ctx, 1, &pattern));
	DFG_TRY(scalar_of(ctx, 2, &rewrite));
	return replace_all(ctx, pattern, rewrite, dfg_kernel_attr(ctx)[0].b);
}

static struct dfg_err *static_replace_run(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	return replace_all(ctx, attr[0].s, attr[1].s, attr[2].b);
}

#define REGEX(Op, signature, run_, text, ...)                \
	const struct dfg_op dfg_op_##Op = {                      \
		.name = #Op,                                         \
		.doc = text,                                         \
		.sig = signature,                                    \
		.attr = {__VA_ARGS__},                               \
		.flags = DFG_NO_GRADIENT | DFG_ANY_RANK | DFG_EXACT, \
		.shape = elements_shape,                             \
		.run = run_,                                         \
	};
REGEX(RegexFullMatch, "(input: string, pattern: string) -> (output: bool)", match_run,
	"whether a regular expression matches all of each string", NULL)
REGEX(StaticRegexFullMatch, "(input: string) -> (output: bool)", static_match_run,
	"whether a regular expression matches all of each string", "pattern: string")
REGEX(RegexReplace, "(input: string, pattern: string, rewrite: string) -> (output: string)", replace_run,
	"each string with the matches of a regular expression, or the first match, replaced", "replace_global: bool = true")
REGEX(StaticRegexReplace, "(input: string) -> (output: string)", static_replace_run,
	"each string with the matches of a regular expression, or the first match, replaced", "pattern: string",
	"rewrite: string", "replace_global: bool = true")
