# dfg serve answers the stubs of tensorflow-serving-api. TENSORFLOW is a Python with tensorflow and tensorflow-serving-api.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"
python=${TENSORFLOW:-python3}
export TF_CPP_MIN_LOG_LEVEL=3
"$python" -c 'import tensorflow_serving.apis, tensorflow, grpc' 2>err || { echo "tensorflow-serving-api is absent"; exit 77; }
cat >two.dfg <<'D'
input x: f32[batch, 3]
input k: i32[batch]
input s: string[batch]
output y = x * 2 + 1
output z = f32(k) + sum(x, axis = 1)
output t = s
D
start two.dfg
cat >stubs.py <<'D'
import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, get_model_metadata_pb2, get_model_status_pb2, predict_pb2
from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

channel = grpc.insecure_channel(sys.argv[1].split("//")[1])
stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
x, k, s = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.int32), [b"a", b"\xff\x00"]


def predict(inputs, outputs=(), version=None, signature="serving_default"):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "two"
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    request.output_filter.extend(outputs)
    answer = stub.Predict(request, timeout=60)
    assert answer.model_spec.name == "two" and answer.model_spec.version.value == 1, answer.model_spec
    return {name: tf.make_ndarray(tensor) for name, tensor in answer.outputs.items()}


def refused(code, words, call):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code and words in error.details(), error
    else:
        raise AssertionError(f"not refused: {words}")


got = predict({"x": x, "k": k, "s": s})
assert (got["y"] == 2 * x + 1).all() and (got["z"] == k + x.sum(1)).all() and list(got["t"]) == s, got
assert list(predict({"x": x, "k": k, "s": s}, ["y"], 1, "")) == ["y"]
refused(grpc.StatusCode.NOT_FOUND, "has version 1 only", lambda: predict({"x": x}, version=3))
refused(grpc.StatusCode.INVALID_ARGUMENT, "must be f32[?,3]", lambda: predict({"x": x[:, :2]}))
refused(grpc.StatusCode.INVALID_ARGUMENT, "serving_default", lambda: predict({"x": x}, signature="other"))
refused(grpc.StatusCode.UNIMPLEMENTED, "Classify", lambda: stub.Classify(classification_pb2.ClassificationRequest(), timeout=60))

request = get_model_metadata_pb2.GetModelMetadataRequest()
request.model_spec.name = "two"
request.metadata_field.append("signature_def")
signatures = get_model_metadata_pb2.SignatureDefMap()
assert stub.GetModelMetadata(request, timeout=60).metadata["signature_def"].Unpack(signatures)
signature = signatures.signature_def["serving_default"]
assert sorted(signature.inputs) == ["k", "s", "x"] and sorted(signature.outputs) == ["t", "y", "z"]
assert [dim.size for dim in signature.inputs["x"].tensor_shape.dim] == [-1, 3] and signature.inputs["s"].dtype == tf.string.as_datatype_enum

request = get_model_status_pb2.GetModelStatusRequest()
request.model_spec.name = "two"
(status,) = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request, timeout=60).model_version_status
assert (status.version, status.state) == (1, get_model_status_pb2.ModelVersionStatus.AVAILABLE), status
D
"$python" stubs.py "$url"
stop
