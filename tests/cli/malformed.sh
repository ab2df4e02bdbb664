# Malformed graphs: each is refused before anything runs, with a documented exit code, a message that names the fault, and
# memory in proportion to the file. Bytes that are not a graph at all are tested in tests/unit/malformed.c.
. "$ROOT/tests/cli/kit"
refused() { # WORDS, the graph on stdin
	cat >bad.pbtxt
	status 65 "$DFG" check bad.pbtxt
	has err "$1"
	[ ! -s out ] || exit 1
}
fails() { # WORDS FETCH, the graph on stdin: found when it runs, if not before
	cat >bad.pbtxt
	status 65 "$DFG" run bad.pbtxt --fetch "$2"
	has err "$1"
	[ ! -s out ] || exit 1
}
node() { # NAME OP [INPUT | KEY=VALUE]...
	printf 'node { name: "%s" op: "%s"' "$1" "$2"
	shift 2
	for word; do
		case $word in
		*=*) printf ' attr { key: "%s" value { %s } }' "${word%%=*}" "${word#*=}" ;;
		*) printf ' input: "%s"' "$word" ;;
		esac
	done
	echo ' }'
}
const() { # NAME DTYPE DIMS FIELDS
	dims=
	for dim in $3; do dims="$dims dim { size: $dim }"; done
	node "$1" Const "dtype=type: $2" "value=tensor { dtype: $2 tensor_shape { $dims } $4 }"
}

# Inputs that are not files, or are endless.
status 66 "$DFG" check /
has err 'is a directory'
status 66 "$DFG" check /dev/zero
has err 'is a device that still has data after 16 MiB'
status 65 "$DFG" check /dev/null
has err 'the graph has no nodes'
python3 - <<'END'
import json, struct
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }"
head += " " * (-(11 + len(head)) % 64) + "\n"
open("huge.npy", "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode())
open("huge.idx", "wb").write(b"\0\0\x0e\x03" + b"\xff" * 12)
head = json.dumps({"a": {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 0]}}).encode()
open("huge.safetensors", "wb").write(struct.pack("<Q", len(head)) + head)
END
for file in huge.npy huge.idx huge.safetensors; do
	status 65 "$DFG" show "$file"
	has err 'is larger than any memory'
done
mkfifo pipe
const c DT_FLOAT '' 'float_val: 1' >good.pbtxt
cat good.pbtxt >pipe &
status 0 "$DFG" check pipe

# Names.
{ const c DT_FLOAT '' 'float_val: 1'; const c DT_FLOAT '' 'float_val: 2'; } | refused "'c'"
node 'a\033[2J' NoOp | refused 'is 0x1b'
node '' NoOp | refused 'name'
printf 'node { name: "%05000d" op: "NoOp" }' 0 | refused 'name'
has err 'bytes'
[ "$(wc -c <err)" -lt 1000 ] || { echo "the whole name is printed"; exit 1; }

# Edges.
node a NoOp '^b' | refused "no node 'b'"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c:7 'T=type: DT_FLOAT'; } | refused 'c:7'
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c:99999999999 'T=type: DT_FLOAT'; } | refused 'c:99999999999'
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c:-1 'T=type: DT_FLOAT'; } | refused 'c:-1'
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu ^c c 'T=type: DT_FLOAT'; } | refused 'after a control input'

# Ops and their attributes.
node a Rleu 'T=type: DT_FLOAT' | refused "did you mean 'Relu'?"
node r Relu 'T=type: DT_FLOAT' | refused "node 'r' (Relu)"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c c 'T=type: DT_FLOAT'; } | refused "node 'r' (Relu)"
{ const c DT_FLOAT '' 'float_val: 1'; node r Cast c 'SrcT=type: DT_FLOAT'; } | refused "'DstT'"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c 'T=i: 3'; } | refused "'T'"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c 'T=type: DT_FLOAT' 'colour=i: 3'; } | refused "'colour'"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c 'T=type: DT_INVALID'; } | refused "node 'r' (Relu)"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c 'T=type: DT_STRING'; } | refused "node 'r' (Relu)"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c 'T=type: DT_FLOAT_REF'; } | refused "node 'r' (Relu)"
{ const c DT_FLOAT '' 'float_val: 1'; node r Relu c 'T=type: DT_DOUBLE'; } | refused "node 'r' (Relu)"

