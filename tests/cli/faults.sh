# All faults of a graph are told, of whatever kind; JSON of check and diff; ops by a part of their name (finding 20).
. "$ROOT/tests/cli/kit"

cat >bad.pbtxt <<'.'
node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "b" op: "Tahn" input: "a" }
node { name: "c" op: "Neg" input: "aa" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "d" op: "Add" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "e" op: "Neg" input: "a" attr { key: "TT" value { type: DT_FLOAT } } }
.
status 65 "$DFG" check bad.pbtxt
cat >want <<'.'
bad.pbtxt: node 'c' (Neg): input 0: no node 'aa'; did you mean 'a'?
bad.pbtxt: node 'b': no op 'Tahn'; did you mean 'Tan'?
bad.pbtxt: node 'd' (Add): has 1 input, expected 2
bad.pbtxt: node 'e' (Neg): attribute 'T' is missing, expected a type
.
cmp err want
"$DFG" check --errors 2 bad.pbtxt 2>err || true
head -2 want | cmp - err
status 65 "$DFG" show bad.pbtxt # where only structure counts
[ "$(wc -l <err)" = 1 ]

# A node that cannot be read does not hide the others, nor makes a fault of an edge to it.
{ cat bad.pbtxt; echo 'node { name: "a" op: "Neg" }'; echo 'node { name: "" op: "Neg" }'; } >twice.pbtxt
status 65 "$DFG" check twice.pbtxt
has err "Tahn"
has err "number 5"
has err "number 6"
has err "node 'c' (Neg): input 0: no node 'aa'; did you mean 'a'?"
# One whose attribute cannot be read still has its name; only what no node has is missing.
cat >unread.pbtxt <<'.'
node { name: "u" op: "Neg" attr { key: "T" value { list { i: 1 type: DT_FLOAT } } } }
node { name: "v" op: "Neg" input: "u" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "w" op: "Neg" input: "uu" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v" op: "NoOp" input: "x:z" }
.
status 65 "$DFG" check unread.pbtxt
has err "node 'u' (Neg): "
has err "node 'w' (Neg): input 0: no node 'uu'"
has err "two nodes are named 'v'"
never grep -qF "no node 'u'" err
# Twenty in all.
for i in $(seq 30); do echo "node { name: \"n$i\" op: \"Nonesuch\" }"; done >many.pbtxt
echo 'node { name: "x" op: "NoOp" input: "^none" }' >>many.pbtxt
status 65 "$DFG" check many.pbtxt
[ "$(wc -l <err)" = 20 ]

# JSON: an object for each file, in one list; the status is as without.
echo 'output y = 1 + 2' >good.dfg
got=0
"$DFG" check --json good.dfg bad.pbtxt nowhere.pb >out 2>err || got=$?
[ "$got" = 65 ]
[ ! -s err ]
has out '[{"file":"good.dfg","status":0,"errors":[],"warnings":[]},{"file":"bad.pbtxt","status":65,"errors":["bad.pbtxt: node '
has out '{"file":"nowhere.pb","status":66,"errors":["nowhere.pb: No such file or directory"],"warnings":[]}]'

printf '1,2\n3,4\n' >a.csv
printf '1,2\n3,5\n' >b.csv
status 1 "$DFG" diff --json a.csv b.csv
[ "$(cat out)" = '{"same":false,"count":1,"differences":["the array: [1,1] is 5, not 4 (1 of 4 differ)"]}' ]
status 0 "$DFG" diff --json a.csv a.csv
[ "$(cat out)" = '{"same":true,"count":0,"differences":[]}' ]

# A part of a name is not an op: status 1, and the ops whose names contain it are listed.
status 1 "$DFG" ops conv
has err "no op 'conv'; these ops contain the word"
[ "$(grep -ci '^[^<({ ]*conv' out)" = "$(wc -l <out)" ]
grep -q '^Conv2D<' out
status 1 "$DFG" ops --json maxpool
has out '"name":"MaxPoolGrad"'
status 1 "$DFG" ops Nonesuch
[ ! -s out ]
status 0 "$DFG" ops MaxPool
