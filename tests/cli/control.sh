# Programs with conditionals and loops: what they compute, with one thread and several.
python3 "$ROOT/tests/programs/run.py" "$ROOT"/tests/programs/*.dfg
