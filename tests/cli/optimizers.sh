# Optimizers of the library: five steps by Keras, as tests/tensorflow/optimizers.py prints them.
. "$ROOT/tests/cli/kit"
cat >p.dfg <<'.'
fn wave(shape, to: dtype = f64) {
    n = 1
    static for d in shape { n = n * d }
    reshape(sin(to(range(n)) + 1), shape)
}
param m: f64[2, 3] = wave
param v: f64[4] = wave
output loss = sum(sin(m) * wave([2, 3])) + sum(sin(v) * wave([4]))
output sums = [sum(m * wave([2, 3])), sum(v * wave([4]))]
.
"$DFG" build p.dfg -o p.pb
while IFS=: read -r optimizer values; do
	"$DFG" grad p.pb --loss loss --optimizer "$optimizer" -o t.pb
	"$DFG" run t.pb --target train --steps 5 --save w.npz --fetch loss >/dev/null
	"$DFG" run p.pb --load w.npz --fetch sums | sed 1d >got
	echo "$values" | awk -v optimizer="$optimizer" '
		{ a = $1; b = $2; getline <"got"
		  if (($1 - a) ^ 2 > 4e-12 || ($2 - b) ^ 2 > 4e-12) { print optimizer ": " $0 ", not " a " " b; exit 1 } }'
done <<'.'
adamax(lr = 0.125): 0.864357 0.585644
nadam(lr = 0.125): 1.099182 0.748412
lion(lr = 0.125): 0.695775 0.472128
lion(lr = 0.125, decay = 0.25): 0.384213 0.260116
lamb(lr = 0.125): 1.705892 1.153856
adadelta(lr = 0.5): 3.111151 2.118008
ftrl(lr = 0.125): -0.002166 0.008554
ftrl(lr = 0.125, l1 = 0.5, l2 = 0.25, beta = 0.5): -0.144062 -0.097680
adafactor(lr = 0.125): 1.689931 1.147557
.
# An optimizer that looks at a whole variable does not go row by row through a table.
printf 'input i: i32[n]\nparam table: f32[9, 2] = 1\noutput loss = sum(take(table, i) ** 2)\n' >e.dfg
"$DFG" build e.dfg -o e.pb
"$DFG" grad e.pb --loss loss --optimizer 'lamb(lr = 0.125)' -o e-train.pb
"$DFG" grad e.pb --loss loss --optimizer 'sgd(lr = 0.125)' -o e-rows.pb
never grep -q ResourceScatterUpdate e-train.pb
grep -q ResourceScatter e-rows.pb
