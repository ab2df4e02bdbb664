"""Records the graphs of this directory with TensorFlow: NAME.pb is what Python's protobuf writes, deterministically;
NAME.odd.pb the same message as no program writes it (fields backwards, numbers unpacked and padded), which must come out
of `dfg convert` as NAME.pb; NAME.pbtxt is protobuf's text. All but the last two are seeds of tests/unit/malformed.c.
    python3 record.py [DIRECTORY]"""
import struct
import sys

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor as F
from tensorflow.core.framework import graph_pb2, types_pb2

v1 = tf.compat.v1
v1.disable_eager_execution()


def every():
    """All that the schema has."""
    g = graph_pb2.GraphDef()
    g.versions.producer = 1987
    g.versions.min_consumer = 12
    g.versions.bad_consumers.extend([-1, 7, 300])
    g.version = 5

    n = g.node.add(name="all/kinds-1.2", op="Unknown>Kinds", device="/job:w/task:3/device:CPU:0")
    a = n.attr
    a["none"].SetInParent()
    a["s"].s = b"\x00\xff\x7f'\"\\\n end"
    a["empty"].s = b""
    a["i"].i = -(2**63)
    a["zero"].i = 0
    a["f"].f = 1.5e-40
    a["inf"].f = -np.inf
    a["minus_zero"].f = -0.0
    a["b"].b = True
    a["off"].b = False
    a["T"].type = types_pb2.DT_HALF
    a["Tref"].type = types_pb2.DT_FLOAT_REF
    a["Tout"].type = types_pb2.DT_FLOAT4_E2M1FN
    a["shape"].shape.dim.add(size=3)
    a["shape"].shape.dim.add(size=-1)
    a["shape"].shape.dim.add(size=0)
    a["rank"].shape.unknown_rank = True
    a["scalar"].shape.SetInParent()
    a["placeholder"].placeholder = "Tfoo"
    a["func"].func.name = "f"
    a["func"].func.attr["inner"].func.name = "g"
    a["func"].func.attr["inner"].func.attr["x"].list.i.extend([1, -1])
    a["func"].func.attr["in"].i = 4
    a["nothing"].list.SetInParent()
    a["ls"].list.s.extend([b"", b"x", b"\xc3\xa9"])
    a["li"].list.i.extend([0, 1, -1, 2**62])
    a["lf"].list.f.extend([0.0, 1.0, float("inf"), 3.4e38])
    a["lb"].list.b.extend([True, False])
    a["lt"].list.type.extend([1, 14, 107])
    a["lshape"].list.shape.add().dim.add(size=2)
    a["lshape"].list.shape.add().unknown_rank = True
    a["lfunc"].list.func.add(name="h").attr["T"].type = 1
    a["ltensor"].list.tensor.add(dtype=3, int_val=[1, 2]).tensor_shape.dim.add(size=2)
    n.experimental_debug_info.original_node_names.extend(["a", "b"])
    n.experimental_debug_info.original_func_names.append("f")
    n.experimental_type.type_id = 1000
    n.experimental_type.args.add(type_id=210, s="x")
    n.experimental_type.args.add(i=0)

    lists = {
        types_pb2.DT_FLOAT: ("float_val", [0.1, -0.0, np.inf]), types_pb2.DT_DOUBLE: ("double_val", [0.1, 2.0, 1e300]),
        types_pb2.DT_INT32: ("int_val", [-1, 2, 2**31 - 1]), types_pb2.DT_UINT8: ("int_val", [255, 0, 1]),
        types_pb2.DT_INT16: ("int_val", [-32768, 1, 2]), types_pb2.DT_INT8: ("int_val", [-128, 127, 0]),
        types_pb2.DT_STRING: ("string_val", [b"", b"\xff", b"abc"]), types_pb2.DT_COMPLEX64: ("scomplex_val", [1, 2, 3, 4, 5, 6]),
        types_pb2.DT_INT64: ("int64_val", [-1, 2**63 - 1, 0]), types_pb2.DT_BOOL: ("bool_val", [True, False, True]),
        types_pb2.DT_QINT8: ("int_val", [-3, 0, 3]), types_pb2.DT_QUINT8: ("int_val", [3, 0, 200]),
        types_pb2.DT_QINT32: ("int_val", [-3, 0, 3]), types_pb2.DT_BFLOAT16: ("half_val", [0x3f80, 0xff80, 0]),
        types_pb2.DT_UINT16: ("int_val", [65535, 0, 1]), types_pb2.DT_COMPLEX128: ("dcomplex_val", [1, 2, 3, 4, 5, 6]),
        types_pb2.DT_HALF: ("half_val", [0x3c00, 0xfc00, 0]), types_pb2.DT_UINT32: ("uint32_val", [2**32 - 1, 0, 1]),
        types_pb2.DT_UINT64: ("uint64_val", [2**64 - 1, 0, 1]),
    }
    for number, (field, values) in lists.items():
        name = types_pb2.DataType.Name(number)
        for form in "whole", "splat", "zeros":
            c = g.node.add(name=f"list/{name}/{form}", op="Const")
            c.attr["dtype"].type = number
            t = c.attr["value"].tensor
            t.dtype = number
            t.tensor_shape.dim.add(size=3)
            per = len(values) // 3
            getattr(t, field).extend(values if form == "whole" else values[:per] if form == "splat" else [])
    for dtype in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 c8 c16 ?".split():
        x = np.arange(6).reshape(2, 3).astype(dtype)
        c = g.node.add(name="content/" + x.dtype.name, op="Const")
        c.attr["dtype"].type = tf.as_dtype(x.dtype).as_datatype_enum
        c.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(x))
    c = g.node.add(name="empty", op="Const")
    c.attr["dtype"].type = 1
    c.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.zeros([0, 3], np.float32)))
    c = g.node.add(name="large", op="Const")
    c.attr["dtype"].type = 1
    c.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.arange(3000, dtype=np.float32)))
    c = g.node.add(name="handle", op="Const")
    c.attr["dtype"].type = types_pb2.DT_RESOURCE
    t = c.attr["value"].tensor
    t.dtype = types_pb2.DT_RESOURCE
    t.tensor_shape.SetInParent()
    h = t.resource_handle_val.add(device="d", container="c", name="n", hash_code=2**64 - 1, maybe_type_name="t")
    h.dtypes_and_shapes.add(dtype=1).shape.dim.add(size=1)
    c = g.node.add(name="f8", op="Const")
    c.attr["value"].tensor.dtype = types_pb2.DT_FLOAT8_E5M2
    c.attr["value"].tensor.tensor_shape.dim.add(size=2)
    c.attr["value"].tensor.float8_val = b"\x3c\x40"
    g.node.add(name="end", op="Join", input=["all/kinds-1.2:3", "empty", "large:1", "^end", "^handle"])

    f = g.library.function.add()
    f.signature.name = "f"
    f.signature.input_arg.add(name="x", type_attr="T", description="words")
    f.signature.output_arg.add(name="y", type=1, is_ref=True).experimental_full_type.type_id = 3
    d = f.signature.attr.add(name="T", type="type", has_minimum=True, minimum=-3)
    d.default_value.type = 1
    d.allowed_values.list.type.extend([1, 2])
    f.signature.is_stateful = True
    f.signature.control_output.append("c")
    f.signature.deprecation.version = 9
    b = f.node_def.add(name="n", op="Identity", input=["x", "m:z:0", "^k"])
    b.attr["T"].placeholder = "T"
    b.attr["Tidx"].type = 3
    f.ret["y"] = "n:output:0"
    f.ret["yy"] = ""
    f.ret[""] = "z"
    f.control_ret["c"] = "n"
    f.attr["_noinline"].b = False
    for k in [0, 1, 7, 300, 2**32 - 1]:
        f.arg_attr[k].attr["a"].i = k
        f.resource_arg_unique_id[k] = k
    g.library.function.add().signature.name = "g"
    g.library.gradient.add(function_name="f", gradient_func="g")
    g.library.registered_gradients.add(gradient_func="g", registered_op_type="Op")

    g.debug_info.files.extend(["", "a.py"])
    c = g.debug_info.frames_by_id[2**63]
    c.file_index, c.line, c.func = 0, 7, ""
    g.debug_info.frames_by_id[0].col = 0
    g.debug_info.traces["n"].frame_id.extend([0, 2**64 - 1])
    g.debug_info.traces["n"].file_line_cols.add(line=1)
    g.debug_info.traces_by_id[3].SetInParent()
    g.debug_info.name_to_trace_id["n"] = 3
    return g


