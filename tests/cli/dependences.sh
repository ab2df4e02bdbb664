# The output of `dfg check --dependences`: coordinates, distance vectors and plans of loops; marks that do not hold.
. "$ROOT/tests/cli/kit"

# NAME, PLAN LINES: the loop of the file says this, without the file's name and the name of the loop.
plan() {
	"$DFG" check --dependences "$1.dfg" 2>err | sed "s/^[^:]*: loop '[^']*'//" >got
	printf '%s\n' "$2" | diff - got || { echo "$1: not this plan"; cat err; exit 1; }
}
loop() { # NAME DECLARATIONS SPACE [BODY...]: a program with one parallel loop
	{ printf '%s\n' "$2"; printf 'target t {\n    parallel for %s {\n' "$3"; } >"$1.dfg"
	name=$1
	shift 3
	{ printf '        %s\n' "$@"; printf '    }\n}\n'; } >>"$name.dfg"
}

# Matrix factorisation: two arrays by data. The larger one stays.
mf='input user: i32[n]
input item: i32[n]
input rating: f32[n]
state w: f32[480189, 64] = 0
state h: f32[17770, 64] = 0
state squares: f32[] = 0'
sgd='a, b = w[user[i]], h[item[i]]
e = rating[i] - sum(a * b)
set w[user[i]] += 0.01 * e * b
set h[item[i]] += 0.01 * e * a
set squares += e * e'
loop mf "$mf" 'i in 0..n' "$sgd"
plan mf ": coordinates i, user[i], item[i]
  w[user[i]] read += (any, 0, any); h[item[i]] read += (any, any, 0); squares += accumulator
  2d: space user[i], w stays (123 MB); time item[i], h rotates (4.5 MB), squares is summed"
loop mfo "$mf" 'i in 0..n with (ordered)' "$sgd"
plan mfo ", ordered: coordinates i, user[i], item[i]
  w[user[i]] read += (>0, 0, any); h[item[i]] read += (>0, any, 0); squares += accumulator
  2d: space user[i], w stays (123 MB); time item[i], h rotates (4.5 MB), squares is summed"

# Topic counts: totals are in the way until they are buffered.
lda='input doc: i32[n]
input word: i32[n]
state by_doc: i32[50, 8] = 0
state by_word: i32[90, 8] = 0
state total: i32[8] = 0
state topic: i32[1000] = 0'
gibbs='p = by_doc[doc[i]] + by_word[word[i]] + total
k = i32(argmax(p, axis = 0))
set by_doc[doc[i], topic[i]] += -1
set by_word[word[i], topic[i]] += -1
set total[topic[i]] += -1
set topic[i] = k
set by_doc[doc[i], k] += 1
set by_word[word[i], k] += 1
set total[k] += 1'
loop lda "$lda" 'i in 0..n with (buffer = total, staleness = 2)' "$gibbs"
plan lda ": coordinates i, doc[i], word[i]
  by_doc[doc[i]] read, by_doc[doc[i], any] += (any, 0, any); by_word[word[i]] read, by_word[word[i], any] += (any, any, 0); topic[i] read =; total[any] +=, total read buffered, staleness 2
  2d: space word[i], by_word stays (2880 bytes); time doc[i], by_doc rotates (1600 bytes), topic lies with its iterations, total is served"
loop ldas "$lda" 'i in 0..n' "$gibbs"
"$DFG" check --dependences ldas.dfg >got 2>err
has got "  serial: "
has got "\`buffer = total\` makes it 2d"
has err "ldas.dfg: warning: parallel loop 't' is serial: "
status 65 "$DFG" check --strict ldas.dfg
has err "parallel loop 't' is serial"

# Sparse logistic regression: many rows an iteration.
slr='input ids: i32[n, 36]
state weight: f32[1000] = 0'
body='x = sum(weight[ids[i]])
set weight[ids[i]] -= 0.1 * x'
loop slr "$slr" 'i in 0..n' "$body"
"$DFG" check --dependences slr.dfg 2>err >got
has got "weight[any] read += (any)"
has got "\`buffer = weight\` makes it independent"
loop slrb "$slr" 'i in 0..n with (buffer = weight)' "$body"
plan slrb ": coordinates i
  weight[any] read += buffered, staleness 0
  none: iterations are independent, weight is served"

# Alignment: a wavefront; with a backward diagonal its tiles are skewed.
square='state d: i32[8, 8] = 0'
loop align "$square" '(i, j) in (1..8, 1..8) with (ordered)' 'set d[i, j] = maximum(d[i - 1, j - 1], 0)' \
	'set d[i, j] max= maximum(d[i - 1, j], d[i, j - 1]) - 1'
plan align ", ordered: coordinates i, j
  d[i, j] read, d[i + 1, j + 1] = max=, d[i, j + 1] read, d[i + 1, j] read (1, 1), (1, 0), (0, 1)
  wavefront: tiles of i, j, d is served"
