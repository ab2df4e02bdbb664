# Ranks of mpirun that are late, of another version or lost, and libraries of MPI: with OpenMPI and with MPICH, whichever is
# installed.
. "$ROOT/tests/cli/kit"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
printf 'input x: f32[n, 2]\nparam w: f32[2] = normal([2])\noutput loss = mean(sum((w - x) ** 2, axis = 1))\n' >m.dfg
"$DFG" grad m.dfg --loss loss --optimizer 'adam(lr=0.125)' -o t.pb
"$DFG" run m.dfg --feed "x=f32[24,2]:$(seq -s, 0.25 1 47.25)" --fetch x -o x.npy
training='--data x=@x.npy --batch 8 --target train --fetch loss --seed 3'

# shellcheck disable=SC2086
status 0 "$DFG" run t.pb $training --shards 4 --save one.npz
job() { # STATUS ARGUMENTS... of mpirun -n 4 dfg run t.pb --hosts mpi
	wanted=$1
	shift
	got=0
	# shellcheck disable=SC2086
	timeout -s KILL 100 $mpirun -n 4 ${program:-"$DFG"} run t.pb --hosts mpi "$@" >out 2>err </dev/null || got=$?
	[ "$got" = "$wanted" ] || { echo "$mpirun: status $got, not $wanted: $*"; cat out err; exit 1; }
}
rank() { # NUMBER: the process of that rank, but not the launcher, which is a child of rank 0
	for process in $(pgrep -x "$(basename "$DFG")" | sed 's|^|/proc/|'); do
		tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qxE "(PMI_RANK|OMPI_COMM_WORLD_RANK)=$1" || continue
		[ "$(readlink "$process/cwd")" = "$PWD" ] || continue
		echo "${process#/proc/}"
		return
	done
	return 1
}
# The worker's wait in each step leaves time to end one.
sed 's/^output/y = Dfg>Sleep(x, ms = 50)\n&/; s/w - x/w - y/' m.dfg >slow.dfg
"$DFG" grad slow.dfg --loss loss --optimizer 'adam(lr=0.125)' -o slow.pb
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || sleep 1.5\nexec "%s" "$@"\n' "$DFG" >late
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 2 ] || exec ./odd "$@"\nexec "%s" "$@"\n' "$DFG" >mixed
version=$("$DFG" version | awk 'NR == 1 {print $2}')
sed "s/$version/9.9.9/g" "$DFG" >odd
chmod +x late mixed odd

tried=0
for mpirun in mpirun.openmpi mpirun.mpich; do
	command -v $mpirun >/dev/null || { echo "skipped: $mpirun is not installed"; continue; }
	tried=$((tried + 1))

	# shellcheck disable=SC2086
	job 0 $training --save w.npz --transport libcurl --shards 4 --replicas 2 --place '*=w0' --place x=w1 -v -v
	cmp w.npz one.npz
	has err 'w0 and w1: libcurl'

	# The other commands that run on workers.
	status 0 timeout -s KILL 100 $mpirun -n 2 "$DFG" test -q "$ROOT/tests/cases/ops/Add" --hosts mpi
	has out '1 passed, 0 failed'
	status 0 timeout -s KILL 100 $mpirun -n 2 "$DFG" bench allreduce --sizes 4:1KiB --verify --hosts mpi
	has out "verified: each element is the sum's closed form"

	# A rank that starts late is waited for, or named when the time is up; all return the status of the launcher.
	# shellcheck disable=SC2086
	program=./late job 0 $training --save w.npz
	cmp w.npz one.npz
	# shellcheck disable=SC2086
	program=./late job 124 $training --timeout 0.5
	has err '--hosts mpi: timed out before all ranks had reported in'
	job 2 --restarts 1
	has err '--restarts cannot be used with --hosts mpi'

	# Another version in one rank.
	# shellcheck disable=SC2086
	program=./mixed job 76 $training
	has err '--hosts mpi: rank 2 ('
	has err ") runs dfg 9.9.9, but rank 0 ("
	has err ") runs dfg $version"

	# A rank that is lost is named with its host, and nothing is left.
	# shellcheck disable=SC2086
	timeout -s KILL 100 $mpirun -n 4 "$DFG" run slow.pb --hosts mpi $training --epochs 1000 --metrics lost.jsonl >out 2>err </dev/null &
	job=$!
	within test -s lost.jsonl
	[ "$(for r in 0 1 2 3; do rank $r; done | wc -l)" = 4 ]
	kill -9 "$(rank 2)"
	got=0
	wait $job || got=$?
	[ $got != 0 ]
	within never rank 0
	grep -q ': rank [0-9] (.*): .*closed the link or ended' err || { cat err; exit 1; }
	rm lost.jsonl
