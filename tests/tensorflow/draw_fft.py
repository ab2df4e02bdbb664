"""Draws of the Fourier transforms: tests/tensorflow/ops.py."""
import numpy

from draw_resize import array

LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 19, 26, 30, 31, 34, 37, 60, 64, 97, 128]


def shape(r, dims):
    lengths = LENGTHS if dims == 1 else LENGTHS[:12] if dims == 2 else LENGTHS[:7]
    return [*map(int, r.integers(1, 3, r.integers(0, 3))), *map(int, r.choice(lengths, dims))]


def slack(narrow):
    return {"rtol": 1e-4, "atol": 2e-3, "grad_atol": 2e-2} if narrow else {"rtol": 1e-10, "atol": 1e-10, "grad_atol": 1e-8}


def whole(dims):
    def draw(r):
        dtype = r.choice(["c8", "c16"])
        return {"inputs": [array(r, shape(r, dims), dtype, -1, 1)], "grad": [0], **slack(dtype == "c8")}
    return draw


def real(dims, inverse):
    def draw(r):
        narrow, size = bool(r.integers(2)), shape(r, dims)
        n = numpy.array(size[-dims:], "i4")
        if inverse:
            size[-1] = int(n[-1]) // 2 + 1
        exact = r.random() < 0.8
        if not exact:
            size = [*size[:-dims], *(s + int(r.integers(0, 3)) for s in size[-dims:])]
        types = ("c8", "f4") if narrow else ("c16", "f8")
        return {"inputs": [array(r, size, types[0 if inverse else 1], -1, 1), n],
                "attrs": {"Tcomplex": numpy.dtype(types[0])} if not inverse else {"Treal": numpy.dtype(types[1])},
                "const": (1,) if r.random() < 0.5 else (), "grad": [0] if exact and dims < 3 and n[-1] > 1 else [],
                **slack(narrow)}
    return draw


DRAWS = {f"{i}FFT{d}": whole(n) for n, d in ((1, ""), (2, "2D"), (3, "3D")) for i in ("", "I")}
DRAWS.update({f"{i}RFFT{d}": real(n, i == "I") for n, d in ((1, ""), (2, "2D"), (3, "3D")) for i in ("", "I")})