# Constants.
const c DT_FLOAT -1 'float_val: 1' | refused "node 'c'"
const c DT_FLOAT -5 '' | refused "node 'c'"
const c DT_FLOAT '9223372036854775807' '' | refused "node 'c'"
const c DT_FLOAT '4294967296 4294967296' '' | refused 'larger than any memory'
const c DT_FLOAT '0 4611686018427387904 4611686018427387904' '' | refused 'larger than any memory'
const c DT_FLOAT '1 1 1 1 1 1 1 1 1 1 1 1 1 1 1' 'float_val: 1' | refused "node 'c'"
const c DT_FLOAT 2 'tensor_content: "\000\000\000\000"' | refused 'tensor_content'
const c DT_FLOAT 1 'tensor_content: "\000\000\000\000" float_val: 1' | refused 'both tensor_content and'
const c DT_BOOL 1 'tensor_content: "\002"' | refused 'bool'
const c DT_STRING 1 'tensor_content: "a"' | refused 'tensor_content'
{ const c DT_FLOAT '1048576 1048576' 'float_val: 1'; node i Identity c 'T=type: DT_FLOAT'; } >bad.pbtxt
status 0 "$DFG" check bad.pbtxt # a splat is kept as one value
status 71 "$DFG" run bad.pbtxt --fetch i --memory-limit 64M

# Values that no shape or index may take.
ints() { const "$1" DT_INT32 "$2" "$3"; }
floats() { const "$1" DT_FLOAT "$2" 'float_val: 1'; }
{ floats x '2 3'; ints s 2 'int_val: [-1, -1]'; node y Reshape x s 'T=type: DT_FLOAT' 'Tshape=type: DT_INT32'; } | refused "node 'y' (Reshape)"
{ floats x '2 3'; ints s 2 'int_val: [-1, 0]'; node y Reshape x s 'T=type: DT_FLOAT' 'Tshape=type: DT_INT32'; } | refused "node 'y' (Reshape)"
{ floats x '2 3'; ints s 2 'int_val: [4, 2]'; node y Reshape x s 'T=type: DT_FLOAT' 'Tshape=type: DT_INT32'; } | refused "node 'y' (Reshape)"
large() { # CODE FETCH, the graph on stdin
	cat >bad.pbtxt
	got=0
	"$DFG" run bad.pbtxt --fetch "$1" --memory-limit 256M >out 2>err || got=$?
	[ "$got" = 71 ] || [ "$got" = 65 ] || { echo "status $got: $1"; cat err; exit 1; }
	has err "'$1'"
}
{ floats x 1; const n DT_INT64 1 'int64_val: 1099511627776'; node tile Tile x n 'T=type: DT_FLOAT' 'Tmultiples=type: DT_INT64'; } | large tile
{ floats x ''; const n DT_INT64 1 'int64_val: 1099511627776'; node fill Fill n x 'T=type: DT_FLOAT' 'index_type=type: DT_INT64'; } | large fill
range() { const a DT_FLOAT '' 'float_val: 0'; const b DT_FLOAT '' "float_val: $1"; const c DT_FLOAT '' "float_val: $2"; node range Range a b c 'Tidx=type: DT_FLOAT'; }
range 1e12 1 | large range
range 5 0 | fails "node 'range' (Range)" range
range 5 nan | fails "node 'range' (Range)" range
range inf 1 | fails "node 'range' (Range)" range
{ floats x '1 4 4 1'; floats w '2 2 1 1'; node y Conv2D x w 'T=type: DT_FLOAT' 'strides=list { i: [1, 0, 1, 1] }' 'padding=s: "VALID"'; } | refused "node 'y' (Conv2D)"
{ floats x '1 4 4 1'; floats w '2 2 1 1'; node y Conv2D x w 'T=type: DT_FLOAT' 'strides=list { i: [1, 1, 1, 1] }' 'dilations=list { i: [1, 0, 1, 1] }' 'padding=s: "VALID"'; } | refused "node 'y' (Conv2D)"
{ floats x '1 4 4 1'; floats w '6 6 1 1'; node y Conv2D x w 'T=type: DT_FLOAT' 'strides=list { i: [1, 1, 1, 1] }' 'padding=s: "VALID"'; } | refused "node 'y' (Conv2D)"
{ floats x '1 4 4 3'; floats w '2 2 2 1'; node y Conv2D x w 'T=type: DT_FLOAT' 'strides=list { i: [1, 1, 1, 1] }' 'padding=s: "VALID"'; } | refused "node 'y' (Conv2D)"
{ floats x '1 4 4 1'; node y MaxPool x 'T=type: DT_FLOAT' 'ksize=list { i: [1, 0, 1, 1] }' 'strides=list { i: [1, 1, 1, 1] }' 'padding=s: "VALID"'; } | refused "node 'y' (MaxPool)"
gather() { floats x '3 2'; ints i 2 "int_val: [0, $1]"; ints axis '' 'int_val: 0'; node y GatherV2 x i axis 'Tparams=type: DT_FLOAT' 'Tindices=type: DT_INT32' 'Taxis=type: DT_INT32'; }
gather 3 | fails ', outside [0,3)' y
gather -1 | fails ', outside [0,3)' y
{ floats x '3 2'; ints i 3 'int_val: [1, 0, 0]'; node y SegmentSum x i 'T=type: DT_FLOAT' 'Tindices=type: DT_INT32'; } | fails "node 'y' (SegmentSum)" y
{ ints axis '' 'int_val: 2'; floats x '2 2'; node y Split axis x 'T=type: DT_FLOAT' 'num_split=i: 2'; } | refused "node 'y' (Split)"
{ ints axis '' 'int_val: 0'; floats x '2 2'; node y Split axis x 'T=type: DT_FLOAT' 'num_split=i: 0'; } | refused "node 'y' (Split)"
{ floats x '2 2'; ints axis '' 'int_val: -3'; node y ConcatV2 x x axis 'T=type: DT_FLOAT' 'N=i: 2' 'Tidx=type: DT_INT32'; } | refused "node 'y' (ConcatV2)"
{ floats x '2 2'; ints p 2 'int_val: [1, 1]'; node y Transpose x p 'T=type: DT_FLOAT' 'Tperm=type: DT_INT32'; } | refused "node 'y' (Transpose)"
{ ints x '' 'int_val: 7'; ints z '' 'int_val: 0'; node y FloorDiv x z 'T=type: DT_INT32'; } | fails "node 'y' (FloorDiv)" y
{ ints x '' 'int_val: 7'; ints z '' 'int_val: 0'; node y FloorMod x z 'T=type: DT_INT32'; } | fails "node 'y' (FloorMod)" y
{ ints x '' 'int_val: 7'; ints z '' 'int_val: -1'; node y Pow x z 'T=type: DT_INT32'; } | fails "node 'y' (Pow)" y
{ ints x '' 'int_val: -2147483648'; ints z '' 'int_val: -1'; node y FloorDiv x z 'T=type: DT_INT32'; } >div.pbtxt
status 0 "$DFG" run div.pbtxt --fetch y

