# A trace of a replicated run has a track for each bucket, with a span from the first contribution to the end of the update
# (replication.md 7, 37). The spans of a step nest, and follow those of the step before.
. "$ROOT/tests/cli/kit"
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }

cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = ones
param b: f32[] = zeros
output loss = mean((sum(x * w, axis = 1) + b - y) ** 2)
.
"$DFG" grad fit.dfg --loss loss --optimizer 'sgd(lr=0.125)' -o train.pb
"$DFG" run fit.dfg --feed x=f32[8,2]:1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7 --fetch x -o x.npy
"$DFG" run fit.dfg --feed y=f32[8]:1,2,3,4,5,6,7,8 --fetch y -o y.npy
traced() { # REPLICAS BATCH PHASES OPTIONS...: three steps; PHASES has the spans of each replica in a bucket, in any order
	r=$1 batch=$2 phases=$3
	shift 3
	status 0 timeout 60 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss --steps 3 --batch "$batch" \
		--bucket 0 --trace t.json "$@"
	python3 - "$r" "$phases" <<'.'
import json, sys
replicas, phases = int(sys.argv[1]), sys.argv[2].split(";")
events = json.load(open("t.json"))["traceEvents"]
tracks = {}
for e in events:
    if e.get("cat") == "bucket":
        assert e["id2"]["local"] == str(e["args"]["bucket"]), e
        tracks.setdefault((e["pid"], e["args"]["bucket"], e["args"].get("tensor")), []).append(e)
assert {pid for pid, _, _ in tracks} == set(range(replicas)), tracks.keys()
assert all(len([k for k in tracks if k[0] == r]) == 2 for r in range(replicas)), tracks.keys()
assert {(n, t) for _, n, t in tracks if t} in ({(0, "b"), (1, "w")}, {(0, "w"), (1, "b")}), tracks.keys()
nodes = [e for e in events if e["ph"] == "X"]
for (pid, number, tensor), track in tracks.items():
    contributes = "contribute" in phases[pid % len(phases)]
    assert bool(tensor) == contributes, tracks.keys()  # a replica learns the names from its own contributions
    open_spans, spans, last = [], [], 0
    for e in track:
        assert e["ts"] >= last, (e, last)
        last = e["ts"]
        if e["ph"] == "b":
            open_spans.append(e)
        else:
            begun = open_spans.pop()
            assert e["ph"] == "e" and e["name"] == begun["name"], (e, begun)
            spans.append((e["name"], begun["ts"], e["ts"], len(open_spans)))
    assert not open_spans
    per_step = phases[pid % len(phases)].split() + ["bucket %d" % number]
    assert [s[0] for s in spans] == per_step * 3, spans
    for i in range(0, len(spans), len(per_step)):
        *inner, outer = spans[i:i + len(per_step)]
        assert outer[3] == 0 and all(s[3] == 1 for s in inner), spans
        edges = [outer[1]] + [t for s in inner for t in s[1:3]] + [outer[2]]
        assert edges[0::2] == edges[1::2], edges  # each phase begins where the one before it ends
        # the sum is read while it is applied
        done = [n for n in nodes if n["pid"] == pid and n["args"]["op"] == "Dfg>AllReduceDone"]
        reduced, applied = inner[-1][1:3]
        assert any(n["ts"] + n["dur"] >= reduced and n["ts"] <= applied for n in done), (spans, done)
.
}
all='contribute reduce apply'
traced 1 8 "$all" --shards 4
traced 2 8 "$all" --shards 4 --replicas 2 --hosts local:2 --algorithm direct
traced 2 8 "$all" --shards 4 --replicas 2 --hosts local:2 --algorithm shm

# A replica whose shards have no rows only applies.
traced 2 1 'apply;contribute reduce apply' --replicas 2 --hosts local:2 --algorithm direct
traced 2 1 'apply;contribute reduce apply' --replicas 2 --hosts local:2 --algorithm shm

# Other runs have no such events.
status 0 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --steps 2 --batch 8 --trace t.json
never grep -q bucket t.json
