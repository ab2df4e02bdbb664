# dfg serve: a model answers over HTTP as `dfg run` does.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >two.dfg <<'X'
input x: f32[batch, 3]
input k: i32[batch]
output y = x * 2 + 1
output z = f32(k) + sum(x, axis = 1)
X
"$DFG" build two.dfg -o two.pb
start two.pb
has hello '"models":["two"]'

# KServe v2.
ask 200 "$url/v2/health/live"
ask 200 "$url/v2/health/ready"
ask 200 "$url/v2/models/two"
equals '{"name":"two","versions":["1"],"platform":"dfg_graphdef","inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]},{"name":"k","datatype":"INT32","shape":[-1]}],"outputs":[{"name":"y","datatype":"FP32","shape":[-1,3]},{"name":"z","datatype":"FP32","shape":[-1]}]}'
ask 200 "$url/v2/models/two/infer" -d '{"id":"7","inputs":[{"name":"x","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,0.1]},{"name":"k","datatype":"INT32","shape":[2],"data":[10,20]}]}'
equals '{"model_name":"two","model_version":"1","id":"7","outputs":[{"name":"y","datatype":"FP32","shape":[2,3],"data":[3,5,7,9,11,1.2]},{"name":"z","datatype":"FP32","shape":[2],"data":[16,29.1]}]}'
# Without a list of outputs, those that the given inputs suffice for.
ask 200 "$url/v2/models/two/versions/1/infer" -d '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[[1,2,3]]}]}'
equals '{"model_name":"two","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,3],"data":[3,5,7]}]}'
x='{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}'
ask 422 "$url/v2/models/two/infer" -d "{\"inputs\":[$x],\"outputs\":[{\"name\":\"z\"}]}"
has answer "input 'k' is missing: it is i32[?]"

# TensorFlow Serving's REST.
ask 200 "$url/v1/models/two:predict" -d '{"instances":[{"x":[1,2,3],"k":4},{"x":[0,0,0],"k":5}]}'
equals '{"predictions":[{"y":[3,5,7],"z":10},{"y":[1,1,1],"z":5}]}'
ask 200 "$url/v1/models/two:predict" -d '{"inputs":{"x":[[1,2,3]]}}'
equals '{"outputs":[[3,5,7]]}'
ask 200 "$url/v1/models/two/metadata"
has answer '"x":{"dtype":"DT_FLOAT","tensor_shape":{"dim":[{"size":"-1","name":""},{"size":"3","name":""}],"unknown_rank":false},"name":"x"}'
ask 200 "$url/v1/models/two"
has answer '"state":"AVAILABLE"'
ask 501 "$url/v1/models/two:classify" -d '{}'

# Files of arrays: the bytes that `dfg run` writes.
"$DFG" run two.pb --feed 'x=normal:f32[5,3]:seed=3' --fetch x -o x.npy
"$DFG" run two.pb --feed x=@x.npy --fetch y -o y.npy
"$DFG" run two.pb --feed x=@x.npy --feed k=i32[5]:1,2,3,4,5 --fetch y,z -o both.npz
"$DFG" run two.pb --feed x=@x.npy --feed k=i32[5]:1,2,3,4,5 --fetch x,k -o in.npz
ask 200 --data-binary @x.npy "$url/run?feed=x"
cmp answer y.npy
ask 200 -H 'Transfer-Encoding: chunked' --data-binary @x.npy "$url/run/two?feed=x&fetch=y"
cmp answer y.npy
ask 200 --data-binary @in.npz "$url/run"
status 0 "$DFG" diff answer both.npz
ask 200 -H 'Accept: application/x-safetensors' --data-binary @x.npy "$url/run?feed=x"
mv answer y.safetensors
"$DFG" convert y.safetensors -o again.npz
"$DFG" run two.pb --feed x=@x.npy --fetch y -o one.npz
status 0 "$DFG" diff again.npz one.npz
ask 406 -H 'Accept: text/html' --data-binary @x.npy "$url/run?feed=x"
ask 415 --data-binary 'no array' "$url/run"
ask 200 --data-binary @x.npy "$url/run"
cmp answer y.npy

