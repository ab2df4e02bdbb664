/* Compiles a regular expression, in one pass: operators move and copy the code of their operands. */
#include "kernels/regex_private.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"

#include <string.h>

/* Inserts n instructions at position `at`; jumps do not cross it, except from the end of the code before it. */
static struct dfg_err *insert(struct dfg_regex_compiler *c, size_t at, size_t n)
{
	struct dfg_regex *r = c->regex;
	if (r->count + n > DFG_REGEX_CODE_MOST)
		return DFG_ERR(
			DFG_DATA, "regular expression: more than %d instructions at byte %zu", DFG_REGEX_CODE_MOST, c->at);
	if (!dfg_reserve(&r->code, &r->capacity[0], r->count + n, sizeof *r->code))
		return dfg_no_memory("a regular expression");
	memmove(r->code + at + n, r->code + at, (r->count - at) * sizeof *r->code);
	r->count += n;
	return NULL;
}

static struct dfg_err *emit(struct dfg_regex_compiler *c, enum dfg_regex_code code, int first, int second)
{
	DFG_TRY(insert(c, c->regex->count, 1));
	c->regex->code[c->regex->count - 1] = (struct dfg_regex_instruction){code, first, second};
	return NULL;
}

/* Emits the set that has been read. */
static struct dfg_err *emit_set(struct dfg_regex_compiler *c)
{
	struct dfg_regex *r = c->regex;
	dfg_regex_tidy(c, 0);
	if (r->ranges + c->ranges > DFG_REGEX_CODE_MOST)
		return DFG_ERR(
			DFG_DATA, "regular expression: more than %d instructions at byte %zu", DFG_REGEX_CODE_MOST, c->at);
	if (!dfg_reserve(&r->range, &r->capacity[1], r->ranges + c->ranges + 1, sizeof *r->range))
		return dfg_no_memory("a regular expression");
	if (c->ranges)
		memcpy(r->range + r->ranges, c->range, c->ranges * sizeof *c->range);
	DFG_TRY(emit(c, DFG_REGEX_SET, (int)r->ranges, (int)c->ranges));
	r->ranges += c->ranges;
	c->ranges = 0;
	return NULL;
}

static struct dfg_err *emit_character(struct dfg_regex_compiler *c, uint32_t code)
{
	DFG_TRY(dfg_regex_add_folded(c, code, code));
	return emit_set(c);
}

static struct dfg_err *read_alternatives(struct dfg_regex_compiler *c);

/* Flags after (?; *out_group: a group follows, rather than flags for what follows in the enclosing group. */
static struct dfg_err *read_flags(struct dfg_regex_compiler *c, bool *out_group)
{
	static const char letters[] = "imsU";
	unsigned flags = c->flags;
	bool clear = false, any = false;
	while (!dfg_regex_next_is(c, ":") && !dfg_regex_next_is(c, ")")) {
		uint32_t code;
		DFG_TRY(dfg_regex_character(c, &code));
		const char *letter = code && code < 0x80 ? strchr(letters, (int)code) : NULL;
		if (letter) {
			unsigned flag = 1u << (letter - letters);
			flags = clear ? flags & ~flag : flags | flag;
			any = true;
		} else if (code == '-' && !clear) {
			clear = true;
			any = false;
		} else {
			return dfg_regex_wrong(c, "unknown flag, expected one of i, m, s and U");
		}
	}
	if (clear && !any)
		return dfg_regex_wrong(c, "no flag follows -, expected one of i, m, s and U");
	*out_group = dfg_regex_take(c, ":");
	c->flags = flags;
	c->at += *out_group ? 0 : 1;
	return NULL;
}

static struct dfg_err *skip_name(struct dfg_regex_compiler *c)
{
	size_t begin = c->at;
	for (; !dfg_regex_next_is(c, ">"); c->at++) {
		char letter = dfg_regex_is_end(c) ? 0 : c->pattern[c->at];
		bool good =
			(letter >= '0' && letter <= '9') || ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z') || letter == '_';
		if (!good)
			return dfg_regex_wrong(c, "a group's name that does not end");
	}
	if (c->at++ == begin)
		return dfg_regex_wrong(c, "a group without a name");
	return NULL;
}

