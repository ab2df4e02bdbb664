# dfg serve answers gRPC on the same port. The messages are made and read here, field by field.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >two.dfg <<'X'
input x: f32[batch, 3]
input k: i32[batch]
output y = x * 2 + 1
output z = f32(k) + sum(x, axis = 1)
X
"$DFG" build two.dfg -o two.pb
cat >grpc.py <<'X'
import struct, subprocess, sys
url = sys.argv[1]
def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])
def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value
def fields(message):
    """[(number, value)] of a message: integers, or bytes."""
    at, out = 0, []
    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = message[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n
    while at < len(message):
        tag = number()
        if tag & 7 == 0:
            out.append((tag >> 3, number()))
        elif tag & 7 == 2:
            length = number()
            out.append((tag >> 3, message[at : at + length]))
            at += length
        else:
            raise ValueError(tag)
    return out
def call(method, message=b"", body=None, headers=(), kind="application/grpc", version="--http2-prior-knowledge"):
    """The status of gRPC, the message of the error, and the answer."""
    open("request", "wb").write(b"\0" + struct.pack(">I", len(message)) + message if body is None else body)
    done = subprocess.run(["curl", "-sS", version, "-H", "content-type: " + kind, "-H", "te: trailers", *sum((["-H", h] for h in headers), []),
        "--data-binary", "@request", "-D", "head", "-o", "answer", url + method], capture_output=True)
    assert done.returncode == 0, done
    head = dict(line.split(": ", 1) for line in open("head").read().splitlines() if ": " in line)
    answer = open("answer", "rb").read()
    if head.get("grpc-status") == "0":
        assert head["content-type"] == "application/grpc", head
        assert answer[0] == 0 and struct.unpack(">I", answer[1:5])[0] == len(answer) - 5, answer
    return head.get("grpc-status"), head.get("grpc-message"), answer[5:]
def refused(code, words, *args, **more):
    status, message, answer = call(*args, **more)
    assert status == str(code) and words in message, (status, message, words)
KSERVE = "/inference.GRPCInferenceService/"
X
cat >kserve.py <<'X'
from grpc import *
assert call(KSERVE + "ServerLive") == ("0", None, field(1, 1))
assert call(KSERVE + "ServerReady") == ("0", None, field(1, 1))
assert call(KSERVE + "ModelReady", field(1, "two")) == ("0", None, field(1, 1))
assert dict(fields(call(KSERVE + "ServerMetadata")[2]))[1] == b"dfg"
metadata = fields(call(KSERVE + "ModelMetadata", field(1, "two") + field(2, "1"))[2])
assert metadata[:3] == [(1, b"two"), (2, b"1"), (3, b"dfg_graphdef")], metadata
assert metadata[3] == (4, field(1, "x") + field(2, "FP32") + field(3, varint(-1) + varint(3))), metadata
assert [number for number, _ in metadata[3:]] == [4, 4, 5, 5]
def tensor(name, datatype, shape, contents=b""):
    return field(5, field(1, name) + field(2, datatype) + field(3, b"".join(map(varint, shape))) + contents)
def infer(*parts):
    return field(1, "two") + field(3, "id 7") + b"".join(parts)
x, k = struct.pack("<6f", 1, 2, 3, 4, 5, 6), struct.pack("<2i", 10, 20)
y, z = struct.pack("<6f", 3, 5, 7, 9, 11, 13), struct.pack("<2f", 16, 35)
def check(*parts, names=(b"y", b"z"), raw=(y, z)):
    status, message, answer = call(KSERVE + "ModelInfer", infer(*parts))
    assert status == "0", message
    got = fields(answer)
    assert got[:3] == [(1, b"two"), (2, b"1"), (3, b"id 7")], got
    assert tuple(dict(fields(value))[1] for number, value in got if number == 5) == names, got
    assert tuple(value for number, value in got if number == 6) == raw, got
whole = tensor("x", "FP32", [2, 3]), tensor("k", "INT32", [2])
check(*whole, field(7, x), field(7, k))
check(*whole, field(6, field(1, "z")), field(7, x), field(7, k), names=(b"z",), raw=(z,))
check(tensor("x", "FP32", [2, 3], field(5, field(6, x))), tensor("k", "INT32", [2], field(5, field(2, varint(10) + varint(20)))))
# A list that is not packed.
check(tensor("x", "FP32", [2, 3], field(5, field(6, x))), tensor("k", "INT32", [2], field(5, field(2, 10) + field(2, 20))))
MI = KSERVE + "ModelInfer"
refused(3, "input 'x': its value is f32[2,4]", MI, infer(tensor("x", "FP32", [2, 4]), field(7, x + b"12345678")))
refused(3, "unknown datatype 'FP99'", MI, infer(tensor("x", "FP99", [2, 3]), field(7, x)))
refused(3, "its inputs are: x, k", MI, infer(tensor("q", "FP32", [2, 3]), field(7, x)))
refused(3, "its outputs are: y, z", MI, infer(field(6, field(1, "q")), *whole, field(7, x), field(7, k)))
refused(3, "2 inputs, but 1 raw_input_contents", MI, infer(*whole, field(7, x)))
refused(3, "must be at least 0", MI, infer(tensor("x", "FP32", [-1, 3]), field(7, x)))
refused(3, "more than 8 dimensions", MI, infer(tensor("x", "FP32", [1] * 9), field(7, x)))
refused(3, "fewer elements", MI, infer(tensor("x", "FP32", [1 << 40, 3], field(5, field(6, x)))))
refused(3, "binary_data_size is 24, too few bytes for the shape", MI, infer(tensor("x", "FP32", [1 << 40, 3]), field(7, x)))
refused(3, "cannot be given in int_contents", MI, infer(tensor("x", "FP32", [2, 3], field(5, field(2, bytes(6))))))
refused(3, "have 5 elements", MI, infer(tensor("x", "FP32", [1, 6], field(5, field(6, x[:20])))))
refused(3, "more than 3 elements", MI, infer(tensor("x", "FP32", [1, 3], field(5, field(6, x)))))
refused(3, "missing", MI, infer())
refused(3, "given more than once", MI, infer(whole[0], whole[0], field(7, x), field(7, x)))
refused(5, "the models are: two", MI, field(1, "none"))
refused(5, "has version 1 only", KSERVE + "ModelReady", field(1, "two") + field(2, "2"))
refused(3, "malformed", MI, b"\x0a\xff\xff\xff\xff\x0f")
refused(3, "malformed", MI, b"\xff" * 40)
refused(3, "malformed", MI, field(5, b"\x0a\x09x"))
refused(12, "RepositoryIndex", KSERVE + "RepositoryIndex")
refused(12, "ModelStreamInfer", KSERVE + "ModelStreamInfer")
refused(12, "compressed", KSERVE + "ServerLive", body=b"\1\0\0\0\0")
refused(3, "five bytes", KSERVE + "ServerLive", body=b"")
refused(12, "unknown path", "/grpc.health.v1.Health/Check")
refused(12, "must not be compressed", KSERVE + "ServerLive", headers=["content-encoding: gzip"])
refused(3, "five bytes", KSERVE + "ServerLive", body=b"\0\0\0\0\7abc")
refused(3, "grpc-timeout", MI, infer(*whole, field(7, x), field(7, k)), headers=["grpc-timeout: 5"])
refused(3, "grpc-timeout", MI, infer(*whole, field(7, x), field(7, k)), headers=["grpc-timeout: 999999999S"])
# The longest timeouts, one of which is 7 * 2^64 ns less 116 s.
for hours in "99999999", "35868669":
    assert call(MI, infer(*whole, field(7, x), field(7, k)), headers=["grpc-timeout: " + hours + "H"])[0] == "0", hours
check(*whole, field(7, x), field(7, k))
# Not gRPC, or not over HTTP/2: an answer of HTTP.
assert call(KSERVE + "ServerLive", kind="text/plain")[0] is None and "415" in open("head").read()
assert call(KSERVE + "ServerLive", version="--http1.1")[0] is None and "415" in open("head").read()
# TensorFlow Serving.
PREDICT = "/tensorflow.serving.PredictionService/Predict"
def spec(name="two", *more):
    return field(1, field(1, name) + b"".join(more))
def entry(name, dtype, shape, values):
    dims = b"".join(field(2, field(1, n)) for n in shape)
    return field(2, field(1, name) + field(2, field(1, dtype) + field(2, dims) + values))
def predict(*parts):
    status, message, answer = call(PREDICT, b"".join(parts))
    assert status == "0", message
    got = {}
    for number, value in fields(answer):
        if number == 1:
            name, proto = [v for _, v in fields(value)]
            got[name] = dict(fields(proto))
        else:
            assert dict(fields(value))[1] == b"two"
    return got
ks = entry("k", 3, [2], field(7, varint(10) + varint(20)))
for xs in entry("x", 1, [2, 3], field(4, x)), entry("x", 1, [2, 3], field(5, x)):
    got = predict(spec(), xs, ks)
    assert set(got) == {b"y", b"z"} and got[b"y"][4] == y and got[b"z"][4] == z and got[b"z"][1] == 1, got
assert fields(got[b"y"][2]) == [(2, field(1, 2)), (2, field(1, 3))]
assert set(predict(spec("two", field(3, "serving_default"), field(2, field(1, 1))), field(3, "z"), xs, ks)) == {b"z"}
# One value, which is repeated for all elements.
assert predict(spec(), field(3, "y"), entry("x", 1, [1, 3], field(5, x[:4])))[b"y"][4] == struct.pack("<3f", 3, 3, 3)
refused(3, "its value is f64[2,3], expected f32[?,3]", PREDICT, spec() + entry("x", 2, [2, 3], field(4, x + x)))
refused(3, "fewer values", PREDICT, spec() + entry("x", 1, [1 << 40, 3], field(5, x[:4])))
refused(3, "fewer values", PREDICT, spec() + entry("x", 1, [1 << 40, 3], b""))
refused(3, "malformed", PREDICT, spec() + entry("x", 1, [1 << 62, 3], field(4, x)))
refused(3, "malformed", PREDICT, spec() + entry("x", 99, [2, 3], field(4, x)))
refused(3, "its type is resource, expected a type of numbers", PREDICT, spec() + entry("x", 20, [], field(14, field(3, "v"))))
refused(3, "the only signature", PREDICT, spec("two", field(3, "other")) + xs)
refused(3, "version_label 'stable' is not supported", PREDICT, spec("two", field(4, "stable")) + xs)
refused(5, "has version 1 only", PREDICT, spec("two", field(2, field(1, 3))) + xs)
refused(5, "the models are: two", PREDICT, spec("none") + xs)
refused(3, "its inputs are: x, k", PREDICT, spec() + entry("q", 1, [2, 3], field(4, x)))
refused(12, "Classify", "/tensorflow.serving.PredictionService/Classify", spec())
refused(12, "HandleReloadConfigRequest", "/tensorflow.serving.ModelService/HandleReloadConfigRequest", spec())
status, message, answer = call("/tensorflow.serving.ModelService/GetModelStatus", spec())
assert fields(dict(fields(answer))[1]) == [(1, 1), (2, 30), (3, b"")], (message, answer)
status, message, answer = call("/tensorflow.serving.PredictionService/GetModelMetadata", spec() + field(2, "signature_def"))
answer = dict(fields(answer))
assert dict(fields(answer[1]))[1] == b"two"
any_ = dict(fields(dict(fields(answer[2]))[2]))
assert any_[1] == b"type.googleapis.com/tensorflow.serving.SignatureDefMap"
name, signature = [v for _, v in fields(dict(fields(any_[2]))[1])]
signature = fields(signature)
assert name == b"serving_default" and signature[-1] == (3, b"tensorflow/serving/predict")
assert [(n, dict(fields(v))[1]) for n, v in signature[:-1]] == [(1, b"x"), (1, b"k"), (2, b"y"), (2, b"z")]
assert fields(dict(fields(signature[0][1]))[2]) == [(1, b"x"), (2, 1), (3, field(2, field(1, -1)) + field(2, field(1, 3)))]

# Each byte of a message may be wrong: an answer, whatever it says.
import http.client, random
good = infer(tensor("x", "FP32", [2, 3], field(5, field(6, x))), whole[1], field(6, field(1, "y")))
r = random.Random(1)
for i in range(25):
    bad = bytearray(good)
    bad[r.randrange(len(bad))] = r.randrange(256)
    assert call(MI, bytes(bad))[0] in ("0", "3", "5"), bad
    assert call(MI, good[: r.randrange(len(good))])[0] in ("0", "3", "5"), bad
    bad = bytearray(spec() + xs + ks)
    bad[r.randrange(len(bad))] = r.randrange(256)
    assert call(PREDICT, bytes(bad))[0] in ("0", "3", "5"), bad
X
start two.pb
PYTHONDONTWRITEBYTECODE=1 python3 kserve.py "$url"
ask 200 "$url/metrics"
has answer 'dfg_requests_total{model="two",protocol="kserve-grpc",code="200"}'
stop

# The token, and open health.
echo secret >token
chmod 600 token
start two.pb --token-file token --open-health
cat >token.py <<'X'
from grpc import *
refused(16, "Bearer", KSERVE + "ModelReady", field(1, "two"))
assert call(KSERVE + "ModelReady", field(1, "two"), headers=["authorization: Bearer secret"])[0] == "0"
assert call(KSERVE + "ServerLive")[0] == "0"
X
PYTHONDONTWRITEBYTECODE=1 python3 token.py "$url"
stop

# A deadline ends the step.
cat >long.dfg <<'X'
input x: f32[]
output y = loop (s = x) for i in 0..2000000000 { next s * 0.999 + 1 }
X
"$DFG" build long.dfg -o long.pb
start long.pb --threads 1
cat >deadline.py <<'X'
from grpc import *
one = field(5, field(1, "x") + field(2, "FP32")) + field(7, struct.pack("<f", 1))
refused(4, "the deadline of the request passed", KSERVE + "ModelInfer", field(1, "long") + one, headers=["grpc-timeout: 200m"])
X
PYTHONDONTWRITEBYTECODE=1 python3 deadline.py "$url"
stop
