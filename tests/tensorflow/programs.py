#!/usr/bin/env python3
"""TensorFlow runs programs with conditionals and loops, derivatives among them, and gets what they say of themselves.

    tests/tensorflow/programs.py PROGRAM...

A claim is a comment `#: OPTIONS OF RUN = OUTPUTS`, as tests/programs/run.py reads them; claims of errors are left out.
What gradients of loops keep goes through tensor arrays there (`dfg opt --passes tensorflow`). DFG is the program.
Exits 77 where TensorFlow is missing.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.environ.get("DFG", os.path.join(ROOT, "build", "dfg"))

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
try:
    import numpy
    import tensorflow
except ImportError:
    print("TensorFlow is not installed")
    sys.exit(77)
tf = tensorflow.compat.v1


def fed(graph, options):
    feeds = {}
    for name, text in (o.split("=", 1) for o in options):
        zeros = re.fullmatch(r"zeros:\w+(\[.*\])", text)
        shape, _, values = (zeros.group(1), "", "") if zeros else text.rpartition(":")
        tensor = graph.get_tensor_by_name(name + ":0")
        items = values.split(",") if values else []
        array = numpy.array([v == "true" for v in items] if tensor.dtype == tf.bool else items)
        shape = [int(d) for d in re.search(r"\[(.*)\]", shape).group(1).split(",")] if shape else []
        feeds[tensor] = array.astype(tensor.dtype.as_numpy_dtype).reshape(shape)
    return feeds


def run(graph_def, claim):
    words = shlex.split(claim.partition(" = ")[0])
    options = {"--feed": [], "--target": [], "--fetch": []}
    for option, value in zip(words[::2], words[1::2]):
        options[option].append(value)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        feeds = fed(graph, options["--feed"])
        for target in (["init"] if any(n.name == "init" for n in graph_def.node) else []) + options["--target"]:
            session.run(graph.get_operation_by_name(target), feeds)
        for wanted in claim.partition(" = ")[2].split(" / "):
            name, _, values = re.match(r"(\S+): (\S+\[\S*\]) ?(.*)", wanted.strip()).groups()
            got = numpy.ravel(session.run(name + ":0", feeds))
            if got.dtype == object:
                same = [v.decode() for v in got] == shlex.split(values)
            else:
                wanted = numpy.array(values.split(), dtype="f8")
                same = got.shape == wanted.shape and numpy.allclose(got, wanted, rtol=2e-6, atol=1e-6)
            if not same:
                sys.exit(f"{claim}: TensorFlow has {name} = {got}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for program in sys.argv[1:]:
            with open(program, encoding="utf-8") as text:
                claims = [line[3:].strip() for line in text if line.startswith("#: ") and " = " in line]
            path = os.path.join(folder, "graph.pb")
            subprocess.run([DFG, "build", program, "-o", path], check=True)
            subprocess.run([DFG, "opt", "--passes", "tensorflow", path, "-o", path, "-q"], check=True)
            graph_def = tf.GraphDef()
            with open(path, "rb") as file:
                graph_def.ParseFromString(file.read())
            for claim in claims:
                try:
                    run(graph_def, claim)
                except tf.errors.OpError as error:
                    sys.exit(f"{program}: {claim}: {error}")


main()
