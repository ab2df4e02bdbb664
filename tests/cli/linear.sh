# Finding 38: the time that a build takes grows as its text does. Four times the lines take four times as long, give or
# take the noise of a busy machine; with a quadratic step in it they took sixteen times.
. "$ROOT/tests/cli/kit"
TIMEFORMAT=%U
lines() { # COUNT FORMAT: one line each, % replaced by its number
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) { s = f; gsub(/%/, i, s); print s } }'
}
list() { # COUNT FORMAT: the same, in one line with commas
	lines "$1" "$2" | paste -sd,
}
x='input x: f32[]'
write() { # COUNT: a program of each kind
	n=$1
	{ echo "$x"; lines "$n" 'y% = x'; } >alias.dfg
	{ echo "$x"; lines "$n" 'y% = x + 0'; } >nodes.dfg
	lines "$n" 'input x%: f32[b%]' >inputs.dfg
	lines "$n" 'state s%: f32[] = 0' >states.dfg
	lines "$n" 'fn f%() { % }' >functions.dfg
	{ echo "$x"; lines "$n" 'output y% = x'; } >outputs.dfg
	{ echo "$x"; lines "$n" 'assert x > %, "too small"'; } >asserts.dfg
	{ echo "fn f($(list "$n" 'a% = 1')) { a0 }"; echo "output y = f($(list "$n" 'a% = %'))"; } >formals.dfg
	{ echo "$x"; echo "$(list "$n" 'a%') = $(list "$n" 'x + %')"; } >names.dfg
	{ echo "$x"; lines "$n" 'a% = x + %'; echo 'ys = loop for i in 0..2 {'; lines "$n" 'b% = a% + %'; echo 'yield x }'; } >captures.dfg
	{ lines "$n" 'state s%: f32[] = 0'; echo 'target t { loop for i in 0..2 {'; lines "$n" 'set s% = s% + 1'; echo '} }'; } >carried.dfg
	lines "$n" 'state s%: f32[] = 0
target t% { set s% = 1 }' >targets.dfg
	{ echo "$x"; lines "$n" 'ys% = loop for i in 0..2 { yield x + % }'; } >loops.dfg
	{ echo "$x"; echo 'loop for i in 0..2 {'; lines "$n" 'yield x + %'; echo '}'; } >yields.dfg
	printf '%s\ny = x\nstatic for i in 0..%d { y = y + x }\noutput z = y\n' "$x" $((n * 10)) >trips.dfg
	printf 'a = []\nstatic for i in 0..%d { a = a + [i] }\noutput y = a\n' $((n * 10)) >joins.dfg
}
build() { # PROGRAM: milliseconds of the processor, the least of two runs
	for _ in 1 2; do
		{ time "$DFG" build "$1" -o out.pb; } 2>&1 | tail -1 | tr -d .
	done | sort -n | head -1 | sed 's/^0*\(.\)/\1/'
}
write 2000
for file in *.dfg; do
	build "$file" >"$file.short"
done
write 8000
for file in *.dfg; do
	short=$(cat "$file.short") long=$(build "$file")
	[ "$long" -le $((8 * short + 60)) ] || { echo "$file: $short ms, and $long ms for four times the lines"; exit 1; }
done
