# dfg show: arrays, checkpoints and metrics, each told from its content.
. "$ROOT/tests/cli/kit"

g=$ROOT/tests/graphs/linear.pbtxt
status 66 "$DFG" show missing
status 65 "$DFG" show /bin/sh

status 0 "$DFG" show "$ROOT/tests/arrays/stored.npz"
has out 'x:0 f32[2,3]  min 0  max 5  mean 2.5'
status 0 "$DFG" show "$ROOT/tests/arrays/stored.npz" --node y
has out 'y: i64[3]'
has out '0 1 2'
status 0 "$DFG" show "$ROOT/tests/arrays/stored.npz" --json
python3 -c 'import json; assert json.load(open("out"))[1]["max"] == 2'
status 0 "$DFG" show "$ROOT/tests/arrays/strings.npy"
has out '"a" "bcd"'

status 0 "$DFG" run "$g" --feed x=ones:f32[4,2] --feed t=zeros:f32[4,1] --target train --fetch loss --steps 20 \
	--checkpoint ck --metrics m.jsonl --feed train/lr=0.001
status 0 "$DFG" show ck
has out 'checkpoint of step 20'
has out 'count i64[]  min 20'
status 0 "$DFG" show m.jsonl
has out 'loss: 6.25 -> '
has out 'over steps 1 to 20'
[ "$(wc -l <out)" = 11 ]
status 0 "$DFG" show m.jsonl --svg
python3 -c 'import xml.dom.minidom as m; d = m.parse("out"); assert len(d.getElementsByTagName("polyline")[0].getAttribute("points").split()) == 20'
# A graph is drawn by Graphviz, or the message says which package has it.
if /sbin/ldconfig -p | grep -q libgvc.so.6; then
	status 0 "$DFG" show "$g" --svg
	python3 -c 'import xml.dom.minidom as m; d = m.parse("out"); assert "loss" in [t.firstChild.data for t in d.getElementsByTagName("title")] or len(d.getElementsByTagName("polygon")) > 3'
else
	status 78 "$DFG" show "$g" --svg
	has err 'graph6'
fi
status 0 "$DFG" show m.jsonl --json
python3 -c 'import json; assert json.load(open("out"))["loss"]["points"] == 20'

# One document a file; an output without a JSON form is an error.
status 0 "$DFG" show "$g" "$ROOT/tests/arrays/stored.npz" --json
python3 -c 'import json; d = [json.loads(l) for l in open("out")]; assert len(d) == 2 and d[0]["nodes"] and d[1][1]["max"] == 2'
status 0 "$DFG" show "$g" --node loss --json
python3 -c 'import json; assert json.load(open("out"))["name"] == "loss"'
status 0 "$DFG" show "$ROOT/tests/arrays/stored.npz" --node y --json
python3 -c 'import json; assert json.load(open("out")) == {"dtype": "i64", "shape": [3], "value": [0, 1, 2]}'
for form in --tree --text --dot; do
	status 2 "$DFG" show "$g" $form --json
	has err "$form cannot be printed as JSON"
done
status 2 "$DFG" show std:nn --json
status 2 "$DFG" build "$g" -o ''
has err 'requires FILE, not an empty string'
for empty in "show" "run" "check" "convert -o x.pb" "test" "fmt"; do
	status 2 "$DFG" $empty ''
	has err 'operand 1 is empty'
done
status 2 "$DFG" grad "$g" --of '' --wrt x
status 2 "$DFG" grad "$g" --of loss --wrt ''

# Damage is told in words of what the file is, by its content or name.
printf '\010\000\000\000\000\000\000\000{"a":{"dtype' >w.bin
status 65 "$DFG" check w.bin
has err 'looks like safetensors'
printf '\000\000\010\003\000\000' >i.bin
status 65 "$DFG" check i.bin
has err 'looks like an IDX file'
printf '\217\001\002\003' >x.npy
status 65 "$DFG" show x.npy
has err 'is not a file of arrays'
cp x.npy x.bin
status 65 "$DFG" show x.bin
has err 'unknown format: not a graph, npy, npz, safetensors or IDX'
