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

# A frame_name that is no string; more faults than are told.
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
