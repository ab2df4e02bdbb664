# Finding 14: a graph file is a function of its inputs in programs, whatever made it.
. "$ROOT/tests/cli/kit"
graphs=$ROOT/tests/graphs
program() { # writes p.dfg from stdin and builds p.pb
	cat >p.dfg
	status 0 "$DFG" build p.dfg -o p.pb
	status 0 "$DFG" check p.pb
}
refuse() { # WORDS: the program on stdin is 65 with these words
	cat >p.dfg
	status 65 "$DFG" build p.dfg -o no.pb
	has err "$1"
}
fetch() { # VALUE FETCH FEED...
	value=$1 of=$2
	shift 2
	status 0 "$DFG" run p.pb --fetch "$of" "$@"
	[ "$(cat out)" = "$value" ] || { echo "expected $value:"; cat out; exit 1; }
}

# y = 2 x + 1 by variables whose values are known; h is inside.
cat >net.dfg <<'.'
input x: f32[batch, 2]
param w: f32[2, 1] = 2
param b: f32[1] = 1
h = x @ w
output y = h + b
.
"$DFG" build net.dfg -o net.pb

# Applications share variables; equal ones are one; a name is that of the file below that of the import.
program <<'.'
import "net.pb" as net
input x: f32[n, 2]
input t: f32[n, 1]
output y = net(x)
output same = net(x)
output twice = net(x = net(x) * [1, 0])
output inside = net.node("h", x)
output fixed = net(stop_gradient(x)) 
output loss = mean((y + twice - t) ** 2)
.
fetch 'y: f32[1,1]
7' y --feed x=f32[1,2]:1,2
fetch 'twice: f32[1,1]
15' twice --feed x=f32[1,2]:1,2
fetch 'inside: f32[1,1]
6' inside --feed x=f32[1,2]:1,2
"$DFG" show p.pb --json >shown
[ "$(grep -o '"op": *"VarHandleOp"' shown | wc -l)" = 2 ]
"$DFG" show p.pb --text >text
has text '"net/w" = VarHandleOp'
has text 'shared_name = "net/w"'
has text '"net/h" = MatMul("x"'
has text '"net.1/h" = MatMul('

# d loss / d w by hand: y = 7, twice = 2 y + 1 = 15, 2 (7 + 15 - 21) = 2; dy/dw = x, dtwice/dw = (y, 0) + 2 x; sums 3 x + (y, 0).
"$DFG" grad p.pb --of loss --wrt net/w -o g.pb
status 0 "$DFG" run g.pb --fetch grad/net/w --feed x=f32[1,2]:1,2 --feed t=f32[1,1]:21
[ "$(tr '\n' ' ' <out)" = 'grad/net/w: f32[2,1] 20 12 ' ] || { cat out; exit 1; }

# Weights of the graph, trained elsewhere, by --load; the optimizer trains all, or what --wrt names.
status 0 "$DFG" run net.pb --target init --save w.safetensors --fetch y --feed x=f32[1,2]:0,0
status 0 "$DFG" run p.pb --load w.safetensors --map '*=net/*' --fetch y --feed x=f32[1,2]:1,2
has out 7
cat >head.dfg <<'.'
import "net.pb" as net
input x: f32[n, 2]
param v: f32[1] = 3
output loss = sum(v * net(x))
.
"$DFG" build head.dfg -o head.pb
"$DFG" grad head.pb --loss loss --optimizer 'sgd(lr = 1)' --wrt v -o frozen.pb
status 0 "$DFG" run frozen.pb --feed x=f32[1,2]:1,2 --target train --fetch loss --save after.safetensors
variables() { # FILE VALUES: net/w, net/b, v
	"$DFG" run head.pb --load "$1" --fetch net/w/read,net/b/read,v/read | tr '\n' ' ' >got
	[ "$(cat got)" = "$2 " ] || { cat got; exit 1; }
}
variables after.safetensors 'net/w/read: f32[2,1] 2 2 net/b/read: f32[1] 1 v/read: f32[1] -4'
"$DFG" grad head.pb --loss loss --optimizer 'sgd(lr = 1)' -o all.pb
status 0 "$DFG" run all.pb --feed x=f32[1,2]:1,2 --target train --fetch loss --save all.npz
variables all.npz 'net/w/read: f32[2,1] -1 -4 net/b/read: f32[1] -2 v/read: f32[1] -4'

# Graphs of TensorFlow: functions, branches, loops and text; by hand: x + 1, 2 x, 5!.
for case in "calls y x=3 4" "branch y x=0.5 1" "loop product n=5 120"; do
	set -- $case
	feed=$(echo "$3" | cut -d= -f1)
	"$DFG" show "$graphs/$1.pb" | awk -v n="$feed" '$1 == n {print $2}' >type
	printf 'import "%s" as net\ninput v: %s\noutput r = net.node("%s", %s = v)\n' "$graphs/$1.pb" "$(cat type)" "$2" "$feed" |
		program
	fetch "r: $(cat type) $4" r --feed "v=${3#*=}"
