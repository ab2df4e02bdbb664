#!/usr/bin/env python3
"""Ops of dfg against TensorFlow's, over random shapes, types and attributes.

    tests/tensorflow/ops.py [--draws N] [--seed S] [--record] [-v] OP...

The draws of an op are functions of the draw_*.py beside this file; without OP, all of them. An op's draws are the nodes of
one graph, which TensorFlow and dfg run on the same feeds; where a draw can be differentiated, so is a weighted sum of the
outputs. What TensorFlow refuses, dfg must refuse. With --record, a case of the first draws is written to tests/cases/ops.
DFG is the program (build/dfg). Exits 77, with a message, where TensorFlow is not installed.
"""
import argparse
import glob
import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DFG = os.path.abspath(os.environ.get("DFG", os.path.join(ROOT, "build", "dfg")))
BATCH = 40  # draws of one graph

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"  # the op's own kernel is the reference, not oneDNN's, which takes fewer shapes
warnings.simplefilter("ignore")
try:
    import numpy
    import tensorflow
    from tensorflow.python.framework import op_def_registry
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
tf = tensorflow.compat.v1

PLAIN = {"qint8": "int8", "quint8": "uint8", "qint16": "int16", "quint16": "uint16", "qint32": "int32"}


def add_draw(draw, op, name):
    """Adds the draw's node and its placeholders to the graph. Gives feeds, outputs, inputs to differentiate by."""
    function, arguments, feeds, wrt = getattr(tensorflow.raw_ops, op), dict(draw["attrs"]), {}, []
    taken = inspect.signature(function).parameters

    def tensor(k, value, port):
        if k in draw.get("const", ()) or value.dtype == object:  # a file of arrays has no strings with zeros at the end
            return tf.constant(value, name=port)
        fed = tf.placeholder(value.dtype, value.shape if draw.get("static") else None, name=port)
        feeds[port + ":0"] = value
        if k in draw.get("grad", ()):
            wrt.append(fed)
        if k in draw.get("cast", {}):
            to = tf.as_dtype(draw["cast"][k])
            return tf.bitcast(fed, to, name=port + "c") if to.is_quantized else tf.cast(fed, to, name=port + "c")
        return fed

    for k, arg in enumerate(op_def_registry.get(op).input_arg):
        value, port = draw["inputs"][k], f"{name}/x{k}"
        as_named = arg.name if arg.name in taken else "axis"  # as Python calls reduction_indices
        if isinstance(value, list):  # the tensors of a list
            arguments[as_named] = [tensor(k, item, f"{port}_{i}") for i, item in enumerate(value)]
        else:
            arguments[as_named] = tensor(k, value, port)
    result = function(**arguments, name=name)
    outputs = tensorflow.nest.flatten(result)
    outputs = [tf.cast(y, tf.float32, name=f"{name}/y{j}") if y.dtype == tf.bfloat16 else y for j, y in enumerate(outputs)]
    outputs = [tf.bitcast(y, PLAIN[y.dtype.name], name=f"{name}/y{j}") if y.dtype.is_quantized else y
               for j, y in enumerate(outputs)]
    # Strings that end in zero bytes are not in a file of arrays.
    outputs = [tf.io.encode_base64(y, name=f"{name}/b{j}") if draw.get("base64") and y.dtype == tf.string else y
               for j, y in enumerate(outputs)]
    return feeds, outputs, wrt


def weighted(draw, outputs, name):
    """A sum of the real outputs times numbers of their own."""
    sums = []
    for j, y in enumerate(outputs):
        if j not in draw.get("of", range(len(outputs))) or not (y.dtype.is_floating or y.dtype.is_complex):
            continue
        flat = tf.reshape(y, [-1])
        if y.dtype.is_complex:
            flat = tf.real(flat) + 0.7 * tf.imag(flat)
        flat = tf.cast(flat, tf.float64, name=f"{name}/f{j}")
        sums.append(tf.reduce_sum(flat * tf.cos(1 + 0.7 * tf.range(tf.cast(tf.size(flat), tf.float64), dtype=tf.float64))))
    return tf.add_n(sums, name=f"{name}/sum")


class Batch:
    """A graph of draws, which TensorFlow has run."""

    def __init__(self, op, draws, first):
        self.draws, self.op, self.feeds, self.outputs, self.wrt = draws, op, {}, [], []
        with tf.Graph().as_default() as graph:
            sums = []
            for i, draw in enumerate(draws):
                name = f"d{first + i}"
                feeds, outputs, wrt = add_draw(draw, op, name)
                self.feeds.update(feeds)
                self.outputs.append([y.name for y in outputs])
                if wrt:
                    sums.append(weighted(draw, outputs, name))
                    self.wrt += [(i, w.name) for w in wrt]
            loss = tf.add_n(sums, name="loss") if sums else None
            self.graph = graph.as_graph_def()
            by = [graph.get_tensor_by_name(n) for _, n in self.wrt]
            slopes = [tf.convert_to_tensor(s) for s in (tf.gradients(loss, by, unconnected_gradients="zero") if by else [])]
            with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
                names = [n for names in self.outputs for n in names]
                self.values = dict(zip(names, session.run(names, self.feeds)))
                self.slopes = session.run(slopes, self.feeds) if by else []


