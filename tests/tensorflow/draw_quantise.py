"""Draws of quantisation: tests/tensorflow/ops.py."""
import numpy


def attributes(r):
    return {"num_bits": int(r.integers(2, 17)), "narrow_range": bool(r.integers(2))}


def values(r, least=0):
    return r.normal(0, 4, [*map(int, r.integers(1, 6, r.integers(least, 4)))]).astype("f4")


def bounds(r, shape):
    low = r.uniform(-6, 2, shape).astype("f4")
    return low, (low + r.uniform(0.5, 9, shape)).astype("f4")


def args(gradient):
    def draw(r):
        x, (low, high) = values(r), bounds(r, ())
        inputs = [r.normal(0, 1, x.shape).astype("f4"), x] if gradient else [x]
        return {"inputs": inputs, "attrs": {"min": float(low), "max": float(high), **attributes(r)},
                "grad": [] if gradient else [0], "rtol": 1e-5, "atol": 1e-5}
    return draw


def variables(by_channel, gradient):
    def draw(r):
        x = values(r, 1 if by_channel else 0)
        low, high = bounds(r, x.shape[-1:] if by_channel else ())
        inputs = ([r.normal(0, 1, x.shape).astype("f4")] if gradient else []) + [x, numpy.array(low), numpy.array(high)]
        return {"inputs": inputs, "attrs": attributes(r), "grad": [] if gradient else [0, 1, 2], "rtol": 1e-5, "atol": 1e-5,
                "grad_rtol": 1e-4, "grad_atol": 1e-4}
    return draw


def and_dequantize(version):
    def draw(r):
        x = values(r).astype(r.choice(["f4", "f8"]))
        axis = int(r.integers(0, x.ndim)) if x.ndim and r.random() < 0.5 else -1
        low, high = bounds(r, () if axis < 0 else x.shape[axis:axis + 1])
        given, signed = bool(r.random() < 0.6), bool(r.integers(2))
        attrs = {"signed_input": signed, "range_given": given}
        bits = int(r.choice([1, 2, 3, 4, 8, 8, 16, 0]))
        rounds = {"round_mode": str(r.choice(["HALF_TO_EVEN", "HALF_UP"]))}
        attrs |= {"narrow_range": bool(r.integers(2)) and bits > 1, "axis": axis}
        inputs = [x, low.astype(x.dtype), high.astype(x.dtype)]
        if version == 3:
            inputs.append(numpy.array(bits, "i4"))
        else:
            attrs |= {"num_bits": bits, **rounds}
        return {"inputs": [numpy.asarray(i) for i in inputs], "attrs": attrs, "grad": [0] if version != 4 else [0, 1, 2],
                "lenient": given and axis >= 0 or not x.ndim,  # TensorFlow's kernel takes one range, and version 3 no scalar
                "rtol": 1e-5, "atol": 1e-5}
    return draw


def and_dequantize_gradient(r):
    x = values(r).astype(r.choice(["f4", "f8"]))
    axis = int(r.integers(0, x.ndim)) if x.ndim and r.random() < 0.5 else -1
    low, high = bounds(r, () if axis < 0 else x.shape[axis:axis + 1])
    inputs = [r.normal(0, 1, x.shape), x, low, high]
    return {"inputs": [numpy.asarray(i, x.dtype) for i in inputs], "attrs": {"axis": axis}}


TYPES = {"qint8": "i1", "quint8": "u1", "qint16": "i2", "quint16": "u2", "qint32": "i4"}


def ends(r, x, axis):
    low, high = bounds(r, () if axis < 0 else x.shape[axis:axis + 1])
    return [numpy.asarray(low - 2 * (r.random() < 0.1)), numpy.asarray(high + (r.random() < 0.1))]


def quantize(r):
    x, kind = values(r), str(r.choice(list(TYPES)[:4]))
    axis = int(r.integers(0, x.ndim)) if x.ndim and r.random() < 0.4 else -1
    mode = str(r.choice(["MIN_COMBINED", "MIN_FIRST", "SCALED"]))
    even = "HALF_TO_EVEN" if mode == "SCALED" and r.random() < 0.5 else "HALF_AWAY_FROM_ZERO"
    attrs = {"T": kind, "mode": mode, "round_mode": even, "narrow_range": bool(r.integers(2)), "axis": axis}
    if r.random() < 0.3:
        attrs["ensure_minimum_range"] = float(r.choice([0.0, 0.5, 10]))
    return {"inputs": [x, *ends(r, x, axis)], "attrs": attrs, "rtol": 0, "atol": 1}


def dequantize(r):
    kind, shape = str(r.choice(list(TYPES))), values(r).shape
    info = numpy.iinfo(TYPES[kind])
    x = r.integers(info.min, info.max, shape, endpoint=True).astype(TYPES[kind])
    axis = int(r.integers(0, x.ndim)) if x.ndim and r.random() < 0.4 else -1
    half = r.random() < 0.3
    attrs = {"mode": str(r.choice(["MIN_COMBINED", "MIN_FIRST", "SCALED"])), "narrow_range": bool(r.integers(2)), "axis": axis,
             "dtype": "bfloat16" if half else "float32"}
    return {"inputs": [x, *ends(r, x, axis)], "attrs": attrs, "cast": {0: kind}, "rtol": 1e-2 if half else 1e-5, "atol": 1e-5}


