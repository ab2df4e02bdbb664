# The ranks of mpirun are workers: with OpenMPI and with MPICH, whichever is installed.
. "$ROOT/tests/cli/kit"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
printf 'input x: f32[n, 2]\nparam w: f32[2] = normal([2])\noutput loss = mean(sum((w - x) ** 2, axis = 1))\n' >m.dfg
"$DFG" grad m.dfg --loss loss --optimizer 'adam(lr=0.125)' -o t.pb
"$DFG" run m.dfg --feed "x=f32[24,2]:$(seq -s, 0.25 1 47.25)" --fetch x -o x.npy
training='--data x=@x.npy --batch 8 --target train --fetch loss --seed 3'

# Without mpirun, and what does not go together.
status 2 "$DFG" run t.pb --hosts mpi
has err '--hosts mpi requires mpirun or srun'
status 2 "$DFG" partition t.pb --hosts mpi -o plan/
has err '--hosts mpi requires mpirun or srun'

# shellcheck disable=SC2086
status 0 "$DFG" run t.pb $training --shards 4 --metrics one.jsonl --save one.npz
cp out one.out
# shellcheck disable=SC2086
status 0 "$DFG" run t.pb $training --hosts local:4 --replicas 4 --save local.npz
cmp local.npz one.npz
job() { # STATUS ARGUMENTS... of mpirun -n 4 dfg run t.pb --hosts mpi
	wanted=$1
	shift
	got=0
	# shellcheck disable=SC2086
	timeout -s KILL 100 $mpirun -n 4 ${program:-"$DFG"} run t.pb --hosts mpi "$@" >out 2>err </dev/null || got=$?
	[ "$got" = "$wanted" ] || { echo "$mpirun: status $got, not $wanted: $*"; cat out err; exit 1; }
}
tried=0
for mpirun in mpirun.openmpi mpirun.mpich; do
	command -v $mpirun >/dev/null || { echo "skipped: $mpirun is not installed"; continue; }
	tried=$((tried + 1))

	# The results of one process and of local:4, printed once; ranks of one host share memory.
	# shellcheck disable=SC2086
	job 0 $training --metrics m.jsonl --save w.npz -v -v
	cmp out one.out
	cmp w.npz one.npz
	cmp m.jsonl one.jsonl
	has err '4 replicas; --shards 4 computes the same with any number of them'
	has err 'w1 and w3: shm'
	has err 'launcher and w0: shm'
	never grep -qE '[0-9a-f]{64}' err
	# The plan that a job partitions for its ranks is that of as many other workers.
	timeout -s KILL 100 $mpirun -n 4 "$DFG" partition t.pb --hosts mpi -o mpi-plan >out 2>err </dev/null || { cat err; exit 1; }
	has err '4 replicas; --shards 4 computes the same with any number of them'
	status 0 "$DFG" partition t.pb --hosts local:4 --replicas 4 -o local-plan --if-changed
	diff -r mpi-plan local-plan
	rm -r mpi-plan
	# All return the status of the launcher, which alone prints.
	job 65 --fetch nothing
	has err "nothing"
	[ ! -s out ] || never grep -q loss out
done
[ $tried != 0 ] || exit 77
