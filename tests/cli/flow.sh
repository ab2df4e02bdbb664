# y is x^n by a loop in one branch and n*x by one in the other: derivatives of any order, as files that are differentiated
# again. The graph that comes out passes check.
derive() { # IN OF PREFIX OUT
	"$DFG" grad "$1" --of "$2" --wrt x --prefix "$3" -o "$4"
	"$DFG" check "$4" >out 2>&1
	[ ! -s out ] || { cat out; exit 1; }
}
expect() { # GRAPH TENSOR PRODUCT N VALUE
	"$DFG" run "$1" --feed p="$3" --feed n="$4" --feed x=2 --fetch "$2" >out
	grep -qxF "$2: f32[] $5" out || { echo "$2 of n=$4: not $5"; cat out; exit 1; }
}
derive "$ROOT/tests/graphs/while-in-cond.pb" y first first.pb
derive first.pb first/x second second.pb
derive second.pb second/x third third.pb
expect third.pb first/x true 5 80
expect third.pb second/x true 5 160
expect third.pb third/x true 5 240
expect third.pb third/x true 2 0
expect third.pb first/x true 0 0
expect third.pb first/x false 5 5
expect third.pb second/x false 5 0

# An update may wait for a node in a loop.
cat >train.dfg <<'P'
input x: f32[3, 2]
param w: f32[2, 2] = ones
h = loop (h = x) for i in 0..3 {
    assert i < 10, "few"
    next if i > 0 { h @ w } else { h }
}
output loss = mean(h)
P
"$DFG" build train.dfg -o train.pb
"$DFG" grad train.pb --loss loss --optimizer 'sgd(lr=0.5)' -o step.pb
"$DFG" check step.pb >out 2>&1
[ ! -s out ] || { cat out; exit 1; }
"$DFG" convert step.pb -o step.pbtxt
[ "$(grep -c '"^h/Assert/done_[0-9]*"' step.pbtxt)" = 2 ]
"$DFG" run step.pb --feed x=f32[3,2]:1,0,1,0,1,0 --target train --save after.npz --fetch loss >out
grep -qxF 'loss: f32[] 2' out
"$DFG" show after.npz >out

# The error for a graph that cannot be differentiated gives the reason.
refuse() { # WORDS COMMAND...
	words=$1
	shift
	status=0
	"$@" >out 2>err || status=$?
	[ "$status" = 65 ] && grep -qF -- "$words" err || { echo "status $status: $*"; cat err; exit 1; }
}
refuse 'must be of the same iteration' "$DFG" grad first.pb --of cond/while/mul --wrt x
cat >stack.pbtxt <<'P'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
node { name: "size" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
	attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 9 } } } }
node { name: "s" op: "StackV2" input: "size" attr { key: "elem_type" value { type: DT_FLOAT } } }
node { name: "push" op: "StackPushV2" input: "s" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "pop" op: "StackPopV2" input: "s" input: "^push" attr { key: "elem_type" value { type: DT_FLOAT } } }
node { name: "way" op: "Switch" input: "pop" input: "p" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "y" op: "Merge" input: "way" input: "way:1" attr { key: "N" value { i: 2 } } attr { key: "T" value { type: DT_FLOAT } } }
P
refuse 'differentiate the original graph' "$DFG" grad stack.pbtxt --of y --wrt x
cat >condition.pbtxt <<'P'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } } }
node { name: "e" op: "Enter" input: "x" attr { key: "T" value { type: DT_FLOAT } } attr { key: "frame_name" value { s: "l" } } }
node { name: "m" op: "Merge" input: "e" input: "n" attr { key: "N" value { i: 2 } } attr { key: "T" value { type: DT_FLOAT } } }
node { name: "twice" op: "AddV2" input: "m" input: "m" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "less" op: "Less" input: "m" input: "twice" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "c" op: "LoopCond" input: "less" }
node { name: "s" op: "Switch" input: "m" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "t" op: "Switch" input: "twice" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "neg" op: "Neg" input: "s:1" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "n" op: "NextIteration" input: "neg" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "out" op: "Exit" input: "t" attr { key: "T" value { type: DT_FLOAT } } }
P

