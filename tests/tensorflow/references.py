#!/usr/bin/env python3
"""TensorFlow trains over reference variables as over resource variables, once `dfg opt --passes tensorflow` has written the step.

    tests/tensorflow/references.py

A reference variable is updated in place while others may still read it, unless they read a copy. So the same network is
made with both kinds of variables and trained some steps by dfg's optimizer, several times: all losses must be the same.
DFG is the program (build/dfg). Exits 77, with a message, where TensorFlow is not installed.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.path.abspath(os.environ.get("DFG", os.path.join(ROOT, "build", "dfg")))
WIDTH, ROWS, LAYERS, STEPS, RUNS = 300, 64, 4, 5, 6

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
tf = tensorflow.compat.v1


def network(use_resource):
    random = numpy.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [ROWS, WIDTH], name="x")
        h = x
        for layer in range(LAYERS):
            start = (random.normal(size=(WIDTH, WIDTH)) / WIDTH ** 0.5).astype("f4")
            w = tf.get_variable(f"w{layer}", initializer=start, use_resource=use_resource)
            h = tf.tanh(tf.matmul(h, w))
        tf.reduce_sum(h * h, name="loss")
        tf.reduce_sum(tf.matmul(x, w), name="aside")  # a reader that no gradient waits for
        tf.global_variables_initializer()
    return graph.as_graph_def()


def train(folder, use_resource):
    path = os.path.join(folder, "graph.pb")
    with open(path, "wb") as file:
        file.write(network(use_resource).SerializeToString())
    for words in (["grad", path, "--loss", "loss", "--optimizer", "sgd(lr=0.01)"], ["opt", path, "--passes", "tensorflow"]):
        subprocess.run([DFG, *words, "-o", path, "-q"], check=True)
    with open(path, "rb") as file:
        graph_def = tf.GraphDef.FromString(file.read())
    data = numpy.random.default_rng(1).normal(size=(ROWS, WIDTH)).astype("f4")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        session.run("init")
        return [session.run(["loss:0", "aside:0", "train"], {"x:0": data})[:2] for _ in range(STEPS)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        want = train(folder, True)
        for _ in range(RUNS):
            got = train(folder, False)
            if not numpy.allclose(got, want, rtol=1e-6, atol=0):
                sys.exit(f"reference variables: {got}, resource variables: {want}")
    print(f"{RUNS} runs agree")


main()
