# Random programs, whose outputs have rows, mix them, or neither: rows_random.py DFG FIRST-SEED COUNT. An output that `check --rows`
# calls independent has, for each row of a batch of five, the bits that it has for that row alone.
import os, random, re, struct, subprocess, sys, zipfile

dfg, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ROWS = 5
functions = """fn cell(x, h) { tanh(x * 0.5 + h) }
fn last_state(xs, first) {
	last, all = rnn(cell, xs, first)
	last
}
fn states(xs, first) {
	last, all = rnn(cell, xs, first)
	all
}
"""
rules = {
    "rows": ["tanh({rows}) + {rows}", "{rows} * {same}[1]", "{rows} @ {same}[:3]", "{cubes}[:, 1]", "{times}[2]", "sum({cubes}, axis = 1)", "take({same}, ids)",
        "zeros([n, 3])", "Fill([n, 3], 0.5)", "BroadcastTo({same}[0], [n, 3])", "Tile({same}[:1], [n, 1])", "softmax({rows})", "{rows} - {numbers}[:, new]",
        "(loop (s = {rows}) for t in 0..3 {{ next tanh(s) * {rows} }})", "(loop (s = {rows}) for v in {times} {{ next s * 0.5 + v }})",
        "last_state({times}, {rows})", "if sum({same}) > 0 {{ {rows} }} else {{ -{rows} }}", "Reshape({cubes}, [n, -1])[:, 4:7]",
        # These mix the rows of a batch.
        "{rows} - mean({rows}, axis = 0)", "{rows} * f32(n)", "ReverseV2({rows}, [0])", "cumsum({rows}, axis = 0)", "{rows} + {rows}[:1]", "Roll({rows}, 1, 0)",
        "(loop (s = {rows}) while sum(s) > 100 {{ next s * 0.5 }})", "Reshape(Transpose({rows}, [1, 0]), [n, 3])", "Reshape({times}, [n, 4, 3])[:, 0]",
        "(loop (s = {rows}) for t in 0..n {{ next s * 0.75 }})", "if sum({rows}) > 0 {{ {rows} }} else {{ -{rows} }}", "{rows} * sum({times}[:, :1])"],
    "cubes": ["{cubes} * 0.5 + {cubes}", "Transpose({times}, [1, 0, 2])", "{cubes} * {same}", "{cubes} + {rows}[:, new]", "Pack([{rows}, {rows}, {rows}, {rows}], axis = 1)",
        "cumsum({cubes}, axis = 1)", "Reshape({cubes}, [n, 4, 3])", "{cubes} - max({cubes}, axis = [1, 2], keep_dims = true)", "cumsum({cubes}, axis = 0)"],
    "times": ["Transpose({cubes}, [1, 0, 2])", "tanh({times}) * {times}", "{times} + {same}[:, new]", "{times} - 0.25", "(loop for v in {times} {{ yield v * {rows} }})",
        "(loop for t in 0..4 {{ yield {cubes}[:, t] + f32(t) }})", "{times} + {rows}", "{times} * sum({times}, axis = 1, keep_dims = true)",
        "states({times}, {rows})", "ReverseV2({times}, [1])"],
    "numbers": ["sum({rows}, axis = 1)", "{numbers} * 2", "max({cubes}, axis = [1, 2])", "{numbers} - max({numbers})", "f32(argmax({rows}, axis = 1))"],
    "same": ["{same} * 2 - 1", "softmax({same})"],
}


def write(chance, kind, values):
    """An expression of values of earlier lines."""
    return chance.choice(rules[kind]).format(**{name: chance.choice(values[name]) for name in values})


def program(chance):
    lines = ["input x: f32[batch, 4, 3]", "input ids: i32[batch]", "n = shape(x)[0]",
        "table = f32([[1.0, 0.5, 0.25], [2, 3, 5], [7, 11, 13], [0.1, 0.2, 0.3]])"]
    # The values so far, by shape: [batch, 3], [batch, 4, 3], [4, batch, 3], [batch], and [4, 3], which is the same for all.
    values = {"rows": ["x[:, 0]", "x[:, 2]"], "cubes": ["x"], "times": ["Transpose(x, [1, 0, 2])"], "numbers": ["f32(ids)"], "same": ["table"]}
    for i in range(chance.randrange(3, 9)):
        kind = chance.choice(["rows", "rows", "cubes", "times", "times", "numbers", "same"])
        lines.append(f"v{i} = {write(chance, kind, values)}")
        values[kind] += [f"v{i}"] * 2
    for kind in "rows", "cubes", "numbers":
        lines += [f"output {kind}{k} = {write(chance, kind, values)}" for k in range(2)]
    return functions + "\n".join(lines) + "\n"


def npy(dtype, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (dtype, "".join(f"{n}, " for n in shape))
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def run(x, ids, outputs):
    """The bytes of each output."""
    open("x.npy", "wb").write(npy("<f4", (len(ids), 4, 3), x))
    open("ids.npy", "wb").write(npy("<i4", (len(ids),), struct.pack(f"<{len(ids)}i", *ids)))
    done = subprocess.run([dfg, "run", "p.pb", "--feed", "x=@x.npy", "--feed", "ids=@ids.npy", "--fetch", ",".join(outputs), "-o", "out.npz"],
        capture_output=True, text=True)
    assert done.returncode == 0, (outputs, done.stderr, open("p.dfg").read())
    with zipfile.ZipFile("out.npz") as file:
        files = {name: file.read(name + ".npy") for name in outputs}
    return {name: data[10 + struct.unpack("<H", data[8:10])[0] :] for name, data in files.items()}


def compare(chance):
    """(outputs that are independent, others, those of the others whose rows differ)"""
    open("p.dfg", "w").write(program(chance))
    subprocess.run([dfg, "build", "p.dfg", "-q", "-o", "p.pb"], check=True)
    told = subprocess.run([dfg, "check", "--rows", "p.pb"], capture_output=True, text=True, check=True).stdout
    outputs = re.findall(r"output '(\w+)'", told)
    apart = re.findall(r"output '(\w+)': its rows are independent", told)
    assert len(outputs) == 6, told
    x = struct.pack(f"<{12 * ROWS}f", *[chance.uniform(-2, 2) for _ in range(12 * ROWS)])
    ids = [chance.randrange(4) for _ in range(ROWS)]
    together, differ = run(x, ids, outputs), set()
    for r in range(ROWS):
        alone = run(x[48 * r : 48 * r + 48], ids[r : r + 1], outputs)
        for name in outputs:
            size = len(together[name]) // ROWS
            if together[name][size * r : size * r + size] != alone[name]:
                differ.add(name)
    assert not differ & set(apart), (differ & set(apart), told, open("p.dfg").read())
    return len(apart), len(outputs) - len(apart), len(differ)


totals = [sum(column) for column in zip(*(compare(random.Random(seed)) for seed in range(first, first + count)))]
print(f"{totals[0]} outputs are independent, {totals[1]} are not, of which {totals[2]} differ")
assert totals[0] > count and totals[2] > count / 2, totals
