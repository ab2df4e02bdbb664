# 5. LeNet, 200 steps: four shards follow one process closely, and replicas follow the shards exactly.
. "$ROOT/tests/cli/kit"

python3 - <<'PY'
import random, struct
random.seed(3)
samples = []
for i in range(48):
    label = i % 10
    picture = bytearray(784)
    for y in range(28): # a bar whose place and slope depend on the label
        picture[28 * y + (3 + 2 * label + (y * (label % 3)) // 8) % 28] = 200
    for _ in range(40):
        picture[random.randrange(784)] = random.randrange(256)
    samples.append((bytes(picture), label))
with open("images.idx", "wb") as f:
    f.write(struct.pack(">4I", 0x803, len(samples), 28, 28) + b"".join(p for p, _ in samples))
with open("labels.idx", "wb") as f:
    f.write(struct.pack(">2I", 0x801, len(samples)) + bytes(label for _, label in samples))
PY
"$DFG" build "$ROOT/examples/lenet.dfg" -D training=true -o lenet.pb
"$DFG" grad lenet.pb --loss loss --optimizer 'sgd(lr=0.02)' -o train.pb
train() { # NAME OPTIONS...
	name=$1
	shift
	status 0 timeout 100 "$DFG" run train.pb --data images=@images.idx --data labels=@labels.idx --target train --fetch loss \
		--batch 8 --steps "$steps" --metrics "$name.jsonl" --save "$name.safetensors" --seed 1 "$@"
}
steps=200
train one
train four --shards 4
steps=40
train hosts --shards 4 --replicas 2 --hosts local:2
head -40 four.jsonl | cmp - hosts.jsonl
"$DFG" diff one.safetensors four.safetensors --rtol 1e-3 --atol 1e-3
python3 - <<'PY'
import json
one, four = ([json.loads(line)["loss"] for line in open(name + ".jsonl")] for name in ("one", "four"))
assert len(one) == len(four) == 200
assert max(abs(a - b) for a, b in zip(one, four)) < 1e-4, max(abs(a - b) for a, b in zip(one, four))
assert sum(four[-20:]) < 0.8 * sum(four[:20])
PY
