#include "lib/base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool dfg_base64_decode(const char *text, size_t length, uint8_t *out_bytes, size_t *out_size)
{
	size_t padding = length && text[length - 1] == '=' ? 1 + (length > 1 && text[length - 2] == '=') : 0, n = 0;
	uint32_t bits = 0;
	if (length % 4)
		return false;
	for (size_t i = 0; i < length; i++) {
		int value = i < length - padding ? value_of(text[i]) : 0;
		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
		for (int k = 2; i % 4 == 3 && k >= 0; k--)
			out_bytes[n++] = (uint8_t)(bits >> 8 * k);
	}
	/* the bits that the padding leaves over are zero, so that equal bytes have one text */
	for (size_t i = 0; i < padding; i++)
		if (out_bytes[--n])
			return false;
	*out_size = n;
	return true;
}

void dfg_base64_encode(const uint8_t *bytes, size_t size, char *out_text)
{
	for (size_t i = 0; i < size; i += 3, out_text += 4) {
		size_t left = size - i;
		uint32_t bits =
			(uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
		for (int k = 0; k < 4; k++)
			out_text[k] = digits[bits >> (18 - 6 * k) & 63];
		if (left < 3)
			out_text[3] = '=';
		if (left < 2)
			out_text[2] = '=';
	}
}
