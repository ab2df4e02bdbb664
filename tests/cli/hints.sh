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
says 'fn f() { 1 }\noutput y = f(a = 1)' 'f takes no arguments here'
says 'fn f(a, b = 2) { a }\noutput y = f(1, a = 2)' 'program.dfg:2:17: ' "'a' is given twice"
says 'input x: f32[2]\nA = x + 1' "'A' cannot be the name of a value: a word that begins with a capital letter is an op"
says 'input x: f32[2]\noutput y = float64(x)' "there is no 'float64' here: the type is called f64"
says 'input x: float32[2]' "there is no type 'float32': it is called f32"
says 'input x: f32[2]\noutput y = x.shape' "a tensor has no '.shape': write shape(x)"
