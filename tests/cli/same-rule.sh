# diff and test go by one rule: a complex number is near by its magnitude.
. "$ROOT/tests/cli/kit"
printf 'input x: f32[]\noutput y = Complex(1000.0, x)\n' >c.dfg
"$DFG" run c.dfg --feed x=0.001 -o a.npy
"$DFG" run c.dfg --feed x=0.002 -o b.npy
status 0 "$DFG" diff a.npy b.npy --rtol 1e-5
status 1 "$DFG" diff a.npy b.npy --rtol 1e-7
