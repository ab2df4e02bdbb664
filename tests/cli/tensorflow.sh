# TensorFlow reads what dfg writes and computes the same, where it is installed.
python3 "$ROOT/tests/tensorflow/compare.py"
python3 "$ROOT/tests/tensorflow/programs.py" "$ROOT"/tests/programs/*.dfg $(grep -l '^#: ' "$ROOT"/examples/*.dfg)
python3 "$ROOT/tests/tensorflow/gradients.py"
python3 "$ROOT/tests/tensorflow/layers.py"
python3 "$ROOT/tests/tensorflow/references.py"
