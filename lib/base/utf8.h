#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the UTF-8 character at s, of which `left` > 0 bytes may be read, and its code point; 0 if the bytes
 * are not UTF-8. */
size_t dfg_utf8_get(const void *s, size_t left, uint32_t *out_code);

/* Whether all bytes are UTF-8. */
bool dfg_utf8_is(const void *bytes, size_t length);

/* Writes the character with that code point, up to 0x10ffff; returns its length in bytes. */
size_t dfg_utf8_put(uint32_t code, char to[static 4]);

/* Whether a terminal displays the character instead of obeying it. */
bool dfg_utf8_is_shown(uint32_t code);
