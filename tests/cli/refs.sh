# Handles and refs of variables in loops and branches: values from closed forms, in each kind of schedule and cut over workers.
. "$ROOT/tests/cli/kit"
says() { # FILE WORDS OPTIONS...: what run prints, on one line
	file=$1 words=$2
	shift 2
	for how in '' --no-opt '--schedule random:1' '--schedule random:2' '--hosts local:2 --place random:1' '--hosts local:2 --place random:4'; do
		# shellcheck disable=SC2086
		status 0 "$DFG" run "$file" -q "$@" $how
		got=$(paste -sd' ' out)
		[ "$got" = "$words" ] || { echo "$file $how $*: '$got', not '$words'"; exit 1; }
	done
}

# The gradient by a variable whose handle goes around a loop that gathers rows and scatters into them. Row 0 is h0 + k in
# iteration k: y = sum over k of x_k ((h0 + k)^2 + h_k^2), and so dy/dh0 = 2 h0 x0 + 2 (h0 x0 + (h0 + 1) x1 + (h0 + 2) x2).
cat >rows.dfg <<'END'
input x: f32[3]
h = VarHandleOp(dtype = f32, shape = [3])
AssignVariableOp(h, [1.0, 2.0, 3.0])
hh, s, k = loop (hh = h, s = f32(0), k = 0) while k < 3 {
	r = ResourceGather(hh, [0, k], dtype = f32)
	after r { ResourceScatterAdd(hh, [0], [1.0]) }
	next hh, s + sum(r * r) * x[k], k + 1
}
output y = s
END
status 0 "$DFG" grad rows.dfg --of y --wrt h -q -o rows.pb
says rows.pb 'y: f32[] 72' --feed x=f32[3]:1,2,3 --fetch y
says rows.pb 'grad/h: f32[3] 30 8 18' --feed x=f32[3]:1,2,3 --fetch grad/h

# A ref stays a ref where a loop or a branch takes it in. s = n x v^2; y is sum(v s) or sum(s - v).
cat >ref.dfg <<'END'
input x: f32[2]
input n: i32[]
input p: bool[]
v = VariableV2(dtype = f32, shape = [2])
Assign(v, [1.0, 2.0])
s = loop (s = f32([0.0, 0.0])) for i in 0..n { next s + v * v * x }
t = if p { v * s } else { s - v }
output y = sum(t)
output z = (if p { AssignAdd(v, x) } else { AssignSub(v, x) }) + 0.0
END
status 0 "$DFG" grad ref.dfg --of y --wrt v,x -q -o ref.pb
says ref.pb 'y: f32[] 51 grad/v: f32[2] 9 72 grad/x: f32[2] 3 24' --feed x=f32[2]:1,2 --feed n=3 --feed p=true --fetch y --fetch grad/v --fetch grad/x
says ref.pb 'y: f32[] 24 grad/v: f32[2] 5 23 grad/x: f32[2] 3 12' --feed x=f32[2]:1,2 --feed n=3 --feed p=false --fetch y --fetch grad/v --fetch grad/x
says ref.dfg 'z: f32[2] 2 4' --feed x=f32[2]:1,2 --feed p=true --fetch z
says ref.dfg 'z: f32[2] 0 0' --feed x=f32[2]:1,2 --feed p=false --fetch z
# Each iteration reads what the one before it has written: 2 + 3 + 4 + 5.
cat >count.dfg <<'END'
input n: i32[]
v = VariableV2(dtype = f32, shape = [])
Assign(v, 1.0)
output y = loop (s = f32(0)) for i in 0..n { next s + AssignAdd(v, s * 0.0 + 1.0) }
END
says count.dfg 'y: f32[] 14' --feed n=4

# Two refs at a Merge: of two variables, and both sides of one. Where both would be live, the Merge is refused.
cat >merge.dfg <<'END'
input p: bool[]
v = VariableV2(dtype = f32, shape = [])
w = VariableV2(dtype = f32, shape = [])
Assign(v, 1.0)
Assign(w, 5.0)
vf, vt = RefSwitch(v, p)
wf, wt = RefSwitch(w, p)
m, which = RefMerge([vt, wf])
output b = AssignAdd(m, 10.0) + 0.0
output c = i32(which)
same, side = RefMerge([vf, vt])
output d = AssignSub(same, 3.0) + 0.0
output e = i32(side)
END
says merge.dfg 'b: f32[] 11 c: i32[] 0' --feed p=true --fetch b --fetch c
says merge.dfg 'b: f32[] 15 c: i32[] 1' --feed p=false --fetch b --fetch c
says merge.dfg 'd: f32[] -2 e: i32[] 1' --feed p=true --fetch d --fetch e
says merge.dfg 'd: f32[] -2 e: i32[] 0' --feed p=false --fetch d --fetch e
printf 'v = VariableV2(dtype = i32, shape = [])\nAssign(v, 7)\nm, i = RefMerge([v, v])\noutput b = m + 1\nk, j = Merge([v, i32(7)])\noutput d = k\n' >both.dfg
status 65 "$DFG" check both.dfg
has err "node 'm' (RefMerge): inputs 0 'v' and 1 'v' can both be live"
has err "node 'k' (Merge): inputs 0 'v' and 1 'k/Const' can both be live"

# A derivative does not go through a write by a handle, in a loop as outside of one: y = u^2 for u = 3 w, and dy/dw is 2 u, not
# 6 u.
cat >through.dfg <<'X'
param w: f64[2] = [1, 2]
s = loop (s = f64(0)) for t in 0..2 {
	v = ResourceGather(w, [t], dtype = f64)
	ResourceScatterAdd(w, [t], v * 2)
	u = ResourceGather(w, [t], dtype = f64)
	next s + u[0] * u[0]
}
output y = s
X
status 0 "$DFG" grad through.dfg --of y --wrt w -q -o through.pb
says through.pb 'grad/w: f64[2] 6 12' --fetch grad/w
