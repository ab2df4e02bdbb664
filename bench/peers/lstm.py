"""The LSTM of bench/lstm.sh in TensorFlow's v1 session: a while_loop over TensorArrays, as dynamic_rnn makes it; one thread."""
import os
import statistics
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.disable_control_flow_v2()
STEPS = 50


def loss_of(xs, batch, units):
    w = v1.get_variable("w", [2 * units, 4 * units], initializer=v1.glorot_uniform_initializer())
    b = v1.get_variable("b", [4 * units], initializer=v1.zeros_initializer())
    rows = tf.TensorArray(tf.float32, STEPS).unstack(xs)

    def body(t, h, c):
        i, j, f, o = tf.split(tf.matmul(tf.concat([rows.read(t), h], 1), w) + b, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        return t + 1, tf.tanh(c) * tf.sigmoid(o), c

    zeros = tf.zeros([batch, units])
    _, h, _ = v1.while_loop(lambda t, *_: t < STEPS, body, [0, zeros, zeros], parallel_iterations=32)
    return tf.reduce_mean(h * h)


def measure(name, batch, units, train, unit, runs):
    with tf.Graph().as_default():
        xs = v1.placeholder(tf.float32, [STEPS, batch, units])
        loss = loss_of(xs, batch, units)
        fetch = [loss] + ([v1.train.GradientDescentOptimizer(0.01).minimize(loss)] if train else [])
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            call = session.make_callable(fetch, [xs])
            feed = np.random.rand(STEPS, batch, units).astype(np.float32)
            took = []
            for _ in range(runs + 1):
                begin = time.perf_counter()
                call(feed)
                took.append(time.perf_counter() - begin)
            print(name, statistics.median(took[1:]) / unit, "TensorFlow", sep="\t", flush=True)


measure("LSTM 1x128, 50 iterations", 1, 128, False, 1e-6, 100)
measure("LSTM 64x128, step, loop", 64, 128, True, 1e-6, 8)
measure("LSTM 32x512, step", 32, 512, True, 1e-6, 4)
