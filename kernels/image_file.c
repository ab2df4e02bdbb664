#include "kernels/image_file.h"
#include "kernels/shape_rules.h"

#include <math.h>
#include <string.h>

/* Images in files: as TensorFlow's, most ops read files of any format, which is told from the first bytes. */
enum { CHANNELS };                                          /* of all but DecodeGif */
enum { RATIO = 1, FANCY, RECOVER, ACCEPTABLE, DCT_METHOD }; /* of DecodeJpeg and DecodeAndCropJpeg */
enum { EXPAND = 1 };                                        /* of DecodeImage */
enum format { OTHER, JPEG, PNG, GIF, BMP };

struct dfg_err *dfg_image_begin(struct dfg_kernel *ctx, struct dfg_image *image)
{
	const struct dfg_shape flat = {.rank = 3, .dim = {image->height, image->width, image->channels}};
	const struct dfg_shape framed = {.rank = 4, .dim = {image->frames, image->height, image->width, image->channels}};
	if (image->height < 1 || image->width < 1 || image->height >= DFG_IMAGE_MOST_PIXELS / image->width)
		return DFG_ERR(DFG_DATA, "the file has %lld x %lld pixels, expected at least 1 and fewer than 2^29",
			(long long)image->height, (long long)image->width);
	DFG_TRY(dfg_kernel_output(ctx, 0, image->frames ? &framed : &flat, &image->out));
	if (image->out->dtype == (image->bits == 8 ? DFG_U8 : DFG_U16)) {
		image->samples = image->out->data;
		return NULL;
	}
	const size_t samples = (size_t)dfg_shape_count(&image->out->shape);
	return dfg_kernel_scratch(ctx, samples * (size_t)(image->bits / 8), &image->samples);
}

void dfg_image_end(const struct dfg_image *image)
{
	const int64_t samples = dfg_shape_count(&image->out->shape);
	const uint8_t *bytes = image->samples;
	const uint16_t *words = image->samples;
	if (image->samples == image->out->data)
		return;
	for (int64_t i = 0; i < samples; i++)
		if (image->out->dtype == DFG_U16)
			((uint16_t *)image->out->data)[i] = (uint16_t)(bytes[i] << 8);
		else
			((float *)image->out->data)[i] =
				image->bits == 8 ? bytes[i] * (float)(1. / 255) : words[i] * (float)(1. / 65535);
}

static bool begins(const struct dfg_string *file, const char *with, size_t length)
{
	return file->length >= length && !memcmp(file->s, with, length);
}

static enum format format_of(const struct dfg_string *file)
{
	return begins(file, "\xFF\xD8\xFF", 3)        ? JPEG
		   : begins(file, "\x89PNG\r\n\x1A\n", 8) ? PNG
		   : begins(file, "GIF8", 4)              ? GIF
		   : begins(file, "BM", 2)                ? BMP
												  : OTHER;
}

static struct dfg_err *unknown_format(const struct dfg_string *file, const char *expected)
{
	static const char *const name[] = {"of another format", "JPEG", "PNG", "GIF", "BMP"};
	const enum format format = format_of(file);
	return DFG_ERR(DFG_DATA, "contents has %zu bytes that are %s, expected %s", file->length, name[format], expected);
}

static struct dfg_err *check_channels(int64_t channels)
{
	if (channels != 0 && channels != 1 && channels != 3 && channels != 4)
		return DFG_ERR(DFG_DATA, "channels is %lld, expected 0, 1, 3 or 4", (long long)channels);
	return NULL;
}

static struct dfg_err *flat_shape(struct dfg_infer *node)
{
	const int64_t channels = node->call->attr[CHANNELS].i;
	DFG_TRY(dfg_need_rank(node, 0, 0));
	DFG_TRY(check_channels(channels));
	node->out[0] = (struct dfg_shape){.rank = 3, .dim = {DFG_UNKNOWN, DFG_UNKNOWN, channels ? channels : DFG_UNKNOWN}};
	return NULL;
}

