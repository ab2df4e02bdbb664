#!/usr/bin/env python3
"""Runs the examples of the library, the lines that begin with #> in lib/lang/std, which are of these forms:

    relu([-1.0, 2.0]) = [0, 2]                 a value, within 1e-5
    h, c = lstm(2)(x, h, c) : f32[1,2], f32[1,2]     types
    --optimizer 'sgd(lr = 0.5)'                an optimizer, which dfg grad accepts

Every fn and layer whose comment does not begin with "Internal:" must have one. DFG is the program.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.environ.get("DFG", os.path.join(ROOT, "build", "dfg"))


def dfg(*words):
    done = subprocess.run([DFG, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def collect():
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "lib", "lang", "std", "*.dfg"))):
        comment = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                name = re.match(r"(?:fn|layer) (\w+)\(", line)
                examples = [text[3:].strip() for text in comment if text.startswith("#> ")]
                if name and not (comment and comment[0].startswith("# Internal:")):
                    if not examples:
                        sys.exit(f"{path}: {name[1]} has no example")
                    found += [(name[1], example) for example in examples]
                comment = comment + [line] if line.startswith("#") else []
    return found


def near(got, wanted):
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(near, got, wanted))
    return abs(got - wanted) <= 1e-5 * max(1, abs(wanted))


def matches(result, wanted):
    """Of a value, or of a type such as f32[2,3]."""
    if not re.match(r"[a-z]\w*\[", wanted):
        return near(result["value"], json.loads(wanted))
    return f"{result['dtype']}[{','.join(map(str, result['shape']))}]" == wanted


def claim(number, example):
    """The text of a program, and what its outputs are to be."""
    call, typed, wanted = example.partition(" : ")
    names = re.match(r"((?:\w+, )+\w+) = ", call)
    if not typed:
        call, _, wanted = example.rpartition("] = " if names else " = ")
        call += "]" if names and not call.endswith(")") else ""
        if names:
            call, _, wanted = example.partition(") = ")
            call += ")"
    wanted = re.split(r"(?<=\]), ", wanted) if names else [wanted]
    text = call[names.end():] if names else call
    bound = [f"e{number}_{i}" for i in range(len(wanted))]
    return f"{', '.join(bound)} = {text}\n" + "".join(f"output {name}\n" for name in bound), dict(zip(bound, wanted))


def main():
    examples, program, wanted = collect(), "", {}
    with tempfile.TemporaryDirectory() as folder:
        path, graph = os.path.join(folder, "p.dfg"), os.path.join(folder, "p.pb")
        with open(path, "w", encoding="utf-8") as file:
            file.write("param w: f32[2, 3] = 1\noutput loss = sum(w * w)\n")
        dfg("build", path, "-o", graph)
        for number, (name, example) in enumerate(examples):
            if example.startswith("--optimizer "):
                assert f"'{name}(" in example, example
                dfg("grad", graph, "--loss", "loss", "--optimizer", example.split("'")[1], "-o", os.path.join(folder, "train.pb"))
                continue
            assert name in example, example
            text, values = claim(number, example)
            program += text
            wanted.update({output: (example, value) for output, value in values.items()})
        with open(path, "w", encoding="utf-8") as file:
            file.write(program)
        dfg("build", path, "-o", graph)
        results = json.loads(dfg("run", graph, "--json"))["results"]
    for output, (example, value) in wanted.items():
        if not matches(results[output], value):
            sys.exit(f"{example}: got {results[output]}")


main()
