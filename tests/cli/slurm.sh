# One srun starts the workers in an allocation of Slurm; a script takes the part of srun here.
. "$ROOT/tests/cli/kit"
mkdir bin
cat >bin/srun <<'X'
#!/usr/bin/env python3
# As srun: starts --ntasks tasks, gives all the standard input (--input=all), and labels each line of output (--label).
import os, signal, subprocess, sys, threading
options = [a for a in sys.argv[1:] if a.startswith("--")]
command = sys.argv[1:]
while command[0].startswith("--"):
    command.pop(0)
options = options[: len(sys.argv) - 1 - len(command)]
with open("srun.log", "w") as log:
    print(os.getpid(), *sys.argv[1:], file=log)
assert "--input=all" in options and "--label" in options
count = next(int(o.split("=")[1]) for o in options if o.startswith("--ntasks="))
if os.environ.get("SRUN_FAILS"):
    sys.exit("srun: error: Unable to create step: " + os.environ["SRUN_FAILS"])
tasks = []
for i in range(count):
    env = {**os.environ, "SLURM_PROCID": str(i), "SLURM_NTASKS": str(count), "SLURMD_NODENAME": f"node{i % 2}"}
    pipe = subprocess.PIPE
    tasks.append(subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe))
lock = threading.Lock()
def label(number, source, to):
    for line in source:
        with lock:
            to.write(b"%d: %s" % (number, line))
            to.flush()
def feed():
    while data := os.read(0, 65536):
        for task in tasks:
            try:
                task.stdin.write(data)
                task.stdin.flush()
            except BrokenPipeError:
                pass
    for task in tasks:
        try:
            task.stdin.close()
        except BrokenPipeError:
            pass
threading.Thread(target=feed, daemon=True).start()
for i, task in enumerate(tasks):
    threading.Thread(target=label, args=(i, task.stdout, sys.stdout.buffer), daemon=True).start()
    threading.Thread(target=label, args=(i, task.stderr, sys.stderr.buffer), daemon=True).start()
status = max(task.wait() % 256 for task in tasks)
os._exit(status)
X
chmod +x bin/srun
export PATH="$PWD/bin:$PATH"
printf 'input x: f32[n, 2]\nparam w: f32[2] = normal([2])\noutput loss = mean(sum((w - x) ** 2, axis = 1))\n' >m.dfg
"$DFG" grad m.dfg --loss loss --optimizer 'adam(lr=0.125)' -o t.pb
"$DFG" run m.dfg --feed "x=f32[24,2]:$(seq -s, 0.25 1 47.25)" --fetch x -o x.npy
training='--data x=@x.npy --batch 8 --target train --fetch loss --seed 3'
train() { # OPTIONS...
	# shellcheck disable=SC2086
	timeout -s KILL 100 "$DFG" run t.pb $training --hosts slurm --save w.npz --metrics m.jsonl "$@" </dev/null
}
ended() { # srun, and all that it has started
	gone "$(cut -d' ' -f1 srun.log)"
}

# Outside an allocation, and with what srun decides.
status 2 train
has err '--hosts slurm requires an allocation'
export SLURM_JOB_ID=7
status 78 train
has err 'neither SLURM_NTASKS nor SLURM_JOB_NUM_NODES is set'
export SLURM_NTASKS=3 SLURM_JOB_NUM_NODES=2
status 2 train --restarts 1
has err '--restarts cannot be used with --hosts slurm'
status 2 "$DFG" serve --worker --slurm
has err '--slurm is for a worker that srun has started'
[ ! -e srun.log ]

# The bits of one process. On several nodes workers listen for all of them.
# shellcheck disable=SC2086
status 0 "$DFG" run t.pb $training --shards 3 --save one.npz --metrics one.jsonl
cp out one.out
status 0 train -v -v
cmp out one.out
cmp w.npz one.npz
cmp m.jsonl one.jsonl
has err '3 replicas; --shards 3 computes the same with any number of them'
has err 'w1 (task 1 (node1)): linking'
has err 'w0 and w2: shm'
has srun.log '--ntasks=3'
has srun.log '--listen 0.0.0.0'
never grep -qE '[0-9a-f]{64}' srun.log
never grep -qE '[0-9a-f]{64}' err
within ended

# One node, of which the launcher is.
export SLURM_JOB_NUM_NODES=1 SLURMD_NODENAME=node0
status 0 train --transport libcurl -v -v
cmp w.npz one.npz
has srun.log '--listen 127.0.0.1'
has err 'w0 and w1: libcurl'
within ended
status 0 train -v -v
cmp w.npz one.npz
has err 'launcher and w2: shm'
within ended
status 0 timeout -s KILL 100 "$DFG" partition t.pb --hosts slurm -o plan </dev/null
status 0 "$DFG" partition t.pb --hosts local:3 --replicas 3 -o same
diff -r plan same
within ended
unset SLURM_NTASKS
export SLURM_JOB_NUM_NODES=2
status 0 train --shards 3
cmp w.npz one.npz
has srun.log '--ntasks=2'

# A srun that fails, that is not there, or whose tasks do not come.
SRUN_FAILS='Requested nodes are busy' status 69 train
has err 'srun: error: Unable to create step: Requested nodes are busy'
has err '--hosts slurm: the job ended before 2 of 2 tasks had reported where they listen: task 0, 1'
status 69 env PATH="$PWD" "$DFG" run t.pb --hosts slurm
has err "there is no program 'srun' in PATH"
cp bin/srun whole
printf '#!/bin/sh\nexec sleep 60\n' >bin/srun
status 124 train --timeout 0.3
has err '--hosts slurm: timed out before 2 of 2 tasks had reported where they listen: task 0, 1'
printf '#!/bin/sh\necho "1: Welcome"\nexec cat\n' >bin/srun
status 76 train
has err "a task did not answer as a worker of dfg: 'Welcome'"
cp whole bin/srun

# A task that is lost is named with its node; the launcher's end ends all.
sed 's/^output/y = Dfg>Sleep(x, ms = 50)\n&/; s/w - x/w - y/' m.dfg >slow.dfg
"$DFG" grad slow.dfg --loss loss --optimizer 'adam(lr=0.125)' -o slow.pb
task() { # NUMBER
	for process in $(pgrep -x "$(basename "$DFG")" | sed 's|^|/proc/|'); do
		tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "SLURM_PROCID=$1" || continue
		[ "$(readlink "$process/cwd")" = "$PWD" ] || continue
		[ "$(readlink "/proc/$(awk '{print $4}' "$process/stat")/exe")" != "$(realpath "$DFG")" ] || continue # a watchdog
		echo "${process#/proc/}"
		return
	done
	return 1
}
lose() { # SIGNAL VICTIM: of a run that has begun
	rm -f m.jsonl
	# shellcheck disable=SC2086
	timeout -s KILL 100 "$DFG" run slow.pb $training --hosts slurm --metrics m.jsonl --epochs 1000 >out 2>err </dev/null &
	run=$!
	within test -s m.jsonl
	if [ "$2" = task ]; then
		kill -"$1" "$(task 1)"
	else
		kill -"$1" "$(cat "/proc/$run/task/$run/children")"
	fi
	got=0
	wait $run || got=$?
	within ended
	never task 0
}
lose KILL task
[ $got = 69 ]
has err 'task 1 (node1): '
lose KILL launcher
[ $got = 137 ]
