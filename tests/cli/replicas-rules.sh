# Which gradients a sharded batch reduces, and by which rule; what it refuses.
. "$ROOT/tests/cli/kit"

"$DFG" run - --fetch x -o x.npy <<'.'
output x = reshape(f32(range(24)), [12, 2]) / 16 - 0.5
.
step() { # FILE OPTIONS...: builds the program, adds a training step, runs it on the data
	file=$1
	shift
	"$DFG" build "$file.dfg" -o "$file.pb"
	"$DFG" grad "$file.pb" --loss loss --optimizer 'sgd(lr=0.1)' -o "$file-train.pb" "$@"
}
run() { # STATUS FILE OPTIONS...
	wanted=$1
	file=$2
	shift 2
	status "$wanted" "$DFG" run "$file-train.pb" --data x=@x.npy --batch 12 --no-shuffle --target train "$@"
}

# A mean with a penalty that every shard has; a sum with one is neither.
cat >penalty.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
output loss = mean(sum(x * w, axis = 1) ** 2) + 0.25 * sum(w * w)
.
step penalty
run 0 penalty --fetch loss --save a.npz
run 0 penalty --fetch loss --save b.npz --shards 4
"$DFG" diff a.npz b.npz --rtol 1e-6
sed 's/mean/sum/' penalty.dfg >mixed.dfg
step mixed
run 65 mixed --shards 4
has err "mixed-train.pb: node 'loss/Mul.2' (Mul): the loss 'loss' adds a term that is not a sum over the batch to one that is; choose how replicas reduce gradients with --reduce mean or --reduce sum"
run 0 mixed --shards 4 --reduce sum

# A sum divided by the number of rows is a mean; other quotients are refused.
cat >rows.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
output loss = sum(sum(x * w, axis = 1) ** 2) / f32(n)
.
step rows
run 0 rows --save a.npz
run 0 rows --save b.npz --shards 3
"$DFG" diff a.npz b.npz --rtol 1e-6
sed 's/f32(n)/sum(x)/' rows.dfg >masked.dfg
step masked
run 65 masked --shards 3
has err "the loss 'loss' is not a mean or a sum over the batch"
run 0 masked --shards 3 --reduce mean

# 8. A clip by the global norm acts on the reduced gradients.
step penalty --clip-norm 0.01
run 0 penalty --save a.npz
run 0 penalty --save b.npz --shards 4
"$DFG" diff a.npz b.npz --rtol 1e-5

# 11. Moving averages are reduced like gradients: the mean of the shards' means is that of the batch.
cat >moving.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output loss = mean(sum(x * w, axis = 1) ** 2)
.
step moving
run 0 moving --save a.npz
run 0 moving --save b.npz --shards 4
"$DFG" diff a.npz b.npz --rtol 1e-6

# 12. A value of one shard is not assigned to a variable: one of integers, or one written by another target.
cat >count.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
state seen: i64[] = 0
set seen = seen + i64(Size(x))
output loss = mean(sum(x * w, axis = 1) ** 2)
.
step count
run 65 count --shards 4
has err "variable 'seen' is assigned a value that differs between shards, and i64 values cannot be averaged (path 'x' > "
run 0 count
cat >other.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
state last: f32[2] = zeros
output loss = mean(sum(x * w, axis = 1) ** 2)
target keep { set last = sum(x, axis = 0) }
.
step other
run 65 other --target keep --shards 4
has err "variable 'last' would be assigned a value of one shard (path 'x' > "
run 0 other --shards 4

# 12. A batch of fixed size is that of a shard.
cat >fixed.dfg <<'.'
input x: f32[3, 2]
param w: f32[2] = 0.5
output loss = mean(sum(x * w, axis = 1) ** 2)
.
step fixed
status 0 "$DFG" run penalty-train.pb --feed x=@x.npy --fetch x
status 65 "$DFG" run fixed-train.pb --data x=@x.npy --batch 12 --target train --shards 2
has err "requires batches of 6 samples, but the batch size is 12"
run 0 fixed --shards 4 --save b.npz
sed 's/\[3, 2\]/[12, 2]/' fixed.dfg >whole.dfg
step whole
run 0 whole --save a.npz
"$DFG" diff a.npz b.npz --rtol 1e-6

# Options.
run 2 rows --shards 2 --replicas 4
run 2 rows --replicas 2
run 2 rows --reduce sum
run 2 rows --shards 2 --reduce max
run 2 rows --shards 2 --bucket 4Q
run 65 rows --shards 2 --gradients 'nothing*'
has err "--gradients 'nothing*' matches no node"
run 0 rows --save a.npz --shards 2
run 0 rows --save b.npz --shards 2 --gradients 'grad/w*'
cmp a.npz b.npz

# A value that --gradients matches must depend on the batch, have one shape in all shards, and not depend on another match.
run 65 moving --shards 4 --gradients 'train/lr'
has err "moving-train.pb: --gradients matches no value of this step that depends on the batch: node 'average/"
run 65 moving --shards 4 --gradients x
has err "node 'x' (Placeholder): an input that holds rows of the batch cannot be reduced as a gradient"
run 65 moving --shards 4 --gradients 'loss/*'
has err "cannot be reduced over the shards, as it depends on another reduced value; run the two reductions in separate steps"
run 65 moving --shards 4 --gradients loss/Sum
has err "(Sub): cannot be reduced over the shards, as it depends on 'loss/Sum', which is reduced in the same step"
cat >shape.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
twice = x * 2
target train { set w = w - 0.1 * sum(twice, axis = 0) }
.
"$DFG" build shape.dfg -o shape-train.pb
run 65 shape --shards 5 --gradients 'twice*'
has err "'twice': tensor 0 of bucket 0 is f32[3,2] in shard 2, but f32[2,2] in another shard"

# A number of a bucket is not cut to 32 bits: 4294967296 is not bucket 0.
cat >bucket.pbtxt <<'.'
node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "y" op: "Dfg>AllReduceStart" input: "one" attr { key: "N" value { i: 1 } }
  attr { key: "T" value { type: DT_FLOAT } } attr { key: "bucket" value { i: 4294967296 } } }
.
status 65 "$DFG" run bucket.pbtxt --fetch y
has err "node 'y' (Dfg>AllReduceStart): bucket 4294967295: buckets are numbered from 0 to 1048575"
