"""Draws of the ops that resize images: tests/tensorflow/ops.py."""
import numpy

NUMBERS = ["f4", "f4", "f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def array(r, shape, dtype="f4", low=-10, high=10):
    dtype = numpy.dtype(dtype)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else low
        return numpy.asarray(r.integers(low, high + 1, shape)).astype(dtype)
    if dtype.kind == "c":
        return (r.uniform(low, high, shape) + 1j * r.uniform(low, high, shape)).astype(dtype)
    return numpy.asarray(r.uniform(low, high, shape)).astype(dtype)


def images(r, dtype, most=7):
    shape = [int(r.integers(1, 4)), int(r.integers(1, most + 1)), int(r.integers(1, most + 1)), int(r.integers(1, 5))]
    if r.random() < 0.03:
        shape[0] = 0
    return array(r, shape, dtype)


def floats(dtype):
    return numpy.dtype(dtype).kind == "f" and numpy.dtype(dtype).itemsize > 2


def size(r):
    return r.integers(1, 13, 2).astype("i4")


def const(r, *inputs):
    return inputs if r.random() < 0.5 else ()


def corners(r):
    return {0: {}, 1: {"align_corners": True}, 2: {"half_pixel_centers": True}}[int(r.integers(3))]


def bicubic(r):
    dtype = r.choice(NUMBERS)
    return {"inputs": [images(r, dtype), size(r)], "attrs": corners(r), "const": const(r, 1),
            "grad": [0] if floats(dtype) else [], "rtol": 1e-4, "atol": 1e-4}


def bicubic_grad(r):
    dtype, x = r.choice(["f4", "f8"]), images(r, "f4")
    shape = [x.shape[0], *r.integers(1, 8, 2), x.shape[3]]
    return {"inputs": [array(r, shape), x.astype(dtype)], "attrs": corners(r), "rtol": 1e-4, "atol": 1e-4}


def area(r):
    return {"inputs": [images(r, r.choice(NUMBERS)), size(r)], "attrs": {"align_corners": bool(r.integers(2))},
            "const": const(r, 1), "rtol": 1e-4, "atol": 1e-4}


KERNELS = ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]


def translate(r):
    dtype = r.choice(NUMBERS)
    return {"inputs": [images(r, dtype), size(r), r.uniform(0.2, 3, 2).astype("f4"), r.uniform(-3, 3, 2).astype("f4")],
            "attrs": {"kernel_type": str(r.choice(KERNELS)), "antialias": bool(r.integers(2))}, "const": const(r, 1),
            "grad": [0] if dtype == "f4" else [], "rtol": 2e-4, "atol": 2e-4}


def translate_grad(r):
    x = images(r, "f4")
    shape = [x.shape[0], *r.integers(1, 8, 2), x.shape[3]]
    return {"inputs": [array(r, shape), x, r.uniform(0.2, 3, 2).astype("f4"), r.uniform(-3, 3, 2).astype("f4")],
            "attrs": {"kernel_type": str(r.choice(KERNELS)), "antialias": bool(r.integers(2))}, "rtol": 2e-4, "atol": 2e-4}


def boxes(r, n):
    made = r.uniform(-0.3, 1.3, (n, 4)).astype("f4")
    made[:, 2:] = numpy.where(r.random((n, 2)) < 0.7, made[:, :2] + r.uniform(0, 0.9, (n, 2)), made[:, 2:])
    return made.astype("f4")


def crop(r):
    dtype, n = r.choice(NUMBERS), int(r.integers(0, 5))
    x = images(r, dtype)
    attrs = {"method": str(r.choice(["bilinear", "nearest"])), "extrapolation_value": float(r.choice([0, -2.5]))}
    smooth = attrs["method"] == "bilinear"
    return {"inputs": [x, boxes(r, n), r.integers(0, max(x.shape[0], 1), n).astype("i4"), r.integers(1, 6, 2).astype("i4")],
            "attrs": attrs, "const": const(r, 3), "grad": ([0] if floats(dtype) else []) + ([1] if smooth else []),
            "rtol": 1e-4, "atol": 1e-4, "grad_atol": 1e-2, "grad_rtol": 1e-3}


