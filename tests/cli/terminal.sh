# Names and texts of strangers' files reach neither a terminal nor stderr with bytes that steer it, nor with characters that
# reverse the text (finding 42): graphs, arrays, plans, metrics, programs, hosts and options whose every name holds ESC, BEL,
# a carriage return and U+202E, through every command that prints them. Names of ops, attributes, functions and devices
# cannot hold the bytes of ASCII that are refused there, so they hold U+202E and U+009B, which terminals take for ESC [.
. "$ROOT/tests/cli/kit"
command -v python3 >/dev/null || { echo "needs python3"; exit 77; }
cat >make.py <<'END'
import json, struct, zipfile
E = "E\x1b[31m\x07\r\u202e"      # in text
P = r"E\033[31m\007\r\342\200\256" # in the text form of a graph
W = r"E\342\200\256\302\233"     # a name there
attr = lambda key, value: 'attr { key: "%s" value { %s } }\n' % (key, value)
def node(name, op, inputs=(), *attrs, device=""):
    return 'node { name: "%s" op: "%s" %s %s %s }\n' % (name, op, " ".join('input: "%s"' % i for i in inputs),
        'device: "%s"' % device if device else "", "".join(attrs))
T = attr("T", "type: DT_FLOAT")
dtype = attr("dtype", "type: DT_FLOAT")
const = lambda name, value: node(name, "Const", (), dtype, attr("value",
    "tensor { dtype: DT_FLOAT tensor_shape { } float_val: %s }" % value))
text = lambda name, value: node(name, "Const", (), attr("dtype", "type: DT_STRING"), attr("value",
    'tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "%s" }' % value))
label = attr("_" + W, 's: "%s"' % P) + attr("_list" + W, 'list { s: "%s" }' % P) + attr("_dfg_output", 's: "%s"' % P)
loop = lambda frame: "".join([const("zero", 0),
    node("enter", "Enter", ["zero"], T, attr("frame_name", 's: "%s"' % frame)),
    node("merge", "Merge", ["enter", "next"], T, attr("N", "i: 2")),
    node("limit", "Enter", ["ten"], T, attr("frame_name", 's: "%s"' % frame), attr("is_constant", "b: true")), const("ten", 10),
    node("less", "Less", ["merge", "limit"], T), node("cond", "LoopCond", ["less"]),
    node("switch", "Switch", ["merge", "cond"], T), node("exit", "Exit", ["switch:0"], T),
    node("one", "Enter", ["first"], T, attr("frame_name", 's: "%s"' % frame), attr("is_constant", "b: true")), const("first", 1),
    node("add", "AddV2", ["switch:1", "one"], T), node("next", "NextIteration", ["add"], T)])
state = node("v", "VarHandleOp", (), dtype, attr("shape", "shape { }"), attr("shared_name", 's: "%s"' % P),
    attr("container", 's: "%s"' % P)) + node("read", "ReadVariableOp", ["v"], dtype) + node("init", "AssignVariableOp",
    ["v", "zero"], dtype)
queue = node("q", "FIFOQueueV2", (), attr("component_types", "list { type: DT_FLOAT }"), attr("shared_name", 's: "%s"' % P),
    attr("capacity", "i: 1")) + node("take", "QueueDequeueV2", ["q"], attr("component_types", "list { type: DT_FLOAT }"))
function = '''library { function { signature { name: "@" input_arg { name: "a@" type_attr: "t@" } output_arg { name: "b@"
  type_attr: "t@" } attr { name: "t@" type: "type" } } node_def { name: "n@" op: "@" input: "a@" } ret { key: "b@"
  value: "n@:y:0" } attr { key: "@" value { s: "$" } } } }\n'''.replace("@", W).replace("$", P)
call = node("call", "PartitionedCall", ["zero"], attr("f", 'func { name: "%s" attr { key: "%s" value { s: "%s" } } }' % (W, W, P)),
    attr("Tin", "list { type: DT_FLOAT }"), attr("Tout", "list { type: DT_FLOAT }"))
write = lambda name, data: open(name, "wb").write(data.encode() if isinstance(data, str) else data)
write("loop.pbtxt", loop(P) + state + queue + text("words", P) + node("id", "Identity", ["exit"], T, label) +
    node("fails", "Assert", ["false", "words"], attr("T", "list { type: DT_STRING }")) +
    node("false", "Const", (), attr("dtype", "type: DT_BOOL"), attr("value", "tensor { dtype: DT_BOOL tensor_shape { } bool_val: false }")) +
    node("number", "StringToNumber", ["words"], attr("out_type", "type: DT_FLOAT")) + function)
