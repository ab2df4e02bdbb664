"""Draws of the ops that change colours: tests/tensorflow/ops.py."""
import numpy


def pixels(r, dtype="f4", least=1, channels=3):
    shape = [*map(int, r.integers(1, 5, r.integers(least, 5) - 1)), channels]
    return r.uniform(0, 1, shape).astype(dtype)


def loose(dtype):
    return {"rtol": 2e-2, "atol": 2e-2} if dtype == "f2" else {"rtol": 1e-4, "atol": 1e-5}


def convert(smooth):
    def draw(r):
        dtype = r.choice(["f4", "f4", "f8", "f2"])
        return {"inputs": [pixels(r, dtype)], "grad": [0] if smooth and dtype != "f2" else [],
                **loose(dtype), "grad_rtol": 1e-3, "grad_atol": 1e-3}
    return draw


def adjust(low, high, channels=3):
    def draw(r):
        return {"inputs": [pixels(r, "f4", 3, channels or int(r.integers(1, 5))), numpy.array(r.uniform(low, high), "f4")],
                **loose("f4")}
    return draw


DRAWS = {"RGBToHSV": convert(True), "HSVToRGB": convert(False), "AdjustHue": adjust(-1, 1), "AdjustSaturation": adjust(0, 3),
         "AdjustContrastv2": adjust(-1, 4, None)}