def dfg(*words):
    return subprocess.run([DFG, *words], capture_output=True, text=True, check=False)


def write(folder, graph, feeds):
    with open(os.path.join(folder, "graph.pb"), "wb") as file:
        file.write(graph.SerializeToString())
    numpy.savez(os.path.join(folder, "in0.npz"), **feeds)


def run_dfg(folder, graph, names):
    """What dfg computes for these tensors, or its message."""
    out = os.path.join(folder, "out.npz")
    feed = ["--feed", os.path.join(folder, "in0.npz")]
    run = dfg("run", graph, *feed, "--fetch", ",".join(names), "-o", out, "-q")
    if run.returncode:
        return run.stderr.strip()
    with numpy.load(out) as file:
        return [file[name] for name in names]


def bytes_of(strings):
    """An array of strings of any kind as an array of bytes objects."""
    made = numpy.empty(strings.shape, object)
    for at, s in numpy.ndenumerate(strings):
        made[at] = s.encode() if isinstance(s, str) else bytes(s)
    return made


def differs(want, got, rtol, atol):
    """Words if two arrays differ, else None."""
    want, got = numpy.asarray(want), numpy.asarray(got)
    if want.dtype == object:
        want, got = bytes_of(want), bytes_of(got)
    if want.dtype != got.dtype or want.shape != got.shape:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype.kind in "OSUb":
        return None if (want == got).all() else "other elements"
    wide = numpy.complex128 if want.dtype.kind == "c" else numpy.float64
    a, b = want.astype(wide), got.astype(wide)
    with numpy.errstate(all="ignore"):
        good = (a == b) | (numpy.isfinite(a) & (abs(a - b) <= atol + rtol * abs(a))) | (numpy.isnan(a) & numpy.isnan(b))
    if good.all():
        return None
    where = numpy.argwhere(~good)[0]
    return f"{(~good).sum()} of {good.size} differ, first at {list(where)}: {b[tuple(where)]}, expected {a[tuple(where)]}"


def describe(draw):
    arrays = [(k, v) for k, value in enumerate(draw["inputs"]) for v in (value if isinstance(value, list) else [value])]
    types = [f"{draw.get('cast', {}).get(k, v.dtype)}{list(v.shape)}" for k, v in arrays]
    small = [f"x{k}={v.tolist()}" for k, v in arrays if v.size <= 8]
    return f"({', '.join(types)}) {draw['attrs']} {' '.join(small)}"


def compare(batch, folder, say):
    """Runs a batch in dfg; the number of draws that differ."""
    write(folder, batch.graph, batch.feeds)
    path, bad = os.path.join(folder, "graph.pb"), set()
    names = [n for names in batch.outputs for n in names]
    values = run_dfg(folder, path, names)
    if isinstance(values, str):
        if len(batch.draws) > 1:
            return None
        say(f"{describe(batch.draws[0])}: {values}")
        return 1
    got = dict(zip(names, values))
    for i, draw in enumerate(batch.draws):
        view = draw.get("view", lambda outputs, draw: outputs)
        mine = view([got[n] for n in batch.outputs[i]], draw)
        theirs = view([batch.values[n] for n in batch.outputs[i]], draw)
        for j, (a, b) in enumerate(zip(theirs, mine)):
            words = differs(a, b, draw["rtol"], draw["atol"])
            if words:
                say(f"{describe(draw)}: output {j}: {words}")
                bad.add(i)
    if batch.wrt:
        bad |= compare_slopes(batch, folder, path, say)
    return len(bad)


def compare_slopes(batch, folder, path, say):
    names = [n.removesuffix(":0") for _, n in batch.wrt]
    result = os.path.join(folder, "grad.pb")
    grad = dfg("grad", path, "--of", "loss", "--wrt", ",".join(names), "-o", result, "-q")
    if grad.returncode:
        say(f"gradient: {grad.stderr.strip()}")
        return set(range(len(batch.draws)))
    values = run_dfg(folder, result, [f"grad/{n}:0" for n in names])
    if isinstance(values, str):
        say(f"gradient: {values}")
        return set(range(len(batch.draws)))
    bad = set()
    for (i, name), want, got in zip(batch.wrt, batch.slopes, values):
        draw = batch.draws[i]
        words = differs(want, got, draw.get("grad_rtol", draw["rtol"]), draw.get("grad_atol", 10 * draw["atol"]))
        if words:
            say(f"{describe(draw)}: gradient by {name}: {words}")
            bad.add(i)
    return bad


