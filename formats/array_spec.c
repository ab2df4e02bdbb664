#include "formats/array_spec.h"

#include <stdlib.h>
#include <string.h>

/* The start of the last "[...]" of the first `length` characters; NULL: they do not end in one, or begin with it. */
static const char *last_bracket(const char *words, size_t length)
{
	if (!length || words[length - 1] != ']')
		return NULL;
	for (size_t i = length - 1; i > 1; i--)
		if (words[i - 1] == '[')
			return words + i - 1;
	return NULL;
}

/* Whether the text is TYPE:DIMS, a type of fixed size and dimensions that are not 0. */
static bool is_record(const char *text, size_t length, enum dfg_dtype *out_dtype)
{
	const char *colon = memchr(text, ':', length);
	*out_dtype = colon ? dfg_dtype_find(text, (size_t)(colon - text)) : DFG_NO_DTYPE;
	if (!*out_dtype || dfg_dtype_is_object(*out_dtype))
		return false;
	bool number = false;
	for (const char *s = colon + 1; s < text + length; s++) {
		if (!number && !(*s >= '1' && *s <= '9'))
			return false;
		number = *s != ',';
		if (number && !(*s >= '0' && *s <= '9'))
			return false;
	}
	return number;
}

/* The bracket of TYPE:DIMS, the last or the one before it; NULL: none. */
static const char *record_bracket(const char *words, const char *last, enum dfg_dtype *out_dtype)
{
	if (!last || is_record(last + 1, strlen(last) - 2, out_dtype))
		return last;
	const char *before = last_bracket(words, (size_t)(last - words));
	return before && is_record(before + 1, (size_t)(last - before) - 2, out_dtype) ? before : NULL;
}

static struct dfg_err *read_dims(const char *text, struct dfg_array_spec *spec)
{
	char *end;
	for (;; text = end + 1) {
		if (spec->dims.rank == DFG_RANK_MAX - 1)
			return DFG_ERR(DFG_DATA, "the type of a record has more than %d dimensions", DFG_RANK_MAX - 1);
		spec->dims.dim[spec->dims.rank++] = strtoll(text, &end, 10); /* saturates; the size is checked with the file */
		if (*end != ',')
			return NULL;
	}
}

struct dfg_err *dfg_array_spec_read(const char *words, struct dfg_array_spec *out_spec)
{
	size_t length = strlen(words);
	const char *last = last_bracket(words, length), *record = record_bracket(words, last, &out_spec->record);
	*out_spec = (struct dfg_array_spec){.path = dfg_zeros(length + 1, 1), .record = record ? out_spec->record : 0};
	if (!out_spec->path)
		return dfg_no_memory("the name of a file");
	memcpy(out_spec->path, words, length);
	if (!last)
		return NULL;
	char *copy = out_spec->path;
	copy[length - 1] = copy[last - words] = '\0';
	if (last != record)
		out_spec->key = copy + (last - words) + 1;
	if (!record)
		return NULL;
	copy[record - words] = '\0';
	struct dfg_err *err = read_dims(record + strcspn(record, ":") + 1, out_spec);
	if (err)
		dfg_array_spec_release(out_spec);
	return dfg_err_note(err, "%s", words);
}

void dfg_array_spec_release(struct dfg_array_spec *spec)
{
	dfg_free(spec->path);
	*spec = (struct dfg_array_spec){0};
}

/* Whether the text begins with @FILE or HOST:@FILE; the name of a host contains none of ",:@[]/". */
static bool begins_file(const char *text)
{
	size_t host = strcspn(text, ",:@[]/");
	const char *at = !host ? text : text[host] == ':' ? text + host + 1 : "";
	return at[0] == '@' && at[1];
}

size_t dfg_array_spec_length(const char *words)
{
	for (const char *s = words; *s; s++)
		if (*s == ',' && begins_file(s + 1))
			return (size_t)(s - words);
	return strlen(words);
}

size_t dfg_array_spec_path(const char *words)
{
	enum dfg_dtype dtype;
	const char *last = last_bracket(words, strlen(words)), *record = record_bracket(words, last, &dtype);
	return record ? (size_t)(record - words) : last ? (size_t)(last - words) : strlen(words);
}