done
[ $tried != 0 ] || exit 77

# The library of another mpirun takes each rank for a job of its own.
if command -v mpirun.openmpi >/dev/null && ldconfig -p | grep -q libmpich.so.12; then
	mpirun=mpirun.openmpi
	export DFG_MPI=libmpich.so.12
	job 78
	has err 'libmpich.so.12 (MPICH) says that this is rank 0 of 1, but mpirun started rank'
	export DFG_MPI=$PWD/none.so
	job 78
	has err 'DFG_MPI: cannot open'
	unset DFG_MPI
fi

# A run that may lose ranks continues with the others, if mpirun does.
if command -v mpirun.openmpi >/dev/null; then
	# shellcheck disable=SC2086
	status 0 "$DFG" run t.pb $training --shards 4 --epochs 40 --save calm.npz
	# shellcheck disable=SC2086
	timeout -s KILL 100 mpirun.openmpi --enable-recovery -n 4 "$DFG" run slow.pb --hosts mpi --min-replicas 2 --replicas 4 $training \
		--epochs 40 --metrics lost.jsonl --save w.npz >out 2>err </dev/null &
	job=$!
	within test -s lost.jsonl
	kill -9 "$(rank 2)"
	wait $job || { cat err; exit 1; }
	cmp w.npz calm.npz
	has err 'continues with 3 of 4 replicas'
fi

# A library of the ABI of MPI 5, which is one of MPICH or OpenMPI below.
library=$(ldconfig -p | grep -o 'libmpich.so.12' | head -1)
if [ -n "$library" ] && command -v mpirun.mpich >/dev/null && command -v cc >/dev/null; then
	cat >abi.c <<'X'
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
enum { WORLD = 0x44000000, BYTE = 0x4c00010d };
static void *find(const char *name)
{
	static void *library;
	if (!library)
		library = dlopen("libmpich.so.12", RTLD_NOW);
	void *found = library ? dlsym(library, name) : 0;
	return found ? found : (abort(), (void *)0);
}
static void is(uintptr_t given, uintptr_t wanted)
{
	if (given != wanted)
		abort();
}
#define CALL(name, type) ((int(*) type)find(name))
int MPI_Init_thread(int *argc, char ***argv, int level, int *out) { is(level, 1024); return CALL("MPI_Init_thread", (int *, char ***, int, int *))(argc, argv, 1, out); }
int MPI_Comm_rank(void *comm, int *out) { is((uintptr_t)comm, 0x101); return CALL("MPI_Comm_rank", (int, int *))(WORLD, out); }
int MPI_Comm_size(void *comm, int *out) { is((uintptr_t)comm, 0x101); return CALL("MPI_Comm_size", (int, int *))(WORLD, out); }
int MPI_Bcast(void *b, int n, void *type, int root, void *comm) { is((uintptr_t)type, 0x247); is((uintptr_t)comm, 0x101); return CALL("MPI_Bcast", (void *, int, int, int, int))(b, n, BYTE, root, WORLD); }
int MPI_Allgather(const void *b, int n, void *type, void *all, int each, void *type2, void *comm) { is((uintptr_t)type, 0x247); is((uintptr_t)type2, 0x247); is((uintptr_t)comm, 0x101); return CALL("MPI_Allgather", (const void *, int, int, void *, int, int, int))(b, n, BYTE, all, each, BYTE, WORLD); }
int MPI_Isend(const void *b, int n, void *type, int to, int tag, void *comm, void **request) { is((uintptr_t)type, 0x247); is((uintptr_t)comm, 0x101); return CALL("MPI_Isend", (const void *, int, int, int, int, int, int *))(b, n, BYTE, to, tag, WORLD, (int *)request); }
int MPI_Irecv(void *b, int n, void *type, int from, int tag, void *comm, void **request) { is((uintptr_t)type, 0x247); is((uintptr_t)comm, 0x101); return CALL("MPI_Irecv", (void *, int, int, int, int, int, int *))(b, n, BYTE, from, tag, WORLD, (int *)request); }
int MPI_Test(void **request, int *done, void *status) { is((uintptr_t)status, 0); return CALL("MPI_Test", (int *, int *, void *))((int *)request, done, (void *)1); }
int MPI_Finalize(void) { return CALL("MPI_Finalize", (void))(); }
X
	cc -shared -fPIC -o libmpi_abi.so.0 abi.c -ldl
	mpirun=mpirun.mpich
	export DFG_MPI=$PWD/libmpi_abi.so.0
	# shellcheck disable=SC2086
	job 0 $training --save w.npz
	cmp w.npz one.npz
	unset DFG_MPI
fi
