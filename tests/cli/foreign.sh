# Graphs as TensorFlow's users have them: reference variables, sessions' devices, their own initialisers, strange ops.
. "$ROOT/tests/cli/kit"
node() { # NAME OP INPUTS [ATTRIBUTES]
	echo "node { name: \"$1\" op: \"$2\""
	for input in $3; do echo "input: \"$input\""; done
	echo "${4:-} }"
}
T='attr { key: "T" value { type: DT_FLOAT } }'
f32='attr { key: "dtype" value { type: DT_FLOAT } }'
scalar='attr { key: "shape" value { shape {} } }'
const() { # NAME VALUE
	node "$1" Const '' "$f32 attr { key: \"value\" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: $2 } } }"
}
input_of() { # GRAPH.pbtxt NODE: its op and inputs, one a line
	awk -v want="  name: \"$2\"" '$0 == "node {" {text = ""} {text = text $0 "\n"} $0 == want {found = 1} $0 == "}" && found {print text; exit}' "$1" |
		sed -n 's/^  op: "\(.*\)"/\1/p; s/^  input: "\(.*\)"/\1/p'
}

# 3. TensorFlow updates a reference variable in place, under those who still read it: each read that an update waits for
# is a copy there, also where the reader is not an Identity. A variable that no step updates is read as it is.
{
	const three 3
	const one 1
	node x Placeholder '' "$f32 $scalar"
	node w VariableV2 '' "$f32 $scalar"
	node w/Assign Assign 'w three' "$T"
	node w/read Identity w "$T"
	node v VariableV2 '' "$f32 $scalar"
	node v/Assign Assign 'v one' "$T"
	node v/read Identity v "$T"
	node wx Mul 'w/read x' "$T"
	node direct Mul 'w wx ^one' "$T"
	node loss Mul 'direct v/read' "$T"
} >reference.pbtxt
status 0 "$DFG" grad reference.pbtxt --loss loss --optimizer 'sgd(lr=0.5)' --wrt w -o step.pb
status 0 "$DFG" opt --passes tensorflow step.pb -o step.pbtxt
input_of step.pbtxt w/read >node
echo DeepCopy w | tr ' ' '\n' | cmp - node
input_of step.pbtxt v/read >node
echo Identity v | tr ' ' '\n' | cmp - node
input_of step.pbtxt direct >node
echo Mul direct/copy wx ^one | tr ' ' '\n' | cmp - node
input_of step.pbtxt direct/copy >node
echo DeepCopy w ^wx ^one | tr ' ' '\n' | cmp - node
input_of step.pbtxt train/w/update >node
has node ^w/read
has node ^direct
status 0 "$DFG" check step.pbtxt

# 3. No derivative asks for the gradient array of a gradient array, which TensorFlow has not; a file that does is refused.
cat >yields.dfg <<'P'
input x: f32[3]
cubes = loop for v in x { yield v * v * v }
output y = sum(cubes * cubes)
output second = grad(sum(grad(y, x)), x)
P
status 0 "$DFG" build yields.dfg -o yields.pb
status 0 "$DFG" opt --passes tensorflow yields.pb -o no.pb
i32='attr { key: "dtype" value { type: DT_INT32 } }'
array_gradient() { # NAME ARRAY SOURCE
	node "$1" TensorArrayGradV3 "$2 $2:1" "attr { key: \"source\" value { s: \"$3\" } }"
}
{
	node size Const '' "$i32 attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 2 } } }"
	node array TensorArrayV3 size "$f32"
	array_gradient first array a
	array_gradient second first b
} >chain.pbtxt
status 65 "$DFG" opt --passes tensorflow chain.pbtxt -o no.pb
has err "node 'second' (TensorArrayGradV3): TensorFlow cannot make a gradient array of the gradient array 'first'"

