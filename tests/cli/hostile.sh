# Graphs and outputs that would hang, wrap or mislead: each ends at once, with a code of the table and no file left.
. "$ROOT/tests/cli/kit"
quick() { # WANTED COMMAND...: within a deadline that leaves room for sanitizers
	wanted=$1
	shift
	status "$wanted" timeout 20 "$@"
}

# The declared length of a constant is not work (36): one value in the file, 2^40 axes. Every op is in
# tests/unit/declared_length.c.
axes() { # VALUE
	cat <<-.
		node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
		  attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
		node { name: "axes" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
		  dtype: DT_INT32 tensor_shape { dim { size: 1099511627776 } } int_val: $1 } } } }
		node { name: "y" op: "Sum" input: "x" input: "axes"
		  attr { key: "T" value { type: DT_FLOAT } } attr { key: "Tidx" value { type: DT_INT32 } } }
		node { name: "n" op: "Neg" input: "axes" attr { key: "T" value { type: DT_INT32 } } }
	.
}
axes 0 >axes.pbtxt
axes 1 >other.pbtxt
quick 65 "$DFG" check axes.pbtxt
has err '1099511627776 axes are given, expected at most the 2 dimensions'
quick 65 "$DFG" grad axes.pbtxt --of y --wrt x
grep -v '"y"\|Tidx' axes.pbtxt >neg.pbtxt
quick 0 "$DFG" check neg.pbtxt
quick 0 "$DFG" opt neg.pbtxt --fetch n -o neg.pb
quick 0 "$DFG" show axes.pbtxt --node axes
has out 'i32[1099511627776]:0, 0, 0, 0, 0, 0, ...'
quick 0 "$DFG" show axes.pbtxt --text
quick 1 "$DFG" diff axes.pbtxt other.pbtxt
has out '[0] is 1, not 0 (1099511627776 of 1099511627776 differ)'

# Sizes beyond 32 bits (41): a gradient has the shape of its input, and a shape that i32 cannot hold is not folded.
for size in 2147483648 3000000000 4294967297; do
	for line in 'y = a * 2' 'y = sum(a)' 'y = mean(a)' 'y = concat([a, a], axis = 0)'; do
		printf 'input a: f64[%s]\noutput %s\n' $size "$line" >wide.dfg
		quick 0 "$DFG" grad wide.dfg --of y --wrt a -o wide.pb
		quick 0 "$DFG" check wide.pb
		quick 0 "$DFG" show wide.pb --node grad/a
		has out "f64[$size]"
	done
done
printf 'input a: f32[4294967297]\noutput s = Shape(a)\noutput t = Size(a)\n' >wide.dfg
quick 0 "$DFG" build wide.dfg -o wide.pb
quick 0 "$DFG" opt wide.pb --fetch s,t -o folded.pb
quick 0 "$DFG" show folded.pb
has out '1 Shape'
has out '1 Size'

# A limit on the length of files is an error of writing, and leaves nothing (43).
printf 'output x = zeros([100000]) + 1\n' >long.dfg
status 74 bash -c 'ulimit -f 10; exec "$DFG" run long.dfg -o long.npy'
has err 'File too large'
[ "$(find . -name '*long.npy*')" = '' ]

# Of a folder the error names the file in it, not the temporary one.
{ echo 'input x: f32[]' && for i in $(seq 200); do echo "output y$i = x + $i"; done; } >wide.dfg
status 74 bash -c 'ulimit -f 2; exec "$DFG" partition wide.dfg --hosts local:1 -o plan/'
[ "$(cat err)" = 'plan/w0.pb: cannot write: File too large' ]
[ ! -e plan ]

# If one of two outputs cannot be written, neither is kept (44).
cat >two.dfg <<'END'
param w: f32[3] = zeros
output y = zeros([100000]) + w[0]
output z = w + 1
END
"$DFG" build two.dfg -o two.pb
short() { # COMMAND...: files may have 20 blocks, which the results are longer than
	status 74 bash -c 'ulimit -f 20; exec "$@"' _ "$@"
}
short "$DFG" run two.pb --fetch y --save w.npz -o y.npz
short "$DFG" run two.pb --fetch y --save w.npz -o y.npz --trace t.json
status 74 "$DFG" run two.pb --fetch z --trace /dev/full -o y.npz --save w.npz
status 74 bash -c '"$DFG" run two.pb --fetch z --save w.npz --trace t.json >/dev/full'
status 74 "$DFG" build two.dfg -o g.pb -MD -MF /dev/full
status 74 "$DFG" build two.dfg -o /dev/full --to pb -MD -MF g.d
[ "$(find . -name '*.npz' -o -name 't.json' -o -name 'g.*' -o -name '.*.tmp')" = '' ]
status 0 "$DFG" build two.dfg -o g.pb -MD -MF g.d
[ -s g.d ]
[ -s g.pb ]
status 0 "$DFG" run two.pb --fetch z --save w.npz -o y.npz --trace t.json
[ -s w.npz ]
[ -s y.npz ]
[ -s t.json ]

# Names and operands at the edges (45).
name=$(printf '%0251d' 0)
status 0 "$DFG" convert two.pb -o "$name.pb"
status 73 "$DFG" convert two.pb -o "${name}00.pb"
status 65 "$DFG" build /dev/null
has err 'the program has no nodes'
for list in y,,y ,y y,; do
	status 2 "$DFG" run two.pb --fetch "$list"
	has err 'has an empty name'
done
status 2 "$DFG" help nope
has err 'there are build, '
status 2 "$DFG" help buidl
has err "did you mean 'build'?"

# Names of strangers reach a terminal without signs that steer it or turn its text round (42).
printf '{"step": 1, "a\\u001b[31mb\\u202ec": 1}\n{"step": 2, "a\\u001b[31mb\\u202ec": 2}\n' >m.jsonl
status 0 "$DFG" show m.jsonl
has out '\x1b[31m'
never grep -q "$(printf '\033\|\342\200\256')" out
cat >frame.pbtxt <<'END'
node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "e" op: "Enter" input: "c" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "frame_name" value { s: "f\033[31m\342\200\256g" } } }
END
for form in --tree --dot; do
	status 0 "$DFG" show frame.pbtxt $form
	never grep -q "$(printf '\033\|\342\200\256')" out
done
