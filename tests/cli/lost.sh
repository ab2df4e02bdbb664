# Finding 29: a worker that dies or stops before all are linked is named as lost, with the reason, and soon; the start of
# the workers has a deadline. `timeout` is far above what each takes, and below the 20 s that it took.
. "$ROOT/tests/cli/kit"
printf 'input x: f64[n]\noutput y = x * 2.0\n' >p.dfg

# dfg, whose worker 1 is sent a signal, $HOW, when it has said where it listens.
cat >broken <<'.'
#!/bin/sh
case " $* " in *" --number 1 "*) ;; *) exec "$DFG" "$@" ;; esac
mkfifo "hello.$$"
exec 3<&0
"$DFG" "$@" <&3 >"hello.$$" 2>/dev/null &
worker=$!
exec 4<"hello.$$" 3<&-
read -r hello <&4
kill "-$HOW" $worker
echo "$hello"
wait $worker
.
chmod +x broken
echo "local:3 dfg=$PWD/broken" >hosts
run() { timeout 15 "$DFG" run p.dfg --feed x=f64[1]:1 --hosts ./hosts "$@"; }
for transport in shm libcurl; do
	export HOW=KILL
	status 69 run --transport $transport
	has err 'p.dfg: w1: exited with status 137'
	never grep -q 'onnect' err
	export HOW=STOP
	status 69 run --transport $transport --lease 0.5
	has err 'p.dfg: w1: silent for '
	has err 'connected to it'
done

# Finding 33: a peer that speaks HTTP/1.1 is one that breaks the protocol.
cat >old <<'.'
#!/usr/bin/env python3
import os, socket, sys, threading
sys.stdin.readline()
server = socket.create_server(("127.0.0.1", 0))
print('{"dfg":"%s","address":"127.0.0.1:%d","fingerprint":"","shm":""}' % (os.environ["VERSION"], server.getsockname()[1]),
    flush=True)
kept = []
def serve():
    while True:
        connection = server.accept()[0]
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        kept.append(connection)
threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
.
chmod +x old
VERSION=$("$DFG" version | sed 's/^dfg //; s/ .*//; 1q')
export VERSION
echo "local:1 dfg=$PWD/old" >hosts
status 76 run --transport libcurl
has err 'w0: worker 0: speaks HTTP/1, not HTTP/2'
echo "local:3 dfg=$PWD/broken" >hosts

# --timeout counts for the start too, and says what was waited for.
status 124 run --transport libcurl --timeout 0.5
has err 'the start of the workers took longer than 0.5 s: w1: '
cat >mute <<'.'
#!/bin/sh
cat >/dev/null
.
chmod +x mute
echo "local:2 dfg=$PWD/mute" >hosts
status 124 run --timeout 0.5
has err 'the start of the workers took longer than 0.5 s: w0: gave no answer'

# --lease counts for links through memory as well: a worker that was stopped for less was slow.
printf 'input x: f64[n]\ny = Dfg>Sleep(x, ms = 1000)\noutput z = y + 1.0\n' >slow.dfg
"$DFG" run slow.dfg --hosts local:2 --transport shm --lease 60 --feed x=f64[1]:1 --place x=w0 --place y=w1 --place z=w0 \
	>out 2>err &
