"""The loops of bench/loops.c in TensorFlow's v1 session, with its v1 control flow, on one thread."""
import os
import statistics
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.disable_control_flow_v2()


def measure(name, build, feed, per, unit, runs):
    """The median of some steps, in `unit` seconds for each of `per`."""
    with tf.Graph().as_default():
        x = v1.placeholder(tf.as_dtype(feed.dtype), feed.shape)
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with v1.Session(config=config) as session:
            call = session.make_callable(build(x), [x])
            took = []
            for _ in range(runs + 1):
                begin = time.perf_counter()
                call(feed)
                took.append(time.perf_counter() - begin)
            print(name, statistics.median(took[1:]) / per / unit, "TensorFlow", sep="\t", flush=True)


def count(x):
    return v1.while_loop(lambda i: i < x, lambda i: i + 1, [0], back_prop=False)


def fizzbuzz(x):
    def body(i, *said):
        def plus(k):
            return lambda: [n + 1 if j == k else tf.identity(n) for j, n in enumerate(said)]

        def decide(k):
            if k == 3:
                return [tf.identity(n) for n in said]
            return v1.cond(tf.equal(i % (15, 3, 5)[k], 0), plus(k), lambda: decide(k + 1))

        return [i + 1, *decide(0)]

    return v1.while_loop(lambda i, *_: i <= x, body, [1, 0, 0, 0], back_prop=False)


def gradient(x):
    w = tf.constant(0.5 + np.arange(64, dtype=np.float32) / 512)
    _, v = v1.while_loop(lambda i, v: i < 10000, lambda i, v: (i + 1, v * w + w), [0, x])
    return v1.gradients(v, w)[0]


measure("loop that counts, an iteration", count, np.array(10000, np.int32), 10000, 1e-9, 20)
measure("FizzBuzz to 100,000", fizzbuzz, np.array(100000, np.int32), 1, 1e-3, 3)
measure("loop of f32[64] with gradient", gradient, np.arange(64, dtype=np.float32) / 64, 10000, 1e-9, 5)
