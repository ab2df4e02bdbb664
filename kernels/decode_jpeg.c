#include "kernels/image_file.h"
#include "kernels/jpeg_library.h"

#include <string.h>

/*
 * A JPEG file as TensorFlow decodes it. The file is in memory as a whole: where libjpeg wants more bytes, it has ended early.
 * Then the decoding stops at the rows that are there. If the file is to be recovered, libjpeg reads the bytes of the unit that
 * is cut again, as TensorFlow lets it, until it comes to the end between two units, and then the end marker.
 */
struct decoder {
	struct dfg_jpeg jpeg;
	struct dfg_jpeg_decoder codec;
	struct dfg_jpeg_source source;
	const struct dfg_jpeg_request *request;
	struct dfg_image image;
	bool ended;         /* the end marker has been put in */
	int again;          /* how often libjpeg has read the last bytes again */
	size_t again_left;  /* how many bytes these were */
	int64_t rows;       /* read */
	unsigned left;      /* samples of a decoded row before those of the image: a crop begins at whole blocks */
	unsigned char *row; /* as libjpeg decodes it */
};

static void nothing(struct dfg_jpeg_decoder *codec)
{
	(void)codec;
}

static struct decoder *decoder_of(struct dfg_jpeg_decoder *codec)
{
	return codec->client;
}

/*
 * Whether the bytes of a unit that is cut are read again. They may be such that this never makes a unit; the largest one has
 * fewer bytes than MOST_AGAIN.
 */
static bool reads_again(struct decoder *decoder)
{
	enum { MOST_AGAIN = 4096 };
	if (decoder->again_left != decoder->source.left)
		decoder->again = 0;
	decoder->again_left = decoder->source.left;
	return decoder->source.left && !decoder->ended && decoder->again++ < MOST_AGAIN;
}

static int fill(struct dfg_jpeg_decoder *codec)
{
	static const unsigned char end[2] = {0xFF, 0xD9};
	struct decoder *decoder = decoder_of(codec);
	if (!decoder->request->recover)
		return false;
	if (reads_again(decoder))
		return true;
	if (decoder->ended)
		dfg_jpeg_fail(&decoder->jpeg, "the file ends early");
	decoder->ended = true;
	decoder->source.next = end;
	decoder->source.left = sizeof end;
	return true;
}

static void skip(struct dfg_jpeg_decoder *codec, long bytes)
{
	struct decoder *decoder = decoder_of(codec);
	if (bytes <= 0)
		return;
	if ((size_t)bytes <= decoder->source.left) {
		decoder->source.next += bytes;
		decoder->source.left -= (size_t)bytes;
		return;
	}
	decoder->source.left = 0;
	if (!fill(codec))
		dfg_jpeg_fail(&decoder->jpeg, "the file ends early");
}

static void set_size(struct decoder *decoder)
{
	const struct dfg_jpeg_request *request = decoder->request;
	const struct dfg_jpeg_decoder *codec = &decoder->codec;
	struct dfg_image *image = &decoder->image;
	image->height = request->crops ? request->height : codec->output_height;
	image->width = request->crops ? request->width : codec->output_width;
	image->bits = 8;
}

static void open_file(struct decoder *decoder)
{
	struct dfg_jpeg_decoder *codec = &decoder->codec;
	dfg_jpeg_CreateDecompress(codec, JPEG_INTERFACE, sizeof *codec);
	codec->src = &decoder->source;
	decoder->source.resync = dfg_jpeg_resync_to_restart;
	if (!dfg_jpeg_read_header(codec, true))
		dfg_jpeg_fail(&decoder->jpeg, "the file ends before its pixels");
}