# Each wrong request has its status and a sentence.
infer() { # STATUS BODY WORDS
	ask "$1" "$url/v2/models/two/infer" -d "$2"
	has answer "$3"
}
infer 400 '{"inputs":[' 'line 1'
infer 400 '[]' 'the body must be a JSON object'
infer 422 '{}' 'inputs'
infer 422 '{"inputs":[{"name":"x"}]}' 'datatype'
infer 422 '{"inputs":[{"name":"x","datatype":"FP99","shape":[1,3],"data":[1,2,3]}]}' "unknown datatype 'FP99'"
infer 422 '{"inputs":[{"name":"x","datatype":"FP64","shape":[1,3],"data":[1,2,3]}]}' "its value is f64[1,3], expected f32[?,3]"
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}' "expected f32[?,3]"
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,-3],"data":[1,2,3]}]}' 'integers of at least 0'
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[4611686018427387904,3],"data":[1]}]}' "input 'x'"
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[100000000,3],"data":[1]}]}' 'fewer elements'
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2]}]}' 'there are 2 elements'
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3,4]}]}' 'more elements than the 3 of shape [1,3]'
infer 422 '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,"2",3]}]}' 'element 1 is a string'
infer 422 '{"inputs":[{"name":"k","datatype":"INT32","shape":[1],"data":[1.5]}]}' 'element 0'
infer 422 '{"inputs":[{"name":"k","datatype":"INT32","shape":[1],"data":[2147483648]}]}' 'i32 cannot hold'
infer 422 '{"inputs":[{"name":"q","datatype":"FP32","shape":[1],"data":[1]}]}' 'its inputs are: x, k'
infer 422 "{\"inputs\":[$x,$x]}" 'given more than once'
infer 422 "{\"inputs\":[$x],\"outputs\":[{\"name\":\"q\"}]}" 'its outputs are: y, z'
ask 422 "$url/v1/models/two:predict" -d '{"instances":[{"x":[1,2]},{"x":[1,2,3]}]}'
has answer 'the lists differ in length or depth'
ask 422 "$url/v1/models/two:predict" -d '{"instances":[],"inputs":1}'
ask 200 "$url/"
has answer '<form id="form"'
curl -sS -D head -o answer "$url/"
grep -qi "^content-security-policy: default-src 'none'; style-src 'sha256-" head
ask 200 "$url/status"
has answer '"models":[{"name":"two","version":1'
ask 404 "$url/v2/models/none"
has answer 'the models are: two'
ask 404 "$url/v2/models/two/versions/2"
ask 404 "$url/v2/models/..%2f..%2fetc"
for path in %00 a%0 a%zz %; do
	ask 400 "$url/v2/models/$path"
	has answer "the path has a '%'"
done
ask 405 -X DELETE "$url/v2"
ask 405 "$url/v2/models/two/infer"
ask 400 -H 'X-Timeout: soon' "$url/v2/models/two/infer" -d "{\"inputs\":[$x]}"
ask 421 -H 'Host: elsewhere.example' "$url/v2"
ask 501 -X POST "$url/v2/repository/index"
ask 200 "$url/metrics"
has answer 'dfg_requests_total{model="two",protocol="tensorflow-rest",code="501"} 1'
# Some of these requests had several rows.
awk '/^dfg_batch_size_sum/ {rows = $2} /^dfg_batch_size_count/ {steps = $2} END {exit !(rows > steps)}' answer
has answer 'dfg_request_seconds_bucket{model="two",le="+Inf"}'
grep -q '^process_resident_memory_bytes [1-9]' answer

# KServe's tensors as bytes, in and out.
python3 - "$url" <<'X'
import http.client, json, struct, sys
connection = http.client.HTTPConnection(sys.argv[1].split("//")[1])
def infer(head, data, length=None):
    text = json.dumps(head).encode()
    connection.request("POST", "/v2/models/two/infer", text + data, {"Inference-Header-Content-Length": str(length or len(text))})
    answer = connection.getresponse()
    return answer, answer.read()
