# Programs with conditionals and loops, the examples among them: what they compute, with one thread and several.
python3 "$ROOT/tests/programs/run.py" "$ROOT"/tests/programs/*.dfg $(grep -l '^#: ' "$ROOT"/examples/*.dfg)
# Random programs against an interpreter; `make fuzz` runs more.
python3 "$ROOT/tests/programs/random_programs.py" --programs 120 --ways 3
