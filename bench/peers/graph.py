"""The file of bench/graph.sh, parsed and written again by Python's protobuf: no check of anything."""
import os
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.framework import graph_pb2

with open(os.path.join(os.environ["SCRATCH"], "graph.pb"), "rb") as file:
    data = file.read()
begin = time.perf_counter()
graph = graph_pb2.GraphDef.FromString(data)
print("load and check, 1 M nodes", time.perf_counter() - begin, "protobuf", sep="\t")
