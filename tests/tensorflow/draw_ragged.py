"""Draws of ops on ragged tensors: tests/tensorflow/ops.py."""
import numpy


def splits(r, rows, dtype, most=4):
    """Splits of that many rows, and the number of elements."""
    made = numpy.concatenate([[0], numpy.cumsum(r.integers(0, most, rows))])
    return made.astype(dtype), int(made[-1])


def nested(r, rank, dtype):
    made, rows = [], int(r.integers(0, 5))
    for _ in range(rank):
        part, rows = splits(r, rows, dtype)
        made.append(part)
    return made, rows


def ranges(r):
    dtype, rows = r.choice(["i4", "i8", "f4", "f8"]), int(r.integers(0, 5))

    def numbers(low, high):
        size = [] if r.random() < 0.3 else [rows if r.random() < 0.97 else rows + 1]
        made = r.integers(low, high, size)
        return numpy.asarray(made + (r.integers(0, 4, size) / 4 if dtype[0] == "f" else 0), dtype)

    deltas = numbers(1, 4) if r.random() < 0.6 else numpy.asarray(numbers(-3, 3), dtype)
    return {"inputs": [numbers(-9, 9), numbers(-9, 9), deltas], "attrs": {"Tsplits": "int64" if r.random() < 0.5 else "int32"}}


def values(r, rows, kinds=("f4", "f8", "i4", "S")):
    size = [rows, *map(int, r.integers(1, 4, r.integers(0, 3)))]
    kind = r.choice(kinds)
    if kind == "S":
        made = numpy.empty(size, object)
        for at in numpy.ndindex(*size):
            made[at] = b"s" * int(r.integers(0, 4))
        return made
    return (r.normal(size=size) * 5).astype(kind)


def gather(r):
    rank, dtype = int(r.integers(1, 4)), r.choice(["i4", "i8"])
    parts, rows = nested(r, rank, dtype)
    dense = values(r, rows + (r.random() < 0.02))
    outer = len(parts[0]) - 1
    size = list(map(int, r.integers(0, 4, r.integers(0, 4))))
    if not outer:
        size = [0, *size[1:]]
    indices = r.integers(0, outer + (r.random() < 0.03), size) if outer else numpy.zeros(size)
    return {"inputs": [parts, dense, numpy.asarray(indices, r.choice(["i4", "i8"]))],
            "attrs": {"OUTPUT_RAGGED_RANK": rank + len(size) - 1}, "static": True,
            "grad": (1,) if r.random() < 0.7 and dense.dtype.kind == "f" else ()}


def to_sparse(r):
    rank, dtype = int(r.integers(1, 4)), r.choice(["i4", "i8"])
    parts, rows = nested(r, rank, dtype)
    dense = values(r, rows)
    return {"inputs": [parts, dense], "grad": (1,) if dense.dtype.kind == "f" else ()}


def to_tensor(r):
    rank, dtype = int(r.integers(1, 4)), r.choice(["i4", "i8"])
    parts, rows = nested(r, rank, dtype)
    dense = values(r, rows)
    types = ["ROW_SPLITS"] * rank
    if r.random() < 0.6:
        types = ["FIRST_DIM_SIZE"] + types
        for d in range(rank):
            if r.random() < 0.5:
                types[d + 1] = "VALUE_ROWIDS"
                lengths = numpy.diff(parts[d]).clip(0)
                parts[d] = numpy.repeat(numpy.arange(len(lengths)), lengths).astype(dtype)
        first = len(parts[0]) - 1 if types[1] == "ROW_SPLITS" else int(parts[0].max(initial=-1)) + 1 + int(r.integers(0, 2))
        parts = [numpy.array(first, dtype)] + parts
    inner = list(dense.shape[1:])
    shape = [int(r.integers(-1, 5)) for _ in range(rank + 1)] + [n if r.random() < 0.5 else -1 for n in inner]
    if r.random() < 0.4:
        shape = [-1] * len(shape)
    made = numpy.array(-1 if r.random() < 0.2 else shape, r.choice(["i4", "i8"]))
    size = [n if r.random() < 0.7 else 1 for n in inner][int(r.integers(0, len(inner) + 1)):]
    default = values(r, 1, [dense.dtype.str[1:]] if dense.dtype != object else ["S"]).ravel()[:1]
    default = numpy.resize(default, size) if size else default.reshape([])
    return {"inputs": [made, dense, default.astype(dense.dtype), parts], "lenient": True, "attrs": {"row_partition_types": types},
            "static": True, "grad": (1, 2) if r.random() < 0.7 and dense.dtype.kind == "f" else (), "const": (0,) if r.random() < 0.5 else ()}


DRAWS = {"RaggedRange": ranges, "RaggedGather": gather, "RaggedTensorToSparse": to_sparse, "RaggedTensorToTensor": to_tensor}
