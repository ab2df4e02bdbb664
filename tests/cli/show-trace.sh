# dfg show of a trace: times added up by op, node and thread.
. "$ROOT/tests/cli/kit"
printf 'input x: f32[8]\na = tanh(x)\nb = tanh(a)\noutput y = loop (s = b) for t in 0..4 { next sin(s) }\n' | "$DFG" build - -o g.pb
"$DFG" run -q g.pb --feed x=zeros:f32[8] --no-opt --no-compiled-loops --trace t.json >/dev/null
status 0 "$DFG" show t.json
head -1 out | grep -Eq '^[0-9]+ calls of [0-9]+ nodes in 1 process: [0-9.]+ us from first to last, [0-9.]+ us in calls' || { cat out; exit 1; }
# The sums are those of the events.
status 0 "$DFG" show --json t.json
python3 - out t.json <<'END'
import collections, json, sys
told, trace = (json.load(open(f)) for f in sys.argv[1:])
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
assert told["calls"] == len(events) > 10 and told["dead"] == sum(e["args"]["dead"] for e in events)
assert abs(told["busy_us"] - sum(e["dur"] for e in events)) < 1e-6 * told["busy_us"] + 1e-3
last = max(e["ts"] + e["dur"] for e in events)
assert abs(told["span_us"] - (last - min(e["ts"] for e in events))) < 1e-3
for key, name, of in (("ops", "op", lambda e: e["args"]["op"]), ("nodes", "node", lambda e: e["name"])):
    calls, us = collections.Counter(), collections.Counter()
    for e in events:
        calls[of(e)] += 1
        us[of(e)] += e["dur"]
    rows = told[key]
    assert {r[name]: r["calls"] for r in rows} == calls, rows
    assert all(abs(r["us"] - us[r[name]]) < 1e-6 * us[r[name]] + 1e-3 for r in rows)
    assert [r["us"] for r in rows] == sorted((r["us"] for r in rows), reverse=True)
END
# Names of others cannot steer the terminal, and an empty or damaged trace is not a graph.
printf '{"traceEvents": [{"name": "a\\u001b[31m", "ph": "X", "ts": 1, "dur": 2, "pid": 0, "tid": 1}]}' >foreign.json
status 0 "$DFG" show foreign.json
has out 'a\x1b[31m (other)'
printf '{"traceEvents": [{"name": "a", "ph": "X", "ts": -5, "dur": 2, "pid": 0, "tid": 1, "args": {"op": "b\\u001b[31m"}}]}' >op.json
status 0 "$DFG" show op.json
has out 'a (b\x1b[31m)'
has out '2.0 us from first to last'
# Times must be finite, and no event lasts less than 0.
for time in '"ts": 1e400' '"ts": 1, "dur": -1e400' '"ts": 1, "dur": -2' '"ts": 1e300, "dur": 1'; do
	printf '{"traceEvents": [{"name": "a", "ph": "X", %s}]}' "$time" >time.json
	status 65 "$DFG" show time.json
	has err 'event 0 has no valid time: '
done
printf '{"traceEvents": {}}' >object.json
status 65 "$DFG" show object.json
has err 'traceEvents is an object, not an array'
printf '{ "traceEvents": [] }' >empty.json
status 0 "$DFG" show empty.json
has out '0 calls of 0 nodes'
printf '{"traceEvents": [3]}' >number.json
status 65 "$DFG" show number.json
has err 'event 0 is a number'
printf '{"traceEvents": [{"ph": "X"' >cut.json
status 65 "$DFG" show cut.json
status 65 "$DFG" show --tree foreign.json
status 65 "$DFG" show --svg foreign.json
has err 'does not apply to a trace'
