#!/usr/bin/env python3
"""Random structured programs, built and run by dfg, against an interpreter that knows nothing of graphs.

    tests/programs/random_programs.py [--seed N] [--programs N] [--ways N] [--derivatives N] [--vectors N]

A program is a tree: loops, branches, arrays and variables within each other, four deep. It is written as text for dfg and
walked here. Several go into one file, because starting dfg costs more than running them. Every file runs in several ways:
threads, without optimisation, in orders drawn by lot. --derivatives: of smooth programs, of order 1 and 2, against
derivatives carried along while the interpreter walks (with exact rules, so that no step size is to be chosen). --vectors: of
vectors that are seen in other shapes on the way, whose length the graph knows or only the feed says.
DFG is the program.
"""
import argparse
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.environ.get("DFG", os.path.join(ROOT, "build", "dfg"))
DEPTH = 4
A_FILE = 12  # programs
MODULUS = 997


class Jet:
    """A number and its first two derivatives by one input."""

    def __init__(self, value, first=0.0, second=0.0):
        self.d = (float(value), first, second)

    def apply(self, f, f1, f2):
        v, a, b = self.d
        return Jet(f, f1 * a, f2 * a * a + f1 * b)

    def __add__(self, other):
        return Jet(*(x + y for x, y in zip(self.d, other.d)))

    def __sub__(self, other):
        return Jet(*(x - y for x, y in zip(self.d, other.d)))

    def __mul__(self, other):
        (v, a, b), (w, c, d) = self.d, other.d
        return Jet(v * w, a * w + v * c, b * w + 2 * a * c + v * d)


def smooth(name, x):
    v = x.d[0]
    if name == "sin":
        return x.apply(math.sin(v), math.cos(v), -math.sin(v))
    t = math.tanh(v)
    return x.apply(t, 1 - t * t, -2 * t * (1 - t * t))


def wrapped(value):
    """As an i32: what ops on variables add up is not kept small."""
    return (value + 2**31) % 2**32 - 2**31


class Integers:
    """What numbers are in a program without derivatives: i32, kept small."""
    type = "i32"
    stacks = True  # into arrays

    @staticmethod
    def constant(rng):
        return rng.randint(-9, 9)

    @staticmethod
    def text(value):
        return str(value)

    @staticmethod
    def operate(rng):
        return rng.choice(["+", "-", "*", "maximum", "minimum"])

    @staticmethod
    def written(op, a, b):
        return f"{op}({a}, {b})" if op.isalpha() else f"({a} {op} ({b})) % {MODULUS}"

    @staticmethod
    def compute(op, a, b):
        if op.isalpha():
            return max(a, b) if op == "maximum" else min(a, b)
        return wrapped(a + b if op == "+" else a - b if op == "-" else a * b) % MODULUS

    @staticmethod
    def zero():
        return 0


class Reals:
    """Numbers with derivatives: f64, and functions that stay small."""
    type = "f64"
    stacks = True

    @staticmethod
    def constant(rng):
        return Jet(rng.randint(-8, 8) / 4)

    @staticmethod
    def text(value):
        return f"f64({value.d[0]})"

    @staticmethod
    def operate(rng):
        return rng.choice(["+", "-", "*", "*", "sin", "tanh"])

    @staticmethod
    def written(op, a, b):
        return f"{op}({a})" if op.isalpha() else f"tanh({a} {op} {b})"

    @staticmethod
    def compute(op, a, b):
        if op.isalpha():
            return smooth(op, a)
        return smooth("tanh", a + b if op == "+" else a - b if op == "-" else a * b)

    @staticmethod
    def zero():
        return Jet(0)


