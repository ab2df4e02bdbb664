"""Draws of ops on sparse tensors: tests/tensorflow/ops.py."""
import numpy

NUMBERS = ["f4", "f8", "i4", "i8", "f4", "f8"]


def strings(r, size):
    made = numpy.empty(size, object)
    for at in numpy.ndindex(*size):
        made[at] = b"s" * int(r.integers(0, 4))
    return made


def values(r, size, kind):
    return strings(r, size) if kind == "S" else (r.normal(size=size) * 5 + (r.normal(size=size) * 5j if kind[0] == "c" else 0)).astype(kind)


def dims(r, rank=None, most=5):
    return [*map(int, r.integers(1, most, int(r.integers(1, 4)) if rank is None else rank))]


def indices(r, shape, ordered=True):
    """Different indices within the shape."""
    total = int(numpy.prod(shape))
    count = int(r.integers(0, min(total, 8) + 1))
    flat = r.permutation(total)[:count]
    if ordered:
        flat = numpy.sort(flat)
    return numpy.stack(numpy.unravel_index(flat, shape), 1).astype("i8").reshape(count, len(shape))


def sparse(r, kinds=NUMBERS, ordered=True, shape=None):
    shape = dims(r) if shape is None else shape
    at = indices(r, shape, ordered)
    return [at, values(r, [len(at)], str(r.choice(kinds))), numpy.array(shape, "i8")]


def grad(draw, *which):
    return {**draw, "static": True, "grad": which if draw["inputs"][which[0]].dtype.kind == "f" else ()}


def reorder(r):
    return grad({"inputs": sparse(r, NUMBERS + ["S"], False)}, 1)


def reshape(r):
    at, _, shape = sparse(r)
    total, to = int(shape.prod()), []
    while total > 1 and len(to) < 3:
        part = int(r.choice([d for d in range(1, total + 1) if total % d == 0]))
        to.append(part)
        total //= part
    to.append(total + (r.random() < 0.05))
    if r.random() < 0.5:
        to[r.integers(0, len(to))] = -1
    return {"inputs": [at, shape, numpy.array(to, "i8")]}


def part(r):
    at, value, shape = sparse(r, NUMBERS + ["S"])
    start = numpy.array([r.integers(0, n + 1) for n in shape], "i8")
    return grad({"inputs": [at, value, shape, start, r.integers(0, 6, len(shape))]}, 1)


def fill(r):
    at, value, shape = sparse(r, NUMBERS + ["S"], r.random() < 0.8)
    return grad({"inputs": [at, value, shape, values(r, [], value.dtype.str[1:] if value.dtype != object else "S") if value.dtype != object else
                            strings(r, [1])[0:1].reshape([])]}, 1, 3)


def concat(r):
    shape, axis, count = dims(r), 0, int(r.integers(2, 5))
    axis = int(r.integers(-len(shape), len(shape)))
    kind, parts = str(r.choice(NUMBERS + ["S"])), []
    for _ in range(count):
        own = list(shape)
        own[axis] = int(r.integers(1, 5))
        parts.append(sparse(r, [kind], True, own))
    return {"inputs": [[p[k] for p in parts] for k in range(3)], "attrs": {"concat_dim": axis}}


def split(r):
    at, value, shape = sparse(r, NUMBERS + ["S"])
    axis = int(r.integers(-len(shape), len(shape)))
    return {"inputs": [numpy.array(axis, "i8"), at, value, shape], "attrs": {"num_split": int(r.integers(1, shape[axis] + 1))}}


def reduce(r):
    at, value, shape = sparse(r, ["f4", "f8", "i4", "i8"])
    rank = len(shape)
    axes = r.permutation(rank)[:r.integers(0, rank + 1)]
    axes = numpy.where(r.random(axes.shape) < 0.5, axes, axes - rank).astype("i4")
    if axes.size == 1 and r.random() < 0.3:
        axes = axes.reshape([])
    return {"inputs": [at, value, shape, axes], "attrs": {"keep_dims": bool(r.integers(2))}}


def reduce_sum(r):
    return grad(reduce(r), 1)


def softmax(r):
    return grad({"inputs": sparse(r, ["f4", "f8"], True, dims(r, int(r.integers(2, 4))))}, 1)


def dense_add(r):
    at, value, shape = sparse(r, NUMBERS, False)
    kind = r.choice(["i4", "i8"])
    return grad({"inputs": [at.astype(kind), value, shape.astype(kind), values(r, shape, value.dtype.str[1:])]}, 1, 3)


def cwise(r, kinds=NUMBERS, divides=False):
    at, value, shape = sparse(r, kinds)
    own = [int(n) if r.random() < 0.7 else 1 for n in shape][int(r.integers(0, len(shape))):]
    dense = values(r, own, value.dtype.str[1:])
    if divides:
        dense = numpy.where(dense == 0, 1, dense).astype(dense.dtype)
    return {"inputs": [at, value, shape, dense]}


def multiply(r):
    return grad(cwise(r), 1, 3)


def divide(r):
    return grad(cwise(r, ["f4", "f8"], True), 1, 3)


def pair(r, kinds=NUMBERS):
    shape, kind = dims(r), str(r.choice(kinds))
    return sparse(r, [kind], True, shape) + sparse(r, [kind], True, shape)


def add(r):
    inputs = pair(r)
    thresh = numpy.array(r.choice([0, 0, 2, 5]), inputs[1].dtype)
    return grad({"inputs": inputs + [thresh]}, 1, 4)


def extreme(r):
    return {"inputs": pair(r)}


def matmul(r):
    at, value, shape = sparse(r, ["f4", "f8", "i4", "c8"], r.random() < 0.5, dims(r, 2))
    a, b = bool(r.integers(2)), bool(r.integers(2))
    other = [int(shape[0] if a else shape[1]), int(r.integers(0, 5))]
    dense = values(r, other[::-1] if b else other, value.dtype.str[1:])
    return grad({"inputs": [at.astype(r.choice(["i4", "i8"])), value, shape, dense], "attrs": {"adjoint_a": a, "adjoint_b": b},
                 "rtol": 1e-4, "atol": 1e-4}, 1, 3)


DRAWS = {"SparseReorder": reorder, "SparseReshape": reshape, "SparseSlice": part, "SparseFillEmptyRows": fill, "SparseConcat": concat,
         "SparseSplit": split, "SparseReduceSum": reduce_sum, "SparseReduceMax": reduce, "SparseReduceSumSparse": reduce,
         "SparseReduceMaxSparse": reduce, "SparseSoftmax": softmax,
         "SparseTensorDenseAdd": dense_add, "SparseDenseCwiseMul": multiply, "SparseDenseCwiseDiv": divide,
         "SparseDenseCwiseAdd": cwise, "SparseAdd": add, "SparseSparseMaximum": extreme, "SparseSparseMinimum": extreme,
         "SparseTensorDenseMatMul": matmul}
