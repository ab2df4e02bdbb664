# Programs with conditionals and loops, the examples among them: what they compute, with one thread and several.
python3 "$ROOT/tests/programs/run.py" "$ROOT"/tests/programs/*.dfg $(grep -l '^#: ' "$ROOT"/examples/*.dfg)
# Random programs against an interpreter; `make fuzz-programs` runs more.
python3 "$ROOT/tests/programs/random_programs.py" --programs 120 --ways 3 --derivatives 40 --vectors 40
# The root that Newton's steps find, differentiated twice.
"$DFG" build "$ROOT/examples/newton.dfg" -o newton.pb
"$DFG" grad newton.pb --of root --wrt a -o d1.pb
"$DFG" grad d1.pb --of grad/a --wrt a --prefix second -o d2.pb
"$DFG" run d2.pb --feed a=4 --fetch root,grad/a,second/a >out
diff out - <<'.'
root: f64[] 2
grad/a: f64[] 0.25
second/a: f64[] -0.03125
.
# A recurrent network over ragged sequences learns what it is shown.
"$DFG" build "$ROOT/examples/ragged-rnn.dfg" -o rnn.pb
"$DFG" grad rnn.pb --loss loss --optimizer 'adam(lr=0.02)' -o train.pb
"$DFG" run train.pb --feed sequences=normal:f32[6,5,4]:seed=1 --feed length=i32[6]:1,2,4,5,3,2 \
	--feed labels=i32[6]:0,1,2,0,1,2 --target train --fetch loss --repeat 60 2>/dev/null | awk '/^loss:/ {good = $3 < 0.05} END {exit !good}'
