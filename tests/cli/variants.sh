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

# A call chooses the variant; by hand: of 2 and 6 the mean is 4 and the deviation 2, and the moving ones are 0 and 1 at first.
cat >norm.dfg <<'P'
input x: f32[n, 1]
h = batch_norm(momentum = 0.5)(x)
output y = round(h)
output twice = 2 * round(h)
output more = x + 1
P
"$DFG" build norm.dfg -o norm.pb
values() { # FETCH VALUES
	status 0 "$DFG" run p.pb --feed x=f32[2,1]:2,6 --fetch "$1"
	[ "$(grep -v : out | tr '\n' ' ')" = "$2 " ] || { echo "$1 is not $2:"; cat out; exit 1; }
}
cat >p.dfg <<'P'
import "norm.pb" as net
input x: f32[n, 1]
output trained = net(x, training = true).y
output used = net(x, training = false).y
output same = net(x, training = true).twice
output shared = net(x, training = true).more
output inside = round(net.node("h", x, training = true))
output latest = round(net.node("h"))
output outside = net.node("y:0", training = false, x = x)
output loss = mean(net.node("h", x, training = true))
P
for training in '' '-D training=false' '-D training=true'; do
	status 0 "$DFG" build p.dfg $training -o p.pb
	never grep -q . err
	values trained '-1 1'
	values same '-2 2'
	values shared '3 7'
	values inside '-1 1'
	values latest '-1 1'
	values used '2 6'
	values outside '2 6'
	"$DFG" show p.pb --text >text
	never grep -q _dfg_variant text
	never grep -q training/ text
	[ "$(grep -c '= VarHandleOp' text)" = 4 ] || { cat text; exit 1; }
done
"$DFG" build p.dfg -o p.pb
"$DFG" build p.dfg -D training=true -o q.pb
cmp p.pb q.pb
"$DFG" grad p.pb --loss loss --optimizer 'sgd(lr = 0)' -o t.pb
never grep -q warning err
"$DFG" run t.pb --target train --feed x=f32[2,1]:2,6 --save moved.npz --fetch loss >out
"$DFG" run t.pb --load moved.npz --feed x=f32[1,1]:0 --fetch net/h/batch_norm/moving_mean/read,net/h/batch_norm/moving_variance/read >out
[ "$(grep -v : out | tr '\n' ' ')" = '2 2.5 ' ] || { cat out; exit 1; }
refuse() { # WORDS: the program on stdin is 65 with these words
	(echo 'import "norm.pb" as net'; echo 'import "draft.pb" as trained'; echo 'import "frozen.pb" as frozen'
	echo 'import "plainest.pb" as plain'; echo 'input x: f32[n, 1]'; cat) >wrong.dfg
	status 65 "$DFG" build wrong.dfg -o no.pb
	has err "$1"
}
"$DFG" build norm.dfg -D training=true -o draft.pb
"$DFG" run norm.pb --target init --feed x=f32[1,1]:0 --fetch more --save first.npz -q >out
"$DFG" opt -q norm.pb --freeze --load first.npz -o frozen.pb
printf 'input x: f32[n, 1]\noutput y = -x\n' >plainest.dfg
"$DFG" build plainest.dfg -o plainest.pb
echo 'output y = net(x, training = true).y + net(2 * x, training = true).y' |
	refuse "norm.pb is applied again, but its training update 'h/batch_norm/moving_mean/AssignVariableOp' may run only once per step: apply it with training = false"
echo 'output y = net(x, training = x).y' |
	refuse "argument 'training' is true or false, known while the program is built, not f32[?,1]"
echo 'output y = net(x, training = true, training = true).y' | refuse "argument 'training' is given twice"
echo 'output y = trained(x, training = false).y' |
	refuse 'draft.pb has no variant for inference: build it without -D training=true'
echo 'output y = frozen(x, training = true).y' |
	refuse 'frozen.pb has no variant for training'
echo 'output y = plain(x, training = true)' | refuse 'plainest.pb does not depend on `training`: leave the argument out'
# A frozen graph has one variant, also where the program that imports it has two.
cat >p.dfg <<'P'
import "frozen.pb" as frozen
import "draft.pb" as trained
input x: f32[n, 1]
output used = frozen(x).y
output again = frozen(x, training = false).y
output trained = trained(x, training = true).y
output dropped = dropout(x)
P
status 0 "$DFG" build p.dfg -o p.pb
values used '2 6'
values again '2 6'
values trained '-1 1'
# An input of that name is an input.
printf 'input x: f32[n, 1]\ninput training: bool[]\noutput y = dropout(if training { x } else { -x })\n' >named.dfg
"$DFG" build named.dfg -o named.pb
printf 'import "named.pb" as net\ninput x: f32[n, 1]\noutput y = net(x, training = false)\n' >p.dfg
status 0 "$DFG" build p.dfg -o p.pb
values y '-2 -6'

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
