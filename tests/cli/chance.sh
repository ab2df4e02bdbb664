# Nodes that --place does not name are placed at random: every recorded case has the results of one machine.
. "$ROOT/tests/cli/kit"
ordered_flow
"$DFG" test -q --hosts local:2 --place random:1 flow "$ROOT/tests/cases/train"
"$DFG" test -q --hosts local:3 --place random:2 flow "$ROOT/tests/cases/train"
"$DFG" test -q --hosts local:3 --place random:3 --transport libcurl flow

# The same seed draws the same.
printf 'input x: f64[]\ny = exp(x)\nz = sin(y)\noutput w = cos(z) + y\n' | "$DFG" build - -o g.pb
"$DFG" partition g.pb --hosts local:3 --place random:5 -o a/
"$DFG" partition g.pb --hosts local:3 --place random:5 -o b/
diff -r a b
"$DFG" partition g.pb --hosts local:3 --place random:5 --place 'y=w2' --explain | grep "^y  w2  --place 'y=w2'"
"$DFG" partition g.pb --hosts local:3 --place random:5 --explain | grep -q 'by chance'
status=0
"$DFG" partition g.pb --hosts local:3 --place random:x -o c/ 2>err || status=$?
[ $status = 2 ]
grep -q "must be random:SEED, not 'random:x'" err
