# 28. The barrier of figure 4 of the TensorFlow paper, by queues that the lanes of a parameter server share.
. "$ROOT/tests/cli/kit"

cat >barrier.dfg <<'.'
const replicas = 3
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = zeros
param b: f32[] = zeros
output loss = mean((Dfg>Sleep(sum(x * w, axis = 1), ms = 1) + b - y) ** 2)
output number = f32(lane()) + 0 * sum(y)
gradients = FIFOQueueV2(component_types = [f32, f32], shapes = [[2], []], capacity = replicas)
tokens = []
static for k in 0..replicas { tokens = tokens + [FIFOQueueV2(component_types = [i32], shapes = [[]], capacity = 1)] }
dw, db = grad(loss, [w, b])
target train {
    QueueEnqueueV2(gradients, [dw, db])
    if lane() == 0 {
        all = QueueDequeueManyV2(gradients, replicas, component_types = [f32, f32])
        set w -= 0.125 * mean(all[0], axis = 0)
        set b -= 0.125 * mean(all[1], axis = 0)
        after w, b { static for k in 0..replicas { QueueEnqueueV2(tokens[k], [0]) } }
    } else { }
    static for k in 0..replicas {
        if lane() == k { QueueDequeueV2(tokens[k], component_types = [i32])[0] } else { 0 }
    }
}
.
cat >plain.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = zeros
param b: f32[] = zeros
output loss = mean((sum(x * w, axis = 1) + b - y) ** 2)
.
"$DFG" build barrier.dfg -o barrier.pb
"$DFG" build plain.dfg -o plain.pb
"$DFG" grad plain.pb --loss loss --optimizer 'sgd(lr=0.125)' -o plain.pb
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 50 - 1 }'
}
"$DFG" run plain.pb --feed "x=f32[48,2]:$(numbers 96 5)" --fetch x -o x.npy
"$DFG" run plain.pb --feed "y=f32[48]:$(numbers 48 31)" --fetch y -o y.npy
data="--data x=@x.npy --data y=@y.npy --target train --fetch loss --no-shuffle"
printf 'local:3\nlocal:1 job=ps\n' >one
printf 'local:3\nlocal:2 job=ps\n' >two
barrier() { # OPTIONS...
	# shellcheck disable=SC2086
	timeout -k 5 100 "$DFG" run barrier.pb $data --sync async --save barrier.safetensors --metrics barrier.jsonl "$@" >out 2>err
}
equal() { # the variables are those of training with whole batches
	"$DFG" convert barrier.safetensors -o barrier.npz
	"$DFG" convert plain.safetensors -o plain.npz
	python3 - <<'PY'
import struct, zipfile
def values(path):
    with zipfile.ZipFile(path) as z:
        return {n: struct.unpack("<%df" % ((len(d) - 128) // 4), d[128:]) for n in ("w.npy", "b.npy") for d in [z.read(n)]}
one, two = values("barrier.npz"), values("plain.npz")
assert all(abs(a - b) < 1e-5 for n in one for a, b in zip(one[n], two[n])), (one, two)
assert max(one["w.npy"]) > 0.05, one
PY
}

# A round of three steps of 4 rows is a step of 12. All steps of a round have the same variables.
# shellcheck disable=SC2086
"$DFG" run plain.pb $data --batch 12 --epochs 3 --save plain.safetensors --metrics plain.jsonl >out
for hosts in one two; do
	rm -f barrier.jsonl
	barrier --hosts ./$hosts --batch 12 --epochs 3
	equal
	python3 - <<'PY'
import json
rounds, whole = ([json.loads(line)["loss"] for line in open(name + ".jsonl")] for name in ("barrier", "plain"))
assert len(rounds) == 36 and len(whole) == 12
assert all(abs(sum(rounds[3 * i:3 * i + 3]) / 3 - whole[i]) < 1e-5 for i in range(12)), (rounds, whole)
PY
done

# Each lane knows its number; a checkpoint is between two rounds, and training that is resumed from it ends as without.
barrier --hosts ./one --batch 12 --steps 3 --fetch number --metrics lanes.jsonl
[ "$(sed 's/.*"number"://' lanes.jsonl | sort | tr -d '}\n')" = 012 ]
barrier --hosts ./one --batch 12 --epochs 3 --steps 15 --checkpoint ck --every 4
[ "$(ls -d ck/step-*)" = "$(printf 'ck/step-12\nck/step-15\nck/step-6\nck/step-9')" ] || { ls ck; exit 1; }
barrier --hosts ./two --batch 12 --epochs 3 --checkpoint ck --resume
equal

# --drop-last leaves out steps that do not make a whole round; a run that is told to stop completes its round.
barrier --hosts ./one --batch 15 --epochs 1 --drop-last
[ "$(wc -l <barrier.jsonl)" = 9 ]
barrier --hosts ./one --batch 12 --epochs 9999 --checkpoint stopped &
run=$!
within grep -qs '"step":20,' barrier.jsonl
kill -TERM "$(pgrep -P $run -f 'dfg run')"
ended=0
wait $run || ended=$?
[ "$ended" = 75 ] || { echo "status $ended"; cat err; exit 1; }
[ $(($(wc -l <barrier.jsonl) % 3)) = 0 ]

fails() { # STATUS WORDS OPTIONS...
	wanted=$1
	words=$2
	shift 2
	got=0
	barrier "$@" || got=$?
	[ "$got" = "$wanted" ] || { echo "status $got, not $wanted"; cat err; exit 1; }
	has err "$words"
}
fails 65 'without --drop-last: the number of steps in an epoch, 10 is not a multiple of the 3 replicas' --hosts ./one --batch 15
fails 65 '--steps 10 is not a multiple of the 3 replicas' --hosts ./one --batch 12 --steps 10
fails 65 '--eval-every 4 is not a multiple' --hosts ./one --batch 12 --steps 12 --eval-every 4 --eval-data x=@x.npy \
	--eval-data y=@y.npy --eval-fetch loss
fails 2 '--feed _dfg/lane cannot be used with --sync async, which feeds this input the number of each replica' --hosts ./one --batch 12 --feed _dfg/lane=1
sed 's/replicas = 3/replicas = 4/' barrier.dfg >four.dfg
"$DFG" build four.dfg -o barrier.pb
fails 124 'step' --hosts ./one --batch 12 --timeout 1
