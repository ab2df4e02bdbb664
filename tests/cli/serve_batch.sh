# Requests share a step where the rows of a batch are independent, and each gets the bits that it gets alone.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

# All kinds of nodes whose rows are independent: each output has its own.
cat >rows.dfg <<'X'
input x: f32[batch, 6, 6, 4]
input ids: i32[batch]
param w: f32[144, 40] = glorot
param filter: f32[3, 3, 4, 8] = glorot
param table: f32[50, 40] = glorot
flat = Reshape(x, [-1, 144])
h = relu(flat @ w) + 0.1
output product = h
output normal = layer_norm()(h)
output soft = Softmax(h * 3)
output image = MaxPool(Conv2D(x, filter, strides = [1, 1, 1, 1], padding = "SAME"), ksize = [1, 2, 2, 1], strides = [1, 2, 2, 1], padding = "VALID")
output looked_up = GatherV2(table, ids, 0) + h
output reduced = sum(x, axis = [1, 3]) + mean(x, axis = [2, 3])
output joined = ConcatV2([h, tanh(h)], 1)
output best = ArgMax(h, 1)
cut = Reshape(h, [-1, 8, 5])
output attention = BatchMatMulV2(Softmax(BatchMatMulV2(cut, cut, adj_y = true)), cut)
output turned = Transpose(cut, [0, 2, 1])
output smooth = AvgPool(x, ksize = [1, 3, 3, 1], strides = [1, 1, 1, 1], padding = "SAME")
output depthwise = DepthwiseConv2dNative(x, Reshape(table, [5, 5, 4, 20]), strides = [1, 1, 1, 1], padding = "SAME")
output local = LRN(x, depth_radius = 2)
output normed = FusedBatchNorm(x, [1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0], is_training = false).y
top = TopKV2(h, 5)
output largest = top.values
output where_largest = top.indices
output padded = PadV2(cut, [[0, 0], [1, 2], [0, 1]], 7.0)
output middle = cut[:, 2:6, 1]
output tiled = Tile(h, [1, 3])
output hot = OneHot(ids, 50, 1.0, 0.0)
output stacked = Pack([h, h * 2], axis = 1)
output halves = f32(f16(h) @ f16(Reshape(table[:40], [40, 40])))
output biased = BiasAdd(h, table[0])
output wide = exp(ExpandDims(h, 1)) - Squeeze(ExpandDims(ExpandDims(h, 2), 1), squeeze_dims = [3])
output deep = Reshape(Tile(flat, [1, 40]), [-1, 5760]) @ Reshape(Tile(w, [40, 1]), [5760, 40])
output logs = LogSoftmax(h) + AddN([h, h, h])
output running = cumsum(x, axis = 1) + Cumprod(x, 3, reverse = true) + Cumsum(x, -2, exclusive = true)
output dense_loss = SoftmaxCrossEntropyWithLogits(h, Softmax(h * 2)).loss
output sparse_loss = SparseSoftmaxCrossEntropyWithLogits(h, ids % 40).loss
output inner = Einsum([cut, cut], equation = "bij,bkj->bik")
output dots = Einsum([h, h], equation = "bi,bi->b")
output outer = Einsum([h, table], equation = "bi,ji->bj") + Einsum([table, h], equation = "ji,...i->...j")
output diagonal = Einsum([Einsum([cut, cut], equation = "bij,bkj->bik")], equation = "bii->bi")
output flat_product = BatchMatMulV2(h, table, adj_y = true)
output branched = if sum(table) > 0 { h * 3 } else { -h }
steps = Transpose(x[:, :, :, 1], [1, 0, 2])
last, all = rnn(gru(5), steps, zeros([shape(x)[0], 5]))
output state = last
output states = Transpose(all, [1, 0, 2])
output scaled = loop (s = h) for t in 0..3 { next s * 0.5 }
output late = h * Reshape(loop (s = 0.0) while s < 1 { next s + 1 }, []) # a step with a loop waits for a thread
input z: f32[]
output held = loop (s = z) while s < 1 { next s * 0.5 } # of 0: for ever
X
"$DFG" build rows.dfg -o rows.pb
"$DFG" run rows.pb --feed x=zeros:f32[1,6,6,4] --feed ids=zeros:i32[1] --feed z=f32[]:1 --seed 7 --save w.safetensors >out
"$DFG" serve rows.pb --load w.safetensors --explain --max-batch 64 >out
[ "$(grep -v "output 'held'" out)" = "model 'rows': requests for the other outputs can share a step of up to 64 rows" ] || { cat out; exit 1; }

