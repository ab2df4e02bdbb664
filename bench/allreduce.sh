# The all-reduce of two replicas of this machine, from the values in the bucket's memory to the sum; medians of calls.
: "${DFG:=build/dfg}"
set -e # no status is lost in a pipe

row() { # NAME BYTES DIVISOR
	"$DFG" bench allreduce --hosts local:2 --transport shm --sizes "$2" --json >"$SCRATCH/said.json"
	sed 's/.*"p50_us": \([0-9.e+]*\).*/\1/' "$SCRATCH/said.json" | awk -v of="$3" -v name="$1" '{printf "%s\t%g\n", name, $1 / of}'
}
row 'all-reduce of 2, 4 bytes' 4 1
row 'all-reduce of 2, 64 KiB' 64KiB 1
row 'all-reduce of 2, 64 MiB' 64MiB 1000
