# Parallel loops in blocks: values of a serial execution in block order, and equal bits in slices and one at a time.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/parallel-kit"

# Matrix factorisation over skewed ratings. A pass in awk: blocks by running counts of users and items, unit (s, t) at clock
# t - s, within a unit the order of the ratings.
"$DFG" build mf.dfg -o mf.pb
run() { "$DFG" run mf.pb $(feeds) --target sgd "$@"; }
in_blocks() { # B: the variables after one pass
	awk -v B=$1 '
		function blocks(x, block, n, v, k, count, running) {
			for (n = 1; n <= NR; n++) count[x[n]]++
			running = k = 0
			for (v = 0; v < 9; v++) {
				block[v] = k
				running += count[v]
				while (k < B - 1 && running * B >= (k + 1) * NR) k++
			}
		}
		{ u[NR] = $1; v[NR] = $2; r[NR] = $3 }
		END {
			for (k = 0; k < 3; k++) {
				for (x = 0; x < 9; x++) w[x, k] = 0.5
				for (x = 0; x < 7; x++) h[x, k] = 0.25
			}
			blocks(u, space); blocks(v, time)
			for (clock = 0; clock < B; clock++) for (b = 0; b < B; b++) for (i = 1; i <= NR; i++) {
				if (space[u[i]] != b || (time[v[i]] - b + B) % B != clock) continue
				for (d = k = 0; k < 3; k++) { a[k] = w[u[i], k]; c[k] = h[v[i], k]; d += a[k] * c[k] }
				e = r[i] - d
				for (k = 0; k < 3; k++) { w[u[i], k] += 0.125 * e * c[k]; h[v[i], k] += 0.125 * e * a[k] }
				s += e * e
			}
			for (x = 0; x < 9; x++) for (k = 0; k < 3; k++) printf "%.8f\n", w[x, k]
			for (x = 0; x < 7; x++) for (k = 0; k < 3; k++) printf "%.8f\n", h[x, k]
			printf "%.8f\n", s
		}' ratings
}
for blocks in 1 2 3 8; do
	in_blocks $blocks >want
	run --blocks $blocks --save slices.safetensors --verify-plan 2>err
	[ ! -s err ]
	"$DFG" run mf.pb $(feeds) --load slices.safetensors --fetch result | tr -s ' ' '\n' |
		awk '$1 ~ /^-?[0-9.e+-]+$/ { printf "%.8f\n", $1 }' >got
	cmp got want
	run --blocks $blocks --no-slices --save singly.safetensors
	cmp slices.safetensors singly.safetensors
	for options in --no-opt "--threads 1" --no-compiled-loops "--schedule random:5"; do
		run --blocks $blocks $options --save other.safetensors
		cmp slices.safetensors other.safetensors
	done
done
run --blocks 3 --save sums.safetensors
"$DFG" show sums.safetensors >names # partial results are not variables
never grep -q blocks names

# A plan for workers explains its loops, and is the same each time.
"$DFG" partition mf.pb --hosts local:2 --explain >out
has out "loop 'sgd', unordered; coordinates i, user[i], item[i]"
has out "  w[user[i]] read += (any, 0, any); h[item[i]] read += (any, any, 0); squares += accumulator"
has out "  2d: space user[i], w stays"
"$DFG" partition mf.pb --hosts local:2 --explain | cmp - out
"$DFG" partition mf.pb --hosts local:2 --explain --json |
	python3 -c "import json, sys; assert json.load(sys.stdin)['loops'][0]['loop'] == 'sgd'"

# Random loops: slices, single iterations and the plain run agree.
python3 "$ROOT/tests/programs/random_loops.py" --programs 12

# Passes repeat the fed step; the slices are found once, and anew where ids change.
run --blocks 3 --steps 3 --stats 2>err >out
grep -q "loop 'sgd': 3 blocks, the largest 1\.[0-9]* times the mean (space), 1\.[0-9]* (time); 90 iterations in [0-9]* slices, scheduled 1 time" err

# In order: blocks do not change anything; ratings that are not sorted are refused by number.
sed 's/0..n {/0..n with (ordered) {/' mf.dfg >ordered.dfg
"$DFG" build ordered.dfg -o mf.pb
status 65 run --blocks 2
has err "sorted by the space coordinate"
has err "loop 'sgd'"
LC_ALL=C sort -n -k1,1 -k2,2 ratings >sorted
mv sorted ratings
run --save serial.safetensors
for blocks in 1 3 8; do
	run --blocks $blocks --save blocks.safetensors --verify-plan
	"$DFG" diff serial.safetensors blocks.safetensors --rtol 1e-14 >/dev/null # the sum of squares is added by blocks
done

