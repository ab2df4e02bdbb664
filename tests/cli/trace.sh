# A trace names its processes, and begins at 0 or later (finding 26).
. "$ROOT/tests/cli/kit"
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }

printf 'input x: f32[4]\nparam w: f32[4] = ones\noutput y = x * w\n' >p.dfg
status 0 "$DFG" run p.dfg --feed x=ones:f32[4] --hosts local:2 --place w=w1 --place w/read=w1 --trace t.json
python3 - <<'.'
import json
events = json.load(open("t.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert names == {0: "w0", 1: "w1"}, names
assert sum(e["ph"] == "M" for e in events) == 2
assert {e["pid"] for e in events} == {0, 1}
assert all(e["ts"] >= 0 for e in events if e["ph"] != "M")
.
