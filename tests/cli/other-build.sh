# 40. Another build of the same version is refused at hello, in ten seconds, and both are named.
. "$ROOT/tests/cli/kit"
printf 'input x: f32[n]\noutput y = x * 2\n' >m.dfg

# A copy of the program whose linker's note has another first byte: in all else it is the same.
python3 - "$DFG" odd >ids <<'END'
import os, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
note = data.index(struct.pack("<III", 4, 20, 3) + b"GNU\0") + 16
before = bytes(data[note : note + 8]).hex()
data[note] ^= 0xFF
open(sys.argv[2], "wb").write(data)
os.chmod(sys.argv[2], 0o755)
machine = os.uname().machine
print(f"{machine}-{before}", f"{machine}-{bytes(data[note : note + 8]).hex()}")
END
read -r own odd <ids
[ "$own" != "$odd" ]
version=$("$DFG" version | awk 'NR == 1 {print $2}')
in_time() { # COMMAND... ends with 76 within ten seconds
	began=$(date +%s)
	status 76 timeout 60 "$@"
	[ $(($(date +%s) - began)) -lt 10 ] || { echo "refused after $(($(date +%s) - began)) s"; exit 1; }
}

# The launcher of the copy runs its own workers, not those of a host that has the other program.
status 0 timeout 60 ./odd run m.dfg --feed x=f32[2]:1,2 --fetch y --hosts local:2
printf 'local:1\nlocal:1 dfg=%s\n' "$PWD/odd" >hosts
in_time "$DFG" run m.dfg --feed x=f32[2]:1,2 --fetch y --hosts ./hosts
has err "w1: runs another build of dfg $version: $odd, expected $own; install the same build on all hosts"
printf 'local:1\nlocal:1 dfg=%s\n' "$DFG" >hosts
in_time ./odd run m.dfg --feed x=f32[2]:1,2 --fetch y --hosts ./hosts
has err "w1: runs another build of dfg $version: $own, expected $odd"

# A worker that was started by someone else tells only a peer with the secret.
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >secret
chmod 600 secret
"$DFG" serve --worker --secret-file secret --number 0 --port 0 >hello 2>worker.err &
worker=$!
trap 'kill $worker 2>/dev/null || true' EXIT
within test -s hello
port=$(sed 's/.*"address":"[^"]*:\([0-9]*\)".*/\1/' hello)
printf 'alpha tcp=127.0.0.1:%s\n' "$port" >hosts
in_time ./odd run m.dfg --feed x=f32[2]:1,2 --fetch y --hosts ./hosts --secret-file secret
has err "runs another build of dfg $version: $own, expected $odd; install the same build on all hosts"
never gone "$worker"
status 0 timeout 60 "$DFG" run m.dfg --feed x=f32[2]:1,2 --fetch y --hosts ./hosts --secret-file secret

# Ranks of MPI.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
printf '#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 1 ] && exec "%s" "$@"\nexec "%s" "$@"\n' "$PWD/odd" "$DFG" >mixed
chmod +x mixed
for mpirun in mpirun.openmpi mpirun.mpich; do
	command -v $mpirun >/dev/null || { echo "skipped: $mpirun is not installed"; continue; }
	got=0
	timeout -s KILL 60 $mpirun -n 2 ./mixed run m.dfg --feed x=f32[2]:1,2 --fetch y --hosts mpi >out 2>err </dev/null || got=$?
	[ $got = 76 ] || { echo "$mpirun: status $got"; cat err; exit 1; }
	has err ") run different builds of dfg $version: $odd and $own"
done
