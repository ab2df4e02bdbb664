# A trace names its processes, begins at 0 or later, and each transfer carries its tensor's name (finding 26).
. "$ROOT/tests/cli/kit"
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }

printf 'input x: f32[4]\nparam w: f32[4] = ones\nh = x + 1\noutput y = h * w\n' >p.dfg
status 0 "$DFG" run p.dfg --feed x=ones:f32[4] --hosts local:2 --place w=w1 --place w/read=w1 --place h=w0 --place y=w1 --trace t.json
python3 - <<'.'
import json
events = json.load(open("t.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
assert names == {0: "w0", 1: "w1"}, names
assert sum(e["ph"] == "M" for e in events) == 2
assert {e["pid"] for e in events} == {0, 1}
assert all(e["ts"] >= 0 for e in events if e["ph"] != "M")
flows = [e for e in events if e["ph"] in "sf"]
assert sorted((e["ph"], e["name"]) for e in flows) == [("f", "h:0"), ("s", "h:0")], flows
ends = [e for e in events if e.get("args", {}).get("op") in ("_Send", "_Recv")]
assert len(ends) == 2 and all(e["args"]["tensor"] == "h:0" for e in ends), ends
assert all("tensor" not in e["args"] for e in events if e["ph"] == "X" and e not in ends)
.