# 51. The device of the session that wrote a graph is not a device of the hosts: it is ignored, with one note. Another job's is an error.
sed 's|op: "Mul"|& device: "/job:localhost/replica:0/task:0/device:CPU:0"|' reference.pbtxt >session.pbtxt
status 0 "$DFG" partition session.pbtxt --hosts local:2 --fetch loss -o session.plan
has err "session.pbtxt: note: node 'wx' and 2 more nodes ask for '/job:localhost/replica:0/task:0/device:CPU:0'"
[ "$(grep -c note: err)" = 1 ]
status 0 "$DFG" partition session.pbtxt --hosts local:2 --fetch loss --place 'wx=w1' --explain
has out "wx  w1"
for device in /job:localhost/replica:0/task:0/device:GPU:0 /device:GPU:0 /gpu:1; do
	sed "s|/job:localhost/replica:0/task:0/device:CPU:0|$device|" session.pbtxt >gpu.pbtxt
	status 0 "$DFG" partition gpu.pbtxt --hosts local:2 --fetch loss -o gpu.plan
	has err "more nodes ask for '$device'"
	rm -r gpu.plan
done
printf '%s\n' 'local:1 job=worker' 'local:1 job=localhost' >hosts
status 0 "$DFG" partition session.pbtxt --hosts ./hosts --fetch loss --explain
never grep note: err
has out "wx  w1"
sed 's|job:localhost|job:ps|' session.pbtxt >ps.pbtxt
status 65 "$DFG" partition ps.pbtxt --hosts local:2 --fetch loss -o no.plan
has err "no device '/job:ps/replica:0/task:0/device:CPU:0'"

# 52. TensorFlow marks no initialisers: of a variable it is the Assign whose value depends on no variable, feed or
# checkpoint, of several the one of its name. One line says so. loss = v w^2 x is 3, then w = 3 - 0.5 * 2 * 3 * 0.25 = 2.25.
status 0 "$DFG" run step.pb --feed x=0.25 --target train --fetch loss
echo 'loss: f32[] 2.25' | cmp - out
has err "step.pb: note: the graph does not declare its initialisers; these assignments are used: 'w/Assign' and 1 more"
[ "$(grep -c note: err)" = 1 ]
status 0 "$DFG" run step.pbtxt --feed x=0.25 --target train --fetch loss --repeat 2
echo 'loss: f32[] 1.265625' | cmp - out # 2.25^2 / 4
status 0 "$DFG" run step.pb --target w/Assign
never grep note: err
status 0 "$DFG" opt reference.pbtxt --fetch loss -o pruned.pb # which needs them still
status 0 "$DFG" run pruned.pb --feed x=0.25 --fetch loss
echo 'loss: f32[] 2.25' | cmp - out
initial() { # NODES...: of a variable w, in addition to them
	{
		const three 3
		node w VariableV2 '' "$f32 $scalar"
		node y Identity w "$T"
		node fed Placeholder '' "$f32 $scalar"
		cat
	} >initial.pbtxt
}
{ node w/Assign Assign 'w three' "$T"; node zero Sub 'three three' "$T"; node reset Assign 'w zero' "$T"; } | initial
status 0 "$DFG" run initial.pbtxt --fetch y
echo 'y: f32[] 3' | cmp - out
{ node first Assign 'w three' "$T"; node more Add 'y three' "$T"; node w/Assign Assign 'w more' "$T"; } | initial
status 0 "$DFG" run initial.pbtxt --fetch y
echo 'y: f32[] 3' | cmp - out
for value in fed more; do
	{ node more Add 'y three' "$T"; node w/Assign Assign "w $value" "$T"; node init NoOp ^w/Assign; } | initial
	status 65 "$DFG" run initial.pbtxt --fetch y
	has err "variable 'w' is not initialised"
	has err "no initialiser for 'w' found; try --init init"