/* The part after "(": a capturing group, another group, or flags. */
static struct dfg_err *read_group(struct dfg_regex_compiler *c, bool *out_flags)
{
	unsigned flags = c->flags;
	bool captures = true, group = true;
	if (dfg_regex_take(c, "?P<") || dfg_regex_take(c, "?<")) {
		DFG_TRY(skip_name(c));
	} else if (dfg_regex_take(c, "?")) {
		captures = false;
		DFG_TRY(read_flags(c, &group));
	}
	*out_flags = !group;
	if (!group)
		return NULL;
	int number = captures ? ++c->regex->groups : 0;
	if (++c->depth > DFG_REGEX_DEPTH_MOST)
		return DFG_ERR(DFG_DATA, "regular expression: groups are nested more than %d deep at byte %zu",
			DFG_REGEX_DEPTH_MOST, c->at);
	if (captures)
		DFG_TRY(emit(c, DFG_REGEX_SAVE, 2 * number, 0));
	DFG_TRY(read_alternatives(c));
	if (!dfg_regex_take(c, ")"))
		return dfg_regex_wrong(c, "a group is not closed: add )");
	c->depth--;
	c->flags = flags;
	return captures ? emit(c, DFG_REGEX_SAVE, 2 * number + 1, 0) : NULL;
}

static struct dfg_err *read_backslash(struct dfg_regex_compiler *c)
{
	static const struct {
		const char *text;
		enum dfg_regex_code code;
	} edges[] = {{"\\A", DFG_REGEX_TEXT_BEGIN}, {"\\z", DFG_REGEX_TEXT_END}, {"\\b", DFG_REGEX_WORD_EDGE},
		{"\\B", DFG_REGEX_NO_WORD_EDGE}};
	bool is_class;
	uint32_t code;
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		if (dfg_regex_take(c, edges[i].text))
			return emit(c, edges[i].code, 0, 0);
	DFG_TRY(dfg_regex_class(c, false, &is_class));
	if (is_class)
		return emit_set(c);
	if (dfg_regex_next_is(c, "\\p") || dfg_regex_next_is(c, "\\P") || dfg_regex_next_is(c, "\\C"))
		return dfg_regex_wrong(c, "classes of Unicode and single bytes are not available");
	c->at++;
	DFG_TRY(dfg_regex_escape(c, &code));
	return emit_character(c, code);
}

static struct dfg_err *read_dot(struct dfg_regex_compiler *c)
{
	DFG_TRY(dfg_regex_add(c, 0, c->flags & DFG_REGEX_DOT_ALL ? DFG_REGEX_LAST : '\n' - 1));
	if (!(c->flags & DFG_REGEX_DOT_ALL))
		DFG_TRY(dfg_regex_add(c, '\n' + 1, DFG_REGEX_LAST));
	return emit_set(c);
}

/* An operand of a repetition. *out_flags: flags instead. */
static struct dfg_err *read_atom(struct dfg_regex_compiler *c, bool *out_flags)
{
	bool lines = c->flags & DFG_REGEX_MULTILINE;
	uint32_t code;
	*out_flags = false;
	if (dfg_regex_next_is(c, "\\"))
		return read_backslash(c);
	DFG_TRY(dfg_regex_character(c, &code));
	switch (code) {
	case '(':
		return read_group(c, out_flags);
	case '[':
		DFG_TRY(dfg_regex_brackets(c));
		return emit_set(c);
	case '.':
		return read_dot(c);
	case '^':
		return emit(c, lines ? DFG_REGEX_LINE_BEGIN : DFG_REGEX_TEXT_BEGIN, 0, 0);
	case '$':
		return emit(c, lines ? DFG_REGEX_LINE_END : DFG_REGEX_TEXT_END, 0, 0);
	case '*':
	case '+':
	case '?':
		return dfg_regex_wrong(c, "nothing precedes a repetition: write \\*, \\+ or \\? for the character");
	default:
		return emit_character(c, code);
	}
}

/* Inserts a choice before the code from `at` on: that code, or what follows it. */
static struct dfg_err *make_optional(struct dfg_regex_compiler *c, size_t at, bool greedy)
{
	DFG_TRY(insert(c, at, 1));
	int size = (int)(c->regex->count - at);
	c->regex->code[at] = (struct dfg_regex_instruction){DFG_REGEX_SPLIT, greedy ? 1 : size, greedy ? size : 1};
	return NULL;
}

