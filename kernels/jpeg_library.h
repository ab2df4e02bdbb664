#pragma once

#include "lib/base/err.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

/*
 * libjpeg-turbo with the binary interface of libjpeg 6b, which is opened when a JPEG file is first read or written. The
 * library's own header is not necessary to build dfg: below are its structs, with the fields that dfg does not use put
 * together. libjpeg compares their sizes with its own.
 */
enum {
	JPEG_INTERFACE = 62,
	JPEG_GREY = 1,
	JPEG_RGB = 2,
	JPEG_CMYK = 4,
	JPEG_YCCK = 5,
	JPEG_ACCURATE = 0,
	JPEG_FAST = 1
};

struct dfg_jpeg_errors { /* jpeg_error_mgr */
	void (*error_exit)(void *codec);
	void (*emit_message)(void *codec, int level);
	void (*output_message)(void *codec);
	void (*format_message)(void *codec, char *out_words);
	void (*reset)(void *codec);
	int message;
	union {
		int i[8];
		char s[80];
	} parameter;
	int trace_level;
	long warnings;
	const char *const *table;
	int last_message;
	const char *const *other_table;
	int other_first, other_last;
};

#define JPEG_COMMON              \
	struct dfg_jpeg_errors *err; \
	void *memory, *progress;     \
	void *client;                \
	int is_decoder, state

struct dfg_jpeg_decoder;
struct dfg_jpeg_source { /* jpeg_source_mgr */
	const unsigned char *next;
	size_t left;
	void (*init)(struct dfg_jpeg_decoder *decoder);
	int (*fill)(struct dfg_jpeg_decoder *decoder);
	void (*skip)(struct dfg_jpeg_decoder *decoder, long bytes);
	int (*resync)(struct dfg_jpeg_decoder *decoder, int marker);
	void (*term)(struct dfg_jpeg_decoder *decoder);
};

struct dfg_jpeg_decoder { /* jpeg_decompress_struct */
	JPEG_COMMON;
	struct dfg_jpeg_source *src;
	unsigned image_width, image_height;
	int components, colours, out_colours;
	unsigned scale_num, scale_denom;
	double gamma;
	int buffered, raw, method, fancy_upsampling, block_smoothing, quantise[7];
	unsigned output_width, output_height;
	int out_colour_components, output_components, lines_at_once, actual_colours;
	void *colour_map;
	unsigned output_scanline;
	int progress_of_scans[4];
	void *coefficients, *tables[12];
	int precision;
	void *component;
	int progressive, arithmetic;
	unsigned char conditioning[48];
	unsigned restart_interval;
	int saw_jfif;
	unsigned char jfif[3];
	uint16_t density[2];
	int saw_adobe;
	unsigned char adobe_transform;
	int cosited;
	void *markers;
	int sampling[3];
	unsigned mcu_rows;
	void *range_limit;
	int scan_components;
	void *scan_component[4];
	int scan[18];
	void *module[11];
};

struct dfg_jpeg_encoder;
struct dfg_jpeg_destination { /* jpeg_destination_mgr */
	unsigned char *next;
	size_t left;
	void (*init)(struct dfg_jpeg_encoder *encoder);
	int (*empty)(struct dfg_jpeg_encoder *encoder);
	void (*term)(struct dfg_jpeg_encoder *encoder);
};

struct dfg_jpeg_component { /* the begin of jpeg_component_info */
	int id, index, h_sampling, v_sampling;
};

struct dfg_jpeg_encoder { /* jpeg_compress_struct */
	JPEG_COMMON;
	struct dfg_jpeg_destination *destination;
	unsigned image_width, image_height;
	int input_components, in_colours;
	double gamma;
	int precision, components, colours;
	struct dfg_jpeg_component *component;
	void *tables[12];
	unsigned char conditioning[48];
	int scans;
	const void *script;
	int raw, arithmetic, optimise, cosited, smoothing, method;
	unsigned restart_interval;
	int restart_rows, write_jfif;
	unsigned char jfif[2], density_unit;
	uint16_t x_density, y_density;
	int write_adobe;
	unsigned next_scanline;
	int progressive, sampling[2];
	unsigned mcu_rows;
	int scan_components;
	void *scan_component[4];
	int scan[17];
	void *module[9], *script_space;
	int script_size;
};

#define FUNCTION(result, name, arguments) extern result(*dfg_##name) arguments;
#include "kernels/jpeg.def"
#undef FUNCTION

/* The client of decoders and encoders: an error of libjpeg jumps to `failed`. */
struct dfg_jpeg {
	struct dfg_jpeg_errors errors;
	jmp_buf failed;
	char words[220]; /* the error */
};

/* Opens libjpeg, and sets the error handler of a zero-initialised codec. DFG_CONFIG if libjpeg is not installed. */
DFG_MUST_CHECK struct dfg_err *dfg_jpeg_begin(
	struct dfg_jpeg *jpeg, struct dfg_jpeg_errors **out_err, void **out_client);

/* Calls act(arg), in which libjpeg's functions may be called; an error of theirs ends it. */
DFG_MUST_CHECK struct dfg_err *dfg_jpeg_try(struct dfg_jpeg *jpeg, void (*act)(void *arg), void *arg);

/* Ends the act. */
void dfg_jpeg_fail(struct dfg_jpeg *jpeg, const char *words) __attribute__((noreturn));
