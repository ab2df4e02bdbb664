# --sync ssp: each replica updates the variables of the servers by itself, and none is more than --staleness steps ahead.
. "$ROOT/tests/cli/kit"

# The gradients do not depend on the variables: whatever the order of the updates, the variables after N steps are known, with
# integers and powers of two to the bit. That of b does not depend on the batch either.
cat >sum.dfg <<'.'
input x: i64[n, 2]
param w: f32[2] = zeros
param b: f32[] = zeros
output loss = mean(sum(f32(x) * w, axis = 1)) + 4 * b
.
"$DFG" build sum.dfg -o sum.pb
"$DFG" grad sum.pb --loss loss --optimizer 'sgd(lr=0.5)' -o train.pb
awk 'BEGIN { for (i = 0; i < 512; i++) print i % 8 "," i % 16 - 8 }' >x.csv
"$DFG" convert x.csv -o x.npy
printf 'local:4\nlocal:1 job=ps\n' >one
printf 'local:4\nlocal:2 job=ps\n' >two
train() { # OPTIONS...
	status 0 timeout 100 "$DFG" run train.pb --data x=@x.npy --target train --fetch loss --batch 16 --no-shuffle \
		--metrics a.jsonl --save a.safetensors "$@"
}
is() { # NAME VALUE
	[ "$("$DFG" show a.safetensors --node "$1" | tr '\n' ' ' | sed 's/.*: [fi][0-9]*\[2*\] *//; s/ *$//')" = "$2" ] ||
		{ "$DFG" show a.safetensors --node "$1"; exit 1; }
}

# A step is one of the whole batch: 32 an epoch, each of -0.5 times the mean of x, which is 3.5 and -0.5, and of 4.
for staleness in 1 3; do
	train --hosts ./two --sync ssp --staleness $staleness --steps 48 --epochs 2 --verify-staleness --stats --json
	has err '4 replicas'
	has err '--sync ssp: the results depend on the order in which replicas update the variables; --record'
	is w "-84 12"
	is b -96
	is train/step 192 # updates
	[ "$(wc -l <a.jsonl)" = 48 ]
	[ "$(grep -c '"epoch":1' a.jsonl)" = 32 ]
	# Each of 192 reads is counted by how many steps it was ahead of the slowest replica; w and b are checked at each.
	sed 's/.*"staleness":{"steps":\[\([0-9,]*\)\],"bound":\([0-9]*\),.*"checked":\([0-9]*\)}.*/\1 \2 \3/' out >stale
	awk -v bound=$staleness '{ n = split($1, count, ","); for (i = 1; i <= n; i++) sum += count[i]
		exit !(sum == 192 && n <= bound + 1 && $2 == bound && $3 == 384) }' stale || { cat stale; exit 1; }
done
# The loss of a step is the mean over the batch, by the variables that each shard has read: in the first step, zeros or those
# after updates of others; in the last, those after 44 steps or more.
awk -F'"loss":' '{ v = $2 + 0 } NR == 1 { first = v } END { exit !(first <= 0 && first > -16 && v < -600) }' a.jsonl

# A plan is for such updates or is not.
for sync in ps 'ssp --staleness 2'; do
	# shellcheck disable=SC2086
	status 0 "$DFG" partition train.pb --hosts ./one --sync $sync -o "${sync%% *}"
done
status 0 timeout 100 "$DFG" run ssp --hosts ./one --data x=@x.npy --target train --batch 16 --no-shuffle --steps 32 --sync ssp \
	--staleness 1 --save a.safetensors
is w "-56 8"
is b -64
status 65 timeout 100 "$DFG" run ps --hosts ./one --data x=@x.npy --target train --batch 16 --sync ssp --staleness 1
has err 'the plan is not for --sync ssp with a --staleness of 1 or more: partition with these'
status 65 timeout 100 "$DFG" run ssp --hosts ./one --data x=@x.npy --target train --batch 16 --sync async
has err 'the plan is for --sync ssp with a --staleness of 1 or more, not for --sync async'

# A bound of 0 is that of synchronous updates.
train --hosts ./one --sync ps --steps 20
mv a.safetensors ps.safetensors
train --hosts ./one --sync ssp --staleness 0 --verify-staleness --steps 20
cmp ps.safetensors a.safetensors
is train/step 20

# The last batch of an epoch has 2 of 34 samples, so that two shards have none.
head -34 x.csv >short.csv
"$DFG" convert short.csv -o short.npy
status 0 timeout 100 "$DFG" run train.pb --data x=@short.npy --target train --batch 16 --no-shuffle --save a.safetensors \
	--epochs 3 --hosts ./one --sync ssp --staleness 2 --verify-staleness
is w "-11.25 12.75" # 3 epochs of -0.5 * (3.5 + 3.5 + 0.5) and -0.5 * (-0.5 - 0.5 - 7.5)
is b -18

