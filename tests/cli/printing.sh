# Without memory, a result is printed whole or not at all, whichever allocation fails: a part of it must not look like success.
. "$ROOT/tests/cli/kit"
printf 'input x: f32[3]\noutput y = x * 2\n' | "$DFG" build - -o g.pb
"$DFG" run g.pb --feed x=f32[3]:1,2,3 --fetch y >wanted
whole=0
for n in $(seq 0 600); do
	got=0
	DFG_FAIL_ALLOCATION=$n "$DFG" run g.pb --feed x=f32[3]:1,2,3 --fetch y >out 2>err || got=$?
	case $got in
	0)
		cmp out wanted || exit 1
		whole=$((whole + 1))
		;;
	71)
		whole=0
		[ ! -s out ] || { echo "allocation $n: a part of the result"; cat out; exit 1; }
		;;
	*)
		echo "allocation $n: status $got"
		cat err
		exit 1
		;;
	esac
	[ $whole -lt 20 ] || exit 0 # the later ones do not exist
done
echo "more than $n allocations"
exit 1
