# What is kept of a loop does not matter to the gradients of recorded cases, of one trip after the other or many at once.
"$DFG" test -q --remat carried "$ROOT/tests/cases/flow"
"$DFG" test -q --remat sqrt --threads 1 "$ROOT/tests/cases/flow"
"$DFG" test -q --remat every=1 --threads 2 --schedule random:1 "$ROOT/tests/cases/flow"
"$DFG" test -q --remat every=2 --threads 2 --schedule random:2 "$ROOT/tests/cases/flow"
