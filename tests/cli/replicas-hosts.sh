# Replicas in processes of their own: the bits of --shards in one process, for every number of replicas.
. "$ROOT/tests/cli/kit"

cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param b: f32[] = zeros
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + b
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
	status 0 timeout 100 "$DFG" run "${graph:-train.pb}" --data x=@x.npy --data y=@y.npy --target train --fetch loss,guess,least --batch 16 \
		--metrics "$name.jsonl" --save "$name.safetensors" -o "$name.npz" --seed 7 "$@"
}
same() { # NAME NAME
	cmp "$1.jsonl" "$2.jsonl"
	cmp "$1.safetensors" "$2.safetensors"
	cmp "$1.npz" "$2.npz"
}

# 2, 7, 9, 11. Batches of 16, 16 and 10 rows: the last shards differ in size. Moving averages, dropout, Adam's slots.
train four --shards 4 --epochs 2
for r in 1 2 3 4; do
	train hosts --shards 4 --replicas "$r" --hosts "local:$r" --epochs 2
	same four hosts
done
train hosts --replicas 4 --hosts local:4 --epochs 2
same four hosts
for how in '--bucket 0 --threads 1' '--bucket all --transport libcurl' '--threads 2 --no-opt'; do
	# shellcheck disable=SC2086
	train hosts --shards 4 --replicas 2 --hosts local:2 --epochs 2 $how
	same four hosts
done

# By halves that pairs exchange, over either transport; the batch of 10 rows is short, and one of 2 has shards without rows.
for how in '2 --transport shm' '4 --transport libcurl'; do
	set -- $how
	train hosts --shards 4 --replicas "$1" --hosts "local:$1" --algorithm halving "$2" "$3" --epochs 2
	same four hosts
done
# 32. Adasum combines in the order of the tree too: the same bits for each number of replicas.
train combined --shards 4 --reduce adasum --epochs 2
for how in '2 --transport shm' '3 --bucket 0' '4 --transport libcurl'; do
	set -- $how
	train hosts --shards 4 --replicas "$1" --hosts "local:$1" --reduce adasum "$2" "$3" --epochs 2
	same combined hosts
done
never cmp -s four.safetensors combined.safetensors
status 65 "$DFG" run train.pb --shards 3 --reduce adasum
has err '--reduce adasum requires a number of shards that is a power of two, not 3'
status 2 "$DFG" run train.pb --hosts local:2 --replicas 2 --reduce adasum --algorithm shm
has err '--algorithm shm cannot be used with --reduce adasum'
status 2 "$DFG" run train.pb --hosts local:2 --replicas 2 --reduce adasum --sync ssp --staleness 2
has err '--reduce adasum cannot be used with --sync ssp'
# A ring adds in an order of its own, in each run the same.
for name in ring again; do
	train "$name" --replicas 3 --hosts local:3 --algorithm ring --verify-replicas 1
done
same ring again

# 3. Shards that the replicas do not divide evenly.
train twelve --shards 12
for r in 5 7; do
	train hosts --shards 12 --replicas "$r" --hosts "local:$r"
	same twelve hosts
done

status 2 "$DFG" run train.pb --hosts local:3 --replicas 3 --shards 12 --algorithm halving
has err '--algorithm halving requires numbers of replicas and shards that are powers of two, not 3 and 12'
status 2 "$DFG" run train.pb --hosts local:3 --replicas 3 --min-replicas 2 --algorithm ring
has err '--algorithm ring cannot be used with --min-replicas: its sums depend on how many replicas are left'
status 2 "$DFG" run train.pb --hosts local:3 --replicas 3 --algorithm star
has err "--algorithm must be auto, direct, shm, halving or ring, not 'star'"

# 7. Replicas without a row take part in no sum, and have its result. A batch may be smaller than the number of shards.
train few --shards 4 --batch 2 --steps 3
train hosts --replicas 4 --hosts local:4 --batch 2 --steps 3
same few hosts

# 14. Replicas of two workers each; replicas of one, with a plan of two parts in one replica.
train two --shards 2
train hosts --shards 2 --hosts local:4 --replicas 2 --place 'w*=w1' --place 'guess*=w1'
same two hosts
train hosts --shards 2 --hosts local:2 --place 'w*=w1'
same two hosts

# 16. A checkpoint is resumed by another number of replicas; variables that are loaded reach all of them.
train whole --shards 3 --epochs 4
train part --shards 3 --epochs 2 --replicas 3 --hosts local:3 --checkpoint ck
train part --shards 3 --epochs 4 --replicas 2 --hosts local:2 --checkpoint ck --resume
cmp whole.safetensors part.safetensors
train part --shards 3 --epochs 4 --steps 7 --checkpoint ck --force
status 65 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --batch 16 --epochs 4 --checkpoint ck --resume --shards 2
has err 'was made with --shards 3, but this run has --shards 2: they must be equal, as the run continues within an epoch'
train part --shards 3 --steps 6 --checkpoint ck --force
status 0 "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --batch 16 --epochs 3 --checkpoint ck --resume --shards 2
has err 'warning: ck was made with --shards 3, but this run has --shards 2'
train one --shards 2 --load part.safetensors
train hosts --replicas 2 --hosts local:2 --load part.safetensors
same one hosts

