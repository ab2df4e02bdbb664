# A plan whose loop is on several devices is a graph again when it runs: each of its devices has a part of the loop.
cat >loop.dfg <<'.'
input n: i32
input x: f32[k]
y, _ = loop (y = x, i = 0) while i < n {
	a = sin(y)
	b = cos(y * 2.0)
	next a + b, i + 1
}
output last = y
.
feeds='--feed n=20 --feed x=f32[3]:1,2,3'
# shellcheck disable=SC2086
"$DFG" run loop.dfg $feeds >whole
"$DFG" partition loop.dfg --hosts local:3 --place '*=w0' --place y/a=w1 --place 'y/b*=w2' -o plan/
# shellcheck disable=SC2086
"$DFG" run plan/ --hosts local:3 $feeds >parts
cmp whole parts
