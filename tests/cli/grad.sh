# Derivatives and training steps as files: names, refusals, and what stays as it is.
status() { # WANTED COMMAND...
	wanted=$1
	shift
	got=0
	"$@" >out 2>err || got=$?
	[ "$got" = "$wanted" ] || { echo "status $got, not $wanted: $*"; cat err; exit 1; }
}
has() { # FILE WORDS
	grep -qF -- "$2" "$1" || { echo "'$2' is not in $1:"; cat "$1"; exit 1; }
}
nodes() { # GRAPH
	"$DFG" convert "$1" -o nodes.pbtxt
	sed -n 's/^  name: "\(.*\)"/\1/p' nodes.pbtxt
}

cat >a.dfg <<'P'
input x: f32[]
input n: i32[]
output y = x * x * f32(n)
output z = stop_gradient(x)
P
status 0 "$DFG" build a.dfg -o a.pb

# A result by the name of what it belongs to; order n is the same again.
status 0 "$DFG" grad a.pb --of y --wrt x -o d.pb
nodes d.pb >names
has names grad/x
status 0 "$DFG" check d.pb
status 0 "$DFG" grad d.pb --of grad/x --wrt x --prefix second -o dd.pb
nodes dd.pb >names
has names second/x
status 0 "$DFG" check dd.pb
status 0 "$DFG" grad a.pb --of y,z --wrt '*' -o d.pb
nodes d.pb >names
has names grad/x
! grep -q grad/n names

# The same input and options, the same bytes.
status 0 "$DFG" grad a.pb --of y --wrt x -o one.pb
status 0 "$DFG" grad a.pb --of y --wrt x -o two.pb
cmp one.pb two.pb

# Refusals name what they refuse.
status 65 "$DFG" grad a.pb --of y --wrt n -o no.pb
has err "node 'n' (Placeholder): cannot differentiate by i32"
status 65 "$DFG" grad a.pb --of y --wrt xx -o no.pb
has err "did you mean 'x'?"
status 65 "$DFG" grad a.pb --of y --wrt 'q*' -o no.pb
has err "'q*'"
status 65 "$DFG" grad d.pb --of y --wrt x -o no.pb
has err "--prefix"
status 65 "$DFG" grad a.pb --of y -o no.pb
has err 'no trainable variables'
status 2 "$DFG" grad a.pb --wrt x -o no.pb
status 2 "$DFG" grad a.pb --loss y -o no.pb
status 2 "$DFG" grad a.pb --of y --wrt x --clip-norm 1 -o no.pb
status 66 "$DFG" grad none.pb --of y --wrt x -o no.pb
[ ! -e no.pb ]

cat >m.dfg <<'P'
input x: f32[batch, 4]
input labels: i32[batch]
param unused: f32[2] = zeros
logits = dense(3)(x)
output loss = mean(cross_entropy(logits, labels))
output rows = logits + 0 * sum(unused)
P
status 0 "$DFG" build m.dfg -D training=true -o m.pb
for optimizer in sgd momentum nesterov adagrad rmsprop adam adamw; do
	status 0 "$DFG" grad m.pb --loss loss --optimizer "$optimizer(lr=0.1)" --clip-norm 1 -o t.pb
	has err 'warning: the loss does not reach, so these stay as they are: unused'
	status 0 "$DFG" check t.pb
	nodes t.pb >names
	for name in train train/lr train/step grad/logits/dense/w train/logits/dense/w/update; do
		has names "$name"
	done
done
has nodes.pbtxt _dfg_gradient_of
has nodes.pbtxt _dfg_slot
status 65 "$DFG" grad m.pb --loss rows --optimizer 'sgd()' -o no.pb
has err 'a loss must be a scalar'
status 65 "$DFG" grad m.pb --loss loss --optimizer 'sdg()' -o no.pb
has err "'sgd'"
status 65 "$DFG" grad t.pb --loss loss --optimizer 'sgd()' -o no.pb
has err "there is a node 'train' already"
[ ! -e no.pb ]

# opt keeps what it is asked for, by name.
status 0 "$DFG" opt t.pb --fetch loss -o o.pb
has err 'prune: removed'
nodes o.pb >names
has names loss
has names logits/dense/w/assign
! grep -q '^train' names
status 0 "$DFG" check o.pb
status 2 "$DFG" opt t.pb --passes prine --fetch loss -o no.pb
has err "did you mean 'prune'?"