loop skew "$square" '(i, j) in (1..8, 0..7) with (ordered)' 'set d[i, j] = d[i - 1, j + 1] + d[i - 1, j]'
plan skew ", ordered: coordinates i, j
  d[i, j + 1] read, d[i, j] read, d[i + 1, j] = (1, -1), (1, 0)
  wavefront: tiles of i, i + j, d is served"
loop cube 'state c: i32[8, 8, 8] = 0' '(i, j, k) in (2..8, 0..4, 0..5) with (ordered)' \
	'set c[i, j, k] = c[i - 1, j + 2, k + 1] + c[i, j - 1, k + 1]'
plan cube ", ordered: coordinates i, j, k
  c[i + 1, j + 2, k + 1] read, c[i + 2, j - 1, k + 1] read, c[i + 2, j, k] = (1, -2, -1), (0, 1, -1)
  wavefront: tiles of i, 2 i + j, 3 i + j + k, c is served"

# Distances of one counter; constants that differ; transposed accesses; a row that stays; a histogram.
loop next 'state a: f32[9] = 0' 'i in 1..9 with (ordered)' 'set a[i] = a[i - 1] + 1'
plan next ", ordered: coordinates i
  a[i - 1] read, a[i] = (1)
  serial: 't/a/ResourceGather' and 't/a/ResourceScatterUpdate' access the same rows of 'a' in iterations that are (1) apart: no coordinate or pair of coordinates separates all dependences, and a wavefront requires two ranges"
loop apart 'state a: f32[9, 2] = 0' 'i in 0..9' 'set a[i, 0] = sum(a[i, 1])' 'set a[i, 1] = 2.0'
plan apart ": coordinates i
  a[i, 1] read =, a[i, 0] =
  none: iterations are independent, a lies with its iterations"
loop turned "$square" '(i, j) in (0..8, 0..8)' 'set d[i, j] = d[j, i]'
"$DFG" check --dependences turned.dfg 2>err >got
has got "d[j, i] read, d[i, j] = (any, any)"
loop rows "$square" '(i, j) in (0..8, 0..7)' 'set d[i, j] = d[i, j + 1] + d[i, 2]'
plan rows ": coordinates i, j
  d[i, j + 1] read, d[i, 2] read, d[i, j] = (0, 1), (0, any)
  1d: space i, d stays (256 bytes)"
loop bins 'input leaf: i32[n]
input bin: i32[n, m]
input g: f32[n, m]
state hist: f32[4, 10, 16] = 0' '(i, j) in (0..n, 0..m)' 'set hist[leaf[i], j, bin[i, j]] += g[i, j]'
plan bins ": coordinates i, j, leaf[i], bin[i, j]
  hist[leaf[i], j, bin[i, j]] += accumulator
  none: iterations are independent, hist is summed"

# An ordered loop is not cut where a later iteration would be in a lower block; without an order it is.
volume='state c: i32[8, 8, 8] = 0'
back='set c[i, j, k] = c[i - 1, j + 1, k] + c[i - 1, j, k - 1]'
loop back "$volume" '(i, j, k) in (1..8, 0..7, 1..8) with (ordered)' "$back"
plan back ", ordered: coordinates i, j, k
  c[i, j + 1, k + 1] read, c[i, j, k] read, c[i + 1, j, k + 1] = (1, -1, 0), (1, 0, 1)
  wavefront: tiles of i, i + j, k, c is served"
loop forth "$volume" '(i, j, k) in (1..8, 0..7, 1..8)' "$back"
"$DFG" check --dependences forth.dfg >got
has got "  2d: space j; time k, c is served"

# Iterations with one counter have one element at it; two constants added to the same element are apart.
loop same 'input p: i32[n]
state a: i32[8, 9] = 0' '(i, j) in (0..n, 0..4)' 'set a[p[i], j] = a[p[i] + 1, j] + i'
plan same ": coordinates i, j, p[i]
  a[p[i] + 1, j] read, a[p[i], j] = (any, 0, 1), (any, 0, 0)
  1d: space j, a stays (288 bytes)"
loop pair 'input p: i32[n]
state a: i32[8, 9] = 0' '(i, j) in (0..n, 0..4)' 'set a[i, p[i]] = a[i, p[i] + 1]'
plan pair ": coordinates i, j, p[i]
  a[i, p[i] + 1] read, a[i, p[i]] = (0, any, 0)
  1d: space i, a stays (288 bytes)"

