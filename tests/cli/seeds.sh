# Several seeds of one training: their last values, mean and deviation are those of single runs; their curves in one picture.
. "$ROOT/tests/cli/kit"

cat >net.dfg <<'P'
input x: f32[n, 2]
input y: f32[n]
output loss = mean(squared_error(dense(1)(dropout(tanh(dense(5)(x)), rate = 0.2))[:, 0], y))
P
cat >data.dfg <<'P'
output x = reshape(sin(f32(range(40)) * 1.3), [20, 2])
output y = cos(f32(range(20)))
P
for name in x y; do "$DFG" run data.dfg --fetch $name -o $name.npy; done
"$DFG" grad net.dfg --loss loss --optimizer 'adam(lr=0.05)' -o t.pb
train="run t.pb --data x=@x.npy --data y=@y.npy --batch 5 --epochs 3 --target train --fetch loss --eval-data x=@x.npy
	--eval-data y=@y.npy --eval-fetch loss"

status 0 "$DFG" $train --repeat 4 --seed 7 --shuffle 2 --metrics m.jsonl --json
mv out all.json
for i in 0 1 2 3; do
	"$DFG" $train --seed $((7 + i)) --shuffle $((2 + i)) --metrics single-$((7 + i)).jsonl --json >single-$i.json
	cmp m-$((7 + i)).jsonl single-$((7 + i)).jsonl
done
python3 - <<'P'
import json, statistics
results = json.load(open("all.json"))["results"]
value = lambda name: results[name] if not isinstance(results[name], dict) else results[name]["value"]
loss = [json.load(open(f"single-{i}.json"))["results"]["loss"] for i in range(4)]
loss = [x["value"] if isinstance(x, dict) else x for x in loss]
evaluated = [[json.loads(line)["eval"]["loss"] for line in open(f"m-{7 + i}.jsonl") if "eval" in line][-1] for i in range(4)]
near = lambda a, b: abs(a - b) <= 1e-6 * abs(b)
assert len(set(loss)) == 4
for name, wanted in ("loss", loss), ("eval_loss", evaluated):
    assert all(near(a, b) for a, b in zip(value(name), wanted)), (name, value(name), wanted)
    assert near(value(name + "/mean"), statistics.mean(wanted))
    assert near(value(name + "/deviation"), statistics.stdev(wanted))
P
status 0 "$DFG" $train --repeat 2 -o two.npz
[ "$("$DFG" show two.npz | cut -d' ' -f1 | tr '\n' ' ')" = 'loss loss/mean loss/deviation eval_loss eval_loss/mean eval_loss/deviation ' ]
has err 'seed 1, 2 of 2'

# The curves of all runs: one picture for each value, a line for each run.
status 0 "$DFG" show m-7.jsonl m-8.jsonl m-9.jsonl
[ "$(grep -c 'of 3 runs: last values have mean' out)" = 2 ]
for i in 7 8 9; do [ "$(grep -c "^m-$i.jsonl: .* over steps" out)" = 2 ]; done
python3 - out <<'P'
import json, statistics, sys
last = [[json.loads(line)["loss"] for line in open(f"m-{i}.jsonl") if "eval" not in line][-1] for i in (7, 8, 9)]
line = next(line for line in open(sys.argv[1]) if line.startswith("loss of 3"))
assert line.split("mean ")[1] == f"{statistics.mean(last):.6g}, deviation {statistics.stdev(last):.6g}\n", line
P
status 0 "$DFG" show --svg m-7.jsonl m-8.jsonl
[ "$(grep -c '<polyline' out)" = 4 ]
[ "$(grep -o 'height="[0-9]*"' out | head -1)" = 'height="520"' ]
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("out")'

# Outputs of a single training are refused.
for option in '--save w.npz' '--checkpoint ck' '--metrics -' '--keep-best b.npz --stop-early loss:3' '--trace t.json'; do
	status 2 "$DFG" $train --repeat 2 $option
	has err 'is for one training and cannot be used with --repeat and --data'
done
status 2 "$DFG" run t.pb --data x=@x.npy --data y=@y.npy --fetch loss --repeat 2
has err 'except --repeat in a training'
