# An LSTM as a loop in the graph and unrolled, one thread: a sequence forward, and a step of training.
dfg=${DFG:-build/dfg}
program() { # BATCH UNITS HOW, of 50 steps
	echo "input xs: f32[50, $1, $2]"
	echo "cell = lstm($2)"
	echo "h, c = zeros([$1, $2]), zeros([$1, $2])"
	if [ "$3" = loop ]; then
		echo "h, c = loop (h = h, c = c) for x in xs { next cell(x, h, c) }"
	else
		echo "static for t in 0..50 { h, c = cell(xs[t], h, c) }"
	fi
	echo "output loss = mean(h * h)"
}
row() { # NAME OPTIONS
	name=$1
	shift
	"$dfg" bench "$@" --threads 1 --json | sed "s/.*\"median_us\": \([0-9.]*\).*/$name\t\1/"
}
program 1 128 loop >"$SCRATCH/one.dfg"
row 'LSTM 1x128, 50 iterations' "$SCRATCH/one.dfg" --repeat 300
for how in loop unrolled; do
	program 64 128 $how >"$SCRATCH/$how.dfg"
	"$dfg" grad "$SCRATCH/$how.dfg" --loss loss --optimizer 'sgd(lr=0.01)' -o "$SCRATCH/$how.pb"
	row "LSTM 64x128, step, $how" "$SCRATCH/$how.pb" --target train --repeat 10
done
program 32 512 loop >"$SCRATCH/large.dfg"
"$dfg" grad "$SCRATCH/large.dfg" --loss loss --optimizer 'sgd(lr=0.01)' -o "$SCRATCH/large.pb"
row 'LSTM 32x512, step' "$SCRATCH/large.pb" --target train --repeat 5