x = {"name": "x", "datatype": "FP32", "shape": [1, 3], "parameters": {"binary_data_size": 12}}
answer, body = infer({"inputs": [x], "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}, struct.pack("<3f", 1, 2, 3))
size = int(answer.headers["Inference-Header-Content-Length"])
assert json.loads(body[:size])["outputs"][0]["parameters"] == {"binary_data_size": 12}, body
assert struct.unpack("<3f", body[size:]) == (3, 5, 7), body
k = {"name": "k", "datatype": "INT32", "shape": [1], "parameters": {"binary_data_size": 4}}
answer, body = infer({"inputs": [k, x], "parameters": {"binary_data_output": True}}, struct.pack("<i3f", 4, 1, 2, 3))
assert struct.unpack("<4f", body[-16:]) == (3, 5, 7, 10), body
for head, data, length, words in [({"inputs": [x]}, b"12345678", None, b"8 bytes of binary data are left"), ({"inputs": [x]}, b"1" * 13, None, b"belong to no input"),
        ({"inputs": [dict(x, shape=[2, 3])]}, b"1" * 12, None, b"the binary data has 12 bytes"), ({"inputs": [x]}, b"", 9999, b"up to"),
        ({"inputs": [dict(x, parameters={"binary_data_size": -1})]}, b"", None, b"binary_data_size")]:
    answer, body = infer(head, data, length)
    assert answer.status in (400, 422) and words in body, (head, answer.status, body)
X
# Many requests on one connection, of which some are refused.
python3 - "$url" <<'X'
import http.client, json, sys
connection = http.client.HTTPConnection(sys.argv[1].split("//")[1])
for i in range(300):
    body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [i, 0, "a" if i % 7 == 3 else 1]}]})
    connection.request("POST", "/v2/models/two/infer", body)
    answer = connection.getresponse()
    result = json.loads(answer.read())
    assert answer.status == (422 if i % 7 == 3 else 200), answer.status
    assert i % 7 == 3 or result["outputs"][0]["data"] == [2 * i + 1, 1, 3], result
X
# Requests that are not HTTP, or that two readers would read in two ways: refused, and the connection ends.
python3 - "$url" <<'X'
import socket, sys
host, port = sys.argv[1].split("//")[1].split(":")
def answer(request):
    s = socket.create_connection((host, int(port)))
    s.sendall(request)
    got = b""
    while chunk := s.recv(65536):
        got += chunk
    return got
