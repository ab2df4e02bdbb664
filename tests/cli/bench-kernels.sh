# dfg bench kernels: rates against the limits of the machine. Peak memory of training against live bytes.
. "$ROOT/tests/cli/kit"

status 0 "$DFG" bench kernels --repeat 1 --threads 1 --json
python3 - out <<'.'
import json, sys
p = json.load(open(sys.argv[1]))
rows = {row["name"]: row for row in p["rows"]}
def total(name, of):
    return rows[name][of + "_per_s"] * rows[name]["us"] * 1e-6
def near(a, b):
    assert abs(a - b) < 1e-6 * b, (a, b)
near(total("product 256x256x256", "operations"), 2 * 256**3)
near(total("product 256x256x256", "bytes"), 3 * 4 * 256**2)
near(total("product of bf16 256x256x256", "operations"), 2 * 256**3)
near(total("product of bf16 256x256x256", "bytes"), 3 * 2 * 256**2)
near(total("attention 8x256x64", "operations"), 2 * 8 * 256 * 256 * (64 + 64))
conv = 2 * 28 * 28 * 9 * 128 * 128
for name in ("convolution 3x3 28x28x128", "image gradient 3x3 28x28x128", "filter gradient 3x3 28x28x128"):
    near(total(name, "operations"), conv)
near(total("depthwise 3x3 56x56x144", "operations"), 2 * 56 * 56 * 9 * 144)
near(total("add 1 M", "bytes"), 3 * 4 * 2**20)
near(total("softmax 1024x1024", "bytes"), 2 * 4 * 2**20)
assert p["threads"] == 1 and p["limits"]["cache_bytes_per_s"] > 0
assert len(rows) > 15 and all(row["of_limit"] > 0 and row["us"] > 0 for row in p["rows"])
.
status 2 "$DFG" bench kernels --nodes 3
has err '--nodes is only for the generated graph'
status 2 "$DFG" bench kernels --batch 3
status 2 "$DFG" bench graph --repeat 3
has err "--repeat is only for benchmarks other than 'graph'"

# The memory of a step of training is at most 1.1 times its most live bytes.
lean() { # GRAPH FEEDS...
	graph=$1
	shift
	for threads in 1 2; do
		"$DFG" run "$graph" --target train --stats --json --threads $threads "$@" >stats.json 2>err
		python3 -c 'import json; s = json.load(open("stats.json"))["stats"]; assert s["live_bytes"] <= s["peak_bytes"] <= 1.1 * s["live_bytes"], s'
		has err live_bytes
	done
}
"$DFG" grad "$ROOT/bench/lenet.dfg" --loss loss --optimizer 'adam(lr=0.001)' -o lenet.pb
lean lenet.pb --feed images=normal:f32[64,28,28] --feed labels=zeros:i32[64]
"$DFG" grad "$ROOT/examples/transformer.dfg" --loss loss --optimizer 'adam(lr=0.001)' -o transformer.pb 2>err
lean transformer.pb --feed tokens=zeros:i32[8,64] --feed wanted=zeros:i32[8,64]
cat >lstm.dfg <<'.'
input xs: f32[20, 16, 64]
cell = lstm(64)
h, c = zeros([16, 64]), zeros([16, 64])
static for t in 0..20 { h, c = cell(xs[t], h, c) }
output loss = mean(h * h)
.
"$DFG" grad lstm.dfg --loss loss --optimizer 'adam(lr=0.01)' -o lstm.pb
lean lstm.pb --feed xs=normal:f32[20,16,64]
