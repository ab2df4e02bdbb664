# Lists that are written in more than one place agree.
. "$ROOT/tests/cli/kit"

# An optimizer is there three times: as text of the library, as the pattern that fuses it, and as the fused kernel. Each of
# the library's is fused, but for those that have no pattern, and the fused graph trains to the same bits.
no_pattern='adarevision ftrl nadam'
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
	case " $no_pattern " in
	*" $name "*)
		has err 'fused 0 updates'
		continue
		;;
	esac
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
grep -ohE 'dfg_(take|sees|expect)\(parser, "[a-z]+"\)' "$ROOT"/lib/lang/parse*.c | grep -o '"[a-z]*"' | tr -d '"' >>known
sed -n '/^static struct dfg_err \*predefined/,/^}/p' "$ROOT/lib/lang/eval.c" | grep -o 'strcmp(name, "[a-z]*"' |
	grep -o '"[a-z]*"' | tr -d '"' >predefined
[ "$(wc -l <predefined)" -ge 4 ]
sort -u known predefined >reserved
[ "$(wc -l <reserved)" -ge 33 ]
sed -n 's/^syntax keyword dfg[A-Za-z]* //p' "$vim" | tr ' ' '\n' | sort -u >all
comm -23 reserved all >missing
[ ! -s missing ] || { echo "not in $vim:"; cat missing; exit 1; }
words Declaration Statement Conditional Repeat Operator Boolean >coloured
comm -13 reserved coloured | while read -r word; do
	grep -qF "\"$word\"" "$ROOT"/lib/lang/parse*.c || { echo "no word of the language: $word"; exit 1; }
done

# Each type of the table of types that the language accepts is coloured, and each that is coloured is accepted.
grep -oE 'X\([A-Z0-9]+, [a-z0-9]+' "$ROOT/lib/graph/dtype.h" | sed 's/.*, //' | sort -u >types
[ "$(wc -l <types)" -ge 18 ]
while read -r type; do
	printf 'input x: %s[]\noutput y = x\n' "$type" >type.dfg
	if "$DFG" build type.dfg -o type.pb 2>err && ! grep -qxF "$type" all; then
		echo "type not in $vim: $type"
		exit 1
	fi
done <types
words Type | grep -v '^int$\|^float$\|^str$\|^dtype$\|^like$' | while read -r type; do
	printf 'input x: %s[]\noutput y = x\n' "$type" >type.dfg
	status 0 "$DFG" build type.dfg -o type.pb
done
