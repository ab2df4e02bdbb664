#include "kernels/jpeg_library.h"
#include "kernels/png_library.h"
#include "kernels/shape_rules.h"
#include "lib/base/text.h"

#include <string.h>

/* Images as PNG and JPEG files, in the bytes that TensorFlow writes with the same versions of the libraries. */
enum { COMPRESSION };
enum { FORMAT, QUALITY, PROGRESSIVE, OPTIMISE, DOWNSAMPLE, UNIT, X_DENSITY, Y_DENSITY, METADATA };
enum { BUFFER = 1 << 16 };

struct picture {
	int64_t height, width, channels;
	int bits;
	const unsigned char *pixels;
};

/* The last three axes of the tensor are an image's. */
static struct dfg_err *picture_of(const struct dfg_tensor *in, int most_channels, struct picture *out_picture)
{
	const int64_t *dim = in->shape.dim + in->shape.rank - 3;
	const int bits = in->dtype == DFG_U8 ? 8 : 16;
	*out_picture = (struct picture){dim[0], dim[1], dim[2], bits, in->data};
	if (dim[0] < 1 || dim[1] < 1 || dim[0] >= (1 << 29) / dim[1] || dim[2] < 1 || dim[2] > most_channels)
		return DFG_ERR(DFG_DATA, "image has shape %s, expected height, width, and 1 to %d channels",
			dfg_shape_words(&in->shape).s, most_channels);
	return NULL;
}

static struct dfg_err *batched_shape(struct dfg_infer *node)
{
	const struct dfg_shape *in = node->in[0];
	if (in->rank < 3)
		return DFG_ERR(DFG_DATA, "input 0 has shape %s, expected at least 3 axes", dfg_shape_words(in).s);
	node->out[0] = *in;
	node->out[0].rank -= 3;
	return NULL;
}

static struct dfg_err *png_shape(struct dfg_infer *node)
{
	const int64_t level = node->call->attr[COMPRESSION].i;
	if (level < -1 || level > 9)
		return DFG_ERR(DFG_DATA, "compression is %lld, expected -1, or 0 to 9", (long long)level);
	return batched_shape(node);
}

struct png_writer {
	struct dfg_png png;
	struct dfg_text text;
	const struct picture *picture;
	int level;
};

static void put_png(void *codec, unsigned char *bytes, size_t count)
{
	struct png_writer *writer = dfg_png_get_io_ptr(codec);
	dfg_text_put(&writer->text, bytes, count);
}

static void flush(void *codec)
{
	(void)codec;
}

/* The act that writes the file. */
static void write_png(void *arg)
{
	static const int colours[] = {0, PNG_ALPHA, PNG_COLOUR, PNG_COLOUR | PNG_ALPHA};
	struct png_writer *writer = arg;
	const struct picture *picture = writer->picture;
	dfg_png_make(&writer->png, true);
	void *codec = writer->png.codec, *info = writer->png.info;
	dfg_png_set_write_fn(codec, writer, put_png, flush);
	dfg_png_set_compression_level(codec, writer->level);
	dfg_png_set_compression_mem_level(codec, 9);
	dfg_png_set_IHDR(codec, info, (uint32_t)picture->width, (uint32_t)picture->height, picture->bits,
		colours[picture->channels - 1], 0, 0, 0);
	dfg_png_write_info(codec, info);
	if (picture->bits == 16)
		dfg_png_set_swap(codec);
	const int64_t stride = picture->width * picture->channels * picture->bits / 8;
	for (int64_t y = 0; y < picture->height; y++)
		dfg_png_write_row(codec, picture->pixels + y * stride);
	dfg_png_write_end(codec, NULL);
}

static void destroy_png(void *arg)
{
	struct png_writer *writer = arg;
	dfg_png_destroy_write_struct(&writer->png.codec, &writer->png.info);
}

/* Element i of the output: the bytes of a file, if there was no error before. Takes both. */
static struct dfg_err *give_file(struct dfg_kernel *ctx, int64_t i, struct dfg_text *file, struct dfg_err *err)
{
	if (!err)
		err = dfg_text_check(file);
	if (!err)
		err = dfg_kernel_string(ctx, 0, i, file->s, file->length);
	dfg_text_release(file);
	return err;
}

/* One image as element i of the output. */
static struct dfg_err *encode_one_png(struct dfg_kernel *ctx, const struct picture *picture, int64_t i)
{
	struct png_writer writer = {.picture = picture, .level = (int)dfg_kernel_attr(ctx)[COMPRESSION].i};
	struct dfg_err *err = dfg_png_try(&writer.png, write_png, &writer);
	if (writer.png.codec)
		err = dfg_err_join(err, dfg_png_try(&writer.png, destroy_png, &writer));
	return give_file(ctx, i, &writer.text, err);
}

