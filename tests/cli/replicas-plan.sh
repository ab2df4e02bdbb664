# Plans of a replica: partition --shards, its explanation, and runs with any number of replicas.
. "$ROOT/tests/cli/kit"

cat >fit.dfg <<'.'
input x: f32[n, 3]
input y: f32[n]
param w: f32[3, 5] = 0.25
param v: f32[5] = 0.5
param none: f32[0] = zeros
output guess = sum((x @ w) * v, axis = 1) + sum(none)
output loss = mean((guess - y) ** 2)
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'momentum(lr=0.01)' -o train.pb
get() { # EXPRESSION: of the JSON document `it` in out
	python3 -c "import json; it = json.load(open('out')); print($1)"
}
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 7.3 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[24,3]:$(numbers 72 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[24]:$(numbers 24 31)" --fetch y -o y.npy
run() { # NAME GRAPH OPTIONS...
	name=$1
	shift
	status 0 timeout 100 "$DFG" run "$@" --data x=@x.npy --data y=@y.npy --target train --fetch loss --batch 12 --epochs 2 \
		--metrics "$name.jsonl" --save "$name.safetensors"
}

# One plan for any number of replicas up to that of the shards; the graph and the plan have the same bits.
run alone train.pb --shards 6
status 0 "$DFG" partition train.pb --hosts local:1 --shards 6 -o plan
has plan/manifest.json '{"format":"dfg plan","version":2,"shards":6,"buckets":1,"devices":['
for r in 1 2 3; do
	run plan plan --hosts "local:$r" --replicas "$r"
	cmp alone.jsonl plan.jsonl
	cmp alone.safetensors plan.safetensors
done
run plan plan --hosts local:2 --replicas 2 --shards 6
cmp alone.safetensors plan.safetensors

# --min-replicas alone takes all hosts, as many a replica as the plan has parts.
run plan plan --hosts local:3 --min-replicas 2
has err '3 replicas; --shards 6 computes the same with any number of them'
cmp alone.safetensors plan.safetensors
status 0 "$DFG" partition train.pb --hosts local:2 --shards 6 --place 'v*=w1' -o pair
[ -e pair/w1.pb ]
run plan pair --hosts local:4 --min-replicas 1
has err '2 replicas; --shards 6 computes the same with any number of them'
cmp alone.safetensors plan.safetensors
run plan train.pb --hosts local:4 --min-replicas 1 --place 'v*=w1' --shards 6
has err '2 replicas; --shards 6'
cmp alone.safetensors plan.safetensors
status 65 "$DFG" run pair --hosts local:3 --min-replicas 1 --data x=@x.npy --data y=@y.npy --target train --batch 12
has err 'the plan is for 2 workers, but --hosts has 3'

# 13. The same plan each time; one shard leaves the plan as it was.
status 0 "$DFG" partition train.pb --hosts local:4 --replicas 4 --shards 6 -o again
diff -r plan again
status 0 "$DFG" partition train.pb --hosts local:1 -o one
status 0 "$DFG" partition train.pb --hosts local:1 --replicas 1 --shards 1 -o once
diff -r one once
has one/manifest.json '"version":1,'

# 13. The bytes that are explained are sent. With as many shards they are 2 (R - 1) times the bucket: 15 + 5 + 0 numbers,
# each tensor from a multiple of 16 on.
for r in 2 3; do
	status 0 "$DFG" partition train.pb --hosts "local:$r" --replicas "$r" --explain --json
	[ "$(get "it['replication']['replicas'], it['replication']['shards'], it['replication']['reduce'], it['replication']['loss']")" = "$r $r mean loss" ]
	[ "$(get "it['replication']['buckets']")" = "[{'dtype': 'f32', 'reduce': 'mean', 'tensors': ['none', 'w', 'v'], 'bytes': 80}]" ]
	[ "$(get "it['replication']['bytes']")" = $((2 * (r - 1) * 32 * 4)) ]
	for s in "$r" 5; do
		status 0 "$DFG" partition train.pb --hosts "local:$r" --replicas "$r" --shards "$s" --explain --json
		explained=$(get "it['replication']['bytes']")
		status 0 "$DFG" run train.pb --hosts "local:$r" --replicas "$r" --shards "$s" --data x=@x.npy --data y=@y.npy --target train --batch 12 --stats --json
		[ "$(get "sum(it['stats']['bytes'].values())")" = "$explained" ]
	done
done
status 0 "$DFG" partition train.pb --hosts local:2 --replicas 2 --explain
has out "bucket 0: mean of 80 bytes of f32: 'none', 'w', 'v'"
has out '2 shards on 2 replicas: 256 bytes of sums a step; the learning rate is not scaled'
has out 'reduced by --algorithm direct, or shm between processes of one host: 2 messages of a replica for each bucket, 2 one after the other'
status 0 "$DFG" partition train.pb --hosts local:4 --replicas 4 --algorithm halving --explain
has out 'reduced by --algorithm halving: 4 messages of a replica for each bucket, 4 one after the other'
# Many replicas: 2 log2 32 messages in place of 2 (32 - 1).
status 0 "$DFG" partition train.pb --hosts local:32 --replicas 32 --explain --json
[ "$(get "it['replication']['algorithm'], it['replication']['messages']")" = 'halving 10' ]
status 0 "$DFG" partition train.pb --hosts local:32 --replicas 32 --algorithm direct --explain --json
[ "$(get "it['replication']['algorithm'], it['replication']['messages']")" = 'direct 62' ]

# Replicas of two parts.
run alone train.pb --shards 2
status 0 "$DFG" partition train.pb --hosts local:4 --replicas 2 --place 'w*=w1' -o parts
run plan parts --hosts local:4 --replicas 2
cmp alone.safetensors plan.safetensors

# Numbers of shards, replicas and workers other than those of the plan are refused; a batch of fixed size cannot be cut.
refused() { # WORDS OPTIONS...
	words=$1
	shift
	status 65 "$DFG" run "$@" --data x=@x.npy --data y=@y.npy --target train
	has err "$words"
}
refused 'plan: the plan is for 6 shards, fewer than 7 replicas: partition with --shards' plan --hosts local:7 --replicas 7
refused 'plan: the plan is for --shards 6, not 4' plan --hosts local:2 --replicas 2 --shards 4
refused 'one: the plan is for 1 shard, fewer than 2 replicas: partition with --shards' one --hosts local:2 --replicas 2
refused 'parts: the plan is for 2 workers, but --hosts has 1 for each replica' parts --hosts local:2 --replicas 2
status 65 "$DFG" partition train.pb --hosts local:3 --replicas 2 -o bad
has err '--hosts has 3 workers, expected a multiple of --replicas 2'

# 12. Inputs with a fixed number of rows have that of one shard.
sed 's/f32\[n/f32[2/' fit.dfg >fixed.dfg
"$DFG" build fixed.dfg -o fixed.pb
"$DFG" grad fixed.pb --loss loss --optimizer 'momentum(lr=0.01)' -o fixed-train.pb
status 0 "$DFG" partition fixed-train.pb --hosts local:1 --shards 6 -o fixed
has err 'each input has 2 rows, the size of one shard: feed 12 rows, for 6 shards'
run one fixed-train.pb --shards 6
run fixed fixed --hosts local:2 --replicas 2
cmp one.jsonl fixed.jsonl
cmp one.safetensors fixed.safetensors
status 65 "$DFG" run fixed --hosts local:2 --replicas 2 --data x=@x.npy --data y=@y.npy --target train --batch 6
has err 'requires batches of 12 samples, but the batch size is 6'
echo 'input z: f32[5]' >>fixed.dfg
"$DFG" build fixed.dfg -o fixed.pb
status 65 "$DFG" partition fixed.pb --hosts local:2 --shards 2 -o bad
has err 'no input can be divided among 2 shards: none has an unknown number of rows'
sed -i 's/"shards":6/"shards":0/' plan/manifest.json
status 65 "$DFG" run plan --hosts local:1 --data x=@x.npy --data y=@y.npy --target train
has err '"shards" is 0, expected 2 to 65536'
[ ! -e bad ]