done
{ node first Assign 'w three' "$T"; node second Assign 'w three' "$T"; } | initial
status 65 "$DFG" run initial.pbtxt --fetch y
never grep perhaps err
# A variable that starts as another, which is set before it.
{ node v VariableV2 '' "$f32 $scalar"; node v/Assign Assign 'v y' "$T"; node w/Assign Assign 'w three' "$T"; node z Identity v "$T"; } | initial
status 0 "$DFG" run initial.pbtxt --fetch z
echo 'z: f32[] 3' | cmp - out

# 53. Unknown ops that only a Saver or summaries need are a warning; the rest of the graph is run, derived and cut.
strings='attr { key: "dtype" value { type: DT_STRING } } attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "a" } } }'
{
	cat reference.pbtxt
	node save/name Const '' "$strings"
	node save/SaveNovel SaveNovel 'save/name w'
	node save/control Identity 'save/name ^save/SaveNovel' 'attr { key: "T" value { type: DT_STRING } }'
	node save/RestoreNovel RestoreNovel save/name
	node save/Assign Assign 'w save/RestoreNovel' "$T"
	node save/all NoOp ^save/Assign
	node sharp NovelSharpen save/name
	node merged NovelSummary sharp
} >saver.pbtxt
status 0 "$DFG" check saver.pbtxt
has err "saver.pbtxt: warning: node 'save/SaveNovel': no op 'SaveNovel', but no output needs this node or the other 3 with unknown ops"
status 0 "$DFG" run saver.pbtxt --feed x=0.25 --fetch loss
status 0 "$DFG" grad saver.pbtxt --loss loss --optimizer 'sgd(lr=0.5)' --wrt w -o saver.pb
status 0 "$DFG" run saver.pb --feed x=0.25 --target train --fetch loss --repeat 2
echo 'loss: f32[] 1.265625' | cmp - out
status 0 "$DFG" partition saver.pb --hosts local:2 --place 'wx=w1' -o saver.plan
status 0 "$DFG" run saver.plan --hosts local:2 --feed x=0.25 --target train --fetch loss --repeat 2
echo 'loss: f32[] 1.265625' | cmp - out
for seed in 1 2 3 4 5 6; do # wherever the Saver's nodes are
	status 0 "$DFG" run saver.pb --hosts local:2 --place "random:$seed" --feed x=0.25 --target train --fetch loss --repeat 2
	echo 'loss: f32[] 1.265625' | cmp - out
done
status 0 "$DFG" partition saver.pb --hosts local:2 --place 'save/RestoreNovel=w0' --place 'w=w1' --place merged=w1 -o apart.plan
status 0 "$DFG" check apart.plan
has err "warning: node 'save/RestoreNovel': no op 'RestoreNovel'"
status 65 "$DFG" partition saver.pb --hosts local:2 --place sharp=w0 --place merged=w1 -o no.plan
has err "'merged' reads 'sharp', and both ops are unknown"
status 65 "$DFG" run saver.pb --target save/all
has err "node 'save/RestoreNovel': no op 'RestoreNovel'"
status 65 "$DFG" run saver.pb --fetch merged
has err "node 'merged': no op 'NovelSummary'"
{ cat reference.pbtxt; node sharp NovelSharpen loss; } >sharp.pbtxt
status 65 "$DFG" check sharp.pbtxt
has err "sharp.pbtxt: node 'sharp': no op 'NovelSharpen'"
# Where outputs are declared, they alone say what is needed.
sed 's|name: "loss" op: "Mul"|& attr { key: "_dfg_output" value { b: true } }|' sharp.pbtxt >declared.pbtxt
status 0 "$DFG" check declared.pbtxt
has err "warning: node 'sharp'"
sed 's|name: "wx" op: "Mul"|name: "wx" op: "Muln"|' declared.pbtxt >needed.pbtxt
status 65 "$DFG" check needed.pbtxt
has err "node 'wx': no op 'Muln'"