done
"$DFG" convert "$graphs/branch.pb" -o branch.pbtxt
program <<'.'
import "branch.pbtxt" as net
input a: f64[]
output y = net.node("y", a) + net.node("y", 2 * a)
output slope = grad(y, a)
.
fetch 'y: f64[] 3' y --feed a=0.5
fetch 'slope: f64[] 6' slope --feed a=0.5
# Loops twice in one graph, and the shape of a value that grows in one.
cat >grow.dfg <<'.'
input n: i32[]
input x: f32[k]
ys = loop (s = x) for i in 0..n with (grows = s) { next concat([s, s], axis = 0) }
output r = ys
.
"$DFG" build grow.dfg -o grow.pb
program <<'.'
import "grow.pb" as net
input x: f32[2]
a = net(2, x)
output size = shape(a)[0] + shape(net(1, x))[0]
.
fetch 'size: i32[] 12' size --feed x=f32[2]:1,2

# The seed and the step are those of the program.
cat >drop.dfg <<'.'
input x: f32[n]
output y = dropout(x)
.
"$DFG" build drop.dfg -D training=true -o drop.pb
program <<'.'
import "drop.pb" as net
input x: f32[n]
output y = net(x)
.
x=zeros:f32[64]
"$DFG" run p.pb --seed 1 --feed x=normal:f32[64]:seed=1 >one
"$DFG" run p.pb --seed 2 --feed x=normal:f32[64]:seed=1 >two
never cmp -s one two
"$DFG" run drop.pb --seed 1 --feed x=normal:f32[64]:seed=1 >wanted
cmp one wanted

# Moving averages of a graph that was built for training follow the program's training, once a step.
cat >norm.dfg <<'.'
input x: f32[n, 1]
output y = batch_norm(momentum = 0.5)(x)
.
"$DFG" build norm.dfg -D training=true -o norm.pb
program <<'.'
import "norm.pb" as net
input x: f32[n, 1]
param v: f32[] = 1
output loss = sum(v * net(x))
.
"$DFG" grad p.pb --loss loss --optimizer sgd -o t.pb
status 0 "$DFG" run t.pb --target train --feed x=f32[2,1]:2,6 --save n.npz --fetch loss
"$DFG" run t.pb --load n.npz --fetch net/y/batch_norm/moving_mean/read,net/y/batch_norm/moving_variance/read --feed x=f32[1,1]:0 >got
has got 'net/y/batch_norm/moving_mean/read: f32[1]'
[ "$(grep -v : got | tr '\n' ' ')" = '2 2.5 ' ] || { cat got; exit 1; }
refuse 'is applied again, but its training update' <<'.'
import "norm.pb" as net
input x: f32[n, 1]
output y = net(x) + net(2 * x)
.

# Two imports of one file are two networks; an import in an import; in a layer; in a loop.
cat >lib.dfg <<'.'
import "net.pb" as inner
fn apply(x) { inner(x) }
.
program <<'.'
import "net.pb" as a
import "net.pb" as b
import "lib.dfg" as lib
input x: f32[n, 2]
layer both()(x) { a(x) + b(x) }
output y = both()(x) + lib.apply(x)
output z = loop (s = x) for i in 0..2 { next a(s) * [1, 1] }
.
fetch 'y: f32[1,1]
21' y --feed x=f32[1,2]:1,2
fetch 'z: f32[1,2]
29 29' z --feed x=f32[1,2]:1,2

