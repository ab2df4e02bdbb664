"""Draws of ops that count or select numbers: tests/tensorflow/ops.py."""
import numpy

from draw_sparse import dims, indices


def weights(r, size):
    kind = str(r.choice(["f4", "f8", "i4", "i8"]))
    return (r.normal(size=size if r.random() < 0.6 else [0]) * 5).astype(kind)


def numbers(r, size):
    return r.integers(0, 6, size).astype(str(r.choice(["i4", "i8"])))


def splits(r, n):
    ends = numpy.sort(r.integers(0, n + 1, int(r.integers(0, 4))))
    return numpy.array([0, *ends, n], "i8")


def size_of(r, values):
    return numpy.array(r.integers(0, 8), values.dtype)


def ragged(r):
    values = numbers(r, [int(r.integers(0, 9))])
    return {"inputs": [splits(r, len(values)), values, size_of(r, values), weights(r, values.shape)],
            "attrs": {"binary_output": bool(r.random() < 0.3)}}


def sparse(r):
    shape = dims(r, int(r.integers(1, 3)))
    at = indices(r, shape)
    values = numbers(r, [len(at)])
    return {"inputs": [at, values, numpy.array(shape, "i8"), size_of(r, values), weights(r, values.shape)],
            "attrs": {"binary_output": bool(r.random() < 0.3)}}


def nth(r):
    shape = dims(r, None, 7)
    kind = str(r.choice(["f4", "f8", "i4", "u1"]))
    x = (r.integers(0, 4, shape) if r.random() < 0.4 else r.normal(size=shape) * 9 + 50).astype(kind)
    return {"inputs": [x, numpy.array(r.integers(-1 if r.random() < 0.05 else 0, shape[-1] + (r.random() < 0.05)), "i4")],
            "attrs": {"reverse": bool(r.random() < 0.5)}, "static": True, "const": (1,), "grad": (0,) if kind[0] == "f" else ()}


DRAWS = {"RaggedBincount": ragged, "SparseBincount": sparse, "NthElement": nth}
