# --sync async: each replica updates the variables of the parameter servers by itself.
. "$ROOT/tests/cli/kit"

# The gradient of w is the mean of x, whatever w is, so that the sum of all updates does not depend on their order: with
# integers and powers of two the variables are known to the bit. The compute run sleeps for a moment.
cat >sum.dfg <<'.'
input x: i64[n, 2]
param w: f32[2] = zeros
param b: f32[] = zeros
output loss = mean(sum(Dfg>Sleep(f32(x), ms = 2) * w, axis = 1)) + 4 * b
.
"$DFG" build sum.dfg -o sum.pb
"$DFG" grad sum.pb --loss loss --optimizer 'sgd(lr=0.5)' -o train.pb
awk 'BEGIN { for (i = 0; i < 512; i++) print i % 8 "," i % 16 - 8 }' >x.csv
"$DFG" convert x.csv -o x.npy
printf 'local:3\nlocal:1 job=ps\n' >one
printf 'local:3\nlocal:2 job=ps\n' >two
train() { # OPTIONS...
	status 0 timeout 100 "$DFG" run train.pb --data x=@x.npy --target train --fetch loss --batch 12 --metrics a.jsonl \
		--save a.safetensors "$@"
}
is() { # NAME VALUE
	[ "$("$DFG" show a.safetensors --node "$1" | tr '\n' ' ' | sed 's/.*: f32\[2*\] *//; s/ *$//')" = "$2" ] ||
		{ "$DFG" show a.safetensors --node "$1"; exit 1; }
}

# 27. Steps of 12 / 3 samples: 128 an epoch, each counted once. The mean of x is 3.5 and -0.5.
for hosts in one two; do
	train --hosts ./$hosts --sync async --steps 200 --epochs 2 --no-shuffle --stats --json
	has err '3 replicas'
	has err '--sync async: the results depend on the order in which replicas update the variables'
	[ "$(wc -l <a.jsonl)" = 200 ]
	[ "$(grep -c '"epoch":1' a.jsonl)" = 128 ]
	grep -q '"staleness":{"mean":[0-9.]*,"max":[1-9]' out
	is b -400 # 200 updates of -0.5 * 4
	# 128 steps have the mean; 72 steps are 288 samples, 36 times the first 8 and 18 times the first 16
	is w "-350 50"
done
train --hosts ./two --sync async --epochs 2 --replicas 3 --transport libcurl --place b=ps1
is b -512
is w "-448 64"

# The steps of a run that is stopped or that loses a worker, and is resumed, are those of an undisturbed run.
train --hosts ./one --sync async --steps 100 --epochs 2 --checkpoint ck --every 30
train --hosts ./two --sync async --epochs 2 --checkpoint ck --resume
is b -512
is w "-448 64"
begin() { # OPTIONS...
	rm -f a.jsonl
	"$DFG" run train.pb --data x=@x.npy --target train --fetch loss --batch 12 --metrics a.jsonl --save a.safetensors \
		--hosts ./one --sync async --epochs 2 "$@" >out 2>err &
	run=$!
}
at_step() { # N: that step is done
	within grep -qs "\"step\":$1," a.jsonl
}
signal() { # SIGNAL NUMBER: to a process of the run
	for pid in $(cat /proc/"$run"/task/*/children); do
		# shellcheck disable=SC2016
		if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -- "--number $2 "; then kill "-$1" "$pid"; fi
	done
}
begin --checkpoint again --every 40 --restarts 1
at_step 90
signal KILL 2
wait "$run"
is b -512
is w "-448 64"

# A replica that is stopped holds up no other one, until the end of the epoch. Where it was stopped in its update, which is one
# after the other, it is tried again. Process 1 is the server.
begin --lease 60 --batch 6 # steps of 2 samples
at_step 5
went=
for try in 1 2 3 4 5 6 7 8 9; do
	signal STOP 2
	before=$(wc -l <a.jsonl)
	for wait in $(seq 30); do
		sleep 0.1
		[ "$(wc -l <a.jsonl)" -lt $((before + 12)) ] || went=$try
		[ -z "$went" ] || break
	done
	signal CONT 2
	[ -z "$went" ] || break
done
[ "$went" ]
wait "$run"
is b -1024
is w "-896 128"
begin
at_step 5
signal KILL 1
ended=0
wait "$run" || ended=$?
[ "$ended" = 69 ]

# Evaluations and the loss of a model that depends on its variables.
cat >fit.dfg <<'.'
input x: i64[n, 2]
param w: f32[2] = zeros
output loss = mean(sum(f32(x) * (w - [1.0, -2.0]), axis = 1) ** 2)
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adam(lr=0.05)' -o adam.pb
status 0 timeout 100 "$DFG" run adam.pb --data x=@x.npy --target train --fetch loss --batch 12 --epochs 2 --hosts ./two \
	--sync async --eval-data x=@x.npy --eval-fetch loss --metrics a.jsonl --save a.safetensors
awk -F'"loss":' '/"step"/ { v = $2 + 0; if (NR <= 10) first += v; last = v; } END { exit !(last < first / 200) }' a.jsonl
"$DFG" show a.safetensors --node train/step | grep -q 256

# A compute run that fails on a replica fails on its lanes too; the message says where.
cat >log.dfg <<'.'
input x: i64[n, 2]
param w: f32[2] = ones
output loss = mean(sum(log(f32(x) + 1) * w, axis = 1))
.
"$DFG" build log.dfg -o log.pb
"$DFG" grad log.pb --loss loss --optimizer 'sgd(lr=0.5)' -o log.pb
status 65 timeout -k 1 100 "$DFG" run log.pb --data x=@x.npy --target train --batch 12 --no-shuffle --hosts ./two --sync async \
	--check-numerics
grep -q "log.pb: step [0-9]*: replica [0-2]: node '.*' (Log): output 0, f32\[4,2\], is not finite at element" err
never grep -q 'was stopped' err

fails() { # WORDS OPTIONS...
	words=$1
	shift
	status 2 "$DFG" run train.pb --data x=@x.npy --target train "$@"
	has err "$words"
}
fails '--sync async requires --hosts' --sync async
fails 'requires a shard for each replica: --shards is 6, --replicas 3' --sync async --shards 6 --hosts ./one
fails '--algorithm cannot be used with --sync async' --sync async --hosts ./one --algorithm direct
fails '--min-replicas cannot be used with --sync async' --sync async --replicas 3 --hosts ./one --min-replicas 2
fails '--need requires --sync quorum, not --sync async' --sync async --hosts ./one --need 2
status 2 "$DFG" run train.pb --feed x=zeros:i64[4,2] --target train --sync async --hosts ./one
has err '--sync async requires --data and --target'
status 65 "$DFG" run train.pb --data x=@x.npy --target train --sync async --replicas 2 --hosts local:2
