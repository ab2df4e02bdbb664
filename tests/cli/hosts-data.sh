# dfg run --data NAME=HOST:@FILE: who reads it is another, the batches are the same, bit for bit.
. "$ROOT/tests/cli/kit"

# Workers run in another folder, as on another machine: the launcher has none of their files.
mkdir there
cat >worker <<END
#!/bin/sh
cd "$PWD/there" && exec "$DFG" "\$@"
END
chmod +x worker
echo "local:2 dfg=$PWD/worker" >hosts
python3 - <<'END'
import gzip, random, struct
random.seed(1)
def npy(rows, shape):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (117 - len(head)) + "\n"
    rows = b"".join(struct.pack("<%df" % len(row), *row) for row in rows)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + rows
x = [(random.random() - 0.5, random.random() - 0.5) for _ in range(100)]
t = [(3 * a - b + 1,) for a, b in x]
files = {"x.npy": npy(x, (100, 2)), "t.npy": npy(t, (100, 1))}
for name, data in files.items():
    open(name, "wb").write(data)
    open("there/far-" + name, "wb").write(data)
open("there/zipped", "wb").write(gzip.compress(files["x.npy"]))
open("there/short.npy", "wb").write(npy(t[:90], (90, 1)))
open("there/wide.npy", "wb").write(npy(t[:99], (33, 3)))
open("there/cut.npy", "wb").write(files["x.npy"][:500])
open("there/none.npy", "wb").write(npy([], (0, 2)))
open("there/one.npy", "wb").write(npy([(1,)], ()))
END
g=$ROOT/tests/graphs/linear.pbtxt
train() { # the data, then OPTIONS
	"$DFG" run "$g" --batch 16 --target train --fetch loss --feed train/lr=0.05 "$@"
}
set -f
here='--data x=@x.npy --data t=@t.npy'
there='--hosts ./hosts --data x=w1:@far-x.npy --data t=w0:@far-t.npy'

