"""Draws of ops on serialised tensors: tests/tensorflow/ops.py."""
import numpy
import tensorflow

from draw_sparse import dims, values

TYPES = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16", "bool", "S"]


def tensor(r):
    kind, size = str(r.choice(TYPES)), dims(r, int(r.integers(0, 4)), 4)
    made = values(r, size, kind if kind in ("S", "c8", "c16") else "f8")
    return made if kind[0] in "Sc" else (made > 0 if kind == "bool" else abs(made) if kind[0] == "u" else made).astype(kind)


def scalar(text):
    made = numpy.empty([], object)
    made[()] = text
    return made


def serialize(r):
    return {"inputs": [tensor(r)], "base64": True}


def parse(r):
    """As content, or as lists of values whose last one repeats."""
    value = tensor(r)
    message = tensorflow.make_tensor_proto(value)
    if r.random() < 0.5:
        shape = message.tensor_shape
        message = tensorflow.make_tensor_proto(value.reshape([-1])[0])
        message.tensor_shape.CopyFrom(shape)
    bytes_ = message.SerializeToString()
    kind = tensorflow.string if value.dtype == object else tensorflow.as_dtype(value.dtype)
    if r.random() < 0.05:
        kind = tensorflow.as_dtype(str(r.choice(["float32", "int64", "string"])))
    return {"inputs": [scalar(bytes_ if r.random() < 0.95 else bytes_[:-1])], "attrs": {"out_type": kind}, "base64": True}


DRAWS = {"SerializeTensor": serialize, "ParseTensor": parse}
