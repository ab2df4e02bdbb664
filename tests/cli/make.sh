# examples/Makefile in a fresh copy: nothing is made twice, a remark does not train again, a change does.
. "$ROOT/tests/cli/kit"
cp -r "$ROOT/examples" here
rm -rf here/build
python3 - <<'PY'
import gzip, os, random, struct
random.seed(1)
os.mkdir("data")
for name, count in (("train", 40), ("t10k", 12)):
    labels = bytes(random.randrange(10) for _ in range(count))
    pixels = bytes(random.randrange(256) for _ in range(count * 784))
    with gzip.open("data/%s-images-idx3-ubyte.gz" % name, "wb") as f:
        f.write(struct.pack(">4I", 0x803, count, 28, 28) + pixels)
    with gzip.open("data/%s-labels-idx1-ubyte.gz" % name, "wb") as f:
        f.write(struct.pack(">2I", 0x801, count) + labels)
PY
target=
makes() { # COMMANDS of dfg that it must run, in their order
	MAKEFLAGS='' make -C here DFG="$DFG" DATA="$PWD/data" EPOCHS=1 ROUND=12 TEXT="$PWD/text" $target >log 2>&1 || { cat log; exit 1; }
	made=$(awk -v dfg="$DFG" '$1 == dfg { printf "%s%s", (n++ ? " " : ""), $2 }' log)
	[ "$made" = "$*" ] || { echo "made '$made', not '$*':"; cat log; exit 1; }
}
makes build build grad run run
grep -q '^accuracy: f32\[\] ' here/build/accuracy.txt
cp here/build/lenet.safetensors first
makes
sleep 0.01
sed -i '1i# A remark.' here/lenet.dfg
makes build build
makes
sed -i 's/dense(512)/dense(16)/' here/lenet.dfg
makes build build grad run run
status 1 cmp first here/build/lenet.safetensors
makes
rm here/build/accuracy.txt
makes run

# From nothing again: the same bytes.
sed -i 's/dense(16)/dense(512)/' here/lenet.dfg
rm -rf here/build
makes build build grad run run
cmp first here/build/lenet.safetensors

# A new head is trained on the network, whose variables stay as they are.
target=transfer
makes build grad run run
grep -q '^accuracy: f32\[\] ' here/build/transfer.txt
"$DFG" convert here/build/lenet.safetensors -o lenet.npz
"$DFG" convert here/build/transfer.safetensors -o transfer.npz
python3 -m zipfile -e lenet.npz lenet
python3 -m zipfile -e transfer.npz transfer
[ "$(find lenet -name '*.npy' | wc -l)" -gt 0 ]
for member in $(cd lenet && find . -path '*conv*' -name w.npy); do cmp "lenet/$member" "transfer/net/$member"; done
makes

# Replicas: of LeNet with the bits of one process, with a barrier that the program has, with a table on two servers.
target=replicated
makes run run
"$DFG" run here/build/lenet-step.pb --data images=@data/train-images-idx3-ubyte.gz --data labels=@data/train-labels-idx1-ubyte.gz \
	--batch 64 --shards 2 --target train --fetch loss --save one.safetensors
cmp one.safetensors here/build/replicated.safetensors
grep -q '^accuracy: f32\[\] ' here/build/replicated.txt
makes
target=barrier
makes build build run run
grep -q '^accuracy: f32\[\] ' here/build/barrier.txt
awk 'BEGIN { for (i = 0; i < 300; i++) printf "The %s sees %s; ", substr("abcdefg", i % 7 + 1, 1), substr("hijkl", i % 5 + 1, 1) }' >text
target=word2vec
makes build build grad run
[ "$(head -3 here/build/vocabulary.txt | tr '\n' ' ')" = 'sees the h ' ]
awk -F'"loss":' '{ v = $2 + 0; if (NR <= 5) first += v; last[NR % 5] = v } END { for (i in last) sum += last[i]; exit !(sum < 0.9 * first) }' \
	here/build/word2vec.jsonl
"$DFG" show here/build/word2vec.safetensors | grep -q '500,16'
makes
