# Steps that several worker processes of this machine take part in: one that does next to nothing on each, and a loop whose
# body has one op on another worker, an iteration. Medians, from feeds bound to fetches ready.
: "${DFG:=build/dfg}"
set -e # no status is lost in a pipe

row() { # ROW OF OPTIONS...
	name=$1 of=$2
	shift 2
	"$DFG" run --json --quiet "$@" >"$SCRATCH/said.json"
	sed 's/.*"median_us":\([0-9.e+]*\).*/\1/' "$SCRATCH/said.json" |
		awk -v of="$of" -v name="$name" '{printf "%s\t%g\n", name, $1 / of}'
}
for workers in 1 2 8; do
	graph=$SCRATCH/null$workers.dfg
	place=
	: >"$graph"
	for w in $(seq 0 $((workers - 1))); do
		printf 'input x%d: f32[]\noutput y%d = x%d + 1.0\n' "$w" "$w" "$w" >>"$graph"
		place="$place --feed x$w=1 --place x$w=w$w --place y$w=w$w"
	done
	# shellcheck disable=SC2086
	row "null step, workers: $workers" 1 "$graph" --hosts local:$workers $place --threads 1 --warmup 100 --repeat 2000
done
cat >"$SCRATCH/far.dfg" <<'.'
input n: i32[]
_, total = loop (i = 0, s = 0.0) while i < n {
    far = s * 0.5
    next i + 1, far + 1.0
}
output sum = total
.
for transport in shm libcurl; do
	row "loop over $transport, an iteration" 1000 "$SCRATCH/far.dfg" --feed n=1000 --hosts local:2 --place '*=w0' \
		--place '*far*=w1' --threads 1 --transport $transport --warmup 2 --repeat 10
done
