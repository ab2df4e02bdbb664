#include "kernels/image_file.h"
#include "kernels/png_library.h"

#include <string.h>

/* A PNG file as TensorFlow decodes it: in as many channels as are asked for, samples of 8 or of 16 bits. */
struct reader {
	struct dfg_png png;
	const unsigned char *next;
	size_t left;
	int64_t channels; /* asked for; 0: those of the file */
	struct dfg_image image;
	int bits, colours, passes; /* of the file; passes: over the rows */
};

static void read_bytes(void *codec, unsigned char *bytes, size_t count)
{
	struct reader *reader = dfg_png_get_io_ptr(codec);
	if (count > reader->left)
		dfg_png_error(codec, "the file ends early");
	memcpy(bytes, reader->next, count);
	reader->next += count;
	reader->left -= count;
}

static int64_t channels_of_file(const struct reader *reader, bool has_transparency)
{
	if (reader->colours == PNG_PALETTE)
		return has_transparency ? 4 : 3;
	return dfg_png_get_channels(reader->png.codec, reader->png.info);
}

/* libpng adds alpha to, or takes it from, the pixels as they are in the file: before their bits are spread. */
static void set_alpha(const struct reader *reader, bool wanted, bool has_transparency)
{
	void *codec = reader->png.codec;
	const bool has_alpha = reader->colours & PNG_ALPHA;
	if (!wanted && (has_alpha || has_transparency))
		dfg_png_set_strip_alpha(codec);
	else if (wanted && !has_alpha && has_transparency)
		dfg_png_set_tRNS_to_alpha(codec);
	else if (wanted && !has_alpha)
		dfg_png_set_add_alpha(codec, (1u << reader->bits) - 1, PNG_AFTER);
}

/* The weights of red and green are those of ITU-R BT.601. */
static void set_colours(const struct reader *reader, bool wants_grey)
{
	void *codec = reader->png.codec;
	const bool is_grey = !(reader->colours & PNG_COLOUR);
	if (reader->colours == PNG_PALETTE)
		dfg_png_set_palette_to_rgb(codec);
	if (is_grey && reader->bits < 8)
		dfg_png_set_expand_gray_1_2_4_to_8(codec);
	if (wants_grey && !is_grey)
		dfg_png_set_rgb_to_gray(codec, 1, 0.299, 0.587);
	if (!wants_grey && is_grey)
		dfg_png_set_gray_to_rgb(codec);
}

static void set_bits(struct reader *reader)
{
	void *codec = reader->png.codec;
	if (reader->bits > 8 && reader->image.bits == 8)
		dfg_png_set_strip_16(codec);
	dfg_png_set_packing(codec);
	reader->passes = dfg_png_set_interlace_handling(codec);
	if (reader->image.bits == 16)
		dfg_png_set_swap(codec);
}

/* The act that reads what comes before the pixels, and says how these are to be converted. */
static void read_header(void *arg)
{
	struct reader *reader = arg;
	uint32_t width, height;
	dfg_png_make(&reader->png, false);
	void *codec = reader->png.codec, *info = reader->png.info;
	dfg_png_set_read_fn(codec, reader, read_bytes);
	dfg_png_read_info(codec, info);
	dfg_png_get_IHDR(codec, info, &width, &height, &reader->bits, &reader->colours, NULL, NULL, NULL);
	const bool has_transparency = dfg_png_get_valid(codec, info, PNG_CHUNK_TRNS);
	const int64_t channels = reader->channels ? reader->channels : channels_of_file(reader, has_transparency);
	reader->image.height = height;
	reader->image.width = width;
	reader->image.channels = channels;
	set_alpha(reader, channels % 2 == 0, has_transparency);
	set_bits(reader);
	set_colours(reader, channels < 3);
	dfg_png_read_update_info(codec, info);
}

/* The number of samples of a row times the bytes of each as libpng has them: 1 for a file of 8 bits or fewer. */
static size_t bytes_of_row(const struct reader *reader)
{
	const size_t samples = (size_t)(reader->image.width * reader->image.channels);
	return reader->bits > 8 && reader->image.bits == 16 ? 2 * samples : samples;
}

/* deflate makes a file at most 1032 times smaller than its pixels. */
static struct dfg_err *check_size(const struct reader *reader, size_t bytes)
{
	const int64_t pixels = reader->image.height * reader->image.width;
	if (pixels >= DFG_IMAGE_MOST_PIXELS || pixels / 8 / 1032 > (int64_t)bytes)
		return DFG_ERR(DFG_DATA, "a file of %zu bytes has %lld x %lld pixels, which are too many", bytes,
			(long long)reader->image.height, (long long)reader->image.width);
	if (dfg_png_get_rowbytes(reader->png.codec, reader->png.info) != bytes_of_row(reader))
		return DFG_ERR(DFG_DATA, "a PNG file of color type %d and %d bits does not become %lld channels",
			reader->colours, reader->bits, (long long)reader->image.channels);
	return NULL;
}

/* The act that reads the rows; those of an interlaced file are filled up from pass to pass. */
static void read_rows(void *arg)
{
	struct reader *reader = arg;
	const struct dfg_image *image = &reader->image;
	const size_t stride = (size_t)(image->width * image->channels * (image->bits / 8));
	for (int pass = 0; pass < reader->passes; pass++)
		for (int64_t y = 0; y < image->height; y++)
			dfg_png_read_row(reader->png.codec, (unsigned char *)image->samples + (size_t)y * stride, NULL);
	dfg_png_read_end(reader->png.codec, reader->png.info);
}

/* Spreads samples of 8 bits, which are at the begin of each row, over 16: 0xAB becomes 0xABAB. */
static void spread(const struct dfg_image *image)
{
	const int64_t samples = image->width * image->channels;
	for (int64_t y = 0; y < image->height; y++) {
		uint16_t *row = (uint16_t *)image->samples + y * samples;
		for (int64_t i = samples - 1; i >= 0; i--)
			row[i] = (uint16_t)(((unsigned char *)row)[i] * 0x101);
	}
}

static struct dfg_err *decode(struct dfg_kernel *ctx, struct reader *reader, size_t bytes)
{
	DFG_TRY(dfg_png_open());
	DFG_TRY(dfg_png_try(&reader->png, read_header, reader));
	DFG_TRY(check_size(reader, bytes));
	DFG_TRY(dfg_image_begin(ctx, &reader->image));
	DFG_TRY(dfg_png_try(&reader->png, read_rows, reader));
	if (reader->bits <= 8 && reader->image.bits == 16)
		spread(&reader->image);
	dfg_image_end(&reader->image);
	return NULL;
}

static void destroy(void *arg)
{
	struct reader *reader = arg;
	dfg_png_destroy_read_struct(&reader->png.codec, &reader->png.info, NULL);
}

struct dfg_err *dfg_decode_png(struct dfg_kernel *ctx, const struct dfg_string *file, int64_t channels, bool framed)
{
	struct reader reader = {.next = (const unsigned char *)file->s,
		.left = file->length,
		.channels = channels,
		.image = {.frames = framed, .bits = ctx->call->out_dtype[0] == DFG_U8 ? 8 : 16}};
	struct dfg_err *err = decode(ctx, &reader, file->length);
	if (reader.png.codec)
		err = dfg_err_join(err, dfg_png_try(&reader.png, destroy, &reader));
	return err;
}
