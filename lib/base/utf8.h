#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 sign at s, of which `left` > 0 may be read, and its number; 0 where there is none. */
size_t dfg_utf8_get(const void *s, size_t left, uint32_t *out_code);

/* Whether all of it is UTF-8. */
bool dfg_utf8_is(const void *bytes, size_t length);

/* Puts the sign of that number, up to 0x10ffff; its bytes. */
size_t dfg_utf8_put(uint32_t code, char to[static 4]);

/* Whether a terminal shows the sign, and does not obey it. */
bool dfg_utf8_is_shown(uint32_t code);
