# Finding 9: ops that had no gradient by some of their numbers, against the closed form: OneHot by both values, PadV2 by
# its border, Range by start and step, LinSpace by its ends.
. "$ROOT/tests/cli/kit"
cat >g.dfg <<'PROGRAM'
input on: f64
input off: f64
input v: f64
input a: f64
input b: f64
y = sum(OneHot([0, 2, 5], 3, on, off) * [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]) + sum(PadV2([1.0, 2], [[1, 2]], v) * [1.0, 2, 3, 4, 5]) + sum(Range(a, a + 2.5, b) * [1.0, 10, 100]) + sum(LinSpace(a, b, 3) * [1.0, 10, 100])
don, doff, dv, da, db = grad(y, [on, off, v, a, b])
output don
output doff
output dv
output da
output db
PROGRAM
status 0 "$DFG" run g.dfg --feed on=2 --feed off=3 --feed v=1 --feed a=0 --feed b=1
cat >wanted <<'RESULT'
don: f64[] 7
doff: f64[] 38
dv: f64[] 10
da: f64[] 117
db: f64[] 315
RESULT
diff wanted out
