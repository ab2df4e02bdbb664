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


def limits(r):
    made = {"minlength": int(r.integers(-1, 9)), "maxlength": int(r.integers(-1, 9)), "binary_output": bool(r.random() < 0.3)}
    return {k: v for k, v in made.items() if k == "binary_output" or r.random() < 0.7}


def signed(r, size):
    """Numbers of which some are negative, in every second case."""
    return numbers(r, size) - numpy.array(r.integers(0, 2), "i4").astype("i4") * (2 if r.random() < 0.5 else 0)


def counted_dense(r):
    values = signed(r, [int(n) for n in r.integers(0, 6, int(r.integers(1, 3)))])
    return {"inputs": [values, weights(r, values.shape)], "attrs": limits(r)}


def counted_sparse(r):
    shape = dims(r, int(r.integers(1, 3)))
    at = indices(r, shape)
    values = signed(r, [len(at)])
    if len(at) and r.random() < 0.05:
        at[0, 0] = int(r.choice([-1, shape[0]]))
    return {"inputs": [at, values, numpy.array(shape, "i8"), weights(r, values.shape)], "attrs": limits(r)}


def counted_ragged(r):
    values = signed(r, [int(r.integers(0, 9))])
    ends = splits(r, len(values))
    if r.random() < 0.05:
        ends[-1] += int(r.choice([-1, 1]))
    return {"inputs": [ends, values, weights(r, values.shape)], "attrs": limits(r)}


def nth(r):
    shape = dims(r, None, 7)
    kind = str(r.choice(["f4", "f8", "i4", "u1"]))
    x = (r.integers(0, 4, shape) if r.random() < 0.4 else r.normal(size=shape) * 9 + 50).astype(kind)
    return {"inputs": [x, numpy.array(r.integers(-1 if r.random() < 0.05 else 0, shape[-1] + (r.random() < 0.05)), "i4")],
            "attrs": {"reverse": bool(r.random() < 0.5)}, "static": True, "const": (1,), "grad": (0,) if kind[0] == "f" else ()}


DRAWS = {"DenseCountSparseOutput": counted_dense, "SparseCountSparseOutput": counted_sparse,
         "RaggedCountSparseOutput": counted_ragged,
         "RaggedBincount": ragged, "SparseBincount": sparse, "NthElement": nth}
