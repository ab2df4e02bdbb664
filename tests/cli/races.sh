# 47. dfg check warns of two accesses to one variable that one run can execute in either order.
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
graph() { # NODES on stdin, of a ref variable w and a resource v
	const one 1
	node p Placeholder '' 'attr { key: "dtype" value { type: DT_BOOL } } attr { key: "shape" value { shape {} } }'
	node w VariableV2 '' "$f32 $scalar"
	node v VarHandleOp '' "$f32 $scalar attr { key: \"shared_name\" value { s: \"step\" } }"
	cat
}
quiet() {
	graph >quiet.pbtxt
	status 0 "$DFG" check --strict quiet.pbtxt
	[ ! -s err ] || { cat err; exit 1; }
}
races() { # WORDS...
	graph >races.pbtxt
	status 0 "$DFG" check races.pbtxt
	for words; do has err "$words"; done
	[ "$(grep -c "warning: node" err)" = 1 ] || { cat err; exit 1; }
	status 65 "$DFG" check --strict races.pbtxt
	has err "variable"
}

# Two writes under one NoOp; with an edge between them; each of a run of its own.
{ node a Assign 'w one' "$T"; node b AssignAdd 'w one' "$T"; node all NoOp '^a ^b'; } |
	races "node 'a' (Assign)" "node 'b' (AssignAdd)" "variable 'w'" "'^a'"
{ node a Assign 'w one' "$T"; node b AssignAdd 'w one ^a' "$T"; node all NoOp '^a ^b'; } | quiet
{ node a Assign 'w one' "$T"; node b AssignAdd 'w one' "$T"; } | quiet
# A read and a write, of a resource too, and of one name by two handles; a ref that an op hands on.
{ node r Identity w "$T"; node a Assign 'w one' "$T"; node all NoOp '^a ^r'; } | races "'r' (Identity) reads variable 'w'" "'a' (Assign) writes it"
{ node r ReadVariableOp v "$f32"; node a AssignVariableOp 'v one' "$f32"; node all NoOp '^a ^r'; } | races "variable 'step'"
{
	node other VarHandleOp '' "$f32 $scalar attr { key: \"shared_name\" value { s: \"step\" } }"
	node r ReadVariableOp other "$f32"
	node a AssignVariableOp 'v one' "$f32"
	node all NoOp '^a ^r'
} | races "variable 'step'"
{ node a Assign 'w one' "$T"; node r Identity a "$T"; node b AssignAdd 'a one ^r' "$T"; node all NoOp '^b'; } | quiet
{ node r Identity w "$T"; node s Identity w "$T"; node all NoOp '^r ^s'; } | quiet
# A long way from the one to the other is a path.
{ node r Identity w "$T"; node x Neg r "$T"; node y Neg x "$T"; node a Assign 'w y' "$T"; node all NoOp '^r ^a'; } | quiet
# Declared outputs are fetched together.
{ node r Identity w "$T attr { key: \"_dfg_output\" value { i: 0 } }"; node a Assign 'w one' "$T attr { key: \"_dfg_output\" value { i: 1 } }"; } |
	races "variable 'w'"
# The two sides of one conditional; one side of it, and always.
sides() {
	node s Switch 'one p' "$T"
	node yes Identity s:1 "$T"
	node no Identity s "$T"
	node a Assign 'w yes' "$T"
}
{ sides; node b Assign 'w no' "$T"; node m Merge 'a b' "$T attr { key: \"N\" value { i: 2 } }"; } | quiet
{ sides; node b Assign 'w one' "$T"; node all NoOp '^a ^b'; } | races "variable 'w'"

# Programs of the language order what they do, and so do derivatives and steps of training.
"$DFG" build "$ROOT/examples/lenet.dfg" -o lenet.pb
for program in "$ROOT"/examples/*.dfg; do
	"$DFG" build "$program" -I . -o program.pb 2>/dev/null
	status 0 "$DFG" check program.pb
	never grep -q 'no path orders' err
done
for program in mlp lstm lenet; do
	"$DFG" build "$ROOT/examples/$program.dfg" -o program.pb
	"$DFG" grad program.pb --loss loss --optimizer 'adam(lr=0.1)' -o train.pb
	status 0 "$DFG" check train.pb
	never grep -q 'no path orders' err
done
