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


DRAWS = {"FakeQuantWithMinMaxArgs": args(False), "FakeQuantWithMinMaxArgsGradient": args(True),
         "FakeQuantWithMinMaxVars": variables(False, False), "FakeQuantWithMinMaxVarsGradient": variables(False, True),
         "FakeQuantWithMinMaxVarsPerChannel": variables(True, False),
         "FakeQuantWithMinMaxVarsPerChannelGradient": variables(True, True),
         "QuantizeAndDequantizeV2": and_dequantize(2),
         "QuantizeAndDequantizeV3": and_dequantize(3), "QuantizeAndDequantizeV4": and_dequantize(4),
         "QuantizeAndDequantizeV4Grad": and_dequantize_gradient, "QuantizeV2": quantize, "Dequantize": dequantize}
