#!/usr/bin/env python3
"""Records gradients of gathers in branches of a loop, as TensorFlow's control flow of version 1 makes them.

    tests/tensorflow/nested_gathers.py [FOLDER]

Writes the cases while-cond-gather-indices-grad and while-cond-gather-few-grad to FOLDER (tests/cases/flow). The gradient
graph merges the indices of a gather, which are constants that are always live, with those of the zeros of the other
branch, and TensorFlow takes those that arrive first. If a gather has as many indices as the matrix has rows, the sum is
the same whichever it takes, and the expected values are those of its own graph. If it has fewer, TensorFlow's own graph
fails, and the expected values are those of a GradientTape over the same computation without control flow in the graph.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow as tf
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
v1 = tf.compat.v1
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
X = numpy.linspace(-0.7, 1.1, 12, dtype="f4").reshape(4, 3)
STEPS = (1, 2, 5, 8)


def indices(x, i, cond, is_whole):
    """The sum of squares of the rows that iteration i gathers."""
    def rows(*numbers):
        return lambda: tf.reduce_sum(tf.gather(x, tf.stack(numbers) if i in numbers else list(numbers)) ** 2)

    def even():
        if is_whole:
            return cond(tf.equal(i % 4, 0), rows(3, 1, 2, 2), rows(0, 1, 1, 2))
        return cond(tf.equal(i % 4, 0), rows(3, 1), rows(0))
    return cond(tf.equal(i % 2, 0), even, rows(2, 1, 0, 3) if is_whole else rows(2))


def graph_of(is_whole):
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4, 3], name="x")
        n = v1.placeholder(tf.int32, [], name="n")

        def body(i, y, z):
            return i + 1, y + indices(z, i, v1.cond, is_whole), z * 1.25
        result = v1.while_loop(lambda i, y, z: i < n, body, [tf.constant(0), tf.constant(1.0), tf.identity(x)])[1]
        y = tf.identity(result, name="y")
        tf.identity(tf.convert_to_tensor(tf.gradients(y, x)[0]), name="d_x")
    return graph


def from_graph(graph, n):
    with v1.Session(graph=graph) as session:
        return session.run(["y:0", "d_x:0"], {"x:0": X, "n:0": n})


def from_tape(is_whole, n):
    x = tf.Variable(X)
    with tf.GradientTape() as tape:
        y, z = tf.constant(1.0), tf.identity(x)
        for i in range(n):
            y, z = y + indices(z, tf.constant(i), lambda p, yes, no: yes() if p else no(), is_whole), z * 1.25
    return [y.numpy(), tf.convert_to_tensor(tape.gradient(y, x)).numpy()]


def record(folder, name, what, is_whole):
    with v1.Graph().as_default():
        graph = graph_of(is_whole)
    steps = []
    path = os.path.join(folder, name)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "graph.pb"), "wb") as file:
        file.write(graph.as_graph_def().SerializeToString())
    for i, n in enumerate(STEPS):
        y, d_x = from_graph(graph, n) if is_whole else from_tape(is_whole, n)
        numpy.savez(os.path.join(path, f"in{i}.npz"), **{"x:0": X, "n:0": numpy.int32(n)})
        numpy.savez(os.path.join(path, f"out{i}.npz"), **{"y:0": y, "d_x:0": d_x})
        steps.append({"feeds": f"in{i}.npz", "fetch": ["y:0", "d_x:0"], "expect": f"out{i}.npz",
                      "rtol": 1e-5, "atol": 1e-6})
    case = {"what": what, "from": f"TensorFlow {tf.__version__}", "tags": ["while", "cond", "grad", "foreign"], "steps": steps}
    with open(os.path.join(path, "case.json"), "w") as file:
        json.dump(case, file, indent=2)
        file.write("\n")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "tests", "cases", "flow")
    v1.disable_control_flow_v2()
    record(folder, "while-cond-gather-indices-grad",
           "TensorFlow's gradient of gathers in branches of a loop merges constant indices with those of zeros", True)
    record(folder, "while-cond-gather-few-grad",
           "the same with fewer indices than rows: TensorFlow's own graph fails; values of a GradientTape", False)


if __name__ == "__main__":
    main()
