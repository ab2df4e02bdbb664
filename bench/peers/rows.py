"""Softmax, layer norm and transcendental functions in TensorFlow, on one thread: minima of processor time."""
import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def layer_norm(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * tf.ones(x.shape[-1]) + tf.zeros(x.shape[-1])


def functions(x):
    return (tf.sigmoid(x * 1.5) + tf.tanh(x - 0.5)) * tf.exp(tf.minimum(x, 1.0)) - x


cases = [
    ("9 ops, 3 transcendental, 4 M", 1e3, functions, 4096),
    ("softmax 4096 x 1024", 1e3, tf.nn.softmax, 4096),
    ("softmax 64 x 1024", 1e6, tf.nn.softmax, 64),
    ("layer norm 4096 x 1024", 1e3, layer_norm, 4096),
]
for row, unit, function, rows in cases:
    x = tf.constant(np.random.default_rng(1).uniform(-2, 2, (rows, 1024)).astype(np.float32))
    for who, jit in (("TensorFlow", False), ("XLA", True)):
        step = tf.function(function, jit_compile=jit)
        step(x)
        batch = max(1, 4096 // rows)
        least = float("inf")
        for _ in range(31):
            start = time.process_time()
            for _ in range(batch):
                step(x)
            least = min(least, (time.process_time() - start) / batch)
        print(f"{row}\t{least * unit:.4g}\t{who}")
