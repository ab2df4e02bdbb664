# Finding 11: what a build emits, check accepts, without a word, and run executes. Ops that can fail, reading only values
# that do not change in the loop, stood in its condition as nodes that check refuses.
. "$ROOT/tests/cli/kit"
try() { # CONDITION WANTED: iterations of a loop over t with n = 7
	cat >condition.dfg <<-.
		input n: i32[]
		input x: f32[3]
		state s: i32[] = 4
		k = loop (k = 0, j = n) for t in 0.. while t < 4 and $1 { next k + 1, j - 1 }
		output y = k[0]
	.
	sed -i 's/^k = /k, _ = /;s/k\[0\]/k/' condition.dfg
	status 0 "$DFG" build condition.dfg -o condition.pb
	status 0 "$DFG" check condition.pb
	status 0 "$DFG" run condition.pb --feed n=7 --feed 'x=f32[3]:1,2,3' --fetch y
	has out "y: i32[] $2"
}
try 'n % 5 != 3' 4
try 'n % 5 != 2' 0
try '(n + 1) % 5 != 2' 4
try '((n + 1) // 2) % 3 == 1' 4
try 'n // (n - 2) > 0 and n % 4 == 3' 4
try 'j % n != 5' 2
try 'n % 5 != k' 2
try 's % 3 == 1' 4
try 'x[n % 3] > 1.5' 4
try 'x[n - 7] > 1.5' 0
try 'take(x, n % 3) > 1.5' 4
try 'sum(x) > f32(n // 2)' 4
try 'reshape(x, [1, n // 2])[0, 0] > 0.5' 4
for op in '//' '%' '+' '-' '*'; do
	for of in n k j s 't'; do
		for by in 3 'n' '(n + 1)' '(s + 1)'; do
			cat >generated.dfg <<-.
				input n: i32[]
				state s: i32[] = 4
				k, _ = loop (k = 0, j = n) for t in 0..3 while ($of $op $by) $op $by < 1000 { next k + 1, j - 1 }
				output y = k
			.
			status 0 "$DFG" build generated.dfg -o generated.pb
			status 0 "$DFG" check generated.pb
		done
	done
done
