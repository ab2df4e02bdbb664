#include "formats/json.h"

#include "lib/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void dfg_json_raw(struct dfg_json_out *out)
{
	if (out->comma)
		dfg_text_put(&out->text, ",", 1);
	out->comma = true;
}

void dfg_json_open(struct dfg_json_out *out, char bracket)
{
	dfg_json_raw(out);
	dfg_text_put(&out->text, &bracket, 1);
	out->comma = false;
}

void dfg_json_close(struct dfg_json_out *out, char bracket)
{
	dfg_text_put(&out->text, &bracket, 1);
	out->comma = true;
}

void dfg_json_key(struct dfg_json_out *out, const char *key)
{
	dfg_json_string(out, key);
	dfg_text_put(&out->text, ":", 1);
	out->comma = false;
}

void dfg_json_null(struct dfg_json_out *out)
{
	dfg_json_raw(out);
	dfg_text_add(&out->text, "null");
}

void dfg_json_bool(struct dfg_json_out *out, bool value)
{
	dfg_json_raw(out);
	dfg_text_add(&out->text, "%s", value ? "true" : "false");
}

void dfg_json_int(struct dfg_json_out *out, int64_t value)
{
	dfg_json_raw(out);
	dfg_text_add(&out->text, "%" PRId64, value);
}

void dfg_json_uint(struct dfg_json_out *out, uint64_t value)
{
	dfg_json_raw(out);
	dfg_text_add(&out->text, "%" PRIu64, value);
}

static bool put_not_finite(struct dfg_json_out *out, double value)
{
	if (isfinite(value))
		return false;
	dfg_text_add(&out->text, "%s", isnan(value) ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	return true;
}

void dfg_json_f32(struct dfg_json_out *out, float value)
{
	dfg_json_raw(out);
	if (!put_not_finite(out, value))
		dfg_text_f32(&out->text, value);
}

void dfg_json_f64(struct dfg_json_out *out, double value)
{
	dfg_json_raw(out);
	if (!put_not_finite(out, value))
		dfg_text_f64(&out->text, value);
}

/* Length of the prefix that needs no escape. */
static size_t plain_length(const char *s, size_t count)
{
	size_t length = 0;
	while (length < count && s[length] >= 0x20 && s[length] < 0x7f && s[length] != '"' && s[length] != '\\')
		length++;
	return length;
}

void dfg_json_bytes(struct dfg_json_out *out, const void *bytes, size_t count)
{
	const char *s = bytes;
	dfg_json_raw(out);
	dfg_text_put(&out->text, "\"", 1);
	for (size_t i = 0, length; i < count; i += length) {
		uint32_t code;
		if ((length = plain_length(s + i, count - i))) {
			dfg_text_put(&out->text, s + i, length);
			continue;
		}
		length = dfg_utf8_get(s + i, count - i, &code);
		if (!length) {
			dfg_text_add(&out->text, "\\u%04x", (unsigned char)s[i]);
			length = 1;
		} else if (!dfg_utf8_is_shown(code)) {
			dfg_text_add(&out->text, "\\u%04x", code);
		} else {
			if (s[i] == '"' || s[i] == '\\')
				dfg_text_put(&out->text, "\\", 1);
			dfg_text_put(&out->text, s + i, length);
		}
	}
	dfg_text_put(&out->text, "\"", 1);
}

void dfg_json_string(struct dfg_json_out *out, const char *string)
{
	dfg_json_bytes(out, string, strlen(string));
}
