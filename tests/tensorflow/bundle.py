#!/usr/bin/env python3
"""Records a checkpoint that TensorFlow wrote, and the graph that wrote it: tests/graphs/bundle.*.

    tests/tensorflow/bundle.py

The graph saves constants (target `save`), and one more (target `more`), restores them, and merges two checkpoints (target
`merge`). Exits 77, with a message, where TensorFlow is not
installed.
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
GRAPHS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "graphs")


def main():
    tf, v1 = tensorflow, tensorflow.compat.v1
    values = {"layer/w": numpy.array([[0.5, -1, 2], [3, 4, -0.25]], "f4"), "layer/b": numpy.array([7, -9], "i8"),
              "words": numpy.array(["a", "", "longer " * 40]), "half": numpy.array(1.5, "f2"),
              "nothing": numpy.zeros((0, 3), "f4"), "flags": numpy.array([True, False])}
    with tf.Graph().as_default() as graph:
        prefix = v1.placeholder(tf.string, [], name="prefix")
        tensors = [tf.constant(v, name=f"value{i}") for i, v in enumerate(values.values())]
        none = [""] * len(values)
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(values), shape_and_slices=none, tensors=tensors, name="save")
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=["one/more"], shape_and_slices=[""], tensors=[tf.constant([1.0, 2.0])],
                          name="more")
        tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=list(values), shape_and_slices=none,
                             dtypes=[t.dtype for t in tensors], name="restore")
        tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["one/more"], shape_and_slices=[""], dtypes=[tf.float32], name="one")
        tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["layer/w"], shape_and_slices=[""], dtypes=[tf.int32], name="wrong")
        tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["layer/w"], shape_and_slices=["2 3 0,1:-"], dtypes=[tf.float32],
                             name="slice")
        both = tf.raw_ops.Pack(values=[tf.raw_ops.ShardedFilename(basename=prefix, shard=i, num_shards=2) for i in range(2)],
                               name="both")
        tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=both, destination_prefix=prefix, name="merge")
        path = os.path.join(GRAPHS, "bundle")
        with v1.Session() as session:
            session.run("save", {prefix: path})
        tf.io.write_graph(graph.as_graph_def(), GRAPHS, "bundle.pb", as_text=False)


main()
