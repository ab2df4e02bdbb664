# dfg run --hosts: several processes compute the bits of one; whichever process is killed, none is left running.
. "$ROOT/tests/cli/kit"
children() { # PID
	cat "/proc/$1/task/$1/children"
}
nobody() { # PID...: they are gone within a while
	for _ in $(seq 100); do
		left=
		for pid; do
			# One that nobody has waited for yet has ended, too.
			[ ! -e "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null || left="$left $pid"
		done
		[ -z "$left" ] && return
		sleep 0.05
	done
	echo "still there:$left"
	exit 1
}
milliseconds() {
	date +%s%3N
}

g=$ROOT/tests/graphs/linear.pbtxt
set -f # patterns below are ours
place="--place w*=w1 --place xw=w1 --place b*=w0 --place count*=w0 --place loss=w1"

# Feeds, fetches and plans.
cat >chain.dfg <<'END'
input x: f64[n]
y = x * 2.0
z = y + 1.0
output out = sqrt(z)
END
chain="--place x=w0 --place y=w1 --place z=w0 --place out=w1"
"$DFG" run chain.dfg --feed x=f64[3]:1,2,3 --fetch out,y,z >one
for hosts in local:2 local:3 local:1,local:1; do
	# shellcheck disable=SC2086
	status 0 "$DFG" run chain.dfg --feed x=f64[3]:1,2,3 --fetch out,y,z --hosts $hosts $chain
	cmp one out
done
# shellcheck disable=SC2086
{
	status 0 "$DFG" partition chain.dfg --hosts local:2 $chain -o plan
	status 0 "$DFG" run plan/ --hosts local:2 --feed x=f64[3]:1,2,3 --fetch out,y,z
	cmp one out
	status 65 "$DFG" run plan/ --hosts local:3 --feed x=f64[3]:1,2,3
	has err "plan is for 2 workers, but --hosts has 3"
	status 2 "$DFG" run plan/ --hosts local:2 $chain --feed x=f64[3]:1,2,3
	status 2 "$DFG" run plan/ --feed x=f64[3]:1,2,3
	has err "name its hosts with --hosts"
	status 0 "$DFG" run chain.dfg --hosts local:2 $chain --feed y=f64[1]:4 --stats --json
	has out '"value":[2.23606797749979]'
	has out '"messages":{"w0>w1":1,"w1>w0":1},"bytes":{"w0>w1":8,"w1>w0":8}'
	status 0 "$DFG" run chain.dfg --hosts local:2 $chain --feed z=f64[1]:4 --stats --json
	has out '"messages":{"w0>w1":1}'
	status 65 "$DFG" run chain.dfg --hosts local:2 $chain
	has err "node 'x' (Placeholder): must be fed"
	status 65 "$DFG" run chain.dfg --hosts local:2 --place y=w2
	status 2 "$DFG" run chain.dfg --hosts local:2 --transport pigeon
	status 2 "$DFG" run chain.dfg --place y=w0
	status 0 "$DFG" run chain.dfg --hosts local:2 $chain --feed x=f64[1]:1 -v
	has err 'w0 and w1: shm'
	status 0 "$DFG" run chain.dfg --hosts local:2 $chain --feed x=f64[1]:1 --repeat 3 --warmup 1
	has err 'median_us'
}

# A constant that both need is on both, and fed on both.
printf 'input x: f32[]\nk = f32(2)\na = x * k\nb = x + k\noutput c = a + b\n' >constant.dfg
for hosts in '' '--hosts local:2 --place a=w0 --place b=w1 --place k=w0' '--hosts local:2 --place a=w0 --place b=w1 --place k=w1'; do
	# shellcheck disable=SC2086
	status 0 "$DFG" run constant.dfg --feed x=1 --feed k=5 $hosts
	has out 'c: f32[] 11'
done

# Every recorded case of control flow and training says the same when it is cut, over either transport.
"$DFG" test -q --hosts local:2 --place '*a*=w1' "$ROOT/tests/cases/flow" "$ROOT/tests/cases/bad" >out || { cat out; exit 1; }
"$DFG" test -q --hosts local:3 --place '*o*=w2' --transport libcurl "$ROOT/tests/cases/train" >out || { cat out; exit 1; }

# A fetch of a branch that was not taken is explained as on one machine, wherever its Switch is; so is the predicate, which
# may come from another worker (finding 23).
cat >dead.dfg <<'END'
input x: f64[]
input p: bool[]
f, t = Switch(x, p)
u = t * 2.0
lim = t * 3.0
w, _ = loop (s = u + 1.0, k = u) while k < lim { next s * 2.0, k + 1.0 }
b, a = Switch(w, x > 2.0)
c = a + x
END
for p in true false; do
	status 65 "$DFG" run dead.dfg --feed x=1 --feed p=$p --fetch c
	mv err one.err
	has one.err "fetch 'c:0' is dead: predicate '$([ $p = true ] && echo "b/Greater:0' of node 'b" || echo "p:0' of node 'f")' (Switch) is false"
	for seed in 1 2 3 4; do
		status 65 "$DFG" run dead.dfg --feed x=1 --feed p=$p --fetch c --hosts local:3 --place random:$seed
		cmp err one.err
	done
done

# A wrong option, or a fault of all workers, is reported once, not as a failure of each case.
for wrong in '--place y --hosts local:2' '--place y=w0' '--hosts ,' '--hosts a;b,local:1' '--hosts local:0'; do
	# shellcheck disable=SC2086
	status 2 "$DFG" test "$ROOT/tests/cases/bad" $wrong
	[ "$(grep -c -- --place err)" -le 1 ] || { cat err; exit 1; }
	# shellcheck disable=SC2086
	status 2 "$DFG" run chain.dfg --feed x=f64[1]:1 $wrong
done
status 65 "$DFG" test "$ROOT/tests/cases/bad" --hosts local:2 --place y=w7
[ "$(grep -c w7 err)" = 1 ] || { cat err; exit 1; }
printf '\357\273\277local:2\n' >odd
status 78 "$DFG" run chain.dfg --feed x=f64[1]:1 --hosts odd
echo 'local:2 dfg=/nonexistent/dfg' >odd
status 69 "$DFG" test "$ROOT/tests/cases/bad" --hosts odd
has err 'w0: cannot start /nonexistent/dfg'
# Nodes and files that the options name are looked up before a worker is started.
status 65 "$DFG" run chain.dfg --hosts odd --feed x=f64[1]:1 --fetch zz
has err "did you mean 'z'?"
status 66 "$DFG" run chain.dfg --hosts odd --feed x=@missing.npy
status 65 "$DFG" run chain.dfg --hosts odd --feed x=true
status 69 "$DFG" run chain.dfg --hosts odd --feed x=f64[1]:1

# A handle cannot come here: that is a fault of the fetch, and no worker's end.
printf 'input x: f64[]\nstate s: f64[] = 2\noutput y = s + x\n' >state.dfg
for transport in shm libcurl; do
	status 65 "$DFG" run state.dfg --hosts local:2 --place 's*=w1' --feed x=1 --fetch s --transport $transport
	has err "fetch 's:0' is a resource, which cannot leave its worker"
	[ "$(wc -l <err)" = 1 ] || { cat err; exit 1; }
done

# shellcheck disable=SC2086
status 0 "$DFG" run chain.dfg --hosts local:2 $chain --feed x=f64[3]:1,2,3 --fetch out,y,z --transport libcurl -v
cmp one out
has err 'w0 and w1: libcurl'

# A trace has each worker as a process, and an arrow for each transfer.
# shellcheck disable=SC2086
status 0 "$DFG" run chain.dfg --hosts local:2 $chain --feed x=f64[1]:1 --trace t.json
python3 - <<'END'
import json
events = json.load(open("t.json"))["traceEvents"]
where = {e["name"]: e["pid"] for e in events if e["ph"] == "X"}
assert (where["y"], where["z"], where["out"]) == (1, 0, 1), where
sent = {e["id"]: e for e in events if e["ph"] == "s"}
got = {e["id"]: e for e in events if e["ph"] == "f"}
assert len(sent) == 3 and set(sent) == set(got), (sent, got)
assert all(sent[i]["pid"] != got[i]["pid"] and sent[i]["ts"] <= got[i]["ts"] for i in sent), (sent, got)
END

# How long a worker waited for another, and for what.
cat >wait.dfg <<'END'
input x: f64[n]
y = Dfg>Sleep(x, ms = 200)
z = y + 1.0
output sum = x + z
END
for transport in shm libcurl; do
	status 0 "$DFG" run wait.dfg --hosts local:2 --place x=w0 --place y=w1 --place z=w1 --place sum=w0 --feed x=f64[1]:1 \
		--transport $transport --repeat 2 --stats --json
	has err "for 'z:0'"
	python3 - <<'END'
import json
waits = json.load(open("out"))["stats"]["waits"]
assert set(waits) <= {"w0>w1", "w1>w0"}, waits
wait = waits["w1>w0"]
assert wait["tensor"] == "z:0" and 190000 < wait["us"] == wait["longest_us"] < 5000000, wait
END
done

# Training: variables on both workers, the same bits, and checkpoints from which one process or several can continue.
python3 - <<'END'
import random, struct
random.seed(1)
def npy(name, rows, shape):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (117 - len(head)) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in rows:
            f.write(struct.pack("<%df" % len(row), *row))
x = [(random.random() - 0.5, random.random() - 0.5) for _ in range(100)]
npy("x.npy", x, (100, 2))
npy("t.npy", [(3 * a - b + 1,) for a, b in x], (100, 1))
END
train() { # OPTIONS: what all trainings share
	"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --batch 16 --target train --fetch loss --feed train/lr=0.05 "$@"
}
across() {
	# shellcheck disable=SC2086
	train --hosts local:2 $place "$@"
}
status 0 train --epochs 5 --metrics whole.jsonl --save whole.safetensors --eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss
status 0 across --epochs 5 --metrics m.jsonl --save w.safetensors --eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss
cmp m.jsonl whole.jsonl
cmp w.safetensors whole.safetensors
status 0 across --steps 7 --checkpoint ck --every 3
status 0 train --epochs 3 --checkpoint ck --resume
has err 'resumed at step 7'
status 0 across --epochs 5 --checkpoint ck --resume --save w.safetensors
has err 'resumed at step 21'
cmp w.safetensors whole.safetensors
# shellcheck disable=SC2086
status 0 "$DFG" run "$g" --hosts local:2 $place --load w.safetensors --feed 'x=f32[1,2]:1,0' --fetch count/read
has out 'count/read: i64[] 35'

# A loop across two workers.
"$DFG" run "$ROOT/tests/graphs/loop.pb" --feed n=7 --fetch product,count/Exit --json >one
# shellcheck disable=SC2086
status 0 "$DFG" run "$ROOT/tests/graphs/loop.pb" --feed n=7 --fetch product,count/Exit --hosts local:2 --place '*[aeiou]*=w1' --json
cmp one out

# A worker that is killed: named, within the lease, and nobody is left.
cat >slow.dfg <<'END'
input x: f64[n]
y = Dfg>Sleep(x, ms = 100000)
output z = y + 1.0
END
slow="run slow.dfg --feed x=f64[1]:1 --hosts local:3 --place x=w0 --place y=w1 --place z=w2"
for signal in KILL STOP; do
	# shellcheck disable=SC2086
	"$DFG" $slow >out 2>err &
	pid=$!
	for _ in $(seq 100); do
		[ "$(children $pid | wc -w)" = 3 ] && break
		sleep 0.05
	done
	sleep 0.5
	workers=$(children $pid)
	began=$(milliseconds)
	for one in $workers; do
		tr '\0' ' ' <"/proc/$one/cmdline" | grep -q -e '--number 1 ' && kill -$signal "$one"
	done
	got=0
	wait $pid || got=$?
	took=$(($(milliseconds) - began))
	[ $got = 69 ] || { echo "status $got, not 69"; cat err; exit 1; }
	grep -q 'w[0-2]: ' err || { cat err; exit 1; }
	[ $signal = STOP ] || has err 'ended by signal 9'
	has err 'w1: '
	has err "s for 'z.0:0' from w1: "
	[ $took -lt 6000 ] || { echo "it took $took ms"; exit 1; }
	[ ! -s out ]
	# shellcheck disable=SC2086
	nobody $workers
done

# All processes are stopped together for longer than the lease, as by ^Z, and continue: none is taken for lost.
for transport in shm libcurl; do
	sed 's/100000/2000/' slow.dfg >short.dfg
	# shellcheck disable=SC2086
	"$DFG" run short.dfg --feed x=f64[1]:1 --hosts local:2 --place y=w1 --lease 1 --transport $transport >out 2>err &
	pid=$!
	sleep 0.7
	all="$(children $pid) $pid"
	# shellcheck disable=SC2086
	kill -STOP $all
	sleep 2.5
	# shellcheck disable=SC2086
	kill -CONT $all
	wait $pid || { cat err; exit 1; }
	has out 2
done

# The launcher is killed: its workers end by themselves.
# shellcheck disable=SC2086
"$DFG" $slow >out 2>err &
pid=$!
for _ in $(seq 100); do
	[ "$(children $pid | wc -w)" = 3 ] && break
	sleep 0.05
done
workers=$(children $pid)
kill -KILL $pid
wait $pid || true
# shellcheck disable=SC2086
nobody $workers

# A deadline, and a signal: the step is finished, the checkpoint written, and everybody ended.
# shellcheck disable=SC2086
status 124 "$DFG" $slow --timeout 0.3
# shellcheck disable=SC2086
"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --target train --hosts local:2 $place --epochs 100000000 --checkpoint long \
	--every 1000000000 >out 2>err &
pid=$!
sleep 1.5
workers=$(children $pid)
kill -TERM $pid
got=0
wait $pid || got=$?
[ $got = 75 ] || { echo "status $got, not 75"; cat err; exit 1; }
has err 'stopped by SIGTERM after step'
find long -name 'step-*' | grep -q .
# shellcheck disable=SC2086
nobody $workers

# With --restarts, a run that loses a worker continues from the last checkpoint, to the same bits.
status 0 train --steps 2000 --epochs 1000 --save whole.safetensors
# shellcheck disable=SC2086
"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --batch 16 --target train --fetch loss --feed train/lr=0.05 --hosts local:2 \
	$place --steps 2000 --epochs 1000 --checkpoint again --every 50 --restarts 2 --save w.safetensors >out 2>err &
pid=$!
for _ in $(seq 100); do
	[ -e again/step-50 ] && break
	sleep 0.02
done
kill -KILL "$(children $pid | cut -d' ' -f1)"
got=0
wait $pid || got=$?
[ $got = 0 ] || { echo "status $got"; cat err; exit 1; }
has err 'restarting from the last checkpoint'
cmp w.safetensors whole.safetensors

# A worker that is only slow is not lost.
# shellcheck disable=SC2086
"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --batch 16 --target train --fetch loss --feed train/lr=0.05 --hosts local:2 \
	$place --steps 2000 --epochs 1000 --lease 5 --save w.safetensors >out 2>err &
pid=$!
for _ in $(seq 100); do
	[ "$(children $pid | wc -w)" = 2 ] && break
	sleep 0.02
done
worker=$(children $pid | cut -d' ' -f2)
kill -STOP "$worker"
sleep 1
kill -CONT "$worker"
got=0
wait $pid || got=$?
[ $got = 0 ] || { echo "status $got"; cat err; exit 1; }
cmp w.safetensors whole.safetensors

# A worker by hand: what it says, and what it wants to be told first.
status 2 "$DFG" serve
echo secret >secret
got=0
"$DFG" serve --worker --transport shm <secret >out 2>err || got=$?
[ $got = 77 ]
secret=$(printf '%064d' 7)
{ echo "$secret"; sleep 0.3; } | "$DFG" serve --worker --transport shm >out
python3 -c 'import json; d = json.load(open("out")); assert set(d) >= {"dfg", "address", "fingerprint"}, d'
never grep -q "$secret" out

# Nobody comes.
for transport in shm libcurl; do
	began=$(milliseconds)
	got=0
	"$DFG" serve --worker --transport $transport --wait 0.5 < <(echo "$secret" && sleep 20) >out 2>err || got=$?
	took=$(($(milliseconds) - began))
	[ $got = 69 ]
	has err 'no launcher'
	[ $took -lt 10000 ] || { echo "it took $took ms"; exit 1; }
done
status 2 "$DFG" serve --worker --wait 0

# Too few descriptors for 50 workers: one error says so.
for most in 20 64 150; do
	status 71 bash -c "ulimit -n $most; exec \"\$0\" \"\$@\"" "$DFG" run chain.dfg --feed x=f64[1]:1 --hosts local:50
	has err 'of 50 workers could not be started: w'
	has err 'Too many open files; `ulimit -n` prints the limit of open files'
	[ "$(wc -l <err)" = 1 ] || { cat err; exit 1; }
done
# The soft limit on file descriptors is raised as far as the hard limit allows.
status 0 bash -c 'ulimit -Sn 64; exec "$0" "$@"' "$DFG" run chain.dfg --feed x=f64[1]:1 --hosts local:30
