"""Random parallel loops: in blocks, iterations one at a time and in slices give the same bits; and where no order of units
differs from that of the iterations, the values of the plain run.

    random_loops.py [--programs N] [--seed S] [--workers]        DFG names the program

With --workers, half of the loops yield, and workers that divide the blocks give the same bits too.
"""

import argparse
import os
import random
import subprocess

HEAD = """input a: i32[n]
input b: i32[n]
input x: f32[n]
input y: f32[n, 4]
input m: f32[4, 4]
state w: f32[40, 4] = 0.5
state u: f32[40, 4] = 0.25
state z: f32[9, 4] = 0
state q: f32[9, 9] = 0
state c: i32[9] = 0
state s: f32[] = 0
state total: f32[4] = 0
"""


class Program:
    def __init__(self, draw):
        self.draw, self.vectors = draw, []

    def scalar(self, depth):
        s, v = lambda: self.scalar(depth - 1), lambda: self.vector(depth - 1)
        if not depth:
            return self.draw.choice(["x[i]", "f32(a[i])", "y[i, 0]", "f32(i)"])
        forms = [
            lambda: f"({s()} + {s()})",
            lambda: f"({s()} * {s()})",
            lambda: f"sum({v()})",
            lambda: f"max({v()})",
            lambda: f"where({s()} > {s()}, {s()}, {s()})",
            lambda: f"tanh({s()})",
            lambda: f"{v()}[{self.draw.randrange(4)}]",
        ]
        return self.draw.choice(forms)()

    def vector(self, depth):
        s, v = lambda: self.scalar(depth - 1), lambda: self.vector(depth - 1)
        if depth <= 0:
            return self.draw.choice(["y[i]", "y[b[i]]"] + self.vectors)
        forms = [
            lambda: f"({v()} * {s()})",
            lambda: f"({v()} + {v()})",
            lambda: f"softmax({v()})",
            lambda: f"concat([{v()}[1:], [{s()}]], 0)",
            lambda: f"cumsum({v()})",
            lambda: f"(m @ expand_dims({v()}, 1))[:, 0]",
            lambda: f"sum(expand_dims({v()}, 0) * expand_dims({v()}, 1), {self.draw.randrange(2)})",
            lambda: f"stack([{s()}, {s()}, 1.0, {s()}])",
            lambda: f"one_hot(argmax({v()}), 4)",
        ]
        return self.draw.choice(forms)()

    def update(self, rows):
        w = self.draw.choice("wu")
        forms = [
            lambda: f"set s += {self.scalar(2)}",
            lambda: f"set q[a[i], b[i]] += {self.scalar(2)}",
            lambda: f"set c[a[i]] += i32({self.scalar(1)} > 0.5)",
            lambda: f"set z[b[i]] max= {self.vector(2)}",
        ] + 3 * [lambda: f"set {w}[{self.draw.choice(rows[w])}] {self.draw.choice(['+=', '=', '-='])} {self.vector(3)} * 0.25"]
        return self.draw.choice(forms)()

    def text(self, ordered, yields):
        shared = self.draw.choice([["a[i]"], ["a[i]", "b[i]"], ["i"], ["a[i] + 1", "a[i]"], ["i + 1", "i"], ["b[i]"]])
        rows = {"w": ["a[i]"], "u": ["b[i]"]} if self.draw.random() < 0.5 else {"w": shared, "u": shared}
        lines = []
        for k in range(self.draw.randrange(1, 3)):
            w = self.draw.choice("wu")
            lines.append(f"v{k} = {w}[{self.draw.choice(rows[w])}]")
            self.vectors.append(f"v{k}")
        lines += [self.update(rows) for _ in range(self.draw.randrange(1, 4))]
        if yields:
            lines.append(f"yield {self.scalar(2)}")
        body = "".join(f"        {line}\n" for line in lines)
        options = " with (ordered)" if ordered else ""
        out, use = ("out = ", "sum(out)") if yields else ("", "sum(w) + sum(z) + s")
        return f"{HEAD}target go {{\n    {out}parallel for i in 0..n{options} {{\n{body}    }}\n    set total[0] = {use}\n}}\n"


def run(*words):
    done = subprocess.run([os.environ["DFG"], *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def expect(holds, text, words, what):
    if not holds:
        raise SystemExit(f"{text}\n{' '.join(words)}\n{what}")


def check_workers(draw, text, words, blocks):
    workers = draw.randrange(1, int(blocks) + 1)
    words = words + ["--hosts", f"local:{workers}", "--timeout", "60", "--save", "workers.safetensors"]
    many = run(*words)
    expect(not many[0], text, words, many[2])
    with open("slices.safetensors", "rb") as one, open("workers.safetensors", "rb") as other:
        expect(one.read() == other.read(), text, words, "workers and one process differ")


def check(draw, workers):
    ordered = draw.random() < 0.3
    text = Program(draw).text(ordered, not workers or draw.random() < 0.5)
    with open("loop.dfg", "w") as file:
        file.write(text)
    status, _, err = run("build", "loop.dfg", "-o", "loop.pb")
    expect(not status, text, [], err)
    family = run("check", "loop.pb", "--dependences")[1].split("\n")[-2].split(":")[0].strip()
    n, blocks = draw.choice([0, 1, 2, 7, 25]), draw.choice("1235")
    numbers = lambda below: ",".join(str(draw.randrange(max(below, 1))) for _ in range(n))
    words = ["run", "loop.pb", "--feed", f"a=i32[{n}]:{numbers(8)}", "--feed", f"b=i32[{n}]:{numbers(min(n, 8))}"]
    words += ["--feed", f"x=normal:f32[{n}]:seed=1", "--feed", f"y=normal:f32[{n},4]:seed=2"]
    words += ["--feed", "m=normal:f32[4,4]:seed=3", "--target", "go"]
    plain = run(*words, "--save", "plain.safetensors")
    slices = run(*words, "--blocks", blocks, "--verify-plan", "--save", "slices.safetensors")
    singly = run(*words, "--blocks", blocks, "--no-slices", "--save", "singly.safetensors")
    words += ["--blocks", blocks]
    if "must be sorted" in slices[2]:
        return
    expect(not plain[0] and not slices[0] and not singly[0], text, words, plain[2] + slices[2] + singly[2])
    expect("one iteration at a time" not in slices[2], text, words, slices[2])
    with open("slices.safetensors", "rb") as one, open("singly.safetensors", "rb") as other:
        expect(one.read() == other.read(), text, words, "slices and single iterations differ")
    if workers:
        check_workers(draw, text, words, blocks)
    if family != "2d" or ordered or blocks == "1":
        same = run("diff", "plain.safetensors", "slices.safetensors", "--rtol", "1e-4", "--atol", "1e-4")
        expect(not same[0], text, words, same[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", action="store_true")
    options = parser.parse_args()
    for number in range(options.programs):
        check(random.Random(options.seed * 1000003 + number), options.workers)


main()
