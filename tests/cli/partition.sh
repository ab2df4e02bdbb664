# Plans: what partition writes, refuses and explains, and what other commands make of a plan.
. "$ROOT/tests/cli/kit"
same() { # FOLDER FOLDER
	diff -r "$1" "$2" || { echo "$1 and $2 differ"; exit 1; }
}

cat >net.dfg <<'P'
input x: f32[?, 4]
layer1 = x * 2.0
layer2 = sqrt(layer1)
output y = sum(layer1 + layer2)
output z = x + 1.0
P
status 0 "$DFG" build net.dfg -o net.pb
divide() { # FOLDER OPTIONS...
	folder=$1
	shift
	"$DFG" partition net.pb --hosts local:2 --place '*=w0' --place 'layer2*=w1' -o "$folder" "$@"
}

# A folder with a part a device and a manifest, and nothing else; the same again, and by any format of the graph.
status 0 divide plan/
[ ! -s out ]
[ ! -s err ]
[ "$(ls -A plan)" = 'manifest.json
w0.pb
w1.pb' ]
status 0 divide again
same plan again
"$DFG" convert net.pb -o net.pbtxt
status 0 "$DFG" partition net.pbtxt --hosts local:2 --place '*=w0' --place 'layer2*=w1' -o again
same plan again
status 0 "$DFG" partition net.dfg --hosts local:2 --place '*=w0' --place 'layer2*=w1' -o again
same plan again
status 0 "$DFG" check plan plan/ plan/w0.pb plan/w1.pb
grep -q '^{"number":0,"tensor":"layer1:0","from":"w0","to":"w1","dtype":"f32","shape":\[null,4\],"loop":"","depth":0,"each":"step"}' plan/manifest.json
[ "$(sed -n 's/.*"file":"w1.pb".*"sha256":"\(.*\)".*/\1/p' plan/manifest.json)" = "$(sha256sum plan/w1.pb | cut -d' ' -f1)" ]
[ "$(ls -A | grep -c 'plan')" = 1 ]

# A plan is replaced, with no old part left; one device more or less is another set of parts.
cp -r plan old
status 0 "$DFG" partition net.pb --hosts local:3 -o old/
[ -e old/w2.pb ]
status 0 "$DFG" check old old/*.pb
status 0 divide old//
same plan old
mkdir empty
status 0 divide empty
same plan empty
ln -s empty link
status 0 "$DFG" partition net.pb --hosts local:1 -o link
[ -L link ]
[ ! -e empty/w1.pb ]

# A folder that is not a plan is not replaced.
cp -r plan mine
echo hello >mine/notes
status 73 divide mine/
has err notes
rm mine/notes
echo '{}' >mine/manifest.json
status 73 divide mine/
has err 'is not a plan'
rm mine/manifest.json
status 73 divide mine/
status 73 divide net.pb
has err 'is not a folder'
status 73 divide none/plan
status 73 divide .
status 2 divide -
status 2 divide ''
status 2 "$DFG" partition net.pb --hosts local:2
has err '-o PLAN/'
if [ "$(id -u)" != 0 ]; then
	mkdir closed && chmod 555 closed
	status 73 divide closed/plan
fi
[ -z "$(find . -name '*.tmp*')" ]

# A run that fails leaves the old plan, and no folder where there was none.
cp -r plan keep
status 65 "$DFG" partition net.pb --hosts local:2 --place 'x=w7' -o keep
has err "no device 'w7'"
status 65 "$DFG" partition net.pb --hosts local:2 --fetch nothing -o new
status 66 "$DFG" partition none.pb --hosts local:2 -o new
status 66 "$DFG" partition net.pb --hosts ./none -o new
status 2 "$DFG" partition net.pb -o new
has err --hosts
status 2 "$DFG" partition net.pb --hosts local:2 --place x -o new
status 2 "$DFG" partition net.pb --hosts local:2 --place =w0 -o new
status 2 "$DFG" partition net.pb --hosts local:2 --place x= -o new
status 2 "$DFG" partition net.pb --hosts local:2 --json -o new
status 2 "$DFG" partition net.pb net.pb --hosts local:2 -o new
same plan keep
[ ! -e new ]
for n in 0 1 2 5 10 20 50 100 200 500 1000 2000 5000; do
	DFG_FAIL_ALLOCATION=$n+ "$DFG" partition net.pb --hosts local:2 -o new >out 2>err && break || [ $? = 71 ]
	[ ! -s out ]
	[ ! -e new ]
done
[ -e new ]
rm -r new

# With --if-changed, a file whose content would not change keeps its time.
touch -d 2001-01-01 plan plan/*
status 0 divide plan --if-changed
[ "$(date -r plan +%Y)" = 2001 ]
sed 's/sqrt(layer1)/sqrt(sqrt(layer1))/' net.dfg >other.dfg
status 0 "$DFG" partition other.dfg --hosts local:2 --place '*=w0' --place 'layer2*=w1' -o plan --if-changed
[ "$(date -r plan +%Y)" != 2001 ]
[ "$(date -r plan/w1.pb +%Y)" != 2001 ]
[ "$(date -r plan/w0.pb +%Y)" = 2001 ]
status 0 divide plan --if-changed

# Hosts from a file; a device by its full name.
printf '# mine\nalpha ssh=me@10.0.0.1:2222\nbeta job=ps\nlocal:2\n' >hosts
status 0 "$DFG" partition net.pb --hosts hosts --place '*=/job:ps/task:0/device:CPU:0' -o many
has many/manifest.json '"name":"/job:ps/task:0/device:CPU:0","file":"w1.pb"'
[ "$(ls many | grep -c pb)" = 4 ]

# Pruned where that is asked for; else whatever the graph has is still there.
nodes() { # FOLDER
	for part in "$1"/*.pb; do
		"$DFG" convert "$part" -o nodes.pbtxt
		sed -n 's/^  name: "\(.*\)"/\1/p' nodes.pbtxt
	done | grep -v '^_dfg/' | sort
}
"$DFG" convert net.pb -o all.pbtxt
sed -n 's/^  name: "\(.*\)"/\1/p' all.pbtxt | sort >all
nodes plan >kept
cmp all kept
status 0 divide small --fetch layer2
nodes small >kept
has kept layer2
never grep -q '^[yz]' kept
status 0 divide small --target z
nodes small >kept
has kept z
never grep -q layer kept

# Why things are where they are, and what a step will cost.
status 0 "$DFG" partition net.pb --hosts local:2 --place '*=w0' --place 'layer2*=w1' --explain
has out "layer2  w1  --place 'layer2*=w1'"
has out 'w0 -> w1: 1 message, 16*b bytes'
status 0 "$DFG" partition net.pb --hosts local:2 --place '*=w0' --place 'layer2*=w1' --explain --json
python3 - <<'P'
import json
told = json.load(open("out"))
assert [node["device"] for node in told["nodes"] if node["name"] == "layer2"] == ["w1"]
assert {(t["from"], t["to"], t["tensor"]) for t in told["transfers"]} == {("w0", "w1", "layer1:0"), ("w1", "w0", "layer2:0")}
assert told["bill"]["messages"]["formula"] == "2"
assert told["bill"]["bytes"]["terms"] == [{"times": 32, "sizes": "b", "loop": ""}]
assert [host["device"] for host in told["bill"]["hosts"]] == ["w0", "w1"]
P
status 0 "$DFG" partition net.pb --hosts local:2 --place 'lyer*=w1' -o typo
has err "--place 'lyer*=w1': no node matches"

# dfg show of a plan.
status 0 "$DFG" show plan
has out '2 devices, '
has out 'layer1:0  f32[?,4]  each step'
status 0 "$DFG" show plan --json
python3 -c 'import json, sys; p = json.load(open("out")); assert [d["sends"] for d in p["devices"]] == [1, 1] and len(p["transfers"]) == 2'
status 0 "$DFG" show plan --tree
has out 'w1  /job:worker/task:1/device:CPU:0'
status 0 "$DFG" show plan --text
status 0 "$DFG" show plan --node layer2
has out 'layer2 (Sqrt)'
status 65 "$DFG" show plan --node layer3
status 2 "$DFG" show plan --node layer2 --json
status 0 "$DFG" show plan --dot
[ "$(grep -c 'style = dashed, color' out)" = 2 ]
[ "$(grep -c 'subgraph clusterw[01] {' out)" = 2 ]
[ "$(grep -o '[{]' out | wc -l)" = "$(grep -o '[}]' out | wc -l)" ]

# A plan is not accepted as a graph.
status 65 "$DFG" grad plan --of y -o x.pb
has err 'differentiate before partitioning'
status 65 "$DFG" opt plan --fetch y -o x.pb
has err 'is a plan'
status 65 "$DFG" convert plan -o x.pb
status 65 "$DFG" partition plan --hosts local:2 -o x
status 65 "$DFG" partition plan/w0.pb --hosts local:2 -o x
has err '_dfg/'

# A plan that somebody changed.
cp -r plan bad
printf x >>bad/w1.pb
status 65 "$DFG" check bad
has err 'bad/w1.pb: '
status 65 "$DFG" show bad
has err 'bad/w1.pb: '
rm bad/w1.pb
status 66 "$DFG" check bad
has err 'bad/w1.pb'
for change in 's/"w1.pb"/"..\/plan\/w1.pb"/' 's/"version":1/"version":2/' 's/"version":1/"version":3/' 's/"from":"w0"/"from":"w9"/' 's/}$/} x/'; do
	rm -r bad
	cp -r plan bad
	sed -i "$change" bad/manifest.json
	status 65 "$DFG" check bad
	has err 'bad/manifest.json: '
done
rm -r bad
cp -r plan bad
sed -i '/"number":1/d;s/\("number":0.*\),$/\1/' bad/manifest.json
status 65 "$DFG" check bad
has err 'which manifest.json does not list'
rm -r bad
cp -r plan bad
ln -sf ../plan/w1.pb bad/w1.pb
status 65 "$DFG" check bad
has err 'w1.pb: is a symbolic link'
rm -r bad
cp -r plan bad
ln -sf ../plan/manifest.json bad/manifest.json
for how in check 'run --hosts local:2'; do
	status 65 "$DFG" $how bad
	has err 'manifest.json: is a symbolic link'
done
rm -r bad
cp -r plan bad
touch bad/README
status 0 "$DFG" check bad
has err "'README' does not belong to the plan"

# Where two plans differ: a node that went elsewhere, and what it takes with it.
status 0 "$DFG" diff plan again
[ ! -s out ]
status 0 "$DFG" partition net.pb --hosts local:2 --place '*=w0' --place 'layer2*=w1' --place 'z=w1' -o moved
status 1 "$DFG" diff plan moved
has out "node 'z' (Identity): device"
status 1 "$DFG" diff plan many
has out 'devices: 4, not 2'
status 65 "$DFG" diff plan net.pb
has err 'plan is a plan, and net.pb is not'
status 65 "$DFG" diff net.pb plan
has err 'plan is a plan, and net.pb is not'

# One device is a plan too; functions are written out.
status 0 "$DFG" partition net.pb --hosts local:1 -o one
grep -q '"transfers":\[$' one/manifest.json
status 0 "$DFG" check one

# A manifest that was changed, a part too many, no manifest: whoever opens the plan says so.
status 0 divide edited
sed -i '/"number":0,/s/"shape":\[null,4\]/"shape":[null,5]/' edited/manifest.json
for command in "check edited" "show edited" "diff edited edited" "run edited --hosts local:2 --feed x=[[1,2,3,4]] --fetch y"; do
	status 65 "$DFG" $command
	has err "edited/w1.pb: node '_dfg/recv/0' (_Recv): transfer 0: 'layer1:0' is f32[?,5] in manifest.json, but f32[?,4] in the node"
done
status 0 divide edited
cp edited/w1.pb edited/w2.pb
for command in check show; do
	status 0 "$DFG" $command edited
	has err "edited: warning: 'w2.pb' is not part of this plan: manifest.json does not list it"
done
rm edited/manifest.json
for command in check show; do
	status 66 "$DFG" $command edited
	has err 'edited: has a part of a plan (w0.pb), but no manifest.json'
done

# Two towers, trained: each with its weights, gradients and updates on a device, and what crosses is little.
cat >towers.dfg <<'P'
input x: f32[256, 1024]
a = relu(dense(2048)(relu(dense(2048)(x))))
b = relu(dense(2048)(relu(dense(2048)(x))))
output y = mean(a + b)
P
status 0 "$DFG" build towers.dfg -o towers.pb
status 0 "$DFG" grad towers.pb --loss y --optimizer 'sgd(lr=0.1)' -o towers-train.pb
status 0 "$DFG" partition towers-train.pb --hosts local:2 --explain
awk '/^a step: / && $5 < 8e6 {few = 1} / bytes of parameters/ && $2 > 25e6 && $2 < 26e6 {equal++} END {exit !(few && equal == 2)}' out
