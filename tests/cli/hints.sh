# Finding 13: messages that say what to write instead.
. "$ROOT/tests/cli/kit"
says() { # PROGRAM WORDS...
	printf '%b\n' "$1" >program.dfg
	shift
	status 65 "$DFG" build program.dfg -o program.pb
	for words; do
		has err "$words"
	done
}
says 'input x: f32[2]\noutput y = softmax(x, ax = 1)' 'program.dfg:2:23: ' "softmax takes no 'ax' here; did you mean 'axis'?"
says 'input x: f32[2]\na = adamw(learning_rate = 1)' "adamw takes no 'learning_rate' here: it takes lr, "
says 'input x: f32[2, 2]\na = mean(x, keep = true)' "mean takes no 'keep' here; did you mean 'keep_dims'? it takes x, axis, keep_dims"
says 'fn f() { 1 }\noutput y = f(a = 1)' 'f takes no arguments here'
says 'fn f(a, b = 2) { a }\noutput y = f(1, a = 2)' 'program.dfg:2:17: ' "'a' is given twice"
says 'input x: f32[2]\nA = x + 1' "'A' cannot be the name of a value: a word that begins with a capital letter is an op"
says 'input x: f32[2]\noutput y = float64(x)' "there is no 'float64' here: the type is called f64"
says 'input x: float32[2]' "there is no type 'float32': it is called f32"
says 'input x: f32[2]\noutput y = x.shape' "a tensor has no '.shape': write shape(x)"
for word in next yield after assert static loop in true; do
	says "input x: f32[2]\n$word = x + 1" "program.dfg:2:1: error: \`$word\` is a reserved word"
done
says 'input x: f32[2]\nfor i in 0..3 { x = x + 1 }' 'program.dfg:2:1: ' '`static for`'
says 'input x: f32[2]\ny = while x > 1 { x }' 'program.dfg:2:5: ' '`loop`'
# The spelling of other languages.
says 'def f(x) { x }' 'a function is written fn NAME(X) { ... }'
says 'f = lambda x: x' 'a function is written fn NAME(X) { ... }'
says 'fn f(x) { return x }' 'the value of a function is the last expression in it'
says 'let x = 3' 'write NAME = VALUE'
says 'import train' 'write import "FILE.dfg"'
says 'a = [1, 2]\nx = a[1..]' 'program.dfg:2:8: ' 'a slice is written [FROM:TO]'
says 'a = [1, 2]\nx = a[..1]' 'a slice is written [FROM:TO]'
says 'x = 1\nx += 1' 'program.dfg:2:3: ' 'write X = X + ...'
says 'x = 3 if true else 4' 'write if CONDITION { A } else { B }'
says 'x = [i for i in 0..3]' 'write map(FUNCTION, XS)'
says 'x: f32 = 3' 'only `input`, `param`, `state` and the parameters of functions have types'
says 'y = if true: 3' 'blocks are in braces'
says 'x = a && b' 'program.dfg:1:7: ' 'write `and`'
says 'x = a || b' 'write `or`'
says 'x = !a' 'write `not`'
says 'x = 3;' 'each statement has a line of its own'
says "x = 'text'" 'strings are written in double quotes'
says 'output y = ["a"] == True' 'there is no op True: write `true`'
# A mistake in the text's own functions is shown where it is, with the calls that led there; the library's are left out.
says 'input x: f32[2]\nfn g(a) {\n  a + [1, 2, 3]\n}\nfn f(a) { map(g, a) }\noutput y = f([x])' 'program.dfg:3:5: error: AddV2: ' \
	'program.dfg:5:11: note: map is called here' 'program.dfg:6:12: note: f is called here'
says 'fn f(a, b = z) { a }\noutput y = f(1)' 'program.dfg:1:13: error: ' 'program.dfg:2:12: note: f is called here'
says 'fn f(a) { a }\noutput y = f(1, 2)' 'program.dfg:2:17: error: '
never grep -q note err
# A value of -D that does not fit is a mistake of the command line.
printf 'const hidden = 3\ninput x: f32[2]\noutput y = x * hidden\n' >program.dfg
for value in x 2.5 true '[1]'; do
	status 65 "$DFG" build program.dfg -D "hidden=$value" -o program.pb
	has err "-D hidden=$value: 'hidden' is 3 in the program: give a whole number"
	never grep -q 'program.dfg:1' err
done
for name in hidden training nothing; do
	status 65 "$DFG" build program.dfg -D "$name" -o program.pb
	has err "-D $name: expected NAME=VALUE"
done
status 65 "$DFG" build program.dfg -D 'hidden=3 +' -o program.pb
has err '-D hidden:1:4: error: '
never grep -q 'program.dfg:1' err