# Large constants stay in the file: those that it has as bytes, as numbers and as strings; from text, and in two imports.
awk 'BEGIN {
	print "node { name: \"i\" op: \"Const\" attr { key: \"dtype\" value { type: DT_INT32 } } attr { key: \"value\" value { tensor {"
	print "dtype: DT_INT32 tensor_shape { dim { size: 20000 } }"
	for (i = 0; i < 20000; i++) print "int_val: " i
	print "} } } }\nnode { name: \"s\" op: \"Const\" attr { key: \"dtype\" value { type: DT_STRING } } attr { key: \"value\" value { tensor {"
	print "dtype: DT_STRING tensor_shape { dim { size: 5000 } }"
	for (i = 0; i < 5000; i++) print "string_val: \"s" i "\""
	print "} } } }"
}' </dev/null >large.pbtxt
"$DFG" convert large.pbtxt -o large.pb
for of in large.pbtxt large.pb; do
	printf 'import "%s" as a\nimport "large.pb" as b\n' $of |
		cat - <(echo 'output y = sum(a.node("i") * 2 - b.node("i"))
output z = a.node("s")[4999]') | program
	fetch 'y: i32[] 199990000' y
	fetch 'z: string[] "s4999"' z
	status 0 "$DFG" run p.dfg --fetch z
	has out '"s4999"'
done
cat >wide.dfg <<'.'
input x: f32[n, 2048]
param w: f32[2048, 2048] = normal([2048, 2048])
output y = x @ w
.
"$DFG" build wide.dfg -o wide.pb
"$DFG" run wide.pb --target init --save wide.npz -q
"$DFG" opt -q --freeze --load wide.npz wide.pb -o frozen.pb
cat >p.dfg <<'.'
import "frozen.pb" as net
input x: f32[n, 2048]
output y = net(x)
output twice = y + y
.
status 0 "$DFG" build p.dfg --memory-limit 8M -o p.pb
"$DFG" run p.pb --feed x=ones:f32[1,2048] --fetch y -o got.npy
"$DFG" run wide.pb --load wide.npz --feed x=ones:f32[1,2048] --fetch y -o wanted.npy
cmp got.npy wanted.npy

# make is told of the graph.
status 0 "$DFG" build head.dfg -MD -MF head.d -o head.pb
has head.d 'head.pb: head.dfg net.pb'

refuse "which requires a name: import \"net.pb\" as net" <<'.'
import "net.pb"
.
refuse "input 'x' of net.pb is f32[?,2], but the value is f32[?,3]" <<'.'
import "net.pb" as net
input v: f32[n, 3]
output y = net(v)
.
refuse "input 'x' of net.pb is f32[?,2], but the value is i32[?,2]" <<'.'
import "net.pb" as net
input v: i32[n, 2]
output y = net(v)
.
refuse "net.pb: node 'x': this input is needed, but the call does not give it" <<'.'
import "net.pb" as net
output y = net()
.
refuse "net.pb has only 1 input" <<'.'
import "net.pb" as net
input v: f32[n, 2]
output y = net(v, v)
.
refuse "net.pb has no input 'z'; did you mean 'x'?" <<'.'
import "net.pb" as net
input v: f32[n, 2]
output y = net(z = v)
.
refuse "net.pb: no node 'hh'" <<'.'
import "net.pb" as net
input v: f32[n, 2]
output y = net.node("hh", v)
.
refuse "there is no tensor 'h:1'" <<'.'
import "net.pb" as net
input v: f32[n, 2]
output y = net.node("h:1", v)
.
refuse "is not applied yet" <<'.'
import "net.pb" as net
output y = net.node("h")
.
refuse 'its tensors are .node("h")' <<'.'
import "net.pb" as net
output y = net.h
.
refuse "declares no outputs: choose a tensor with .node(" <<.
import "$graphs/branch.pb" as net
output y = net()
.
refuse "can be applied only outside the program's loops and branches" <<.
import "$graphs/branch.pb" as net
input a: f64[]
output y = loop (s = a) for i in 0..2 { next net.node("y", s) }
.
cat >clash.pbtxt <<'.'
node { name: "in/a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "in.a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "d" op: "Sub" input: "in/a" input: "in.a" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "u" op: "NoSuchOp" input: "d" }
.
refuse "'in_a' may be input 'in/a' or 'in.a': give the inputs by position" <<'.'
import "clash.pbtxt" as net
output y = net.node("d", in_a = 1)
.
refuse "clash.pbtxt: node 'u': no op 'NoSuchOp'" <<'.'
import "clash.pbtxt" as net
output y = net.node("u", 5, 3)
.
program <<'.'
import "clash.pbtxt" as net
output y = net.node("d", 5, 3)
.
fetch 'y: f32[] 2' y
# A graph with a fault, and an output that is the imported file.
sed 's/input: "in.a" attr/input: "gone" attr/' clash.pbtxt >bad.pbtxt
refuse "bad.pbtxt: node 'd'" <<'.'
import "bad.pbtxt" as net
output y = net.node("d", 5, 3)
.
cp net.pb kept.pb
status 2 "$DFG" build head.dfg -o net.pb
cmp net.pb kept.pb

# A lookup table comes with its entries, unless these depend on an input of the file; applications share the table.
cat >words.dfg <<'.'
input word: string[?]
ids = HashTableV2(key_dtype = string, value_dtype = i64, shared_name = "ids")
more = HashTableV2(key_dtype = string, value_dtype = i64, shared_name = "more")
input file: string[]
target fill {
    InitializeTableV2(ids, ["a", "b"], i64([1, 2]))
    InitializeTableFromTextFileV2(more, file, key_index = -2, value_index = -1)
}
output id = LookupTableFindV2(ids, word, i64(-1))
output other = LookupTableFindV2(more, word, i64(-1))
.
"$DFG" build words.dfg -q -o words.pb
program <<'.'
import "words.pb" as net
input w: string[?]
output y = net.node("id", word = w)
output again = net.node("id", word = [w[0], "b"])
output empty = net.node("other", word = w)
.
fetch 'y: i64[3]
2 -1 1' y --feed w=string[3]:b,c,a
fetch 'again: i64[2]
1 2' again --feed w=string[1]:a
status 65 "$DFG" run p.pb --fetch empty --feed w=string[1]:a
has err "lookup table 'net/more' is not initialised"
[ "$("$DFG" show p.pb --text | grep -c 'InitializeTable')" = 1 ]
