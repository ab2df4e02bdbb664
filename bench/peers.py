"""The steps of bench/train.c in TensorFlow's v1 session, on as many threads as the argument says: what ours stand beside."""
import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()


def variable(*shape):
    return v1.get_variable(f"v{len(v1.global_variables())}", shape, initializer=v1.glorot_uniform_initializer())


def mlp(x):
    h = tf.nn.relu(tf.matmul(tf.reshape(x, [-1, 784]), variable(784, 128)))
    return tf.matmul(h, variable(128, 10))


def lenet(x):
    h = tf.reshape(x, [-1, 28, 28, 1])
    for count, into in ((1, 32), (32, 64)):
        h = tf.nn.conv2d(h, variable(5, 5, count, into), strides=1, padding="SAME")
        h = tf.nn.max_pool2d(tf.nn.relu(h), 2, 2, "SAME")
    h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 3136]), variable(3136, 512)))
    return tf.matmul(h, variable(512, 10))


def measure(name, network, batch, threads, times):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [batch, 28, 28])
        y = v1.placeholder(tf.int32, [batch])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=network(x)))
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
        config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            step = session.make_callable(train, [x, y])
            feeds = np.random.rand(batch, 28, 28).astype(np.float32), np.arange(batch, dtype=np.int32) % 10
            took = []
            for i in range(times + 3):
                begin = time.perf_counter()
                step(*feeds)
                took.append(time.perf_counter() - begin)
    print(f"TensorFlow {name}, {threads} threads{statistics.median(took[3:]) * 1e3:12.3f} ms", flush=True)


for threads in (1, 2):
    measure("MLP, step of 32", mlp, 32, threads, 200)
    measure("LeNet step of 64", lenet, 64, threads, 15)
