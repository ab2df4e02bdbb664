# Derivatives and training steps as files: names, refusals, and what stays as it is.
. "$ROOT/tests/cli/kit"
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

# A --prefix that no name of a node may have is refused before the graph is written.
newline='a
b'
for prefix in 'a b' '' - /a a/ a//b é ^a a:0 _a "$newline"; do
	status 2 "$DFG" grad a.pb --of y --wrt x "--prefix=$prefix" -o no.pb
	has err --prefix
	[ ! -e no.pb ]
done
status 0 "$DFG" grad a.pb --of y --wrt x --prefix a/b-1.c -o p.pb
status 0 "$DFG" check p.pb

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
never grep -q grad/n names

# The same input and options, the same bytes.
status 0 "$DFG" grad a.pb --of y --wrt x -o one.pb
status 0 "$DFG" grad a.pb --of y --wrt x -o two.pb
cmp one.pb two.pb

# Refusals name what they refuse.
status 65 "$DFG" grad a.pb --of y --wrt n -o no.pb
has err "node 'n' (Placeholder): cannot differentiate with respect to i32"
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

# A number may choose among many sides; what came as rows stays rows, and sides that give nothing count as none.
cat >sides.pbtxt <<'P'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 3 } dim { size: 2 } } } } }
node { name: "k" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "shape" value { shape { } } } }
node { name: "ids" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 1 } } } }
node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "s" op: "_SwitchN" input: "x" input: "k" attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_outs" value { i: 4 } } }
node { name: "i" op: "_SwitchN" input: "ids" input: "k" attr { key: "T" value { type: DT_INT32 } } attr { key: "num_outs" value { i: 4 } } }
node { name: "a" op: "_SwitchN" input: "axis" input: "k" attr { key: "T" value { type: DT_INT32 } } attr { key: "num_outs" value { i: 4 } } }
node { name: "none" op: "_SwitchN" input: "part" input: "k" attr { key: "T" value { type: DT_FLOAT } } attr { key: "num_outs" value { i: 4 } } }
node { name: "part" op: "GatherV2" input: "x" input: "ids" input: "axis" attr { key: "Tparams" value { type: DT_FLOAT } } attr { key: "Tindices" value { type: DT_INT32 } } attr { key: "Taxis" value { type: DT_INT32 } } }
node { name: "g0" op: "GatherV2" input: "s" input: "i" input: "a" attr { key: "Tparams" value { type: DT_FLOAT } } attr { key: "Tindices" value { type: DT_INT32 } } attr { key: "Taxis" value { type: DT_INT32 } } }
node { name: "g1" op: "GatherV2" input: "s:1" input: "i:1" input: "a:1" attr { key: "Tparams" value { type: DT_FLOAT } } attr { key: "Tindices" value { type: DT_INT32 } } attr { key: "Taxis" value { type: DT_INT32 } } }
node { name: "sq" op: "Square" input: "g1" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "n2" op: "Neg" input: "none:2" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "f3" op: "StopGradient" input: "none:3" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Merge" input: "g0" input: "sq" input: "n2" input: "f3" attr { key: "N" value { i: 4 } } attr { key: "T" value { type: DT_FLOAT } } }
P
status 0 "$DFG" grad sides.pbtxt --of y --wrt x -o sides.pb
status 0 "$DFG" check sides.pb
k=0
for row in '2 2' '12 16' '-2 -2' '0 0' '0 0'; do
	status 0 "$DFG" run sides.pb --feed x=f32[3,2]:1,2,3,4,5,6 --feed k=$k --fetch grad/x
	[ "$(sed -n 3p out)" = "$row" ] || { echo "side $k:"; cat out; exit 1; }
	k=$((k + 1))
done

cat >m.dfg <<'P'
input x: f32[batch, 4]
input labels: i32[batch]
param unused: f32[2] = zeros
logits = dense(3)(x)
output loss = mean(cross_entropy(logits, labels))
output rows = logits + 0 * sum(unused)
P
status 0 "$DFG" build m.dfg -D training=true -o m.pb
# Each optimizer of the library: its text there, the rule of fuse and the row of the op (kernels/apply.def) agree.
optimizers=$("$DFG" show std:train | sed -n 's/^layer \([a-z0-9]*\)(.*/\1/p')
has <(echo "$optimizers") adamw
for optimizer in $optimizers; do
	status 0 "$DFG" grad m.pb --loss loss --optimizer "$optimizer(lr=0.1)" --clip-norm 1 -o t.pb
	has err 'warning: the loss does not depend on these variables, which stay unchanged: unused'
	status 0 "$DFG" check t.pb
	nodes t.pb >names
	for name in train train/lr train/step grad/logits/dense/w train/logits/dense/w/update; do
		has names "$name"
	done
done
has nodes.pbtxt _dfg_gradient_of
has nodes.pbtxt _dfg_loss
has nodes.pbtxt _dfg_slot
status 65 "$DFG" grad m.pb --loss rows --optimizer 'sgd()' -o no.pb
has err 'expected a scalar'
status 65 "$DFG" grad m.pb --loss loss --optimizer 'sdg()' -o no.pb
has err "'sgd'"
status 65 "$DFG" grad t.pb --loss loss --optimizer 'sgd()' -o no.pb
has err "node 'train' already exists"
[ ! -e no.pb ]

# opt keeps what it is asked for, by name.
status 0 "$DFG" opt t.pb --fetch loss -o o.pb
grep -q '^prune: removed' err
nodes o.pb >names
has names loss
has names logits/dense/w/assign
never grep -q '^train' names
status 0 "$DFG" check o.pb
status 2 "$DFG" opt t.pb --passes prine --fetch loss -o no.pb
has err "did you mean 'prune'?"

# Updates that are one op each: the same bits as the steps that the optimizer spells out, by opt and by run.
cat >d.dfg <<'P'
input x: f64[batch, 4]
param w: f64[4, 3] = 0.5
output loss = mean(square(x @ w - 1))
P
status 0 "$DFG" build d.dfg -D training=true -o d.pb
five() { # GRAPH SAVED OPTIONS
	g=$1
	saved=$2
	shift 2
	status 0 "$DFG" run "$g" --feed "$x" --target train --fetch loss --repeat 5 --save "$saved" "$@"
}
compare() { # GRAPH UPDATES OPTIMIZER
	status 0 "$DFG" grad "$1" --loss loss --optimizer "$3" -o t.pb
	status 0 "$DFG" opt t.pb --target train --fetch loss -o o.pb
	has err "fuse: fused $2 update"
	status 0 "$DFG" opt t.pb --passes fuse --target train --fetch loss -o f.pb
	has err "fuse: fused $2 update"
	status 0 "$DFG" check f.pb
	five t.pb plain.npz --no-opt "${labels[@]}"
	for graph in t.pb o.pb f.pb; do
		five "$graph" fused.npz "${labels[@]}"
		cmp plain.npz fused.npz || { echo "$3: $graph ends elsewhere"; exit 1; }
	done
	status 1 cmp plain.npz "$4" # something was trained
	cp plain.npz before.npz
}
: >before.npz
# Each optimizer of the library: its text there, the rule of fuse and the row of the op (kernels/apply.def) agree.
optimizers=$("$DFG" show std:train | sed -n 's/^layer \([a-z0-9]*\)(.*/\1/p')
has <(echo "$optimizers") adamw
for optimizer in $optimizers; do
	x='x=normal:f32[6,4]:seed=1'
	labels=(--feed 'labels=i32[6]:0,1,2,0,1,2')
	fused=1
	case $optimizer in adarevision | ftrl | nadam) fused=0 ;; esac # they have no pattern: tests/cli/tables.sh
	compare m.pb $((2 * fused)) "$optimizer(lr=0.01)" before.npz
	x='x=normal:f64[6,4]:seed=1'
	labels=()
	compare d.pb $fused "$optimizer(lr=0.01)" before.npz