# The clients' requests have 1, 2 or 3 rows each. The answers are those of a server that joins none. Then 64 requests wait for the one
# thread of the server, and share as few steps as possible.
cat >clients.py <<'X'
import concurrent.futures, http.client, io, random, struct, sys, zipfile
from serve_kit import connect, hold, metric, release, until
def npy(dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
def body(i):
    r = random.Random(i)
    rows = i % 3 + 1
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("x.npy", npy("<f4", "(%d, 6, 6, 4)" % rows, struct.pack("<%df" % (144 * rows), *[r.gauss(0, 1) for _ in range(144 * rows)])))
        z.writestr("ids.npy", npy("<i4", "(%d,)" % rows, struct.pack("<%di" % rows, *[r.randrange(50) for _ in range(rows)])))
    return out.getvalue()
def client(url, i, n):
    connection = connect(url)
    answers = []
    for k in range(n):
        connection.request("POST", "/run", body(100 * i + k))
        answer = connection.getresponse()
        answers.append(answer.read())
        assert answer.status == 200, answers[-1]
    return answers
url, alone, clients, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with concurrent.futures.ThreadPoolExecutor(clients) as pool:
    shared = list(pool.map(lambda i: client(url, i, n), range(clients)))
for i in range(clients):
    assert client(alone, i, n) == shared[i], i

if clients == 64:
    held = hold(url, 1, "/run?feed=z&fetch=held", npy("<f4", "()", bytes(4)))
    steps, rows = metric(url, "dfg_batch_size_count"), metric(url, "dfg_batch_size_sum")
    waiting = [connect(url) for i in range(clients)]
    for i, connection in enumerate(waiting):
        connection.request("POST", "/run", body(100 * i))
    until(lambda: metric(url, "dfg_queue_length") == clients)
    release(held)
    for i, connection in enumerate(waiting):
        assert connection.getresponse().read() == shared[i][0], i
    # 127 rows, of which a step has at most 64.
    steps, rows = metric(url, "dfg_batch_size_count") - steps, metric(url, "dfg_batch_size_sum") - rows
    assert (steps, rows) == (2, 127), (steps, rows)
X
start rows.pb --load w.safetensors --max-batch 1
one=$url one_server=$server
start rows.pb --load w.safetensors --max-batch 64 --max-delay 5 --threads 1
python3 clients.py "$url" "$one" 1 3
python3 clients.py "$url" "$one" 7 3
python3 clients.py "$url" "$one" 64 2
ask 200 "$one/metrics"
awk '/^dfg_batch_size_sum/ {rows = $2} /^dfg_batch_size_count/ {steps = $2} END {exit !(rows <= 3 * steps)}' answer
stop
server=$one_server
stop

# The node that prevents it is named, with the reason.
refuses() { # PROGRAM REASON
	printf '%s\n' "$1" >p.dfg
	"$DFG" build p.dfg -o p.pb
	"$DFG" serve p.pb --explain >out
	has out "$2"
	has out 'cannot share a step: node '
}
x='input x: f32[batch, 3]'
refuses "$x
output y = x - mean(x, axis = 0)" 'it reduces over the batch'
refuses "$x
output y = mean(x)" 'it reduces over the batch'
refuses "$x
output y = x * f32(Shape(x)[0])" 'its value depends on the number of rows'
refuses "$x
output y = Reshape(x, [3, -1])" 'its shape fixes or depends on the number of rows'
refuses "$x
output y = Reshape(x, [-1])" 'it moves elements between rows'
refuses "$x
output y = Transpose(x, [1, 0])" 'the batch is the second axis of its result'
refuses "$x
output y = x @ Transpose(x, [1, 0])" 'several of its inputs depend on the batch, which is the second axis of one'
refuses "$x
output y = Softmax(sum(x, axis = 1))" 'its only axis is the batch'
refuses "$x
output y = x + RandomUniform([3], dtype = f32)" 'its result differs from step to step'
refuses "$x
input k: i32[]
output y = x * f32(k)" "the input's leading dimension is fixed"
refuses 'input x: f32[4, 3]
output y = x * 2' "the input's leading dimension is fixed"
refuses "$x
input m: f32[batch]
output y = m * x" 'it broadcasts the batch along an axis other than the first'
refuses "$x
output y = loop (s = x) while sum(s) < 10 { next s + 1 }" 'it reduces over the batch'
refuses "$x
output y = loop (s = x) for t in 0..shape(x)[0] { next s * 2 }" 'its value depends on the number of rows'
refuses "$x
output y = loop for t in 0..3 { yield x }" 'the batch is the second axis of its result'
refuses "$x
output y = sum(loop for t in 0..3 { yield x }, axis = 0)" 'the batch is the second axis of its input'
refuses "$x
output y = Transpose(loop for t in 0..3 { yield x }, [0, 2, 1])" 'it moves the batch to another axis'
refuses "$x
output y = loop for t in 0..3 { yield if t == 0 { x } else { [[1.0, 2, 3]] } }" 'only one of its branches'
refuses "$x
output y = Transpose(loop for t in 0..3 { yield x }, [1, 0, 2]) * f32(shape(x)[0])" 'its value depends on the number of rows'
refuses "$x
output y = Fill([3, shape(x)[0]], 1.0)" 'its value depends on the number of rows'
refuses "$x
param w: f32[] = 1.0
output y = if w > 0 { x } else { [[1.0, 2.0, 3.0]] }" 'only one of its branches'
refuses "$x
output y = if x[0, 0] > 0 { x } else { -x }" 'it takes some rows of the batch'
refuses "$x
output y = loop (s = 1.0) for t in 0..i32(max(x)) { next s + 1 }" 'it reduces over the batch'
refuses "$x
output y = cumsum(x, axis = 0)" 'its axis is the batch'
refuses "$x
output y = Cumprod(x, -2)" 'its axis is the batch'
refuses "$x
output y = SoftmaxCrossEntropyWithLogits(x, [[0.2, 0.3, 0.5]]).loss" 'some of its inputs depend on the batch, others do not'
refuses "$x
output y = Einsum([x], equation = \"ij->j\")" 'it sums over the batch'
refuses "$x
output y = Einsum([x], equation = \"ij->ji\")" 'it moves the batch to another axis'
refuses "$x
output y = Einsum([x, x], equation = \"ij,kj->ik\")" 'its equation joins the batch with another axis'
refuses "$x
output y = BatchMatMulV2(x, x, adj_x = true)" 'the batch is an axis of the matrices'
# Rows of an input count wherever it is among more than 64.
refuses "$x
output y = ConcatV2([$(printf '[[1.0, 2.0, 3.0]], %.0s' $(seq 64))x], 0)" 'it has more than 64 inputs'
# Requests for one output join although those for another do not.
cat >two.dfg <<'X'
input x: f32[batch, 3]
output y = x * 2
output m = mean(x)
X
"$DFG" build two.dfg -o two.pb
"$DFG" serve two.pb --explain >out
has out "requests for output 'm' cannot share a step: node "
has out "requests for the other outputs can share a step of up to 32 rows"
"$DFG" check --rows two.pb >out
has out "two.pb: output 'y': its rows are independent"
has out "two.pb: output 'm': node 'm"

# One request's error is its own, although its step was shared.
cat >lookup.dfg <<'X'
input ids: i32[batch]
output y = GatherV2([10.0, 20.0, 30.0], ids, 0)
X
"$DFG" build lookup.dfg -o lookup.pb
start lookup.pb --max-delay 60000 --max-batch 3
pids=
for id in 1 9 2; do
	curl -sS -o "answer.$id" -w '%{http_code}' "$url/v1/models/lookup:predict" -d "{\"instances\":[$id]}" >"code.$id" &
	pids="$pids $!"
done
wait $pids
[ "$(cat code.1 code.9 code.2)" = 200422200 ]
has answer.1 '{"predictions":[20]}'
has answer.2 '{"predictions":[30]}'
has answer.9 '9'
stop

# A connection with many requests does not delay the others: the connections are served in turn. Each answer is its place in the order
# of the steps, which wait until all requests have come.
cat >turns.dfg <<'X'
input x: f32[]
v = VariableV2(shape = [], dtype = f32)
Assign(v, 0.0)
output turn = AssignAdd(v, x)
X
cat >long.dfg <<'X'
input x: f32[]
output held = loop (s = x) while s < 2 { next s * 0.5 } # of 1: for ever
output quick = x + 1
X
start turns.dfg long.dfg --threads 1 --stateful
python3 - "$url" <<'X'
import json, sys
from serve_kit import *
url = sys.argv[1]
def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
path, body = b"/v1/models/turns:predict", b'{"inputs":1}'
head = b"\x83\x86\x04" + bytes([len(path)]) + path + b"\x41\x09localhost"
held = hold(url, 1, "/v1/models/long:predict", '{"inputs":{"x":1}}')
host, port = url.split("//")[1].split(":")
many = socket.create_connection((host, int(port)))
many.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
    + b"".join(frame(1, 4, 2 * i + 1, head) + frame(0, 1, 2 * i + 1, body) for i in range(8)))
waits = 'dfg_queue_length{model="turns"'
until(lambda: metric(url, waits) == 8)
others = [connect(url) for i in range(2)]
for i, other in enumerate(others):
    other.request("POST", path.decode(), body)
    until(lambda: metric(url, waits) == 9 + i)
release(held)
assert [json.load(other.getresponse())["outputs"] for other in others] == [2, 3]
X
stop

# A deadline, and a client that goes, end a step that runs: the thread is free for the next request at once.
start long.dfg --threads 1
none_runs() { curl -sS "$url/metrics" | grep -q '^dfg_steps_running 0$'; }
one_runs() { curl -sS "$url/metrics" | grep -q '^dfg_steps_running 1$'; }
x='{"name":"x","datatype":"FP32","shape":[],"data":[1]}'
long="{\"inputs\":[$x],\"outputs\":[{\"name\":\"held\"}]}"
ask 504 -H 'X-Timeout: 0.2' "$url/v2/models/long/infer" -d "$long"
has answer 'the deadline of the request passed'
within none_runs
for version in --http1.1 --http2-prior-knowledge; do
	curl -sS $version "$url/v2/models/long/infer" -d "$long" >left 2>&1 &
	client=$!
	within one_runs
	kill $client
	within none_runs
done
ask 200 "$url/v2/models/long/infer" -d "{\"inputs\":[$x],\"outputs\":[{\"name\":\"quick\"}]}"
stop
status 2 "$DFG" serve two.pb --max-batch 0
status 2 "$DFG" serve two.pb --max-delay=-1
