# Cases that dfg test must not pass: each tests less than it says (finding 19).
. "$ROOT/tests/cli/kit"

cat >g.dfg <<'.'
input x: f32[2]
output y = x + 1
output z = x + 2
.
mkdir case
"$DFG" build g.dfg -o case/graph.pb
"$DFG" run g.dfg --feed x=f32[2]:1,2 --fetch x -o case/x.npz
"$DFG" run g.dfg --feed x=f32[2]:1,2 --fetch y -o case/y.npz
"$DFG" run g.dfg --feed x=f32[2]:1,2 --fetch y,z -o case/yz.npz
"$DFG" run g.dfg --feed x=f32[2]:1,1 --fetch x -o case/ones.npz
"$DFG" run g.dfg --feed x=f32[2]:3,4 --fetch y -o case/other.npz
{ printf 'PK\5\6' && head -c 18 /dev/zero; } >case/empty.npz # an archive without members
echo cut >case/cut.npz

# Each line is the expected message and a case; without a message the case passes.
while IFS=@ read -r says json; do
	echo "$json" >case/case.json
	if [ -z "$says" ]; then
		status 0 "$DFG" test case
	else
		status 1 "$DFG" test case
		has out "FAIL case: "
		has out "$says"
	fi
done <<'.'
@{"steps": [{"feeds": "x.npz", "fetch": ["y", "z"], "expect": "yz.npz"}]}
@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "y.npz"}], "grad": {"of": "y", "wrt": ["x"], "expect": "x.npz", "atol": 1}}
@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "y.npz"}, {"fetch": ["y"]}], "error": {"at": "run", "mentions": ["x"]}}
step 0: 'y' is fetched, but empty.npz has no array of this name@{"steps": [{"feeds": "x.npz", "fetch": ["y", "z"], "expect": "empty.npz"}]}
step 0: 'z' is fetched, but y.npz has no array of this name@{"steps": [{"feeds": "x.npz", "fetch": ["y", "z"], "expect": "y.npz"}]}
step 0: yz.npz has an array 'z', which the step does not fetch@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "yz.npz"}]}
step 0: y: @{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "other.npz"}]}
grad: 'x' is fetched, but empty.npz has no array of this name@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "y.npz"}], "grad": {"of": "y", "wrt": ["x"], "expect": "empty.npz"}}
grad: 'wrt' is empty@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "y.npz"}], "grad": {"of": "y", "wrt": [], "expect": "empty.npz"}}
grad: 'order' is 0@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "y.npz"}], "grad": {"of": "y", "wrt": ["x"], "expect": "ones.npz", "order": 0}}
grad: 'order' is 1.5@{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "y.npz"}], "grad": {"of": "y", "wrt": ["x"], "expect": "ones.npz", "order": 1.5}}
grad: requires a step@{"steps": [], "grad": {"of": "y", "wrt": ["x"], "expect": "ones.npz"}, "error": {"at": "run"}}
gone.npz: @{"steps": [{"feeds": "gone.npz", "fetch": ["y"]}], "error": {"at": "run"}}
cut.npz: @{"steps": [{"feeds": "cut.npz", "fetch": ["y"]}], "error": {"at": "load"}}
step 0: y: @{"steps": [{"feeds": "x.npz", "fetch": ["y"], "expect": "other.npz"}], "error": {"at": "run"}}
the error was expected in the last step, but came earlier: step 0: @{"steps": [{"fetch": ["y"]}, {"feeds": "x.npz", "fetch": ["y"]}], "error": {"at": "run"}}
.

# A missing graph does not count as one that is refused as expected.
mv case/graph.pb g.pb
echo '{"steps": [{"fetch": ["y"]}], "error": {"at": "load"}}' >case/case.json
status 1 "$DFG" test case
has out graph.pb
mv g.pb case/graph.pb

# A variable whose initialiser the graph marks is initialised, as run does; the case may also do it.
cat >v.dfg <<'.'
param w: f32[2] = ones
output y = w + 1
.
"$DFG" build v.dfg -o case/graph.pb
"$DFG" run v.dfg -o case/v.npz
echo '{"steps": [{"fetch": ["y"], "expect": "v.npz"}]}' >case/case.json
status 0 "$DFG" test case
echo '{"steps": [{"targets": ["init"]}, {"fetch": ["y"], "expect": "v.npz"}]}' >case/case.json
status 0 "$DFG" test case
