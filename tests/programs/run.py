#!/usr/bin/env python3
"""Runs programs that say what they compute, in comments:

    #: OPTIONS OF RUN = an output / another        what is printed, white space aside
    #: OPTIONS OF RUN ! WORDS OF THE ERROR

With --target, what is compared is the state behind it. DFG is the program.
"""
import os
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.environ.get("DFG", os.path.join(ROOT, "build", "dfg"))
WAYS = [[], ["--threads", "3"], ["--no-opt"]]


def run(words):
    return subprocess.run([DFG, *words], capture_output=True, text=True, check=False)


def wrong(what, got):
    sys.exit(f"{what}\n{got}")


def claim(graph, line, way):
    options, _, wanted = line.partition(" = ")
    error = None
    if not wanted:
        options, _, error = line.partition(" ! ")
    options = shlex.split(options)
    if "--target" in options:
        state = graph + ".npz"
        done = run(["run", graph, *options, "--save", state, *way])
        if done.returncode:
            wrong(f"{graph}: {line}", done.stderr)
        at = options.index("--target")
        options = options[:at] + options[at + 2:] + ["--load", state, "--partial"]
    done = run(["run", graph, *options, *way])
    if error is not None:
        if done.returncode == 0 or error not in done.stderr:
            wrong(f"{graph}: {line}: the error is", done.stderr or done.stdout)
    elif done.returncode or done.stdout.split() != wanted.replace(" / ", " ").split():
        wrong(f"{graph}: {line}: it printed", done.stdout + done.stderr)


def claims(program):
    with open(program, encoding="utf-8") as text:
        found = [line[2:].strip("\n") for line in text if line.startswith("#: ")]
    for line in found:
        if " = " not in line and " ! " not in line:
            wrong(f"{program}: {line}", "says neither what is printed nor an error")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        for program in sys.argv[1:]:
            graph = os.path.join(folder, os.path.basename(program).replace(".dfg", ".pb"))
            for words in ["build", program, "-o", graph], ["check", graph]:
                done = run(words)
                if done.returncode:
                    wrong(program, done.stderr)
            found = claims(program)
            if not found:
                wrong(program, "says nothing of what it computes")
            for line in found:
                for way in WAYS:
                    claim(graph, line, way)


main()
