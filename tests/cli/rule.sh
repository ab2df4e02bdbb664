# Rows updated by an optimizer: `set w[ids] -= g by RULE`.
. "$ROOT/tests/cli/kit"

# adagrad on rows with duplicates, which are summed first, and on single rows in a loop; against the same in awk.
cat >rows.dfg <<'P'
input ids: i32[n, 3]
input g: f64[n, 3, 2]
state w: f64[5, 2] = 1.0
state v: f64[5] = 1.0
target all {
    set w[ids] -= g by adagrad(lr = 0.5)
}
target each {
    parallel for i in 0..n {
        set w[ids[i]] -= g[i] by adagrad(lr = 0.5)
        set v[ids[i, 0]] -= g[i, 0, 1] by momentum(lr = 0.5)
    }
}
output result = concat([Reshape(w, [-1]), v], 0)
P
"$DFG" build rows.dfg -o rows.pb
"$DFG" check rows.pb 2>err
feeds="--feed ids=i32[4,3]:0,1,1,2,2,2,0,3,1,1,0,1 --feed g=f64[4,3,2]:1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1,0,1,2,3,4,5,6"
awk 'BEGIN {
	n = split("0 1 1 2 2 2 0 3 1 1 0 1", id, " ")
	split("1 2 3 4 5 6 7 8 9 8 7 6 5 4 3 2 1 0 1 2 3 4 5 6", g, " ")
	for (step = 12; step >= 3; step -= 9) { # all twelve slopes at once, then three after three
		for (x = 0; x < 5; x++) { v[x] = 1; m[x] = 0; for (k = 0; k < 2; k++) { w[x, k] = 1; s[x, k] = 0.1 } }
		for (i = 0; i < n; i += step) {
			split("", sum)
			for (j = 1; j <= step; j++) for (k = 0; k < 2; k++) sum[id[i + j], k] += g[2 * (i + j) - 1 + k]
			for (x = 0; x < 5; x++) for (k = 0; k < 2; k++) if ((x, k) in sum) {
				s[x, k] += sum[x, k] * sum[x, k]
				w[x, k] -= 0.5 * sum[x, k] / sqrt(s[x, k])
			}
			if (step == 3) { x = id[i + 1]; m[x] = 0.9 * m[x] + g[2 * i + 2]; v[x] -= 0.5 * m[x] }
		}
		for (x = 0; x < 5; x++) for (k = 0; k < 2; k++) printf "%.6f\n", w[x, k]
		for (x = 0; x < 5; x++) printf "%.6f\n", v[x]
	}
}' >want
for target in all each; do
	for options in "" --no-opt "--no-compiled-loops --threads 1"; do
		"$DFG" run rows.pb $feeds --target $target --save $target.safetensors $options
		"$DFG" run rows.pb --load $target.safetensors --partial --fetch result 2>err | tr -s ' ' '\n' |
			awk '$1 ~ /^-?[0-9.e+-]+$/ { printf "%.6f\n", $1 }' >$target
	done
done
# Single precision in the rates: adagrad takes lr as f32, which 0.5 is exactly.
cat all each | cmp - want

# Without delays AdaRevision is adagrad, bit for bit.
rule() { # CALL: the variable after three passes
	cat >slr.dfg <<-P
	input ids: i32[n, 3]
	input label: f32[n]
	state w: f32[9] = 0
	target pass {
	    parallel for i in 0..n with (buffer = w, staleness = 1) {
	        x = w[ids[i]]
	        set w[ids[i]] -= (sigmoid(sum(x)) - label[i]) * ones_like(x) by $1
	    }
	}
	output weights = w
	P
	"$DFG" build slr.dfg -o slr.pb
	"$DFG" run slr.pb --feed ids=i32[4,3]:0,1,1,2,8,2,0,3,1,1,5,8 --feed label=f32[4]:0,1,1,0 --target pass --steps 3 --fetch weights
}
rule 'adarevision(lr = 0.1)' >revised
"$DFG" check slr.pb --dependences >out
has out "w[any] read by a rule buffered, staleness 1"
has out "w/adarevision/slopes is served"
"$DFG" show slr.pb --text >text
has text "_dfg_seen = 1"
rule 'adagrad(lr = 0.1, initial = 1.0)' | cmp - revised
status 65 "$DFG" run slr.pb --feed ids=i32[1,3]:0,1,1 --feed label=f32[1]:0 --target pass --blocks 2
has err "buffers variable 'w'"

# In blocks: the states of a rule are rows like those that it updates.
cat >mf.dfg <<'P'
input user: i32[n]
input item: i32[n]
input rating: f32[n]
state w: f32[9, 3] = 0.5
state h: f32[7, 3] = 0.25
target sgd {
    parallel for i in 0..n {
        a, b = w[user[i]], h[item[i]]
        e = rating[i] - sum(a * b)
        set w[user[i]] -= -e * b by adagrad(lr = 0.1)
        set h[item[i]] -= -e * a by adam(lr = 0.1)
    }
}
P
"$DFG" build mf.dfg -o mf.pb
"$DFG" check mf.pb --dependences >out
has out "2d: space"
mf() { "$DFG" run mf.pb --feed user=i32[8]:0,1,1,2,5,5,5,0 --feed item=i32[8]:0,1,2,2,6,3,1,0 --feed rating=f32[8]:1,2,3,4,5,4,3,2 --target sgd "$@"; }
mf --save serial.safetensors
for blocks in 1 3; do
	mf --blocks $blocks --verify-plan --save slices.safetensors 2>err
	[ ! -s err ]
	mf --blocks $blocks --no-slices --save singly.safetensors
	cmp slices.safetensors singly.safetensors
	[ $blocks != 1 ] || cmp slices.safetensors serial.safetensors
done

wrong() { # MESSAGE STATEMENT: the build fails with the message and names line 9
	cat >wrong.dfg <<-P
	layer shaped()(p, g, step) { state s: f32[4] = 0
	    p + s }
	layer late()(p, g, step) { state s: like p = zeros
	    set s = s + g
	    p - seen(s) }
	layer wider()(p, g, step) { f64(p) }
	state c: f32[] = 0
	state w: f32[3, 2] = 0
	target t { $2 }
	P
	status 65 "$DFG" build wrong.dfg -o wrong.pb
	has err "$1"
	has err "wrong.dfg:${3:-9}:"
}
wrong "\`by\` may follow only \`-= g\`" 'set w[0] += [1, 2] by sgd()'
wrong "requires the rows" 'set c -= 1.0 by sgd()'
wrong "requires the rows" 'set w -= w by sgd()'
wrong "give one subscript" 'set w[0, 1] -= 1.0 by sgd()'
wrong "a rule is an optimizer with its arguments" 'set w[0] -= [1, 2] by sgd'
wrong "a rule is an optimizer with its arguments" 'set w[0] -= [1, 2] by 3'
wrong "the gradient has shape [3], but the rows have shape [2]" 'set w[0] -= [1, 2, 3] by sgd()'
wrong "a state of a rule must have the shape of p" 'set w[0] -= [1, 2] by shaped()' 1
wrong "the new value of the rows is f64[1,2], but the rows are f32[1,2]" 'set w[0] -= [1, 2] by wider()'
wrong "must come before the rule sets that state" 'set w[0] -= [1, 2] by late()' 5
wrong "requires the name of a state" 'set w[0] -= seen([1, 2]) by sgd()'
