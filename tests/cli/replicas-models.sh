# Models over shards: dropout, batch normalization, loops, other programs' graphs, evaluation and resumption.
. "$ROOT/tests/cli/kit"

# 9. The masks of dropout are those of a batch that is not sharded: whole numbers make the sums exact.
cat >drop.dfg <<'.'
input x: f32[n, 6]
param w: f32[6] = 1
kept = dropout(x, rate = 0.5, training = true)
output rows = sum(kept, axis = 1)
output loss = mean(sum(kept * w, axis = 1))
.
"$DFG" build drop.dfg -o drop.pb
"$DFG" grad drop.pb --loss loss --optimizer 'sgd(lr=0.125)' -o drop-train.pb
"$DFG" run drop.pb --feed "x=f32[32,6]:$(awk 'BEGIN { for (i = 0; i < 192; i++) printf "%s%d", i ? "," : "", i % 9 }')" --fetch x -o x.npy
drop() { # NAME OPTIONS...
	name=$1
	shift
	status 0 "$DFG" run drop-train.pb --data x=@x.npy --batch 8 --target train --fetch loss,rows --metrics "$name.jsonl" --save "$name.npz" -o "$name.rows.npz" --seed 5 "$@"
}
drop one
drop four --shards 4
drop eight --shards 8
for name in four eight; do
	cmp one.jsonl $name.jsonl
	cmp one.npz $name.npz
	cmp one.rows.npz $name.rows.npz
done
# Blocks of random numbers need not begin where a shard does: rows of 3.
sed 's/6\]/3]/' drop.dfg >three.dfg
"$DFG" build three.dfg -o drop.pb
"$DFG" grad drop.pb --loss loss --optimizer 'sgd(lr=0.125)' -o drop-train.pb
"$DFG" run drop.pb --feed "x=f32[64,3]:$(awk 'BEGIN { for (i = 0; i < 192; i++) printf "%s%d", i ? "," : "", i % 9 }')" --fetch x -o x.npy
drop one
drop four --shards 4
drop eight --shards 8
cmp one.rows.npz four.rows.npz
cmp one.rows.npz eight.rows.npz

# 15. A graph of another program: reference variables, an optimizer's op, no marks. w -= 0.5 * mean of x, by batch.
cat >foreign.pbtxt <<'.'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "w" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
node { name: "w/Assign" op: "Assign" input: "w" input: "zero" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "half" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0.5 } } } }
node { name: "axes" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } }
node { name: "mean" op: "Mean" input: "x" input: "axes" attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } } }
node { name: "update" op: "ApplyGradientDescent" input: "w" input: "half" input: "mean" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "train" op: "Identity" input: "mean" input: "^update" attr { key: "T" value { type: DT_FLOAT } } }
.
"$DFG" run - --fetch x -o v.npy <<'.'
output x = f32(range(8))
.
for target in update train; do
	status 0 "$DFG" run foreign.pbtxt --data x=@v.npy --batch 4 --no-shuffle --target "$target" --shards 4 --save w.npz
	has err "no loss is marked, so replicas average the gradients of 'w'"
	[ "$("$DFG" show w.npz --json | grep -c .)" -gt 0 ]
	status 0 "$DFG" run foreign.pbtxt --load w.npz --fetch w
	[ "$(cat out)" = 'w: f32[] -3.5' ] # -(1.5 + 5.5) / 2
done

# A gradient that reads a variable after its update needs a step of its own.
cat >>foreign.pbtxt <<'.'
node { name: "again" op: "Identity" input: "w" input: "^update" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "slope" op: "Mul" input: "mean" input: "again" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "v/Assign" op: "Assign" input: "v" input: "zero" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "second" op: "ApplyGradientDescent" input: "v" input: "half" input: "slope" attr { key: "T" value { type: DT_FLOAT } } }
.
status 0 "$DFG" run foreign.pbtxt --data x=@v.npy --batch 4 --no-shuffle --target second
status 65 "$DFG" run foreign.pbtxt --data x=@v.npy --batch 4 --no-shuffle --target second --shards 4
has err "node 'slope' (Mul): cannot be reduced over the shards, as it depends on another reduced value; run the two reductions in separate steps"
status 65 "$DFG" run foreign.pbtxt --data x=@v.npy --batch 4 --no-shuffle --target second --shards 4 --bucket 0
has err "node 'again' (Identity): a gradient reads variable 'w' after its update; run the update and that gradient in separate steps"

# 17. Evaluation and inference over shards: means weighted by rows, rows in order.
"$DFG" run - --fetch x -o x.npy <<'.'
output x = reshape(f32(range(22)), [11, 2])
.
cat >eval.dfg <<'.'
input x: f32[n, 2]
param w: f32[2] = 0.5
output y = sum(x * w, axis = 1)
output loss = mean(y ** 2)
output count = sum(i32(y > 3))
output least = min(y)
.
"$DFG" build eval.dfg -o eval.pb
"$DFG" grad eval.pb --loss loss --optimizer 'sgd(lr=0)' -o eval-train.pb
for options in '' '--shards 4'; do
	# shellcheck disable=SC2086
	status 0 "$DFG" run eval-train.pb --data x=@x.npy --batch 11 --no-shuffle --target train --eval-data x=@x.npy --eval-fetch loss,count --metrics "m${options:-0}.jsonl" $options
	# shellcheck disable=SC2086
	status 0 "$DFG" run eval.pb --data x=@x.npy --batch 11 --no-shuffle --fetch y,loss,count $options
	mv out "out${options:-0}"
done
cmp m0.jsonl 'm--shards 4.jsonl'
cmp out0 'out--shards 4'
has out0 'y: f32[11]'
has out0 'count: f64[] 9'

# A training that is resumed ends as one that was not interrupted.
"$DFG" run - --fetch x -o x.npy <<'.'
output x = reshape(f32(range(48)), [24, 2]) / 16
.
sed -i 's/sgd(lr=0)/adam(lr=0.01)/' eval.dfg
"$DFG" grad eval.pb --loss loss --optimizer 'adam(lr=0.01)' -o eval-train.pb
resume() { # NAME OPTIONS...
	name=$1
	shift
	status 0 "$DFG" run eval-train.pb --data x=@x.npy --batch 5 --target train --shards 3 --save "$name.npz" "$@"
}
resume whole --steps 8
resume part --steps 4 --checkpoint ck
resume part --steps 8 --checkpoint ck --resume
cmp whole.npz part.npz
