# dfg show --svg: a graph of thousands of nodes stays readable. Boxes are folded, loops and branches are boxes, devices are colours.
. "$ROOT/tests/cli/kit"

if ! /sbin/ldconfig -p | grep -q libgvc.so.6; then
	status 78 "$DFG" show "$ROOT/tests/graphs/linear.pbtxt" --svg
	has err 'graph6'
	exit 0
fi
count() { # CLASS: of the picture in the file out
	python3 - "$1" <<'X'
import sys, xml.dom.minidom
document = xml.dom.minidom.parse("out")
print(sum(g.getAttribute("class") == sys.argv[1] for g in document.getElementsByTagName("g")))
X
}
{
	for scope in $(seq 40); do
		for node in $(seq 50); do
			printf 'node { name: "s%d/n%d" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }\n' "$scope" "$node"
		done
	done
} >scopes.pbtxt
status 0 "$DFG" show scopes.pbtxt --svg
[ "$(count node)" -ge 40 ]
[ "$(count node)" -le 120 ]
has out '>s40<'
has out '>50 nodes<'
# Nodes without scopes are folded in runs.
sed 's,s\([0-9]*\)/n,s\1n,' scopes.pbtxt >flat.pbtxt
status 0 "$DFG" show flat.pbtxt --svg
[ "$(count node)" -le 120 ]
has out '>s1n1 ...<'
# A name of many parts.
printf 'node { name: "%sx" op: "NoOp" }\n' "$(printf 'a/%.0s' $(seq 2000))" >deep.pbtxt
status 0 "$DFG" show deep.pbtxt --svg

cat >boxes.dfg <<'X'
input x: f32[]
y = loop (s = x) while s < 10 {
	next if s > 5 { s + 2 } else { s * 3 }
}
output y = y
X
status 0 "$DFG" build boxes.dfg -o boxes.pb
status 0 "$DFG" show boxes.pb --svg
grep -q '>loop ' out || { echo "no loop is a box"; exit 1; }
grep -q 'is true<' out || { echo "no branch is a box"; exit 1; }
[ "$(count cluster)" -ge 3 ]

cat >devices.pbtxt <<'X'
node { name: "a" op: "NoOp" device: "/job:w/task:0" }
node { name: "b" op: "NoOp" device: "/job:w/task:1" input: "^a" }
X
status 0 "$DFG" show devices.pbtxt --svg
[ "$(grep -c 'fill="#dbe9f6"' out)" = 2 ] # the node and the device's name
[ "$(grep -c 'fill="#fde5cc"' out)" = 2 ]
has out '>/job:w/task:1<'

# A stream holds one picture.
status 2 "$DFG" show scopes.pbtxt flat.pbtxt --svg
has err '--svg: a picture shows one file, or several of metrics'
