"""Draws of fake quantisation: tests/tensorflow/ops.py."""
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


DRAWS = {"FakeQuantWithMinMaxArgs": args(False), "FakeQuantWithMinMaxArgsGradient": args(True),
         "FakeQuantWithMinMaxVars": variables(False, False), "FakeQuantWithMinMaxVarsGradient": variables(False, True),
         "FakeQuantWithMinMaxVarsPerChannel": variables(True, False),
         "FakeQuantWithMinMaxVarsPerChannelGradient": variables(True, True)}
