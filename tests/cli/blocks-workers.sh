# Parallel loops over workers: the bits of the same blocks in one process, which tests/cli/blocks.sh compares with awk.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/parallel-kit"

# Matrix factorisation: w stays, rows of h go from worker to worker.
"$DFG" build mf.dfg -o mf.pb
run() { timeout 120 "$DFG" run mf.pb $(feeds) --target sgd --timeout 60 "$@"; }
for workers in 1 2 3 5; do
	run --blocks 5 --steps 2 --verify-plan --save one.safetensors
	run --blocks 5 --steps 2 --verify-plan --hosts local:$workers --save many.safetensors 2>err
	[ ! -s err ]
	cmp one.safetensors many.safetensors
done
for options in "--transport libcurl" "--no-slices" "--threads 1" "--no-opt" "--balance range"; do
	case $options in --balance*) run --blocks 5 --steps 2 $options --save one.safetensors ;; esac
	run --blocks 5 --steps 2 --hosts local:2 $options --save many.safetensors
	cmp one.safetensors many.safetensors
done
run --blocks 8 --hosts local:2 --fetch squares/read --stats >out 2>err # rows are counted as what workers send
has err "messages w0>w1"
never grep -q "^hidden\|^slowest" err

# Batches, each of which has a schedule of its own: the most live bytes are a number of bytes.
for name in user item rating; do "$DFG" run mf.pb $(feeds) --fetch $name -o $name.npy; done
batches="--data user=@user.npy --data item=@item.npy --data rating=@rating.npy --batch 40 --target sgd --epochs 2"
"$DFG" run mf.pb $batches --blocks 4 --save one.safetensors --stats 2>err
awk '/^live_bytes/ { if ($2 > 1000000000) exit 1; n++ } END { exit n != 1 }' err
timeout 120 "$DFG" run mf.pb $batches --blocks 4 --hosts local:2 --save many.safetensors
cmp one.safetensors many.safetensors

# A plan is cut once, for any number of workers up to that of the blocks, and each time with the same bytes.
run --blocks 4 --save one.safetensors
"$DFG" partition mf.pb --hosts local:4 --blocks 4 --explain -o plan >out
has out "2d: space user[i], w stays (216 bytes); time item[i], h rotates (168 bytes)"
has out "4 blocks, for at most as many workers"
"$DFG" partition mf.pb --hosts local:2 --blocks 4 -o again
cmp plan/manifest.json again/manifest.json
cmp plan/w0.pb again/w0.pb
"$DFG" check plan 2>err
[ ! -s err ] # its order of reads and writes is complete
for workers in 1 3; do
	timeout 120 "$DFG" run plan --hosts local:$workers $(feeds) --target sgd --save many.safetensors
	cmp one.safetensors many.safetensors
done
"$DFG" show plan >out
has out "4 blocks of parallel loops, for at most as many workers"
"$DFG" show plan --hostfile --hosts local:3 >out
[ "$(wc -l <out)" = 3 ]
status 65 "$DFG" show plan --hostfile --hosts local:5
status 65 "$DFG" show plan --kubernetes x --replicas 5
has err "more than the plan's 4 blocks"
"$DFG" show plan --kubernetes x >out
never grep -q -- --replicas out
status 2 "$DFG" run plan --hosts local:2 --replicas 2 $(feeds) --target sgd
status 65 "$DFG" run plan --hosts local:5 $(feeds) --target sgd
has err "5 workers, more than the 4 blocks"
status 65 "$DFG" run plan --hosts local:2 --blocks 5 $(feeds) --target sgd
has err "the plan is for --blocks 4, not 5"
status 2 "$DFG" run plan --hosts local:2 --blocks 4 --balance range $(feeds) --target sgd
has err "dfg partition"
sed -i 's/"blocks":4/"blocks":0/' again/manifest.json
status 65 "$DFG" run again --hosts local:2 $(feeds) --target sgd
has err '"blocks" is 0'

# Ratings without one, and with fewer than workers.
for n in 0 1; do
	feeds_of() { echo "--feed user=zeros:i32[$n] --feed item=zeros:i32[$n] --feed rating=ones:f64[$n]"; }
	"$DFG" run mf.pb $(feeds_of) --target sgd --blocks 3 --save one.safetensors
	timeout 120 "$DFG" run mf.pb $(feeds_of) --target sgd --blocks 3 --hosts local:3 --save many.safetensors
	cmp one.safetensors many.safetensors
done