# A value of the condition that is used after the loop is recomputed there: -2 x after one iteration, 2 x after none.
sed 's/^\(node { name: "[a-z_]*" op: "Exit" input: "\)t"/node { name: "gate" op: "Identity" input: "t" attr { key: "T" value { type: DT_FLOAT } } }\
\1gate"/' condition.pbtxt >gated.pbtxt
grep -q gate gated.pbtxt
for graph in condition gated; do
	"$DFG" grad $graph.pbtxt --of out --wrt x -o $graph.pb
	"$DFG" check $graph.pb
	"$DFG" grad $graph.pb --of grad/x --wrt x --prefix second -o second.pb
	for at in '3 -6 -2' '-1 -2 2'; do
		set -- $at
		"$DFG" run second.pb --feed x="$1" --fetch out,grad/x,second/x >out
		printf 'out: f32[] %s\ngrad/x: f32[] %s\nsecond/x: f32[] 0\n' "$2" "$3" | cmp - out
	done
done
sed 's/^node { name: "less".*/&\
node { name: "shape" op: "Const" input: "^m" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { } } } } } }\
node { name: "dice" op: "RandomUniform" input: "shape" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "T" value { type: DT_INT32 } } }\
node { name: "lucky" op: "Mul" input: "twice" input: "dice" attr { key: "T" value { type: DT_FLOAT } } }/
	s/"t" op: "Switch" input: "twice"/"t" op: "Switch" input: "lucky"/' condition.pbtxt >dice.pbtxt
"$DFG" check dice.pbtxt
refuse 'which the condition of a loop computes' "$DFG" grad dice.pbtxt --of out --wrt x

# An Identity between an Exit and its Switch, as TensorFlow gates them, does not prevent the gradient: x^4.
echo 'input x: f32[]
output y = loop (v = x) for i in 0..3 { next v * x }' >power.dfg
"$DFG" build power.dfg --to pbtxt | sed '/op: "Exit"/{n;s/input: ".*"/input: "gate"/}' >power.pbtxt
echo 'node { name: "gate" op: "Identity" input: "y/v/Switch" attr { key: "T" value { type: DT_FLOAT } } }' >>power.pbtxt
"$DFG" grad power.pbtxt --of y --wrt x -o power.pb
"$DFG" grad power.pb --of grad/x --wrt x --prefix second -o second.pb
"$DFG" run second.pb --feed x=2 --fetch y,grad/x,second/x | cmp - <(printf 'y: f32[] 16\ngrad/x: f32[] 32\nsecond/x: f32[] 48\n')

# Less is kept where the rest is computed again, and the slope is the same.
cat >wide.dfg <<'P'
input x: f32[64]
input n: i32[]
output y = sum(loop (v = x) for i in 0..n { next tanh(v) * exp(-v) + sigmoid(v * v) })
P
"$DFG" build wide.dfg -o wide.pb
saves() { "$DFG" convert "$1" -o "$1.pbtxt" && grep -c 'op: "Dfg>Save"' "$1.pbtxt"; }
"$DFG" grad wide.pb --of y --wrt x -o kept.pb
for policy in carried sqrt every=1 every=3; do
	"$DFG" grad wide.pb --of y --wrt x --remat $policy -o $policy.pb
	"$DFG" check $policy.pb
done
[ "$(saves kept.pb)" -gt 3 ]
[ "$(saves carried.pb)" = 1 ]
for n in 0 1 6 7; do
	"$DFG" run kept.pb --feed x=f32[64]:"$(seq -s, 64)" --feed n=$n --fetch y,grad/x >kept
	for policy in carried sqrt every=1 every=3; do
		"$DFG" run $policy.pb --feed x=f32[64]:"$(seq -s, 64)" --feed n=$n --fetch y,grad/x >again
		cmp kept again
	done
done
for policy in all every every= every=0 every=-1 every=2x; do
	status=0
	"$DFG" grad wide.pb --of y --wrt x --remat $policy -o again.pb 2>error || status=$?
	[ $status = 2 ]
	grep -qe "--remat must be carried, sqrt or every=K with K at least 1, not '$policy'" error
done
