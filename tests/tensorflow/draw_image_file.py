"""Draws of the ops that read and write images in files: tests/tensorflow/ops.py."""
import struct
import zlib

import numpy
import tensorflow

PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def smooth(r, channels, most=20):
    """An image as photographs are: JPEG's errors are small."""
    height, width = (int(n) for n in r.integers(1, most, 2))
    y, x = numpy.mgrid[:height, :width]
    planes = [127 + 100 * numpy.sin(r.normal() * y / 4 + r.normal() * x / 4 + c) for c in range(channels)]
    return (numpy.stack(planes, -1) + r.integers(0, 20, (height, width, channels))).astype("u1")


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def scan_lines(r, width, height, channels, bits):
    """Rows of random bits, each after its filter."""
    size = (width * channels * bits + 7) // 8
    return b"".join(bytes([r.integers(0, 5)]) + r.integers(0, 256, size).astype("u1").tobytes() for _ in range(height))


def png_file(r):
    """Any color type, depth, filter, interlacing and transparency."""
    colours = int(r.choice([0, 2, 3, 4, 6]))
    bits = int(r.choice({0: [1, 2, 4, 8, 16], 3: [1, 2, 4, 8]}.get(colours, [8, 16])))
    width, height, interlaced = int(r.integers(1, 20)), int(r.integers(1, 20)), int(r.integers(0, 2))
    channels = PNG_CHANNELS[colours]
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colours, 0, 0, interlaced))
    if colours == 3:
        file += chunk(b"PLTE", r.integers(0, 256, 3 * 2**bits).astype("u1").tobytes())
    if colours in (0, 2, 3) and r.random() < 0.4:
        size = {0: 2, 2: 6, 3: int(r.integers(1, 2**bits + 1))}[colours]
        file += chunk(b"tRNS", r.integers(0, 256, size).astype("u1").tobytes())
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    sizes = [((width - x + dx - 1) // dx, (height - y + dy - 1) // dy) for x, y, dx, dy in passes]
    data = b"".join(scan_lines(r, w, h, channels, bits) for w, h in sizes if w > 0 and h > 0)
    return file + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def jpeg_file(r, most=40):
    channels = int(r.choice([1, 3]))
    return tensorflow.io.encode_jpeg(
        smooth(r, channels, most), quality=int(r.integers(20, 101)), progressive=bool(r.random() < 0.4),
        optimize_size=bool(r.random() < 0.3), chroma_downsampling=bool(r.random() < 0.6)).numpy()


def bmp_file(r):
    bits, width, height = int(r.choice([8, 24, 32, 16], p=[0.3, 0.3, 0.3, 0.1])), int(r.integers(1, 12)), int(r.integers(1, 12))
    size = (bits // 8 * width + 3) // 4 * 4 * height
    start = int(r.choice([54, 122]))
    rows = height if r.random() < 0.6 else -height
    header = struct.pack("<2sIIIIiiHHIIiiII", b"BM", start + size, 0, start, 40, width, rows, 1, bits, 0, size, 1, 1, 0, 0)
    return header.ljust(start, b"\0") + r.integers(0, 256, size).astype("u1").tobytes()


def damaged(r, file, often=0.1):
    return file[:int(r.integers(0, len(file)))] if r.random() < often else file


def attributes(r, **more):
    return {"channels": int(r.choice([0, 0, 1, 3, 4])), **more}


def drawn(file, attrs, *inputs, **more):
    return {"inputs": [numpy.array(file, object), *inputs], "attrs": attrs, "rtol": 0, "atol": 0, **more}


def decode_png(r):
    file = jpeg_file(r) if r.random() < 0.1 else png_file(r)
    return drawn(damaged(r, file), attributes(r, dtype=[tensorflow.uint8, tensorflow.uint16][r.integers(0, 2)]))


def jpeg_attributes(r):
    return {"channels": int(r.choice([0, 1, 3])), "ratio": int(r.choice([1, 1, 2, 4, 8])),
            "fancy_upscaling": bool(r.random() < 0.6), "dct_method": str(r.choice(["", "INTEGER_FAST", "INTEGER_ACCURATE"]))}


def decode_jpeg(r):
    attrs = {**jpeg_attributes(r), "try_recover_truncated": bool(r.random() < 0.4),
             "acceptable_fraction": float(r.choice([1, 0.2, 0.7]))}
    if attrs["try_recover_truncated"]:
        return drawn(jpeg_file(r, 80), attrs)  # TensorFlow may read the end of such a file for ever
    return drawn(damaged(r, jpeg_file(r, 80), 0.3), attrs)


def decode_part(r):
    y, x, height, width = (int(n) for n in r.integers([0, 0, 1, 1], [20, 20, 20, 20]))
    attrs = {**jpeg_attributes(r), "ratio": int(r.choice([1, 1, 1, 2]))}
    return drawn(jpeg_file(r, 60), attrs, numpy.array([y, x, height, width], "i4"))


def decode_bmp(r):
    return drawn(damaged(r, bmp_file(r)), attributes(r))


def decode_image(r):
    file = [jpeg_file, png_file, bmp_file][r.integers(0, 3)](r)
    dtype = [tensorflow.uint8, tensorflow.uint16, tensorflow.float32][r.integers(0, 3)]
    if file[:2] == b"BM" and file[25] > 127 and dtype != tensorflow.uint8:
        dtype = tensorflow.uint8  # TensorFlow allocates a negative number of elements
    return drawn(file, attributes(r, dtype=dtype, expand_animations=bool(r.random() < 0.5)))


def extract_shape(r):
    file = jpeg_file(r) if r.random() < 0.9 else png_file(r)
    return drawn(file, {"output_type": [tensorflow.int32, tensorflow.int64][r.integers(0, 2)]})


def encode_png(r):
    lead = [int(n) for n in r.integers(1, 3, r.integers(0, 3))]
    shape = lead + [int(n) for n in r.integers([1, 1, 1], [12, 12, 6])]
    kind = str(r.choice(["u1", "u2"]))
    return {"inputs": [r.integers(0, numpy.iinfo(kind).max, shape).astype(kind)], "base64": True,
            "attrs": {"compression": int(r.integers(-1, 10))}}


def encode_jpeg(r):
    channels = int(r.choice([1, 2, 3], p=[0.4, 0.1, 0.5]))
    attrs = {"format": str(r.choice(["", "", "grayscale", "rgb"])), "quality": int(r.integers(0, 101)),
             "progressive": bool(r.random() < 0.4), "optimize_size": bool(r.random() < 0.4),
             "chroma_downsampling": bool(r.random() < 0.6), "density_unit": str(r.choice(["in", "cm"])),
             "x_density": int(r.integers(1, 65536)), "y_density": int(r.integers(1, 65536)),
             "xmp_metadata": str(r.choice(["", "<x/>"]))}
    return {"inputs": [smooth(r, channels, 40)], "attrs": attrs, "base64": True}


def encode_jpeg_of_quality(r):
    return {"inputs": [smooth(r, int(r.choice([1, 3])), 40), numpy.array(r.integers(0, 101), "i4")], "base64": True}


DRAWS = {"DecodePng": decode_png, "DecodeJpeg": decode_jpeg, "DecodeAndCropJpeg": decode_part, "DecodeBmp": decode_bmp,
         "DecodeImage": decode_image, "ExtractJpegShape": extract_shape, "EncodePng": encode_png, "EncodeJpeg": encode_jpeg,
         "EncodeJpegVariableQuality": encode_jpeg_of_quality}
