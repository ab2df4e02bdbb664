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
