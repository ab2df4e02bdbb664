"""Draws of the ops whose windows move over images and volumes: tests/tensorflow/ops.py."""
import numpy

from draw_resize import NUMBERS, array, floats


def window(r, axes, most=3):
    return {"ksize": [1, *map(int, r.integers(1, most + 1, axes)), 1],
            "strides": [1, *map(int, r.integers(1, most + 1, axes)), 1], "padding": str(r.choice(["SAME", "VALID"]))}


def window3d(r, shape):
    """A window that fits. With SAME padding its strides are at most its size: beyond that TensorFlow's pooling of volumes
    begins in the middle of the first stride, but its gradient at the first pixel."""
    attrs = window(r, 3)
    for i in range(1, 4):
        attrs["ksize"][i] = min(attrs["ksize"][i], shape[i])
        if attrs["padding"] == "SAME":
            attrs["strides"][i] = min(attrs["strides"][i], attrs["ksize"][i])
    return attrs


def distinct(r, shape, dtype):
    """Numbers of which no two are equal, so that a maximum has a derivative."""
    return r.permutation(int(numpy.prod(shape))).reshape(shape).astype(dtype)


def volume(r):
    return [int(r.integers(1, 3)), *map(int, r.integers(1, 6, 3)), int(r.integers(1, 4))]


def pooled(shape, attrs):
    out = list(shape)
    for i in range(1, len(shape) - 1):
        size = shape[i] if attrs["padding"] == "SAME" else shape[i] - attrs["ksize"][i] + 1
        out[i] = max(0, -(-size // attrs["strides"][i]))
    return out


def pool3d(r):
    shape = volume(r)
    return {"inputs": [distinct(r, shape, "f4")], "attrs": window3d(r, shape), "grad": [0]}


def average3d(r):
    shape = volume(r)
    return {"inputs": [array(r, shape)], "attrs": window3d(r, shape), "grad": [0]}


def average3d_grad(r):
    shape = volume(r)
    attrs = window3d(r, shape)
    return {"inputs": [numpy.array(shape, "i4"), array(r, pooled(shape, attrs))], "attrs": attrs, "grad": [1],
            "const": (0,) if r.random() < 0.5 else ()}


def max3d_back(pick):
    def draw(r):
        shape = volume(r)
        attrs = window3d(r, shape)
        x = distinct(r, shape, "f4")  # of equal elements, TensorFlow gives each the whole gradient, dfg the first
        out = pooled(shape, attrs)
        y = numpy.zeros(out, "f4")
        for at in numpy.ndindex(*out[1:-1]):
            part = [slice(None)]
            for i, p in enumerate(at, 1):
                missing = max(0, (out[i] - 1) * attrs["strides"][i] + attrs["ksize"][i] - shape[i])
                low = p * attrs["strides"][i] - (missing // 2 if attrs["padding"] == "SAME" else 0)
                part.append(slice(max(low, 0), low + attrs["ksize"][i]))
            y[(slice(None), *at)] = x[tuple(part)].max(axis=(1, 2, 3))
        # TensorFlow zeroes what it is about to read where the pooled volume has the size of the volume.
        return {"inputs": [x, y, array(r, shape if pick else out)], "attrs": attrs, "grad": [2] if out != shape else []}
    return draw


def image(r, dtype):
    return [int(r.integers(1, 4)), *map(int, r.integers(1, 8, 2)), int(r.integers(1, 4))]


def argmax(r):
    dtype = r.choice(NUMBERS)
    attrs = {**window(r, 2), "include_batch_in_index": bool(r.integers(2)), "Targmax": r.choice(["i4", "i8"])}
    attrs["Targmax"] = numpy.dtype(attrs["Targmax"])
    smooth = floats(dtype) and attrs["Targmax"] == numpy.int64
    x = distinct(r, image(r, dtype), dtype) if floats(dtype) else array(r, image(r, dtype), dtype)
    return {"inputs": [x], "attrs": attrs, "grad": [0] if smooth else [], "of": [0]}


def argmax_grad(r):
    dtype, shape, attrs = r.choice(NUMBERS), image(r, "f4"), window(r, 2)
    out, whole = pooled(shape, attrs), bool(r.integers(2))
    n = int(numpy.prod(shape if whole else shape[1:]))
    return {"inputs": [array(r, shape, dtype), array(r, out, dtype), r.integers(0, n, out)],
            "attrs": {**attrs, "include_batch_in_index": whole}, "rtol": 2e-2 if dtype == "f2" else 1e-5,
            "atol": 0.1 if dtype == "f2" else 1e-5}


def dilation(op):
    def draw(r):
        dtype, shape = r.choice(NUMBERS), image(r, "f4")
        filters = [*map(int, r.integers(1, 4, 2)), shape[3]]
        attrs = {"strides": [1, *map(int, r.integers(1, 4, 2)), 1], "rates": [1, *map(int, r.integers(1, 3, 2)), 1],
                 "padding": str(r.choice(["SAME", "VALID"]))}
        if attrs["padding"] == "SAME":  # with rates, a window may be beside the image, where TensorFlow's gradient is any pixel's
            attrs["rates"] = [1, 1, 1, 1]
        inputs = [array(r, shape, dtype, -5, 5), array(r, filters, dtype, -5, 5)]
        if op:
            size = [1, *((filters[i] - 1) * attrs["rates"][i + 1] + 1 for i in range(2)), 1]
            inputs.append(array(r, pooled(shape, {**attrs, "ksize": size}), dtype, -5, 5))
        loose = dtype == "f2"
        return {"inputs": inputs, "attrs": attrs, "grad": [0, 1] if not op and floats(dtype) else [],
                "rtol": 2e-2 if loose else 1e-5, "atol": 0.05 if loose else 1e-5}
    return draw


def patches(r):
    dtype = r.choice([*NUMBERS, "c8", "c16"])
    attrs = {"ksizes": [1, *map(int, r.integers(1, 4, 2)), 1], "strides": [1, *map(int, r.integers(1, 4, 2)), 1],
             "rates": [1, *map(int, r.integers(1, 3, 2)), 1], "padding": str(r.choice(["SAME", "VALID"]))}
    static = dtype == "f4"  # TensorFlow's gradient requires the shape
    return {"inputs": [array(r, image(r, "f4"), dtype)], "attrs": attrs, "grad": [0] if static else [], "static": static}


def volume_patches(r):
    dtype = r.choice(NUMBERS)
    attrs = {"ksizes": [1, *map(int, r.integers(1, 4, 3)), 1], "strides": [1, *map(int, r.integers(1, 4, 3)), 1],
             "padding": str(r.choice(["SAME", "VALID"]))}
    static = dtype == "f4"
    return {"inputs": [array(r, volume(r), dtype)], "attrs": attrs, "grad": [0] if static else [], "static": static}


DRAWS = {"MaxPool3D": pool3d, "AvgPool3D": average3d, "AvgPool3DGrad": average3d_grad, "MaxPool3DGrad": max3d_back(False),
         "MaxPool3DGradGrad": max3d_back(True), "MaxPoolWithArgmax": argmax, "MaxPoolGradWithArgmax": argmax_grad,
         "Dilation2D": dilation(False), "Dilation2DBackpropInput": dilation(True), "Dilation2DBackpropFilter": dilation(True),
         "ExtractImagePatches": patches, "ExtractVolumePatches": volume_patches}