# shellcheck disable=SC2086
{
	# Shuffled, in order, without the last batch, from a gzip, one of two; over either transport; and where --place says.
	for options in '' '--no-shuffle' '--drop-last --shuffle 7'; do
		status 0 train $here --epochs 3 $options --metrics m1 --save s1.npz
		for more in '' '--transport libcurl' '--place x=w1 --place t=w0'; do
			status 0 train $there --epochs 3 $options --metrics m2 --save s2.npz $more
			cmp m1 m2
			cmp s1.npz s2.npz
		done
	done
	status 0 train --hosts ./hosts --data x=w0:@zipped --data t=@t.npy --epochs 3 --drop-last --shuffle 7 --metrics m2
	cmp m1 m2

	# A training that begins with local data finishes with the workers' data, and the other way round.
	status 0 train $here --epochs 4 --metrics m1 --save s1.npz
	status 0 train $there --steps 10 --checkpoint ck
	status 0 train $here --epochs 3 --checkpoint ck --resume
	has err 'resumed at step 10'
	status 0 train $there --epochs 4 --checkpoint ck --resume --save s2.npz
	cmp s1.npz s2.npz

	# Evaluation by the same graph reads there as well, and uses the same files again.
	eval_here='--eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss'
	eval_there='--eval-data x=w1:@far-x.npy --eval-data t=w0:@far-t.npy --eval-fetch loss'
	status 0 train $here $eval_here --epochs 2 --metrics m1
	status 0 train $there $eval_there --epochs 2 --metrics m2
	cmp m1 m2

	# Inference over a file.
	status 0 "$DFG" run "$g" --data x=@x.npy --fetch prediction -o y1.npy
	status 0 "$DFG" run "$g" --hosts ./hosts --data x=w1:@far-x.npy --fetch prediction -o y2.npy
	cmp y1.npy y2.npy

	# A plan has its places; the file must be where they are.
	status 0 "$DFG" partition "$g" --hosts local:2 --place x=w1 --place t=w0 -o plan
	status 0 train $here --epochs 1 --metrics m1
	sed 's/"$g"/plan/' >run-plan <<-'END'
		"$DFG" run "$g" --batch 16 --target train --fetch loss --feed train/lr=0.05 "$@"
	END
	status 0 bash run-plan $there --metrics m2
	cmp m1 m2
	status 65 bash run-plan --hosts ./hosts --data x=w0:@far-x.npy --data t=@t.npy
	has err "--data: input 'x' is on w1, which does not have the data of w0: give --place 'x=w0'"

	# With --restarts the files are opened again by those who come after.
	status 0 train $here --steps 1000 --epochs 1000 --save s1.npz
	"$DFG" run "$g" --batch 16 --target train --fetch loss --feed train/lr=0.05 $there --steps 1000 --epochs 1000 \
		--checkpoint again --every 50 --restarts 2 --save s2.npz >out 2>err &
	pid=$!
	for _ in $(seq 200); do
		[ -e again/step-50 ] && break
		sleep 0.02
	done
	worker=$(cut -d' ' -f1 "/proc/$pid/task/$pid/children")
	# The file is mapped by its worker, and by nobody else.
	grep -q 'far-[xt].npy' "/proc/$worker/maps"
	never grep -q 'far-[xt].npy' "/proc/$pid/maps"
	kill -KILL "$worker"
	got=0
	wait $pid || got=$?
	[ $got = 0 ] || { echo "status $got"; cat err; exit 1; }
	has err 'restarting from the last checkpoint'
	cmp s1.npz s2.npz

	# Errors name the host and the file.
	fails() { # STATUS WORDS DATA...
		wanted=$1 words=$2
		shift 2
		for word; do set -- "$@" --data "$word"; shift; done
		status "$wanted" "$DFG" run "$g" --hosts ./hosts --target train --fetch loss "$@"
		has err "$words"
	}
	fails 66 '--data: w1: x.npy: No such file or directory' x=w1:@x.npy t=@t.npy
	fails 66 '--data: w0: /: is a directory' x=w0:@/ t=@t.npy
	fails 65 "--data: w1: cut.npy: " x=w1:@cut.npy t=@t.npy
	fails 65 "--data: w1: far-x.npy: no array 'y'" x=w1:@far-x.npy[y] t=@t.npy
	fails 65 '--data: w1:@far-x.npy has 100 samples, but w0:@short.npy has 90' x=w1:@far-x.npy t=w0:@short.npy
	fails 65 '--data: x.npy has 100 samples, but w0:@short.npy has 90' x=@x.npy t=w0:@short.npy
	fails 65 "--data: w0:@wide.npy holds samples of f32[?,3], but 't' is f32[?,1]" x=@x.npy t=w0:@wide.npy
	fails 65 '--data: w0:@none.npy has no samples' x=w0:@none.npy
	fails 65 '--data: w0:@one.npy is one value, not a list of samples' x=w0:@one.npy t=@t.npy
	fails 65 "host 'w7' is not in --hosts" x=w7:@far-x.npy t=@t.npy
	status 65 train $there --place x=w0
	has err "'x' is on w0, which does not have the data of w1: give --place 'x=w1'"
	fails 66 '--data: w1: stdin cannot be used here: give the path of a regular file' x=w1:@- t=@t.npy
	mkfifo there/pipe
	fails 66 '--data: w1: pipe: is not a regular file' x=w1:@pipe t=@t.npy
	fails 2 "'x=w1:x.npy' is not NAME=@FILE or NAME=HOST:@FILE" x=w1:x.npy t=@t.npy
	status 2 train --data x=w1:@far-x.npy --data t=@t.npy
	has err "is not a host of this run"
	status 2 train $there --eval-graph "$g" $eval_there
	has err "--eval-data: 'w1:@far-x.npy': 'w1' is not a host of this run"
}

# A constant with a copy on both workers can be fed by the launcher only.
printf 'input x: f32[n]\nk = f32(2)\na = x * k\nb = x + k\noutput c = a + b\n' >constant.dfg
status 65 "$DFG" run constant.dfg --hosts ./hosts --place a=w0 --place b=w1 --data k=w0:@far-t.npy --data x=@x.npy
has err "'k' is a constant of which w1 has a copy"
