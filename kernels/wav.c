#include "kernels/protobuf.h"
#include "kernels/shape_rules.h"
#include "lib/graph/kernel.h"

#include <math.h>
#include <string.h>

/* Sound in files of RIFF's WAVE form, of 16 bits a sample: floats in [-1, 1), samples by channels. */
enum { CHANNELS, SAMPLES }; /* attributes of DecodeWav; -1: as many as the file has */
enum { HEADER = 44, PCM = 1 };

struct sound {
	int64_t channels, rate, samples; /* samples of each channel */
	const unsigned char *data;       /* little-endian, channels after one another in each sample */
};

static uint32_t read_bytes(const unsigned char *from, int n)
{
	uint32_t value = 0;
	for (int i = n - 1; i >= 0; i--)
		value = value << 8 | from[i];
	return value;
}

static struct dfg_err *read_format(const unsigned char *chunk, uint32_t size, struct sound *out_sound)
{
	if (size < 16)
		return DFG_ERR(DFG_DATA, "the chunk 'fmt ' has %u bytes, expected at least 16", size);
	const uint32_t format = read_bytes(chunk, 2), bits = read_bytes(chunk + 14, 2);
	out_sound->channels = read_bytes(chunk + 2, 2);
	out_sound->rate = read_bytes(chunk + 4, 4);
	if (format != PCM || bits != 16 || out_sound->channels < 1 || out_sound->rate > INT32_MAX)
		return DFG_ERR(DFG_DATA,
			"the sound has format %u, %u bits a sample, %lld channels and %lld samples a second; expected format 1 of "
			"16 "
			"bits, and at least one channel",
			format, bits, (long long)out_sound->channels, (long long)out_sound->rate);
	return NULL;
}

static struct dfg_err *read_sound(const struct dfg_string *file, struct sound *out_sound)
{
	const unsigned char *bytes = (const unsigned char *)file->s;
	*out_sound = (struct sound){0};
	if (file->length < 12 || memcmp(bytes, "RIFF", 4) || memcmp(bytes + 8, "WAVE", 4))
		return DFG_ERR(DFG_DATA, "contents has %zu bytes that are not those of a WAVE file", file->length);
	for (size_t at = 12; at + 8 <= file->length;) {
		const uint32_t size = read_bytes(bytes + at + 4, 4);
		const unsigned char *chunk = bytes + at + 8;
		if (size > file->length - at - 8)
			return DFG_ERR(
				DFG_DATA, "the chunk at byte %zu has %u bytes, but only %zu follow", at, size, file->length - at - 8);
		if (!memcmp(bytes + at, "fmt ", 4))
			DFG_TRY(read_format(chunk, size, out_sound));
		if (!memcmp(bytes + at, "data", 4) && out_sound->channels) {
			out_sound->data = chunk;
			out_sound->samples = size / (2 * out_sound->channels);
			return NULL;
		}
		at += 8 + (size_t)size + size % 2;
	}
	return DFG_ERR(DFG_DATA, "the WAVE file has no chunk 'data' after one 'fmt '");
}

static struct dfg_err *decode_shape(struct dfg_infer *node)
{
	const union dfg_value *attr = node->call->attr;
	DFG_TRY(dfg_need_rank(node, 0, 0));
	if (attr[CHANNELS].i < -1 || attr[CHANNELS].i == 0 || attr[SAMPLES].i < -1)
		return DFG_ERR(DFG_DATA, "desired_channels is %lld and desired_samples %lld, expected -1 or numbers of them",
			(long long)attr[CHANNELS].i, (long long)attr[SAMPLES].i);
	node->out[0] = (struct dfg_shape){.rank = 2,
		.dim = {attr[SAMPLES].i < 0 ? DFG_UNKNOWN : attr[SAMPLES].i,
			attr[CHANNELS].i < 0 ? DFG_UNKNOWN : attr[CHANNELS].i}};
	node->out[1] = (struct dfg_shape){0};
	return NULL;
}

