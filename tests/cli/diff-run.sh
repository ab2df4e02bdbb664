# dfg diff --run (finding 46): results decide, and the first node in topological order that differs is named.
. "$ROOT/tests/cli/kit"

cat >net.dfg <<'END'
const scale = 2.0
input x: f32[batch, 4]
input k: i32[batch]
h = relu(x @ [[0.5, -1.0], [0.25, 2.0], [-0.75, 1.0], [1.0, 0.125]])
g = h * scale
hidden = g * 0.0
c = if sum(x) > 0 {
	d = g + 1
	d * 0.05
} else { g - 1 }
z = loop (s = c) for t in 0..3 { next tanh(s) + f32(k)[:, new] }
output y = softmax(z)
output sum_of_all = sum(hidden) + sum(z)
END
"$DFG" build net.dfg -o a.pb
"$DFG" build -D scale=2.25 net.dfg -o b.pb

# The same graph, and one that a pass has changed without changing a bit.
status 0 "$DFG" diff --run a.pb a.pb
[ ! -s out ]
status 0 "$DFG" opt a.pb -o c.pb
status 0 "$DFG" diff --run a.pb c.pb

# Another factor: it is the first, before all that it reaches; the results follow.
status 1 "$DFG" diff --run a.pb b.pb --feed x=ones:f32[2,4]
head -1 out | grep -q "^node 'g/Const' (Const): is 2.25, not 2" || { cat out; exit 1; }
grep -q "^result 'y': " out && grep -q "^result 'sum_of_all': " out
status 1 "$DFG" diff --run --json a.pb b.pb --feed x=ones:f32[2,4]
python3 - out <<'END'
import json, sys
told = json.load(open(sys.argv[1]))
assert told["first"] == "g/Const" and not told["same"] and told["count"] == 3, told
END
# The file's order does not matter.
"$DFG" convert a.pb --to pbtxt -o - >forward.pbtxt
python3 - <<'END'
import re
nodes = re.split(r"(?m)^(?=node \{|versions|library)", open("forward.pbtxt").read())
open("backward.pbtxt", "w").write("".join(reversed(nodes)))
END
status 0 "$DFG" diff --run a.pb backward.pbtxt
status 1 "$DFG" diff --run backward.pbtxt b.pb --feed x=ones:f32[2,4]
head -1 out | grep -q "^node 'g/Const' "

# A node inside a branch is found where the branch is taken, and not where it is not.
sed 's/g + 1$/g + 1.5/' net.dfg >branch.dfg
"$DFG" build branch.dfg -o branch.pb
status 1 "$DFG" diff --run a.pb branch.pb --feed x=ones:f32[2,4]
head -1 out | grep -q "^node 'c/d/Const' (Const): is 1.5, not 1" || { cat out; exit 1; }
status 0 "$DFG" diff --run a.pb branch.pb --feed x=f32[1,4]:-1,-1,-1,-1

# Of a loop the result is named.
sed 's|tanh(s) +|sigmoid(s) +|' net.dfg >loop.dfg
"$DFG" build loop.dfg -o loop.pb
status 1 "$DFG" diff --run a.pb loop.pb --feed x=ones:f32[2,4]
head -1 out | grep -q "(Exit)" || { cat out; exit 1; }

# Results that are not fetched do not count; a node inside that does not reach them counts with --every-node.
sed 's/^g = h \* scale/g = h * scale\nmore = g + 5\nspare = more * 0.0/; s/sum(hidden)/sum(hidden) + sum(spare)/' net.dfg >spare.dfg
sed 's/g + 5/g + 6/' spare.dfg >other.dfg
"$DFG" build spare.dfg -o spare.pb
"$DFG" build other.dfg -o other.pb
status 0 "$DFG" diff --run spare.pb other.pb
status 1 "$DFG" diff --run --every-node spare.pb other.pb
[ "$(grep -c . out)" = 1 ] && head -1 out | grep -q "^node 'more/Const' (Const)" || { cat out; exit 1; }
status 1 "$DFG" diff --run a.pb b.pb --fetch y --feed x=ones:f32[2,4]
[ "$(grep -c . out)" = 2 ] # the node and one result

# Tolerances: the factor differs by an eighth.
status 0 "$DFG" diff --run a.pb b.pb --fetch h,g --rtol 0.13
status 1 "$DFG" diff --run a.pb b.pb --fetch g --rtol 0.1
# Integers are made up as 0 and 1, and both graphs get the same values of the same seed.
status 0 "$DFG" diff --run a.pb a.pb --fetch k,x --seed 5
# A feed may come from a pipe, which is read once.
"$DFG" run -q a.pb --feed x=ones:f32[3,4] --feed k=i32[3]:0,1,2 --fetch x -o x.npy
status 1 "$DFG" diff --run a.pb b.pb --feed x=@<(cat x.npy) --feed k=i32[3]:0,1,2
head -1 out | grep -q "^node 'g/Const' "

# Variables: from a file, or from their initialisers with the same seed.
printf 'input x: f32[batch, 3]\noutput y = dense(2)(x)\noutput r = random_normal([3])\n' >v.dfg
"$DFG" build v.dfg -o v.pb
status 0 "$DFG" diff --run v.pb v.pb --seed 3
"$DFG" run -q v.pb --feed x=zeros:f32[1,3] --save w.safetensors >/dev/null
"$DFG" opt v.pb --freeze --load w.safetensors -o frozen.pb 2>/dev/null
status 0 "$DFG" diff --run v.pb frozen.pb --load w.safetensors --fetch y
status 1 "$DFG" diff --run v.pb frozen.pb --fetch y --seed 99

# Graphs that declare no outputs: what nothing reads is compared.
cat >plain.pbtxt <<'END'
node { name: "y" op: "Mul" input: "h" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "h" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }
END
sed 's/"Neg"/"Abs"/' plain.pbtxt >abs.pbtxt
sed 's/float_val: 2/float_val: 3/' plain.pbtxt >three.pbtxt
status 0 "$DFG" diff --run plain.pbtxt plain.pbtxt
status 1 "$DFG" diff --run plain.pbtxt abs.pbtxt
head -1 out | grep -q "^node 'h' (Neg): " || { cat out; exit 1; }
status 1 "$DFG" diff --run plain.pbtxt three.pbtxt
head -1 out | grep -q "^node 'c' (Const): " || { cat out; exit 1; }

# Errors.
printf 'input x: f32[batch, 4]\noutput other = x * 2\n' | "$DFG" build - -o names.pb
status 65 "$DFG" diff --run a.pb names.pb
has err "'y'"
status 65 "$DFG" diff --run a.pb b.pb --feed nothing=1
sed 's/shape { dim { size: -1 } }/shape { unknown_rank: true }/' plain.pbtxt >rank.pbtxt
status 65 "$DFG" diff --run rank.pbtxt rank.pbtxt
has err 'rank is unknown'
status 0 "$DFG" diff --run rank.pbtxt rank.pbtxt --feed x=f32[2]:1,2
status 2 "$DFG" diff a.pb b.pb --fetch y
status 2 "$DFG" diff a.pb b.pb --seed 1
status 2 "$DFG" diff --run - b.pb <a.pb
has err 'stdin'
