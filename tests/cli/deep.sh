# Finding 35: text and lists nested without end, on a stack of 256 KiB. A command may refuse them; it must not crash.
. "$ROOT/tests/cli/kit"
ulimit -S -s 256
rep() { # COUNT WORDS
	printf "%${1}s" "" | sed "s| |$2|g"
}
mkdir deep
program() { # NAME, the text from stdin
	cat >"deep/$1.dfg"
}
for n in 1000 100000; do
	for word in '2\*\*' '2\*\*-' '-' 'not ' '(' '[' '2+' 'true and ' 'relu(' 'if c { 1 } else ' 'if ' 'if c { ' 'f32[' \
		'case c { else: { ' 'loop for i in 0..2 { '; do
		{ printf 'output y = '; rep $n "$word"; echo 2; } | program "open-$n-$(printf %s "$word" | cksum | cut -c1-6)"
	done
	{ printf 'output y = '; rep $n '('; printf 1; rep $n ')'; echo; } | program paren-$n
	{ printf 'output y = '; rep $n '['; printf 1; rep $n ']'; echo; } | program list-$n
	{ printf 'output y = '; rep $n 'relu('; printf 1; rep $n ')'; echo; } | program call-$n
	{ printf 'fn f() { f }\noutput y = f'; rep $n '()'; echo; } | program calls-$n
	{ printf 'input x: f32[2]\noutput y = x'; rep $n '[0]'; echo; } | program index-$n
	{ printf 'input x: f32[2]\noutput y = x'; rep $n '.a'; echo; } | program member-$n
	{ printf 'input x: f32[]\nys = loop for i in 0..2 { yield x'; rep $n '[0]'; echo ' }'; } | program read-$n
	{ rep $n 'static if true { '; printf 'y = 1'; rep $n ' }'; echo; } | program static-if-$n
	{ printf 'static if true { y = 1 } '; rep $n 'else static if true { y = 1 } '; echo; } | program else-$n
	{ rep $n 'on "/cpu:0" { '; printf 'y = 1'; rep $n ' }'; echo; } | program on-$n
	for item in '[a]' '(a, 1)' '[a] + [a]' '[a] * 2'; do
		printf 'a = [1]\nstatic for i in 0..%d { a = %s }\nb = a == a\noutput y = a\n' $n "$item" |
			program "lists-$n-$(printf %s "$item" | cksum | cut -c1-6)"
	done
done
for body in 'f(x)' "$(rep 200 '(')f(x)+1$(rep 200 ')')" "$(rep 100 'static if true { ')f(x)$(rep 100 ' }')"; do
	printf 'fn f(x) { %s }\noutput y = f(1)\n' "$body" | program "recursion-$(printf %s "$body" | wc -c)"
done
loops="$(rep 8 'loop (x = x) for i in 0..2 { next ')f(k - 1, x)$(rep 8 ' }')"
printf 'input x: f32[2]\nfn f(k, x) { static if k == 0 { x } else { %s } }\noutput y = f(60, x)\n' "$loops" | program loops
{
	printf 'state s: f32[] = 0\nfn f(k, x) { static if k == 0 { x } else { %s } }\n' "$loops"
	printf 'target t { loop for i in 0..2 { set s = f(60, s) } }\n'
} | program states

for file in deep/*.dfg; do
	set -- "build $file -o /dev/null" "fmt $file"
	case $file in
	*-1000 | *-1000[!0]*) ;; # the same text, read by the same code
	*) set -- "$@" "check $file" "show $file" "diff $file $file" ;;
	esac
	for command; do
		got=0
		# shellcheck disable=SC2086
		timeout 20 "$DFG" $command >out 2>err || got=$?
		case $got in
		0 | 65) ;;
		*) echo "status $got: $command"; head -c 500 err; exit 1 ;;
		esac
	done
done

# On a usual stack the limits are those of dfg-lang(5), and what is within them builds.
ulimit -S -s 8192 2>/dev/null || exit 0
status 65 "$DFG" build deep/open-100000-"$(printf '2\\*\\*' | cksum | cut -c1-6)".dfg -o x.pb
has err 'expressions nest deeper than 256'
status 65 "$DFG" build deep/lists-1000-"$(printf '[a]' | cksum | cut -c1-6)".dfg -o x.pb
has err 'lists nest deeper than 256'
{ printf 'output y = '; rep 250 '1**'; echo 2; } >power.dfg
status 0 "$DFG" build power.dfg -o x.pb
