"""A process that loads a tiny graph, runs it and ends: Python with ONNX Runtime."""
import os
import subprocess
import sys
import time

from onnx import TensorProto, helper

path = os.path.join(os.environ["SCRATCH"], "tiny.onnx")
scalar = lambda of: helper.make_tensor_value_info(of, TensorProto.FLOAT, [])
graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [scalar("x")], [scalar("y")])
with open(path, "wb") as file:
    file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
program = f"import onnxruntime as o, numpy as n; print(o.InferenceSession({path!r}).run(None, {{'x': n.ones((), n.float32)}}))"
took = []
for _ in range(5):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took.append(time.perf_counter() - begin)
print("cold start, tiny graph", sorted(took)[2] * 1e3, "ONNX Runtime", sep="\t")
