#!/usr/bin/env python3
"""Records random choices of TensorFlow over three steps, as the case random-choices of tests/cases/ops.

    tests/tensorflow/random_choices.py

Exits 77, with a message, where TensorFlow is not installed.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
CASE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases", "ops", "random-choices")
STEPS = 3


def draw(ops):
    r = numpy.random.default_rng(1)
    logits = numpy.concatenate([r.normal(size=(3, 9)), [[0, -numpy.inf, 1, numpy.nan, 3, -numpy.inf, 0, 0, 0]]]).astype("f4")
    ops.RandomShuffle(value=numpy.arange(11, dtype="i4"), seed=5, seed2=7, name="vector")
    ops.RandomShuffle(value=r.normal(size=(7, 2)).astype("f4"), seed=5, seed2=9, name="rows")
    ops.RandomShuffle(value=["a", "b", "c", "d"], seed=1, seed2=2, name="strings")
    ops.Multinomial(logits=logits, num_samples=13, seed=3, seed2=4, output_dtype=tensorflow.int32, name="classes")
    ops.Multinomial(logits=logits.astype("f8"), num_samples=6, seed=3, seed2=4, output_dtype=tensorflow.int64, name="wide")
    ops.StatelessMultinomial(logits=logits, num_samples=17, seed=[3, -4], output_dtype=tensorflow.int64, name="by_seed")


def main():
    v1 = tensorflow.compat.v1
    fetch = ["vector:0", "rows:0", "classes:0", "wide:0", "by_seed:0"]
    os.makedirs(CASE, exist_ok=True)
    with tensorflow.Graph().as_default() as graph, v1.Session() as session:
        draw(tensorflow.raw_ops)
        tensorflow.io.write_graph(graph.as_graph_def(), CASE, "graph.pb", as_text=False)
        for step in range(STEPS):
            numpy.savez(os.path.join(CASE, f"out{step}.npz"), **dict(zip(fetch, session.run(fetch))))
    steps = [{"fetch": fetch, "expect": f"out{step}.npz"} for step in range(STEPS)]
    with open(os.path.join(CASE, "case.json"), "w", encoding="utf-8") as file:
        case = {"what": "Multinomial, StatelessMultinomial and RandomShuffle over three steps",
                "from": f"TensorFlow {tensorflow.__version__}", "tags": ["random"], "steps": steps}
        file.write(json.dumps(case, indent=2) + "\n")


main()
