"""Draws of connectionist temporal classification: tests/tensorflow/ops.py."""
import numpy


def inputs(r):
    time, batch, classes = (int(n) for n in r.integers([1, 1, 2], [9, 5, 7]))
    lengths = r.integers(1, time + 1, batch)
    return r.normal(0, 2, (time, batch, classes)).astype(r.choice(["f4", "f8"])), lengths.astype("i4")


def loss(r):
    x, lengths = inputs(r)
    ignore = bool(r.random() < 0.3)
    rows, values = [], []
    for b, length in enumerate(lengths):
        for i in range(int(r.integers(0 if r.random() < 0.03 else 1, length + 1 + 2 * ignore))):
            rows.append([b, i])
            values.append(int(r.integers(0, x.shape[2] - 1)))
    attrs = {"preprocess_collapse_repeated": bool(r.random() < 0.3), "ctc_merge_repeated": bool(r.random() < 0.7),
             "ignore_longer_outputs_than_inputs": ignore}
    return {"inputs": [x, numpy.array(rows, "i8").reshape(-1, 2), numpy.array(values, "i4"), lengths], "attrs": attrs,
            "grad": [0], "of": [0], "rtol": 1e-4, "atol": 1e-5}


def greedy(r):
    x, lengths = inputs(r)
    attrs = {"merge_repeated": bool(r.integers(2))}
    if r.random() < 0.5:
        attrs["blank_index"] = int(r.integers(-x.shape[2], x.shape[2]))
    return {"inputs": [x, lengths], "attrs": attrs}


def beam(r):
    x, lengths = inputs(r)
    width = int(r.integers(1, 12))
    attrs = {"beam_width": width, "top_paths": int(r.integers(1, min(width, 4) + 1 + (r.random() < 0.1))),
             "merge_repeated": bool(r.integers(2))}
    return {"inputs": [x, lengths], "attrs": attrs, "rtol": 1e-4, "atol": 1e-5}


DRAWS = {"CTCLoss": loss, "CTCGreedyDecoder": greedy, "CTCBeamSearchDecoder": beam}
