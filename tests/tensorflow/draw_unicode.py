"""Draws of ops on code points, on values as text, and of summaries: tests/tensorflow/ops.py."""
import numpy

from draw_text import scalar, shape

CHARACTERS = ["a", "Z", "\n", "\t", "\0", "é", "ß", "日", "本", "\u07ff", "\u0800", "\uffff", "😀", "\U0010ffff", "\u200b"]
BROKEN = [b"\xff", b"\x80", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\xc3", b"\xf5a"]
ENCODINGS = ["UTF-8", "UTF-8", "UTF-16-BE", "UTF-32-BE", "ISO-8859-1", "US-ASCII"]


def text(r, encoding):
    parts = []
    for _ in range(r.integers(0, 6)):
        if encoding == "UTF-8" and r.random() < 0.15:
            parts.append(BROKEN[r.integers(len(BROKEN))])
        else:
            made = CHARACTERS[r.integers(len(CHARACTERS))]
            parts.append(made.encode({"US-ASCII": "ascii"}.get(encoding, encoding.replace("-BE", "be").lower()), "ignore"))
    return b"".join(parts)


def strings(r, size, encoding):
    made = numpy.empty(size, object)
    for at in numpy.ndindex(*size):
        made[at] = text(r, encoding)
    return made


def policy(r):
    return {"errors": str(r.choice(["replace", "replace", "ignore", "strict"])), "replacement_char": int(r.choice([65533, 32, 128512]))}


def decode(r):
    encoding = str(r.choice(ENCODINGS))
    return {"inputs": [strings(r, shape(r), encoding)],
            "attrs": {"input_encoding": encoding, "replace_control_characters": bool(r.integers(2)),
                      "Tsplits": str(r.choice(["int32", "int64"])), **policy(r)}}


def transcode(r):
    encoding = str(r.choice(ENCODINGS))
    return {"inputs": [strings(r, shape(r), encoding)],
            "attrs": {"input_encoding": encoding, "output_encoding": str(r.choice(["UTF-8", "UTF-16-BE", "UTF-32-BE"])),
                      "replace_control_characters": bool(r.integers(2)), **policy(r)}}


def encode(r):
    n = int(r.integers(0, 8))
    points = [ord(CHARACTERS[r.integers(len(CHARACTERS))]) if r.random() < 0.9 else int(r.choice([0xd800, 0x110000, -1])) for _ in range(n)]
    splits = numpy.concatenate([[0], numpy.sort(r.integers(0, n + 1, r.integers(0, 4))), [n]])
    return {"inputs": [numpy.array(points, "i4"), splits.astype(r.choice(["i4", "i8"]))],
            "attrs": {"output_encoding": str(r.choice(["UTF-8", "UTF-16-BE", "UTF-32-BE"])), **policy(r)}}


def numbers(r, kinds=("f4", "f8", "i4", "i8", "u1", "?")):
    kind = str(r.choice(kinds))
    made = r.normal(size=shape(r)) * 10.0 ** float(r.integers(-8, 9))
    return made.astype(kind) if kind != "?" else made > 0


def formats(r):
    inputs = []
    for _ in range(r.integers(0, 4)):
        made = numbers(r) if r.random() < 0.8 else strings(r, shape(r), "UTF-8")
        inputs.append(numpy.where(numpy.abs(made) < 2**31, made, 0).astype(made.dtype) if made.dtype.kind == "f" and r.random() < 0.1 else made)
    return {"inputs": [inputs], "attrs": {"template": "x" + "%s y" * len(inputs), "placeholder": "%s",
                                          "summarize": int(r.choice([-1, 0, 1, 2, 3]))}}


def scalars(r):
    values = numbers(r, ("f4", "f8", "i4", "i8"))
    tags = numpy.empty(values.shape, object)
    for at in numpy.ndindex(*values.shape):
        tags[at] = b"t" * int(r.integers(0, 300))
    return {"inputs": [tags, values]}


def histogram(r):
    return {"inputs": [scalar("h"), numbers(r, ("f4", "f8", "i4", "i8"))]}


def tensors(r):
    return {"inputs": [scalar("t"), numbers(r) if r.random() < 0.8 else strings(r, shape(r), "UTF-8"), scalar("")]}


def offsets(r):
    draw = decode(r)
    return {**draw, "attrs": {**draw["attrs"], "Tsplits": "int64"}}  # TensorFlow 2.21 ends the program with splits of int32


def coded(function):
    """The same draws, whose strings are compared in base64."""
    return lambda r: {**function(r), "base64": True}


DRAWS = {"UnicodeDecode": decode, "UnicodeDecodeWithOffsets": offsets,
         **{op: coded(f) for op, f in {"UnicodeTranscode": transcode, "UnicodeEncode": encode, "StringFormat": formats,
                                       "ScalarSummary": scalars, "HistogramSummary": histogram,
                                       "TensorSummaryV2": tensors}.items()}}
