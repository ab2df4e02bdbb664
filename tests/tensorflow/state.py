#!/usr/bin/env python3
"""Records ops on state, whose effect is seen over several steps, as cases of tests/cases/ops.

    tests/tensorflow/state.py [NAME...]

A case is a function below: it builds a graph and gives its steps, each of feeds, targets and fetches by name. A step that
TensorFlow refuses must be the last, and dfg must refuse it too. Exits 77, with a message, where TensorFlow is
not installed.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
tf = tensorflow.compat.v1
ops = tensorflow.raw_ops
CASES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cases", "ops")
R = numpy.random.default_rng(1)


def variable(name, value, resource):
    return tf.get_variable(name, initializer=tf.constant(value), use_resource=resource)


def adagrad_da():
    """Dual averaging: dense and by rows, on refs and on resources, with and without L1."""
    steps, names = [([], ["init"], [])], []
    trains = []
    for resource in (False, True):
        for kind in ("float32", "float64"):
            tag = f"{'handle' if resource else 'ref'}_{kind}"
            var, total, squares = (variable(f"{n}_{tag}", v.astype(kind), resource) for n, v in (
                ("var", R.normal(size=(4, 2))), ("total", numpy.zeros((4, 2))), ("squares", numpy.full((4, 2), 0.1))))
            slots = [v.handle if resource else v._ref() for v in (var, total, squares)]
            grad = tf.placeholder(kind, [4, 2], name=f"grad_{tag}")
            rows = tf.placeholder(kind, [2, 2], name=f"rows_{tag}")
            step = tf.placeholder("int64", [], name=f"step_{tag}")
            scalars = [tf.constant(v, kind) for v in (0.5, 0.125, 0.25)]
            keys = ["var", "gradient_accumulator", "gradient_squared_accumulator"]
            dense = {"grad": grad, "lr": scalars[0], "l1": scalars[1], "l2": scalars[2], "global_step": step}
            sparse = {**dense, "grad": rows, "l1": tf.constant(0, kind), "indices": tf.constant([3, 1])}
            prefix = "Resource" if resource else ""
            with tf.control_dependencies([getattr(ops, prefix + "ApplyAdagradDA")(**dict(zip(keys, slots)), **dense)]):
                name = f"train_{tag}"
                getattr(ops, prefix + "SparseApplyAdagradDA")(**dict(zip(keys, slots)), **sparse, name=name)
            trains.append((tag, kind, name))
            with tf.control_dependencies(None):
                for v, n in ((var, "var"), (total, "total"), (squares, "squares")):
                    tf.identity(v.read_value() if resource else v, name=f"{n}_{tag}/now")
                    names.append(f"{n}_{tag}/now:0")
    for at in range(3):
        feeds = {}
        for tag, kind, _ in trains:
            feeds[f"grad_{tag}:0"] = R.normal(size=(4, 2)).astype(kind)
            feeds[f"rows_{tag}:0"] = R.normal(size=(2, 2)).astype(kind)
            feeds[f"step_{tag}:0"] = numpy.array(at + 1)
        steps += [(feeds, [t for _, _, t in trains], []), ([], [], names)]
    return steps


def count_up_to():
    """Values of a counter until its limit."""
    ref, handle = variable("ref", 0, False), variable("handle", numpy.int64(-2), True)
    ops.CountUpTo(ref=ref._ref(), limit=2, name="next")
    ops.ResourceCountUpTo(resource=handle.handle, limit=0, T=tensorflow.int64, name="after")
    return [([], ["init"], []), ([], [], ["next:0", "after:0"]), ([], [], ["next:0", "after:0"]), ([], [], ["next:0"])]


def disable_copy_on_read():
    """A variable that is read as before."""
    v = variable("v", numpy.array([1.5, 2.5], "f4"), True)
    with tf.control_dependencies([ops.DisableCopyOnRead(resource=v.handle)]):
        tf.identity(v.read_value(), name="value")
    return [([], ["init"], []), ([], [], ["value:0"])]


def strided_slice_assign():
    """Slices of a ref and of a resource: ranges backwards, an ellipsis, one row, and values that are broadcast."""
    steps = [([], ["init"], [])]
    for resource in (False, True):
        tag = "handle" if resource else "ref"
        v = variable(f"v_{tag}", R.normal(size=(4, 3, 2)).astype("f4"), resource)
        before = []
        for at, (begin, end, strides, masks, value) in enumerate([
                ([3, 0], [0, 2], [-2, 1], {}, R.normal(size=(2, 2, 2))),
                ([0, 1], [0, 2], [1, 1], {"ellipsis_mask": 1}, R.normal(size=(4, 3, 1))),
                ([2], [3], [1], {"shrink_axis_mask": 1}, R.normal(size=(3, 2))),
                ([0, 0, 0], [0, 0, 1], [1, 1, 1], {"new_axis_mask": 1, "end_mask": 2}, R.normal(size=(1, 4, 1, 2)))]):
            function = ops.ResourceStridedSliceAssign if resource else ops.StridedSliceAssign
            with tf.control_dependencies(before):
                function(ref=v.handle if resource else v._ref(), begin=begin, end=end, strides=strides,
                         value=tf.constant(value.astype("f4")), name=f"set{at}_{tag}", **masks)
            steps += [([], [f"set{at}_{tag}"], []), ([], [], [f"now_{tag}:0"])]
        tf.identity(v.read_value() if resource else v, name=f"now_{tag}")
    return steps


def inplace():
    """Rows replaced and changed, by indices from either end and equal ones, of tensors that nothing else reads in TensorFlow."""
    names = []
    for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint64", "complex64", "bool", "string"):
        for op in ("Update",) if dtype in ("bool", "string") else ("Update", "Add", "Sub"):
            x, v = ((R.normal(size=(n, 3)) * 9).round(2) for n in (5, 4))
            x, v = (abs(x), abs(v)) if dtype.startswith("u") else (x, v)
            x, v = (tf.as_string(a) if dtype == "string" else tf.cast(tf.constant(a), dtype) for a in (x, v))
            fresh = tf.concat([x, x[:0]], 0) if dtype in ("bool", "string") else x + tf.cast(0, dtype)
            y = getattr(ops, "Inplace" + op)(x=fresh, i=tf.constant([-1, 1, 7, 1]), v=v, name=f"{op}_{dtype}")
            y = tf.cast(y, "float32", name=f"wide_{op}") if dtype == "bfloat16" else y
            names.append(tf.encode_base64(y, name="coded").name if dtype == "string" else y.name)
    return [([], [], names)] * 2


def non_deterministic_ints():
    """What is sure of many random numbers: some are large, about half have a certain bit, and others come the next time."""
    names = []
    for dtype in ("int32", "int64", "uint32", "uint64"):
        x, y = (ops.NonDeterministicInts(shape=[40, 50], dtype=dtype, name=f"{n}_{dtype}") for n in "xy")
        top = tf.cast(tf.bitwise.right_shift(x, tf.cast(tf.as_dtype(dtype).size * 8 - 2, dtype)) & tf.cast(1, dtype), "float32")
        low = tf.cast(x & tf.cast(1, dtype), "float32")
        names += [tf.reduce_all(x == y, name=f"same_{dtype}").name]
        names += [tf.less(abs(tf.reduce_mean(bit) - 0.5), 0.2, name=f"even_{dtype}").name for bit in (top, low)]
    return [([], [], names)] * 2


def staging():
    """Elements of staging areas: two that are kept, one that is looked at, taken and cleared; waits for an element, for space and
    for an element further back; an element of other types at last."""
    feed, area = tf.placeholder("float32", [2], name="feed"), {"dtypes": ["float32", "string"], "shared_name": "area"}
    ops.Stage(values=[feed, tf.as_string(feed, precision=1)], shared_name="area", name="put")
    look = [tf.identity(t, name=n) for t, n in zip(ops.StagePeek(index=1, **area), ("seen", "seen_text"))]
    seen = [look[0].name, tf.encode_base64(look[1], name="seen64").name]
    took = ops.Unstage(**area)
    taken = [tf.identity(took[0], name="taken").name, tf.encode_base64(took[1], name="taken64").name]
    ops.StageSize(**area, name="size")
    ops.StageClear(**area, name="clear")
    ops.Unstage(dtypes=["int32", "string"], shared_name="area", name="other")
    small = {"capacity": 1, "memory_limit": 100, "shared_name": "small"}
    with tf.control_dependencies([ops.Stage(values=[feed + 1], **small, name="put1")]):
        ops.Stage(values=[feed + 2], **small, name="put2")  # waits for take1
    late = ops.Unstage(dtypes=["float32"], **small, name="take1")
    with tf.control_dependencies(late):
        ops.Unstage(dtypes=["float32"], **small, name="take2")
    ops.Stage(values=[tf.zeros([26])], **small, name="large")
    fed = [{"feed:0": numpy.array([at, -at], "f4")} for at in range(5)]
    return [(fed[1], ["put"], []), (fed[2], ["put"], []), ([], [], ["size:0", *seen]), ([], [], taken), ([], [], ["size:0"]),
            (fed[3], ["put"], seen), ([], ["clear"], []), ([], [], ["size:0"]), (fed[4], ["put"], taken),
            (fed[2], ["put2"], ["take1:0", "take2:0"]), (fed[2], ["put"], []), ([], [], ["other:0"])]


def temporary_variable():
    """A sum that is kept in a temporary variable, twice in each of two steps."""
    feed, values = tf.placeholder("float32", [2], name="feed"), []
    for at, dtype in enumerate(("float32", "int64")):
        ref = ops.TemporaryVariable(shape=[2], dtype=dtype, var_name=f"sum{at}", name=f"ref{at}")
        first = ops.Assign(ref=ref, value=tf.cast(feed, dtype))
        for _ in range(2):
            first = ops.AssignAdd(ref=first, value=tf.constant([3, 5], dtype), use_locking=True)
        values.append(ops.DestroyTemporaryVariable(ref=first, var_name=f"sum{at}", name=f"sum{at}").name)
    return [({"feed:0": numpy.array(f, "f4")}, [], values) for f in ([1, 2], [10, -20])]


CASES_OF = {"Inplace": inplace, "NonDeterministicInts": non_deterministic_ints, "Staging": staging, "TemporaryVariable": temporary_variable,
            "StridedSliceAssign": strided_slice_assign, "AdagradDA": adagrad_da,
            "CountUpTo": count_up_to, "DisableCopyOnRead": disable_copy_on_read}


def arrays(folder, name, values):
    arrayed = {k: numpy.asarray(v) for k, v in values.items()}
    numpy.savez(os.path.join(folder, name), **{k: v.astype("S") if v.dtype == object else v for k, v in arrayed.items()})
    return name


def run_step(session, folder, at, feeds, targets, fetches):
    """Runs a step in TensorFlow; the step of the case, and whether TensorFlow refuses it."""
    step = {"targets": targets} if targets else {}
    if len(feeds):
        step["feeds"] = arrays(folder, f"in{at}.npz", feeds)
    if fetches:
        step["fetch"] = fetches
    try:
        values = session.run([fetches, targets], dict(feeds))[0]
    except tensorflow.errors.OpError:
        return step, True
    if fetches:
        step["expect"] = arrays(folder, f"out{at}.npz", dict(zip(fetches, values)))
        step.update(rtol=1e-5, atol=1e-6)
    return step, False


def record(name, build):
    folder = os.path.join(CASES, name)
    os.makedirs(folder, exist_ok=True)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        steps = build()
        tf.group(tf.global_variables_initializer(), name="init")
        with open(os.path.join(folder, "graph.pb"), "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())
        done = [run_step(session, folder, at, *step) for at, step in enumerate(steps)]
    case = {"what": f"{name}: {build.__doc__}", "from": "TensorFlow " + tensorflow.__version__, "tags": ["state"],
            "steps": [step for step, _ in done]}
    if done[-1][1]:
        case["error"] = {"at": "run"}
    with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
        json.dump(case, file, indent=2)
        file.write("\n")


for chosen in sys.argv[1:] or CASES_OF:
    record(chosen, CASES_OF[chosen])
