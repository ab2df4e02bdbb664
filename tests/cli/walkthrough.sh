# The way from a page of text to a trained network, as the manual tells it, on a few pictures made here.
. "$ROOT/tests/cli/kit"

# Pictures of kind k are bright in row 2 k + 4: a net that learns must tell them apart. One file is gzip, one is plain.
python3 - <<'PY'
import gzip, random, struct
random.seed(1)
labels = bytes(random.randrange(10) for _ in range(96))
pixels = b"".join(bytes(min(255, random.randrange(40) + (200 if row == 2 * k + 4 else 0)) for row in range(28) for _ in range(28))
                  for k in labels)
with gzip.open("images.gz", "wb") as f:
    f.write(struct.pack(">4I", 0x803, len(labels), 28, 28) + pixels)
with open("labels", "wb") as f:
    f.write(struct.pack(">2I", 0x801, len(labels)) + labels)
with open("x.npy", "wb") as f:
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 28, 28), }"
    head += " " * (117 - len(head)) + "\n"
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + pixels[:2 * 784])
with open("kinds", "w") as f:
    f.write("%d %d\n" % (labels[0], labels[1]))
PY

# From text to a graph, for use and for training, and a look at it.
status 0 "$DFG" build "$ROOT/examples/lenet.dfg" -o lenet.pb
status 0 "$DFG" build "$ROOT/examples/lenet.dfg" -D training=true -o lenet-train.pb
status 1 cmp lenet.pb lenet-train.pb
status 0 "$DFG" check lenet.pb lenet-train.pb
status 0 "$DFG" show lenet.pb --tree
has out 'Conv2D f32[?,28,28,32]'
has out 'VarHandleOp f32[5,5,32,64]'
grep -q '^probabilities  *Softmax f32\[?,10\]\|^probabilities  *Identity f32\[?,10\]' out

# Training, its curve, its checkpoint.
status 0 "$DFG" grad lenet-train.pb --loss loss --optimizer 'adam(lr=0.001)' -o train.pb
status 0 "$DFG" check train.pb
status 0 "$DFG" run train.pb --data images=@images.gz --data labels=@labels --batch 32 --epochs 6 --target train \
	--fetch loss --checkpoint ck/ --metrics m.jsonl
grep -q '^loss: f32\[\] ' out
[ "$(wc -l <m.jsonl)" = 18 ]
has m.jsonl '{"step":18,"epoch":6,"loss":'
python3 - <<'PY'
import json
loss = [json.loads(line)["loss"] for line in open("m.jsonl")]
assert loss[-1] < 0.5 * loss[0], loss
PY
status 0 "$DFG" show m.jsonl
has out loss
status 0 "$DFG" show m.jsonl --svg
has out '<svg'
status 0 "$DFG" show ck/
has out 'h/conv/w'

# The trained weights in the graph for use: the same answer from the program itself, and over a whole file.
status 0 "$DFG" run lenet.pb --load ck/ --feed images=@x.npy --fetch probabilities
has out 'probabilities: f32[2,10]'
awk 'NR > 1 { best = 1; for (i = 2; i <= NF; i++) if ($i > $best) best = i; printf "%s%d", (NR > 2 ? " " : ""), best - 1 }
	END { print "" }' out | cmp - kinds
cp out from-graph
status 0 "$DFG" run "$ROOT/examples/lenet.dfg" --load ck/ --feed images=@x.npy --fetch probabilities
cmp out from-graph
status 0 "$DFG" run lenet.pb --load ck/ --data images=@images.gz --data labels=@labels --batch 50 --fetch accuracy
awk '$1 != "accuracy:" || $2 != "f32[]" || $3 < 0.8 { exit 1 }' out

# A foreign graph, as TensorFlow wrote it.
foreign=$ROOT/tests/cases/train/frozen-lenet
status 0 "$DFG" run "$foreign/graph.pb" --feed "$foreign/in0.npz" --fetch probability:0,class:0 -o out.npz
status 0 "$DFG" diff out.npz "$foreign/out0.npz" --rtol 1e-4 --atol 1e-5

# Pipes, and programs where a graph is meant: by suffix or by what they hold.
printf 'input x: f32[]\noutput y = x ** 2 + x\n' >a.dfg
"$DFG" build a.dfg | "$DFG" grad - --of y --wrt x | "$DFG" run - --feed x=3 --fetch grad/x >out
has out 'grad/x: f32[] 7'
cp a.dfg text
for program in a.dfg text; do
	status 0 "$DFG" run $program --feed x=3
	has out 'y: f32[] 12'
done
"$DFG" run - --feed x=3 <a.dfg | cmp - out
"$DFG" grad a.dfg --of y --wrt x | "$DFG" run - --feed x=3 --fetch grad/x >out
has out 'grad/x: f32[] 7'
"$DFG" build a.dfg -o a.pb
status 0 "$DFG" check a.dfg
status 0 "$DFG" diff a.dfg a.pb
status 0 "$DFG" convert a.dfg -o b.pb
cmp a.pb b.pb
status 0 "$DFG" show a.dfg
has out 'AddV2'
"$DFG" opt a.dfg -q | "$DFG" run - --feed x=3 --fetch y >out
has out 'y: f32[] 12'
status 65 "$DFG" run - --feed x=3 <<'PROGRAM'
input x f32[]
PROGRAM
has err 'stdin:1:9: error: '

# An assertion stops the step, and says its words.
printf 'input x: f32[n]\nassert all(x > 0), "x must be positive"\noutput y = log(x)\n' >claim.dfg
status 0 "$DFG" run claim.dfg --feed x=f32[1]:1
has out 'y: f32[1]'
status 65 "$DFG" run claim.dfg --feed x=f32[1]:-1
has err "node 'Assert' (Assert): assertion failed: [x must be positive]"
[ ! -s out ]

# A step whose loss claims what does not hold fails, plain or optimised, even where the gradient alone
# would not need the claim.
cat >claim.dfg <<'PROGRAM'
input x: f32[n]
param w: f32[] = 1
assert all(x > 0), "x must be positive"
output loss = sum(x * w)
PROGRAM
"$DFG" grad claim.dfg --loss loss --optimizer 'sgd(lr=0.1)' -o claim.pb
"$DFG" opt -q claim.pb --target train,init -o claim-opt.pb
for options in 'claim.pb' 'claim.pb --no-opt' 'claim-opt.pb' 'claim-opt.pb --no-opt'; do
	# The options are words.
	# shellcheck disable=SC2086
	status 0 "$DFG" run $options --feed x=f32[1]:1 --target train
	# shellcheck disable=SC2086
	status 65 "$DFG" run $options --feed x=f32[1]:-1 --target train
	has err 'x must be positive'
done
