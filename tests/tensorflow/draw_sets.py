"""Draws of ops on sets, sequences and crosses of sparse tensors: tests/tensorflow/ops.py."""
import numpy

from draw_sparse import dims, indices

KINDS = ["i1", "i2", "i4", "i8", "u1", "u2", "S"]


def members(r, size, kind):
    if kind != "S":
        return r.integers(0, 5, size).astype(kind)
    made = numpy.empty(size, object)
    for at in numpy.ndindex(*size):
        made[at] = [b"", b"a", b"ab", b"b", b"\xffc"][r.integers(0, 5)]
    return made


def sparse(r, kind, shape):
    at = indices(r, shape)
    return [at, members(r, [len(at)], kind), numpy.array(shape, "i8")]


def operation(r):
    return {"attrs": {"set_operation": str(r.choice(["a-b", "b-a", "intersection", "union", "Union"])),
                      "validate_indices": bool(r.integers(2))}}


def pair(r):
    """A type, and the shapes of two sets with equal groups."""
    groups = dims(r, int(r.integers(1, 3)), 4)
    other = [g + (r.random() < 0.03) for g in groups]
    return str(r.choice(KINDS)), [*groups, int(r.integers(0, 5))], [*other, int(r.integers(0, 5))]


def dense_dense(r):
    kind, a, b = pair(r)
    return {"inputs": [members(r, a, kind), members(r, b, kind)], **operation(r)}


def dense_sparse(r):
    kind, a, b = pair(r)
    return {"inputs": [members(r, a, kind), *sparse(r, kind, b)], **operation(r)}


def sparse_sparse(r):
    kind, a, b = pair(r)
    return {"inputs": [*sparse(r, kind, a), *sparse(r, kind, b)], **operation(r)}


def size(r):
    kind, a, _ = pair(r)
    return {"inputs": sparse(r, kind, a), "attrs": {"validate_indices": bool(r.integers(2))}}


def distance(r):
    kind, rank = str(r.choice(["i4", "i8", "u1", "f4", "f8", "S"])), int(r.integers(2, 4))
    return {"inputs": [*sparse(r, kind, dims(r, rank)), *sparse(r, kind, dims(r, rank))], "attrs": {"normalize": bool(r.integers(2))}}


def columns(r):
    rows = int(r.integers(1, 4))
    many, dense = int(r.integers(0, 3)), int(r.integers(0, 3))
    kinds = [str(r.choice(["i8", "S"])) for _ in range(many + dense)]
    parts = [sparse(r, k, [rows, int(r.integers(1, 4))]) for k in kinds[:many]]
    return [*[[p[i] for p in parts] for i in range(3)], [members(r, [rows, int(r.integers(0, 4))], k) for k in kinds[many:]]]


def cross(r):
    hashed = bool(r.integers(2))
    made, buckets = columns(r), int(r.choice([0, 7, 1000]))
    inner = "string" if all(v.dtype == object for v in [*made[1], *made[3]]) and r.random() < 0.8 else "int64"
    return {"inputs": made, "attrs": {"hashed_output": hashed, "num_buckets": buckets, "hash_key": int(r.integers(-2**40, 2**40)),
                                      "out_type": "int64" if hashed else "string", "internal_type": inner}}


def cross_text(r):
    separator = numpy.empty([], object)
    separator[()] = b"-"
    return {"inputs": [*columns(r), separator]}


DRAWS = {"DenseToDenseSetOperation": dense_dense, "DenseToSparseSetOperation": dense_sparse, "SparseToSparseSetOperation": sparse_sparse,
         "SetSize": size, "EditDistance": distance, "SparseCross": cross, "SparseCrossV2": cross_text}