# The fastest of three ranges alone; a row for all; a value of the loop as a subscript; updates that commute or do not.
loop fast 'state a: i32[9] = 0' '(i, j, k) in (0..2, 0..3, 0..4)' 'set a[k] = a[k] + 1'
"$DFG" check --dependences fast.dfg >got
has got "a[j] read = (any, 0)"
has got "  1d: space j, a stays"
loop one 'state a: i32[9] = 0' 'i in 0..9' 'set a[3] += 1' 'set a[i] += 1'
plan one ": coordinates i
  a[3] +=, a[i] += accumulator
  none: iterations are independent, a is summed"
loop two 'state a: i32[9] = 0' 'i in 0..9' 'set a[i] += 1' 'set a[3] max= 1'
"$DFG" check --dependences two.dfg >got 2>err
has got "a[i] +=, a[3] max= (any)"
never grep -q "buffer = a" got
loop by 'state a: i32[9] = 0
state b: i32[9] = 0' 'i in 0..9' 'set b[a[i]] = i'
plan by ": coordinates i, a[i]
  a[i] read; b[a[i]] = (any, 0)
  1d: space a[i], b stays (36 bytes), a lies with its iterations"
loop own 'state a: i32[9] = 0' 'i in 0..9' 'set a[a[i]] = i'
"$DFG" check --dependences own.dfg >got 2>err
has got "a[i] read, a[any] = (any)"
loop twice 'state a: i32[90] = 0' 'i in 0..9' 'set a[2 * i] = i'
"$DFG" check --dependences twice.dfg >got 2>err
has got "a[any] = (any)"
loop from 'input low: i32[]
state a: i32[9] = 0' '(i, j) in (low..8, 0..3)' 'set a[i] = a[i] + j'
"$DFG" check --dependences from.dfg >got
has got "a[i + low] read = (0, any)"
cp got first
"$DFG" check --dependences from.dfg | cmp first -

