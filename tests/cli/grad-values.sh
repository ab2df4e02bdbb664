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

# The paddings of MatrixDiagV3 and MatrixDiagPartV3, and the moments that a batch normalisation is given: by the weights of
# the elements that hold the padding, and by y = 2 (x - m) / sqrt(v) + 5 with x = 4, m = 1, v = 4.
cat >g.dfg <<'PROGRAM'
input p: f64
input q: f64
input m: f32[1]
input v: f32[1]
normal, _, _, _, _ = FusedBatchNorm([[[[4.0]]]], [2.0], [5.0], m, v, epsilon = 0.0, is_training = false)
y = sum(MatrixDiagV3([1.0, 2], 1, -1, -1, p) * [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]) + sum(MatrixDiagPartV3([[1.0, 2], [3, 4]], [0, 1], q) * [[1.0, 10], [100, 1000]])
output dp = grad(y, p)
output dq = grad(y, q)
dm, dv = grad(sum(normal), [m, v])
output dm
output dv
PROGRAM
status 0 "$DFG" run g.dfg --feed p=2 --feed q=3 --feed m=f32[1]:1 --feed v=f32[1]:4
cat >wanted <<'RESULT'
dp: f64[] 37
dq: f64[] 1
dm: f32[1]
-1
dv: f32[1]
-0.375
RESULT
diff wanted out

# Losses where a form of theirs has a tie or a power of 0: the second derivative of log(cosh(x)) at 0 is 1, and the focal
# losses of samples that are certainly right have the derivative 0, also with gamma below 1.
cat >g.dfg <<'PROGRAM'
input x: f32[3]
input y: f32[3]
input z: f32[1,3]
output cosh = grad(sum(grad(sum(log_cosh(x, 0.0)), x)), x)
output half = grad(sum(binary_focal(y, f32([1.0, 0.0, 0.0]), gamma = 0.5)), y)
output none = grad(sum(binary_focal(y, f32([1.0, 0.0, 0.0]), gamma = 0.0)), y)
output classes = grad(sum(focal(z, [0], gamma = 0.5)), z)
PROGRAM
status 0 "$DFG" run g.dfg --feed x=f32[3]:0,400,-400 --feed y=f32[3]:300,-300,0 --feed z=f32[1,3]:300,0,0
cat >wanted <<'RESULT'
cosh: f32[3]
1 0 0
half: f32[3]
0 0 0.35706425
none: f32[3]
0 0 0.375
classes: f32[1,3]
0 0 0
RESULT
sed 's/-0 /0 /g; s/-0$/0/' out | diff wanted -

# An op without a derivative with respect to an input is refused by name, unless only its other inputs are differentiated.
printf 'input x: f64\noutput d = grad(Zeta(x, 2.0), x)\n' >g.dfg
status 65 "$DFG" build g.dfg
has err "node 'd/Zeta' (Zeta): has no gradient with respect to its input 'x'"
printf 'input x: f64\noutput d = grad(Polygamma(x, 2.0), x)\n' >g.dfg
status 65 "$DFG" build g.dfg
has err "node 'd/Polygamma' (Polygamma): has no gradient with respect to its input 'a'"
printf 'input x: f64\noutput d = grad(Zeta(2.0, x) + Polygamma(1.0, x), x)\n' >g.dfg
status 0 "$DFG" run g.dfg --feed x=1
has out 'd: f64[] -4.80822761'

# The second derivative of Cumprod where elements are 0: values are sums over pairs of elements of w times the product of the
# other elements, by hand.
second() { # PROGRAM X WANTED
	echo "$1" >cumprod.dfg
	"$DFG" build cumprod.dfg -o cumprod.pb
	"$DFG" grad cumprod.pb --of z --wrt x -o once.pb
	"$DFG" grad once.pb --of grad/x --wrt x --prefix twice -o twice.pb
	status 0 "$DFG" run twice.pb --feed "x=f64[4]:$2" --fetch twice/x
	[ "$(tail -1 out)" = "$3" ] || { echo "second derivative at $2: $(tail -1 out), not $3"; exit 1; }
}
forward='input x: f64[4]
output z = sum(Cumprod(x, 0) * [1.0, 2.0, 3.0, 5.0])'
second "$forward" 0,2,3,4 '147 71 46 30'
second "$forward" 2,0,0,3 '2 38 36 0'
second "$forward" 0,0,2,3 '38 38 0 0'
second "$forward" 0,2,0,3 '38 2 36 0'
second "$forward" 0,0,0,2 '2 2 0 0'
second 'input x: f64[4]
output z = sum(Cumprod(x, 0, exclusive = true, reverse = true) * [1.0, 2.0, 3.0, 5.0])' 2,0,0,3 '0 3 5 2'

# Third and fourth derivatives of the product of four elements, each of the sum of those before: 2 times the sum of the other
# elements, and 6. The length of the axis is known or not, and Prod uses the same formula.
for y in 'Cumprod(x, 0)[3]' 'Cumprod(x, -1, reverse = true)[0]' 'product(x)'; do
	for type in 'f64[4]' 'f64[?]'; do
		printf 'input x: %s\noutput y = %s\n' "$type" "$y" >cumprod.dfg
		"$DFG" grad cumprod.dfg --of y --wrt x -o once.pb
		"$DFG" grad once.pb --of grad/x --wrt x --prefix twice -o twice.pb
		"$DFG" grad twice.pb --of twice/x --wrt x --prefix third -o third.pb
		"$DFG" grad third.pb --of third/x --wrt x --prefix fourth -o fourth.pb
		for x in 0,0,0,5=10,10,10,0 0,2,0,0=4,0,4,4 1,2,3,4=18,16,14,12; do
			status 0 "$DFG" run fourth.pb --feed "x=f64[4]:${x%=*}" --fetch third/x,fourth/x
			[ "$(sed -n 2p out | tr ' ' ,) $(tail -1 out)" = "${x#*=} 6 6 6 6" ] || { echo "$y at $x:"; cat out; exit 1; }
		done
	done
done
for x in f64[0]: f64[1]:3; do
	status 0 "$DFG" run once.pb --feed "x=$x" --fetch grad/x
done
[ "$(tail -1 out)" = 1 ]

# Powers at 0 and elsewhere: n! / (n - k)! x^(n - k), in every order, with constant and other exponents.
cat >g.dfg <<'PROGRAM'
input x: f64[3]
input n: f64
fn chain(y, x) {
	a = grad(sum(y), x)
	b = grad(sum(a), x)
	c = grad(sum(b), x)
	stack([a, b, c, grad(sum(c), x)])
}
output zero = chain(x ** 0, x)
output one = chain(x ** 1, x)
output two = chain(x ** 2, x)
output three = chain(x ** 3, x)
output other = chain(x ** n, x)
output many = chain(x ** [1, 2, 3], x)
PROGRAM
status 0 "$DFG" run g.dfg --feed x=f64[3]:0,2,-1 --feed n=2
cat >wanted <<'RESULT'
zero: f64[4,3]
0 0 0
0 0 0
0 0 0
0 0 0
one: f64[4,3]
1 1 1
0 0 0
0 0 0
0 0 0
two: f64[4,3]
0 4 -2
2 2 2
0 0 0
0 0 0
three: f64[4,3]
0 12 3
0 12 -6
6 6 6
0 0 0
other: f64[4,3]
0 4 -2
2 2 2
0 0 0
0 0 0
many: f64[4,3]
1 4 3
0 2 -6
0 0 6
0 0 0
RESULT
sed 's/^-0 /0 /; s/ -0\b/ 0/g' out | diff wanted -
