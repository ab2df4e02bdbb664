# Graphs of loops and branches that dfg check refuses, or warns of: the node at fault is named, however large the graph.
. "$ROOT/tests/cli/kit"
says() { # STATUS FILE WORDS...
	wanted=$1 graph=$2 got=0
	shift 2
	timeout 20 "$DFG" check "$graph" >out 2>err || got=$?
	[ "$got" = "$wanted" ] || { echo "status $got, not $wanted: $graph"; cat err; exit 1; }
	for words; do
		grep -qF -- "$words" err || { echo "'$words' is not said of $graph:"; cat err; exit 1; }
	done
}
node() { # OP NAME INPUTS... [-- ATTRIBUTE VALUE]...
	printf 'node { op: "%s" name: "%s"' "$1" "$2"
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		printf ' input: "%s"' "$1"
		shift
	done
	while [ $# -gt 2 ]; do
		printf ' attr { key: "%s" value { %s } }' "$2" "$3"
		shift 2
	done
	echo ' }'
}
int='type: DT_INT32'
enter() { node Enter "$1" "$2" -- T "$int" frame_name 's: "w"' is_constant "b: $3"; }
inputs() {
	node Placeholder x -- dtype "$int" shape 'shape { }'
	node Placeholder n -- dtype "$int" shape 'shape { }'
	node Placeholder p -- dtype 'type: DT_BOOL' shape 'shape { }'
}
loop() { # while i < n: NEXT
	inputs
	enter enter x false
	enter limit n true
	node Merge merge enter next -- T "$int" N 'i: 2'
	node Less less merge limit -- T "$int"
	node LoopCond test less
	node Switch turn merge test -- T "$int"
	node Identity body turn:1 -- T "$int"
	node NextIteration next "$1" -- T "$int"
	node Exit exit turn -- T "$int"
}

loop body >good.pbtxt
says 0 good.pbtxt
[ ! -s err ]
loop merge >endless.pbtxt
says 65 endless.pbtxt "node 'next' (NextIteration): its input 'merge' is live where 'test' (LoopCond) is false too"
{ loop body && enter stray body false; } >own.pbtxt
says 65 own.pbtxt "node 'stray' (Enter): enters frame 'w' from frame 'w', but 'enter' enters it from the root"
{ loop body && node Mul twice limit limit -- T "$int"; } >outside.pbtxt
says 0 outside.pbtxt "warning: node 'twice' (Mul): reads only what does not change in frame 'w'"
{ inputs && node Merge both x n -- T "$int" N 'i: 2'; } >both.pbtxt
says 65 both.pbtxt "node 'both' (Merge): inputs 0 'x' and 1 'n' can both be live"
{
	inputs
	node Switch s x p -- T "$int"
	node Neg y s:1 -- T "$int" _dfg_output 'i: 0'
} >output.pbtxt
says 0 output.pbtxt "warning: node 'y' (Neg): is an output, but dead where 'p' is false"

{ # an output that is dead in every case is an error (finding 25)
	inputs
	node Switch s x p -- T "$int"
	node Neg no s -- T "$int"
	node Neg yes s:1 -- T "$int"
	node Add never no yes -- T "$int"
	node Neg after never -- T "$int" _dfg_output 'i: 0'
} >dead.pbtxt
says 65 dead.pbtxt "node 'after' (Neg): is an output, but dead whatever the predicates are" \
	"warning: node 'never' (Add): never runs: its inputs are on opposite sides of a predicate"
sed 's/ attr { key: "_dfg_output" value { i: 0 } }//' dead.pbtxt >unmarked.pbtxt
says 0 unmarked.pbtxt "warning: node 'never' (Add): never runs"

# A variable that is read or changed as another dtype than its handle holds (finding 25): every op on a resource, and the
# Switch whose predicate would be such a value. As TensorFlow, which refuses to import these.
float='type: DT_FLOAT'
variables() { # DTYPE OF V
	inputs
	node VarHandleOp v -- dtype "$1" shape 'shape { dim { size: 2 } }'
	node VarHandleOp m -- dtype "$float" shape 'shape { dim { size: 2 } }'
	node Placeholder f -- dtype "$float" shape 'shape { dim { size: 2 } }'
	node Placeholder r -- dtype "$float" shape 'shape { dim { size: 1 } }'
	node Placeholder lr -- dtype "$float" shape 'shape { }'
	node Placeholder at -- dtype "$int" shape 'shape { dim { size: 1 } }'
	node Placeholder at2 -- dtype "$int" shape 'shape { dim { size: 1 } dim { size: 1 } }'
}
while read -r op type in; do
	case $in in *' at'*) index=Tindices ;; *) index= ;; esac
	# shellcheck disable=SC2086
	{ variables "$float" && node "$op" a $in -- "$type" "$float" ${index:+$index "$int"}; } >right.pbtxt
	says 0 right.pbtxt
	# shellcheck disable=SC2086
	{ variables "$int" && node "$op" a $in -- "$type" "$float" ${index:+$index "$int"}; } >wrong.pbtxt
	says 65 wrong.pbtxt "node 'a' ($op): input $([ "${in#v}" = "$in" ] && echo 1 || echo 0) is a variable of i32, expected one of f32"
done <<'END'
ReadVariableOp dtype v
AssignVariableOp dtype v f
AssignAddVariableOp dtype v f
AssignSubVariableOp dtype v f
ResourceGather dtype v at
ResourceScatterUpdate dtype v at r
ResourceScatterAdd dtype v at r
ResourceScatterMul dtype v at r
ResourceScatterNdUpdate T v at2 r
ResourceScatterNdAdd T v at2 r
ResourceApplyGradientDescent T v lr f
ResourceApplyMomentum T v m lr f lr
ResourceApplyMomentum T m v lr f lr
ResourceSparseApplyMomentum T m v lr r at lr
END
{
	variables "$int"
	node VarHandleOp flag -- dtype "$int" shape 'shape { }'
	node ReadVariableOp late flag -- dtype 'type: DT_BOOL'
	node Switch s x late -- T "$int"
} >late.pbtxt
says 65 late.pbtxt "node 'late' (ReadVariableOp): input 0 is a variable of i32, expected one of bool"

# The condition of a While is tested as TensorFlow tests it: an integer is true unless it is 0 (2 counts down to 0 there
# too). A function that declares a bool and returns an integer is refused.
counts_down() { # DTYPE THAT THE CONDITION DECLARES
	inputs
	node While w x -- T 'list { type: DT_INT32 }' cond 'func { name: "cond" }' body 'func { name: "body" }'
	cat <<END
library {
function { signature { name: "body" input_arg { name: "x" type: DT_INT32 } output_arg { name: "y" type: DT_INT32 } }
	node_def { name: "one" op: "Const" attr { key: "dtype" value { $int } } attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
	node_def { name: "less" op: "Sub" input: "x" input: "one:output:0" attr { key: "T" value { $int } } }
	ret { key: "y" value: "less:z:0" } }
function { signature { name: "cond" input_arg { name: "x" type: DT_INT32 } output_arg { name: "c" type: $1 } }
	node_def { name: "same" op: "Identity" input: "x" attr { key: "T" value { $int } } }
	ret { key: "c" value: "same:output:0" } }
}
END
}
counts_down DT_INT32 >number.pbtxt
says 0 number.pbtxt
status 0 "$DFG" run number.pbtxt --feed x=2 --fetch w
has out 'w: i32[] 0'
counts_down DT_BOOL >lie.pbtxt
says 65 lie.pbtxt 'is i32[...], must be bool'

# A frame_name that is not a string; more faults than are printed.
sed 's/s: "w"/type: DT_INT32/' good.pbtxt >type.pbtxt
says 65 type.pbtxt "attribute 'frame_name' is a type, must be a string"
{
	inputs
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do node Exit "e$i" x -- T "$int"; done
} >many.pbtxt
says 65 many.pbtxt "node 'e20' (Exit): is not in a loop"
never grep -q "'e21'" err

# Ten thousand branches within branches, met by their innermost value; sums of products in the worst order.
awk 'BEGIN {
	head = "node { op: \"Placeholder\" name: \"x\" attr { key: \"dtype\" value { type: DT_INT32 } } attr { key: \"shape\" value { shape { } } } }"
	int_ = " attr { key: \"T\" value { type: DT_INT32 } } }"
	print head; from = "x"
	for (i = 0; i < 10000; i++) {
		print "node { op: \"Placeholder\" name: \"p" i "\" attr { key: \"dtype\" value { type: DT_BOOL } } attr { key: \"shape\" value { shape { } } } }"
		print "node { op: \"Switch\" name: \"s" i "\" input: \"" from "\" input: \"p" i "\"" int_
		from = "s" i ":1"
	}
	for (i = 0; i < 10000; i++)
		print "node { op: \"Add\" name: \"a" i "\" input: \"" from "\" input: \"s" i ":1\"" int_
}' >deep.pbtxt
says 0 deep.pbtxt
awk 'BEGIN {
	bool_ = " attr { key: \"dtype\" value { type: DT_BOOL } } attr { key: \"shape\" value { shape { } } } }"
	int_ = " attr { key: \"T\" value { type: DT_INT32 } }"
	print "node { op: \"Placeholder\" name: \"x\" attr { key: \"dtype\" value { type: DT_INT32 } } attr { key: \"shape\" value { shape { } } } }"
	for (i = 0; i < 40; i++) {
		print "node { op: \"Placeholder\" name: \"a" i "\"" bool_
		print "node { op: \"Placeholder\" name: \"b" i "\"" bool_
	}
	for (i = 0; i < 40; i++) print "node { op: \"Switch\" name: \"u" i "\" input: \"x\" input: \"a" i "\"" int_ " }"
	for (i = 0; i < 40; i++) {
		print "node { op: \"LogicalAnd\" name: \"c" i "\" input: \"a" i "\" input: \"b" i "\" }"
		if (i) print "node { op: \"LogicalOr\" name: \"o" i "\" input: \"" (i > 1 ? "o" (i - 1) : "c0") "\" input: \"c" i "\" }"
	}
	print "node { op: \"Switch\" name: \"s\" input: \"x\" input: \"o39\"" int_ " }"
	print "node { op: \"Merge\" name: \"m\" input: \"s\" input: \"u0:1\"" int_ " attr { key: \"N\" value { i: 2 } } }"
}' >blow.pbtxt
says 0 blow.pbtxt 'too many predicates to check which nodes are live'

