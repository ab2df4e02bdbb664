# dfg run --data: the same samples from every format of arrays give the same weights, bit for bit.
. "$ROOT/tests/cli/kit"

python3 - <<'END'
import csv, gzip, json, random, struct
random.seed(2)
def npy(data, shape, descr="<f4"):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (117 - len(head)) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data
def write(name, data):
    open(name, "wb").write(data)
    return data
def f32(rows, order="<"):
    return b"".join(struct.pack("%s%df" % (order, len(row)), *row) for row in rows)
# 100 samples, the same as in tests/arrays/line-*: numbers that decimal text of eight digits holds exactly
x = [(((i * 389 + 17) % 1024 - 512) / 1024, ((i * 611 + 5) % 1024 - 512) / 1024) for i in range(100)]
t = [(3 * a - b + 1,) for a, b in x]
for name, rows, width in ("x", x, 2), ("t", t, 1):
    data = write(name + ".npy", npy(f32(rows), (100, width)))
    write(name + ".npy.gz", gzip.compress(data))
    write(name + "-big.npy", npy(f32(rows, ">"), (100, width), ">f4"))
    for i, (begin, end) in enumerate([(0, 37), (37, 37), (37, 90), (90, 100)]):
        write("%s-%d.npy" % (name, i), npy(f32(rows[begin:end]), (end - begin, width)))
    write(name + ".idx", bytes([0, 0, 13, 2]) + struct.pack(">II", 100, width) + f32(rows, ">"))
records = b"".join(f32([a + b]) for a, b in zip(x, t))
write("xt.bin", records)
write("xt.bin.gz", gzip.compress(records))
write("xt-0.bin", records[: 12 * 51])
write("xt-1.bin", records[12 * 51 :])
with open("xt.csv", "w") as file:
    for a, b in zip(x, t):
        file.write("%r,%r,%r\n" % (*a, *b))
# CIFAR-10: a label and 3 x 32 x 32 bytes a record
labels = bytes(random.randrange(10) for _ in range(20))
pixels = [bytes(random.randrange(256) for _ in range(3072)) for _ in range(20)]
write("cifar.bin", b"".join(bytes([a]) + b for a, b in zip(labels, pixels)))
write("cifar-label.npy", npy(labels, "(20,)", "|u1"))
write("cifar-pixels.npy", npy(b"".join(pixels), (20, 3072), "|u1"))
# Records that look like another format: an idx of u8, and a gzip file
write("idx-like.bin", bytes([0, 0, 8, 1]) * 3)
write("gzip-like.bin", bytes([0x1f, 0x8b]) * 6)
END
"$DFG" convert x.npy -o x.safetensors
cp "$ROOT/tests/arrays/line-classic.nc" line.nc
gzip -k line.nc
printf 'input x: f32[?,2]\ninput t: f32[?,1]\noutput x2 = x\noutput t2 = t\n' >copy.dfg
status 0 "$DFG" run copy.dfg --feed x=@x.npy --feed t=@t.npy -o xt.npz

cat >line.dfg <<'END'
input x: f32[n, 2]
input t: f32[n, 1]
param w: f32[2, 1] = zeros
param b: f32[] = zeros
output prediction = x @ w + b
output loss = mean((prediction - t) ** 2)
END
status 0 "$DFG" grad line.dfg --loss loss --optimizer 'momentum(lr=0.05)' -o line.pb
g=line.pb
train() { # X T OPTIONS
	x=$1 t=$2
	shift 2
	"$DFG" run "$g" --batch 16 --target train --fetch loss --data "x=@$x" --data "t=@$t" "$@"
}
# Each word is X and T with a blank between them.
formats=('x.npy.gz t.npy.gz' 'x-big.npy t-big.npy' 'x.idx t.idx' 'x.safetensors[] t.npy' 'xt.npz[x2] xt.npz[t2]'
	'xt.csv[0:2] xt.csv[2:3]' 'xt.bin[f32:3][0:2] xt.bin[f32:3][2:3]' 'xt.bin.gz[f32:3][:2] xt.bin.gz[f32:3][2:]'
	'line.nc[x] line.nc[t]' 'line.nc.gz[x] line.nc.gz[t]' 'x-0.npy,@x-1.npy,@x-2.npy,@x-3.npy t-0.npy,@t-1.npy,@t-2.npy,@t-3.npy' 'xt-0.bin[f32:3][:2],@xt-1.bin[f32:3][:2] t.idx'
	'x-0.npy,@x-1.npy,@x-2.npy,@xt.bin[f32:3][:2] t.npy')