write("call.pbtxt", const("zero", 0) + call + function)
write("other.pbtxt", loop(P + "2") + state.replace("DT_FLOAT", "DT_DOUBLE") + text("words", P + "2") +
    node("id", W, ["exit"], T, label.replace("list" + W, "lost" + W), device="/job:" + W) +
    function.replace("n" + W, "m" + W))
write("unknown.pbtxt", const("zero", 0) + node("u", W, ["zero"], label, device="/job:" + W) +
    node("w", "Neg", ["u:1"], attr("T", 's: "%s"' % P)))
write("plain.pbtxt", loop(P))
refused = {"name": node("a" + P, P, ["b" + P]), "op": node("a", P), "input": node("a", "Neg", ["b" + W]),
    "attr": node("a", "Neg", (), attr(P, "i: 1")), "place": node("a", "NoOp", device=P), "function": const("a", 1) + function.replace(W, P)}
for name in refused:
    write(name + ".pbtxt", refused[name])
write("word.pbtxt", P + ' { "' + E + '" }\n')
write("word.pb", E)
write("word.dfg", 'input x: f32[n]  # %s\noutput y = x * "%s"\n' % (E, E))
write("odd.dfg", 'y%s = 1\n' % E)
write("string.dfg", 'output y = ["%s"]\n' % E)
write("device.pbtxt", const("zero", 0) + node("n", "Neg", ["zero"], T, device="/job:%s/task:0" % W))
npy = lambda values: (lambda head: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<%df" % len(values), *values))(
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)).ljust(117).encode() + b"\n")
for name, values in ("a.npz", [1, 2]), ("b.npz", [1, 3]):
    with zipfile.ZipFile(name, "w") as z:
        z.writestr(E + ".npy", npy(values))
        z.writestr(name[0] + E + ".npy", npy(values))
for name, values in ("c.npz", [1, 2]), ("d.npz", [1, 3]):
    with zipfile.ZipFile(name, "w") as z:
        z.writestr("\u202e\u009b.npy", npy(values))
        z.writestr("a\u202e\u009b%s.npy" % name[0], npy(values))
head = json.dumps({"\u202e": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "__metadata__": {E: E}}).encode()
write("c.safetensors", struct.pack("<Q", len(head)) + head + struct.pack("<f", 1))
head = json.dumps({E: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "__metadata__": {E: E}}).encode()
write("a.safetensors", struct.pack("<Q", len(head)) + head + struct.pack("<f", 1))
head = json.dumps({E: {"dtype": E, "shape": [1], "data_offsets": [0, 4]}}).encode()
write("bad.safetensors", struct.pack("<Q", len(head)) + head + struct.pack("<f", 1))
write("s.csv", "\u202e\u009b,b\n3\u202e\u009b,1\n3,2\n")
write("m.jsonl", "".join(json.dumps({"step": i, E: i, "eval": {E: i}}) + "\n" for i in (1, 2)))
write("hosts", "%s dfg=./none%s\n" % (E.replace("\r", ""), E.replace("\r", "")))
write(E.replace("/", "") + ".npy", npy([1, 2]))
END
cat >see.py <<'END'
import os, pty, shlex, subprocess, sys, termios
odd = "E\x1b[31m\x07\r\u202e"
faults = 0

def fault(command, what):
    global faults
    faults += 1
    print("dfg", " ".join(command).encode("unicode_escape").decode(), what)

def look(command, where, data):
    for bad in (b"\x1b", b"\x07", b"\r", "\u202e".encode(), b"\xc2\x9b"):
        at = data.find(bad)
        if at >= 0:
            return fault(command, f"{where} shows {bad!r}: {data[max(0, at - 60):at + 60]!r}")

# Runs the command on a terminal that passes output through, and again with stdout and stderr in pipes.
def see(command):
    call = [os.environ["DFG"], *command]
    master, slave = pty.openpty()
    mode = termios.tcgetattr(slave)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    child = subprocess.Popen(call, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.STDOUT)
    os.close(slave)
    data = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    os.close(master)
    look(command, "the terminal", data)
    piped = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True)
    look(command, "stderr", piped.stderr)
    if child.wait() not in (0, 1, 2, 64, 65, 66, 69, 73, 74, 76, 78, 124):
        fault(command, f"ends with {child.returncode}: {data!r}")

os.environ["TERM"] = "dumb"
for line in sys.stdin:
    line = line.strip()
    if line and not line.startswith("#"):
        see([word.replace("$odd", odd) for word in shlex.split(line)])
