#!/usr/bin/env python3
"""TensorFlow runs the graphs that dfg writes, and dfg must compute what TensorFlow does.

    tests/tensorflow/compare.py [--record] [NAME...]
    tests/tensorflow/compare.py --build DIR [NAME...]

Every example is built and given its gradient by dfg, imported by TensorFlow, initialised and trained a few steps there.
What TensorFlow computed becomes a case, which `dfg test` repeats; with --record the cases stay in tests/cases/ours.
--build needs no TensorFlow: it puts fresh graphs into a copy of these cases. DFG is the program (build/dfg). Exits 77, with a message, where TensorFlow is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.path.abspath(os.environ.get("DFG", os.path.join(ROOT, "build", "dfg")))
BATCH, STEPS = 8, 4
RTOL, ATOL = 1e-4, 1e-5


def pictures(random):
    return {"images": random.integers(0, 256, (BATCH, 28, 28)).astype("u1"),
            "labels": random.integers(0, 10, BATCH).astype("u1")}


# Of each example: its optimizer, options of build, what feeds it, what the graph for use answers.
EXAMPLES = {
    "autoencoder": ("rmsprop(lr=0.001)", [], lambda r: {"images": pictures(r)["images"]}, ["code", "loss"]),
    "embedding": ("adagrad(lr=0.1)", [], lambda r: {
        "words": r.integers(0, 5000, (BATCH, 11)).astype("i4"),
        "labels": r.integers(0, 4, BATCH).astype("i4")}, ["kind", "loss"]),
    "factorisation": ("sgd(lr=0.1)", [], lambda r: {
        "user": r.integers(0, 9, BATCH).astype("i4"), "item": r.integers(0, 9, BATCH).astype("i4"),
        "rating": r.uniform(1, 5, BATCH).astype("f4")}, ["guess", "loss"]),
    "lenet": ("momentum(lr=0.01)", [], pictures, ["probabilities", "loss", "accuracy"]),
    "lstm": ("adamw(lr=0.001)", [], lambda r: {
        "sequences": r.normal(size=(BATCH, 16, 12)).astype("f4"),
        "labels": r.integers(0, 5, BATCH).astype("i4")}, ["loss", "accuracy"]),
    "mlp": ("adam(lr=0.001)", ["-D", "hidden=32"], pictures, ["probabilities", "loss", "accuracy"]),
    "transformer": ("nesterov(lr=0.01)", ["-D", "width=16"], lambda r: {
        "tokens": r.integers(0, 1000, (BATCH, 9)).astype("i4"),
        "wanted": r.integers(0, 1000, (BATCH, 9)).astype("i4")}, ["next", "loss"]),
}


def dfg(*words):
    subprocess.run([DFG, *words], check=True)


def record(folder, name, what, fetch, targets):
    """Runs folder/graph.pb in TensorFlow, and writes down what came."""
    tf = tensorflow.compat.v1
    feeds = EXAMPLES[name][2]
    random = numpy.random.default_rng(list(name.encode()))
    graph_def = tf.GraphDef()
    with open(os.path.join(folder, "graph.pb"), "rb") as file:
        graph_def.ParseFromString(file.read())
    steps = [{"targets": ["init"]}]
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        session.run(graph.get_operation_by_name("init"))
        for i in range(STEPS if targets else 1):
            fed = {key + ":0": value for key, value in feeds(random).items()}
            run = [graph.get_operation_by_name(target) for target in targets]
            values = session.run(([key + ":0" for key in fetch], run), fed)[0]
            numpy.savez(os.path.join(folder, f"in{i}.npz"), **fed)
            numpy.savez(os.path.join(folder, f"out{i}.npz"), **{key + ":0": v for key, v in zip(fetch, values)})
            steps.append({"feeds": f"in{i}.npz", "targets": targets, "fetch": [key + ":0" for key in fetch],
                          "expect": f"out{i}.npz", "rtol": RTOL, "atol": ATOL})
    for step in steps:
        if not step["targets"]:
            del step["targets"]
    case = {"what": what, "from": "TensorFlow " + tensorflow.__version__, "tags": ["ours", name], "steps": steps}
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump(case, file, indent=2)
        file.write("\n")


def build(top, name):
    """The graph for use and the one for training, in the folders of their cases."""
    optimizer, options, _, _ = EXAMPLES[name]
    program = os.path.join(ROOT, "examples", name + ".dfg")
    use, train = os.path.join(top, name), os.path.join(top, name + "-train")
    os.makedirs(use, exist_ok=True)
    os.makedirs(train, exist_ok=True)
    dfg("build", program, *options, "-o", os.path.join(use, "graph.pb"))
    draft = os.path.join(train, "draft.pb")
    dfg("build", program, *options, "-D", "training=true", "-o", draft)
    dfg("grad", draft, "--loss", "loss", "--optimizer", optimizer, "-o", os.path.join(train, "graph.pb"))
    os.remove(draft)


def example(top, name):
    optimizer, _, _, outputs = EXAMPLES[name]
    build(top, name)
    record(os.path.join(top, name), name, f"the example {name} as dfg builds it, with its own initialisers", outputs, [])
    record(os.path.join(top, name + "-train"), name, f"training of the example {name} by {optimizer}, as dfg makes it",
           ["loss"], ["train"])


def load_tensorflow():
    global numpy, tensorflow
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import numpy
        import tensorflow
    except ImportError:
        print("TensorFlow is not installed")
        sys.exit(77)


def main(words):
    if words[:1] == ["--build"]:
        for name in words[2:] or sorted(EXAMPLES):
            build(words[1], name)
        return 0
    load_tensorflow()
    keep = "--record" in words
    names = [word for word in words if word != "--record"] or sorted(EXAMPLES)
    with tempfile.TemporaryDirectory() as scratch:
        top = os.path.join(ROOT, "tests", "cases", "ours") if keep else scratch
        for name in names:
            example(top, name)
        return subprocess.run([DFG, "test", top], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
