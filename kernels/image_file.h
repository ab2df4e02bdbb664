#pragma once

#include "lib/graph/kernel.h"

/*
 * Decoded images on their way to output 0 of a kernel. A decoder writes samples of 8 or 16 bits to `samples`, frame by
 * frame, row by row, the channels of a pixel after one another; dfg_image_end() converts them to the dtype of the output.
 */
struct dfg_image {
	int64_t frames, height, width, channels; /* frames 0: the output has no such axis */
	int bits;                                /* of a sample: 8 or 16 */
	void *samples;                           /* the output's memory, or scratch */
	struct dfg_tensor *out;
};

/* Files with more pixels are refused. */
#define DFG_IMAGE_MOST_PIXELS ((int64_t)1 << 29)

/* Allocates the output, whose shape and bits are set. DFG_DATA for an image without pixels or with too many. */
DFG_MUST_CHECK struct dfg_err *dfg_image_begin(struct dfg_kernel *ctx, struct dfg_image *image);
void dfg_image_end(const struct dfg_image *image);

/* How a JPEG file is decoded. */
struct dfg_jpeg_request {
	int64_t channels; /* 0: as many as the file has, at most 3 */
	int64_t ratio;    /* the image is made smaller by 1, 2, 4 or 8 */
	bool fancy_upscaling, recover, accurate;
	float acceptable; /* the fraction of the rows that a file which ends early must have */
	bool crops;
	int64_t y, x, height, width; /* the part of the image, if it is cropped */
};

/* Decoders of a file: output 0 has an axis of frames if framed. */
DFG_MUST_CHECK struct dfg_err *dfg_decode_jpeg(
	struct dfg_kernel *ctx, const struct dfg_string *file, const struct dfg_jpeg_request *request, bool framed);

/* Height, width and channels of the file; the pixels are not read. */
DFG_MUST_CHECK struct dfg_err *dfg_measure_jpeg(const struct dfg_string *file, int64_t *out_size);

DFG_MUST_CHECK struct dfg_err *dfg_decode_png(
	struct dfg_kernel *ctx, const struct dfg_string *file, int64_t channels, bool framed);
DFG_MUST_CHECK struct dfg_err *dfg_decode_bmp(struct dfg_kernel *ctx, const struct dfg_string *file, int64_t channels);
