"""Draws of the ops of sound: tests/tensorflow/ops.py."""
import struct

import numpy

from draw_resize import array


def decode(r):
    channels, samples, rate = int(r.integers(1, 4)), int(r.integers(0, 20)), int(r.integers(1, 48000))
    data = r.integers(-32768, 32768, (samples, channels)).astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * 2, channels * 2, 16)
    other = struct.pack("<4sI", b"LIST", 4) + b"abcd" if r.random() < 0.3 else b""
    body = b"WAVE" + struct.pack("<4sI", b"fmt ", 16) + form + other + struct.pack("<4sI", b"data", len(data)) + data
    file = struct.pack("<4sI", b"RIFF", len(body)) + body
    if r.random() < 0.1:
        file = file[:int(r.integers(0, len(file)))]
    attrs = {"desired_channels": int(r.choice([-1, 1, 2, 4])), "desired_samples": int(r.choice([-1, 1, 8, 30]))}
    return {"inputs": [numpy.array(file, object)], "attrs": attrs, "rtol": 0, "atol": 0}


def encode(r):
    x = array(r, [int(r.integers(1, 20)), int(r.integers(1, 4))], "f4", -1.2, 1.2)
    return {"inputs": [x, numpy.array(r.integers(1, 48000), "i4")], "base64": True}


def summary(r):
    size = [int(r.integers(0, 5)), int(r.integers(1, 9)), *([int(r.integers(1, 4))] if r.random() < 0.6 else [])]
    rate = numpy.array(int(r.integers(-1, 48000)) + 0.5, "f4")
    inputs = [numpy.array(b"sounds", object), array(r, size, "f4", -1.2, 1.2), rate]
    return {"inputs": inputs, "attrs": {"max_outputs": int(r.integers(1, 5))}, "base64": True}


DRAWS = {"AudioSummaryV2": summary, "DecodeWav": decode, "EncodeWav": encode}