# A run that is stopped after a checkpoint, or that loses a worker, continues with the steps of an undisturbed one.
train --hosts ./one --sync ssp --staleness 2 --steps 20 --checkpoint ck --every 8
train --hosts ./two --sync ssp --staleness 2 --steps 48 --epochs 2 --checkpoint ck --resume
is w "-84 12"
rm -f a.jsonl
"$DFG" run train.pb --data x=@x.npy --target train --fetch loss --batch 16 --no-shuffle --metrics a.jsonl --save a.safetensors \
	--hosts ./one --sync ssp --staleness 2 --epochs 8 --checkpoint again --every 16 --restarts 1 \
	--emulate compute=fixed:2ms >out 2>err &
run=$!
within grep -qs '"step":40,' a.jsonl
for pid in $(cat /proc/"$run"/task/*/children); do
	# shellcheck disable=SC2016
	if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -- '--number 2 '; then kill -KILL "$pid"; fi
done
wait "$run"
has err restarting
is w "-448 64"

# The order of the updates decides the bits, and a record gives them again, also that of a run that was resumed.
cat >fit.dfg <<'.'
input x: i64[n, 2]
param w: f32[2] = zeros
output loss = mean(sum(f32(x) * (w - [1.0, -2.0]), axis = 1) ** 2)
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'sgd(lr=0.003)' -o train.pb
orders() { # OPTIONS...: with delays that differ between the replicas and from step to step
	train --hosts ./two --sync ssp --staleness 3 --emulate 'compute=lognormal:1ms,1' "$@"
	grep -v '"event"' a.jsonl >metrics
}
orders --epochs 2 --record order
mv a.safetensors recorded.safetensors
mv metrics recorded
[ "$(wc -l <order)" = 256 ]
grep -Eqv '^[0-9]+ (1000|0100|0010|0001) [0-9]+$' order && exit 1
orders --epochs 2 --replay order --verify-staleness
cmp recorded.safetensors a.safetensors
cmp recorded metrics
awk -F'"loss":' '{ v = $2 + 0 } NR == 1 { first = v } END { exit !(v < first / 20) }' recorded
orders --steps 20 --checkpoint parts --every 20 --record order
orders --epochs 2 --checkpoint parts --resume --record order
mv a.safetensors recorded.safetensors
[ "$(wc -l <order)" = 256 ]
orders --epochs 2 --replay order
cmp recorded.safetensors a.safetensors
status 65 timeout 100 "$DFG" run train.pb --data x=@x.npy --target train --batch 16 --no-shuffle --hosts ./two --sync ssp \
	--staleness 3 --epochs 3 --replay order
has err 'order has no update 257'
status 65 timeout 100 "$DFG" run train.pb --data x=@x.npy --target train --batch 16 --no-shuffle --hosts ./two --sync ssp \
	--staleness 3 --epochs 2 --replay order --checkpoint other --every 3
has err 'the recorded run had another staleness bound, or checkpoints or evaluations at other steps'

# A replica that reads old variables is found; without the check, it is not.
status 70 timeout 100 "$DFG" run train.pb --data x=@x.npy --target train --batch 16 --hosts ./one --sync ssp --staleness 2 \
	--verify-staleness --emulate stale=5,1
has err "variable 'w' is staler than --staleness allows: replica 1 has done"
has err '(--staleness 2)'
train --hosts ./one --sync ssp --staleness 2 --emulate stale=5,1

# The replica that a record names must have begun a step.
{ head -4 order && sed 's/ .* / 1000 /; 1,4d' order; } >another
status 65 timeout 100 "$DFG" run train.pb --data x=@x.npy --target train --batch 16 --hosts ./one --sync ssp --staleness 3 \
	--replay another
has err 'the recorded run had another staleness bound, or checkpoints or evaluations at other steps'
fails() { # STATUS WORDS OPTIONS...
	code=$1 words=$2
	shift 2
	status "$code" timeout 100 "$DFG" run train.pb --data x=@x.npy --target train "$@"
	has err "$words"
}
printf '1 1100\n' >several
fails 65 'several:1: the file is not a record of --sync ssp' --hosts ./one --sync ssp --staleness 1 \
	--replay several
fails 65 'order:1: the file is a record of --sync ssp' --shards 4 --replay order
fails 2 '--sync ssp requires --staleness S' --hosts ./one --sync ssp
fails 2 '--staleness' --hosts ./one --sync ssp --staleness -1
fails 2 '--staleness requires --sync ssp' --hosts ./one --sync async --staleness 1
fails 2 '--verify-staleness requires --sync ssp' --verify-staleness
fails 2 '--sync ssp requires --hosts' --sync ssp --staleness 1
fails 2 'requires two or more replicas and a --staleness of 1 or more' --hosts ./one --sync ssp --staleness 0 --record r
fails 2 'requires a shard for each replica' --hosts ./one --sync ssp --staleness 1 --shards 8
fails 2 '--need requires --sync quorum, not --sync ssp' --hosts ./one --sync ssp --staleness 1 --need 2
