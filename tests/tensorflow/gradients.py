#!/usr/bin/env python3
"""TensorFlow runs dfg's gradients of control flow, once `dfg opt --passes tensorflow` has written them for it.

    tests/tensorflow/gradients.py [-v] [NAME...]

Of each recorded case with derivatives (tests/cases), dfg makes the gradient graph and writes it without ops of its own;
TensorFlow imports it, runs the case's steps, and must get the derivatives that were recorded from its own gradients. With
names, only cases that have one of them in theirs. DFG is the program (build/dfg). Exits 77, with a message, where
TensorFlow is not installed.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.path.abspath(os.environ.get("DFG", os.path.join(ROOT, "build", "dfg")))

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
tf = tensorflow.compat.v1


def dfg(*words):
    run = subprocess.run([DFG, *words], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())


def derive(case, grad, folder):
    """The case's graph with the derivatives that it asks for, without ops of dfg's; and their names."""
    names = [n.removesuffix(":0") for n in grad["wrt"]]
    graph, of = os.path.join(case, "graph.pb"), grad["of"]
    for order in range(1, grad.get("order", 1) + 1):
        prefix, result = f"d{order}", os.path.join(folder, f"d{order}.pb")
        dfg("grad", graph, "--of", of, "--wrt", ",".join(names), "--prefix", prefix, "-o", result, "-q")
        graph, of = result, ",".join(f"{prefix}/{n}" for n in names)
    result = os.path.join(folder, "tensorflow.pb")
    dfg("opt", "--passes", "lower,tensorflow", graph, "--fetch", of, "-o", result, "-q")
    with open(result, "rb") as file:
        graph_def = tf.GraphDef.FromString(file.read())
    ours = {n.op for n in graph_def.node if ">" in n.op}
    if ours:
        raise RuntimeError(f"has {', '.join(sorted(ours))}")
    return graph_def, of.split(",")


def read(case, name):
    if not name:
        return {}
    with numpy.load(os.path.join(case, name), allow_pickle=True) as file:
        return dict(file)


def same(want, got, grad):
    if want.dtype.kind not in "fc" or got.shape != want.shape:
        return want.shape == got.shape and bool((want == got).all())
    return numpy.allclose(got, want, rtol=max(grad.get("rtol", 0), 1e-6), atol=max(grad.get("atol", 0), 1e-6),
                          equal_nan=True)


def run(case, spec):
    """What is wrong, or None."""
    grad = spec["grad"]
    with tempfile.TemporaryDirectory() as folder:
        graph_def, names = derive(case, grad, folder)
    want = read(case, grad["expect"])
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        for step in spec["steps"]:
            feeds = {graph.get_tensor_by_name(k if ":" in k else k + ":0"): v
                     for k, v in read(case, step.get("feeds")).items()}
            session.run([graph.get_operation_by_name(t) for t in step.get("targets", [])] +
                        [t if ":" in t else t + ":0" for t in step.get("fetch", [])], feeds)
        got = session.run([n + ":0" for n in names], feeds)
    for name, value in zip(grad["wrt"], got):
        expected = want.get(name, want.get(name.removesuffix(":0")))
        if not same(expected, value, grad):
            return f"{name}: {value}, not {expected}"
    return None


def main(arguments):
    verbose = "-v" in arguments
    words = [a for a in arguments if a != "-v"]
    done, wrong = 0, 0
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/cases/[ft]*/*/case.json"))):
        case = os.path.dirname(path)
        name = os.path.basename(case)
        with open(path) as file:
            spec = json.load(file)
        if "grad" not in spec or words and not any(w in name for w in words):
            continue
        try:
            error = run(case, spec)
        except Exception as e:  # whatever TensorFlow thinks of the graph is the result
            error = f"{type(e).__name__}: {str(e)[:1000 if verbose else 300]}"
        done += 1
        if error:
            wrong += 1
            print(f"{name}: {error}")
        elif verbose:
            print(f"{name}: ok")
    print(f"{done - wrong} of {done} gradients agree")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
