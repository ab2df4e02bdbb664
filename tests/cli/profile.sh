# run --profile: calls, bytes, operations and shares of ops, nodes, groups and loops.
. "$ROOT/tests/cli/kit"

cat >m.dfg <<'.'
input x: f32[8, 300]
input image: f32[2, 10, 10, 3]
param w: f32[300, 70] = zeros
param k: f32[3, 3, 3, 5] = zeros
output y = x @ w
output c = Conv2D(image, k, strides = [1, 1, 1, 1], padding = "VALID")
v = Reshape(x, [2400])
output g = tanh(v * 2 + 1)
n = loop (n = f32(0)) for i in 0..1000 { next n + 0.5 }
output n
.
"$DFG" build m.dfg -o m.pb
run() { # OPTIONS...
	"$DFG" run m.pb --feed x=normal:f32[8,300] --feed image=normal:f32[2,10,10,3] "$@"
}
check() { # FILE: the rows of three steps
	python3 - "$1" <<'.'
import json, sys
p = json.load(open(sys.argv[1]))["profile"]
ops = {row["op"]: row for row in p["ops"]}
product, conv = ops["MatMul"], ops["Conv2D"]
assert product["calls"] == 3 and product["operations"] == 3 * 2 * 8 * 300 * 70, product
assert product["bytes"] == 3 * 4 * (8 * 300 + 300 * 70 + 8 * 70), product
assert conv["calls"] == 3 and conv["operations"] == 3 * 2 * (2 * 8 * 8) * (3 * 3 * 3) * 5, conv
assert abs(sum(row["share"] for row in p["ops"]) - 1) < 1e-9
assert abs(sum(row["us"] for row in p["nodes"]) - sum(row["us"] for row in p["ops"])) < 1e-3
assert p["nodes"][0]["us"] >= p["nodes"][-1]["us"] and p["limits"]["memory_bytes_per_s"] > 0
assert all(row["us"] >= 0 and row["of_limit"] >= 0 and row["calls"] > 0 for row in p["nodes"])
.
}
run --json >plain
for way in '' '--threads 2' --no-opt --no-compiled-loops; do
	# shellcheck disable=SC2086
	run --json --profile --repeat 3 $way >out.json 2>err
	check out.json
	has err 'GFLOP/s'
done

# A group is one row that shows its ops; a compiled loop is one with its iterations, of three steps.
run --json --profile --repeat 3 >out.json 2>err
python3 - <<'.'
import json
p, plain = json.load(open("out.json")), json.load(open("plain"))
assert p["results"] == plain["results"]
ops = {row["op"]: row for row in p["profile"]["ops"]}
assert ops["Mul+AddV2+Tanh"]["calls"] == 3, list(ops)
assert ops["Mul+AddV2+Tanh"]["bytes"] >= 3 * 2 * 9600, ops
assert ops["loop"]["iterations"] == 3003, ops["loop"] # as --stats counts them, with the last evaluation
assert any(row["op"] == "loop" for row in p["profile"]["nodes"])
.
has err 'Mul+AddV2+Tanh'
has err '3003 iterations'

# Shards have the rows of their compute runs.
cat >t.dfg <<'.'
input x: f32[?, 4]
param w: f32[4, 3] = zeros
output loss = mean(x @ w)
.
"$DFG" build t.dfg -o t.pb
"$DFG" grad t.pb --loss loss --optimizer 'sgd(lr=0.1)' -o g.pb
python3 - <<'.'
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 4), }"
head += " " * ((-len(head) - 11) % 64) + "\n"
with open("x.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<32f", *range(32)))
.
"$DFG" run g.pb --data x=@x.npy --batch 8 --steps 1 --target train --shards 4 --profile --json >out.json 2>err
python3 - <<'.'
import json
ops = {row["op"]: row for row in json.load(open("out.json"))["profile"]["ops"]}
assert ops["MatMul"]["calls"] >= 4, ops["MatMul"]
.
status 2 run --profile --hosts local:2
has err '--profile is for a run in this process'
