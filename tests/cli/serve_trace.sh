# dfg serve: /trace records the next steps, as they run.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >net.dfg <<'X'
input x: f32[batch, 3]
output y = x @ [[1.0], [2], [3]] * 2 + 1
X
cat >count.dfg <<'X'
input n: i32[]
ys = loop for t in 0..n {
	assert t < 40, "too far"
	yield t
}
output ys = ys
s = loop (s = 0) while s < n {
	next s + 1
}
output total = s
X
start net.dfg count.dfg --timeout 20
x='{"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}]}'
n() { # N
	echo "{\"inputs\":[{\"name\":\"n\",\"datatype\":\"INT32\",\"shape\":[],\"data\":[$1]}]}"
}
record() { # QUERY: into the file trace, in the background; returns when the server records
	rm -f code
	until [ -s code ] && ! grep -q 429 code; do # the question below may have come first
		curl -sS -o trace -w '%{http_code}' "$url/trace?$1" >code
	done &
	tracer=$!
	within records
}
records() {
	curl -sS -H 'X-Timeout: 0.01' "$url/trace?steps=1" | grep -q 'a trace is being recorded already'
}

record steps=2
ask 429 "$url/trace?steps=1"
ask 200 "$url/v2/models/net/infer" -d "$x"
cp answer first
ask 200 "$url/v2/models/count/infer" -d "$(n 3)"
wait "$tracer"
[ "$(cat code)" = 200 ]
cat >read.py <<'X'
import json, sys
events = json.load(open("trace"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
assert names == eval(sys.argv[1]), names
nodes = [e for e in events if e["ph"] == "X"]
assert {e["pid"] for e in nodes} == set(names), events
assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in nodes)
ops = [op for e in nodes for op in e["args"]["op"].split(" + ")]
for op in sys.argv[2:]:
    assert op in ops, (op, ops)
X
python3 read.py '{0: "step 0 of net: 1 request", 1: "step 1 of count: 1 request"}' MatMul
# Steps that are not traced are the same; so are those after it.
ask 200 "$url/v2/models/net/infer" -d "$x"
cmp answer first

# Only the steps of one model; a step of a stream, of which a node runs in each iteration.
record 'steps=1&model=count'
ask 200 "$url/v2/models/net/infer" -d "$x"
ask 200 "$url/stream/count" -d "$(n 3)"
wait "$tracer"
[ "$(cat code)" = 200 ]
python3 read.py '{0: "step 0 of count: 1 request"}'
grep -q '"iteration":\[2\]' trace || { echo "no iteration is traced:"; cat trace; exit 1; }
# A step that fails has ended, too.
record 'steps=1&model=count'
ask 422 "$url/v2/models/count/infer" -d "$(n 41)"
wait "$tracer"
[ "$(cat code)" = 200 ]

# Refusals; a time that passes; a client that leaves; the end of the server.
for query in '' '?steps=0' '?steps=-1' '?steps=1001' '?steps=1x' '?steps=99999999999999999999'; do
	ask 400 "$url/trace$query"
	has answer 'steps=N must be a number from 1 to 1000'
done
ask 404 "$url/trace?steps=1&model=none"
has answer 'the models are: net, count'
ask 405 "$url/trace?steps=1" -d x
ask 400 -H 'X-Timeout: never' "$url/trace?steps=1"
ask 504 -H 'X-Timeout: 0.1' "$url/trace?steps=3"
has answer '0 of 3 steps ended'
curl -sS --max-time 0.5 "$url/trace?steps=3" || true
is_free() {
	curl -sS -H 'X-Timeout: 0.01' "$url/trace?steps=1" | grep -q 'ended before'
}
within is_free
record steps=3
stop
wait "$tracer"
[ "$(cat code)" = 503 ]