/* Repeats the code from `at` on, once or more. */
static struct dfg_err *make_loop(struct dfg_regex_compiler *c, size_t at, bool greedy)
{
	int size = (int)(c->regex->count - at);
	return emit(c, DFG_REGEX_SPLIT, greedy ? -size : 1, greedy ? 1 : -size);
}

static struct dfg_err *append_copy(struct dfg_regex_compiler *c, size_t at, size_t size)
{
	DFG_TRY(insert(c, c->regex->count, size));
	memcpy(c->regex->code + c->regex->count - size, c->regex->code + at, size * sizeof *c->regex->code);
	return NULL;
}

/* x{least,most}: copies of x, the optional ones nested in each other; most -1: no limit. */
static struct dfg_err *repeat(struct dfg_regex_compiler *c, size_t at, int least, int most, bool greedy)
{
	size_t size = c->regex->count - at;
	if (!most) {
		c->regex->count = at;
		return NULL;
	}
	if (!least && most == 1)
		return make_optional(c, at, greedy);
	if (!least && most < 0) {
		DFG_TRY(make_loop(c, at, greedy));
		return make_optional(c, at, greedy);
	}
	for (int i = 1; i < least; i++)
		DFG_TRY(append_copy(c, at, size));
	if (most < 0)
		return make_loop(c, c->regex->count - size, greedy);
	int optional = most - (least ? least : 1);
	size_t first = c->regex->count;
	for (int i = 0; i < optional; i++)
		DFG_TRY(append_copy(c, at, size));
	for (int i = optional - 1; i >= 0; i--)
		DFG_TRY(make_optional(c, first + (size_t)i * size, greedy));
	return least ? NULL : make_optional(c, at, greedy);
}

static bool take_number(struct dfg_regex_compiler *c, int *out_number)
{
	size_t begin = c->at;
	*out_number = 0;
	for (; !dfg_regex_is_end(c) && c->pattern[c->at] >= '0' && c->pattern[c->at] <= '9'; c->at++)
		if (*out_number <= DFG_REGEX_REPEAT_MOST)
			*out_number = *out_number * 10 + (c->pattern[c->at] - '0');
	return c->at > begin;
}

/* {n}, {n,} or {n,m}; anything else after a brace is text. */
static bool take_braces(struct dfg_regex_compiler *c, int *least, int *most)
{
	size_t begin = c->at;
	bool good = dfg_regex_take(c, "{") && take_number(c, least);
	*most = *least;
	if (good && dfg_regex_take(c, ","))
		*most = -1;
	if (good && *most < 0 && !dfg_regex_next_is(c, "}"))
		good = take_number(c, most);
	good = good && dfg_regex_take(c, "}");
	if (!good)
		c->at = begin;
	return good;
}

static bool take_operator(struct dfg_regex_compiler *c, int *least, int *most)
{
	*least = dfg_regex_next_is(c, "+");
	*most = dfg_regex_next_is(c, "?") ? 1 : -1;
	return dfg_regex_take(c, "*") || dfg_regex_take(c, "+") || dfg_regex_take(c, "?") || take_braces(c, least, most);
}

/* The operator after the operand whose code begins at `begin`, if there is one. */
static struct dfg_err *read_operator(struct dfg_regex_compiler *c, size_t begin, bool is_operand)
{
	int least, most;
	if (!take_operator(c, &least, &most))
		return NULL;
	if (!is_operand)
		return dfg_regex_wrong(c, "nothing precedes a repetition: write \\*, \\+ or \\? for the character");
	if (least > DFG_REGEX_REPEAT_MOST || most > DFG_REGEX_REPEAT_MOST || (most >= 0 && most < least))
		return dfg_regex_wrong(c, "an invalid number of repetitions");
	bool greedy = !dfg_regex_take(c, "?") != !!(c->flags & DFG_REGEX_SWAP_GREED);
	DFG_TRY(repeat(c, begin, least, most, greedy));
	return take_operator(c, &least, &most) ? dfg_regex_wrong(c, "a repetition of a repetition") : NULL;
}

static struct dfg_err *read_repeated(struct dfg_regex_compiler *c)
{
	size_t begin = c->regex->count;
	bool flags;
	DFG_TRY(read_atom(c, &flags));
	return read_operator(c, begin, !flags);
}

