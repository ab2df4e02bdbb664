# Lists that are written in more than one place agree.
. "$ROOT/tests/cli/kit"

# Each optimizer is there three times: as text of the library, as the pattern that fuses it, and as the fused kernel. Each of
# the library's is fused, and the fused graph trains to the same bits.
cat >net.dfg <<'END'
input x: f64[4, 3]
param w: f64[3, 2] = [[0.5, -0.25], [0.125, 1.5], [-2.0, 0.75]]
output loss = mean(tanh(x @ w) ** 2)
END
"$DFG" build net.dfg -o net.pb
"$DFG" show std:train | sed -n 's/^layer \([a-z]*\)(.*/\1/p' >optimizers
[ "$(wc -l <optimizers)" -ge 7 ]
while read -r name; do
	"$DFG" grad net.pb --loss loss --optimizer "$name(lr=0.1)" -o single.pb
	status 0 "$DFG" opt single.pb --fetch loss --target train --passes fuse -o fused.pb
	has err 'fused 1 update'
	status 0 "$DFG" show fused.pb
	has out 'ResourceApply'
	for g in single fused; do
		status 0 "$DFG" run $g.pb --feed x=normal:f64[4,3]:seed=1 --target train --repeat 5 --no-opt --save $g.npz
	done
	status 0 "$DFG" diff single.npz fused.npz
done <optimizers

# The words that vim colours are those that the parser compares with, and its types are those of the language.
vim=$ROOT/completions/dfg.vim
words() { # GROUP...: of the syntax file
	for group; do
		sed -n "s/^syntax keyword dfg$group //p" "$vim"
	done | tr ' ' '\n' | sort -u
}
sed -n '/reserved\[\] = {/,/};/p' "$ROOT/lib/lang/parse_expression.c" | grep -o '"[a-z]*"' | tr -d '"' >known
sed -n '/^} forms\[\]/,/^};/p' "$ROOT/lib/lang/parse_statement.c" | grep -o '{"[a-z]*"' | tr -d '{"' >>known
sort -u known >reserved
[ "$(wc -l <reserved)" -ge 25 ]
words Declaration Statement Conditional Repeat Operator Boolean >coloured
comm -23 reserved coloured >missing
[ ! -s missing ] || { echo "not in $vim:"; cat missing; exit 1; }
comm -13 reserved coloured | while read -r word; do
	grep -qF "\"$word\"" "$ROOT"/lib/lang/parse*.c || { echo "no word of the language: $word"; exit 1; }
done
words Type | grep -v '^int$\|^float$\|^str$\|^dtype$\|^like$' | while read -r type; do
	printf 'input x: %s[]\noutput y = x\n' "$type" >type.dfg
	status 0 "$DFG" build type.dfg -o type.pb
done
