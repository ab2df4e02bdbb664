# Loops in register code and node by node have the same results, counts, errors and limits.
. "$ROOT/tests/cli/kit"
both() { # STATUS OPTIONS...: runs the same twice; results, counts and errors are equal
	want=$1
	shift
	status "$want" "$DFG" run "$@" --no-compiled-loops
	mv out out.plain
	mv err err.plain
	status "$want" "$DFG" run "$@"
	cmp out out.plain
	sed 's/peak_bytes.*//' err.plain >want
	sed 's/peak_bytes.*//' err >got
	cmp got want
}
both 0 "$ROOT/examples/collatz.dfg" --feed n=300 --stats
has err iterations

# Integers that wrap, divisors by turns, floats of every kind in a branch.
cat >mix.dfg <<'P'
input n: i32[]
input d: i32[]
a, x, sum, _ = loop (a = 1, x = 0.5, sum = 0, by = d) for i in 0..n {
    next a * 1103515245 + 12345,
        if a % 7 == 0 { x * 1e30 } else if a % 8 == 3 { 1.0 / x } else { x - Cast(a // 9, DstT = f32) },
        sum + a // by + Mod(a, by),
        by - 1
}
output first = a
output second = x
output third = sum
P
both 0 mix.dfg --feed n=1000 --feed d=2000 --stats
both 0 mix.dfg --feed n=1000 --feed d=-5 --stats
both 0 mix.dfg --feed n=20000 --feed d=30000 --stats

# Numbers of every type in another: out of range, and not numbers.
cat >casts.dfg <<'P'
input n: i32[]
x, sum, least, flips, bytes = loop (x = f64(1), sum = i64(0), least = 0, flips = 0, bytes = 0) for i in 0..n {
    next Cast(Cast(x, DstT = f32) * -3.0, DstT = f64),
        sum + Cast(x, DstT = i64),
        least + Cast(x / (x - x), DstT = i32) % 5,
        flips + Cast(Cast(Cast(i, DstT = bool), DstT = u8), DstT = i32),
        bytes + Cast(Cast(sum, DstT = i8), DstT = i32) + Cast(Cast(Cast(x, DstT = f16), DstT = f32) > 7.0, DstT = i32)
}
output a = x
output b = sum
output c = least
output d = flips
output e = bytes
P
both 0 casts.dfg --feed n=100 --stats
both 0 casts.dfg --feed n=9000 --stats

# A branch that jumps over a group of ops counts each op of it as dead.
cat >group.dfg <<'P'
input n: i32[]
y, a, b = loop (y = Sin(Cast(Range(0, 4096, 1), DstT = f32)), a = 1, b = 7) for i in 0..n {
    next if a % 3 == 0 { Tanh(y * 2.0 + 1.0) - 0.5 } else { y }, (a * 5 + b * 3) % 1001, (b * 7 + a * 2 - 1) % 997
}
output mean = mean(y)
output last = a + b
P
both 0 group.dfg --feed n=2000 --stats
has err 'grouped_nodes 4'

# A divisor that becomes 0 is an error of its node in its iteration, and limits hold.
both 65 mix.dfg --feed n=1000 --feed d=40
has err 'integer division by zero'
has err 'iteration 40'
both 65 mix.dfg --feed n=20000 --feed d=9000
has err 'integer division by zero'
has err 'iteration 9000'
for most in 500 7000; do
	both 65 mix.dfg --feed n=20000 --feed d=30000 --max-iterations $most
	has err "runs more than $most iterations"
done
both 0 mix.dfg --feed n=1000 --feed d=2000 --max-iterations 1000
cat >forever.dfg <<'P'
x = loop (x = 0) while x < 1 { next x * 3 }
output y = x
P
cat >nested.dfg <<'P'
x = loop (x = 0) while x < 1 { next loop (y = 0) for i in 0..5 { next y + x } }
output y = x
P
status 124 "$DFG" run nested.dfg --timeout 0.1
for how in --no-compiled-loops ''; do
	# shellcheck disable=SC2086
	status 124 "$DFG" run forever.dfg --timeout 0.1 $how
	has err "of loop 'x': the step took longer than 0.1 s"
done
# A compiled loop looks at the time between iterations, where no node runs: the message names that of its condition.
printf 'input n: i32\nx = loop (x = n) while x > 0 { next if x > 3 { x + 1 } else { x - 1 } }\noutput y = x\n' >branch.dfg
status 124 "$DFG" run branch.dfg --feed n=7 --timeout 0.1
has err "branch.dfg: node 'x/LoopCond' (LoopCond): in iteration "
"$DFG" run forever.dfg >out 2>err &
running=$!
sleep 0.3
kill -TERM $running
got=0
wait $running || got=$?
[ $got = 143 ]