# Numbers of 8 bits wrap around: those of iterations are then no counter, and distances of their sums are not those of rows.
loop narrow 'state a: i32[900] = 0' 'i in 0..900' 'set a[i32(u8(i))] = i'
"$DFG" check --dependences narrow.dfg >got 2>err
has got "a[any] = (any)"
loop digits 'input x: f32[n]
state a: i32[90, 90] = 0' 'i in 0..90' 'set a[i // n, i % i32(u8(n))] = i'
"$DFG" check --dependences digits.dfg >got
has got "a[i, any] = (0, any)"
loop wraps 'input p: u8[n]
input one: u8[]
state a: i32[900] = 0' 'i in 0..n' 'set a[i32(p[i] + one) + 1] = a[i32(p[i] + one)]'
"$DFG" check --dependences wraps.dfg >got 2>err
has got "a[any] read = (any)"

# The same plan of a loop that only --parallel marks; JSON.
cat >foreign.dfg <<'P'
input user: i32[n]
input item: i32[n]
w = VarHandleOp(dtype = f32, shape = [480189, 64], shared_name = "w")
h = VarHandleOp(dtype = f32, shape = [17770, 64], shared_name = "h")
total = loop (k = 0) for i in 0..n {
    a = ResourceGather(w, user[i], dtype = f32)
    b = ResourceGather(h, item[i], dtype = f32)
    after a, b {
        ResourceScatterAdd(w, user[i], b)
        ResourceScatterAdd(h, item[i], a)
    }
    next k
}
output done = total
P
"$DFG" build foreign.dfg -o foreign.pb
"$DFG" check --dependences foreign.pb >got
[ ! -s got ]
"$DFG" check --dependences --parallel total foreign.pb | sed 1d >got
"$DFG" check --dependences mf.dfg | sed '1d; s/; squares += accumulator//; s/, squares is summed//' | diff - got
"$DFG" check --dependences --parallel total=ordered foreign.pb >got
has got "foreign.pb: loop 'total', ordered: coordinates i, user[i], item[i]"
status 65 "$DFG" check --parallel nothing foreign.pb
has err "the graph has no loop 'nothing'"
# The same again of TensorFlow's loops (tests/graphs/record.py): a While of functions, and one of the five primitives.
"$DFG" check --dependences mf.dfg | sed 1d >plan.mf
"$DFG" check --dependences --parallel sgd "$ROOT/tests/graphs/factorise.pb" | sed 1d | cmp plan.mf -
"$DFG" check --dependences --parallel sgd/while_context "$ROOT/tests/graphs/factorise_frames.pb" | sed 1d | cmp plan.mf -
"$DFG" check --dependences --json align.dfg >got
has got '"family":"wavefront","skew":[[1,0],[0,1]]'
has got '"vectors":[[1,1],[1,0],[0,1]]'
"$DFG" check --json align.dfg >got
never grep -q loops got

# Marks that claim what the body does not keep.
wrong() { # WORDS SED: the text form of the graph with the change is refused, with these words
	"$DFG" convert "$graph" -o was.pbtxt
	sed "$2" was.pbtxt >is.pbtxt
	never cmp -s was.pbtxt is.pbtxt
	status 65 "$DFG" check is.pbtxt
	has err "$1"
}
cat >sum.dfg <<'P'
input x: f32[n]
total = loop (s = 0.0) for i in 0..n { next s + x[i] }
output y = total
P
"$DFG" build sum.dfg -o sum.pb
status 65 "$DFG" check --parallel total sum.pb
has err "sum.pb: parallel loop 'total': node 'total/s/Merge' carries a value from one iteration to the next"
cat >late.dfg <<'P'
input x: f32[n]
w = VarHandleOp(dtype = f32, shape = [4], shared_name = "w")
total = loop (k = 0) for i in 0.. while ReadVariableOp(w, dtype = f32)[0] > 0 { next k }
output y = total
P
"$DFG" build late.dfg -o late.pb
status 65 "$DFG" check --parallel total late.pb
has err "must compare its counter with a number"
foreign() { # NAME: the text form of a program, of which --parallel marks loops
	cat >"$1.dfg"
	"$DFG" build "$1.dfg" -o "$1.pb"
}
# Reads of yields of earlier iterations; handles that an outer loop changes, or that ops other than variables make.
foreign yields <<'P'
ta = TensorArrayV3(9, dtype = i32)
total = loop (f = TensorArrayWriteV3(ta[0], 0, 3, ta[1])) for i in 0..8 {
    next TensorArrayWriteV3(ta[0], i, TensorArrayReadV3(ta[0], maximum(i - 1, 0), f, dtype = i32), f)
}
output done = total
P
status 65 "$DFG" check --parallel total yields.pb
has err "(TensorArrayReadV3): it reads values of other iterations from an array"
foreign swap <<'P'
w = VarHandleOp(dtype = i32, shape = [9], shared_name = "w")
h = VarHandleOp(dtype = i32, shape = [9], shared_name = "h")
total = loop (p = w, q = h, z = 0) for k in 0..3 {
    inner = loop (y = 0) for i in 0..8 {
        a = ResourceGather(q, i + 1, dtype = i32)
        after a { ResourceScatterUpdate(p, i, a) }
        next y
    }
    next q, q, inner
}
output done = total[2]
P
status 65 "$DFG" check --parallel total/inner swap.pb
has err "node 'total/p/Merge' is a different variable in each iteration"
for maker in 'StopGradient(w)' 'Pack([w, w])[0]'; do
	foreign hidden <<P
w = VarHandleOp(dtype = i32, shape = [9], shared_name = "w")
h = $maker
total = loop (k = 0) for i in 0..8 {
    a = ResourceGather(h, i + 1, dtype = i32)
    after a { ResourceScatterUpdate(w, i, a) }
    next k
}
output done = total
P
	status 65 "$DFG" check --parallel total hidden.pb
	has err "(ResourceGather): the handle may refer to a variable that the loop changes"
done
# A session knows a variable by its container and name, joined by a slash.
foreign slash <<'P'
w = VarHandleOp(dtype = i32, shape = [9], shared_name = "c/w")
h = VarHandleOp(dtype = i32, shape = [9], shared_name = "w", container = "c")
total = loop (k = 0) for i in 0..8 {
    a = ResourceGather(h, i + 1, dtype = i32)
    after a { ResourceScatterUpdate(w, i, a) }
    next k
}
output done = total
P
"$DFG" check --dependences --parallel total slash.pb >got 2>err
has got "c/w[i + 1] read, c/w[i] = (1)"
# An Identity reads the value of a reference.
foreign identity <<'P'
w = VariableV2(dtype = i32, shape = [9], shared_name = "w")
total = loop (k = 0) for i in 0..8 {
    b = Identity(w)[i + 1]
    after b { ScatterUpdate(w, i, b) }
    next k
}
output done = total
P
"$DFG" check --dependences --parallel total identity.pb >got 2>err
has got "w read, w[i] = (any)"
"$DFG" build slrb.dfg -o slrb.pb
graph=slrb.pb
wrong "attribute '_dfg_parallel' must be 'ordered' or 'unordered'" 's/"unordered"/"backward"/'
wrong "which an ordered loop does not allow" 's/"unordered"/"ordered"/'
wrong "attribute '_dfg_buffer' is allowed only on the Identity of an update" 's/_dfg_parallel/_dfg_buffer/'
wrong "attribute '_dfg_parallel' is allowed only on the LoopCond" 's/_dfg_buffer/_dfg_parallel/'
wrong "so it takes only updates that commute" 's/"ResourceScatterSub"/"ResourceScatterUpdate"/'
loop mixed 'state a: i32[90] = 0' 'i in 0..9 with (buffer = a)' 'set a[i] += 1' 'set a[3] max= 5'
status 65 "$DFG" check mixed.dfg
has err "so it takes only updates that commute, all with the same operation"
