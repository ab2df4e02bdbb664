# A batch cut into shards: `dfg run --shards S`. Values from a single process of exact arithmetic, or computed here.
. "$ROOT/tests/cli/kit"

# A line through points, in f32; data of small whole numbers, whose sums are exact.
cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = zeros
param b: f32[] = zeros
output guess = sum(x * w, axis = 1) + b
output loss = mean((guess - y) ** 2)
output total = sum((guess - y) ** 2)
.
"$DFG" build fit.dfg -o fit.pb
for rule in sgd momentum adam; do
	"$DFG" grad fit.pb --loss loss --optimizer "$rule(lr=0.125)" -o "$rule.pb"
done
"$DFG" grad fit.pb --loss total --optimizer 'sgd(lr=0.0078125)' -o total.pb
numbers() { # COUNT FACTOR: whole numbers from -3 to 3, with commas
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", (i * f + 1) % 7 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[24,2]:$(numbers 48 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[24]:$(numbers 24 3)" --fetch y -o y.npy
train() { # GRAPH NAME OPTIONS...: metrics in NAME.jsonl, variables in NAME.npz
	graph=$1
	name=$2
	shift 2
	status 0 "$DFG" run "$graph" --data x=@x.npy --data y=@y.npy --target train --fetch loss --metrics "$name.jsonl" --save "$name.npz" "$@"
}
same() { # NAME NAME
	cmp "$1.jsonl" "$2.jsonl"
	cmp "$1.npz" "$2.npz"
}

# 1. One shard is a plain run.
for rule in sgd momentum adam; do
	train "$rule.pb" plain --batch 8
	train "$rule.pb" one --batch 8 --shards 1
	train "$rule.pb" replica --batch 8 --replicas 1
	same plain one
	same plain replica
done

# 4. Shards of as many rows each, and whole numbers: exactly the single process, as long as sums are exact.
train sgd.pb exact --batch 8 --steps 1 --no-shuffle
for shards in 2 4 8; do
	train sgd.pb sharded --batch 8 --steps 1 --no-shuffle --shards "$shards"
	same exact sharded
done

# 2. Bits depend on S alone: not on buckets, threads and the schedule.
for rule in sgd momentum adam; do
	train "$rule.pb" first --batch 8 --epochs 3 --shards 4
	for how in '--bucket 0' '--bucket all' '--bucket 8' '--threads 1' '--threads 2' '--schedule random:3' --no-opt; do
		# shellcheck disable=SC2086
		train "$rule.pb" again --batch 8 --epochs 3 --shards 4 $how
		same first again
	done
done

# 7. 10 rows over 4 shards, then 2 of the next batch: 12 samples in batches of 10. The mean is weighted by rows.
"$DFG" run fit.pb --feed "x=f32[12,2]:$(numbers 24 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[12]:$(numbers 12 3)" --fetch y -o y.npy
train sgd.pb plain --batch 10 --no-shuffle
train sgd.pb short --batch 10 --no-shuffle --shards 4
"$DFG" diff plain.npz short.npz --rtol 1e-5 --atol 1e-6
awk -F'[:,}]' 'NR == FNR { loss[NR] = $6; next } { d = loss[FNR] - $6; if (d * d > 1e-10 * loss[FNR] ^ 2) exit 1 } END { exit FNR != 2 }' plain.jsonl short.jsonl

# 10. The sum of a loss that is a sum; fetches are added likewise.
"$DFG" run fit.pb --feed "x=f32[24,2]:$(numbers 48 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[24]:$(numbers 24 3)" --fetch y -o y.npy
train total.pb exact --batch 8 --steps 1 --no-shuffle --fetch total
train total.pb sharded --batch 8 --steps 1 --no-shuffle --shards 4 --fetch total
same exact sharded