/* Samples beyond the file's are zeros, channels beyond the file's are its last one. */
static struct dfg_err *decode(struct dfg_kernel *ctx)
{
	const union dfg_value *attr = dfg_kernel_attr(ctx);
	const struct dfg_shape scalar = {0};
	struct dfg_tensor *out, *rate;
	struct sound sound;
	DFG_TRY(read_sound(ctx->in[0]->data, &sound));
	const int64_t samples = attr[SAMPLES].i < 0 ? sound.samples : attr[SAMPLES].i;
	const int64_t channels = attr[CHANNELS].i < 0 ? sound.channels : attr[CHANNELS].i;
	DFG_TRY(dfg_kernel_output(ctx, 0, &(struct dfg_shape){.rank = 2, .dim = {samples, channels}}, &out));
	DFG_TRY(dfg_kernel_output(ctx, 1, &scalar, &rate));
	for (int64_t i = 0; i < samples * channels; i++) {
		const int64_t sample = i / channels, c = i % channels, from = c < sound.channels ? c : sound.channels - 1;
		const unsigned char *at = sample < sound.samples ? sound.data + 2 * (sample * sound.channels + from) : NULL;
		((float *)out->data)[i] = at ? (float)(int16_t)read_bytes(at, 2) / 32768 : 0;
	}
	*(int32_t *)rate->data = (int32_t)sound.rate;
	return NULL;
}

static struct dfg_err *encode_shape(struct dfg_infer *node)
{
	DFG_TRY(dfg_need_rank(node, 0, 2));
	DFG_TRY(dfg_need_rank(node, 1, 0));
	node->out[0] = (struct dfg_shape){0};
	return NULL;
}

static void write_bytes(unsigned char *to, int n, uint32_t value)
{
	for (int i = 0; i < n; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

static void write_header(unsigned char *to, uint32_t bytes, uint32_t channels, uint32_t rate)
{
	memcpy(to, "RIFF    WAVEfmt ", 16);
	write_bytes(to + 4, 4, bytes + HEADER - 8);
	write_bytes(to + 16, 4, 16);
	write_bytes(to + 20, 2, PCM);
	write_bytes(to + 22, 2, channels);
	write_bytes(to + 24, 4, rate);
	write_bytes(to + 28, 4, rate * channels * 2);
	write_bytes(to + 32, 2, channels * 2);
	write_bytes(to + 34, 2, 16);
	memcpy(to + 36, "data", 4);
	write_bytes(to + 40, 4, bytes);
}

/* DFG_DATA if a WAVE file cannot have n samples of that many channels at the rate. */
static struct dfg_err *check_sound(const struct dfg_shape *shape, int64_t n, int64_t channels, int64_t rate)
{
	if (channels < 1 || channels > 1024 || rate < 1 || rate > INT32_MAX / (2 * channels) ||
		n > (INT32_MAX - HEADER) / 2)
		return DFG_ERR(DFG_DATA, "audio has shape %s and sample_rate is %lld, which a WAVE file cannot have",
			dfg_shape_words(shape).s, (long long)rate);
	return NULL;
}

static void write_file(unsigned char *file, const float *sample, int64_t n, uint32_t channels, uint32_t rate)
{
	write_header(file, (uint32_t)n * 2, channels, rate);
	for (int64_t i = 0; i < n; i++) {
		const float x = roundf(sample[i] * 32768);
		write_bytes(file + HEADER + 2 * i, 2, (uint32_t)(int32_t)(x > -32768 ? x < 32767 ? x : 32767 : -32768));
	}
}

static struct dfg_err *encode(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, 0);
	const struct dfg_shape scalar = {0};
	const int64_t channels = in->shape.dim[1], n = dfg_shape_count(&in->shape), rate = dfg_tensor_int(ctx->in[1], 0);
	struct dfg_tensor *out;
	unsigned char *file;
	DFG_TRY(check_sound(&in->shape, n, channels, rate));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)n * 2 + HEADER, (void **)&file));
	write_file(file, in->data, n, (uint32_t)channels, (uint32_t)rate);
	DFG_TRY(dfg_kernel_output(ctx, 0, &scalar, &out));
	return dfg_kernel_string(ctx, 0, 0, file, (size_t)n * 2 + HEADER);
}

const struct dfg_op dfg_op_DecodeWav = {
	.name = "DecodeWav",
	.doc = "the samples of a WAVE file of 16 bits, in [-1, 1), and how many there are in a second",
	.sig = "(contents: string) -> (audio: f32, sample_rate: i32)",
	.attr = {[CHANNELS] = "desired_channels: int = -1", [SAMPLES] = "desired_samples: int = -1"},
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = decode_shape,
	.run = decode,
};

const struct dfg_op dfg_op_EncodeWav = {
	.name = "EncodeWav",
	.doc = "a WAVE file of 16 bits with the samples, which are cut to [-1, 1)",
	.sig = "(audio: f32, sample_rate: i32) -> (contents: string)",
	.flags = DFG_NO_GRADIENT | DFG_EXACT,
	.shape = encode_shape,
	.run = encode,
};

