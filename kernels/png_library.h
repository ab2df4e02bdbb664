#pragma once

#include "lib/base/err.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * libpng, which is opened when a PNG file is first read or written. The library's own header is not necessary to build
 * dfg: readers and writers are opaque.
 */
typedef void dfg_png_said(void *codec, const char *words);
typedef void dfg_png_bytes(void *codec, unsigned char *bytes, size_t count);

#define PNG_VERSION "1.6.0" /* libpng compares its first two numbers with its own */
enum { PNG_COLOUR = 2, PNG_PALETTE = 3, PNG_ALPHA = 4, PNG_CHUNK_TRNS = 0x10, PNG_AFTER = 1 };

#define FUNCTION(result, name, arguments) extern result(*dfg_##name) arguments;
#include "kernels/png.def"
#undef FUNCTION

/* The client of readers and writers: an error of libpng jumps to `failed`. */
struct dfg_png {
	void *codec, *info; /* NULL: not made */
	jmp_buf failed;
	char words[200]; /* the error */
};

/* Opens libpng. DFG_CONFIG if it is not installed. */
DFG_MUST_CHECK struct dfg_err *dfg_png_open(void);

/* Makes a reader or writer and its info. Within an act. */
void dfg_png_make(struct dfg_png *png, bool writer);

/* Calls act(arg), in which libpng's functions may be called; an error of theirs ends it. */
DFG_MUST_CHECK struct dfg_err *dfg_png_try(struct dfg_png *png, void (*act)(void *arg), void *arg);