/* The act that reads what comes before the pixels, and says how these are to be decoded. */
static void read_header(void *arg)
{
	struct decoder *decoder = arg;
	struct dfg_jpeg_decoder *codec = &decoder->codec;
	const struct dfg_jpeg_request *request = decoder->request;
	open_file(decoder);
	const int64_t channels = request->channels ? request->channels : codec->components < 3 ? codec->components : 3;
	if (channels == 2)
		dfg_jpeg_fail(&decoder->jpeg, "the file has 2 channels, expected 1, 3 or 4");
	const bool is_cmyk = codec->colours == JPEG_CMYK || codec->colours == JPEG_YCCK;
	codec->out_colours = channels == 1 ? JPEG_GREY : is_cmyk ? JPEG_CMYK : JPEG_RGB;
	codec->fancy_upsampling = request->fancy_upscaling;
	codec->scale_num = 1;
	codec->scale_denom = (unsigned)request->ratio;
	codec->method = request->accurate ? JPEG_ACCURATE : JPEG_FAST;
	dfg_jpeg_calc_output_dimensions(codec);
	decoder->image.channels = channels;
	set_size(decoder);
}

/*
 * An error for an image that the file is too short for: a block of 64 samples has at least one bit, and one block covers
 * at most 32 x 32 pixels. Arithmetic coding has no such limit.
 */
static struct dfg_err *check_size(const struct decoder *decoder, size_t bytes)
{
	const struct dfg_jpeg_decoder *codec = &decoder->codec;
	const struct dfg_jpeg_request *r = decoder->request;
	const int64_t pixels = (int64_t)codec->image_width * codec->image_height;
	if (pixels * codec->components >= DFG_IMAGE_MOST_PIXELS ||
		(!r->recover && !codec->arithmetic && pixels / (8 * 32 * 32) > (int64_t)bytes))
		return DFG_ERR(DFG_DATA, "a file of %zu bytes has %u x %u pixels, which are too many", bytes,
			codec->image_height, codec->image_width);
	if (r->crops && (r->y < 0 || r->x < 0 || r->height < 1 || r->width < 1 || r->y + r->height > codec->output_height ||
						r->x + r->width > codec->output_width))
		return DFG_ERR(DFG_DATA, "crop_window is [%lld,%lld,%lld,%lld], which is not within %u x %u pixels",
			(long long)r->y, (long long)r->x, (long long)r->height, (long long)r->width, codec->output_height,
			codec->output_width);
	return NULL;
}

/* Files that Adobe's programs wrote have their inks inverted. */
static void write_inks(const struct decoder *decoder, unsigned char *to)
{
	const int flip = decoder->codec.saw_adobe ? 0 : 255;
	const unsigned char *from = decoder->row + decoder->left;
	for (int64_t x = 0; x < decoder->image.width; x++, from += 4, to += 3)
		for (int c = 0; c < 3; c++)
			to[c] = (unsigned char)((from[3] ^ flip) * (from[c] ^ flip) / 255);
}

static void write_row(const struct decoder *decoder)
{
	const struct dfg_image *image = &decoder->image;
	const size_t bytes = (size_t)(image->width * image->channels);
	unsigned char *to = (unsigned char *)image->samples + (size_t)decoder->rows * bytes;
	if (decoder->codec.out_colours == JPEG_CMYK)
		write_inks(decoder, to);
	else
		memcpy(to, decoder->row + decoder->left, bytes);
}

static bool begin_crop(struct decoder *decoder)
{
	const struct dfg_jpeg_request *request = decoder->request;
	unsigned x = (unsigned)request->x, width = (unsigned)request->width;
	dfg_jpeg_crop_scanline(&decoder->codec, &x, &width);
	decoder->left =
		(decoder->codec.output_width - (unsigned)request->width) * (unsigned)decoder->codec.output_components;
	return dfg_jpeg_skip_scanlines(&decoder->codec, (unsigned)request->y) == (unsigned)request->y;
}

