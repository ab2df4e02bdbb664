"""LeNet of bench/lenet.dfg in LitServe with ONNX Runtime: bytes of images in, probabilities out; requests share steps. Reads
the weights of w.npz in the working folder, checks itself with image.npy and wanted.npy, and serves on the port that it is given."""
import sys

import litserve
import numpy
import onnx
import onnxruntime
from fastapi import Request
from onnx import TensorProto, helper


def model():
    with numpy.load("w.npz") as file:
        weights = {name: file[name] for name in file.files}
    kernels = sorted((w for w in weights.values() if w.ndim == 4), key=lambda w: w.shape[2])
    dense = sorted((w for w in weights.values() if w.ndim == 2), key=lambda w: -w.shape[0])
    bias = {w.shape[0]: w for w in weights.values() if w.ndim == 1}
    # The weights of dfg are for images with their channels last.
    first = dense[0].reshape(7, 7, 64, 512).transpose(2, 0, 1, 3).reshape(3136, 512)
    values = {"k1": kernels[0].transpose(3, 2, 0, 1), "k2": kernels[1].transpose(3, 2, 0, 1), "b1": bias[32], "b2": bias[64],
              "d1": first, "c1": bias[512], "d2": dense[1], "c2": bias[10], "shape": numpy.array([-1, 1, 28, 28]),
              "flat": numpy.array([-1, 3136])}
    node = helper.make_node
    nodes = [node("Reshape", ["x", "shape"], ["i"])]
    for n, source in (1, "i"), (2, "p1"):
        nodes += [node("Conv", [source, f"k{n}", f"b{n}"], [f"v{n}"], auto_pad="SAME_UPPER"), node("Relu", [f"v{n}"], [f"r{n}"]),
                  node("MaxPool", [f"r{n}"], [f"p{n}"], kernel_shape=[2, 2], strides=[2, 2])]
    nodes += [node("Reshape", ["p2", "flat"], ["f"]), node("Gemm", ["f", "d1", "c1"], ["g"]), node("Relu", ["g"], ["h"]),
              node("Gemm", ["h", "d2", "c2"], ["l"]), node("Softmax", ["l"], ["y"], axis=1)]
    graph = helper.make_graph(nodes, "lenet", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 28, 28])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])],
                              [onnx.numpy_helper.from_array(value, name) for name, value in values.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


class LeNet(litserve.LitAPI):
    def setup(self, device):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        self.session = onnxruntime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])
        own = self.session.run(["y"], {"x": numpy.load("image.npy")})[0]
        assert numpy.allclose(own, numpy.load("wanted.npy"), atol=1e-5), own

    def decode_request(self, request: Request):
        return numpy.frombuffer(request["request"].file.read()[-3136:], "<f4").reshape(28, 28)

    def batch(self, inputs):
        return numpy.stack(inputs)

    def predict(self, images):
        return self.session.run(["y"], {"x": images.reshape(-1, 28, 28)})[0]

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return {"probabilities": output.tolist()}


if __name__ == "__main__":
    api = LeNet(max_batch_size=32, batch_timeout=0.001)
    litserve.LitServer(api, accelerator="cpu").run(host="127.0.0.1", port=int(sys.argv[1]), generate_client_file=False, log_level="error")
