# Graphs on a device: the stand-in, whose results have the bits of the host.
. "$ROOT/tests/cli/kit"
DFG_CUDA=$(dirname "$DFG")/dfg-cuda-standin.so
export DFG_CUDA DFG_STANDIN=devices=2,memory=64M

cat >net.dfg <<'X'
input x: f32[n, 4]
const w = [0.5, -1.0, 2.0, 3.0]
h = tanh(x * w + 1)
y = sigmoid(h) - exp(x)
output y
output total = sum(relu(y) * 2)
X
"$DFG" build net.dfg -o net.pb

# The same bytes on the host, on either device, with delays and poisoned memory, and where denormals are kept.
feed='x=normal:f32[37,4]:seed=3'
"$DFG" run net.pb --feed "$feed" -o host.npz
for device in cuda cuda:0 cuda:1; do
	"$DFG" run net.pb --feed "$feed" --device $device -o device.npz
	cmp host.npz device.npz
done
DFG_STANDIN=delay=5,poison "$DFG" run net.pb --feed "$feed" --device cuda -o device.npz
cmp host.npz device.npz
"$DFG" run net.pb --feed 'x=f32[1,4]:1e-42,-1e-42,1,2' --denormals keep -o host.npz
"$DFG" run net.pb --feed 'x=f32[1,4]:1e-42,-1e-42,1,2' --denormals keep --device cuda -o device.npz
cmp host.npz device.npz
"$DFG" run net.pb --feed "$feed" --device cpu -o device.npz
"$DFG" run net.pb --feed "$feed" -o host.npz
cmp host.npz device.npz

# Where nodes are, why, and what is copied; the counts agree: x goes in, and the sum comes out, as y is not fetched.
"$DFG" partition net.pb --device cuda:1 --explain >out
grep '^y/Sigmoid ' out >line
has line 'w1  cuda:1 has a kernel for it'
grep '^h/Const ' out >line
has line 'w1  the nodes that read it are there'
grep '^x ' out >line
has line 'w0  inputs, control flow and state are on the host'
grep '^total.0 ' out >line
has line 'w1  cuda:1 has a kernel for it'
"$DFG" partition net.pb --device cuda:1 --explain --json >plan.json
"$DFG" run net.pb --feed "$feed" --device cuda:1 --fetch total --stats --json >stats.json
python3 - <<'X'
import json
plan, run = json.load(open('plan.json')), json.load(open('stats.json'))
tensors = sorted((t['from'], t['to'], t['tensor']) for t in plan['transfers'])
assert tensors == [('w0', 'w1', 'x:0'), ('w1', 'w0', 'total.0:0'), ('w1', 'w0', 'y.0:0')], tensors
stats = run['stats']['cuda:1']
assert stats['launches'] == 9, stats  # *, +, tanh, sigmoid, exp, -, relu, *, sum
assert stats['copied_out_bytes'] == 4, stats
assert stats['copies_out'] == stats['syncs'] == 1, stats
X

# Variables, their gradient and checkpoints: a file of either is that of the host.
cat >fit.dfg <<'X'
input x: f64[n, 3]
input t: f64[n]
param w: f32[3] = zeros
loss = mean((sum(f32(x) * w, axis = 1) - f32(t)) ** 2)
output loss
X
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adam(lr=0.1)' -o train.pb
python3 - <<'X'
import random
random.seed(4)
rows = [[random.uniform(-1, 1) for _ in range(3)] for _ in range(40)]
open('x.csv', 'w').writelines(','.join('%.6f' % v for v in r) + '\n' for r in rows)
open('t.csv', 'w').writelines('%.6f\n' % (r[0] - 2 * r[1] + r[2] / 2) for r in rows)
X
set -- train.pb --data x=@x.csv --data t=@t.csv --batch 8 --epochs 4 --target train --fetch loss -q
"$DFG" run "$@" --save host.safetensors >host.txt
"$DFG" run "$@" --device cuda --save device.safetensors >device.txt
cmp host.safetensors device.safetensors
cmp host.txt device.txt

# Rows in loops and branches, whose order the host decides.
cat >loop.dfg <<'X'
input x: f32[4]
y, count = loop (y = x, i = 0) while i < 5 {
    next if i % 2 == 0 { exp(y * 0.1) } else { y * y - 1 }, i + 1
}
output y
output count
X
"$DFG" run loop.dfg --feed x=f32[4]:0.1,0.2,-3,4 >host.txt
"$DFG" run loop.dfg --feed x=f32[4]:0.1,0.2,-3,4 --device cuda >device.txt
cmp host.txt device.txt

# Products of matrices: chains of every length, turned and repeated operands, halves and integers; and those that do not fit.
cat >products.dfg <<'X'
input a: f32[p, q, 6, k]
input b: f32[q, k, 5]
c = a[0, 0]
output ab = a @ b
output turned = BatchMatMulV2(b, a, adj_x = true, adj_y = true)
output square = MatMul(c, c, transpose_b = true)
output doubles = f64(a) @ f64(b)
output halves = f16(a) @ f16(b)
output rounded = bf16(a) @ bf16(b)
output whole = i32(a * 100) @ i32(b * 100)
X
"$DFG" build products.dfg -o products.pb
for k in 0 1 7 4096 4097 9000; do
	set -- products.pb --feed "a=normal:f32[2,3,6,$k]:seed=1" --feed "b=normal:f32[3,$k,5]:seed=2" --fetch \
		ab,turned,square,doubles,halves,rounded,whole
	"$DFG" run "$@" -o host.npz
	"$DFG" run "$@" --device cuda -o device.npz --stats 2>err
	cmp host.npz device.npz
	never grep -qx 'cuda:0 launches 0' err