def crop_image(r):
    n, shape = int(r.integers(0, 5)), [*r.integers(1, 6, 4)]
    dtype = r.choice(["f4", "f8", "f2"])
    return {"inputs": [array(r, [n, *r.integers(1, 5, 2), shape[3]]), boxes(r, n), r.integers(0, shape[0], n).astype("i4"),
                       numpy.array(shape, "i4")],
            "attrs": {"T": numpy.dtype(dtype), "method": str(r.choice(["bilinear", "nearest"]))}, "const": const(r, 3),
            "rtol": 3e-2 if dtype == "f2" else 1e-4, "atol": 1e-1 if dtype == "f2" else 1e-4}


def crop_boxes(r):
    n, x = int(r.integers(0, 5)), images(r, r.choice(NUMBERS))
    return {"inputs": [array(r, [n, *r.integers(1, 5, 2), x.shape[3]]), x, boxes(r, n),
                       r.integers(0, max(1, x.shape[0]), n).astype("i4")], "rtol": 1e-3, "atol": 1e-2}


def projection(version):
    def draw(r):
        x = images(r, r.choice(["f4", "f4", "f8", "u1", "i4", "i8"]))
        n = x.shape[0] if r.random() < 0.5 else 1
        affine = numpy.concatenate([r.normal([1, 0, 0, 0, 1, 0], [0.5, 0.5, 3, 0.5, 0.5, 3], (n, 6)),
                                    r.normal(0, 0.05, (n, 2))], 1).astype("f4")
        inputs = [x, affine, size(r)] + ([numpy.array(r.uniform(-3, 3), "f4")] if version == 3 and x.dtype != "u1" else
                                         [numpy.array(2, "f4")] if version == 3 else [])
        attrs = {"interpolation": str(r.choice(["NEAREST", "BILINEAR"])),
                 "fill_mode": str(r.choice(["CONSTANT", "REFLECT", "WRAP", "NEAREST"]))}
        return {"inputs": inputs, "attrs": attrs, "const": const(r, 2), "rtol": 1e-4, "atol": 1e-3}
    return draw


def drawn_boxes(version):
    def draw(r):
        channels, n = int(r.choice([1, 3, 4])), int(r.integers(1, 13))
        shape = [int(r.integers(1, 4)), *map(int, r.integers(1, 9, 2)), channels]
        made = numpy.stack([boxes(r, n) for _ in range(shape[0])])
        colors = [array(r, [int(r.integers(0, 4)), int(r.choice([channels, 4]))])] if version == 2 else []
        return {"inputs": [array(r, shape, r.choice(["f4", "f2"])), made, *colors], "rtol": 1e-3, "atol": 1e-3}
    return draw


def glimpse(r):
    x = images(r, "f4")
    attrs = {"centered": bool(r.integers(2)), "normalized": bool(r.integers(2)), "uniform_noise": False, "noise": "zero"}
    return {"inputs": [x, r.integers(1, 9, 2).astype("i4"), r.uniform(-4, 4, (x.shape[0], 2)).astype("f4")],
            "attrs": attrs, "const": const(r, 1)}


DRAWS = {"ResizeBicubic": bicubic, "ResizeBicubicGrad": bicubic_grad, "ResizeArea": area, "ScaleAndTranslate": translate,
         "ScaleAndTranslateGrad": translate_grad, "CropAndResize": crop, "CropAndResizeGradImage": crop_image,
         "CropAndResizeGradBoxes": crop_boxes,
         "ImageProjectiveTransformV2": projection(2), "ImageProjectiveTransformV3": projection(3),
         "DrawBoundingBoxes": drawn_boxes(1), "DrawBoundingBoxesV2": drawn_boxes(2), "ExtractGlimpse": glimpse,
         "ExtractGlimpseV2": glimpse}