/* Text between \Q and \E; an operator after it applies to its last character. */
static struct dfg_err *read_quoted(struct dfg_regex_compiler *c)
{
	size_t begin = c->regex->count, first = begin;
	while (!dfg_regex_is_end(c) && !dfg_regex_take(c, "\\E")) {
		uint32_t code;
		begin = c->regex->count;
		DFG_TRY(dfg_regex_character(c, &code));
		DFG_TRY(emit_character(c, code));
	}
	return read_operator(c, begin, c->regex->count > first);
}

static struct dfg_err *read_sequence(struct dfg_regex_compiler *c)
{
	while (!dfg_regex_is_end(c) && !dfg_regex_next_is(c, "|") && !dfg_regex_next_is(c, ")"))
		DFG_TRY(dfg_regex_take(c, "\\Q") ? read_quoted(c) : read_repeated(c));
	return NULL;
}

/* a|b|c: a choice before each alternative but the last, and a jump to the end after it. */
static struct dfg_err *read_alternatives(struct dfg_regex_compiler *c)
{
	int jump = -1; /* the last jump to the end; each holds the distance to the one before */
	for (;;) {
		size_t begin = c->regex->count;
		DFG_TRY(read_sequence(c));
		if (!dfg_regex_take(c, "|"))
			break;
		DFG_TRY(insert(c, begin, 1));
		DFG_TRY(emit(c, DFG_REGEX_JUMP, jump, 0));
		jump = (int)c->regex->count - 1;
		c->regex->code[begin] = (struct dfg_regex_instruction){DFG_REGEX_SPLIT, 1, jump + 1 - (int)begin};
	}
	while (jump >= 0) {
		int before = c->regex->code[jump].first;
		c->regex->code[jump].first = (int)c->regex->count - jump;
		jump = before;
	}
	return NULL;
}

static struct dfg_err *threads_new(size_t count, struct dfg_regex_threads **out_threads)
{
	struct dfg_regex_threads *threads = *out_threads = dfg_zeros(1, sizeof *threads);
	if (threads) {
		threads->place = dfg_zeros(count, sizeof *threads->place);
		threads->pc = dfg_zeros(count, sizeof *threads->pc);
		threads->slot = dfg_zeros(count, DFG_REGEX_SLOTS * sizeof *threads->slot);
	}
	return threads && threads->place && threads->pc && threads->slot ? NULL : dfg_no_memory("a regular expression");
}

static void threads_free(struct dfg_regex_threads *threads)
{
	if (!threads)
		return;
	dfg_free(threads->place);
	dfg_free(threads->pc);
	dfg_free(threads->slot);
	dfg_free(threads);
}

/* The stack holds at most two entries for each program counter, besides the first. */
static struct dfg_err *make_scratch(struct dfg_regex *regex)
{
	DFG_TRY(threads_new(regex->count, &regex->now));
	DFG_TRY(threads_new(regex->count, &regex->after));
	regex->stack = dfg_zeros(2 * regex->count + 2, sizeof *regex->stack);
	regex->slot = dfg_zeros(DFG_REGEX_SLOTS, sizeof *regex->slot);
	return regex->stack && regex->slot ? NULL : dfg_no_memory("a regular expression");
}

struct dfg_err *dfg_regex_init(const char *pattern, size_t length, struct dfg_regex *regex)
{
	struct dfg_regex_compiler c = {.regex = regex, .pattern = length ? pattern : "", .length = length};
	*regex = (struct dfg_regex){0};
	struct dfg_err *err = read_alternatives(&c);
	if (!err && !dfg_regex_is_end(&c))
		err = dfg_regex_wrong(&c, "a ) that closes no group: write \\) for the character");
	if (!err)
		err = emit(&c, DFG_REGEX_MATCH, 0, 0);
	dfg_free(c.range);
	return err ? err : make_scratch(regex);
}

void dfg_regex_release(struct dfg_regex *regex)
{
	dfg_free(regex->code);
	dfg_free(regex->range);
	dfg_free(regex->stack);
	dfg_free(regex->slot);
	threads_free(regex->now);
	threads_free(regex->after);
	*regex = (struct dfg_regex){0};
}