class Vectors(Integers):
    """Vectors of one length, and views of them."""
    stacks = False

    def __init__(self, length):
        self.length = length

    @staticmethod
    def text(value):
        return f"(0 * x + {value})"

    @staticmethod
    def operate(rng):
        return rng.choice(["+", "-", "*", "maximum", "minimum", "column", "row", "reverse", "AddN"])

    @staticmethod
    def written(op, a, b):
        if op in ("column", "row"):
            shape = "[-1, 1]" if op == "column" else "[1, -1]"
            return f"reshape(maximum(reshape({a}, {shape}), reshape({b}, {shape})), [-1])"
        if op == "AddN":
            return f"AddN([{a}, {b}]) % {MODULUS}"
        return f"reshape(reverse({a}, 0), [-1])" if op == "reverse" else Integers.written(op, a, b)

    def elements(self, value):
        return value if isinstance(value, tuple) else (value,) * self.length

    def compute(self, op, a, b):
        if op == "reverse":
            return self.elements(a)[::-1]
        scalar = {"column": "maximum", "row": "maximum", "AddN": "+"}.get(op, op)
        return tuple(Integers.compute(scalar, x, y) for x, y in zip(self.elements(a), self.elements(b)))


class Scope:
    """Names in reach, by kind: numbers, ints (that control flow goes by), arrays with their lengths or None."""

    def __init__(self, outer=None):
        self.numbers = list(outer.numbers) if outer else []
        self.ints = list(outer.ints) if outer else []
        self.arrays = list(outer.arrays) if outer else []


class Generator:
    def __init__(self, rng, prefix, numbers, variables):
        self.rng, self.prefix, self.kind, self.variables = rng, prefix, numbers, variables
        self.count = 0

    def name(self):
        self.count += 1
        return f"{self.prefix}v{self.count}"

    # Expressions: of numbers, of ints, conditions.

    def number(self, scope, depth=2):
        roll = self.rng.random()
        if depth and roll < 0.55:
            return ("op", self.kind.operate(self.rng), self.number(scope, depth - 1), self.number(scope, depth - 1))
        if roll < 0.65 and scope.arrays:
            name, length = self.rng.choice(scope.arrays)
            if length:
                return ("at", name, self.rng.randrange(length))
            return ("sum", name)
        if roll < 0.72 and self.variables:
            return (self.rng.choice(["read", "read by handle"]), self.rng.choice(self.variables))
        if scope.numbers and roll < 0.95:
            return ("name", self.rng.choice(scope.numbers))
        return ("constant", self.kind.constant(self.rng))

    def integer(self, scope, depth=1):
        roll = self.rng.random()
        if depth and roll < 0.4:
            return ("int", self.rng.choice("+-*"), self.integer(scope, 0), self.integer(scope, 0))
        if scope.ints and roll < 0.85:
            return ("name", self.rng.choice(scope.ints))
        return ("literal", self.rng.randint(-3, 5))

    def condition(self, scope):
        return (self.rng.choice(["<", "==", ">="]), ("mod", self.integer(scope), 4), ("literal", self.rng.randint(0, 3)))

    # Statements.

    def block(self, scope, depth, results):
        """Statements, then as many numbers."""
        inner = Scope(scope)
        statements = [self.statement(inner, depth) for _ in range(self.rng.randint(0, 3))]
        return statements, [self.number(inner) for _ in range(results)]

    def statement(self, scope, depth):
        roll = self.rng.random()
        if depth and roll < 0.25:
            return self.branch(scope, depth)
        if depth and roll < 0.35:
            return self.case(scope, depth)
        if depth and roll < 0.7:
            return self.loop(scope, depth)
        if self.variables and roll < 0.85:
            return (self.rng.choice(["set", "add"]), self.rng.choice(self.variables), self.number(scope))
        if roll < 0.9:
            name, value = self.name(), self.integer(scope)
            scope.ints.append(name)
            return ("let", [name], ("mod", value, 50))
        name, value = self.name(), self.number(scope)
        scope.numbers.append(name)
        return ("let", [name], value)

    def branch(self, scope, depth):
        names = [self.name() for _ in range(self.rng.randint(0 if self.variables else 1, 2))]
        arms = [self.block(scope, depth - 1, len(names)) for _ in range(2)]
        if not names:
            for statements, _ in arms:
                statements.append(("set", self.rng.choice(self.variables), self.number(scope)))
        node = ("if", names, self.condition(scope), *arms)
        scope.numbers += names
        return node

    def case(self, scope, depth):
        names = [self.name()]
        arms = [self.block(scope, depth - 1, 1) for _ in range(self.rng.randint(2, 3))]
        node = ("case", names, ("mod", self.integer(scope), 4), arms)
        scope.numbers += names
        return node

    def sequence(self, scope):
        """A range or an array to run over; the length where it is known."""
        known = [a for a in scope.arrays]
        if known and self.rng.random() < 0.4:
            name, length = self.rng.choice(known)
            return ("rows", name), length
        if self.rng.random() < 0.5:
            n = self.rng.randint(0, 4)
            return ("range", ("literal", 0), ("literal", n)), n
        return ("range", ("literal", self.rng.choice([0, 0, 2])), ("mod", self.integer(scope), 5)), None

    def loop(self, scope, depth):
        names = [self.name() for _ in range(self.rng.randint(0 if self.kind.stacks else 1, 2))]
        firsts = [self.number(scope, 1) for _ in names]
        inner = Scope(scope)
        inner.numbers += names
        over, length = self.sequence(scope)
        x = self.name()
        (inner.numbers if over[0] == "rows" else inner.ints).append(x)
        stop = None
        if self.rng.random() < 0.3:
            t = self.name()
            stop = (t, self.rng.randint(0, 4))
            inner.ints.append(t)
            length = None
        statements, values = self.block(inner, depth - 1, len(names))
        last = Scope(inner)
        most = 2 if self.kind.stacks else 0
        yields = [self.number(last) for _ in range(self.rng.randint(0 if names or self.variables else 1, most))]
        if not names and not yields:
            statements.append(("set", self.rng.choice(self.variables), self.number(inner)))
        stacked = [self.name() for _ in yields]
        node = ("loop", names, firsts, x, over, stop, statements, yields, values, stacked,
                self.rng.choice([None, 1, 2, 32]))
        scope.numbers += names
        scope.arrays += [(name, length) for name in stacked]
        return node


