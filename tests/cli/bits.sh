# The same bits: the kinds of instructions that DFG_CPU names, the number of threads, rows of a batch by themselves.
. "$ROOT/tests/cli/kit"

# Numbers that no sum of f32 holds exactly.
cat >net.dfg <<'X'
input x: f32[?, 300]
w = Reshape(Sin(Cast(Range(0, 300 * 70, 1), DstT = f32)), [300, 70])
v = Reshape(Cos(Cast(Range(0, 70 * 5000, 1), DstT = f32)), [70, 5000])
h = Tanh(MatMul(x, w))
y = MatMul(MatMul(h, v), v, transpose_b = true)
output h
output y
X
"$DFG" build net.dfg -o net.pb
python3 - <<'X'
import math, struct
def npy(name, rows):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 300), }" % len(rows)
    head += " " * ((-len(head) - 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
        for row in rows:
            f.write(struct.pack("<300f", *row))
rows = [[math.sin(i * 300 + j) for j in range(300)] for i in range(40)]
npy("all.npy", rows)
for i in (0, 17, 39):
    npy("row%d.npy" % i, rows[i:i + 1])
npy("half.npy", rows[:20])
X
run() { "$DFG" run net.pb --feed x=@"$1".npy --fetch h,y --threads "$2"; }
run all 1 >want
for cpu in '' generic avx2 avx512; do
	flag=${cpu/avx512/avx512bw}
	if [ "${cpu#avx}" != "$cpu" ] && ! grep -qw "$flag" /proc/cpuinfo; then continue; fi
	for threads in 1 2 4; do
		DFG_CPU=$cpu run all "$threads" >got
		cmp want got
	done
done
# Lines of all: h:, 40 rows, y:, 40 rows.
for i in 0 17 39; do
	run "row$i" 1 | grep -v : >got
	sed -n "$((i + 2))p;$((i + 43))p" want >rows
	cmp rows got
done
run half 2 | grep -v : >got
sed -n '2,21p;43,62p' want >rows
cmp rows got

DFG_CPU=pdp11 status 78 "$DFG" ops
has err "DFG_CPU is 'pdp11': this processor can be one of: "
has err 'generic, mul'
grep -qw avx512f /proc/cpuinfo || never grep -q 'one of:.*avx512' err # names only what can be chosen
DFG_CPU=generic status 0 "$DFG" doctor
has out "generic (bits: fma)"
grep -qx "vectors  *generic" out