# A wavefront: tiles, and all of an antidiagonal at once.
"$DFG" build align.dfg -o align.pb
align() { "$DFG" run align.pb --feed s=i32[7]:0,5,1,1,2,0,5 --feed t=i32[6]:7,0,5,1,2,5 --target align "$@"; }
align --save serial.safetensors
for blocks in 1 2 3 40; do
	align --blocks $blocks --verify-plan --save blocks.safetensors 2>err
	[ ! -s err ]
	cmp serial.safetensors blocks.safetensors
done
"$DFG" run align.pb --feed s=i32[0]: --feed t=i32[1]:7 --target align --blocks 2
"$DFG" run align.pb --feed s=i32[1]:3 --feed t=i32[1]:3 --target align --blocks 2

# Every rule for slices, accumulators of each kind, and a loop in the body, which runs one iteration at a time.
cat >rules.dfg <<'P'
input k: i32[n]
input x: f32[n, 3]
input m: f32[n, 2, 3]
const table = [3.0, 1.0, 4.0, 1.0, 5.0]
state w: f32[7, 3] = 0.5
state count: i64[7] = 0
state best: f32[4] = 0
state low: f32[1] = 100.0
state total: f32[2, 3] = 0
state minus: f32[] = 0
target go {
    ys = parallel for i in 0..n {
        a, p, q = w[k[i]], x[i], m[i]
        s = softmax(a * p)
        u = squeeze(q @ expand_dims(a, 1), [1])
        z = concat([u, p[1:], [sum(p)]], 0)
        v = transpose(reshape(q, [3, 2]))
        o = if k[i] > 3 { 1.0 } else if p[0] > 0 { sum(p) } else { 2.0 }
        f = fill([3], o) + broadcast(p[0], [3]) + ones_like(p) * f32(shape(q)[1])
        set w[k[i]] += s * 0.1 + mean(v, 0)[0] * f + take(table, k[i] % 5) + take(z, argmin(p))
        set w[k[i]] -= one_hot(argmax(s), 3) + cumsum(p) * max(q, 1)[1]
        set count[k[i]] += 1
        set best[argmax(z[:4])] max= max(z)
        set low[0] min= min(q)
        set total += q * a
        set total -= q
        set minus -= product(p)
        yield stack([z[-1], q[1, 2], z[k[i] - 5], where(o > 1, a[1], 0.0)])
    }
    set w[0] += sum(ys)
}
P
"$DFG" build rules.dfg -o rules.pb
rules() { "$DFG" run "$@" --feed k=i32[12]:0,6,3,3,1,5,2,6,0,3,4,4 --feed x=normal:f32[12,3]:seed=1 --feed m=normal:f32[12,2,3]:seed=2 --target go; }
rules rules.pb --save serial.safetensors
for blocks in 1 4; do
	rules rules.pb --blocks $blocks --save slices.safetensors 2>err
	[ ! -s err ] # all have a rule
	rules rules.pb --blocks $blocks --no-slices --save singly.safetensors
	cmp slices.safetensors singly.safetensors
	"$DFG" diff serial.safetensors slices.safetensors --rtol 1e-5 >/dev/null
done
sed 's/yield stack/c = loop (c = 0.0) for j in 0..k[i] { next c + f32(j) }\n        yield c + stack/' rules.dfg >inner.dfg
"$DFG" build inner.dfg -o inner.pb
rules inner.pb --save serial.safetensors
rules inner.pb --blocks 3 --save blocks.safetensors 2>err
has err "loop 'go/ys' runs one iteration at a time: node 'go/ys/"
"$DFG" diff serial.safetensors blocks.safetensors --rtol 1e-5 >/dev/null

# Errors.
status 2 run --blocks 0
status 2 run --balance range
has err "requires --blocks"
status 2 run --blocks 2 --balance most
has err "histogram or range"
status 65 run --blocks 2 --hosts local:3
has err "3 workers, more than the 2 blocks"
status 65 run --blocks 2 --parallel nothing
printf 'input x: f32[]\noutput y = x\n' >none.dfg
status 65 "$DFG" run none.dfg --feed x=1 --blocks 2
has err "no parallel loop"
printf 'input n: i32[]\nstate w: f32[9] = 0\ntarget t { parallel for i in 0..n with (buffer = w) { set w[i] += 1 } }\n' >buffer.dfg
"$DFG" build buffer.dfg -o buffer.pb
status 65 "$DFG" run buffer.pb --feed n=3 --target t --blocks 2
has err "buffers variable 'w'"
printf 'input n: i32[]\nstate w: f32[9] = 1\ntarget t { parallel for i in 1..n { set w[i] += w[i - 1] } }\noutput y = w[8:]\n' >serial.dfg
"$DFG" build serial.dfg -o serial.pb 
"$DFG" run serial.pb --feed n=9 --target t --blocks 2 --save blocks.safetensors 2>err
"$DFG" run serial.pb --feed n=9 --target t --save serial.safetensors
cmp blocks.safetensors serial.safetensors