# In order: a staircase. A faulty order is refused on every worker with the same words.
sed 's/0..n {/0..n with (ordered) {/' mf.dfg >ordered.dfg
"$DFG" build ordered.dfg -o mf.pb
status 65 run --blocks 3 --hosts local:2
has err "sorted by the space coordinate"
LC_ALL=C sort -n -k1,1 -k2,2 ratings >sorted
mv sorted ratings
run --blocks 4 --save one.safetensors
for workers in 2 4; do
	run --blocks 4 --hosts local:$workers --save many.safetensors
	cmp one.safetensors many.safetensors
done

# A wavefront, whose rows at the border of tiles move; the values are those of the plain run.
"$DFG" build align.dfg -o align.pb
align() { timeout 120 "$DFG" run align.pb --feed s=i32[7]:0,5,1,1,2,0,5 --feed t=i32[6]:7,0,5,1,2,5 --target align "$@"; }
align --save serial.safetensors
for workers in 1 3 4; do
	align --blocks 4 --hosts local:$workers --save many.safetensors
	cmp serial.safetensors many.safetensors
done

# Accumulators of each kind, rows that lie with their iterations, values that are yielded, and what follows the loop and reads
# them.
cat >sums.dfg <<'P'
input k: i32[n]
input x: f32[n, 3]
state seen: i32[40] = -1
state count: i64[7] = 0
state best: f32[4] = 0
state low: f32[1] = 100.0
state total: f32[3] = 0
state later: f32[] = 0
target go {
    parallel for i in 0..n {
        set seen[i] = k[i] * 2
        set count[k[i]] += 1
        set best[k[i] % 4] max= max(x[i])
        set low[0] min= min(x[i])
        set total += x[i]
        set total -= x[i] * x[i]
    }
    set later = sum(total) + f32(sum(seen)) + best[1]
    ys = parallel for i in 0..n { yield x[i, 0] + total[1] }
    set later += sum(ys)
}
P
"$DFG" build sums.dfg -o sums.pb
sums() { timeout 120 "$DFG" run sums.pb --feed k=i32[12]:0,6,3,3,1,5,2,6,0,3,4,4 --feed x=normal:f32[12,3]:seed=1 --target go "$@"; }
"$DFG" partition sums.pb --hosts local:2 --blocks 4 -o plan
"$DFG" check plan 2>err
[ ! -s err ]
sums --blocks 4 --save one.safetensors
sums --blocks 4 --hosts local:3 --save many.safetensors 2>err
cmp one.safetensors many.safetensors
[ ! -s err ]

# Random loops: most are divided.
python3 "$ROOT/tests/programs/random_loops.py" --programs 8 --seed 9 --workers

# Errors of one worker's rows, and options that do not fit.
run_bad() { "$DFG" run sums.pb --feed k=i32[2]:0,9 --feed x=ones:f32[2,3] --target go --blocks 2 "$@"; }
status 65 run_bad
cp err local
status 65 run_bad --hosts local:2
has err "outside [0,7)"
has local "outside [0,7)"
status 2 run --blocks 4 --hosts local:2 --replicas 2
status 2 run --blocks 4 --hosts local:2 --place 'w=w1'
has err "every worker runs the whole graph"
status 65 "$DFG" partition mf.pb --hosts local:3 --blocks 2 -o plan
has err "3 workers, more than the 2 blocks"

# A worker is killed during a pass, which begins with a pause: the run ends with 69, or starts again from the last checkpoint, to the same bits.
sed 's/set squares = 0/set squares = f64(Dfg>Sleep(0.0, ms = 40))/' mf.dfg >slow.dfg
"$DFG" build slow.dfg -o mf.pb
kill_at() { # STATUS OPTIONS...: worker 1 is killed after step 3
	wanted=$1
	shift
	rm -f steps.jsonl
	"$DFG" run mf.pb $(feeds) --target sgd --blocks 4 --steps 8 --hosts local:3 --metrics steps.jsonl "$@" >out 2>err &
	within grep -qs '"step":3' steps.jsonl
	for pid in $(cat /proc/$!/task/*/children); do
		if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -- "--number 1 "; then kill -KILL "$pid"; fi
	done
	got=0
	wait $! || got=$?
	[ "$got" = "$wanted" ] || { echo "status $got, not $wanted"; cat err; exit 1; }
}
kill_at 69
has err "w1: ended by signal 9"
run --blocks 4 --steps 8 --save one.safetensors
kill_at 0 --restarts 2 --checkpoint ck --every 2 --save many.safetensors
has err "restarting from the last checkpoint"
cmp one.safetensors many.safetensors