def refused(op, draw, folder, say):
    """A draw that TensorFlow refuses; the graph is made without running it."""
    try:
        with tf.Graph().as_default() as graph:
            feeds, outputs, _ = add_draw({**draw, "grad": ()}, op, "d")
            names = [y.name for y in outputs]
            graph_def = graph.as_graph_def()
    except (ValueError, TypeError):
        return 0  # there is no graph
    write(folder, graph_def, feeds)
    values = run_dfg(folder, os.path.join(folder, "graph.pb"), names)
    if isinstance(values, str):
        return 0
    say(f"{describe(draw)}: TensorFlow refuses it, dfg does not")
    return 0 if draw.get("lenient") else 1


REFUSALS = (ValueError, TypeError, tensorflow.errors.OpError)


def try_draws(op, draws, first, folder, say):
    """Numbers of draws that were compared, refused by TensorFlow, and that differ; one by one where they do not run together."""
    try:
        batch = Batch(op, draws, first)
        differ = compare(batch, folder, say)
        if differ is not None:
            return numpy.array([len(draws), 0, differ])
    except REFUSALS:
        if len(draws) == 1:
            return numpy.array([0, 1, refused(op, draws[0], folder, say)])
    half = (len(draws) + 1) // 2
    return try_draws(op, draws[:half], first, folder, say) + try_draws(op, draws[half:], first + half, folder, say)


def try_op(op, function, count, seed, say):
    random, total = numpy.random.default_rng([seed, *op.encode()]), numpy.zeros(3, int)
    draws = [{"attrs": {}, "rtol": 1e-5, "atol": 1e-6, **function(random)} for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, count, BATCH):
            total += try_draws(op, draws[first:first + BATCH], first, folder, say)
    return total


def accepted(op, draws):
    """Those draws that TensorFlow does not refuse."""
    try:
        Batch(op, draws, 0)
        return draws
    except REFUSALS:
        half = (len(draws) + 1) // 2
        return accepted(op, draws[:half]) + accepted(op, draws[half:]) if len(draws) > 1 else []


def without_objects(value):
    """Strings as numpy saves them; those that end in zero bytes are encoded in the graph."""
    value = numpy.asarray(value)
    return value.astype("S") if value.dtype == object else value


def record(op, function, count):
    """Writes a case of the first draws that TensorFlow accepts, with their derivatives."""
    random, draws = numpy.random.default_rng([1, *op.encode()]), []
    while len(draws) < count:
        more = [{"attrs": {}, "rtol": 1e-5, "atol": 1e-6, **function(random)} for _ in range(count - len(draws))]
        draws += accepted(op, [d for d in more if sum(v.nbytes for v in tensorflow.nest.flatten(d["inputs"])) <= 4096])
    batch, folder = Batch(op, draws, 0), os.path.join(ROOT, "tests", "cases", "ops", op)
    os.makedirs(folder, exist_ok=True)
    write(folder, batch.graph, batch.feeds)
    kept = [n for draw, names in zip(draws, batch.outputs) for j, n in enumerate(names) if j in draw.get("record", range(len(names)))]
    numpy.savez(os.path.join(folder, "out0.npz"), **{n: without_objects(batch.values[n]) for n in kept})
    slack = {key: max(draw[key] for draw in draws) for key in ("rtol", "atol")}
    case = {"what": f"{op}: random shapes, types and attributes", "from": "TensorFlow " + tensorflow.__version__,
            "tags": ["random"],
            "steps": [{"feeds": "in0.npz", "fetch": kept, "expect": "out0.npz", **slack}]}
    if batch.wrt:
        names = [n for _, n in batch.wrt]
        numpy.savez(os.path.join(folder, "grad.npz"), **dict(zip(names, batch.slopes)))
        case["grad"] = {"of": "loss:0", "wrt": names, "expect": "grad.npz",
                        "rtol": max(d.get("grad_rtol", d["rtol"]) for d in draws),
                        "atol": max(d.get("grad_atol", 10 * d["atol"]) for d in draws)}
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump(case, file, indent=2)
        file.write("\n")


def all_draws():
    sys.path.insert(0, HERE)
    draws = {}
    for path in sorted(glob.glob(os.path.join(HERE, "draw_*.py"))):
        draws.update(importlib.import_module(os.path.basename(path)[:-3]).DRAWS)
    return draws


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("op", nargs="*")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--size", type=int, default=12, help="draws of a recorded case")
    parser.add_argument("--most", type=int, default=4, help="differences that are printed for an op")
    args = parser.parse_args()
    draws, failed = all_draws(), False
    for op in args.op or draws:
        if args.record:
            record(op, draws[op], args.size)
            continue
        words = []
        good, no, bad = try_op(op, draws[op], args.draws, args.seed, words.append)
        print(f"{op}: {good} compared, {no} refused, {bad} differ", flush=True)
        for line in words[:args.most]:
            print("   ", line[:400])
        failed |= bad > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
