"""The graphs of bench/dispatch.c in TensorFlow's v1 session and in ONNX Runtime, on one thread, unfused."""
import os
import statistics
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import onnx
import onnxruntime
import tensorflow as tf
from onnx import TensorProto, helper
from tensorflow.core.protobuf import rewriter_config_pb2

v1 = tf.compat.v1
v1.disable_eager_execution()
NODES, RUNS = 1000, 60


def median(call):
    """Seconds a call, over batches of about 20 ms."""
    call()
    begin = time.perf_counter()
    call()
    batch = int(0.02 / (time.perf_counter() - begin)) + 1
    took = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        took.append((time.perf_counter() - begin) / batch)
    return statistics.median(took)


def dag():
    """The inputs of node i of the DAG, and whether they are added."""
    random = 1
    for i in range(1, NODES):
        random = (random * 1664525 + 1013904223) % 2**32
        yield i - 1, (random >> 8) % i, random >> 31


def tensorflow(name, build, per, unit):
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
        with v1.Session(config=config) as session:
            call = session.make_callable(build(x), [x])
            value = np.float32(1)
            print(name, median(lambda: call(value)) * unit / per, "TensorFlow", sep="\t", flush=True)


def chain_tf(x):
    one, at = tf.constant(1.0), x
    for _ in range(NODES):
        at = at + one
    return at


def dag_tf(x):
    node = [x]
    for a, b, plus in dag():
        node.append(node[a] + node[b] if plus else node[a] - node[b])
    return node[-1]


def runtime(name, ops, per, unit):
    """ops: (op, input, input) by number of the node before; -1 is the constant."""
    names = {0: "x", -1: "one"}
    nodes = [helper.make_node(op, [names.get(a, f"n{a}"), names.get(b, f"n{b}")], [f"n{i}"]) for i, (op, a, b) in enumerate(ops, 1)]
    scalar = lambda of: helper.make_tensor_value_info(of, TensorProto.FLOAT, [])
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    graph = helper.make_graph(nodes, "g", [scalar("x")], [scalar(f"n{len(ops)}")], [one])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.ones((), np.float32))
    binding.bind_output(f"n{len(ops)}")
    print(name, median(lambda: session.run_with_iobinding(binding)) * unit / per, "ONNX Runtime", sep="\t", flush=True)


tensorflow("chain of 1000, a node", chain_tf, NODES, 1e9)
tensorflow("DAG of 1000, a node", dag_tf, NODES, 1e9)
tensorflow("call of a trivial graph", lambda x: x + 1.0, 1, 1e6)
runtime("chain of 1000, a node", [("Add", i, -1) for i in range(NODES)], NODES, 1e9)
runtime("DAG of 1000, a node", [("Add" if plus else "Sub", a, b) for a, b, plus in dag()], NODES, 1e9)
runtime("call of a trivial graph", [("Add", 0, -1)], 1, 1e6)