class Writer:
    """The tree as text."""

    def __init__(self, kind):
        self.kind, self.lines = kind, []

    def expression(self, e):
        what = e[0]
        if what == "op":
            return self.kind.written(e[1], self.expression(e[2]), self.expression(e[3]))
        if what == "int":
            return f"({self.expression(e[2])} {e[1]} {self.expression(e[3])})"
        if what == "mod":
            return f"({self.expression(e[1])}) % {e[2]}"
        if what == "at":
            return f"{e[1]}[{e[2]}]"
        if what == "sum":
            return f"sum({e[1]}) % {MODULUS}" if self.kind is Integers else f"tanh(sum({e[1]}))"
        if what == "constant":
            return self.kind.text(e[1])
        if what == "literal":
            return f"({e[1]})"
        if what in ("name", "read"):
            return e[1]
        if what == "read by handle":
            return f"ReadVariableOp({e[1]}, dtype = i32)"
        return f"{self.expression(e[1])} {what} {self.expression(e[2])}"

    def block(self, block, indent):
        statements, results = block
        for statement in statements:
            self.statement(statement, indent)
        if results:
            self.lines.append(indent + ", ".join(map(self.expression, results)))

    def statement(self, s, indent):
        what, deeper = s[0], indent + "    "
        put = self.lines.append
        if what == "let":
            put(f"{indent}{s[1][0]} = {self.expression(s[2])}")
        elif what == "set":
            put(f"{indent}set {s[1]} = {self.expression(s[2])}")
        elif what == "add":
            put(f"{indent}AssignAddVariableOp({s[1]}, {self.expression(s[2])})")
        elif what == "if":
            put(f"{indent}{', '.join(s[1])}{' = ' if s[1] else ''}if {self.expression(s[2])} {{")
            self.block(s[3], deeper)
            put(indent + "} else {")
            self.block(s[4], deeper)
            put(indent + "}")
        elif what == "case":
            put(f"{indent}{s[1][0]} = case {self.expression(s[2])} {{")
            for i, arm in enumerate(s[3]):
                put(f"{indent}{i if i + 1 < len(s[3]) else 'else'}: {{")
                self.block(arm, deeper)
                put(indent + "}")
            put(indent + "}")
        else:
            self.loop(s, indent)

    def loop(self, s, indent):
        _, names, firsts, x, over, stop, statements, yields, values, stacked, window = s
        text = ", ".join(names + stacked)
        text += " = loop" if text else "loop"
        if names:
            text += " (" + ", ".join(f"{n} = {self.expression(f)}" for n, f in zip(names, firsts)) + ")"
        sequence = over[1] if over[0] == "rows" else f"{self.expression(over[1])}..{self.expression(over[2])}"
        text += f" for {x} in {sequence}"
        if stop:
            text += f", {stop[0]} in 0.. while {stop[0]} < {stop[1]}"
        if window:
            text += f" with (parallel = {window})"
        self.lines.append(indent + text + " {")
        for statement in statements:
            self.statement(statement, indent + "    ")
        for value in yields:
            self.lines.append(f"{indent}    yield {self.expression(value)}")
        if names:
            self.lines.append(f"{indent}    next " + ", ".join(map(self.expression, values)))
        self.lines.append(indent + "}")