head = b"POST /v2/models/two/infer HTTP/1.1\r\nHost: localhost\r\n"
for bad, status in [(b"nonsense\r\n\r\n", 400), (head + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (head + b"X: y\nZ: w\r\n\r\n", 400), (head + b"Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", 400),
        (head + b"Content-Length: 99999999999\r\n\r\n", 413), (head + b"X: " + b"y" * 40000 + b"\r\n\r\n", 431),
        (b"A" * 40000, 431), (b"GET / HTTP/3.0\r\n\r\n", 505)]:
    got = answer(bad)
    assert got.startswith(b"HTTP/1.1 %d " % status) and got.count(b"content-length") == 1 and b'{"error":' in got, (bad[:80], got)
# Two requests in one piece are both answered, in their order.
two = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
got = answer(two)
assert got.count(b"HTTP/1.1 200") == 1 and got.index(b"HTTP/1.1 200") < got.index(b"HTTP/1.1 404"), got
# A client that ends its side at once still gets its answer.
s = socket.create_connection((host, int(port)))
s.sendall(b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
s.shutdown(socket.SHUT_WR)
assert s.recv(65536).startswith(b"HTTP/1.1 200")
X

# HTTP/2 on the same port gives the same answers.
ask 200 --http2-prior-knowledge "$url/v1/models/two:predict" -d '{"inputs":{"x":[[1,2,3]]}}'
equals '{"outputs":[[3,5,7]]}'
ask 200 --http2-prior-knowledge --data-binary @in.npz "$url/run"
status 0 "$DFG" diff answer both.npz
ask 404 --http2-prior-knowledge "$url/none"
ask 421 --http2-prior-knowledge -H 'Host: elsewhere.example' "$url/v2"
# A client that makes work and asks for nothing is told to calm down; others are not disturbed.
python3 - "$url" <<'X'
import socket, sys
host, port = sys.argv[1].split("//")[1].split(":")
def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
def attack(frames):
    s = socket.create_connection((host, int(port)))
    s.settimeout(10)
    try:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frames)
        while s.recv(65536): # until the server ends the connection; a timeout fails
            pass
    except ConnectionError:
        pass
get = b"\x82\x86\x84\x41\x09localhost"
attack(b"".join(frame(1, 5, 2 * i + 1, get) + frame(3, 0, 2 * i + 1, b"\0\0\0\x08") for i in range(20000)))
attack(b"".join(frame(6, 0, 0, b"12345678") for i in range(20000)))
attack(frame(1, 4, 1, get) + b"".join(frame(0, 0, 1) for i in range(20000)))
X
ask 200 "$url/v2"
stop

# Several models, their weights, a token.
cat >lin.dfg <<'X'
input x: f32[batch, 2]
output y = dense(1)(x)
X
"$DFG" build lin.dfg -o lin.pb
"$DFG" run lin.pb --feed x=f32[1,2]:1,2 --seed 1 --save one.safetensors >one.txt
"$DFG" run lin.pb --feed x=f32[1,2]:1,2 --seed 2 --save two.safetensors >two.txt
echo secret >token
status 77 "$DFG" serve lin.pb --port 0 --token-file token
chmod 600 token
cp one.safetensors live.safetensors
start a=lin.pb:live.safetensors b=lin.pb:two.safetensors --token-file token --open-health
ask 401 "$url/v2"
ask 401 -H 'Authorization: Bearer secre' "$url/v2"
ask 200 "$url/v2/health/live"
same() { # MODEL FILE: the model answers as the run that wrote the file
	ask 200 -H 'Authorization: Bearer secret' "$url/v1/models/$1:predict" -d '{"instances":[[1,2]]}'
	has answer "[$(tail -n 1 "$2")]"
}
same a one.txt
same b two.txt
ask 404 -H 'Authorization: Bearer secret' --data-binary @x.npy "$url/run"
has answer 'the models are: a, b'
# HUP takes the newest weights; those that do not load leave the old ones.
cp two.safetensors next && mv next live.safetensors
kill -HUP "$server"
within grep -qF "model 'b' has version" talk
same a two.txt
echo damaged >next && mv next live.safetensors
: >talk
kill -HUP "$server"
within grep -qF "model 'a' stays as it is" talk
same a two.txt
stop

# --watch takes a newer checkpoint by itself; a damaged one leaves the old weights.
cat >fit.dfg <<'X'
input x: f32[batch, 2]
output y = dense(1)(x)
output loss = mean(y * y)
X
"$DFG" build fit.dfg | "$DFG" grad - --loss loss --optimizer 'sgd(lr=0.1)' -o fit.pb
printf 'a,b\n1,2\n3,4\n' >data.csv
train() { # STEPS
	"$DFG" run fit.pb --data x=@data.csv --batch 2 --steps "$1" --epochs 99 --target train --fetch loss --checkpoint ck --every 2 --resume
}
train 2
start fit.pb:ck --fetch y --watch
ask 200 "$url/v2/models/fit/versions/2"
train 4
within grep -qF "model 'fit' has version 4" talk
ask 200 "$url/v2/models/fit/versions/4"
"$DFG" run fit.pb --load ck --feed x=f32[1,2]:1,2 --fetch y >fit.txt
same fit fit.txt
cp -r ck/step-4 next
mv next ck/step-6
echo damaged >ck/step-6/data.safetensors
within grep -q "step-6" talk
same fit fit.txt
stop

# The arrays before a malformed one are released: sixty requests of 2 MB do not add up.
python3 -c '
import json, struct
first = json.dumps({"a": {"dtype": "F32", "shape": [524288], "data_offsets": [0, 2097152]},
    "b": {"dtype": "F99", "shape": [1], "data_offsets": [2097152, 2097156]}}).encode()
open("half.safetensors", "wb").write(struct.pack("<Q", len(first)) + first + b"1" * 2097156)'
start two.pb
resident() { curl -sS "$url/metrics" | awk '/^process_resident_memory_bytes/ {print $2}'; }
ask 400 --data-binary @half.safetensors "$url/run"
before=$(resident)
set --
for i in $(seq 60); do
	set -- "$@" -o "half.$i" "$url/run"
done
curl -sS --data-binary @half.safetensors "$@"
[ $(($(resident) - before)) -lt 40000000 ] || { echo "$before bytes became $(resident)"; exit 1; }
stop

# Integers of 64 bits, up to the largest.
cat >wide.dfg <<'X'
input n: u64[batch]
output m = n
X
"$DFG" build wide.dfg -o wide.pb
start wide.pb
ask 200 "$url/v1/models/wide:predict" -d '{"inputs":[18446744073709551615,9223372036854775808,0]}'
equals '{"outputs":[18446744073709551615,9223372036854775808,0]}'
for bad in 18446744073709551616 -1 1.5 1e3; do
	ask 422 "$url/v1/models/wide:predict" -d "{\"inputs\":[$bad]}"
	has answer 'element 0'
done
stop

# An input may be any tensor: the one that it is computed from is not needed then.
cat >half.dfg <<'X'
input x: f32[]
h = x * 2
output y = h + 1
output z = x - 1
X
"$DFG" build half.dfg -o half.pb
start half.pb --feed h,x
ask 200 "$url/v1/models/half:predict" -d '{"inputs":{"h":5}}'
equals '{"outputs":6}'
ask 200 "$url/v1/models/half:predict" -d '{"inputs":{"x":5}}'
equals '{"outputs":4}'
ask 200 "$url/v1/models/half:predict" -d '{"inputs":{"h:0":5,"x":1}}'
equals '{"outputs":{"y":6,"z":0}}'
ask 422 "$url/v1/models/half:predict" -d '{"inputs":5}'
has answer "model 'half' has 2 inputs"
stop

# The README's example.
has "$ROOT/README.md" 'dfg serve line.pb --load w.safetensors --fetch guess'
"$DFG" build "$ROOT/examples/line.dfg" -o line.pb
"$DFG" run line.pb --feed x=f64[1]:1 --fetch guess --save w.safetensors
start line.pb --load w.safetensors --fetch guess
ask 200 "$url/v1/models/line:predict" -d '{"instances": [3]}'
grep -qx '{"predictions": *\[0\(.0\)*\]}' answer
stop

# Models and options that cannot be served.
status 2 "$DFG" serve
status 2 "$DFG" serve two.pb --host 0.0.0.0
status 2 "$DFG" serve two.pb two.pb
status 2 "$DFG" serve --worker two.pb
status 66 "$DFG" serve none.pb
status 65 "$DFG" serve two.pb --fetch none
status 65 "$DFG" serve lin.pb:one.npz
cat >count.pbtxt <<'X'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "n" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
node { name: "n/Assign" op: "Assign" input: "n" input: "zero" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "total" op: "AssignAdd" input: "n" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
X
status 65 "$DFG" serve count.pbtxt --fetch total
has err 'writes state; --stateful serves it'
start count.pbtxt --fetch total --stateful
for total in 2 4 6; do
	ask 200 "$url/v1/models/count:predict" -d '{"inputs":2}'
	equals "{\"outputs\":$total}"
done
status 69 "$DFG" serve two.pb --port "${url##*:}"
has err 'cannot listen on'
stop

# A queue that is full, a deadline and a client that leaves, while a step without end occupies the only thread.
cat >slow.dfg <<'X'
input x: f32[]
output held = loop (s = x) while s < 1 { next s * 0.5 } # of 0: for ever
output late = loop (i = 0.0) while i < x { next i + 1 }
output rested = Dfg>Sleep(x, ms = 800)
X
start slow.dfg --threads 1 --queue 1
request() { # OUTPUT X
	echo "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[],\"data\":[$2]}],\"outputs\":[{\"name\":\"$1\"}]}"
}
slow() { # FILE OUTPUT X: the client is $client, the status is in the file
	curl -sS -o /dev/null -w '%{http_code}' "$url/v2/models/slow/infer" -d "$(request "$2" "$3")" >"$1" &
	client=$!
}
waiting() { # COUNT
	curl -sS "$url/metrics" | grep -q "^dfg_queue_length{[^}]*} $1\$"
}
is_running() { curl -sS "$url/metrics" | grep -q '^dfg_steps_running 1$'; }
slow held held 0
holder=$client
within is_running
ask 504 -H 'X-Timeout: 0.2' "$url/v2/models/slow/infer" -d "$(request late 1)"
has answer 'the deadline of the request passed'
slow left late 1
within waiting 1
ask 429 -D head "$url/v2/models/slow/infer" -d "$(request late 1)"
grep -qi '^retry-after: ' head
kill "$client"
within waiting 0
slow answered late 1
within waiting 1
kill "$holder"
wait "$client"
[ "$(cat answered)" = 200 ]
# TERM answers what has come.
slow last rested 1
has_come() { [ -s last ] || is_running; }
within has_come
stop
wait "$client"
[ "$(cat last)" = 200 ]

# HUP while the models are still being read is remembered: they are read again as soon as the server listens.
mkfifo graph.dfg
"$DFG" serve graph.dfg --port 0 >hello.graph 2>talk &
server=$!
exec 5>graph.dfg # until the server reads
kill -HUP "$server"
cat two.dfg >&5
exec 5>&-
within test -s hello.graph
cat two.dfg >graph.dfg
within grep -q "model 'graph' has version 1" talk
stop
