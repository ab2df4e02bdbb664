# Graphs built today compute what TensorFlow computed with those that were recorded.
cp -r "$ROOT/tests/cases/ours" ours
find ours -name graph.pb -delete
python3 "$ROOT/tests/tensorflow/compare.py" --build ours
"$DFG" test ours
"$DFG" test --no-opt --threads 3 ours