def elements(r, kind, shape):
    info = numpy.iinfo(TYPES[kind])
    x = r.integers(info.min, info.max, shape, endpoint=True)
    return (x // (1 << 12) if kind == "qint32" and r.random() < 0.5 else x).astype(TYPES[kind])


def range_of(r, wide=1):
    low, high = -abs(r.normal(0, 3)) * wide, abs(r.normal(0, 3)) * wide + 0.1
    return [numpy.array(low, "f4"), numpy.array(high, "f4")]


def dims(r, rank):
    return [*map(int, r.integers(1, 6, rank))]


def matmul(r):
    n, k, m = dims(r, 3)
    ta, tb = bool(r.integers(2)), bool(r.integers(2))
    a, b = elements(r, "quint8", [k, n] if ta else [n, k]), elements(r, "quint8", [m, k] if tb else [k, m])
    return {"inputs": [a, b, *range_of(r), *range_of(r)], "attrs": {"transpose_a": ta, "transpose_b": tb},
            "cast": {0: "quint8", 1: "quint8"}, "rtol": 1e-6, "atol": 0}


def convolution(r):
    image, size = dims(r, 4), dims(r, 2)
    size = [min(n, m) for n, m in zip(size, image[1:])]  # TensorFlow aborts at larger filters
    attrs = {"strides": [1, *[int(r.integers(1, 3))] * 2, 1], "padding": str(r.choice(["SAME", "VALID"]))}
    return {"inputs": [elements(r, "quint8", image), elements(r, "quint8", [*size, image[3], int(r.integers(1, 5))]),
                       *range_of(r), *range_of(r)], "attrs": attrs, "cast": {0: "quint8", 1: "quint8"}, "rtol": 1e-6, "atol": 0}


def joined(same):
    def draw(r):
        x = elements(r, "quint8", dims(r, int(r.integers(2 if same == "bias" else 1, 4))))
        y = elements(r, "quint8", x.shape[-1:] if same == "bias" else x.shape if r.random() < 0.5 else x.shape[-1:])
        attrs = {"out_type": "qint32"} if same == "bias" else {}
        return {"inputs": [x, y, *range_of(r), *range_of(r)], "attrs": attrs, "cast": {0: "quint8", 1: "quint8"},
                "rtol": 1e-6, "atol": 600 if same == "bias" else 300}  # TensorFlow adds in f32, whose steps are 256 there
    return draw


def relu(r):
    kind = str(r.choice(["quint8", "qint32"]))
    return {"inputs": [elements(r, kind, dims(r, 3)), *range_of(r)], "attrs": {"out_type": kind}, "cast": {0: kind},
            "rtol": 1e-6, "atol": 0}


def quantised_pool(r):
    kind = str(r.choice(["quint8", "qint8"]))
    attrs = {"ksize": [1, *dims(r, 2), 1], "strides": [1, *dims(r, 2), 1], "padding": str(r.choice(["SAME", "VALID"]))}
    return {"inputs": [elements(r, kind, dims(r, 4)), *range_of(r)], "attrs": attrs, "cast": {0: kind}, "atol": 0}


def narrowed(count):
    def draw(r):
        kind = str(r.choice(["quint8", "qint8"])) if count == 4 else "quint8"
        inputs = [elements(r, "qint32", dims(r, 3)), *range_of(r, 1e3)] + (range_of(r, 100) if count == 4 else [])
        return {"inputs": inputs, "attrs": {"out_type": kind} if count else {}, "cast": {0: "qint32"}, "atol": 1, "rtol": 1e-5}
    return draw


def quantised_concat(r):
    shape, axis, n = dims(r, 3), int(r.integers(0, 3)), int(r.integers(2, 4))
    parts = []
    for _ in range(n):
        shape[axis] = int(r.integers(1, 4))
        parts.append(elements(r, "quint8", shape))
    ranges = [range_of(r) for _ in range(n)]
    return {"inputs": [numpy.array(axis, "i4"), parts, [a for a, _ in ranges], [b for _, b in ranges]], "const": (0,),
            "cast": {1: "quint8"}, "atol": 1}


def quantised_reshape(r):
    shape = dims(r, 3)
    return {"inputs": [elements(r, "quint8", shape), numpy.array([shape[0], -1], "i4"), *range_of(r)], "const": (1,),
            "cast": {0: "quint8"}, "atol": 0}


DRAWS = {"FakeQuantWithMinMaxArgs": args(False), "FakeQuantWithMinMaxArgsGradient": args(True),
         "FakeQuantWithMinMaxVars": variables(False, False), "FakeQuantWithMinMaxVarsGradient": variables(False, True),
         "FakeQuantWithMinMaxVarsPerChannel": variables(True, False),
         "FakeQuantWithMinMaxVarsPerChannelGradient": variables(True, True),
         "QuantizeAndDequantizeV2": and_dequantize(2),
         "QuantizeAndDequantizeV3": and_dequantize(3), "QuantizeAndDequantizeV4": and_dequantize(4),
         "QuantizeAndDequantizeV4Grad": and_dequantize_gradient, "QuantizeV2": quantize, "Dequantize": dequantize,
         "QuantizedMatMul": matmul, "QuantizedConv2D": convolution, "QuantizedAdd": joined("add"),
         "QuantizedMul": joined("mul"), "QuantizedBiasAdd": joined("bias"), "QuantizedRelu": relu,
         "QuantizedRelu6": relu, "QuantizedMaxPool": quantised_pool,
         "QuantizedAvgPool": quantised_pool, "QuantizeDownAndShrinkRange": narrowed(2), "Requantize": narrowed(4),
         "RequantizationRange": narrowed(0), "QuantizedConcat": quantised_concat, "QuantizedReshape": quantised_reshape}
