# Winograd's convolutions: where they are taken, that their bits depend on nothing else, and the options.
. "$ROOT/tests/cli/kit"

cat >net.dfg <<'X'
fn wave(shape) {
    n = 1
    static for d in shape { n = n * d }
    reshape(sin(f32(range(n)) * 1.7), shape)
}
input x: f32[batch, 29, 30, 64]
param w: f32[3, 3, 64, 66] = wave([3, 3, 64, 66])
filter = wave([3, 3, 66, 64]) / 64
y = Conv2D(x, w, strides = [1, 1, 1, 1], padding = "SAME")
output z = Conv2D(y, filter, strides = [1, 1, 1, 1], padding = "VALID")
output filter
X
"$DFG" build net.dfg -o net.pb
run() { # IMAGES OPTIONS...
	"$DFG" run net.pb --feed "x=$1" --fetch z -o got.npy "${@:2}"
}
three=normal:f32[3,29,30,64]:seed=1
run "$three" --exact-conv
mv got.npy exact.npy
run "$three" --threads 1
mv got.npy want.2.npy
run "$three" --threads 1 --winograd 4
mv got.npy want.4.npy
never cmp -s exact.npy want.2.npy
never cmp -s want.2.npy want.4.npy
python3 - <<'X'
import array
def floats(name):
    with open(name, "rb") as f:
        data = f.read()
    return array.array("f", data[-3 * 27 * 28 * 64 * 4:])
# The sum of |y w| of an output is about 594 * 14 / 64 * 2 / 3 = 87, and there are two convolutions.
exact = floats("exact.npy")
for name, bound in (("want.2.npy", 4e-7), ("want.4.npy", 4e-6)):
    error = max(abs(a - b) for a, b in zip(exact, floats(name)))
    assert 0 < error < 2 * 87 * bound, (name, error)
X

# The same bits in every way to run it.
for way in '--threads 2' --no-opt '--schedule random:3 --threads 2' '--hosts local:2 --place z=w1' \
	'--hosts local:2 --place filter*=w1 --place z=w0 --place w=w1' '--hosts local:2 --place random:5'; do
	for tile in 2 4; do
		# shellcheck disable=SC2086
		run "$three" --winograd $tile $way 2>err
		cmp want.$tile.npy got.npy
	done
	# shellcheck disable=SC2086
	run "$three" --exact-conv $way 2>err
	cmp exact.npy got.npy
done
for cpu in generic avx2 avx512; do
	flag=${cpu/avx512/avx512f}
	if [ "${cpu#avx}" != "$cpu" ] && ! grep -qw "$flag" /proc/cpuinfo; then continue; fi
	for tile in 2 4; do
		DFG_CPU=$cpu run "$three" --winograd $tile
		cmp want.$tile.npy got.npy
	done
done
# A filter that is fed has the bits of the same constant.
"$DFG" run net.pb --feed "x=$three" --fetch filter -o filter.npy
run "$three" --feed filter=@filter.npy
cmp want.2.npy got.npy

# A plan keeps the mark in its parts.
"$DFG" partition net.pb --hosts local:2 --place z=w1 -o plan >out 2>err
"$DFG" run plan --hosts local:2 --feed "x=$three" --fetch z -o got.npy 2>err
cmp want.2.npy got.npy

# A filter that is trained, in the same graph, is not constant: training computes exactly, and so does evaluation.
cat >train.dfg <<'X'
input x: f32[batch, 16, 16, 64]
param w: f32[3, 3, 64, 64] = reshape(sin(f32(range(36864)) * 1.7), [3, 3, 64, 64])
output y = Conv2D(x, w, strides = [1, 1, 1, 1], padding = "SAME")
output loss = sum(y * y) * 1e-6
X
"$DFG" build train.dfg -o train.pb
"$DFG" grad train.pb --loss loss --optimizer "sgd(1e-3)" -o step.pb 2>err
for graph in train step; do
	for exact in '' --exact-conv; do
		# shellcheck disable=SC2086
		"$DFG" run $graph.pb --feed 'x=normal:f32[2,16,16,64]:seed=1' --fetch y $exact -o "$graph$exact.npy"
	done
done
cmp train--exact-conv.npy step.npy
cmp step.npy step--exact-conv.npy
never cmp -s train.npy step.npy

"$DFG" run net.pb --feed "x=$three" --fetch z -o got.npy --stats 2>err
grep -E '^packed_bytes [1-9]' err
status 2 run "$three" --exact-conv --winograd 2
has err "--exact-conv excludes --winograd"
status 2 run "$three" --winograd 3
has err "--winograd must be 2 or 4, not 3"
status 0 "$DFG" doctor --quick
has out 'F(2,3)'
