# Checkpoints of TensorFlow: SaveV2, RestoreV2, MergeV2Checkpoints; the recorded files are those of tests/tensorflow/bundle.py.
. "$ROOT/tests/cli/kit"
graph=$ROOT/tests/graphs/bundle.pb
go() { # PREFIX OPTION...
	prefix=$1
	shift
	"$DFG" run "$graph" --feed "prefix=string[]:$prefix" "$@"
}
# The same bytes as TensorFlow's.
go mine --target save
cmp mine.index "$ROOT/tests/graphs/bundle.index"
cmp mine.data-00000-of-00001 "$ROOT/tests/graphs/bundle.data-00000-of-00001"
go mine --fetch restore:0,restore:1,restore:3,restore:5 | tr '\n' ' ' >values
has values 'restore:0: f32[2,3] 0.5 -1 2 3 4 -0.25 '
has values 'restore:1: i64[2] 7 -9 '
has values 'restore:3: f16[] 1.5 '
has values 'restore:5: bool[2] true false '
go "$ROOT/tests/graphs/bundle" --fetch restore:2,restore:4 --json >values
has values '"value":["a","","longer longer '
has values '"shape":[0,3],"value":[]'

# Two checkpoints become one, with two shards; a folder is made for the files, and removed when they were merged.
go part/a-00000-of-00002 --target save
go part/a-00001-of-00002 --target more
go part/a --target merge
[ "$(ls part | tr '\n' ' ')" = 'a.data-00000-of-00002 a.data-00001-of-00002 a.index ' ]
[ "$(go part/a --fetch restore:1,one | tr '\n' ' ')" = 'restore:1: i64[2] 7 -9 one: f32[2] 1 2 ' ]

# The folder stays if delete_old_dirs is false.
printf 'input prefix: string[]\ntarget save { SaveV2(prefix, ["x"], [""], [1.0]) }\ntarget merge { MergeV2Checkpoints([prefix], "whole", delete_old_dirs = false) }\n' >stays.dfg
"$DFG" build stays.dfg -q -o stays.pb
"$DFG" run stays.pb --feed 'prefix=string[]:old/x' --target save
"$DFG" run stays.pb --feed 'prefix=string[]:old/x' --target merge
[ -f whole.index ]
[ -d old ]

bad() { # PREFIX WORDS OPTION...
	prefix=$1 words=$2
	shift 2
	status 65 "$DFG" run "$graph" --feed "prefix=string[]:$prefix" "$@"
	has err "$words"
}
bad mine "node 'wrong' (RestoreV2): 'layer/w' is f32, expected i32" --fetch wrong
bad mine "shape_and_slices[0] is '2 3 0,1:-': slices of tensors are not supported" --fetch slice
bad mine "mine: 'one/more': the checkpoint has no such tensor" --fetch one
bad '' 'a path is empty' --fetch one
status 66 "$DFG" run "$graph" --feed prefix=string[]:absent --fetch one
has err absent.index
status 73 "$DFG" run "$graph" --feed prefix=string[]:no/such/folder --target save
has err 'cannot make the folder no/such'

# Each byte that is damaged is detected, in either file, and each length.
cat >damage.py <<'EOF'
import os, subprocess, sys
dfg, graph, whole = sys.argv[1:]
names = ["index", "data-00000-of-00001"]
files = [open(f"{whole}.{n}", "rb").read() for n in names]
def run(contents):
    for name, content in zip(names, contents):
        with open("bad." + name, "wb") as file:
            file.write(content)
    fetch = ",".join(f"restore:{i}" for i in range(6))
    done = subprocess.run([dfg, "run", graph, "--feed", "prefix=string[]:bad", "--fetch", fetch], capture_output=True)
    return done.returncode, done.stdout, done.stderr
good = run(files)
assert good[0] == 0, good
for which in range(2):
    for at in range(0, len(files[which]), 9):
        for change in "flip", "cut":
            contents = list(files)
            b = files[which]
            contents[which] = b[:at] + bytes([b[at] ^ 0x41]) + b[at + 1:] if change == "flip" else b[:at]
            code, out, err = run(contents)
            unused = which == 0 and change == "flip" and out == good[1]  # a byte of padding
            assert unused or (code == 65 and not out), (names[which], at, change, code, err)
EOF
python3 damage.py "$DFG" "$graph" "$ROOT/tests/graphs/bundle"

# An index whose sums are right but whose content would take memory or time far beyond its size.
cat >hostile.py <<'EOF'
import struct
def crc(data):
    sum = 0xFFFFFFFF
    for byte in data:
        sum ^= byte
        for _ in range(8):
            sum = sum >> 1 ^ (0x82F63B78 if sum & 1 else 0)
    return sum ^ 0xFFFFFFFF
def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def entry(shared, own, value):
    return varint(shared) + varint(len(own)) + varint(len(value)) + own + value
def write(name, content, times):
    def block(entries):
        data = entries + struct.pack("<II", 0, 1) + bytes(1)
        sum = crc(data)
        return data + struct.pack("<I", ((sum >> 15 | sum << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    file = block(content)
    handle = varint(0) + varint(len(file) - 5)
    index = block(entry(0, b"z", handle) * times)
    footer = handle + varint(len(file)) + varint(len(index) - 5)
    file += index + footer + bytes(40 - len(footer)) + struct.pack("<Q", 0xDB4775248B80FB57)
    with open(name + ".index", "wb") as out:
        out.write(file)
header = entry(0, b"", b"\x08\x01")
write("long", header + entry(0, b"a" * 5000, b"") + b"".join(entry(5000 + i, b"a", b"") for i in range(500)), 1)
write("again", b"", 2)
EOF
python3 hostile.py
bad long 'the table is damaged: its keys are far longer than their block' --fetch one
bad again 'the table is damaged: its blocks overlap' --fetch one

# --load, convert, diff and opt --freeze take the prefix of a checkpoint; the elements are those that TensorFlow wrote.
there=$ROOT/tests/graphs/bundle
status 0 "$DFG" convert "$there" -o all.npz
status 0 "$DFG" show all.npz
for array in 'layer/b' 'layer/w' flags half nothing words; do
	has out "$array"
done
status 0 "$DFG" diff "$there" mine
printf 'param kernel: f32[2, 3] = zeros\noutput y = kernel * 2.0\n' >net.dfg
"$DFG" build net.dfg -o net.pb
status 0 "$DFG" run net.pb --load "$there" --map 'layer/w=kernel'
printf 'y: f32[2,3]\n1 -2 4\n6 8 -0.5\n' | cmp - out
status 0 "$DFG" opt net.pb --fetch y --freeze --load "$there" --map 'layer/w=kernel' -o frozen.pb
status 0 "$DFG" run frozen.pb
printf 'y: f32[2,3]\n1 -2 4\n6 8 -0.5\n' | cmp - out
status 65 "$DFG" run net.pb --load "$there"
has err 'has no array for any variable of the graph'
cp mine.index broken.index
head -c 20 mine.data-00000-of-00001 >broken.data-00000-of-00001
status 65 "$DFG" run net.pb --load broken --map 'layer/w=kernel'
has err 'broken: '
rm broken.data-00000-of-00001
status 66 "$DFG" run net.pb --load broken --map 'layer/w=kernel'
status 66 "$DFG" run net.pb --load "$there.none"
