# Rows of variables in place, and `parallel for`: values of a serial reference, marks, errors with their place.
. "$ROOT/tests/cli/kit"

# Matrix factorisation: a pass over ratings in their order, against the same in awk.
cat >mf.dfg <<'P'
input user: i32[n]
input item: i32[n]
input rating: f64[n]
state w: f64[5, 3] = 0.5
state h: f64[4, 3] = 0.25
state squares: f64[] = 0
target sgd {
    set squares = 0
    parallel for i in 0..n {
        a, b = w[user[i]], h[item[i]]
        e = rating[i] - sum(a * b)
        set w[user[i]] += 0.125 * e * b
        set h[item[i]] += 0.125 * e * a
        set squares += e * e
    }
}
output rmse = sqrt(squares / f64(n))
output first = w[[0, 2], [0, 0]]
P
cat >ratings <<'R'
0 1 1
2 0 3
0 0 2
4 3 5
2 1 4
0 1 1
R
column() { awk -v c=$1 '{ printf "%s%s", (NR > 1 ? "," : ""), $c }' ratings; }
"$DFG" build mf.dfg -o mf.pb
"$DFG" check mf.pb
"$DFG" show mf.pb --text >text
has text '"sgd/LoopCond" = LoopCond("sgd/Less", _dfg_parallel = "unordered")'
has text ResourceGatherNd
for options in "" "--no-opt" "--no-compiled-loops --threads 1" "--schedule random:3"; do
	"$DFG" run mf.pb --feed user=i32[6]:$(column 1) --feed item=i32[6]:$(column 2) --feed rating=f64[6]:$(column 3) \
		--target sgd --steps 3 --fetch rmse --fetch first $options >got
	awk '
		{ u[NR] = $1; v[NR] = $2; r[NR] = $3 }
		END {
			for (k = 0; k < 3; k++) {
				for (x = 0; x < 5; x++) w[x, k] = 0.5
				for (x = 0; x < 4; x++) h[x, k] = 0.25
			}
			for (pass = 0; pass < 2; pass++) {
				for (s = 0 * (i = 1); i <= NR; i++) {
					for (d = k = 0; k < 3; k++) { a[k] = w[u[i], k]; b[k] = h[v[i], k]; d += a[k] * b[k] }
					e = r[i] - d
					for (k = 0; k < 3; k++) { w[u[i], k] += 0.125 * e * b[k]; h[v[i], k] += 0.125 * e * a[k] }
					s += e * e
				}
			}
			printf "%.9f %.9f %.9f\n", sqrt(s / NR), w[0, 0], w[2, 0]
		}' ratings >want
	sed -n 's/^rmse: f64\[\] //p' got | tail -1 | awk '{ printf "%.9f ", $1 }' >line
	tail -1 got | awk '{ printf "%.9f %.9f\n", $1, $2 }' >>line
	cmp line want
done

# Local alignment over a product of ranges: each element needs three earlier ones.
cat >align.dfg <<'P'
input s: i32[n]
input t: i32[m]
state d: i32[8, 8] = 0
target align {
    parallel for (i, j) in (1..n + 1, 1..m + 1) with (ordered) {
        same = if s[i - 1] == t[j - 1] { 2 } else { -1 }
        set d[i, j] = maximum(d[i - 1, j - 1] + same, 0)
        set d[i, j] max= maximum(d[i - 1, j], d[i, j - 1]) - 1
    }
}
output best = max(d)
P
"$DFG" build align.dfg -o align.pb
"$DFG" fmt align.dfg | cmp - align.dfg
"$DFG" run align.pb --feed s=i32[3]:0,5,1 --feed t=i32[4]:7,0,5,1 --target align --steps 2 --fetch best >got
tail -1 got >out
has out "best: i32[] 6"
"$DFG" run align.pb --feed s=i32[0]: --feed t=i32[4]:7,0,5,1 --target align --steps 2 --fetch best | tail -1 >out
has out "best: i32[] 0"
status 65 "$DFG" run align.pb --feed s=i32[3]:0,5,1 --feed t=i32[8]:7,0,5,1,1,1,1,1 --target align
has err "indices[1] is 8, outside [0,8)"
has err "iteration 7 of loop"

# The gradient by a variable whose rows are read; stale reads are marked on the delta.
cat >rows.dfg <<'P'
input ids: i32[n]
param w: f32[3, 2] = ones
output loss = sum(w[ids] ** 3) + sum(w[[2], [1]]) + sum(w) * 10
output g = grad(loss, w)
target up {
    parallel for i in 0..n with (buffer = w, staleness = 2, clock = 16, batch = 4) { set w[ids[i]] += 1 }
}
P
"$DFG" build rows.dfg -o rows.pb
"$DFG" run rows.pb --feed ids=i32[3]:0,0,2 --fetch g >out
printf 'g: f32[3,2]\n16 16\n10 10\n13 14\n' | cmp - out
"$DFG" show rows.pb --text >text
has text "_dfg_buffer = 2"
has text '_dfg_batch = 4, _dfg_clock = 16, _dfg_parallel = "unordered"'
"$DFG" opt rows.pb -o opt.pb --target up -f loss
"$DFG" show opt.pb --text >text
has text "_dfg_buffer = 2"
has text '_dfg_parallel = "unordered"'

wrong() { # MESSAGE STATEMENT: the build fails with the message and names line 4
	printf 'state c: f32[] = 0\nstate w: f32[3, 2] = 0\ntarget t {\n    %s\n}\n' "$2" >wrong.dfg
	status 65 "$DFG" build wrong.dfg -o wrong.pb
	has err "$1"
	has err "wrong.dfg:4:"
}
wrong "is not allowed in \`parallel for\`" 'parallel for i in 0..3 { next 1 }'
wrong "takes only updates that commute" 'parallel for i in 0..3 with (buffer = c) { set c = 2.0 }'
wrong "did you mean 'staleness'?" 'parallel for i in 0..3 with (stalenes = 2) { set c += 2.0 }'
wrong "exclude each other" 'parallel for i in 0..3 with (ordered, buffer = c) { set c += 2.0 }'
wrong "more iterations than fit in i32" 'parallel for (i, j) in (0..100000, 0..100000) { set c += 2.0 }'
wrong "cannot contain another one" 'parallel for i in 0..3 { parallel for j in 0..2 { set c += 2.0 } }'
wrong "rows are numbered from 0" 'parallel for i in 0..3 { set w[-1] += 2.0 }'
wrong "is a scalar and has no rows" 'parallel for i in 0..3 { set c[i] += 2.0 }'
wrong "cannot select rows" 'parallel for i in 0..3 { set w[f32(i)] += 2.0 }'
wrong "requires \`buffer\`" 'parallel for i in 0..3 with (staleness = 3) { set w[i] += 2.0 }'
wrong "must be from 1" 'parallel for i in 0..3 with (clock = 0) { set w[i] += 2.0 }'
wrong "must be from 0" 'parallel for i in 0..3 with (buffer = w, staleness = -1) { set w[i] += 2.0 }'
wrong "one range for each of its names" 'parallel for (i, j) in (0..3) { set w[i] += 2.0 }'
wrong "this loop never ends" 'parallel for i in 0.. { set w[i] += 2.0 }'
wrong "expected \`=\`, \`+=\`" 'set w[0] *= 2.0'
wrong "must all be scalars" 'set w[[0, 1], 0] += 2.0'
