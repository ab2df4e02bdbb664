# dfg serve under the address sanitizer, and REQUESTS (or the first argument; 20000) random requests: valid ones of each protocol,
# changed in their bytes, their JSON, their lengths and their frames. None is answered 500 or without a status, each error over
# HTTP/1.1 is JSON with a sentence, nothing is reported by the sanitizer, and memory does not grow.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"
requests=${1:-${REQUESTS:-20000}}

make -s -C "$ROOT" O=build/asan CFLAGS='-O1 -g -Wno-maybe-uninitialized' \
	EXTRA='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' build/asan/dfg >make.txt 2>&1 ||
	{ tail -5 make.txt; exit 1; }
DFG=$ROOT/build/asan/dfg
cat >two.dfg <<'D'
input x: f32[batch, 3]
input k: i32[batch]
input s: string[batch]
input n: i32[]
output y = x * 2 + 1
output z = f32(k) + sum(x, axis = 1)
output t = s
ys = loop for i in 0..n {
	yield f32(i)
}
output ys = ys
D
"$DFG" build two.dfg -o two.pb
for form in npy npz safetensors; do
	"$DFG" run two.pb --feed x=ones:f32[2,3] --fetch x -o "x.$form"
done
start two.pb --timeout 1 --max-body 1Mi --max-iterations 1000 --queue 50
cat >random_requests.py <<'D'
import json, os, random, re, socket, struct, sys, threading

port, pid, count = int(sys.argv[1].rsplit(":", 1)[1]), int(sys.argv[2]), int(sys.argv[3])
files = [open("x." + form, "rb").read() for form in ("npy", "npz", "safetensors")]
tensors = [
    {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2.5, "NaN"]},
    {"name": "k", "datatype": "INT32", "shape": [1], "data": [7]},
    {"name": "s", "datatype": "BYTES", "shape": [1], "data": ["a\u00e4"]},
    {"name": "n", "datatype": "INT32", "shape": [], "data": [3]},
]
odd = [None, True, -1, 0, 1e999, 2**63, -(2**63), 2**64, 1.5, "", "x", "\0", "\ud7ff", [], {}, [[]], [1], {"b64": "AA=="}, {"b64": "*"}, "FP64", "BYTES"]
paths = [b"/v2/models/two/infer", b"/v2/models/two/versions/1/infer", b"/v1/models/two:predict", b"/run", b"/run/two?feed=x&fetch=y",
         b"/stream", b"/stream/two", b"/v2/models/two", b"/v2", b"/", b"/metrics", b"/status", b"/trace?steps=1", b"/v1/models/two/metadata"]
fields = [b"Content-Type: application/json", b"X-Timeout: 0.1", b"Accept: application/x-npz", b"Inference-Header-Content-Length: 30",
          b"Expect: 100-continue", b"Connection: close", b"Transfer-Encoding: chunked", b"Content-Length: 3", b"Content-Encoding: gzip"]
allowed = {100, 200, 400, 401, 404, 405, 406, 408, 413, 415, 417, 421, 422, 429, 431, 501, 503, 504, 505}
faults, lock, done = [], threading.Lock(), 0


def change_value(chance, value):
    """The value with one part, at a random depth, replaced, removed or repeated."""
    if chance.random() < 0.3 or not isinstance(value, (dict, list)) or not value:
        return chance.choice(odd)
    if isinstance(value, list):
        at = chance.randrange(len(value))
        middle = chance.choice([[], [value[at]] * chance.randrange(2, 50), [change_value(chance, value[at])]])
        return value[:at] + middle + value[at + 1 :]
    key = chance.choice(list(value))
    return {k: change_value(chance, v) if k == key else v for k, v in value.items() if k != key or chance.random() < 0.8}


def change_bytes(chance, data):
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice([b"", chance.randbytes(chance.randrange(5)), data[at : at + 20] * 3]) + data[at + chance.randrange(4) :]
    return data


