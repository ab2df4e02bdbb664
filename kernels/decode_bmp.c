#include "kernels/image_file.h"

/* Uncompressed BMP files of 8 (as grey), 24 and 32 bits a pixel. */
struct bmp {
	int64_t start, width, height; /* start: of the pixels; height is negative if the first row is the top one */
	int64_t channels, stride;     /* of the file */
};

static int32_t int_at(const unsigned char *from)
{
	return (int32_t)(from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24);
}

static struct dfg_err *read_header(const struct dfg_string *file, struct bmp *out_bmp)
{
	const unsigned char *bytes = (const unsigned char *)file->s;
	if (file->length < 32)
		return DFG_ERR(DFG_DATA, "a BMP file has %zu bytes, expected at least 32", file->length);
	const int bits = bytes[28] | bytes[29] << 8;
	*out_bmp = (struct bmp){int_at(bytes + 10), int_at(bytes + 18), int_at(bytes + 22), bits / 8, 0};
	if (bits != 8 && bits != 24 && bits != 32)
		return DFG_ERR(DFG_DATA, "a BMP file has %d bits a pixel, expected 8, 24 or 32", bits);
	const int64_t rows = out_bmp->height < 0 ? -out_bmp->height : out_bmp->height;
	if (out_bmp->start < 0 || out_bmp->width < 1 || !rows || out_bmp->width * rows >= INT32_MAX / 8)
		return DFG_ERR(DFG_DATA, "a BMP file has %lld x %lld pixels that start at byte %lld",
			(long long)out_bmp->height, (long long)out_bmp->width, (long long)out_bmp->start);
	out_bmp->stride = (out_bmp->width * out_bmp->channels + 3) / 4 * 4;
	const int64_t size = out_bmp->start + out_bmp->stride * rows;
	if (size != (int64_t)file->length)
		return DFG_ERR(
			DFG_DATA, "a BMP file has %zu bytes, but its pixels end after %lld", file->length, (long long)size);
	return NULL;
}

/* Pixels have blue first. Grey is repeated, and alpha that is not there is opaque. */
static void write_pixel(const unsigned char *from, int64_t from_channels, unsigned char *to, int64_t channels)
{
	for (int c = 0; c < 3 && c < channels; c++)
		to[c] = from_channels == 1 ? *from : from[2 - c];
	if (channels == 4)
		to[3] = from_channels == 4 ? from[3] : 255;
}

struct dfg_err *dfg_decode_bmp(struct dfg_kernel *ctx, const struct dfg_string *file, int64_t channels)
{
	struct bmp bmp;
	if (channels == 1)
		return DFG_ERR(DFG_DATA, "channels is 1, expected 0, 3 or 4 for a BMP file");
	DFG_TRY(read_header(file, &bmp));
	struct dfg_image image = {.height = bmp.height < 0 ? -bmp.height : bmp.height,
		.width = bmp.width,
		.channels = channels ? channels : bmp.channels,
		.bits = 8};
	DFG_TRY(dfg_image_begin(ctx, &image));
	unsigned char *to = image.samples;
	for (int64_t y = 0; y < image.height; y++) {
		const int64_t row = bmp.height < 0 ? y : image.height - 1 - y;
		const unsigned char *from = (const unsigned char *)file->s + bmp.start + row * bmp.stride;
		for (int64_t x = 0; x < image.width; x++, from += bmp.channels, to += image.channels)
			write_pixel(from, bmp.channels, to, image.channels);
	}
	dfg_image_end(&image);
	return NULL;
}