/* AudioSummaryV2: fields Summary.value; Value.tag, .audio; Audio.sample_rate to .content_type. */
enum { VALUE = 1, TAG = 1, AUDIO = 6, RATE = 1, CHANNEL_COUNT, FRAMES, FILE_BYTES, CONTENT_TYPE };
enum { TAG_INPUT, SOUND_INPUT, RATE_INPUT };

static struct dfg_err *summary_shape(struct dfg_infer *node)
{
	const struct dfg_shape *sound = node->in[SOUND_INPUT];
	DFG_TRY(dfg_need_rank(node, TAG_INPUT, 0));
	DFG_TRY(dfg_need_rank(node, RATE_INPUT, 0));
	if (sound->rank >= 0 && sound->rank != 2 && sound->rank != 3)
		return DFG_ERR(DFG_DATA, "tensor has shape %s, expected [batch, frames] or [batch, frames, channels]",
			dfg_shape_words(sound).s);
	node->out[0] = DFG_SHAPE_SCALAR;
	return NULL;
}

static void put_number(struct dfg_text *to, int field, int64_t number)
{
	if (!number) /* the default is not written */
		return;
	dfg_proto_put_key(to, field, DFG_PROTO_VARINT);
	dfg_proto_put_varint(to, (uint64_t)number);
}

/* Sound b of the batch as a value of the summary, whose tag has its number unless max_outputs is 1. */
static void put_sound(struct dfg_kernel *ctx, struct dfg_text *summary, int64_t b, int64_t most, float rate,
	const unsigned char *file, size_t bytes)
{
	const struct dfg_shape *shape = &ctx->in[SOUND_INPUT]->shape;
	const struct dfg_string tag = *(const struct dfg_string *)ctx->in[TAG_INPUT]->data;
	struct dfg_text value = {0}, audio = {0}, name = {0};
	dfg_text_put(&name, tag.s, tag.length);
	dfg_text_add(&name, most > 1 ? "/audio/%lld" : "/audio", (long long)b);
	dfg_proto_put_bytes(&value, TAG, name.s, name.length);
	dfg_proto_put_key(&audio, RATE, DFG_PROTO_FIXED32);
	dfg_text_put(&audio, &rate, sizeof rate);
	put_number(&audio, CHANNEL_COUNT, shape->rank == 3 ? shape->dim[2] : 1);
	put_number(&audio, FRAMES, shape->dim[1]);
	dfg_proto_put_bytes(&audio, FILE_BYTES, file, bytes);
	dfg_proto_put_bytes(&audio, CONTENT_TYPE, "audio/wav", strlen("audio/wav"));
	dfg_proto_put_message(&value, AUDIO, &audio);
	dfg_proto_put_message(summary, VALUE, &value);
	dfg_text_release(&name);
}

static struct dfg_err *summary_run(struct dfg_kernel *ctx)
{
	const struct dfg_tensor *in = dfg_kernel_input(ctx, SOUND_INPUT);
	const float rate = *(const float *)ctx->in[RATE_INPUT]->data;
	const int64_t channels = in->shape.rank == 3 ? in->shape.dim[2] : 1, n = in->shape.dim[1] * channels;
	const int64_t most = dfg_kernel_attr(ctx)[0].i;
	struct dfg_text summary = {0};
	unsigned char *file;
	if (!(rate > 0 && rate < INT32_MAX))
		return DFG_ERR(DFG_DATA, "sample_rate is %g, expected a number above 0", (double)rate);
	DFG_TRY(check_sound(&in->shape, n, channels, (int64_t)rintf(rate)));
	DFG_TRY(dfg_kernel_scratch(ctx, (size_t)n * 2 + HEADER, (void **)&file));
	for (int64_t b = 0; b < in->shape.dim[0] && b < most; b++) {
		write_file(file, (const float *)in->data + b * n, n, (uint32_t)channels, (uint32_t)rintf(rate));
		put_sound(ctx, &summary, b, most, rate, file, (size_t)n * 2 + HEADER);
	}
	return dfg_proto_give(ctx, &summary);
}

const struct dfg_op dfg_op_AudioSummaryV2 = {
	.name = "AudioSummaryV2",
	.doc = "a summary with the first max_outputs sounds of a batch, as WAVE files",
	.sig = "(tag: string, tensor: f32, sample_rate: f32) -> (summary: string)",
	.attr = {"max_outputs: int = 3 >= 1"},
	.flags = DFG_ANY_RANK,
	.shape = summary_shape,
	.gradient = "",
	.run = summary_run,
};