class Interpreter:
    """The tree, walked."""

    def __init__(self, kind, state, names):
        self.kind, self.state, self.names = kind, state, names

    def expression(self, e, names):
        what = e[0]
        if what == "op":
            return self.kind.compute(e[1], self.expression(e[2], names), self.expression(e[3], names))
        if what == "int":
            a, b = self.expression(e[2], names), self.expression(e[3], names)
            return a + b if e[1] == "+" else a - b if e[1] == "-" else a * b
        if what == "mod":
            return self.expression(e[1], names) % e[2]
        if what == "at":
            return names[e[1]][e[2]]
        if what == "sum":
            total = self.kind.zero()
            for x in names[e[1]]:
                total = total + x
            return wrapped(total) % MODULUS if self.kind is Integers else smooth("tanh", total)
        if what in ("constant", "literal"):
            return e[1]
        if what == "name":
            return names[e[1]]
        if what in ("read", "read by handle"):
            return self.state[e[1]]
        a, b = self.expression(e[1], names), self.expression(e[2], names)
        return a < b if what == "<" else a == b if what == "==" else a >= b

    def block(self, block, names):
        names = dict(names)
        for statement in block[0]:
            self.statement(statement, names)
        return [self.expression(e, names) for e in block[1]]

    def statement(self, s, names):
        if s[0] == "let":
            names[s[1][0]] = self.expression(s[2], names)
        elif s[0] == "set":
            self.state[s[1]] = self.expression(s[2], names)
        elif s[0] == "add":
            self.state[s[1]] = wrapped(self.state[s[1]] + self.expression(s[2], names))
        elif s[0] == "if":
            names.update(zip(s[1], self.block(s[3 if self.expression(s[2], names) else 4], names)))
        elif s[0] == "case":
            arm = self.expression(s[2], names)
            names.update(zip(s[1], self.block(s[3][min(arm, len(s[3]) - 1)], names)))
        else:
            self.loop(s, names)

    def loop(self, s, names):
        _, carried, firsts, x, over, stop, statements, yields, values, stacked, _ = s
        now = [self.expression(f, names) for f in firsts]
        rows = names[over[1]] if over[0] == "rows" else \
            range(self.expression(over[1], names), self.expression(over[2], names))
        out = [[] for _ in stacked]
        for t, row in enumerate(rows):
            if stop and not t < stop[1]:
                break
            inner = dict(names)
            inner.update(zip(carried, now))
            inner[x] = row
            if stop:
                inner[stop[0]] = t
            for statement in statements:
                self.statement(statement, inner)
            for stack, e in zip(out, yields):
                stack.append(self.expression(e, inner))
            now = [self.expression(v, inner) for v in values]
        names.update(zip(carried, now))
        names.update(zip(stacked, out))