static struct dfg_err *encode_png(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	struct dfg_tensor *out;
	struct picture picture;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(picture_of(in, 4, &picture));
	DFG_TRY(dfg_png_open());
	const int64_t bytes = picture.height * picture.width * picture.channels * picture.bits / 8;
	for (int64_t i = 0; i < dfg_shape_count(&out->shape); i++, picture.pixels += bytes)
		DFG_TRY(encode_one_png(ctx, &picture, i));
	return NULL;
}

struct jpeg_writer {
	struct dfg_jpeg jpeg;
	struct dfg_jpeg_encoder codec;
	struct dfg_jpeg_destination destination;
	struct dfg_text text;
	const struct picture *picture;
	const union dfg_value *attr; /* of EncodeJpeg; NULL: the defaults */
	int quality;
	unsigned char *buffer; /* of BUFFER bytes */
};

static void reset(struct dfg_jpeg_encoder *codec)
{
	struct jpeg_writer *writer = codec->client;
	writer->destination.next = writer->buffer;
	writer->destination.left = BUFFER;
}

static int empty(struct dfg_jpeg_encoder *codec)
{
	struct jpeg_writer *writer = codec->client;
	dfg_text_put(&writer->text, writer->buffer, BUFFER);
	reset(codec);
	return true;
}

static void finish(struct dfg_jpeg_encoder *codec)
{
	struct jpeg_writer *writer = codec->client;
	dfg_text_put(&writer->text, writer->buffer, BUFFER - writer->destination.left);
}

static void set_options(struct jpeg_writer *writer)
{
	struct dfg_jpeg_encoder *codec = &writer->codec;
	const union dfg_value *attr = writer->attr;
	const bool downsamples = !attr || attr[DOWNSAMPLE].b;
	codec->optimise = attr && attr[OPTIMISE].b;
	codec->density_unit = attr && *attr[UNIT].s.s == 'c' ? 2 : 1;
	codec->x_density = (uint16_t)(attr ? attr[X_DENSITY].i : 300);
	codec->y_density = (uint16_t)(attr ? attr[Y_DENSITY].i : 300);
	dfg_jpeg_set_quality(codec, writer->quality, true);
	if (attr && attr[PROGRESSIVE].b)
		dfg_jpeg_simple_progression(codec);
	if (!downsamples)
		codec->component->h_sampling = codec->component->v_sampling = 1; /* as the other two have */
}

/* XMP is in a marker APP1, after the name of its name space. */
static void write_metadata(struct jpeg_writer *writer)
{
	static const char name[] = "http://ns.adobe.com/xap/1.0/";
	const struct dfg_string *metadata = &writer->attr[METADATA].s;
	struct dfg_text *marker = &writer->text; /* it is empty: the buffer holds what has been written */
	dfg_text_put(marker, name, sizeof name);
	dfg_text_put(marker, metadata->s, metadata->length);
	if (marker->s && !marker->short_of_memory)
		dfg_jpeg_write_marker(&writer->codec, 0xE1, (const unsigned char *)marker->s, (unsigned)marker->length);
	marker->length = 0;
}

/* The act that writes the file. */
static void write_jpeg(void *arg)
{
	struct jpeg_writer *writer = arg;
	struct dfg_jpeg_encoder *codec = &writer->codec;
	const struct picture *picture = writer->picture;
	dfg_jpeg_CreateCompress(codec, JPEG_INTERFACE, sizeof *codec);
	codec->destination = &writer->destination;
	codec->image_width = (unsigned)picture->width;
	codec->image_height = (unsigned)picture->height;
	codec->input_components = (int)picture->channels;
	codec->in_colours = picture->channels == 1 ? JPEG_GREY : JPEG_RGB;
	dfg_jpeg_set_defaults(codec);
	set_options(writer);
	dfg_jpeg_start_compress(codec, true);
	if (writer->attr && writer->attr[METADATA].s.length)
		write_metadata(writer);
	for (int64_t y = 0; y < picture->height; y++) {
		unsigned char *row = (unsigned char *)picture->pixels + y * picture->width * picture->channels;
		dfg_jpeg_write_scanlines(codec, &row, 1);
	}
	dfg_jpeg_finish_compress(codec);
}

static void destroy_jpeg(void *arg)
{
	dfg_jpeg_destroy_compress(arg);
}