# 16. State of every kind of number.
{
	sed '/^set/d' fit.dfg
	for t in f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64; do
		echo "state s_$t: $t[3] = [1, 2, 3]"
		echo "set s_$t = s_$t + [1, 1, 1]"
	done
	echo 'state s_bool: bool[2] = [true, false]'
} >dtypes.dfg
"$DFG" build dtypes.dfg -o dtypes.pb
"$DFG" grad dtypes.pb --loss loss --optimizer 'momentum(lr=0.01)' -o dtypes-train.pb
graph=dtypes-train.pb
train one --shards 2
train hosts --replicas 2 --hosts local:2
same one hosts
graph=train.pb

# 17. Evaluation and inference.
train one --shards 3 --eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss,least
train hosts --shards 3 --replicas 2 --hosts local:2 --eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss,least
same one hosts
for how in '' '--replicas 2 --hosts local:2'; do
	# shellcheck disable=SC2086
	status 0 "$DFG" run fit.pb --data x=@x.npy --data y=@y.npy --batch 11 --fetch guess,loss,least --shards 3 --seed 3 $how
	mv out "out.${how:+hosts}"
done
cmp out. out.hosts

# Options and files that do not fit.
run() { # STATUS OPTIONS...
	wanted=$1
	shift
	status "$wanted" "$DFG" run train.pb --data x=@x.npy --data y=@y.npy --target train --batch 16 "$@"
}
run 65 --replicas 3 --hosts local:2
has err '--hosts has 2 workers, expected a multiple of --replicas 3'
run 65 --replicas 2 --hosts local:3
has err '--hosts has 3 workers, expected a multiple of --replicas 2'
run 2 --replicas 3 --shards 2 --hosts local:3
has err '--shards 2 is less than --replicas 3'
run 2 --replicas 2
has err '--replicas 2 requires --hosts'
"$DFG" run fit.pb --feed "y=f32[41]:$(numbers 41 31)" --fetch y -o short.npy
status 65 "$DFG" run train.pb --data x=@x.npy --data y=@short.npy --target train --replicas 2 --hosts local:2
has err 'x.npy has 42 samples, but short.npy has 41'
"$DFG" partition train.pb --hosts local:1 -o plan
status 65 "$DFG" run plan --data x=@x.npy --data y=@y.npy --target train --replicas 2 --hosts local:2

# An error in one shard names the replica and the shard, and ends all.
sed 's/^output loss.*/checked = CheckNumerics(1 \/ (y - 100), message = "bad row")\noutput loss = mean((guess - y) ** 2) + mean(checked)/' fit.dfg >bad.dfg
"$DFG" build bad.dfg -o bad.pb
"$DFG" grad bad.pb --loss loss --optimizer 'sgd(lr=0.1)' -o bad-train.pb
"$DFG" run fit.pb --feed "y=f32[42]:$(awk 'BEGIN { for (i = 0; i < 42; i++) printf "%s%d", i ? "," : "", i == 13 ? 100 : i }')" --fetch y -o y.npy
status 65 timeout 60 "$DFG" run bad-train.pb --data x=@x.npy --data y=@y.npy --target train --batch 16 --no-shuffle --fetch loss --replicas 2 --hosts local:2 --shards 4
has err 'replica 1, shard 3: '

# A host whose products have other bits is named (the wrapper stands for a processor without fused multiply-adds).
cat >dfg-mul <<.
#!/bin/sh
"$DFG" "\$@" | sed -u 's/"products":"[a-z]*"/"products":"none"/'
.
chmod +x dfg-mul
printf 'local:1\nlocal:1 dfg=%s/dfg-mul\n' "$PWD" >list
status 0 timeout 60 "$DFG" run fit.pb --data x=@x.npy --data y=@y.npy --fetch loss --batch 42 --replicas 2 --hosts ./list
has err "w1: warning: matrix products are rounded by 'none' here, but by '"

# 19. A replica that is killed ends the run, and the other replica.
cat >slow.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = 0.5
output loss = mean((Dfg>Sleep(sum(x * w, axis = 1), ms = 20) - y) ** 2)
.
"$DFG" build slow.dfg -o slow.pb
"$DFG" grad slow.pb --loss loss --optimizer 'sgd(lr=0.001)' -o slow-train.pb
timeout 60 "$DFG" run slow-train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss --batch 10 --steps 100000 \
	--replicas 2 --hosts local:2 --metrics slow.jsonl 2>err &
run=$!
while ! grep -qs "\"step\":3" slow.jsonl; do sleep 0.05; done
launcher=$(cat "/proc/$run/task/$run/children")
# shellcheck disable=SC2046,SC2086
set -- $(cat /proc/${launcher% }/task/*/children)
kill -9 "$2"
ended=0
wait "$run" || ended=$?
[ "$ended" = 69 ]
grep -q 'step [0-9]*: w[01]: ended by signal 9' err
for _ in $(seq 60); do [ -d "/proc/$1" ] || break; sleep 0.05; done
[ ! -d "/proc/$1" ]
