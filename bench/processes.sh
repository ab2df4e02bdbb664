# Worker processes of this machine that work at once: a pipeline of stages that sleep, next to the ideal, and an LSTM of
# two layers with a worker each, next to one process. One thread a process; medians of steps.
: "${DFG:=build/dfg}"
set -e # no status is lost in a pipe

row() { # ROW REPEAT GRAPH OPTIONS...: in milliseconds
	name=$1 repeat=$2
	shift 2
	"$DFG" run "$@" --threads 1 --warmup 1 --repeat "$repeat" --json --quiet >"$SCRATCH/said.json"
	sed -n 's/.*"median_us": *\([0-9.e+-]*\).*/\1/p' "$SCRATCH/said.json" |
		awk -v name="$name" '{printf "%s\t%f\n", name, $1 / 1000}'
}

# Eight stages, each one at a time as a device is, in a loop with WINDOW iterations in flight. The result of the
# last stage returns to the first worker, which completes the iteration: each worker has a window of its own.
STAGE_MS=5
pipeline() { # WINDOW
	echo 'x, last, s0, s1, s2, s3, s4, s5, s6, s7 = loop (x = 0.0, last = 0.0, s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0,' \
		"s5 = 0.0, s6 = 0.0, s7 = 0.0) for i in 0..64 with (parallel = $1) {"
	echo 'y = x + 1.0'
	from=y
	for stage in 0 1 2 3 4 5 6 7; do
		echo "on \"w$stage\" { after s$stage { t$stage = Dfg>Sleep($from, ms = $STAGE_MS) } }"
		from=t$stage
	done
	echo 'on "w0" { z = t7 * 1.0 }'
	echo 'next y, z, t0, t1, t2, t3, t4, t5, t6, t7'
	echo '}'
	echo 'output out = last * 1.0'
}

# An iteration begins a stage after the one before it, and not before the one a window ago has ended.
ideal() { # WINDOW
	awk -v window="$1" -v stage=$STAGE_MS 'BEGIN {
		for (i = 1; i < 64; i++) {
			start[i] = start[i - 1] + 1
			if (i >= window && start[i] < start[i - window] + 8)
				start[i] = start[i - window] + 8
		}
		print (start[63] + 8) * stage
	}'
}
for window in 1 2 4 8 16 32; do
	pipeline $window >"$SCRATCH/pipeline.dfg"
	row "8 stages, window $window" 1 "$SCRATCH/pipeline.dfg" --hosts local:8
	printf '8 stages, window %s\t%s\tideal\n' $window "$(ideal $window)"
done

# A layer on each of two workers: while one is at a step of the sequence the other is at the one before.
cat >"$SCRATCH/layers.dfg" <<'END'
input xs: f32[50, 64, 256]
below, above = lstm(256), lstm(256)
start = zeros([64, 256])
a, b, c, d = loop (a = start, b = start, c = start, d = start) for x in xs {
	a, b = below(x, a, b)
	on "w1" { c, d = above(a, c, d) }
	next a, b, c, d
}
output out = c
END
input='--feed xs=normal:f32[50,64,256]:seed=1'
# shellcheck disable=SC2086
{
	row 'LSTM of 2 layers, 2 processes' 7 "$SCRATCH/layers.dfg" $input --hosts local:2 --place 'above/*=w1'
	row 'LSTM of 2 layers, 2 processes' 7 "$SCRATCH/layers.dfg" $input >"$SCRATCH/one"
	sed 's/$/\tone process/' "$SCRATCH/one"
}