static struct dfg_err *jpeg_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	const int64_t ratio = attr[RATIO].i;
	DFG_TRY(flat_shape(node));
	if (node->call->n_in == 2)
		DFG_TRY(dfg_need_rank(node, 1, 1));
	if (attr[CHANNELS].i == 4)
		return DFG_ERR(DFG_DATA, "channels is 4, expected 0, 1 or 3 for JPEG files");
	if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8)
		return DFG_ERR(DFG_DATA, "ratio is %lld, expected 1, 2, 4 or 8", (long long)ratio);
	return NULL;
}

/* The rank of an image that may be a film is not known. */
static struct dfg_err *any_shape(struct dfg_infer *node)
{
	DFG_TRY(flat_shape(node));
	if (node->call->attr[EXPAND].b)
		node->out[0] = DFG_SHAPE_UNKNOWN;
	return NULL;
}

static const struct dfg_string *file_in(const struct dfg_kernel *ctx)
{
	return ctx->in[0]->data;
}

/* The request of an op that has no attributes for JPEG files. */
static struct dfg_jpeg_request plain_request(int64_t channels)
{
	return (struct dfg_jpeg_request){.channels = channels, .ratio = 1, .fancy_upscaling = true, .acceptable = 1};
}

static struct dfg_jpeg_request request_of(const union dfg_value *attr)
{
	return (struct dfg_jpeg_request){.channels = attr[CHANNELS].i,
		.ratio = attr[RATIO].i,
		.fancy_upscaling = attr[FANCY].b,
		.recover = attr[RECOVER].b,
		.accurate = begins(&attr[DCT_METHOD].s, "INTEGER_ACCURATE", 16),
		.acceptable = (float)attr[ACCEPTABLE].f};
}

static struct dfg_err *decode_any(struct dfg_kernel *ctx, const struct dfg_jpeg_request *request, const char *expected)
{
	const struct dfg_string *file = file_in(ctx);
	switch (format_of(file)) {
	case JPEG:
		if (request->channels == 4)
			return DFG_ERR(DFG_DATA, "channels is 4, expected 0, 1 or 3 for a JPEG file");
		return dfg_decode_jpeg(ctx, file, request, false);
	case PNG:
		return dfg_decode_png(ctx, file, request->channels, false);
	default:
		return unknown_format(file, expected);
	}
}

static struct dfg_err *decode_png(struct dfg_kernel *ctx)
{
	const struct dfg_jpeg_request request = plain_request(dfg_kernel_attr(ctx)[CHANNELS].i);
	return decode_any(ctx, &request, "PNG or JPEG");
}

static struct dfg_err *decode_jpeg(struct dfg_kernel *ctx)
{
	const struct dfg_jpeg_request request = request_of(dfg_kernel_attr(ctx));
	return decode_any(ctx, &request, "JPEG or PNG");
}

static struct dfg_err *decode_part(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *window = dfg_kernel_input(ctx, 1);
	struct dfg_jpeg_request request = request_of(dfg_kernel_attr(ctx));
	if (dfg_shape_count(&window->shape) != 4)
		return DFG_ERR(DFG_DATA, "crop_window has shape %s, expected [4]", dfg_shape_words(&window->shape).s);
	if (format_of(file_in(ctx)) != JPEG)
		return unknown_format(file_in(ctx), "JPEG");
	request.crops = true;
	request.y = dfg_tensor_int(window, 0);
	request.x = dfg_tensor_int(window, 1);
	request.height = dfg_tensor_int(window, 2);
	request.width = dfg_tensor_int(window, 3);
	return dfg_decode_jpeg(ctx, file_in(ctx), &request, false);
}

static struct dfg_err *decode_bmp(struct dfg_kernel *ctx)
{
	if (format_of(file_in(ctx)) != BMP)
		return unknown_format(file_in(ctx), "BMP");
	return dfg_decode_bmp(ctx, file_in(ctx), dfg_kernel_attr(ctx)[CHANNELS].i);
}

