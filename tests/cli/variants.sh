# Finding 8: nobody needs -D training=true. A graph carries its program twice where it tests `training`: dfg grad trains one
# variant, evaluations and runs that train nothing use the other. The values are those of graphs that were built with -D.
. "$ROOT/tests/cli/kit"

data='--data x=@x.npy --data label=@label.npy --batch 5 --epochs 2 --seed 3'
cat >data.dfg <<'P'
output x = reshape(sin(f32(range(80))), [20, 4])
output label = i64(range(20)) * 7 % 3
P
"$DFG" run data.dfg --fetch x -o x.npy
"$DFG" run data.dfg --fetch label -o label.npy

# all NAME: the program NAME.dfg by both ways: trained, evaluated after each epoch, used, saved. Loops of one variant within
# the other's frames, states that only one writes, and names of the user's that look like ours.
all() {
	"$DFG" build "$1.dfg" -o both.pb
	"$DFG" build "$1.dfg" -D training=true -o draft.pb
	"$DFG" build "$1.dfg" -D training=false -o use.pb
	for graph in both draft; do
		status 0 "$DFG" grad $graph.pb --loss loss --optimizer 'adam(lr=0.01)' -o "$graph-t.pb"
		never grep -q warning err
		status 0 "$DFG" check --strict "$graph-t.pb"
	done
	status 0 "$DFG" run both-t.pb $data --target train --fetch loss --eval-data x=@x.npy --eval-data label=@label.npy \
		--eval-fetch loss --save both.npz --metrics both.jsonl
	never grep -q warning err
	status 0 "$DFG" run draft-t.pb $data --target train --fetch loss --eval-data x=@x.npy --eval-data label=@label.npy \
		--eval-fetch loss --save draft.npz --metrics draft.jsonl --eval-graph use.pb
	status 0 "$DFG" diff both.npz draft.npz
	cmp both.jsonl draft.jsonl
	"$DFG" run use.pb --load both.npz --feed x=@x.npy --fetch y >wanted
	for graph in both both-t; do
		status 0 "$DFG" run $graph.pb --load both.npz --feed x=@x.npy --fetch y
		never grep -q warning err
		cmp out wanted
	done
	never "$DFG" diff both.pb use.pb >differs
}
cat >plain.dfg <<'P'
input x: f32[n, 4]
input label: i64[n]
h = batch_norm(momentum = 0.5)(dropout(tanh(dense(8)(x)), rate = 0.5))
output y = dense(3)(h)
output loss = mean(cross_entropy(y, label))
P
all plain
cp both-t.pb trained.pb
cp wanted plain.y

# dropout in a loop in a loop, whose outer one also has a part that both variants share, and a loop that both share.
cat >loops.dfg <<'P'
input x: f32[n, 4]
input label: i64[n]
cell = dense(4)
shared = loop (s = x) for i in 0..3 { next s * 0.5 + 1 }
h = loop (a = shared) for i in 0..3 {
    inner = loop (b = a) for k in 0..2 { next dropout(tanh(cell(b)), rate = 0.25) }
    same = loop (c = x) for k in 0..2 { next c * 0.5 }
    next inner + same
}
output y = dense(3)(h)
output loss = mean(cross_entropy(y, label))
P
all loops

# A state that training writes and counts, one that exists in training alone, a layer in training alone, and scopes that have
# the names of the variants.
cat >states.dfg <<'P'
input x: f32[n, 4]
input label: i64[n]
state seen: i64[] = 0
training_ = dense(8)(x)
h = training_
static if training {
    state last: f32[] = 0
    set last = mean(h)
    set seen = seen + 1
    h = h + 0.1 * dense(8)(h)
} else {
    h = h * 1.5
}
output y = dense(3)(tanh(h))
output loss = mean(cross_entropy(y, label))
P
all states
[ "$("$DFG" show both.npz | sed -n 's/.*seen .* //p')" = 8 ] || { "$DFG" show both.npz; exit 1; }

# dfg opt keeps what the other variant needs, and what it writes; inference alone is what --freeze and strip leave.
"$DFG" build plain.dfg -o both.pb
"$DFG" build plain.dfg -D training=true -o draft.pb
"$DFG" opt both.pb -o small.pb
status 0 "$DFG" grad small.pb --loss loss --optimizer 'adam(lr=0.01)' -o small-t.pb
never grep -q warning err
status 0 "$DFG" run small-t.pb $data --target train --fetch loss --save small.npz
"$DFG" grad draft.pb --loss loss --optimizer 'adam(lr=0.01)' -o draft-t.pb
"$DFG" run draft-t.pb $data --target train --fetch loss --save draft.npz >out
"$DFG" diff small.npz draft.npz
"$DFG" opt trained.pb --target train --fetch loss,y -o o.pb
status 0 "$DFG" run o.pb --load draft.npz --feed x=@x.npy --fetch y
never grep -q warning err
"$DFG" opt both.pb --freeze --load draft.npz -o frozen.pb
"$DFG" show --tree frozen.pb >tree
never grep -q training tree

# A program that imports the graph has its variants.
cat >head.dfg <<'P'
import "both.pb" as net
input x: f32[n, 4]
input label: i64[n]
y, loss = net(x, label)
output y = y
output loss = loss
P
status 0 "$DFG" build head.dfg -o head.pb
status 0 "$DFG" grad head.pb --loss loss --optimizer 'adam(lr=0.01)' -o head-t.pb
never grep -q warning err
"$DFG" build plain.dfg -D training=false -o use.pb
"$DFG" run use.pb --load draft.npz --feed x=@x.npy --fetch y >wanted
status 0 "$DFG" run head-t.pb --load draft.npz --map '*=net/*' --feed x=@x.npy --fetch y
cmp out wanted
status 0 "$DFG" run head-t.pb $data --target train --fetch loss --save head.npz
has <("$DFG" show head.npz) moving_mean

# A program is built likewise where a command takes one, from stdin too.
status 0 "$DFG" grad plain.dfg --loss loss --optimizer sgd -o t.pb
never grep -q warning err
"$DFG" grad - --loss loss --optimizer sgd <plain.dfg | cmp - t.pb

# Warnings where no variant for training exists.
status 0 "$DFG" grad use.pb --loss loss --optimizer sgd -o wrong.pb
has err 'warning: use.pb has no variant for training'
cat >width.dfg <<'P'
input x: f32[n, 4]
output y = mean(dense(rates())(x))
fn rates() { static if training { 8 } else { 4 } }
P
status 0 "$DFG" build width.dfg -o w.pb
has err "width.dfg: warning: 'y/dense/w' depends on \`training\`, so that this graph is for inference alone"
status 0 "$DFG" build width.dfg -D training=false -o w.pb
never grep -q warning err
printf 'input x: f32[2]\nstatic if training { y = x @ x } else { y = x }\noutput z = y\n' >broken.dfg
status 65 "$DFG" build broken.dfg -o b.pb
has err 'where `training` is true, as dfg grad trains it (-D training=false builds the other variant alone): broken.dfg:2:'
cat >own.dfg <<'P'
input x: f32[4]
param w: f32[4] = 1
loss = sum(dropout(w * x))
target go { set w = w - 0.1 * grad(loss, w) }
output y = w
output z = loss
P
"$DFG" build own.dfg -o own.pb
status 0 "$DFG" run own.pb --target go --feed x=f32[4]:1,2,3,4
has err "warning: \`training\` is false in target 'go'"
