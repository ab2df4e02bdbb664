"""Draws of the ops that choose boxes: tests/tensorflow/ops.py."""
import numpy


def boxes(r, n):
    at = r.uniform(0, 1, (n, 4)).astype("f4")
    at[:, 2:] = at[:, :2] + r.uniform(-0.3, 0.6, (n, 2))
    return at.astype("f4")


def scores(r, n):
    return numpy.round(r.permutation(n) / max(n, 1) + 0.01, 3).astype("f4") - r.choice([0, 0.5], 1).astype("f4")


def scalar(x, dtype="f4"):
    return numpy.array(x, dtype)


def plain(r):
    n = int(r.integers(0, 30))
    return {"inputs": [boxes(r, n), scores(r, n), scalar(r.integers(-1, 20), "i4")],
            "attrs": {"iou_threshold": float(r.uniform(0, 1.05))}}


def version(v):
    def draw(r):
        n, half = int(r.integers(0, 30)), v < 5 and r.random() < 0.2
        wide = r.choice(["f2", "f4"])
        inputs = [boxes(r, n), scores(r, n), scalar(r.integers(0, 20), "i4"), scalar(r.uniform(0, 1), wide if half else "f4")]
        if v > 2:
            inputs.append(scalar(r.uniform(-0.3, 0.5), wide if half else "f4"))
        if v > 4:
            inputs.append(scalar(r.choice([0, 0.2, 0.9])))
        if half:
            inputs[:2] = [x.astype("f2") for x in inputs[:2]]
        attrs = {"pad_to_max_output_size": bool(r.integers(2))} if v > 3 else {}
        return {"inputs": inputs, "attrs": attrs, "const": (2,) if r.random() < 0.5 else ()}
    return draw


def overlaps(r):
    n = int(r.integers(0, 30))
    x = r.uniform(0, 1, (n, n)).astype("f4")
    return {"inputs": [(x + x.T) / 2, scores(r, n), scalar(r.integers(0, 20), "i4"), scalar(r.uniform(0, 1)),
                       scalar(r.uniform(-0.3, 0.5))]}


def combined(r):
    batch, n, classes = int(r.integers(1, 4)), int(r.integers(1, 12)), int(r.integers(1, 4))
    q = int(r.choice([1, classes]))
    made = numpy.stack([[boxes(r, q) for _ in range(n)] for _ in range(batch)]).reshape(batch, n, q, 4)
    rank = numpy.stack([r.permutation(n * classes).reshape(n, classes) for _ in range(batch)])
    return {"inputs": [made.astype("f4"), ((rank + 1) / (n * classes + 2)).astype("f4"), scalar(r.integers(1, 8), "i4"),
                       scalar(r.integers(1, 20), "i4"), scalar(r.uniform(0, 1)), scalar(r.uniform(-0.3, 0.7))],
            "attrs": {"pad_per_class": bool(r.integers(2)), "clip_boxes": bool(r.integers(2))},
            "const": (2, 3) if r.random() < 0.5 else ()}


DRAWS = {"NonMaxSuppression": plain, "NonMaxSuppressionWithOverlaps": overlaps, "CombinedNonMaxSuppression": combined,
         **{f"NonMaxSuppressionV{v}": version(v) for v in (2, 3, 4, 5)}}
