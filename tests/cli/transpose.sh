# Transposes of matrices of several squares of 16 with an edge, for each size of element, against a formula.
. "$ROOT/tests/cli/kit"

cat >t.dfg <<'.'
rows = reshape(range(37), [37, 1])
columns = reshape(range(50), [1, 50])
x = rows * 50 + columns
want = reshape(range(37), [1, 37]) * 50 + reshape(range(50), [50, 1])
output u8 = sum(Cast(NotEqual(Transpose(Cast(x, DstT = u8), [1, 0]), Cast(want, DstT = u8)), DstT = i32))
output i16 = sum(Cast(NotEqual(Transpose(Cast(x, DstT = i16), [1, 0]), Cast(want, DstT = i16)), DstT = i32))
output f32 = sum(Cast(NotEqual(Transpose(Cast(x, DstT = f32), [1, 0]), Cast(want, DstT = f32)), DstT = i32))
output f64 = sum(Cast(NotEqual(Transpose(Cast(x, DstT = f64), [1, 0]), Cast(want, DstT = f64)), DstT = i32))
output c128 = sum(Cast(NotEqual(Transpose(Cast(x, DstT = c128), [1, 0]), Cast(want, DstT = c128)), DstT = i32))
output planes = sum(Cast(NotEqual(Transpose(stack([x, x + 1], 0), [0, 2, 1]), stack([want, want + 1], 0)), DstT = i32))
output wrong = sum(Cast(NotEqual(Transpose(x, [1, 0]), want + 1), DstT = i32))
.
"$DFG" build t.dfg -o t.pb
for threads in 1 2; do
	"$DFG" run t.pb --threads $threads --no-opt >out
	[ "$(grep -c 'i32\[\] 0$' out)" = 6 ] || { cat out; exit 1; }
	has out 'wrong: i32[] 1850'
done