# Products and reductions over nothing are defined.
{ const a DT_FLOAT '2 0' ''; const b DT_FLOAT '0 3' ''; node y MatMul a b 'T=type: DT_FLOAT'; } >empty.pbtxt
status 0 "$DFG" run empty.pbtxt --fetch y
has out 'y: f32[2,3]'
{ const a DT_FLOAT 0 ''; ints axis '' 'int_val: 0'; node y Max a axis 'T=type: DT_FLOAT' 'Tidx=type: DT_INT32'; } >empty.pbtxt
status 0 "$DFG" run empty.pbtxt --fetch y
has out '-inf'

# Cycles; large graphs are walked without recursion.
{ node a Neg b 'T=type: DT_FLOAT'; node b Neg a 'T=type: DT_FLOAT'; } | refused 'a'
has err 'cycle'
{
	const n0 DT_FLOAT '' 'float_val: 1'
	awk 'BEGIN {for (i = 1; i <= 200000; i++) printf "node { name: \"n%d\" op: \"Neg\" input: \"n%d\" attr { key: \"T\" value { type: DT_FLOAT } } }\n", i, i - 1}'
} >chain.pbtxt
status 0 "$DFG" check chain.pbtxt
status 0 "$DFG" run chain.pbtxt --fetch n200000
{
	const c DT_FLOAT '' 'float_val: 1'
	awk 'BEGIN {printf "node { name: \"sum\" op: \"AddN\""; for (i = 0; i < 60000; i++) printf " input: \"c\""; print " attr { key: \"T\" value { type: DT_FLOAT } } attr { key: \"N\" value { i: 60000 } } }"}'
} >wide.pbtxt
status 0 "$DFG" run wide.pbtxt --fetch sum
has out '60000'