launcher=$!
for _ in $(seq 200); do
	workers=$(cat /proc/$launcher/task/*/children 2>/dev/null || true)
	[ "$(echo $workers | wc -w)" != 2 ] || break
	sleep 0.02
done
sleep 0.5
kill -STOP "${workers%% *}"
sleep 3.6
kill -CONT "${workers%% *}"
wait $launcher
has out 'z: f64[1]'

# In every phase of a run, the error names the file and the phase in which a worker was lost.
cat >init.dfg <<'.'
input x: f64[n]
param w: f64[2] = Dfg>Sleep(cast([1, 2], f64), ms = 100000)
output y = sum(x) + sum(w)
.
lose() { # SIGNAL SECONDS HOSTS WORDS ARGUMENT...: the last worker gets the signal so long after its start
	local signal=$1 seconds=$2 hosts=$3 words=$4 worker got=0
	shift 4
	"$DFG" run "$@" --hosts "$hosts" >out 2>err &
	launcher=$!
	for _ in $(seq 200); do
		worker=$(pgrep -f -P $launcher -- "--number $((${hosts#local:} - 1))" || true)
		[ -z "$worker" ] || break
		sleep 0.02
	done
	sleep "$seconds"
	kill "-$signal" "$worker"
	wait $launcher || got=$?
	[ $got = 69 ] && has err "$words" || { cat err; exit 1; }
}
lose KILL 0.7 local:1 'init.dfg: initialising variables: w0: ended by signal 9' init.dfg --feed x=f64[1]:1

# So is the number of the step, of --repeat and --warmup too.
printf 'input x: f64[n]\noutput y = Dfg>Sleep(x, ms = 500)\n' >step.dfg
lose KILL 1.5 local:1 'step.dfg: step ' step.dfg --feed x=f64[1]:1 --repeat 20
lose KILL 1.5 local:1 'of 20: w0: ended by signal 9' step.dfg --feed x=f64[1]:1 --warmup 20
has err 'step.dfg: warm-up step '

# Worker 1 is stopped while worker 0 initialises a variable: that is noticed when the step is sent.
printf 'input x: f64[n]\nparam w: f64[2] = Dfg>Sleep(cast([1, 2], f64), ms = 1500)\noutput y = sum(x) + sum(w)\n' >plan.dfg
lose STOP 0.9 local:2 'plan.dfg: sending a step: w1: ' plan.dfg --feed x=f64[1]:1 --lease 1.5 --place '*=w0' --place y=w1

# Worker 1, which has a variable that the step does not use, is stopped during the step: that is noticed when the variable
# is read.
cat >save.dfg <<'.'
input x: f64[n]
param w: f64[2] = ones
param v: f64[2] = ones
output y = Dfg>Sleep(sum(x), ms = 1500) + sum(w)
output z = sum(v)
target train {
	set w = w * y
}
.
printf '1\n' >one.csv
cat >measure.dfg <<'.'
input x: f64[n]
param w: f64[2] = zeros
param v: f64[2] = zeros
output z = sum(v) + sum(w) + sum(x)
.
"$DFG" run save.dfg --feed x=f64[1]:1 --fetch z,y --save start.npz >out
"$DFG" build measure.dfg -o measure.pb
train='save.dfg --data x=@one.csv[0] --batch 1 --load start.npz --place *=w0 --place v*=w1 --target train --fetch y --lease 1.5'
# shellcheck disable=SC2086
{
	lose STOP 0.9 local:2 "save.dfg: --save: reading variables: w1: " $train --save w.npz
	lose STOP 0.9 local:2 "save.dfg: checkpoint of step 1: reading variables: w1: " $train --checkpoint ck/
	lose STOP 0.9 local:2 "measure.pb: evaluation after step 1: reading variables: w1: " $train \
		--eval-graph measure.pb --eval-data x=@one.csv[0] --eval-fetch z
}

# All that are lost are named. They are stopped first, so that neither says that the other is gone; the launcher may all the same
# report the first before it has heard of the second, and is then asked again.
cat >both.dfg <<'END'
input x: f64[1]
output y = Dfg>Sleep(x, ms = 60000)
output z = Dfg>Sleep(x, ms = 60000)
END
lose_both() {
	"$DFG" run both.dfg --feed x=f64[1]:1 --hosts local:3 --place 'y*=w1' --place 'z*=w2' --lease 60 >out 2>err &
	pid=$!
	within started_both
	sleep 0.5 # until the step runs, else it is the start that fails, and the next try may be slower
	kill -STOP $workers
	kill -KILL $workers
	got=0
	wait $pid || got=$?
	[ $got = 69 ] && grep -q 'both.dfg: w1: ended by signal 9$' err && grep -q 'both.dfg: also lost: w2$' err
}
started_both() {
	workers=$(pgrep -P $pid -f -- '--number [12]')
	[ "$(echo "$workers" | wc -l)" = 2 ]
}
within lose_both
