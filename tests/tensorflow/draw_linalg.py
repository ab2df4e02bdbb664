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
    shape = matrices(r, False)
    return {"inputs": [array(r, shape, dtype, -3, 3)], "attrs": {"compute_uv": vectors, "full_matrices": whole},
            "view": view, "record": [0], "grad": [] if vectors and whole and shape[-1] != shape[-2] else [0], "of": [0],
            **slack(dtype)}


FIELDS = ["f4", "f8", "c8", "c16"]


def wide(dtype):
    return {**slack("f4" if dtype in ("f4", "c8") else "f8")}


def eig(r):
    dtype, vectors = r.choice(FIELDS), bool(r.integers(2))
    x = array(r, matrices(r, True), dtype, -3, 3)
    scale = 1 + numpy.arange(x.shape[-1]) * 2  # values of different sizes, so that their order is certain
    x[..., range(len(scale)), range(len(scale))] += scale.astype(dtype) * 4

    def view(outputs, draw):
        e, v = outputs  # TensorFlow sorts those of complex matrices only
        ordered = numpy.sort_complex(numpy.round(e, 3))
        return [ordered, numpy.abs(x @ v - v * e[..., None, :]) < 1e-3, numpy.sum(numpy.abs(v) ** 2, -2)] if vectors else [ordered]
    return {"inputs": [x], "attrs": {"compute_v": vectors, "Tout": numpy.dtype("c8" if dtype in ("f4", "c8") else "c16")},
            "view": view, "record": [0] if dtype in ("c8", "c16") else [], "grad": [0] if dtype in ("c8", "c16") else [], "of": [0], **wide(dtype)}


def root(r):
    dtype = r.choice(FIELDS)
    shape = matrices(r, True)
    shape[-2:] = [min(n, 4) for n in shape[-2:]]
    return {"inputs": [regular(r, dtype, shape)], "grad": [0] if dtype in ("f4", "f8") else [], **wide(dtype)}


def logarithm(r):
    dtype = r.choice(["c8", "c16"])
    return {"inputs": [regular(r, dtype, matrices(r, True))], **wide(dtype)}


def tridiagonal(r, rows):
    dtype, batch = r.choice(FIELDS), [*map(int, r.integers(1, 4, r.integers(0, 3)))]
    n, k = map(int, r.integers(1, 7, 2))
    parts = [array(r, [*batch, 1, n], dtype, -1, 1) for _ in range(3)]
    return dtype, [parts[0], parts[1] + (3 if rows == 3 else 0), parts[2], array(r, [*batch, n, k], dtype)]


def tridiagonal_product(r):
    dtype, inputs = tridiagonal(r, 1)
    return {"inputs": inputs, "grad": [0, 1, 2, 3], **wide(dtype)}


def tridiagonal_solution(r):
    dtype, inputs = tridiagonal(r, 3)
    return {"inputs": [numpy.concatenate(inputs[:3], -2).astype(dtype), inputs[3]],
            "attrs": {"partial_pivoting": bool(r.integers(2))}, "grad": [0, 1] if dtype in ("f4", "f8") else [],
            **wide(dtype)}


def square(r):
    dtype = r.choice(FIELDS)
    return dtype, regular(r, dtype, matrices(r, True))


def inverse(r):
    dtype, x = square(r)
    return {"inputs": [x], "attrs": {"adjoint": bool(r.integers(2))}, "grad": [0], **wide(dtype)}


def determinant(r):
    dtype, x = square(r)
    return {"inputs": [x], "grad": [0] if dtype in ("f4", "f8") else [], **wide(dtype)}


def cholesky(r):
    dtype, x = square(r)
    return {"inputs": [(x @ numpy.conj(turned(x)) + numpy.eye(x.shape[-1])).astype(dtype)], "grad": [0], **wide(dtype)}


def system(r):
    dtype, x = square(r)
    return {"inputs": [x, array(r, [*x.shape[:-1], int(r.integers(1, 5))], dtype)],
            "attrs": {"adjoint": bool(r.integers(2))}, "grad": [0, 1], **wide(dtype)}


def triangle(r):
    draw = system(r)
    draw["attrs"]["lower"] = bool(r.integers(2))
    return draw


def least_squares(r):
    dtype, shape, fast = r.choice(FIELDS), matrices(r, False), bool(r.integers(2))
    rhs = array(r, [*shape[:-1], int(r.integers(1, 4))], dtype)
    real = fast and dtype in ("f4", "f8")
    return {"inputs": [regular(r, dtype, shape), rhs, numpy.array(r.choice([0, 0.5]))], "attrs": {"fast": fast},
            "grad": [0, 1] if real else [], **wide(dtype)}


DRAWS = {"LogMatrixDeterminant": logdet, "Lu": lu, "Qr": qr, "SelfAdjointEigV2": symmetric, "Svd": svd, "Eig": eig,
         "MatrixSquareRoot": root, "MatrixLogarithm": logarithm,
         "TridiagonalMatMul": tridiagonal_product, "TridiagonalSolve": tridiagonal_solution, "MatrixInverse": inverse,
         "MatrixDeterminant": determinant, "Cholesky": cholesky, "MatrixSolve": system, "MatrixTriangularSolve": triangle,
         "MatrixSolveLs": least_squares}
