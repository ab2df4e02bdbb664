# Finding 15: dfg-std(7) has every function and layer of the library except helpers, with arguments, defaults and shapes.
. "$ROOT/tests/cli/kit"
"$DFG" __man std <"$ROOT/man/dfg-std.7.in" | sed 's/\\-/-/g; s/\\(dq/"/g; s/\\(aq/'"'"'/g; s/\\(ga/`/g; s/\\(ha/^/g' >page

for file in "$ROOT"/lib/lang/std/*.dfg; do
	has page ".Ss std:$(basename "$file" .dfg)"
	# The name of each fn and layer, unless the comment that ends above it begins with "Internal:".
	awk '/^#/ {if (!inside) first = $2; inside = 1; next} /^(fn|layer) / {if (first != "Internal:") print $1, $2} {inside = 0; first = ""}' \
		"$file" | cut -d'(' -f1 >names
	[ -s names ] || { echo "$file: no names"; exit 1; }
	while read -r name; do
		has page ".It Li $name("
	done <names
done
has page '.It Li layer batch_norm(momentum: float = 0.99, epsilon: float = 0.001, training: bool = training)(x: T[..., n]) -> T[..., n]'
has page '.It Li fn max_pool(x, size = 2, strides = none, padding: str = "VALID")'
has page '.It Li fn cosine_decay(rate: float, step, total: int, least: float = 0.0)'
grep -A1 -F '.It Li fn expm1(x)' page | grep -q 'e to the power of x, minus 1' || { echo "expm1 lacks the words of its op"; exit 1; }
never grep -qF reduced_axes page
never grep -qF Internal page

# Each name has examples, which are true, on the page and in the help.
python3 "$ROOT/tests/programs/examples.py"
has page '.Dl relu([-1.0, 2.0]) = [0, 2]'
status 0 "$DFG" help std dense
[ "$(cat out)" = 'layer dense(units: int, bias: bool = true, init: fn = glorot)(x: T[..., n]) -> T[..., units]

x @ w + b, over the last axis.

'"$(sed -n 's/^#> dense(/dense(/p' "$ROOT/lib/lang/std/nn.dfg")" ]
status 0 "$DFG" help std expm1
has out 'e to the power of x, minus 1'
status 0 "$DFG" help std
has out 'std:nn: Activations'
has out '  cosine_decay         From rate down to `least` in `total` steps, along half a cosine.'
never grep -q reduced_axes out
status 0 "$DFG" help std train
has out '  adamw '
never grep -q softmax out
status 2 "$DFG" help std densee
has err "no 'densee' in the library; did you mean 'dense'?"
status 2 "$DFG" help run dense
has err "dfg help: topic run takes no further operand, such as 'dense'"

# Names are completed after `help std`.
"$DFG" __complete help std | cut -f1 >words
grep -qx batch_norm words
never grep -qx run words
bash -c '
	. "$ROOT/completions/dfg.bash"
	PATH=$(dirname "$DFG"):$PATH COMP_WORDS=(dfg help std cosine_de) COMP_CWORD=3
	_dfg
	[ "${COMPREPLY[*]}" = cosine_decay ] || { echo "${COMPREPLY[*]}"; exit 1; }'
