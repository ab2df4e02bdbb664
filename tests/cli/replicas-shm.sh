# Replicas of one host reduce in memory that they share: the bits of --shards in one process and of messages over links.
. "$ROOT/tests/cli/kit"

cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param b: f32[] = zeros
param big: f32[20003] = normal([20003], deviation = 0.5)
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + b + sum(big * big) / 40000
output loss = mean((guess - y) ** 2)
output least = sum(i32(guess < y))
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adam(lr=0.125)' -o train.pb
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 7.3 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[42,2]:$(numbers 84 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[42]:$(numbers 42 31)" --fetch y -o y.npy
train() { # NAME OPTIONS...
	name=$1
	shift
	status 0 timeout 100 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss,guess,least --batch 16 \
		--metrics "$name.jsonl" --save "$name.safetensors" -o "$name.npz" --seed 7 "$@"
}
same() { # NAME NAME
	cmp "$1.jsonl" "$2.jsonl"
	cmp "$1.safetensors" "$2.safetensors"
	cmp "$1.npz" "$2.npz"
}

# 2. Batches of 16, 16 and 10 rows; a bucket for each gradient, one for all, and the default; a small and a large gradient;
# a moving average, whose variable has the reduced value itself.
train four --shards 4
for how in '2 --bucket 0 --threads 1' '3 --bucket all --threads 2' '4 --bucket 64KiB' 4; do
	# shellcheck disable=SC2086
	set -- $how
	r=$1
	shift
	train hosts --shards 4 --replicas "$r" --hosts "local:$r" --algorithm shm --transport shm "$@"
	same four hosts
done
train hosts --shards 4 --replicas 3 --hosts local:3 --algorithm direct
same four hosts

# 3, 7. Ranges of shards that are not subtrees; replicas without rows.
train odd --shards 7 --batch 5 --steps 4
train hosts --shards 7 --replicas 3 --hosts local:3 --algorithm shm --batch 5 --steps 4
same odd hosts
train few --shards 4 --batch 2 --steps 3
train hosts --replicas 4 --hosts local:4 --algorithm shm --batch 2 --steps 3
same few hosts

# 13. Both count the same contributions and results.
for algorithm in shm direct; do
	status 0 timeout 100 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --batch 16 --steps 1 --replicas 3 \
		--hosts local:3 --fetch loss --stats --algorithm "$algorithm"
	grep 'bytes' err | grep -v peak >"$algorithm.bytes"
done
cmp shm.bytes direct.bytes

# Options that contradict each other.
status 2 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --replicas 2 --hosts local:2 --algorithm star
has err "--algorithm must be auto, direct, shm, halving or ring, not 'star'"
status 2 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --shards 2 --algorithm shm
has err '--algorithm requires --replicas'
status 65 timeout 60 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --replicas 2 --hosts local:2 --algorithm shm --transport libcurl
has err '--algorithm shm requires --transport shm between the replicas; w0 and w1 use libcurl'

# The share of the reduction that is hidden, and the slowest replica: in the second graph it is the one that gets the rows
# with a long loop, for which the other waits.
cat >skew.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = zeros
_, s = loop (i = 0, s = 0.0) while f32(i) < 200000.0 * max(y) {
    next i + 1, s + 1e-9
}
output loss = mean((sum(x * w, axis = 1) - y - s * 0.0) ** 2)
.
"$DFG" build skew.dfg -o skew.pb
"$DFG" grad skew.pb --loss loss --wrt w --optimizer 'sgd(lr=0.01)' -o skew-train.pb
for slowest in 0 1; do
	"$DFG" run fit.pb --feed "y=f32[4]:$([ $slowest = 0 ] && echo 1,1,0,0 || echo 0,0,1,1)" --fetch y -o rows.npy
	"$DFG" run fit.pb --feed "x=f32[4,2]:1,2,3,4,5,6,7,8" --fetch x -o four.npy
	for algorithm in shm direct; do
		status 0 timeout 60 "$DFG" run skew-train.pb --data x=@four.npy --data y=@rows.npy --target train --batch 4 --no-shuffle --reduce mean \
			--stats --json --replicas 2 --hosts local:2 --algorithm "$algorithm"
		has out "\"slowest\":$slowest"
		has out '"hidden":'
	done
done

# The memory that is shared, two contributions and a result of 4 MB each, counts against the limit of a worker.
cat >large.dfg <<'END'
input y: f32[n]
param large: f32[1000000] = zeros
output loss = mean((sum(large) - y) ** 2)
END
"$DFG" build large.dfg -o large.pb
"$DFG" grad large.pb --loss loss --optimizer 'sgd(lr=0.1)' -o large-train.pb
status 71 timeout 100 "$DFG" run large-train.pb --data y=@y.npy --batch 16 --target train --replicas 2 --hosts local:2 --memory-limit 11M
has err 'shared bytes in which replicas reduce gradients'
