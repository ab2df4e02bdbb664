"""The calls of bench/allreduce.sh with OpenMPI, if it is installed (Debian: openmpi-bin, libopenmpi-dev)."""
import os
import pathlib
import shutil
import subprocess
import tempfile

if shutil.which("mpicc") and shutil.which("mpirun"):
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "allreduce")
        source = pathlib.Path(__file__).with_suffix(".c")
        subprocess.run(["mpicc", "-O3", source, "-o", program], check=True)
        allowed = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        subprocess.run(["mpirun", *allowed, "-n", "2", program], check=True)
