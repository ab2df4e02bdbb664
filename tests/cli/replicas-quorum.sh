# --sync quorum: a step takes the first K shards and drops the others; --record and --replay.
. "$ROOT/tests/cli/kit"

# Adam's slots, dropout and a moving average are state; the compute run sleeps for a moment.
cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param b: f32[] = zeros
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + b
output loss = mean((Dfg>Sleep(guess, ms = 5) - y) ** 2)
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adam(lr=0.125)' -o train.pb
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 7.3 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[42,2]:$(numbers 84 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[42]:$(numbers 42 31)" --fetch y -o y.npy
training="train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss --batch 16 --seed 7 --epochs 999"

begin() { # NAME OPTIONS...: a run in the background, whose process is $run
	name=$1
	shift
	rm -f "$name.jsonl"
	# shellcheck disable=SC2086
	"$DFG" run $training --sync quorum --record "$name.record" --metrics "$name.jsonl" --save "$name.safetensors" \
		--json "$@" >"$name.out" 2>"$name.err" &
	run=$!
}
at_step() { # N: that step is done
	within grep -qs "\"step\":$1," "$name.jsonl"
}
signal() { # SIGNAL NUMBER: to a worker
	for pid in $(cat /proc/"$run"/task/*/children); do
		# shellcheck disable=SC2016
		if tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q -- "--number $2 "; then kill "-$1" "$pid"; fi
	done
}
ends() { # STATUS
	ended=0
	wait "$run" || ended=$?
	[ "$ended" = "$1" ] || { echo "status $ended, not $1:"; cat "$name.err"; exit 1; }
}
replays() { # NAME OPTIONS...: the run that NAME recorded, to the bit
	name=$1
	shift
	# shellcheck disable=SC2086
	status 0 "$DFG" run $training --replay "$name.record" --metrics again.jsonl --save again.safetensors "$@"
	cmp "$name.jsonl" again.jsonl
	cmp "$name.safetensors" again.safetensors
}

# Each step takes four of five shards; not always the same replica's rows are dropped. Batches of 16, 16 and 10 rows.
begin four --hosts local:5 --replicas 5 --need 4 --steps 30 --stats
ends 0
has four.err 'the results depend on which replicas are first; --replay gives them again'
has four.err '30 of 150 shards were dropped'
grep -q '"dropped":30' four.out
[ "$(awk '$1 == NR && gsub(/1/, "", $2) == 4 && $2 == "0" { n++ } END { print n }' four.record)" = 30 ]
replays four --steps 30 --shards 5
has err '30 of 150 shards were dropped'
replays four --steps 30 --hosts local:5 --replicas 5 --sync quorum --need 4
replays four --steps 30 --hosts local:3 --replicas 3 --shards 5 --algorithm direct --transport libcurl
replays four --steps 30 --hosts local:2 --replicas 2 --shards 5 --algorithm shm

# 24. The others do not wait for a replica that is stopped, and it comes back with their variables. Where it was stopped after
# its contribution was taken, the others need its part of the sum, so it is tried again.
begin stopped --hosts local:4 --replicas 4 --need 3 --steps 150 --lease 60 --stats
at_step 10
stop_late() { # NUMBER: stops that worker, and waits until the others have gone on without it
	went=
	for try in 1 2 3 4 5 6 7 8 9; do
		signal STOP "$1"
		before=$(wc -l <"$name.jsonl")
		for wait in $(seq 30); do
			sleep 0.1
			[ "$(wc -l <"$name.jsonl")" -lt $((before + 12)) ] || went=$try
			[ -z "$went" ] || return 0
		done
		signal CONT "$1"
		at_step $((before + 1))
	done
	echo "worker $1 was never late"
	exit 1
}
stop_late 1
signal CONT 1
ends 0
grep -q '"dropped":150' stopped.out
replays stopped --steps 150 --shards 4

# 25. More replicas are lost than a step can do without: the rest compute their shards.
begin lost --hosts local:4 --replicas 4 --need 3 --steps 80 --min-replicas 1 --restarts 1
at_step 5
signal KILL 3
at_step 25
signal KILL 0
at_step 45
signal KILL 1
ends 0
grep -q 'continues with' lost.err
replays lost --steps 80 --shards 4
# One is killed that was late: it comes back without variables, and copies those of another one.
begin late --hosts local:4 --replicas 4 --need 3 --steps 80 --lease 60 --min-replicas 1 --restarts 1
at_step 5
stop_late 3
signal KILL 3
within grep -q 'is back' late.err
ends 0
replays late --steps 80 --shards 4
begin ends --hosts local:3 --replicas 3 --need 2 --steps 999
at_step 5
signal KILL 2
ends 69

# Replicas of two workers; evaluations, which wait for all; comparisons of the replicas.
begin parts --hosts local:6 --replicas 3 --need 2 --steps 12 --place 'w*=w1' --place 'guess*=w1' --min-replicas 1 \
	--eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss --verify-replicas 5
ends 0
replays parts --steps 12 --shards 3 --eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss

# Delays that --emulate draws: they change no bit of a step with given shards.
begin slow --hosts local:3 --replicas 3 --need 2 --steps 20 --emulate 'compute=lognormal:5ms,1;seed=4'
ends 0
replays slow --steps 20 --shards 3
replays slow --steps 20 --hosts local:3 --replicas 3 --emulate compute=exponential:2ms

# A run that is resumed continues its record, without the steps after its checkpoint.
begin resumed --hosts local:3 --replicas 3 --need 2 --steps 7 --checkpoint ck --every 4
ends 0
rm -r ck/step-7
begin resumed --hosts local:3 --replicas 3 --need 2 --steps 15 --checkpoint ck --every 4 --resume
ends 0
[ "$(wc -l <resumed.record)" = 15 ]
"$DFG" run $training --steps 15 --replay resumed.record --shards 3 --save again.safetensors >out 2>err
cmp resumed.safetensors again.safetensors

# It is refused where the record lacks steps before the checkpoint.
sed -i 6,15d resumed.record
begin resumed --hosts local:3 --replicas 3 --need 2 --steps 16 --checkpoint ck --resume
ends 65
has resumed.err 'resumed.record ends with step 5, but the run continues after step 15'

# Errors. A record of other shards, with another form, without a step.
fails() { # STATUS WORDS OPTIONS...
	wanted=$1
	words=$2
	shift 2
	# shellcheck disable=SC2086
	status "$wanted" "$DFG" run $training --steps 3 "$@"
	has err "$words"
}
fails 2 '--sync quorum requires --need' --sync quorum --replicas 2 --hosts local:2
fails 2 '--emulate must be flip=STEP,REPLICA or stale=STEP,REPLICA with a replica below --replicas, compute=DELAY or seed=N, not' \
	--replicas 2 --hosts local:2 --emulate 'seed=1;link=2ms'
fails 2 '--emulate: compute must be fixed:T, lognormal:T,S or exponential:T, with T as in 20ms' \
	--replicas 2 --hosts local:2 --emulate compute=fixed:20
fails 2 '--emulate compute requires --replicas' --emulate compute=fixed:20ms --hosts local:2
fails 2 '--need 3 is more than --replicas 2' --sync quorum --need 3 --replicas 2 --hosts local:2
fails 2 '--need requires --sync quorum, not --sync allreduce' --need 1 --replicas 2 --hosts local:2
fails 2 '--record requires --sync quorum or ssp, not --sync allreduce' --record r --replicas 2 --hosts local:2
fails 2 '--replay requires --sync quorum or ssp, not --sync ps' --sync ps --replay four.record --replicas 2 --hosts local:2
fails 2 'requires a shard for each replica: --shards is 4, --replicas 2' --sync quorum --need 1 --replicas 2 --shards 4 \
	--hosts local:2
fails 2 '--sync quorum requires --replicas, or --replay with --shards' --sync quorum --need 1 --shards 2
fails 2 '--algorithm shm cannot be used with --sync quorum' --sync quorum --need 1 --replicas 2 --hosts local:2 \
	--algorithm shm
fails 2 '--record and --replay exclude each other' --shards 5 --replay four.record --record r
fails 2 '--metrics four.record would replace --replay four.record' --shards 5 --replay four.record --metrics four.record
fails 2 '--replay requires --shards or --replicas' --replay four.record
fails 66 'no.record' --shards 5 --replay no.record
fails 65 'four.record:1: the step has 5 shards, expected 3: give --shards 5' --shards 3 --replay four.record
sed -n 1,2p four.record >short.record
fails 65 'step 3: short.record has no step 3' --shards 5 --replay short.record
for line in '3' '3 ' '3 1121' ' 3 1111' '3 00000' 'x 11111' '0 11111' '99999999999999999999 11111' '3 11111 '; do
	{ cat short.record; echo "$line"; } >bad.record
	fails 65 'bad.record:3: expected the number of a step and its shards' --shards 5 --replay bad.record
done
{ cat short.record; printf '3 11111'; } >bad.record
fails 65 'bad.record:3: expected' --shards 5 --replay bad.record
{ cat short.record; echo '2 11111'; } >bad.record
fails 65 'bad.record:3: step 2 does not follow step 2' --shards 5 --replay bad.record
status 2 "$DFG" run train.pb --shards 5 --replay four.record --feed x=zeros:f32[5,2] --feed y=zeros:f32[5] --target train
has err '--sync quorum requires --data and --target'
status 2 "$DFG" test --sync quorum .
has err '--sync quorum is for dfg run'
