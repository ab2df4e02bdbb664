#include "lib/base/utf8.h"

/* By the length of a character in bytes: how its first byte begins, under which mask, and the least code point of that length. */
static const struct {
	uint8_t mask, lead;
	uint32_t least;
} form[] = {{0}, {0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
enum { LONGEST = 4 };

size_t dfg_utf8_get(const void *s, size_t left, uint32_t *out_code)
{
	const uint8_t *byte = s;
	size_t length = 1;
	while (length <= LONGEST && (*byte & form[length].mask) != form[length].lead)
		length++;
	if (length > LONGEST || length > left)
		return 0;
	uint32_t code = *byte & (uint8_t)~form[length].mask;
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte[i] & 0x3f);
	}
	*out_code = code;
	bool surrogate = code >= 0xd800 && code < 0xe000;
	return code >= form[length].least && code <= 0x10ffff && !surrogate ? length : 0;
}

bool dfg_utf8_is(const void *bytes, size_t length)
{
	uint32_t code;
	for (size_t i = 0, step; i < length; i += step)
		if (!(step = dfg_utf8_get((const uint8_t *)bytes + i, length - i, &code)))
			return false;
	return true;
}

size_t dfg_utf8_put(uint32_t code, char to[static 4])
{
	size_t length = LONGEST;
	while (code < form[length].least)
		length--;
	for (size_t i = length; i-- > 1; code >>= 6)
		to[i] = (char)(0x80 | (code & 0x3f));
	to[0] = (char)(form[length].lead | code);
	return length;
}

bool dfg_utf8_is_shown(uint32_t code)
{
	bool controls = code < 0x20 || (code >= 0x7f && code < 0xa0);
	bool hides = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) || code == 0xfeff;
	bool reorders = code == 0x061c || (code >= 0x2066 && code <= 0x2069);
	return !controls && !hides && !reorders;
}
