"""The networks of bench/train.c: training steps in TensorFlow's v1 session, inference in ONNX Runtime."""
import os
import statistics
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import onnxruntime
import tensorflow as tf
from onnx import TensorProto, helper, numpy_helper

v1 = tf.compat.v1
v1.disable_eager_execution()


def variable(*shape):
    return v1.get_variable(f"v{len(v1.global_variables())}", shape, initializer=v1.glorot_uniform_initializer())


def mlp(x):
    h = tf.nn.relu(tf.matmul(x, variable(784, 128)) + variable_zeros(128))
    return tf.matmul(h, variable(128, 10)) + variable_zeros(10)


def variable_zeros(*shape):
    return v1.get_variable(f"v{len(v1.global_variables())}", shape, initializer=v1.zeros_initializer())


def lenet(x):
    h = tf.reshape(x, [-1, 28, 28, 1])
    for count, into in ((1, 32), (32, 64)):
        h = tf.nn.conv2d(h, variable(5, 5, count, into), strides=1, padding="SAME") + variable_zeros(into)
        h = tf.nn.max_pool2d(tf.nn.relu(h), 2, 2, "SAME")
    h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 3136]), variable(3136, 512)) + variable_zeros(512))
    return tf.matmul(h, variable(512, 10)) + variable_zeros(10)


def median(call, times):
    took = []
    for i in range(times + 3):
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return statistics.median(took[3:])


def step(name, network, shape, threads, times, unit):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, shape)
        y = v1.placeholder(tf.int32, shape[:1])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=network(x)))
        train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
        config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            call = session.make_callable([loss, train], [x, y])
            feeds = np.random.rand(*shape).astype(np.float32), np.arange(shape[0], dtype=np.int32) % 10
            print(name, median(lambda: call(*feeds), times) * unit, "TensorFlow", sep="\t", flush=True)


def inference(name, times):
    weights = [("w", (784, 128)), ("b", (128,)), ("v", (128, 10)), ("c", (10,))]
    initial = [numpy_helper.from_array(np.random.rand(*shape).astype(np.float32) / 9, of) for of, shape in weights]
    nodes = [helper.make_node(op, inputs, [output]) for op, inputs, output in (
        ("Gemm", ["x", "w", "b"], "h"), ("Relu", ["h"], "r"), ("Gemm", ["r", "v", "c"], "l"), ("Softmax", ["l"], "p"))]
    tensor = lambda of, *shape: helper.make_tensor_value_info(of, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "mlp", [tensor("x", 1, 784)], [tensor("p", 1, 10)], initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.random.rand(1, 784).astype(np.float32))
    binding.bind_output("p")
    print(name, median(lambda: session.run_with_iobinding(binding), times) * 1e6, "ONNX Runtime", sep="\t", flush=True)


inference("MLP, one picture", 3000)
step("MLP, step of 32", mlp, [32, 784], 1, 400, 1e6)
step("LeNet, step of 64, 1 thread", lenet, [64, 28, 28], 1, 12, 1e3)
step("LeNet, step of 64, 2 threads", lenet, [64, 28, 28], 2, 12, 1e3)
