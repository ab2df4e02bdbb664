/* The machine that runs a compiled regular expression. */
#include "kernels/regex_private.h"
#include "lib/base/utf8.h"

#include <string.h>

struct search {
	struct dfg_regex *regex;
	const char *text;
	size_t length;
	bool whole; /* a match must end with the text */
};

static bool is_word(const struct search *s, size_t at)
{
	unsigned char c = at < s->length ? (unsigned char)s->text[at] : ' ';
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool holds(const struct search *s, enum dfg_regex_code code, size_t at)
{
	bool edge = is_word(s, at) != (at && is_word(s, at - 1));
	switch (code) {
	case DFG_REGEX_TEXT_BEGIN:
		return at == 0;
	case DFG_REGEX_TEXT_END:
		return at == s->length;
	case DFG_REGEX_LINE_BEGIN:
		return at == 0 || s->text[at - 1] == '\n';
	case DFG_REGEX_LINE_END:
		return at == s->length || s->text[at] == '\n';
	case DFG_REGEX_WORD_EDGE:
		return edge;
	default:
		return !edge;
	}
}

static bool has(const struct dfg_regex_threads *threads, uint32_t pc)
{
	uint32_t place = threads->place[pc];
	return place < threads->count && threads->pc[place] == pc;
}

static void push_entry(struct dfg_regex_entry *stack, size_t *depth, int64_t pc, int64_t value)
{
	stack[(*depth)++] = (struct dfg_regex_entry){pc, value};
}

/* Follows one instruction that reads no character; each pc is entered once a position, so the stack is bounded. */
static void follow(const struct search *s, struct dfg_regex_entry *stack, size_t *depth, uint32_t pc, size_t at)
{
	const struct dfg_regex_instruction *i = &s->regex->code[pc];
	int64_t *slot = s->regex->slot;
	switch (i->code) {
	case DFG_REGEX_SET:
	case DFG_REGEX_MATCH:
		return;
	case DFG_REGEX_JUMP:
		push_entry(stack, depth, (int64_t)pc + i->first, 0);
		return;
	case DFG_REGEX_SPLIT:
		push_entry(stack, depth, (int64_t)pc + i->second, 0);
		push_entry(stack, depth, (int64_t)pc + i->first, 0);
		return;
	case DFG_REGEX_SAVE:
		if (i->first < DFG_REGEX_SLOTS) {
			push_entry(stack, depth, -1 - i->first, slot[i->first]);
			slot[i->first] = (int64_t)at;
		}
		push_entry(stack, depth, (int64_t)pc + 1, 0);
		return;
	default:
		if (holds(s, i->code, at))
			push_entry(stack, depth, (int64_t)pc + 1, 0);
	}
}

/* Adds the thread at pc, with the slots in regex->slot, and all that it reaches without reading a character. */
static void add_thread(const struct search *s, struct dfg_regex_threads *threads, uint32_t first, size_t at)
{
	struct dfg_regex_entry *stack = s->regex->stack;
	size_t depth = 0;
	push_entry(stack, &depth, first, 0);
	while (depth) {
		struct dfg_regex_entry entry = stack[--depth];
		if (entry.pc < 0) {
			s->regex->slot[-1 - entry.pc] = entry.value;
			continue;
		}
		uint32_t pc = (uint32_t)entry.pc;
		if (has(threads, pc))
			continue;
		threads->place[pc] = (uint32_t)threads->count;
		threads->pc[threads->count] = pc;
		memcpy(threads->slot + threads->count++ * DFG_REGEX_SLOTS, s->regex->slot, DFG_REGEX_SLOTS * sizeof(int64_t));
		follow(s, stack, &depth, pc, at);
	}
}

static bool contains(const struct dfg_regex *regex, const struct dfg_regex_instruction *set, uint32_t code)
{
	const struct dfg_regex_range *range = regex->range + set->first;
	int low = 0, high = set->second;
	while (low < high) {
		int middle = (low + high) / 2;
		if (range[middle].high < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->second && range[low].low <= code;
}

/* Moves the threads past a character. True: a thread matched, and those after it, less preferred, are dropped. */
static bool step(const struct search *s, size_t at, size_t size, uint32_t code, int64_t *out_slot)
{
	struct dfg_regex *regex = s->regex;
	regex->after->count = 0;
	for (size_t t = 0; t < regex->now->count; t++) {
		uint32_t pc = regex->now->pc[t];
		const struct dfg_regex_instruction *i = &regex->code[pc];
		const int64_t *slot = regex->now->slot + t * DFG_REGEX_SLOTS;
		if (i->code == DFG_REGEX_MATCH && (!s->whole || at == s->length)) {
			memcpy(out_slot, slot, DFG_REGEX_SLOTS * sizeof *slot);
			out_slot[1] = (int64_t)at;
			return true;
		}
		if (i->code != DFG_REGEX_SET || !size || !contains(regex, i, code))
			continue;
		memcpy(regex->slot, slot, DFG_REGEX_SLOTS * sizeof *slot);
		add_thread(s, regex->after, pc + 1, at + size);
	}
	return false;
}

static void begin_thread(const struct search *s, size_t at)
{
	for (int i = 0; i < DFG_REGEX_SLOTS; i++)
		s->regex->slot[i] = -1;
	s->regex->slot[0] = (int64_t)at;
	add_thread(s, s->regex->now, 0, at);
}

/* Runs the machine over the text from byte `from` on. A byte that is not UTF-8 is read as UINT32_MAX, which is in no set. */
static bool search(const struct search *s, size_t from, int64_t *out_slot)
{
	struct dfg_regex *regex = s->regex;
	bool found = false;
	regex->now->count = 0;
	for (size_t at = from;;) {
		uint32_t code = UINT32_MAX;
		if (!found && (!s->whole || at == 0))
			begin_thread(s, at);
		if (!regex->now->count && (found || s->whole))
			return found;
		size_t size = at < s->length ? dfg_utf8_get(s->text + at, s->length - at, &code) : 0;
		if (at < s->length && !size) {
			size = 1;
			code = UINT32_MAX;
		}
		found |= step(s, at, size, code, out_slot);
		struct dfg_regex_threads *now = regex->now;
		regex->now = regex->after;
		regex->after = now;
		if (at >= s->length)
			return found;
		at += size;
	}
}

bool dfg_regex_find(struct dfg_regex *regex, const char *text, size_t length, size_t from, int64_t *out_slot)
{
	struct search s = {regex, text, length, false};
	return search(&s, from, out_slot);
}

bool dfg_regex_is_whole(struct dfg_regex *regex, const char *text, size_t length)
{
	struct search s = {regex, text, length, true};
	int64_t slot[DFG_REGEX_SLOTS];
	return search(&s, 0, slot);
}