static struct dfg_err *decode_image(struct dfg_kernel *ctx)
{
	const struct dfg_jpeg_request request = plain_request(dfg_kernel_attr(ctx)[CHANNELS].i);
	if (format_of(file_in(ctx)) == BMP)
		return dfg_decode_bmp(ctx, file_in(ctx), request.channels);
	return decode_any(ctx, &request, "JPEG, PNG or BMP");
}

static struct dfg_err *size_shape(struct dfg_infer *node)
{
	node->out[0] = DFG_SHAPE_VECTOR(3);
	return dfg_need_rank(node, 0, 0);
}

static struct dfg_err *extract_size(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	int64_t size[3];
	DFG_TRY(dfg_kernel_output(ctx, 0, &DFG_SHAPE_VECTOR(3), &out));
	if (format_of(file_in(ctx)) != JPEG)
		return unknown_format(file_in(ctx), "JPEG");
	DFG_TRY(dfg_measure_jpeg(file_in(ctx), size));
	for (int i = 0; i < 3; i++)
		if (out->dtype == DFG_I32)
			((int32_t *)out->data)[i] = (int32_t)size[i];
		else
			((int64_t *)out->data)[i] = size[i];
	return NULL;
}

const struct dfg_op dfg_op_DecodePng = {
	.name = "DecodePng",
	.doc = "the pixels of a PNG or JPEG file, rows by columns by channels",
	.sig = "<dtype: u8|u16 = u8>(contents: string) -> (image: dtype)",
	.attr = {[CHANNELS] = "channels: int = 0"},
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = flat_shape,
	.run = decode_png,
};

#define JPEG_ATTRIBUTES                                                                                         \
	{                                                                                                           \
		[CHANNELS] = "channels: int = 0", [RATIO] = "ratio: int = 1", [FANCY] = "fancy_upscaling: bool = true", \
		[RECOVER] = "try_recover_truncated: bool = false", [ACCEPTABLE] = "acceptable_fraction: float = 1",     \
		[DCT_METHOD] = "dct_method: string = '' in |INTEGER_FAST|INTEGER_ACCURATE"                              \
	}

const struct dfg_op dfg_op_DecodeJpeg = {
	.name = "DecodeJpeg",
	.doc = "the pixels of a JPEG or PNG file, rows by columns by channels; a JPEG may be made 2, 4 or 8 times smaller",
	.sig = "(contents: string) -> (image: u8)",
	.attr = JPEG_ATTRIBUTES,
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = jpeg_shape,
	.run = decode_jpeg,
};

const struct dfg_op dfg_op_DecodeAndCropJpeg = {
	.name = "DecodeAndCropJpeg",
	.doc = "the pixels of a part of a JPEG file: y, x, height and width are in crop_window",
	.sig = "(contents: string, crop_window: i32) -> (image: u8)",
	.attr = JPEG_ATTRIBUTES,
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = jpeg_shape,
	.run = decode_part,
};

const struct dfg_op dfg_op_DecodeBmp = {
	.name = "DecodeBmp",
	.doc = "the pixels of a BMP file, rows by columns by channels",
	.sig = "(contents: string) -> (image: u8)",
	.attr = {[CHANNELS] = "channels: int = 0"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = flat_shape,
	.run = decode_bmp,
};

const struct dfg_op dfg_op_DecodeImage = {
	.name = "DecodeImage",
	.doc = "the pixels of a JPEG, PNG or BMP file; floats are in [0, 1]",
	.sig = "<dtype: u8|u16|f32 = u8>(contents: string) -> (image: dtype)",
	.attr = {[CHANNELS] = "channels: int = 0", [EXPAND] = "expand_animations: bool = true"},
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = any_shape,
	.run = decode_image,
};

const struct dfg_op dfg_op_ExtractJpegShape = {
	.name = "ExtractJpegShape",
	.doc = "height, width and channels of a JPEG file",
	.sig = "<output_type: index = i32>(contents: string) -> (image_shape: output_type)",
	.flags = DFG_NO_GRADIENT,
	.shape = size_shape,
	.run = extract_size,
};
