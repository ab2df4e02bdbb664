# A line break in a name of a file or in a string of a graph does not begin a line of stderr, of stdout or of a file that
# lines structure: each outlet shows it as \n or \x0a.
. "$ROOT/tests/cli/kit"

n='a
FORGED'
mkdir "$n"
unbroken() { # COMMAND...: whatever its status, no line begins with the second line of a name
	"$@" >out 2>err </dev/null || true
	if grep -an '^FORGED' out err; then
		echo "a name broke a line: $*"
		exit 1
	fi
}
cat >"$n/ok.dfg" <<'.'
input x: f32[2]
param w: f32[2] = [1.0, 2.0]
output y = loop (h = x) while sum(h) < 10.0 { next h + w }
output loss = sum(y)
.
"$DFG" build "$n/ok.dfg" -o "$n/ok.pb"
"$DFG" convert "$n/ok.pb" --to pbtxt >plain.pbtxt
"$DFG" run "$n/ok.pb" --feed x=zeros:f32[2] --fetch x -o "$n/x.npy"
"$DFG" convert "$n/x.npy" -o "$n/x.npz"
awk '/key: "(frame_name|shared_name)"/ { next_is = 1 }
	next_is && /s: "/ { sub(/s: "/, "s: \"a\\nFORGED"); next_is = 0 }
	{ print }' plain.pbtxt >"$n/odd.pbtxt"
[ "$(grep -c 'a\\nFORGED' "$n/odd.pbtxt")" -ge 4 ]

# Names of frames, variables and files, in what describes, changes and runs a graph.
for g in "$n/odd.pbtxt" "$n/ok.pb"; do
	for words in check 'check --json' show 'show -v' 'show --dot' 'show --json' 'run --feed x=zeros:f32[2]' 'run --feed x=zeros:f32[3]' \
		'run --feed x=zeros:f32[2] --explain' 'run --feed x=zeros:f32[2] --max-iterations 2' 'run --feed x=zeros:f32[2] --json' \
		'run --feed x=zeros:f32[2] --fetch none' 'run --feed x=zeros:f32[2] --trace t.json -v' 'run --feed x=zeros:f32[2] --init none' \
		'grad --of y --wrt x -o g.pb' 'grad --of none --wrt x -o g.pb' 'opt -v -o o.pb' 'convert --to pbtxt' \
		'partition --hosts local:2 --place y*=w1 --explain' 'partition --hosts local:2 --place y*=w1 --explain --json'; do
		# shellcheck disable=SC2086
		set -- $words
		command=$1
		shift
		unbroken "$DFG" "$command" "$g" "$@"
	done
	never grep -aq '^FORGED' t.json
	unbroken "$DFG" diff plain.pbtxt "$g"
	unbroken "$DFG" partition "$g" --hosts local:2 --place 'y*=w1' -o "$n/plan"
	never grep -aq '^FORGED' "$n/plan/manifest.json"
	for words in check show 'show --dot' 'run --feed x=zeros:f32[2] --hosts local:2' 'run --feed x=zeros:f32[2] --hosts local:3'; do
		# shellcheck disable=SC2086
		set -- $words
		command=$1
		shift
		unbroken "$DFG" "$command" "$n/plan" "$@"
	done
	rm -r "$n/plan"
done
unbroken "$DFG" grad "$n/ok.pb" --loss loss --optimizer 'sgd(lr=0.1)' -o "$n/train.pb"
unbroken "$DFG" run "$n/train.pb" --data "x=@$n/x.npy" --target train --checkpoint "$n/ck" --metrics "$n/none/m"
unbroken "$DFG" show "$n/x.npz"
unbroken "$DFG" show "$n/x.npz[none]"
unbroken "$DFG" diff "$n/x.npz" "$n/x.npy"
unbroken "$DFG" run "$n/ok.pb" --load "$n/x.npz" --feed x=zeros:f32[2]
unbroken "$DFG" run "$n/ok.pb" --feed "x=@$n/none.npy"
unbroken "$DFG" run "$n/ok.pb" --feed "$n=1" --hosts "$n/none"
unbroken "$DFG" run "$n/ok.pb" "--$n"
unbroken "$DFG" "$n"
unbroken "$DFG" ops "$n"
unbroken "$DFG" -C "$n/none" check x

# Programs: an error at a place, its callers, and a make rule, which cannot name such a path.
printf 'fn f(x) = x @ x\noutput y = f([1.0, 2.0])\n' >"$n/bad.dfg"
unbroken "$DFG" build "$n/bad.dfg" -o bad.pb
has err 'a\nFORGED/bad.dfg:'
[ "$(wc -l <err)" -ge 3 ] # the line and its caret are lines of their own
unbroken "$DFG" fmt "$n/bad.dfg" --check
status 2 "$DFG" build "$n/ok.dfg" -o b.pb -MD
has err 'a make rule cannot name a path with a line break'

# A case and a file of cases.
mkdir -p "cases/$n"
cp "$n/ok.pb" "cases/$n/graph.pb"
echo '{"steps": [{"feeds": "none.npz", "fetch": ["y"], "expect": "none.npz"}]}' >"cases/$n/case.json"
echo 'Neg(1) = 1' >"cases/$n.t"
unbroken "$DFG" test -v cases
has out 'FAIL a\x0aFORGED: '
unbroken "$DFG" test "cases/$n.t"