same() { # OPTIONS
	status 0 train x.npy t.npy --metrics m1 --save s1.npz "$@"
	for words in "${formats[@]::${#formats[@]}-1}"; do
		status 0 train "${words% *}" "${words#* }" --metrics m2 --save s2.npz "$@"
		cmp m1 m2 || { echo "$words $*"; exit 1; }
		cmp s1.npz s2.npz
	done
}
# A short batch at the end, none, in order, in shards, and an evaluation.
same --epochs 3
same --epochs 3 --drop-last --shuffle 7
same --epochs 2 --no-shuffle
same --epochs 1 --shards 3
status 65 train "${formats[-1]% *}" t.npy
has err '--data: x-0.npy,@x-1.npy,@x-2.npy,@xt.bin[f32:3][:2] has 190 samples, but t.npy has 100'
status 0 train x.npy t.npy --steps 9 --save s1.npz
status 0 train 'xt.bin[f32:3][:2]' t.idx --steps 4 --checkpoint ck
status 0 train x-0.npy,@x-2.npy,@x-3.npy t.npy --steps 9 --checkpoint ck --resume --save s2.npz
cmp s1.npz s2.npz

# Inference over the files, in their order.
status 0 "$DFG" run "$g" --data x=@x.npy --fetch prediction -o y1.npy
status 0 "$DFG" run "$g" --data x=@x-0.npy,@x-2.npy,@x-3.npy --fetch prediction -o y2.npy
cmp y1.npy y2.npy

# A worker reads several files, or fixed records.
set -f
status 0 train x.npy t.npy --epochs 2 --metrics m1
status 0 "$DFG" run "$g" --batch 16 --target train --fetch loss --hosts local:2 --epochs 2 --metrics m2 \
	--data "x=w1:@$PWD/x-0.npy,@$PWD/x-2.npy,@$PWD/x-3.npy" --data "t=w0:@$PWD/xt.bin[f32:3][2:]"
cmp m1 m2
set +f

# CIFAR: columns of a record are a vector, or a matrix.
printf 'input label: u8[?]\ninput pixels: u8[?,3072]\noutput l = label\noutput p = pixels\n' >cifar.dfg
status 0 "$DFG" run cifar.dfg --data 'label=@cifar.bin[u8:3073][0]' --data 'pixels=@cifar.bin[u8:3073][1:]' --batch 7 -o got.npz
status 0 "$DFG" run cifar.dfg --feed label=@cifar-label.npy --feed pixels=@cifar-pixels.npy -o want.npz
cmp got.npz want.npz
status 0 "$DFG" show 'cifar.bin[u8:3073][0]' --json
status 0 "$DFG" run cifar.dfg --feed 'label=@cifar.bin[u8:3073][0]' --fetch l -o l.npy
cmp l.npy cifar-label.npy
printf 'input x: u8[?,2,3]\noutput y = x\n' >axes.dfg
status 0 "$DFG" run axes.dfg --feed 'x=@idx-like.bin[u8:2,3]' -o y.npy
status 0 "$DFG" run axes.dfg --feed 'x=@gzip-like.bin[u8:4,3][1:3]' -o y.npy

# The forms of wrong words and files.
printf 'input x: u8[?,3]\noutput y = x\n' >three.dfg
refused() { # STATUS WORDS FILE
	status "$1" "$DFG" run three.dfg --data "x=@$3"
	has err "$2"
}
refused 65 'cifar.bin: has 61460 bytes, which is not a whole number of records of u8[3072] (3072 bytes each)' 'cifar.bin[u8:3072]'
refused 65 "cifar.bin[u8:3073] holds samples of u8[?,3073], but 'x' is u8[?,3]" 'cifar.bin[u8:3073]'
refused 65 "cifar.bin[u8:3073][3] holds samples of u8[?], but 'x' is u8[?,3]" 'cifar.bin[u8:3073][3]'
for columns in 3073 3:3 4:3 0:3074 x 1:x 99999999999999999999 -1 '' 18446744073709551616: 1:2:3; do
	refused 65 "'$columns' is neither a number nor a range of the 3073 columns, which are 0 to 3072" "cifar.bin[u8:3073][$columns]"
