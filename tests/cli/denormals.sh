# --denormals: floats too small to be normal are 0 in arithmetic, or kept, alike in every way to run a graph.
. "$ROOT/tests/cli/kit"

# Denormals are multiples of 2^-149, the least float: 1e-38 * 0.5^k is one from k = 0 on.
cat >m.dfg <<'.'
input x: f32[]
input v: f32[3000]
y = loop (y = x) for i in 0..20 { next y * 0.5 }
z = loop (z = v) for i in 0..20 { next z * 0.5 }
output y
output z = sum(z * 1e38)
output moved = Reshape(-x, [1])
output scaled = v * 1e-3 + v
.
"$DFG" build m.dfg -o m.pb
run() { # OPTIONS...
	"$DFG" run m.pb --feed x=f32[]:1e-37 --feed v=@v.npy "$@"
}
python3 - <<'.'
import struct
def npy(name, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * ((-len(head) - 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))
npy("v.npy", [(1 + i % 7) * 3e-38 for i in range(3000)])
f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
kept = f32(1e-37)
for i in range(20):
    kept = f32(kept * 0.5)
with open("kept", "w") as f:
    f.write(repr(kept))
.
run --denormals keep --fetch y >got
python3 -c "assert float(open('got').read().split()[-1]) - float(open('kept').read()) < 1e-49, open('got').read()"
run --fetch y >got
has got 'y: f32[] 0'
never grep -q e- got
run --fetch z >got
has got 'z: f32[] 0'
# A move of bits keeps a denormal, which printing shows.
"$DFG" run m.pb --feed x=f32[]:1e-40 --fetch moved >got
has got -1e-40
status 2 run --denormals off
has err "--denormals must be flush or keep, not 'off'"

# The same bits in every way to run it, in either mode; the modes differ.
for mode in flush keep; do
	run --denormals $mode --threads 1 >want.$mode
	for way in '--threads 2' --no-opt --no-compiled-loops '--schedule random:3' '--check-numerics --threads 2' \
		'--hosts local:2 --place y*=w1 --place z*=w0' '--hosts local:2 --place random:5'; do
		# shellcheck disable=SC2086
		run --denormals $mode $way >got 2>err
		cmp want.$mode got
	done
done
never cmp -s want.flush want.keep
DFG_CPU=generic run --threads 2 >got
cmp want.flush got

# Folding neither flushes nor keeps: a constant on which the modes differ stays to be computed.
cat >c.dfg <<'.'
tiny = constant(1e-30)
output lost = tiny * 1e-12
output safe = constant(3.0) * 2
.
sed -i 's/constant(\([^)]*\))/f32(\1)/' c.dfg
"$DFG" build c.dfg -o c.pb
"$DFG" opt c.pb -o folded.pb
for mode in flush keep; do
	"$DFG" run c.pb --denormals $mode >want
	"$DFG" run folded.pb --denormals $mode >got
	cmp want got
	"$DFG" run c.pb --denormals $mode --no-opt >got
	cmp want got
	cp want folded.$mode
done
has folded.flush 'lost: f32[] 0'
has folded.keep 'lost: f32[] 1e-42'
"$DFG" show folded.pb >out
has out Mul
[ "$(grep -c Mul out)" = 1 ] || { echo "one product stays, the other is a constant:"; cat out; exit 1; }

# Shards of one process and of two, whose gradients are denormal before they are added.
cat >t.dfg <<'.'
input x: f32[?]
param w: f32[64] = zeros
output loss = sum(w * 1e-41) * mean(x) + sum(w * w)
.
"$DFG" build t.dfg -o t.pb
"$DFG" grad t.pb --loss loss --optimizer 'sgd(lr=1e38)' -o g.pb
"$DFG" run m.pb --feed x=f32[]:1 --feed v=normal:f32[3000] --fetch moved -o one.npy
train() { # FILE OPTIONS...
	out=$1
	shift
	"$DFG" run g.pb --data x=@ones.npy --batch 4 --steps 1 --target train --save "$out" "$@" 2>err
}
python3 - <<'.'
import struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }"
head += " " * ((-len(head) - 11) % 64) + "\n"
with open("ones.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<8f", *[1] * 8))
.
for mode in flush keep; do
	train $mode.safetensors --denormals $mode --shards 2
	train two.safetensors --denormals $mode --shards 2 --replicas 2 --hosts local:2
	cmp $mode.safetensors two.safetensors
done
status 0 "$DFG" show flush.safetensors --node w
never grep -q e- out
never cmp -s flush.safetensors keep.safetensors

# A checkpoint says which mode it was made with.
train a.safetensors --checkpoint ck
grep -q '"denormals":"flush"' ck/step-1/manifest.json
"$DFG" run g.pb --data x=@ones.npy --batch 4 --steps 2 --target train --checkpoint ck --resume --denormals keep 2>err
has err 'was made with --denormals flush, but this run has --denormals keep'
"$DFG" run g.pb --data x=@ones.npy --batch 4 --steps 3 --target train --checkpoint ck --resume --denormals keep 2>err
has err 'resumed at step 2'
never grep -q warning err

# Doctor says how this processor treats denormals.
"$DFG" doctor --quick >out
has out denormals
