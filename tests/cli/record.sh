# dfg test --record: a case of one step that passes as long as the graph computes the same.
. "$ROOT/tests/cli/kit"
cat >net.dfg <<'END'
input x: f32[batch, 3]
h = dense(4)(x)
output y = softmax(h)
output loss = mean(square(h))
END
"$DFG" build net.dfg -o net.pb
status 0 "$DFG" test --record kept net.pb --feed x=normal:f32[5,3]:seed=2
[ ! -s out ]
status 0 "$DFG" test kept
has out '1 passed, 0 failed'
# Its results are those of dfg run.
"$DFG" run -q net.pb --feed x=normal:f32[5,3]:seed=2 -o now.npz
status 0 "$DFG" diff now.npz kept/expect.npz
status 0 "$DFG" diff net.pb kept/graph.pb
# Initial values of variables are recorded, so another seed changes nothing; without the record they are initialised, as by run.
status 0 "$DFG" test --seed 77 kept
sed 's/"load":"variables.npz",//' kept/case.json >case.json
cp -r kept plain
cp case.json plain/case.json
rm plain/variables.npz
status 0 "$DFG" test plain
# A graph that computes something else fails, naming what differs.
sed 's/softmax(h)/softmax(h * 1.0001)/' net.dfg | "$DFG" build - -o kept/graph.pb
status 1 "$DFG" test kept
has out "FAIL kept: step 0: y: "
# With tolerances it passes.
status 0 "$DFG" test --record kept net.pb --feed x=normal:f32[5,3]:seed=2 --rtol 0.01 --atol 0.001
sed 's/softmax(h)/softmax(h * 1.0001)/' net.dfg | "$DFG" build - -o kept/graph.pb
status 0 "$DFG" test kept
# A training step: the variables are those before it, the results those after.
"$DFG" grad net.pb --loss loss --optimizer 'momentum(lr=0.5)' -o t.pb
"$DFG" run -q t.pb --feed x=ones:f32[2,3] --target train --steps 3 --save w.safetensors >/dev/null
status 0 "$DFG" test --record step t.pb --feed x=ones:f32[2,3] --target train --fetch loss --load w.safetensors
status 0 "$DFG" test step
"$DFG" run -q t.pb --feed x=ones:f32[2,3] --fetch loss --target train --load w.safetensors -o loss.npz
status 0 "$DFG" diff loss.npz step/expect.npz
# Nothing is lost: a folder with other files is left alone, and an error writes nothing.
mkdir full
echo mine >full/notes
status 73 "$DFG" test --record full net.pb --feed x=ones:f32[1,3]
[ "$(cat full/notes)" = mine ]
status 65 "$DFG" test --record none net.pb
[ ! -e none ]
status 2 "$DFG" test --fetch y kept
has err 'require --record'
status 2 "$DFG" test --record a net.pb t.pb
status 2 "$DFG" test --record a --tag x net.pb
