"""Draws of functions of numbers, counts and searches: tests/tensorflow/ops.py."""
import numpy

from draw_resize import array

from draw_resize import NUMBERS, array

REAL = ["f4", "f8"]


def shape(r, least=0):
    return [*map(int, r.integers(1, 6, r.integers(least, 4)))]


def function(low, high):
    def draw(r):
        dtype = r.choice(REAL)
        narrow = dtype == "f4"
        return {"inputs": [array(r, shape(r), dtype, low, high)], "grad": [0], "rtol": 1e-4 if narrow else 1e-9,
                "atol": 1e-5 if narrow else 1e-10, "grad_rtol": 1e-3 if narrow else 1e-7}
    return draw


def bound(r):
    dtype, b, n, m = r.choice(NUMBERS), *map(int, r.integers(1, 9, 3))
    rows = numpy.sort(array(r, [b, n], dtype, -5, 5), axis=1)
    values = array(r, [b, m], dtype, -6, 6)
    same = r.random((b, m)) < 0.5
    values[same] = rows[:, r.integers(0, n, m)][same]
    return {"inputs": [rows, values], "attrs": {"out_type": numpy.dtype(r.choice(["i4", "i8"]))}}


def bincount(r):
    size, index = [*map(int, r.integers(1, 7, r.integers(1, 3)))], r.choice(["i4", "i8"])
    kind = r.integers(3)
    weights = array(r, size if kind == 1 else [0], r.choice(["f4", "f8", "i4", "i8"]), 0, 5)
    return {"inputs": [r.integers(-1 if r.random() < 0.05 else 0, 9, size).astype(index),
                       numpy.array(r.integers(0, 10), index), weights],
            "attrs": {"binary_output": bool(kind == 2)}, "const": (1,) if r.random() < 0.5 else ()}


def histogram(r):
    dtype = r.choice(["f4", "f8", "i4", "i8"])
    low = int(r.integers(-5, 5))
    return {"inputs": [array(r, shape(r), dtype, -9, 9), numpy.array([low, low + r.choice([0, 1, 2, 4, 8])], dtype),
                       numpy.array(r.choice([1, 2, 4, 8]), "i4")], "attrs": {"dtype": numpy.dtype(r.choice(["i4", "i8"]))}}


def population(r):
    dtype = numpy.dtype(r.choice([n for n in NUMBERS if n[0] in "iu"]))
    info = numpy.iinfo(dtype)
    return {"inputs": [numpy.asarray(r.integers(info.min, info.max, shape(r), dtype=dtype, endpoint=True))]}


def cross(r):
    dtype, size = r.choice(NUMBERS), [*shape(r), 3]
    return {"inputs": [array(r, size, dtype, -5, 5), array(r, size, dtype, -5, 5)], "grad": [0, 1] if dtype in REAL else [],
            "rtol": 1e-2 if dtype == "f2" else 1e-5, "atol": 0.1 if dtype == "f2" else 1e-5}


def logsumexp(r):
    dtype, size = r.choice(REAL), shape(r, 1)
    narrow = dtype == "f4"
    return {"inputs": [array(r, size, dtype, -4, 4), numpy.array(r.integers(-len(size), len(size)), r.choice(["i4", "i8"]))],
            "attrs": {"exclusive": bool(r.integers(2)), "reverse": bool(r.integers(2))}, "const": (1,),
            "grad": [0], "rtol": 1e-5 if narrow else 1e-11, "atol": 1e-5 if narrow else 1e-11, "of": [0],
            "grad_rtol": 1e-3 if narrow else 1e-8, "grad_atol": 1e-4 if narrow else 1e-8}


def incomplete(ports, grad):
    """Parameters around 1 to 30, and a point near the middle of the distribution or anywhere."""
    def draw(r):
        dtype, size = r.choice(REAL), shape(r)
        narrow = dtype == "f4"
        params = [numpy.exp(r.uniform(-2, 3.5, () if r.random() < 0.3 and ports != 2 else size)).astype(dtype)
                  for _ in range(ports - 1)]
        middle = params[0] if ports == 2 else params[0] / (params[0] + params[1])
        point = middle * numpy.exp(r.normal(0, 0.5, size))
        point = (point if ports == 2 else numpy.clip(point, 0.01, 0.99)).astype(dtype)
        return {"inputs": [*params, point], "grad": grad, "rtol": 3e-4 if narrow else 1e-9, "atol": 1e-5 if narrow else 1e-11,
                "grad_rtol": 1e-2 if narrow else 1e-6, "grad_atol": 1e-3 if narrow else 1e-7}
    return draw


DRAWS = {"Erfinv": function(-0.999, 0.999), "Ndtri": function(0.001, 0.999), "LowerBound": bound, "UpperBound": bound,
         "DenseBincount": bincount, "HistogramFixedWidth": histogram, "PopulationCount": population, "Cross": cross,
         "CumulativeLogsumexp": logsumexp, "Igamma": incomplete(2, [0, 1]), "Igammac": incomplete(2, [0, 1]),
         "IgammaGradA": incomplete(2, []), "Betainc": incomplete(3, [2]),
         **{f"Bessel{name}": function(-12, 12) for name in ("I0", "I0e", "I1", "I1e", "J0", "J1")},
         **{f"Bessel{name}": function(0.05, 15) for name in ("K0", "K0e", "K1", "K1e", "Y0", "Y1")},
         "Dawsn": function(-9, 9), "Expint": function(0.1, 45), "Spence": function(0.05, 9),
         "FresnelCos": function(-6, 6), "FresnelSin": function(-6, 6)}


def norm(r):
    kind = r.choice(["f4", "f8", "c8", "c16", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
    shape = [*map(int, r.integers(1, 5, r.integers(0, 4)))]
    x = array(r, shape, kind, -2, 2 if kind == "i1" else 3)
    axes = r.permutation(x.ndim)[:int(r.integers(0, x.ndim + 1))] - x.ndim * int(r.integers(2))
    axes, keep = axes.astype(r.choice(["i4", "i8"])), bool(r.integers(2))
    smooth = x.dtype.kind == "f" and (keep or axes.dtype == "i4")  # TensorFlow's gradient mixes the types of other axes
    return {"inputs": [x, axes], "attrs": {"keep_dims": keep}, "grad": [0] if smooth else []}


def next_after(r):
    kind, shape = r.choice(["f4", "f8"]), [*map(int, r.integers(1, 5, r.integers(0, 4)))]
    x = numpy.where(r.random(shape) < 0.2, r.choice([0.0, numpy.inf, numpy.nan, 1e-45]), r.normal(0, 2, shape))
    y = numpy.where(r.random(shape) < 0.2, x, r.normal(0, 2, shape[int(r.integers(0, len(shape) + 1)):]))
    return {"inputs": [numpy.asarray(x, kind), numpy.asarray(y, kind)], "rtol": 0, "atol": 0}


def accumulated(r):
    shape, kind = [*map(int, r.integers(1, 5, r.integers(0, 4)))], r.choice(["f4", "f8"])
    parts = [numpy.asarray(r.normal(0, 2, shape), kind) for _ in range(int(r.integers(1, 5)))]
    return {"inputs": [parts], "attrs": {"shape": shape}}


DRAWS |= {"EuclideanNorm": norm, "NextAfter": next_after, "AccumulateNV2": accumulated}