def body_of(chance):
    chosen = chance.sample(tensors, chance.randrange(5))
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(files)
    if kind == 1:
        head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "parameters": {"binary_data_size": 12}}]}).encode()
        return head + bytes(12)
    columns = {t["name"]: t["data"] for t in chosen}
    value = [{"inputs": chosen}, {"inputs": columns}, {"instances": [{"x": [1, 2, 3]}] * 2}, {"inputs": chosen, "outputs": [{"name": "y"}]}][kind - 2]
    for _ in range(chance.choice([0, 1, 1, 3])):
        value = change_value(chance, value)
    return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "replace")


def http1(chance):
    body = body_of(chance)
    if chance.random() < 0.4:
        body = change_bytes(chance, body)
    path = chance.choice(paths)
    method = chance.choice([b"POST"] * 8 + [b"GET", b"HEAD", b"PUT"])
    extra = b"".join(field + b"\r\n" for field in chance.sample(fields, chance.choice([0, 0, 0, 1, 2])))
    length = len(body) + chance.choice([0] * 8 + [-1, 1, 1000])
    data = method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\n" + extra + b"Content-Length: %d\r\n\r\n" % max(length, 0) + body
    return change_bytes(chance, data) if chance.random() < 0.3 else data


def frame(kind, flags, stream, data=b""):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def string(text):
    return bytes([len(text)]) + text


def http2(chance):
    data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
    for i in range(chance.randrange(1, 5)):
        path = chance.choice(paths + [b"/inference.GRPCInferenceService/ModelInfer", b"/tensorflow.serving.PredictionService/Predict"])
        block = b"\x83\x86\x04" + string(path) + b"\x01" + string(b"localhost")
        body = body_of(chance)
        if b"Service/" in path:
            block += b"\x00" + string(b"content-type") + string(b"application/grpc")
            message = change_bytes(chance, b"\x0a\x03two\x2a\x0f\x0a\x01x\x12\x04FP32\x1a\x02\x01\x03\x3a\x0c" + bytes(12))
            body = b"\0" + struct.pack(">I", len(message)) + message
        body = body[:16000]
        parts = [frame(1, 4, 2 * i + 1, block), frame(0, 0, 2 * i + 1, body), frame(0, 1, 2 * i + 1)]
        if chance.random() < 0.3:
            parts.insert(chance.randrange(4), frame(chance.randrange(11), chance.randrange(64), chance.choice([0, 2 * i + 1]), chance.randbytes(chance.choice([0, 4, 5, 8]))))
        data += b"".join(parts)
    return change_bytes(chance, data) if chance.random() < 0.5 else data


def exchange(data):
    got = b""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(60)
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while piece := s.recv(65536):
                got += piece
        except ConnectionError:
            pass
    return got


def fault_of(got):
    """What is wrong with the first answer, or None."""
    head, _, rest = got.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d\d\d) ", head)
    if not status or int(status[1]) not in allowed:
        return "status"
    length = re.search(rb"content-length: (\d+)", head)
    if int(status[1]) >= 400 and length and len(rest) >= int(length[1]) > 0:
        try:
            return None if json.loads(rest[: int(length[1])])["error"] else "empty"
        except (ValueError, KeyError):
            return "no JSON"
    return None


def client(number, share):
    global done
    chance = random.Random(1000 * number + share)
    for i in range(share):
        is_http2 = chance.random() < 0.25
        data = (http2 if is_http2 else http1)(chance)
        try:
            got = exchange(data)
        except OSError as error:
            got = repr(error).encode()
        # An empty answer is right where nothing but line ends was sent, and the body of one to HEAD is.
        fault = None if is_http2 or not got or b"HEAD " in data else fault_of(got)
        if fault:
            with lock:
                faults.append((fault, data[:1500], got[:300]))
        if len(faults) > 3 or not os.path.exists(f"/proc/{pid}"):
            return
    with lock:
        done += share


def resident():
    return int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")


sizes = []
for part in range(4):
    threads = [threading.Thread(target=client, args=(24 * part + i, max(count // 96, 1))) for i in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults[:2]
    sizes.append(resident())
print(f"{done} requests; resident memory after each quarter: {sizes}")
# The sanitizer keeps what is freed for a while, up to its quarantine.
assert sizes[3] < sizes[1] + (300 << 20), sizes
D
python3 random_requests.py "$url" "$server" "$requests" || { tail -40 talk; exit 1; }
ask 200 "$url/v2"
stop
! grep -E 'Sanitizer|runtime error' talk