/* The act that reads as many rows of the image as there are, and then what follows them. */
static void read_rows(void *arg)
{
	struct decoder *decoder = arg;
	struct dfg_jpeg_decoder *codec = &decoder->codec;
	if (!dfg_jpeg_start_decompress(codec))
		dfg_jpeg_fail(&decoder->jpeg, "the file ends early");
	if (decoder->request->crops && !begin_crop(decoder))
		return;
	while (decoder->rows < decoder->image.height && dfg_jpeg_read_scanlines(codec, &decoder->row, 1)) {
		write_row(decoder);
		decoder->rows++;
	}
	if (decoder->rows < decoder->image.height)
		return;
	if (codec->output_scanline < codec->output_height)
		dfg_jpeg_skip_scanlines(codec, codec->output_height - codec->output_scanline);
	if (codec->output_scanline < codec->output_height || !dfg_jpeg_finish_decompress(codec))
		decoder->rows -= decoder->request->acceptable >= 1; /* the image is there, the file is not whole */
}

/* Rows that the file does not have are black. */
static struct dfg_err *check_rows(struct decoder *decoder)
{
	const struct dfg_image *image = &decoder->image;
	const float least = decoder->request->acceptable < 1 ? decoder->request->acceptable : 1;
	const size_t bytes = (size_t)(image->width * image->channels);
	if ((float)decoder->rows / (float)image->height < least)
		return DFG_ERR(DFG_DATA, "the file ends early, in row %lld of %lld", (long long)decoder->rows + 1,
			(long long)image->height);
	memset((unsigned char *)image->samples + (size_t)decoder->rows * bytes, 0,
		(size_t)(image->height - decoder->rows) * bytes);
	return NULL;
}

static struct dfg_err *decode(struct dfg_kernel *ctx, struct decoder *decoder, size_t bytes)
{
	DFG_TRY(dfg_jpeg_begin(&decoder->jpeg, &decoder->codec.err, &decoder->codec.client));
	DFG_TRY(dfg_jpeg_try(&decoder->jpeg, read_header, decoder));
	DFG_TRY(check_size(decoder, bytes));
	DFG_TRY(dfg_kernel_scratch(
		ctx, (size_t)decoder->codec.output_width * (size_t)decoder->codec.output_components, (void **)&decoder->row));
	DFG_TRY(dfg_image_begin(ctx, &decoder->image));
	DFG_TRY(dfg_jpeg_try(&decoder->jpeg, read_rows, decoder));
	DFG_TRY(check_rows(decoder));
	dfg_image_end(&decoder->image);
	return NULL;
}

static void destroy(void *arg)
{
	dfg_jpeg_destroy_decompress(arg);
}

/* Ends the decoder, after an error too. */
static struct dfg_err *end(struct decoder *decoder, struct dfg_err *err)
{
	return decoder->codec.memory ? dfg_err_join(err, dfg_jpeg_try(&decoder->jpeg, destroy, &decoder->codec)) : err;
}

struct dfg_err *dfg_decode_jpeg(
	struct dfg_kernel *ctx, const struct dfg_string *file, const struct dfg_jpeg_request *request, bool framed)
{
	struct decoder decoder = {.request = request,
		.image = {.frames = framed},
		.source = {(const unsigned char *)file->s, file->length, nothing, fill, skip, NULL, nothing}};
	return end(&decoder, decode(ctx, &decoder, file->length));
}

/* The act that reads the size, which is that of the image with all of its channels. */
static void read_size(void *arg)
{
	struct decoder *decoder = arg;
	open_file(decoder);
	dfg_jpeg_calc_output_dimensions(&decoder->codec);
}

static struct dfg_err *measure(struct decoder *decoder)
{
	DFG_TRY(dfg_jpeg_begin(&decoder->jpeg, &decoder->codec.err, &decoder->codec.client));
	return dfg_jpeg_try(&decoder->jpeg, read_size, decoder);
}

struct dfg_err *dfg_measure_jpeg(const struct dfg_string *file, int64_t *out_size)
{
	const struct dfg_jpeg_request request = {0};
	struct decoder decoder = {.request = &request,
		.source = {(const unsigned char *)file->s, file->length, nothing, fill, skip, NULL, nothing}};
	struct dfg_err *err = measure(&decoder);
	out_size[0] = decoder.codec.output_height;
	out_size[1] = decoder.codec.output_width;
	out_size[2] = decoder.codec.output_components;
	return end(&decoder, err);
}