def network():
    """A small network with its gradient, as TensorFlow makes it."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", [4, 3], use_resource=True)
        loss = tf.reduce_mean(tf.tanh(x @ w), name="loss")
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
        v1.global_variables_initializer()
    return graph.as_graph_def()


def loop():
    """A loop as a function, and one in primitives."""
    @tf.function
    def f(n):
        y = tf.constant(1)
        while n > 0:
            y, n = y * n, n - 1
        return y

    with tf.Graph().as_default() as graph:
        n = v1.placeholder(tf.int32, [], name="n")
        tf.identity(f(n), name="product")
        v1.disable_control_flow_v2()
        v1.while_loop(lambda i: i < n, lambda i: i + 1, [0], name="count")
        v1.enable_control_flow_v2()
    return graph.as_graph_def(add_shapes=True)


def small(build):
    with tf.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def image():
    x = v1.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    w = tf.constant(np.linspace(-1, 1, 18).reshape(3, 3, 1, 2), tf.float32, name="w")
    y = tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 2, 1, 1], padding="SAME"))
    tf.nn.softmax(tf.reshape(tf.nn.max_pool2d(y, 2, 2, "VALID"), [-1, 16]), name="p")


def branch():
    x = v1.placeholder(tf.float64, [], name="x")
    v1.disable_control_flow_v2()
    y = v1.cond(x > 0, lambda: x * 2, lambda: tf.exp(x), name="c")
    v1.enable_control_flow_v2()
    tf.identity(y, name="y")


def words():
    s = tf.constant(["", "a b", "\xfc\n"], name="s")
    tf.strings.join([s, s], separator=";", name="j")
    v1.placeholder(tf.string, [None, 3], name="p")


def store():
    ref = v1.get_variable("ref", initializer=tf.zeros([2, 2], tf.bfloat16), use_resource=False)
    with tf.control_dependencies([v1.assign(ref, tf.ones([2, 2], tf.bfloat16))]):
        v1.identity(ref, name="read")
    v1.train.Saver([ref])


def queue():
    q = tf.queue.FIFOQueue(3, [tf.int32, tf.float32], shapes=[[], [2]], name="q")
    q.enqueue([1, [1.0, 2.0]], name="put")
    q.dequeue_many(2, name="take")


def table():
    e = tf.constant(np.arange(12, dtype=np.float16).reshape(4, 3), name="e")
    i = v1.placeholder(tf.int64, None, name="i")
    tf.gather(e, i, axis=0, name="g")
    tf.strided_slice(e, [0, 1], [4, -1], [2, 1], begin_mask=1, name="s")


def calls():
    @tf.function
    def f(x):
        return tf.cond(x > 0, lambda: x + 1, lambda: x - 1)

    tf.identity(f(v1.placeholder(tf.int32, [], name="x")), name="y")


def factorise():
    """A pass of stochastic gradient descent over ratings, one an iteration: rows of two variables by data."""
    user, item = (v1.placeholder(tf.int32, [None], name=name) for name in ("user", "item"))
    rating = v1.placeholder(tf.float32, [None], name="rating")
    w, h, squares = (
        v1.get_variable(name, shape, use_resource=True, initializer=v1.zeros_initializer())
        for name, shape in (("w", [480189, 64]), ("h", [17770, 64]), ("squares", []))
    )

    def body(i):
        a, b = tf.gather(w, user[i]), tf.gather(h, item[i])
        e = rating[i] - tf.reduce_sum(a * b)
        with tf.control_dependencies([a, b]):
            done = [
                w.scatter_add(tf.IndexedSlices(0.01 * e * b, user[i]), name="of_user").op,
                h.scatter_add(tf.IndexedSlices(0.01 * e * a, item[i]), name="of_item").op,
                squares.assign_add(e * e, read_value=False),
            ]
        with tf.control_dependencies(done):
            return i + 1

    tf.while_loop(lambda i: i < tf.shape(user)[0], body, [tf.constant(0)], parallel_iterations=1, name="sgd")


def factorise_frames():
    v1.disable_control_flow_v2()
    factorise()
    v1.enable_control_flow_v2()


def varint(value, pad=0):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    while pad and len(out) < 10:
        out[-1] |= 0x80
        out.append(0)
        pad -= 1
    return bytes(out)


def item(field, value):
    """Wire type and bytes of one value."""
    if field.type == F.TYPE_MESSAGE:
        body = odd(value)
        return 2, varint(len(body), 1) + body
    if field.type in (F.TYPE_STRING, F.TYPE_BYTES):
        body = value.encode() if isinstance(value, str) else value
        return 2, varint(len(body), 2) + body
    if field.type == F.TYPE_FLOAT:
        return 5, struct.pack("<f", value)
    if field.type == F.TYPE_DOUBLE:
        return 1, struct.pack("<d", value)
    if field.type == F.TYPE_FIXED64:
        return 1, struct.pack("<Q", value)
    return 0, varint(int(value), 1)


def odd(message):
    out = b""
    for field, value in reversed(message.ListFields()):
        is_map = field.message_type and field.message_type.GetOptions().map_entry
        if is_map:
            kf, vf = field.message_type.fields
            for key in value:
                kw, k = item(kf, key)
                vw, v = item(vf, value[key])
                entry = varint(2 << 3 | vw) + v + varint(1 << 3 | kw) + k
                out += varint(field.number << 3 | 2, 1) + varint(len(entry)) + entry
            continue
        for one in value if field.is_repeated else [value]:
            wire, body = item(field, one)
            out += varint(field.number << 3 | wire, 1) + body
    return out


where = sys.argv[1] if len(sys.argv) > 1 else "."
for make in every, network, loop:
    graph = make()
    with open(f"{where}/{make.__name__}.pb", "wb") as to:
        to.write(graph.SerializeToString(deterministic=True))
    with open(f"{where}/{make.__name__}.odd.pb", "wb") as to:
        to.write(odd(graph))
    with open(f"{where}/{make.__name__}.pbtxt", "w") as to:
        to.write(text_format.MessageToString(graph))
for make in image, branch, words, store, queue, table, calls, factorise, factorise_frames:
    with open(f"{where}/{make.__name__}.pb", "wb") as to:
        to.write(small(make).SerializeToString(deterministic=True))
