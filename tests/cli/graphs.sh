# convert, diff and what bad files are told.
. "$ROOT/tests/cli/kit"
graphs=$ROOT/tests/graphs

# The same bytes, twice, from another encoding, through text and back, and from TensorFlow's text.
for name in every network loop; do
	status 0 "$DFG" convert "$graphs/$name.odd.pb" -o one.pb
	cmp one.pb "$graphs/$name.pb"
	status 0 "$DFG" convert one.pb -o one.pbtxt
	status 0 "$DFG" convert one.pbtxt -o two.pb
	cmp two.pb one.pb
	status 0 "$DFG" convert "$graphs/$name.pbtxt" -o three.pb
	cmp three.pb one.pb
	status 0 "$DFG" diff one.pbtxt three.pb
	[ ! -s out ]
done
"$DFG" convert - <one.pb | cmp - one.pb
touch -d 2001-01-01 one.pb
status 0 "$DFG" convert two.pb -o one.pb --if-changed
[ one.pb -ot two.pb ]

# Differences are named, the first of them first.
sed 's/op: "Tanh"/op: "Tan"/; s/"x"/"z"/' "$graphs/network.pbtxt" >other.pbtxt
status 1 "$DFG" diff "$graphs/network.pb" other.pbtxt
has out "node 'x' (Placeholder): only in the first"
has out "node 'Tanh': op Tan, not Tanh"
has out "node 'z' (Placeholder): only in the second"
status 1 "$DFG" diff "$graphs/network.pb" "$graphs/loop.pb"
[ "$(wc -l <out)" = 21 ]
has out ' more'
printf '1,2\n3,4.25\n' >a.csv
printf '1,2\n3,4.5\n' >b.csv
status 1 "$DFG" diff a.csv b.csv
has out 'the array: [1,1] is 4.5, not 4.25 (1 of 4 differ)'
status 0 "$DFG" diff a.csv b.csv --atol 0.5
status 0 "$DFG" diff a.csv b.csv --rtol 0.2
status 65 "$DFG" diff a.csv one.pb
status 2 "$DFG" diff one.pb

# The error for a file that is not a graph says what it appears to be.
status 65 "$DFG" convert /dev/null -o x.pb
has err 'the graph has no nodes'
[ ! -e x.pb ]
status 65 "$DFG" convert "$DFG" -o x.pb
has err 'looks like an ELF program'
echo '{"node": []}' >x.json
status 65 "$DFG" convert x.json -o x.pb
has err 'looks like JSON'
gzip -c one.pb >x.gz
status 65 "$DFG" convert x.gz -o x.pb
has err 'looks like gzip'
echo 'hello world' >x.txt
status 65 "$DFG" convert x.txt -o x.pb
has err 'x.txt:1:7: error: ' # taken for a program
status 66 "$DFG" convert . -o x.pb
has err 'is a directory'
status 66 "$DFG" convert nowhere.pb -o x.pb
status 73 "$DFG" convert one.pb -o nowhere/x.pb
status 2 "$DFG" convert one.pb -o x --to onnx2
has err 'unknown graph format'

# Text: line and column, the nearest name.
printf 'node {\n  nmae: "x"\n}\n' >bad.pbtxt
status 65 "$DFG" convert bad.pbtxt --strict -o x.pb
has err "bad.pbtxt: 2:3: no field 'nmae' in a NodeDef; did you mean 'name'?"
status 65 "$DFG" convert bad.pbtxt -o x.pb
has err 'warning: dropped 1 unknown field'
printf 'node { name: "x" op: "NoOp" later { a: [1, 2] b < c: "x" "y" > } }' >later.pbtxt
status 0 "$DFG" convert later.pbtxt -o x.pb
has err 'dropped 1 unknown field'

# Graphs made up from a seed.
status 0 "$DFG" bench graph --nodes 3000 --edges 9000 -o made.pb
has out '3000 nodes, 9000 edges'
status 0 "$DFG" bench graph --nodes 3000 --edges 9000 --json -o again.pb
python3 -m json.tool out >/dev/null
cmp made.pb again.pb
status 0 "$DFG" convert made.pb -o again.pb
cmp made.pb again.pb
touch -d @1000 made.pb
status 0 "$DFG" bench graph --nodes 3000 --edges 9000 -o made.pb --if-changed
[ "$(stat -c %Y made.pb)" = 1000 ]
status 0 "$DFG" bench graph --nodes 3001 --edges 9000 -o made.pb --if-changed
[ "$(stat -c %Y made.pb)" != 1000 ]
status 2 "$DFG" bench graph --if-changed
mkdir temporary
TMPDIR=$PWD/temporary "$DFG" bench graph --nodes 3000 --edges 9000 >out
[ -z "$(ls temporary)" ]
status 73 env TMPDIR="$PWD/none" "$DFG" bench graph
status 2 "$DFG" bench graph --nodes 0
status 2 "$DFG" bench graph --nodes 10 --edges 99999999999

# Steps of a graph are timed with inputs that are made up.
printf 'input x: f32[b, 4]\ninput i: i32[b]\noutput y = sum(x) + f32(sum(i))\n' >timed.dfg
status 0 "$DFG" bench timed.dfg --batch 3 --repeat 5 --warmup 1
has out 'median_us '
status 0 "$DFG" bench timed.dfg --repeat 5 --json
python3 -m json.tool out >/dev/null
status 65 "$DFG" bench timed.dfg --fetch z
status 2 "$DFG" bench timed.dfg --repeat 0
status 2 "$DFG" bench timed.dfg --batch 0
status 66 "$DFG" bench nothing.pb
status 2 "$DFG" bench timed.dfg --nodes 3
has err "--nodes is only for the generated graph"
status 2 "$DFG" bench graph --fetch y
status 71 "$DFG" bench timed.dfg --memory-limit 5000
has err '(--memory-limit is 5000)'

# All bad inputs are named.
printf 'node { name: "x" op: "NoOp" input: "^y" input: "x:-1" } node { name: "z" op: "NoOp" input: "w" }' >in.pbtxt
status 65 "$DFG" convert in.pbtxt -o x.pb
has err "node 'x' (NoOp): input 0: no node 'y'"
has err "node 'x' (NoOp): input 1 'x:-1' is a data input after a control input"
has err "node 'z' (NoOp): input 0: no node 'w'"

# Checkpoints, by the newest.
mkdir none
status 65 "$DFG" diff none none
