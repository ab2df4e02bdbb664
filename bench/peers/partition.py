"""METIS cuts the graph of bench/partition.sh into 8: gpmetis as a whole, its reading and writing included."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy

NODES, EDGES, SEED, NEAR, FAR_EVERY = 1_000_000, 10_000_000, 1, 64, 8
ROW = "cut of 1 M nodes into 8"


def random_numbers(count):
    """splitmix64, as formats/synthetic.c has it."""
    z = numpy.uint64(SEED) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
    return z ^ z >> numpy.uint64(31)


def edges():
    """Reader and maker of each edge."""
    inputs, left = numpy.zeros(NODES, numpy.int64), EDGES
    for node in range(1, NODES):
        inputs[node] = left // (NODES - node)
        left -= int(inputs[node])
    reader = numpy.repeat(numpy.arange(NODES), inputs)
    random = random_numbers(len(reader))
    near = (random % numpy.uint64(FAR_EVERY) != 0) & (reader > NEAR)
    reach = numpy.where(near, NEAR, reader).astype(numpy.uint64)
    return reader, reader - 1 - ((random >> numpy.uint64(32)) % reach).astype(numpy.int64)


def write(path):
    """In METIS's format: both directions, nothing twice."""
    reader, maker = edges()
    both = numpy.unique(numpy.concatenate([reader * NODES + maker, maker * NODES + reader]))
    of, to = both // NODES, both % NODES + 1
    ends = numpy.searchsorted(of, numpy.arange(NODES + 1))
    with open(path, "w") as out:
        out.write(f"{NODES} {len(both) // 2}\n")
        for node in range(NODES):
            out.write(" ".join(map(str, to[ends[node] : ends[node + 1]])) + "\n")


metis = shutil.which("gpmetis")
if not metis:
    print("gpmetis is absent: Debian has it in the package metis")
    sys.exit()
path = pathlib.Path(os.environ["SCRATCH"], "metis.graph")
if not path.exists():
    write(path)
start = time.perf_counter()
subprocess.run([metis, path, "8"], check=True, stdout=subprocess.DEVNULL, cwd=path.parent)
print(f"{ROW}\t{time.perf_counter() - start}\tMETIS")
