"""Draws of connectionist temporal classification: tests/tensorflow/ops.py."""
import numpy


def inputs(r):
    time, batch, classes = (int(n) for n in r.integers(1, [9, 5, 7]))
    lengths = r.integers(0, time + 1, batch)
    return r.normal(0, 2, (time, batch, classes)).astype(r.choice(["f4", "f8"])), lengths.astype("i4")


def greedy(r):
    x, lengths = inputs(r)
    attrs = {"merge_repeated": bool(r.integers(2))}
    if r.random() < 0.5:
        attrs["blank_index"] = int(r.integers(-x.shape[2], x.shape[2]))
    return {"inputs": [x, lengths], "attrs": attrs}


DRAWS = {"CTCGreedyDecoder": greedy}
