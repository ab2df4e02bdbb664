#!/usr/bin/env python3
"""Records random ops of TensorFlow over three steps, as cases of tests/cases/ops: choices, candidates, and generators
whose state is a variable.

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
CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases", "ops")
STEPS = 3


def choices(ops):
    r = numpy.random.default_rng(1)
    logits = numpy.concatenate([r.normal(size=(3, 9)), [[0, -numpy.inf, 1, numpy.nan, 3, -numpy.inf, 0, 0, 0]]]).astype("f4")
    ops.RandomShuffle(value=numpy.arange(11, dtype="i4"), seed=5, seed2=7, name="vector")
    ops.RandomShuffle(value=r.normal(size=(7, 2)).astype("f4"), seed=5, seed2=9, name="rows")
    ops.RandomShuffle(value=["a", "b", "c", "d"], seed=1, seed2=2, name="strings")
    ops.Multinomial(logits=logits, num_samples=13, seed=3, seed2=4, output_dtype=tensorflow.int32, name="classes")
    ops.Multinomial(logits=logits.astype("f8"), num_samples=6, seed=3, seed2=4, output_dtype=tensorflow.int64, name="wide")
    ops.StatelessMultinomial(logits=logits, num_samples=17, seed=[3, -4], output_dtype=tensorflow.int64, name="by_seed")
    key, counter = ops.StatelessRandomGetKeyCounter(seed=numpy.array([3, -4], "i8"))
    ops.StatelessShuffle(value=r.normal(size=(37, 2)), key=key, counter=counter, alg=1, name="by_key")
    ops.StatelessShuffle(value=r.normal(size=(1, 2)), key=key, counter=counter, alg=3, name="one")
    return ["vector:0", "rows:0", "classes:0", "wide:0", "by_seed:0", "by_key:0", "one:0"]


def candidates(ops):
    true = numpy.array([[0, 3], [7, 3], [19, 1]], "i8")
    common = {"true_classes": true, "num_true": 2, "range_max": 20, "seed": 5, "seed2": 7}
    unigrams = [float(w) for w in numpy.random.default_rng(2).integers(1, 50, 17)]
    fixed = {"unigrams": unigrams, "num_reserved_ids": 3, "distortion": 0.75}
    names = []
    for unique in (False, True):
        for kind, more in (("Uniform", {}), ("LogUniform", {}), ("LearnedUnigram", {}), ("ThreadUnsafeUnigram", {}),
                           ("FixedUnigram", fixed)):
            name = f"{kind}{'Once' * unique}"
            getattr(ops, kind + "CandidateSampler")(**common, **more, num_sampled=9, unique=unique, name=name)
            names += [f"{name}:{i}" for i in range(3)]
    ops.AllCandidateSampler(true_classes=true, num_true=2, num_sampled=20, unique=True, name="all")
    ops.UniformCandidateSampler(**{**common, "range_max": 64}, num_sampled=30, unique=True, name="many")
    ops.ComputeAccidentalHits(true_classes=true, sampled_candidates=numpy.array([3, 5, 19, 3, 0], "i8"), num_true=2, name="hits")
    return [*names, "all:0", "all:1", "all:2", "many:0", "many:1", "many:2", "hits:0", "hits:1", "hits:2"]


def generators(ops):
    state = ops.VarHandleOp(dtype=tensorflow.int64, shape=[3], shared_name="state", name="state")
    start = numpy.array([-5, 12345678901234, 9876543210987], "i8")  # the low half of the counter overflows
    before = [ops.AssignVariableOp(resource=state, value=start, name="init")]
    names = []

    def then(op, name, **arguments):
        with tensorflow.control_dependencies(before[-1:]):
            result = getattr(ops, op)(resource=state, name=name, **arguments)
        before.append(result if op == "RngSkip" else result.op)
        if op != "RngSkip":
            names.append(name + ":0")

    then("RngReadAndSkip", "read", alg=1, delta=numpy.array(3, "u8"))
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        for op in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"):
            then(op, op + dtype, algorithm=1, shape=numpy.array([2, 3], "i4"), dtype=dtype)
            if dtype == "bfloat16":
                names[-1] = tensorflow.cast(before[-1].outputs[0], tensorflow.float32, name=op + "wide").name
    then("RngSkip", "skip", algorithm=1, delta=17)
    for dtype in ("int32", "int64", "uint32", "uint64"):
        then("StatefulUniformFullInt", "full" + dtype, algorithm=1, shape=[5], dtype=dtype)
        low, high = numpy.array(3, dtype), numpy.array(103, dtype)
        then("StatefulUniformInt", "int" + dtype, algorithm=1, shape=[5], minval=low, maxval=high)
    for shape, counts, probs, dtype in (([7, 2, 4], [10, 3, 100, 50], [.5, .2, .9, .01], "int64"), ([3], 40, 0.3, "float32"),
                                        ([5, 2, 2], [[7.], [1e4]], [0.5, 0.75], "float64")):
        then("StatefulRandomBinomial", f"binomial{len(shape)}", algorithm=1, shape=shape,
             counts=numpy.array(counts, "f8"), probs=numpy.array(probs, "f8"), dtype=dtype)
    then("RngReadAndSkip", "end", alg=1, delta=numpy.array(0, "u8"))
    return names


WHAT = {"random-choices": (choices, "Multinomial, StatelessMultinomial and RandomShuffle over three steps"),
        "random-candidates": (candidates, "candidate samplers over three steps, and accidental hits"),
        "random-generators": (generators, "random numbers from a state in a variable, which each step sets first")}


def main():
    for name, (function, what) in WHAT.items():
        case, v1 = os.path.join(CASES, name), tensorflow.compat.v1
        os.makedirs(case, exist_ok=True)
        with tensorflow.Graph().as_default() as graph, v1.Session() as session:
            fetch = function(tensorflow.raw_ops)
            tensorflow.io.write_graph(graph.as_graph_def(), case, "graph.pb", as_text=False)
            for step in range(STEPS):
                numpy.savez(os.path.join(case, f"out{step}.npz"), **dict(zip(fetch, session.run(fetch))))
        steps = [{"fetch": fetch, "expect": f"out{step}.npz", "rtol": 1e-6, "atol": 1e-7} for step in range(STEPS)]
        with open(os.path.join(case, "case.json"), "w", encoding="utf-8") as file:
            record = {"what": what, "from": f"TensorFlow {tensorflow.__version__}", "tags": ["random"], "steps": steps}
            file.write(json.dumps(record, indent=2) + "\n")


main()