done
compare d.pb 1 'rmsprop(lr = 0.01, rho = 0.3, momentum = 0.5, decay = 0.1)' before.npz
compare d.pb 1 'adam(lr = 0.01, beta1 = 0.8, beta2 = 0.99, decay = 0.1)' before.npz
compare d.pb 1 'adamax(lr = 0.01, beta1 = 0.8, beta2 = 0.5, epsilon = 0.25, decay = 0.1)' before.npz
compare d.pb 1 'adamw(lr = 0.01, beta1 = 0.8, beta2 = 0.99, decay = 0.1)' before.npz
# A slot that is NaN stays NaN, fused or not.
printf 'input x: f32[3]\nparam w: f32[3] = 1\noutput loss = sum(w * x)\n' >nan.dfg
"$DFG" grad nan.dfg --loss loss --optimizer adamax -o n.pb
for opt in --no-opt ''; do
	"$DFG" run n.pb --feed x=f32[3]:nan,1,-2 --target train --fetch loss --save first.npz $opt >out
	"$DFG" run n.pb --load first.npz --feed x=f32[3]:1,3,-1 --target train --fetch loss --save "n$opt.npz" $opt >out
	"$DFG" show "n$opt.npz" --node train/w/most >most
	has most 'nan 3 1.998' # the larger of 0.999 most and |g|
done
cmp n.npz n--no-opt.npz

# A moment that is asked for stays what it was.
status 0 "$DFG" opt t.pb --passes fuse --target train --fetch train/w/AddV2_1 -o f.pb
has err "fuse: fused 0 updates"

# Labels that depend on what is differentiated by: d2/dt2 of softplus(t) - t * t at 0.
printf 'input t: f64[]\nl = softmax_cross_entropy([[t, 0]], [[t, 1 - t]])\noutput h = grad(grad(l, t), t)\n' >labels.dfg
[ "$("$DFG" run labels.dfg --feed t=0)" = 'h: f64[] -1.75' ]

# Finding 2: a segment with NaN has NaN as its largest element, which none of its elements equals.
printf 'input x: f64[4]\noutput d = grad(SegmentMax(x, [0, 0, 1, 1]), x)\n' >segment.dfg
[ "$("$DFG" run segment.dfg --feed x=f64[4]:nan,1,2,2 | tail -1)" = '0 0 0.5 0.5' ]
