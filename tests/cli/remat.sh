# The gradients of recorded cases do not depend on the values that are kept of a loop, with or without overlapping iterations.
"$DFG" test -q --remat carried "$ROOT/tests/cases/flow"
"$DFG" test -q --remat sqrt --threads 1 "$ROOT/tests/cases/flow"
"$DFG" test -q --remat every=1 --threads 2 --schedule random:1 "$ROOT/tests/cases/flow"
"$DFG" test -q --remat every=2 --threads 2 --schedule random:2 "$ROOT/tests/cases/flow"

# A variable is read in each iteration, and changes when all of them have read it.
cat >reads.pbtxt <<'P'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_DOUBLE } } attr { key: "shape" value { shape { } } } }
node { name: "w" op: "VarHandleOp" attr { key: "dtype" value { type: DT_DOUBLE } } attr { key: "shape" value { shape { } } } attr { key: "shared_name" value { s: "w" } } }
node { name: "half" op: "Const" attr { key: "dtype" value { type: DT_DOUBLE } } attr { key: "value" value { tensor { dtype: DT_DOUBLE tensor_shape { } double_val: 0.5 } } } }
node { name: "w/assign" op: "AssignVariableOp" input: "w" input: "half" attr { key: "dtype" value { type: DT_DOUBLE } } }
node { name: "init" op: "NoOp" input: "^w/assign" }
node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: "seven" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 7 } } } }
node { name: "i/in" op: "Enter" input: "zero" attr { key: "T" value { type: DT_INT32 } } attr { key: "frame_name" value { s: "trips" } } }
node { name: "v/in" op: "Enter" input: "x" attr { key: "T" value { type: DT_DOUBLE } } attr { key: "frame_name" value { s: "trips" } } }
node { name: "n" op: "Enter" input: "seven" attr { key: "T" value { type: DT_INT32 } } attr { key: "frame_name" value { s: "trips" } } attr { key: "is_constant" value { b: true } } }
node { name: "handle" op: "Enter" input: "w" attr { key: "T" value { type: DT_RESOURCE } } attr { key: "frame_name" value { s: "trips" } } attr { key: "is_constant" value { b: true } } }
node { name: "i" op: "Merge" input: "i/in" input: "i/next" attr { key: "T" value { type: DT_INT32 } } attr { key: "N" value { i: 2 } } }
node { name: "v" op: "Merge" input: "v/in" input: "v/next" attr { key: "T" value { type: DT_DOUBLE } } attr { key: "N" value { i: 2 } } }
node { name: "less" op: "Less" input: "i" input: "n" attr { key: "T" value { type: DT_INT32 } } }
node { name: "go" op: "LoopCond" input: "less" }
node { name: "i/turn" op: "Switch" input: "i" input: "go" attr { key: "T" value { type: DT_INT32 } } }
node { name: "v/turn" op: "Switch" input: "v" input: "go" attr { key: "T" value { type: DT_DOUBLE } } }
node { name: "pivot" op: "Identity" input: "i/turn:1" attr { key: "T" value { type: DT_INT32 } } }
node { name: "one" op: "Const" input: "^pivot" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
node { name: "more" op: "AddV2" input: "pivot" input: "one" attr { key: "T" value { type: DT_INT32 } } }
node { name: "read" op: "ReadVariableOp" input: "handle" input: "^pivot" attr { key: "dtype" value { type: DT_DOUBLE } } }
node { name: "sine" op: "Sin" input: "v/turn:1" attr { key: "T" value { type: DT_DOUBLE } } }
node { name: "product" op: "Mul" input: "sine" input: "read" attr { key: "T" value { type: DT_DOUBLE } } }
node { name: "sum" op: "AddV2" input: "product" input: "v/turn:1" attr { key: "T" value { type: DT_DOUBLE } } }
node { name: "i/next" op: "NextIteration" input: "more" attr { key: "T" value { type: DT_INT32 } } }
node { name: "v/next" op: "NextIteration" input: "sum" attr { key: "T" value { type: DT_DOUBLE } } }
node { name: "loss" op: "Exit" input: "v/turn" attr { key: "T" value { type: DT_DOUBLE } } }
P
"$DFG" grad -q reads.pbtxt --loss loss --optimizer 'sgd(lr=0.1)' -o kept.pb
"$DFG" run kept.pb --init init --feed x=0.3 --target train --fetch loss,grad/w --repeat 3 2>/dev/null >kept
for policy in carried sqrt every=3; do
	"$DFG" grad -q reads.pbtxt --loss loss --optimizer 'sgd(lr=0.1)' --remat $policy -o again.pb
	"$DFG" check -q again.pb
	"$DFG" run again.pb --init init --feed x=0.3 --target train --fetch loss,grad/w --repeat 3 2>/dev/null >again
	cmp kept again
done
grep -q '^loss: f64\[\] ' kept
