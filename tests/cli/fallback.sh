# A constant outside of a branch, merged with a value of the branch, as in TensorFlow's gradients of gathers: the value is
# taken where it is live, by every pass and placement.
. "$ROOT/tests/cli/kit"
cat >in.dfg <<'END'
input x: i32
no, yes = Switch(x * 10, x % 2 == 0)
m, which = Merge([7, yes])
output y = m + 1
output w = which
END
"$DFG" build in.dfg -o g.pb
"$DFG" check g.pb >out 2>&1
grep -q "node 'm' (Merge): both inputs are live where .* input 0 'm/Const' is a constant outside of the branch; input 1" out
status 65 "$DFG" check --strict g.pb
"$DFG" opt g.pb -q -o opt.pb
"$DFG" opt g.pb -q --fetch y,w --passes prune,fold,cse -o fold.pb
"$DFG" partition g.pb -q --hosts local:2 --place m=w1 -o plan/
"$DFG" check -q opt.pb fold.pb plan/

expect() { # X Y W WORDS...: what a run gives
	x=$1 y=$2 w=$3
	shift 3
	[ "$("$DFG" run "$@" --feed x="$x" --fetch y,w)" = "y: i32[] $y
w: i32[] $w" ]
}
for words in g.pb "g.pb --no-opt" "g.pb --threads 3" opt.pb fold.pb "plan --hosts local:2"; do
	# shellcheck disable=SC2086
	expect 4 41 1 $words && expect 5 8 0 $words
done
for seed in 1 2 3 4; do
	expect 4 41 1 g.pb --hosts local:3 --place "random:$seed"
	expect 5 8 0 g.pb --hosts local:3 --place "random:$seed"
done
"$DFG" run g.pb --feed x=5 --feed m/Const=3 --fetch y | grep -q 4

# The mark by which an executor knows the fallback is not taken from a file.
"$DFG" opt g.pb -q -o g.pbtxt
mark() { # VALUE: g.pbtxt with that mark
	awk -v value="$1" '{print} /op: "Merge"/ {print "  attr { key: \"_dfg_fallback\" value { i: " value " } }"}' g.pbtxt
}
mark 0 >right.pbtxt
expect 4 41 1 right.pbtxt && expect 5 8 0 right.pbtxt
mark 1 >wrong.pbtxt
status 65 "$DFG" run wrong.pbtxt --feed x=4 --fetch y
has err "attribute '_dfg_fallback' is 1, but it is input 0 that is a constant and live in more cases"
mark 7 >wrong.pbtxt
status 65 "$DFG" check wrong.pbtxt