sys.exit(faults > 0)
END
python3 make.py
odd=$(printf 'E\033[31m\007\r\342\200\256')
mkdir "case$odd"
cp string.dfg "case$odd/graph.dfg"
"$DFG" build string.dfg -o "case$odd/$odd.pb"
export DFG
{
	for g in loop call other unknown word device name op input attr place function; do
		echo "check $g.pbtxt"
		echo "convert $g.pbtxt --to pbtxt"
		for form in '' --json --tree --dot --text; do
			echo "show $g.pbtxt $form"
		done
	done
	for n in id words v q fails; do
		echo "show loop.pbtxt --node $n"
		echo "show loop.pbtxt --node $n --json"
	done
	for t in words id read take fails number '$odd'; do
		echo "run loop.pbtxt --fetch $t --timeout 1"
	done
	for a in a.npz c.npz a.safetensors c.safetensors bad.safetensors s.csv m.jsonl '$odd.npy'; do
		echo "show $a"
		echo "show $a --json"
		echo "show $a a.npz --node \$odd"
		echo "convert $a --to \$odd -o -"
		echo "convert $a -o \$odd"
	done
	for p in word odd string; do
		echo "build $p.dfg -o -"
		echo "fmt $p.dfg"
		echo "check $p.dfg"
		echo "run $p.dfg"
		echo "run $p.dfg --json"
	done
	cat <<'END'
check --json unknown.pbtxt
check word.pb
check --rows case$odd/graph.dfg
serve --explain $odd=plain.pbtxt
serve --explain case$odd/$odd.pb
show unknown.pbtxt --node u
show call.pbtxt --node call
show call.pbtxt --node call --json
run call.pbtxt --fetch call
show other.pbtxt --node id
diff loop.pbtxt other.pbtxt
diff loop.pbtxt other.pbtxt --json
diff a.npz b.npz
diff a.npz b.npz --json
diff c.npz d.npz
diff c.npz d.npz --json
diff c.npz c.safetensors
run loop.pbtxt --fetch words --json
run loop.pbtxt --fetch id --max-iterations 3
run loop.pbtxt --fetch id --feed $odd=$odd
run loop.pbtxt --fetch id --feed zero=$odd
run loop.pbtxt --fetch id --feed zero=@$odd.npy
run loop.pbtxt --fetch id --load a.npz --map $odd=$odd
run loop.pbtxt --fetch read --load c.npz
run loop.pbtxt --fetch read --load c.npz --map *=v
run loop.pbtxt --fetch read --load a.safetensors
run loop.pbtxt --fetch id --trace - -q
grad loop.pbtxt --of id --wrt zero,$odd -o g.pb
grad loop.pbtxt --of id --wrt zero --prefix $odd -o g.pb
grad call.pbtxt --of call --wrt zero -o g.pb
grad unknown.pbtxt --of w --wrt zero -o g.pb
opt loop.pbtxt --fetch id,$odd -o o.pb
opt loop.pbtxt --fetch id --passes $odd -o o.pb
opt unknown.pbtxt --fetch u -o o.pb
partition device.pbtxt --hosts local:2 -o plan2
partition plain.pbtxt --hosts local:2 --place $odd=$odd --fetch exit -o plan2
partition plain.pbtxt --hosts ./hosts -o plan2
run plain.pbtxt --hosts ./hosts --fetch exit
doctor --hosts ./hosts
partition plain.pbtxt --hosts local:2 --place add=w1 --place */$odd=w1 --fetch exit --explain -o plan
partition plain.pbtxt --hosts local:2 --place add=w1 --fetch exit --explain -o plan
show plan
show plan --json
show plan --dot
show plan --tree
show plan --text
show m.jsonl --svg
convert s.csv --to csv -o -
build string.dfg -D $odd=$odd -o x.pb
build string.dfg -I $odd -o $odd/x.pb
test case$odd
bench --json $odd
ops $odd
ops $odd --json
help $odd
$odd
check --$odd
run $odd --hosts $odd
serve --$odd
doctor $odd
END
} >commands
python3 see.py <commands

# The same names in the folder of a plan.
"$DFG" partition plain.pbtxt --hosts local:2 --place add=w1 --fetch exit -o plan3
sed -i 's|"device":"[^"]*"|"device":"/job:E\\u001b[31m\\u0007\\r\\u202e"|; s|"tensor":"[^"]*"|"tensor":"E\\u001b[31m\\u0007\\r\\u202e"|' plan3/*.json
printf '%s\n' 'show plan3' 'show plan3 --json' 'show plan3 --dot' 'run plan3 --hosts local:2' | python3 see.py