done
status 65 "$DFG" run products.pb --feed a=zeros:f32[1,1,6,4] --feed b=zeros:f32[1,3,5] --fetch ab --device cuda
has err "node 'ab.0' (BatchMatMulV2): cannot multiply [1,1,6,4] by [1,3,5]"

# Reductions over the first, middle, last and several axes, in the host's order: lanes, leaves, blocks, halves.
cat >reductions.dfg <<'X'
input x: f32[a, b, c]
output first = sum(x, axis = 0)
output middle = mean(x, axis = 1)
output last = sum(x, axis = -1)
output outer = mean(x, axis = [0, 2], keep_dims = true)
output inner = min(x, axis = [1, 2])
output all = sum(f64(x))
output product = Prod(x, i32(-1))
output largest = max(x, axis = 1)
output halves = sum(f16(x), axis = 1)
output rounded = mean(bf16(x), axis = 0)
output whole = sum(i32(x * 1000000000), axis = 1)
output few = Prod(i8(x * 9), i32([0, 2]))
X
"$DFG" build reductions.dfg -o reductions.pb
for shape in 3,5,7 1,1,1 40,3,70 2,2000,3 1,1,70000 17,17,17 40000,2,1 3,1,1025 0,3,4 3,0,4 2,3,0; do
	"$DFG" run reductions.pb --feed "x=normal:f32[$shape]:seed=3" -o host.npz
	"$DFG" run reductions.pb --feed "x=normal:f32[$shape]:seed=3" --device cuda -o device.npz
	cmp host.npz device.npz
done
"$DFG" run reductions.pb --feed 'x=f32[1,1,5]:nan,-0,inf,-inf,1e-42' --fetch inner,largest,last,first -o host.npz
"$DFG" run reductions.pb --feed 'x=f32[1,1,5]:nan,-0,inf,-inf,1e-42' --fetch inner,largest,last,first --device cuda -o device.npz
cmp host.npz device.npz
"$DFG" partition reductions.pb --device cuda --explain >out
grep '^middle.0 ' out >line
has line 'w1  cuda:0 has a kernel for it'

# Faults: no provider, another device, memory that ends, a device that is lost, a call that fails.
status 78 "$DFG" run net.pb --feed "$feed" --device cuda:2
has err 'there is no device cuda:2: this machine has cuda:0 to cuda:1'
status 78 "$DFG" run net.pb --feed "$feed" --device gpu
has err "unknown device 'gpu': a device is cpu, cuda or cuda:I"
status 78 env -u DFG_CUDA "$DFG" run net.pb --feed "$feed" --device cuda
has err 'no provider of CUDA devices'
has err "'make standin' builds dfg-cuda-standin.so"
DFG_STANDIN=devices=0 status 78 "$DFG" run net.pb --feed "$feed" --device cuda
DFG_STANDIN=memory=1M status 71 "$DFG" run net.pb --feed x=zeros:f32[100000,4] --device cuda
has err 'cuda:0 has no memory for f32[100000,4] (1600000 bytes)'
DFG_STANDIN=lost=3 status 69 "$DFG" run net.pb --feed "$feed" --device cuda
has err 'the device is lost (cudaErrorLaunchFailure)'
DFG_STANDIN=ecc=2 status 69 "$DFG" run net.pb --feed "$feed" --device cuda
has err 'uncorrectable memory error'
for call in cudaMallocFromPoolAsync:2:71 cudaMemcpyAsync:1:70 cudaLaunchKernel:2:70 cudaStreamCreateWithFlags:1:70 \
	cudaStreamSynchronize:1:70 cudaSetDevice:1:70 cudaGetDeviceCount:1:70; do
	DFG_STANDIN=fail=${call%:*} status "${call##*:}" "$DFG" run net.pb --feed "$feed" --device cuda
done
status 2 "$DFG" run net.pb --feed "$feed" --device cuda --hosts local:2
has err '--hosts cannot be used with --device cuda'

# On the host, nothing of this is looked at.
DFG_CUDA=./nothing.so "$DFG" run net.pb --feed "$feed" --device cpu >/dev/null

# Recorded cases, and those of ops, whose results are the host's; the device computes them, which its loss shows.
status 0 "$DFG" test "$ROOT/tests/ops" --device cuda
tail -n 1 out >on_device
"$DFG" test "$ROOT/tests/ops" | tail -n 1 | cmp - on_device
DFG_STANDIN=poison,delay=3 "$DFG" test -q "$ROOT/tests/cases/ours" "$ROOT/tests/cases/train" --device cuda
DFG_STANDIN=lost=1 status 1 "$DFG" test "$ROOT/tests/ops" --device cuda
has out 'FAIL Relu6([-1, 3, 7])'
has out 'the device is lost'
status 2 "$DFG" test "$ROOT/tests/ops" --device cuda --hosts local:2
has err '--hosts cannot be used with --device cuda'
