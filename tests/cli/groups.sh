# Ops that are computed together, tile by tile: the same bits, the same errors, and what --stats says of them.
. "$ROOT/tests/cli/kit"

cat >net.dfg <<'X'
input shift: f32[]
x = Reshape(Sin(Cast(Range(0, 96 * 300, 1), DstT = f32)), [96, 300]) + shift
h = layer_norm()(relu(dense(300)(x)) + x)
p = softmax(dense(40)(h * sigmoid(h)))
output loss = mean((p - 0.025) * (p - 0.025)) + mean(abs(h)) * 0.1
X
"$DFG" build net.dfg -o net.pb
"$DFG" grad net.pb --loss loss --optimizer 'adam(lr=0.01)' -o train.pb
step() { "$DFG" run train.pb --feed shift=0.25 --steps 3 --target train --fetch loss --save "$@"; }
"$DFG" run train.pb --target init --save first.npz
step want.npz --load first.npz --threads 1 --no-opt >want 2>/dev/null
for threads in 1 2 4; do
	step got.npz --load first.npz --threads $threads --stats >got 2>err
	cmp want got
	"$DFG" diff want.npz got.npz --rtol 0 --atol 0
	grep -q '^grouped_nodes [1-9]' err
done
step got.npz --load first.npz --check-numerics --stats >got 2>err
cmp want got
grep -qx 'groups 0' err
for cpu in generic avx2 avx512; do
	if [ "$cpu" != generic ] && ! grep -qw "${cpu/avx512/avx512bw}" /proc/cpuinfo; then continue; fi
	DFG_CPU=$cpu step got.npz --load first.npz >got 2>err
	cmp want got
done

# A variable that is read between two members does not divide a group, nor does a sum of two gradients.
cat >norm.dfg <<'X'
input x: f32[64, 256]
output y = layer_norm()(x)
output slope = grad(sum(y * y * y), x)
X
"$DFG" build norm.dfg -o norm.pb
norm() { "$DFG" run norm.pb --feed x=normal:f32[64,256]:seed=1 --init init --stats --fetch "$@"; }
norm y >got 2>err
grep -qx 'groups 1' err
grep -qx 'grouped_nodes 9' err
norm slope >got 2>err
grep -qx 'groups 2' err
norm slope --no-opt >want 2>/dev/null
cmp want got

# The scores of attention have no memory of their own: 64 MiB here.
cat >attention.dfg <<'X'
input q: f32[1, 2, 4096, 16]
scores = q @ transpose(q, [0, 1, 3, 2]) * 0.25
place = range(4096)
output y = sum(softmax(where(place[:, new] >= place, scores, -1e9)) @ q, axis = 2)
X
"$DFG" build attention.dfg -o attention.pb
attention() { "$DFG" run attention.pb --feed q=normal:f32[1,2,4096,16]:seed=1 --fetch y --stats "$@"; }
attention --threads 2 >got 2>err
attention --no-opt >want 2>plain
cmp want got
test "$(sed -n 's/^peak_bytes //p' err)" -lt 40000000
test "$(sed -n 's/^peak_bytes //p' plain)" -gt 134217728

# Attention in a loop and in a branch, of matrices of f64, by each kind of instructions; a causal model of the library.
cat >loop.dfg <<'X'
input q: f64[70, 33]
input n: i32[]
input few: bool[]
_, x = loop (i = 0, x = q) while i < n { next i + 1, softmax(MatMul(x, x, transpose_b = true) * 0.1) @ x }
output y = if few { x } else { softmax(x @ transpose(x, [1, 0]) + 1.0) @ x }
z = f32(reshape(q[0:64], [2, 16, 66]))
output a = attention(3, causal = true)(concat([z, z, z, z], axis = 1))
X
"$DFG" build loop.dfg -o loop.pb
loop() { "$DFG" run loop.pb --feed q=normal:f64[70,33]:seed=1 --feed n=3 --init init --fetch y,a --stats "$@"; }
for few in true false; do
	loop --feed few=$few --no-opt >want 2>/dev/null
	for cpu in generic avx2 avx512; do
		if [ "$cpu" != generic ] && ! grep -qw "${cpu/avx512/avx512bw}" /proc/cpuinfo; then continue; fi
		DFG_CPU=$cpu loop --feed few=$few --threads 2 >got 2>err
		cmp want got
	done
done
loop --feed few=false --profile >got 2>&1
grep -q 'MatMul+Mul+Softmax+MatMul' got
grep -q 'MatMul+AddV2+Softmax+MatMul' got
grep -q 'BatchMatMulV2+Mul+SelectV2+Softmax+BatchMatMulV2' got

# The error of one op among others names its node, as without groups.
cat >divide.dfg <<'X'
input d: i32[]
x = Range(0, 4096, 1) + d
output y = (x * 3 + 1) // (x - 100) + x
X
"$DFG" run divide.dfg --feed d=100000 --json | cut -d, -f1-99 >got
"$DFG" run divide.dfg --feed d=100000 --json --no-opt | cut -d, -f1-99 >want
cmp want got
status 65 "$DFG" run divide.dfg --feed d=0
cp err together
status 65 "$DFG" run divide.dfg --feed d=0 --no-opt
cmp err together