# The type of a stack's elements is checked before it runs.
cat >stack.dfg <<'.'
s = StackV2(-1, elem_type = f32)
a = StackPushV2(s, 1.0)
after a { b = StackPopV2(s, elem_type = f32) }
output y = b
.
"$DFG" build stack.dfg --to pbtxt -o stack.pbtxt
status 0 "$DFG" check stack.pbtxt
awk '/op: "StackPopV2"/ { pop = 1 } pop && /DT_FLOAT/ { sub("DT_FLOAT", "DT_INT32"); pop = 0 } { print }' stack.pbtxt >odd.pbtxt
status 65 "$DFG" check odd.pbtxt
has err "(StackPopV2): the stack contains f32, expected i32"

# So are the components of a queue's elements, where the handle says which queue it is, and what is taken has their shapes.
queue() { # STATUS WORDS LINE...: a queue of f32[3] and i32[], and a program of it
	wanted=$1 words=$2
	shift 2
	printf '%s\n' 'input x: f32[3]' 'input m: f32[?,3]' \
		'q = FIFOQueueV2(component_types = [f32, i32], shapes = [[3], []])' "$@" >queue.dfg
	status "$wanted" "$DFG" check queue.dfg
	[ -z "$words" ] || has err "$words"
}
queue 65 'the queue has 2 components, not 1' 'target put {' '  QueueEnqueueV2(q, [x])' '}'
queue 65 'component 0 of the element is f32[], but that of the queue is f32[3]' 'target put {' '  QueueEnqueueV2(q, [x[0], 1])' '}'
queue 65 'component 1 of the element is f32[3], but that of the queue is i32[]' 'target put {' '  QueueEnqueueV2(q, [x, x])' '}'
queue 65 'component 1 is a scalar, expected a row for each element' 'target put {' '  QueueEnqueueManyV2(q, [m, 1])' '}'
queue 65 'component 0 of the element is f32[], but that of the queue is f32[3]' 'target put {' '  QueueEnqueueManyV2(q, [x, [1]])' '}'
queue 65 'component 1 of the queue is i32, expected f32' 'a, b = QueueDequeueV2(q, component_types = [f32, f32])' 'output y = b'
queue 65 'the queue has 2 components, not 1' 'output y = QueueDequeueUpToV2(q, 2, component_types = [f32])'
queue 65 'input 0 is a queue, expected a variable of f32' 'output y = ReadVariableOp(q, dtype = f32)'
queue 0 '' 'target put {' '  QueueEnqueueManyV2(q, [m, [1, 2]])' '}' 'a, b = QueueDequeueManyV2(q, 2, component_types = [f32, i32])' \
	'c, d = QueueDequeueUpToV2(q, 2, component_types = [f32, i32])' 'output y = a' 'output z = d' 'output n = QueueSizeV2(q)'