/* One image as element i of the output. */
static struct dfg_err *encode_one_jpeg(
	struct dfg_kernel *ctx, const struct picture *picture, const union dfg_value *attr, int64_t quality, int64_t i)
{
	struct jpeg_writer writer = {.picture = picture,
		.attr = attr,
		.quality = (int)quality,
		.destination = {.init = reset, .empty = empty, .term = finish}};
	if (picture->channels == 2)
		return DFG_ERR(DFG_DATA, "image has 2 channels, expected 1 or 3");
	if (quality < 0 || quality > 100)
		return DFG_ERR(DFG_DATA, "quality is %lld, expected 0 to 100", (long long)quality);
	DFG_TRY(dfg_kernel_scratch(ctx, BUFFER, (void **)&writer.buffer));
	DFG_TRY(dfg_jpeg_begin(&writer.jpeg, &writer.codec.err, &writer.codec.client));
	struct dfg_err *err = dfg_jpeg_try(&writer.jpeg, write_jpeg, &writer);
	if (writer.codec.memory)
		err = dfg_err_join(err, dfg_jpeg_try(&writer.jpeg, destroy_jpeg, &writer.codec));
	return give_file(ctx, i, &writer.text, err);
}

static struct dfg_err *jpeg_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	const int64_t channels = node->in[0]->dim[2], wanted = attr[FORMAT].s.length == 9 ? 1
														   : attr[FORMAT].s.length    ? 3
																					  : 0;
	DFG_TRY(dfg_need_rank(node, 0, 3));
	if (channels != DFG_UNKNOWN && (wanted ? channels != wanted : channels != 1 && channels != 3))
		return DFG_ERR(DFG_DATA, "image has %lld channels, expected %s", (long long)channels,
			wanted == 1   ? "1 for grayscale"
			: wanted == 3 ? "3 for rgb"
						  : "1 or 3");
	if (attr[QUALITY].i < 0 || attr[QUALITY].i > 100)
		return DFG_ERR(DFG_DATA, "quality is %lld, expected 0 to 100", (long long)attr[QUALITY].i);
	for (int i = X_DENSITY; i <= Y_DENSITY; i++)
		if (attr[i].i < 0 || attr[i].i > UINT16_MAX)
			return DFG_ERR(
				DFG_DATA, "%c_density is %lld, expected 0 to 65535", 'x' + i - X_DENSITY, (long long)attr[i].i);
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *encode_jpeg(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	struct dfg_tensor *out;
	struct picture picture;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(picture_of(dfg_kernel_input(ctx, 0), 3, &picture));
	return encode_one_jpeg(ctx, &picture, attr, attr[QUALITY].i, 0);
}

static struct dfg_err *quality_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 3));
	DFG_TRY(dfg_need_rank(node, 1, 0));
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static struct dfg_err *encode_jpeg_of_quality(struct dfg_kernel *ctx)
{
	struct dfg_tensor *out;
	struct picture picture;
	DFG_TRY(dfg_output_now(ctx, &out));
	DFG_TRY(picture_of(dfg_kernel_input(ctx, 0), 3, &picture));
	return encode_one_jpeg(ctx, &picture, NULL, dfg_tensor_int(ctx->in[1], 0), 0);
}

const struct dfg_op dfg_op_EncodePng = {
	.name = "EncodePng",
	.doc = "a PNG file with the image, rows by columns by 1 to 4 channels; one for each image of the axes before these",
	.sig = "<T: u8|u16 = u8>(image: T) -> (contents: string)",
	.attr = {[COMPRESSION] = "compression: int = -1"},
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = png_shape,
	.run = encode_png,
};

const struct dfg_op dfg_op_EncodeJpeg = {
	.name = "EncodeJpeg",
	.doc = "a JPEG file with the image, rows by columns by 1 or 3 channels",
	.sig = "(image: u8) -> (contents: string)",
	.attr = {[FORMAT] = "format: string = '' in |grayscale|rgb",
		[QUALITY] = "quality: int = 95",
		[PROGRESSIVE] = "progressive: bool = false",
		[OPTIMISE] = "optimize_size: bool = false",
		[DOWNSAMPLE] = "chroma_downsampling: bool = true",
		[UNIT] = "density_unit: string = 'in' in in|cm",
		[X_DENSITY] = "x_density: int = 300",
		[Y_DENSITY] = "y_density: int = 300",
		[METADATA] = "xmp_metadata: string = ''"},
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = jpeg_shape,
	.run = encode_jpeg,
};

const struct dfg_op dfg_op_EncodeJpegVariableQuality = {
	.name = "EncodeJpegVariableQuality",
	.doc = "a JPEG file with the image, of a quality from 0 to 100",
	.sig = "(images: u8, quality: i32) -> (contents: string)",
	.flags = DFG_NO_GRADIENT | DFG_EXPENSIVE,
	.shape = quality_shape,
	.run = encode_jpeg_of_quality,
};
