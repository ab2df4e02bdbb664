# Finding 6: metrics over batches are those of all rows, whatever the batch: sums are taken over the batches, and a metric is
# computed from the sums. The numbers are computed below from the definitions.
. "$ROOT/tests/cli/kit"
cat >m.dfg <<'.'
input x: f32[n, 3]
input label: i64[n]
input hit: i32[n]
input real: f32[n]
param scale: f32[] = 1
logits = x * scale
p = softmax(logits)[:, 0]
predicted = argmax(logits)
output loss = mean(cross_entropy(logits, label))
output perplexity = perplexity(logits, label)
output accuracy = total_accuracy(logits, label)
output top = total_top_k(logits, label, 2)
output matrix = confusion(predicted, label, 3)
output iou = mean_iou(predicted, label, 3)
output precise = precision(p, hit)
output recalled = recall(p, hit)
output f1_ = f1(p, hit)
output area = auc(p, hit, bins = 16)
output mae = mean_absolute_error(p, real)
output rmse = root_mean_squared_error(p, real)
output r2 = r_squared(p, real)
output rows = p
.
cat >expect.py <<'.'
import math, random, struct
random.seed(3)
N = 37
x = [[struct.unpack("f", struct.pack("f", random.gauss(0, 2)))[0] for _ in range(3)] for _ in range(N)]
label = [random.randrange(3) for _ in range(N)]
hit = [int(random.random() < 0.25 + 0.5 * (r[0] > r[1])) for r in x]
real = [struct.unpack("f", struct.pack("f", random.random()))[0] for _ in range(N)]
with open("x.csv", "w") as f:
    f.writelines(",".join(repr(v) for v in (*r, l, h, t)) + "\n" for r, l, h, t in zip(x, label, hit, real))
soft = [[math.exp(v) / sum(map(math.exp, r)) for v in r] for r in x]
p, best = [s[0] for s in soft], [r.index(max(r)) for r in x]
m = [[sum(1 for b, l in zip(best, label) if (l, b) == (i, j)) for j in range(3)] for i in range(3)]
tp = sum(1 for v, h in zip(p, hit) if v > 0.5 and h)
found, right = sum(v > 0.5 for v in p), sum(hit)
bins = [min(max(math.ceil(v * 16) - 1, 0), 15) for v in p]
pairs = [(a > b) + (a == b) / 2 for a, i in zip(bins, hit) for b, j in zip(bins, hit) if i and not j]
mean = sum(real) / N
wanted = {
    "loss": sum(-math.log(s[l]) for s, l in zip(soft, label)) / N,
    "perplexity": math.exp(sum(-math.log(s[l]) for s, l in zip(soft, label)) / N),
    "accuracy": sum(b == l for b, l in zip(best, label)) / N,
    "top": sum(sum(v > r[l] for v in r) < 2 for r, l in zip(x, label)) / N,
    "iou": sum(m[i][i] / (sum(m[i]) + sum(r[i] for r in m) - m[i][i]) for i in range(3)) / 3,
    "precise": tp / found, "recalled": tp / right, "f1_": 2 * tp / (found + right),
    "area": sum(pairs) / len(pairs),
    "mae": sum(abs(a - b) for a, b in zip(p, real)) / N,
    "rmse": math.sqrt(sum((a - b) ** 2 for a, b in zip(p, real)) / N),
    "r2": 1 - sum((a - b) ** 2 for a, b in zip(p, real)) / sum((b - mean) ** 2 for b in real),
    "matrix": m,
}
.
cat >compare.py <<'.'
import json, sys
sys.path.insert(0, ".")
from expect import wanted
def near(a, b):
    return all(map(near, a, b)) if isinstance(b, list) else abs(a - b) < 1e-6
got = json.load(open(sys.argv[1]))["results"]
for name, value in wanted.items():
    assert near(got[name]["value"], value), (name, got[name]["value"], value)
assert got["rows"]["shape"] == [37] and list(got)[:3] == ["loss", "perplexity", "accuracy"], list(got)
.
python3 expect.py
"$DFG" build m.dfg -o m.pb
data='--data x=@x.csv[0:3] --data label=@x.csv[3] --data hit=@x.csv[4] --data real=@x.csv[5]'
for options in "--batch 1" "--batch 8" "--batch 37" "--batch 8 --threads 3 --no-opt" "--batch 8 --hosts local:2" "--batch 8 --shards 3"; do
	# shellcheck disable=SC2086
	status 0 "$DFG" run m.pb $data $options --json
	mv out json
	python3 compare.py json || { echo "with $options"; exit 1; }
done

# An evaluation starts anew each time, and has each metric's own form.
"$DFG" grad m.pb --loss loss --optimizer 'sgd(lr = 0)' -o t.pb
eval=$(echo "$data" | sed 's/--data/--eval-data/g')
# shellcheck disable=SC2086
status 0 "$DFG" run t.pb $data $eval --batch 8 --epochs 2 --target train --fetch loss --metrics m.jsonl \
	--eval-fetch loss,perplexity,accuracy,top,iou,precise,recalled,f1_,area,mae,rmse,r2,matrix
python3 - <<'.'
import json
from expect import wanted
lines = [json.loads(line) for line in open("m.jsonl")]
evals = [line["eval"] for line in lines if "eval" in line]
assert len(evals) == 2
for found in evals:
    for name, value in wanted.items():
        flat = lambda v: sum(map(flat, v), []) if isinstance(v, list) else [v]
        assert all(abs(a - b) < 1e-6 for a, b in zip(flat(found[name]), flat(value))), (name, found[name], value)
.
has err 'epoch 1: area 0.'
never grep -q 'matrix' err

# A metric that reads rows in another way, a total of a total, and a total in a loop are errors.
cat >bad.dfg <<'.'
input x: f32[n]
output mixed = total(sum(x)) / mean(x)
output twice = total(sum((x - total(sum(x))) ** 2))
.
"$DFG" build bad.dfg -o bad.pb
status 65 "$DFG" run bad.pb --data 'x=@x.csv[0]' --batch 8 --fetch mixed
has err 'when only the values of total() are known'
status 65 "$DFG" run bad.pb --data 'x=@x.csv[0]' --batch 8 --fetch twice
has err 'is a total that depends on the total'
printf 'input x: f32[n]\noutput y = loop (s = f32(0)) for v in x { next total(s + v) }\n' >loop.dfg
status 65 "$DFG" build loop.dfg -o loop.pb
has err 'total() is allowed only outside of loops and branches'
# Shapes of a total agree.
printf 'input x: f32[n]\noutput y = sum(total(x))\n' >shape.dfg
"$DFG" build shape.dfg -o shape.pb
status 65 "$DFG" run shape.pb --data 'x=@x.csv[0]' --batch 8
has err 'is f32[8] in one batch, but f32[5] in another'

# The mark of a total in a graph of another program: of strings, and of a node that is not an Identity.
cat >marked.pbtxt <<'END'
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } } } } }
node { name: "word" op: "AsString" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "words" op: "Identity" input: "word" attr { key: "T" value { type: DT_STRING } } attr { key: "_dfg_total" value { b: true } } }
node { name: "after" op: "Identity" input: "x" input: "^nothing" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "nothing" op: "NoOp" attr { key: "_dfg_total" value { b: true } } }
END
status 65 "$DFG" run marked.pbtxt --data 'x=@x.csv[0]' --batch 8 --fetch words
has err "node 'words' is a total, which sums numbers, not string"
status 0 "$DFG" run marked.pbtxt --data 'x=@x.csv[0]' --batch 8 --fetch after