def scalars(path):
    """Of an npz, what is a scalar: i32 or f64, by name."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            kind = "<i" if b"<i4" in data[:80] else "<d"
            found[name[:-4].removesuffix(":0")] = struct.unpack(kind, data[-struct.calcsize(kind):])[0]
    return found


def dfg(*words):
    done = subprocess.run([DFG, *words], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise RuntimeError(f"dfg {' '.join(words)}\n{done.stderr}")


def ways(rng, count):
    every = [[], ["--threads", "3"], ["--no-opt"], ["--schedule", f"random:{rng.randint(1, 10**6)}"],
             ["--schedule", f"random:{rng.randint(1, 10**6)}", "--threads", "2"]]
    return every[:1] + rng.sample(every[1:], min(count - 1, len(every) - 1))


def file_of(rng, folder, how_many):
    """Programs that end in variables; what each must be."""
    lines, state = [], {}
    body = []
    for p in range(how_many):
        prefix = f"p{p}"
        variables = [f"{prefix}s{i}" for i in range(2)]
        generator = Generator(rng, prefix, Integers, variables)
        scope = Scope()
        inputs = {f"{prefix}x{i}": rng.randint(-20, 20) for i in range(2)}
        scope.numbers += list(inputs)
        scope.ints += list(inputs)
        for name, value in inputs.items():
            lines.append(f"input {name}: i32[] = {value}")
        for name in variables + [f"{prefix}r"]:
            state[name] = rng.randint(-5, 5)
            lines.append(f"state {name}: i32[] = {state[name]}")
        statements, results = generator.block(scope, DEPTH, 1)
        statements.insert(0, generator.loop(scope, DEPTH) if rng.random() < 0.5 else generator.branch(scope, DEPTH))
        statements.append(("set", f"{prefix}r", results[0]))
        for name in variables:
            statements.append(("set", name, ("read", name)))
        writer = Writer(Integers)
        writer.block((statements, []), "    ")
        body += writer.lines
        Interpreter(Integers, state, inputs).block((statements, []), inputs)
    text = "\n".join(lines + ["target go {"] + body + ["}", ""])
    path = os.path.join(folder, "p.dfg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path, state


def give_up(path, what):
    with open(path, encoding="utf-8") as file, open("wrong.dfg", "w", encoding="utf-8") as kept:
        kept.write(file.read())
    sys.exit(f"wrong.dfg, {what}")


def compare(what, got, wanted, path, tolerance=0.0):
    for name, value in wanted.items():
        if name not in got or abs(got[name] - value) > tolerance * max(1.0, abs(value)):
            give_up(path, f"{what}: {name} is {got.get(name)}, must be {value}")


def check_programs(seed, folder, how_many, ways_each):
    rng = random.Random(seed)
    path, state = file_of(rng, folder, how_many)
    graph, out = os.path.join(folder, "p.pb"), os.path.join(folder, "s.npz")
    try:
        dfg("build", path, "-o", graph)
        dfg("check", graph)
        for way in ways(rng, ways_each):
            dfg("run", graph, "--target", "go", "--save", out, *way)
            compare(f"seed {seed}, {' '.join(way)}", scalars(out), state, path)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        give_up(path, f"seed {seed}: {error}")


def check_derivatives(seed, folder):
    rng = random.Random(seed)
    generator = Generator(rng, "v", Reals, [])
    scope = Scope()
    x, n = rng.randint(-8, 8) / 8, rng.randint(0, 6)
    scope.numbers.append("x")
    scope.ints.append("n")
    statements, results = generator.block(scope, 3, 1)
    statements.insert(0, generator.loop(scope, 3))
    results = [("op", "+", results[0], generator.number(scope, 3))]
    writer = Writer(Reals)
    writer.block((statements, []), "")
    text = ["input x: f64[]", "input n: i32[]", *writer.lines, f"output y = {writer.expression(results[0])} + 0 * x", ""]
    path, graph = os.path.join(folder, "d.dfg"), os.path.join(folder, "d.pb")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    wanted = Interpreter(Reals, {}, {}).block((statements, results), {"x": Jet(x, 1.0), "n": n})[0].d
    first, second, out = graph[:-3] + "1.pb", graph[:-3] + "2.pb", os.path.join(folder, "d.npz")
    try:
        dfg("build", path, "-o", graph)
        dfg("grad", graph, "--of", "y", "--wrt", "x", "-o", first)
        dfg("grad", first, "--of", "grad/x", "--wrt", "x", "--prefix", "second", "-o", second)
        for way in ways(rng, 2):
            dfg("run", second, "--feed", f"x={x}", "--feed", f"n={n}", "--fetch", "y,grad/x,second/x", "-o", out, *way)
            compare(f"seed {seed}, {' '.join(way)}", scalars(out), dict(zip(["y", "grad/x", "second/x"], wanted)), path,
                    1e-9)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        give_up(path, f"seed {seed}: {error}")


def vectors(path, length):
    with zipfile.ZipFile(path) as archive:
        return {name[:-4].removesuffix(":0"): struct.unpack(f"<{length}i", archive.read(name)[-4 * length:])
                for name in archive.namelist()}


def check_vectors(seed, folder):
    """Some of the names of a program at once: what is fetched decides where values lie."""
    rng = random.Random(seed)
    length = rng.choice([1, 3, 5000])
    kind = Vectors(length)
    generator = Generator(rng, "v", kind, [])
    scope = Scope()
    inputs = {name: tuple(rng.randrange(MODULUS) for _ in range(length)) for name in "xy"}
    scope.numbers += list(inputs)
    scope.ints.append("n")
    statements = [generator.loop(scope, 3)] + [generator.statement(scope, 3) for _ in range(3)]
    writer = Writer(kind)
    writer.block((statements, []), "")
    dim = rng.choice([length, "?"])
    names = scope.numbers[2:]
    text = [f"input {name}: i32[{dim}]" for name in inputs] + ["input n: i32[]", *writer.lines]
    text += [f"output out{i} = {name}" for i, name in enumerate(names)] + [""]
    path, graph, out = (os.path.join(folder, name) for name in ("v.dfg", "v.pb", "v.npz"))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    feeds = [word for name, value in inputs.items()
             for word in ("--feed", f"{name}=i32[{length}]:{','.join(map(str, value))}")]
    wanted = {**inputs, "n": rng.randint(0, 6)}
    feeds += ["--feed", f"n={wanted['n']}"]
    interpreter = Interpreter(kind, {}, {})
    for statement in statements:
        interpreter.statement(statement, wanted)
    try:
        dfg("build", path, "-o", graph)
        for way in ways(rng, 4):
            some = rng.sample(range(len(names)), rng.randint(1, len(names)))
            dfg("run", graph, *feeds, "--fetch", ",".join(f"out{i}" for i in some), "-o", out, *way)
            got = vectors(out, length)
            for i in some:
                if got[f"out{i}"] != kind.elements(wanted[names[i]]):
                    give_up(path, f"seed {seed}, {' '.join(way)}, of {some}: out{i} is wrong")
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        give_up(path, f"seed {seed}: {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=240)
    parser.add_argument("--ways", type=int, default=3)
    parser.add_argument("--derivatives", type=int, default=0)
    parser.add_argument("--vectors", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(0, options.programs, A_FILE):
            check_programs(options.seed + i, folder, min(A_FILE, options.programs - i), options.ways)
        for i in range(options.derivatives):
            check_derivatives(options.seed + i, folder)
        for i in range(options.vectors):
            check_vectors(options.seed + i, folder)
    print(f"{options.programs} programs, {options.derivatives} derivatives and {options.vectors} of vectors")


main()
