"""Draws of the decompositions of matrices: tests/tensorflow/ops.py."""
import numpy

from draw_resize import array


def matrices(r, square):
    rows, columns = map(int, r.integers(1, 7, 2))
    return [*map(int, r.integers(1, 4, r.integers(0, 3))), rows, rows if square else columns]


def slack(dtype):
    narrow = dtype == "f4"
    return {"rtol": 1e-3 if narrow else 1e-9, "atol": 1e-3 if narrow else 1e-9, "grad_rtol": 1e-2 if narrow else 1e-6,
            "grad_atol": 1e-2 if narrow else 1e-6, "static": True}


def regular(r, dtype, shape):
    x = array(r, shape, dtype, -1, 1)
    n = min(shape[-2:])
    x[..., :n, :n] += 3 * numpy.eye(n, dtype=dtype)
    return x


def logdet(r):
    dtype = r.choice(["f4", "f8"])
    shape = matrices(r, True)
    if r.random() < 0.1:
        return {"inputs": [numpy.zeros(shape, dtype)], **slack(dtype)}
    return {"inputs": [regular(r, dtype, shape)], "grad": [0], "of": [1], **slack(dtype)}


def lu(r):
    return {"inputs": [array(r, matrices(r, True), "f8", -5, 5)],
            "attrs": {"output_idx_type": numpy.dtype(r.choice(["i4", "i8"]))}, **slack("f8")}


def qr(r):
    dtype, shape, whole = r.choice(["f4", "f8"]), matrices(r, False), bool(r.integers(2))
    smooth = shape[-2] >= shape[-1] and (not whole or shape[-2] == shape[-1])
    return {"inputs": [regular(r, dtype, shape)], "attrs": {"full_matrices": whole}, "grad": [0] if smooth else [],
            **slack(dtype)}


def turned(x):
    return numpy.swapaxes(x, -1, -2)


def symmetric(r):
    dtype, vectors = r.choice(["f4", "f8"]), bool(r.integers(2))

    def view(outputs, draw):  # the signs of the vectors are free
        e, v = outputs
        return [e, v @ (e[..., None] * turned(v)), turned(v) @ v] if vectors else [e]
    return {"inputs": [array(r, matrices(r, True), dtype, -3, 3)], "attrs": {"compute_v": vectors}, "grad": [0], "of": [0],
            "view": view, "record": [0], **slack(dtype)}


def svd(r):
    dtype, vectors, whole = r.choice(["f4", "f8"]), bool(r.integers(2)), bool(r.integers(2))

    def view(outputs, draw):
        s, u, v = outputs
        k = s.shape[-1]
        return [s, u[..., :k] @ (s[..., None] * turned(v[..., :k])), turned(u) @ u, turned(v) @ v] if vectors else [s]
    return {"inputs": [array(r, matrices(r, False), dtype, -3, 3)],
            "attrs": {"compute_uv": vectors, "full_matrices": whole}, "view": view, "record": [0], **slack(dtype)}


DRAWS = {"LogMatrixDeterminant": logdet, "Lu": lu, "Qr": qr, "SelfAdjointEigV2": symmetric, "Svd": svd}
