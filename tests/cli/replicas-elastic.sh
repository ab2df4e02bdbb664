# Elastic runs: replicas are lost in the middle of training, and the others continue to the same bits. The runs sleep most of
# the time, so that four groups of them run beside each other, each in a folder of its own.
. "$ROOT/tests/cli/kit"

# A step sleeps, so that most kills come in a compute run; Adam's slots, dropout and a moving average are state.
cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param b: f32[] = zeros
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + b
output loss = mean((Dfg>Sleep(guess, ms = 15) - y) ** 2)
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adam(lr=0.125)' -o train.pb
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 7.3 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[42,2]:$(numbers 84 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[42]:$(numbers 42 31)" --fetch y -o y.npy
training="train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss --batch 16 --seed 7 --steps 30 --epochs 99 --shards 3"

# A run in the background, whose process is $run: metrics in NAME.jsonl, messages in NAME.err.
begin() { # NAME OPTIONS...
	name=$1
	shift
	rm -f "$name.jsonl" "$name.safetensors"
	# shellcheck disable=SC2086
	"$DFG" run $training --metrics "$name.jsonl" --save "$name.safetensors" --json "$@" >"$name.out" 2>"$name.err" &
	run=$!
}
at_step() { # N: that step is done
	within grep -qs "\"step\":$1," "$name.jsonl"
}
worker() { # NUMBER: sets $worker to its process, once it is there
	for pid in $(cat /proc/"$run"/task/*/children); do
		# shellcheck disable=SC2016
		if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -- "--number $1 "; then worker=$pid; fi
	done
}
signal() { # SIGNAL NUMBER
	worker "$2"
	kill "-$1" "$worker"
}
is_stopped() { # PID
	[ "$(cut -d' ' -f3 "/proc/$1/stat")" = T ]
}
ends() { # STATUS
	ended=0
	wait "$run" || ended=$?
	[ "$ended" = "$1" ] || { echo "status $ended, not $1:"; cat "$name.err"; exit 1; }
}
longer() { # the same of 200 steps
	ends 0
	cmp longer.jsonl "$name.jsonl"
	cmp longer.safetensors "$name.safetensors"
}
as_undisturbed() {
	ends 0
	cmp undisturbed.jsonl "$name.jsonl"
	cmp undisturbed.safetensors "$name.safetensors"
}
# shellcheck disable=SC2086
status 0 "$DFG" run $training --metrics undisturbed.jsonl --save undisturbed.safetensors
# shellcheck disable=SC2086
status 0 "$DFG" run $training --metrics longer.jsonl --save longer.safetensors --steps 200

losses() {
	# 18. The replica with the others' variables, or another one; through memory and by HTTP/2. Two, one after the other.
	for how in '0 shm' '1 libcurl'; do
		set -- $how
		begin lost --replicas 3 --min-replicas 1 --hosts local:3 --transport "$2" --stats
		at_step 3
		signal KILL "$1"
		as_undisturbed
		grep -q "^step [0-9]*: w$1: ended by signal 9; .*continues with 2 of 3 replicas" lost.err
		grep -q '"stale":[0-9]' lost.out
	done
	begin lost --replicas 3 --min-replicas 1 --hosts local:3
	at_step 3
	signal KILL 0
	at_step 12
	signal KILL 2
	as_undisturbed
	has lost.err 'w2: ended by signal 9'
	has lost.err 'continues with 1 of 3 replicas'

	# 18. While checkpoints are written after each step.
	begin lost --replicas 2 --min-replicas 1 --hosts local:2 --checkpoint ck --every 1 --keep 2
	at_step 4
	signal KILL 0
	as_undisturbed

	# 14. A replica of two workers goes whole. It updates only when both have their buckets.
	begin lost --replicas 2 --min-replicas 1 --hosts local:4 --place 'w*=w1' --place 'guess*=w1'
	at_step 4
	worker 3
	other=$worker
	signal KILL 2
	within gone "$other"
	as_undisturbed
	has lost.err 'continues with 1 of 2 replicas'

	# Below the minimum it is 69, or the run restarts from its checkpoint.
	begin few --replicas 3 --min-replicas 2 --hosts local:3
	at_step 2
	signal KILL 1
	at_step 9
	signal KILL 0
	ends 69
	has few.err '1 of 3 replicas is left, fewer than --min-replicas 2'
	begin few --replicas 2 --hosts local:2 --restarts 1 --checkpoint few --every 2
	at_step 5
	signal KILL 1
	as_undisturbed
	has few.err 'restarting from the last checkpoint'
}

returns() {
	# 20. A lost replica is started again, as often as --restarts says, while the others continue; also twice, and the lead.
	begin rejoin --replicas 2 --min-replicas 1 --hosts local:2 --restarts 2 --steps 200
	at_step 3
	signal KILL 1
	within grep -q 'step [0-9]*: replica 1 (w1) is back; the run continues with 2 of 2 replicas' rejoin.err
	signal KILL 0
	within grep -q 'step [0-9]*: replica 0 (w0) is back; the run continues with 2 of 2 replicas' rejoin.err
	longer
	begin rejoin --replicas 3 --min-replicas 1 --hosts local:3 --transport libcurl --restarts 1 --steps 200 --verify-replicas 5
	at_step 3
	signal KILL 0
	within grep -q 'replica 0 (w0) is back' rejoin.err
	signal KILL 1
	longer
	# the reason that the others noticed may come between
	grep -q 'w1: ended by signal 9;.* continues with 2 of 3 replicas' rejoin.err || { cat rejoin.err; exit 1; }
	never grep -q 'replica 1 .* is back' rejoin.err

	# A replica of two workers, whichever of them was lost; also the lead.
	for transport in shm libcurl; do
		begin rejoin --replicas 3 --min-replicas 1 --hosts local:6 --restarts 2 --steps 200 --place 'w*=w1' \
			--place 'guess*=w1' --transport $transport --verify-replicas 20
		at_step 3
		signal KILL 3
		within grep -q 'step [0-9]*: replica 1 (w2) is back; the run continues with 3 of 3 replicas' rejoin.err
		signal KILL 0
		within grep -q 'step [0-9]*: replica 0 (w0) is back; the run continues with 3 of 3 replicas' rejoin.err
		longer
	done

	# A replica that computes much longer than before is named once, when it is stopped as it computes.
	begin late --replicas 2 --min-replicas 1 --hosts local:2 --lease 20 --steps 200
	at_step 9
	for _ in 1 2 3 4 5 6; do
		signal STOP 1
		for _ in $(seq 30); do
			! grep -q 'step [0-9]*: replica 1 (w1) has computed its step for .* s, more than 10 times the median' late.err || break 2
			sleep 0.05
		done
		kill -CONT "$worker"
	done
	kill -CONT "$worker"
	longer
	[ "$(grep -c 'has computed its step for' late.err)" = 1 ]
	has late.err 'replica 1 (w1) has computed'
	# For a single replica nobody waits.
	begin alone --hosts local:1 --lease 20 --steps 200
	at_step 9
	signal STOP 0
	sleep 1.5
	kill -CONT "$worker"
	longer
	never grep -q 'has computed' alone.err
}

# Programs of workers, which note that they were started. The first one cannot be started again.
programs() {
	cat >first <<-.
		#!/bin/sh
		mkdir was-started || exit 9
		exec "$DFG" "\$@"
	.
	cat >second <<-.
		#!/bin/sh
		echo >>second.starts
		exec "$DFG" "\$@"
	.
	chmod +x first second
	rm -rf was-started second.starts
	printf 'local:1\nlocal:1 dfg=./first\n' >hosts
}
back() { # NAME
	within grep -q 'replica 1 (w1) is back; the run continues with 2 of 2 replicas' "$1.err"
}

moves() {
	# A lost worker whose host is not in the hosts file any more is started on another one that the file has now.
	programs
	begin moved --replicas 2 --min-replicas 1 --hosts hosts --restarts 1 --steps 200
	at_step 3
	printf 'local:1 dfg=./second\nlocal:1\n' >hosts
	signal KILL 1
	back moved
	longer
	[ "$(wc -l <second.starts)" = 1 ]

	# One that could not be started is started when the file has changed; a file with an error, or without a host, changes nothing.
	programs
	begin moved --replicas 2 --min-replicas 1 --hosts hosts --restarts 2 --steps 200
	at_step 3
	signal KILL 1
	within grep -q '^w1: exited with status 9' moved.err
	echo 'local:1 slot=3' >hosts
	within grep -q "hosts:1: there is no option 'slot='.* (the hosts are unchanged)" moved.err
	echo 'local:1' >hosts
	within grep -q 'hosts: no host is left for w1' moved.err
	never grep -q 'is back' moved.err
	printf 'local:1\nlocal:1 dfg=./second\n' >hosts
	back moved
	longer

	# The whole run restarts on the hosts that are in the file then.
	programs
	begin moved --replicas 2 --hosts hosts --restarts 1 --checkpoint moved --every 2
	at_step 5
	printf 'local:1\nlocal:1 dfg=./second\n' >hosts
	signal KILL 1
	as_undisturbed
	[ "$(wc -l <second.starts)" = 1 ]
}

leaves() {
	# 20. A worker that gets SIGTERM leaves after its step, which is not repeated; below the minimum the run ends.
	begin leave --replicas 3 --min-replicas 1 --hosts local:3
	at_step 3
	signal TERM 0
	at_step 12
	signal TERM 2
	as_undisturbed
	has leave.err 'w0: ended by request; the run continues with 2 of 3 replicas'
	has leave.err 'w2: ended by request; the run continues with 1 of 3 replicas'
	begin leave --replicas 2 --min-replicas 1 --hosts local:2
	at_step 3
	signal TERM 1
	within grep -q 'w1: ended by request; the run continues with 1' leave.err
	signal TERM 0
	ends 69
	has leave.err 'w0: ended by request'
	has leave.err '0 of 2 replicas are left, fewer than --min-replicas 1'
	begin leave --replicas 2 --hosts local:2
	at_step 3
	signal TERM 1
	ends 69
	has leave.err 'w1: ended by signal 15'

	# 22. The launcher is killed: its workers are gone, and the run can be resumed.
	begin first --replicas 2 --min-replicas 1 --hosts local:2 --checkpoint resumed --every 1
	at_step 5
	worker 0
	one=$worker
	worker 1
	kill -KILL "$run"
	within gone "$one"
	within gone "$worker"
	ends 137
	begin first --replicas 2 --min-replicas 1 --hosts local:2 --checkpoint resumed --resume
	ends 0
	cmp undisturbed.safetensors first.safetensors

	# 20. A replica that is silent for the lease is lost; one that was stopped for less is only slow.
	begin silent --replicas 2 --min-replicas 1 --hosts local:2 --lease 0.6
	at_step 3
	signal STOP 1
	as_undisturbed
	grep -q 'silent for 0\.6.* s; .*continues with 1 of 2 replicas' silent.err
	begin slow --replicas 2 --min-replicas 1 --hosts local:2 --lease 20
	at_step 3
	signal STOP 1
	stopped=$worker
	within is_stopped "$stopped"
	kill -CONT "$stopped"
	as_undisturbed
	never grep -q continues slow.err
}

differences() {
	# 23. A bit that differs on one replica is found by the next comparison; without the fault there is nothing to find.
	begin flip --replicas 3 --hosts local:3 --verify-replicas 4
	as_undisturbed
	for replica in 0 2; do
		begin flip --replicas 3 --hosts local:3 --verify-replicas 4 --emulate "flip=6,$replica"
		ends 70
		grep -q "step 8: replica $replica (w$replica): variable '.*' differs from that" flip.err
		never grep -q '"step":8,' flip.jsonl
	done
}

groups=
beside() { # FUNCTION...: in a folder of its own, in the background
	mkdir "$1"
	cp train.pb x.npy y.npy undisturbed.* longer.* "$1"
	(
		cd "$1"
		for group; do "$group"; done
	) >"$1.log" 2>&1 &
	groups="$groups $!:$1"
}
beside losses
beside returns
beside leaves differences
beside moves

# Values that cannot be.
# shellcheck disable=SC2086
status 2 "$DFG" run $training --replicas 2 --min-replicas 3 --hosts local:2
has err '--min-replicas 3 is more than --replicas 2'
# shellcheck disable=SC2086
status 2 "$DFG" run $training --replicas 2 --min-replicas 0 --hosts local:2
has err '--min-replicas must be at least 1'
# shellcheck disable=SC2086
status 2 "$DFG" run $training --verify-replicas 3
has err '--verify-replicas requires --replicas'
# shellcheck disable=SC2086
status 2 "$DFG" run $training --replicas 2 --hosts local:2 --emulate flip=0,1
has err '--emulate must be flip=STEP,REPLICA'

failed=0
for group in $groups; do
	wait "${group%%:*}" || { failed=1 && cat "${group#*:}.log"; }
done
[ "$failed" = 0 ]
