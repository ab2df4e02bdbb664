# dfg serve answers Triton's own clients, over HTTP and gRPC. TRITON is a Python with tritonclient[all].
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"
python=${TRITON:-python3}
"$python" -c 'import tritonclient.grpc, tritonclient.http' 2>err || { echo "tritonclient is absent"; exit 77; }
cat >two.dfg <<'X'
input x: f32[batch, 3]
input k: i32[batch]
input s: string[batch]
output y = x * 2 + 1
output z = f32(k) + sum(x, axis = 1)
output t = s
X
"$DFG" build two.dfg -o two.pb
start two.pb --max-batch 16
cat >clients.py <<'X'
import sys
import numpy as np
import tritonclient.grpc, tritonclient.http
x, k = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.int32)
s = np.array([b"one", "zw\u00f6lf".encode()], object)
for kind in tritonclient.grpc, tritonclient.http:
    client = kind.InferenceServerClient(sys.argv[1].split("//")[1])
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("two")
    metadata = client.get_model_metadata("two")
    inputs = metadata["inputs"] if isinstance(metadata, dict) else [{"name": i.name} for i in metadata.inputs]
    assert [i["name"] for i in inputs] == ["x", "k", "s"], metadata
    given = [kind.InferInput("x", [2, 3], "FP32"), kind.InferInput("k", [2], "INT32"), kind.InferInput("s", [2], "BYTES")]
    for tensor, value in zip(given, (x, k, s)):
        tensor.set_data_from_numpy(value)
    answer = client.infer("two", given, request_id="7")
    assert (answer.as_numpy("y") == 2 * x + 1).all() and (answer.as_numpy("z") == k + x.sum(1)).all()
    assert list(answer.as_numpy("t")) == list(s), answer.as_numpy("t")
    one = client.infer("two", given[:1], outputs=[kind.InferRequestedOutput("y")])
    assert (one.as_numpy("y") == 2 * x + 1).all() and one.as_numpy("z") is None
    for wrong in lambda: client.infer("none", given), lambda: client.infer("two", given[1:], outputs=[kind.InferRequestedOutput("y")]):
        try:
            wrong()
        except Exception as error:
            assert "the models are: two" in str(error) or "input 'x' is missing" in str(error), error
        else:
            raise AssertionError("not refused")
X
"$python" clients.py "$url"
stop
