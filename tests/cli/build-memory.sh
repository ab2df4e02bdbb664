# Finding 37: a build has a bound, and lists do not take more than their length asks for.
. "$ROOT/tests/cli/kit"
printf 'a = []\nstatic for i in 0..20000 { a = a + [i] }\noutput y = a\n' >join.dfg # took 8.4 GB
status 0 "$DFG" build join.dfg --memory-limit 16M -o join.pb
{ printf 'output y = ['; yes 1 | head -200000 | paste -sd,; echo ']'; } >literal.dfg # took 37 MB
status 0 "$DFG" build literal.dfg --memory-limit 32M -o literal.pb
status 71 "$DFG" build literal.dfg --memory-limit 4M -o x.pb
has err 'literal.dfg: the build needs more than 3 MiB (--memory-limit)'

printf 'const n = 1000000\nstatic for i in 0..1000 { a = [1] * n }\noutput y = 1\n' >repeat.dfg
status 71 "$DFG" build repeat.dfg --memory-limit 400M -o x.pb
has err 'repeat.dfg:2:'
has err 'the build needs more than 381 MiB here (--memory-limit)'
[ ! -e x.pb ]

# A value that is joined twice is not changed by the second.
cat >shared.dfg <<'.'
a = [1, 2]
b = a + [3]
c = a + [4]
d = b + [5]
e = b + [6]
f = d[:3] + [7]
g = a + a + a
output y = [c + [0], d, e, f]
output z = g
output first = b
.
status 0 "$DFG" build shared.dfg -o shared.pb
status 0 "$DFG" run shared.pb
has out '1 2 4 0'
has out '1 2 3 5'
has out '1 2 3 6'
has out '1 2 3 7'
has out '1 2 1 2 1 2'