# An element that is read twice has two terms in the gradient array, and the next derivative reads its gradient twice. A
# gradient array of TensorFlow's gives each element once.
cat >often.dfg <<'P'
input x: f32[2]
array, flow = TensorArrayV3(2, dtype = f32, clear_after_read = false)
flow = TensorArrayScatterV3(array, [0, 1], x, flow)
first = TensorArrayReadV3(array, 0, flow, dtype = f32)
again = TensorArrayReadV3(array, 0, flow, dtype = f32)
output slope = grad(first * again * again, x)
output second = grad(sum(slope), x)
P
status 0 "$DFG" build often.dfg -o often.pb
status 0 "$DFG" run often.pb --feed x=f32[2]:2,1
printf 'slope: f32[2]\n12 0\nsecond: f32[2]\n12 0\n' | cmp - out
status 65 "$DFG" opt --passes tensorflow often.pb -o no.pb
has err "TensorFlow cannot make a gradient array"

# 50. A reference variable where a value is meant: as a predicate, as the condition of a loop, as the key of a saved value.
B='attr { key: "T" value { type: DT_BOOL } }'
I='attr { key: "T" value { type: DT_INT32 } }'
two='attr { key: "N" value { i: 2 } }'
bool() { # NAME VALUE
	node "$1" Const '' "$bool attr { key: \"value\" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: $2 } } }"
}
int() { # NAME VALUE
	node "$1" Const '' "$i32 attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: $2 } } }"
}
bool='attr { key: "dtype" value { type: DT_BOOL } }'
enter='attr { key: "frame_name" value { s: "loop" } }'
constant="$enter attr { key: \"is_constant\" value { b: true } }"
keys='attr { key: "N" value { i: 1 } } attr { key: "K" value { type: DT_INT32 } }'
{
	bool yes true
	bool no false
	int zero 0
	int one 1
	int seven 7
	node x Placeholder '' "$f32 $scalar"
	node w VariableV2 '' "$bool $scalar"
	node w/Assign Assign 'w yes' "$B"
	node k VariableV2 '' "$i32 $scalar"
	node k/Assign Assign 'k seven' "$I"
	node init NoOp '^w/Assign ^k/Assign'
	node same Identity w "$B"
	for predicate in w same; do
		node $predicate/side Switch "x $predicate" "$T"
		node $predicate/negative Neg $predicate/side "$T"
		node $predicate/square Square $predicate/side:1 "$T"
		node $predicate/either Merge "$predicate/negative $predicate/square" "$T $two"
	done
	node chosen RefSwitch 'w w' "$B"
	node not LogicalNot chosen:1
	node begin Enter zero "$I $enter"
	node begin/one Enter one "$I $constant"
	node begin/no Enter no "$B $constant"
	node begin/w RefEnter w "$B $constant"
	node begin/k RefEnter k "$I $constant"
	node begin/x Enter x "$T $constant"
	node i Merge 'begin next' "$I $two"
	node w/now Identity 'begin/w ^i' "$B"
	node continue LoopCond w/now
	node side Switch 'i continue' "$I"
	node body Identity side:1 "$I"
	node save 'Dfg>Save' 'begin/x begin/k ^body' "$T $keys"
	node stop Assign 'begin/w begin/no ^body' "$B"
	node more Add 'body begin/one ^stop' "$I"
	node next NextIteration more "$I"
	node end Exit side "$I"
	node load 'Dfg>Load' 'save seven ^end' "$T $keys"
	node load/again 'Dfg>Load' 'save k ^end' "$T $keys"
} >values.pbtxt
status 0 "$DFG" check values.pbtxt
for way in --threads=1 --no-opt --schedule=random:1; do
	status 0 "$DFG" run values.pbtxt --init init --feed x=3 $way -f w/either,same/either,not
	printf '%s\n' 'w/either: f32[] 9' 'same/either: f32[] 9' 'not: bool[] false' | cmp - out
	status 0 "$DFG" run values.pbtxt --init init --feed x=3 $way -f end,load,load/again
	printf '%s\n' 'end: i32[] 1' 'load: f32[] 3' 'load/again: f32[] 3' | cmp - out
done