"$DFG" build queue.dfg -o queue.pb
status 0 "$DFG" show queue.pb
grep -q '^  y  *f32\[2,3\]$' out
grep -q '^  z  *i32\[?\]$' out
# A branch that could choose either of two queues says nothing of the elements, unless they are equal.
two() { # STATUS WORDS TYPES
	printf '%s\n' 'input p: bool' 'a = FIFOQueueV2(component_types = [f32], shapes = [[]])' \
		"b = FIFOQueueV2(component_types = [$3], shapes = [[]])" 'q = if p { a } else { b }' \
		'target put {' '  QueueEnqueueV2(q, [[1.0, 2]])' '}' >two.dfg
	status "$1" "$DFG" check two.dfg
	[ -z "$2" ] || has err "$2"
}
two 0 '' i32
two 65 'component 0 of the element is f32[2], but that of the queue is f32[]' f32
printf '%s\n' 'param w: f32[3] = zeros' 'output n = QueueSizeV2(PriorityQueueV2(component_types = [f32], shapes = [[]]))' \
	'q = PriorityQueueV2(component_types = [f32], shapes = [[]])' 'target put {' '  QueueEnqueueV2(q, [1, 2.0])' '}' >priority.dfg
status 65 "$DFG" check priority.dfg
has err 'component 0 of the element is i32[], but that of the queue is i64[]'