done
refused 65 'not a whole number of records' 'cifar.bin[u8:99999999999999999999]'
refused 65 'larger than any memory' 'cifar.bin[u8:4294967296,4294967296]'
refused 65 'the type of a record has more than 7 dimensions' 'cifar.bin[u8:1,1,1,1,1,1,1,1]'
refused 65 'is not a file of arrays' 'cifar.bin'
refused 66 'none.bin' 'none.bin[u8:3]'
refused 65 "--data: x.npy holds samples of f32[?,2], but the files before it of u8[?,3]" 'cifar.bin[u8:3073][:3],@x.npy'
refused 66 'none.npy' 'cifar.bin[u8:3073][:3],@none.npy'
head -c 100 xt.bin.gz >cut.bin.gz
refused 65 'cut.bin.gz: the gzip stream is damaged or truncated' 'cut.bin.gz[u8:3]'
: >empty.bin
refused 65 'has no samples' 'empty.bin[u8:3]'
printf '\001\002' >two.bin
printf '\001\001\000\002' >four.bin
printf 'input x: bool[?]\noutput y = x\n' >bools.dfg
status 65 "$DFG" run bools.dfg --data 'x=@two.bin[bool:1][0]'
has err 'element 1 is 2, which is not a bool'
status 65 "$DFG" run bools.dfg --data 'x=@four.bin[bool:2][1]'
has err 'four.bin[bool:2][1]: rows 0 to 1: element 1 is 2, which is not a bool'

# No output replaces one of several files.
status 2 train x-0.npy,@x-2.npy,@x-3.npy t.npy -o x-2.npy
has err '-o x-2.npy would replace --data x-2.npy'
status 2 train 'xt.bin[f32:3][:2]' t.npy --metrics xt.bin
has err '--metrics xt.bin would replace --data xt.bin'

status 2 "$DFG" run "$g" --data 'x=*:@x.npy' --data t=@t.npy --target train --batch 16 --fetch loss -o x.npy
has err '-o x.npy would replace --data x.npy'
# The array of an npy has no name, which is not suggested.
status 65 "$DFG" show 'x.npy[a]'
has err "x.npy: no array 'a'"
never grep -q 'did you mean' err

# NetCDF: shown without its elements, converted, and never written.
a=$ROOT/tests/arrays
for name in classic offset64 data64; do
	status 0 "$DFG" convert "$a/$name.nc" -o "$name.npz"
	status 0 "$DFG" diff "$name.npz" "$a/$name.npz"
done
status 0 "$DFG" show "$a/classic.nc"
has out 'record_i16 i16[3,3]'
never grep -q min out
status 0 "$DFG" show "$a/classic.nc" --node scaled
has out 'scaled: i16[2]
1 2'
status 0 "$DFG" show "$a/classic.nc[scaled]"
has out 'i16[2]
1 2'
status 2 "$DFG" convert x.npy -o x.nc
has err 'x.nc: netcdf is a format that dfg only reads'
status 65 "$DFG" run three.dfg --data "x=@$a/classic.nc[record_i8]"
has err "classic.nc[record_i8] holds samples of i8[?,3], but 'x' is u8[?,3]"
# A thousand variables that share their bytes would be 400 MB of a file of 136 KB.
python3 - <<'END'
import struct
def name(s):
    return struct.pack(">I", len(s)) + s + b"\0" * (-len(s) % 4)
n = 1000
head = b"CDF\1" + struct.pack(">III", 0, 10, 1) + name(b"d") + struct.pack(">IIIII", 100000, 0, 0, 11, n)
begin = len(head) + n * 36
for i in range(n):
    head += name(b"v%05d" % i) + struct.pack(">IIIIIII", 1, 0, 0, 0, 1, 100000, begin)
open("overlap.nc", "wb").write(head + b"\0" * 100000)
END
status 65 "$DFG" show overlap.nc
has err 'overlap.nc: variables overlap'

# The first rows of each array, of one, of fixed records; a scalar whole.
status 0 "$DFG" show "$a/line-classic.nc" --head 1
cat >want <<'END'
x: f32[1,2]
-0.48339844 -0.4951172
t: f32[1,1]
0.044921875
END
cmp out want
status 0 "$DFG" show xt.npz --head 1 --node x2
head -2 want | sed s/x:/x2:/ | cmp out -
status 0 "$DFG" show 'xt.bin[f32:3][:2]' --head 1
[ "$(tail -1 out)" = "$(sed -n 2p want)" ]
status 0 "$DFG" show "$a/classic.nc" --head 1 --node scalar_f32
has out 'scalar_f32: f32[] 0.75'
status 0 "$DFG" show x.npy --head 1000
[ "$(wc -l <out)" = 101 ]
status 2 "$DFG" show x.npy --head 0
status 2 "$DFG" show x.npy --head 1 --json
