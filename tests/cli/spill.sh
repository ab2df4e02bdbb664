# Loops whose saves need more memory than there is: refused without --swap, the same bits with it, and no file stays.
. "$ROOT/tests/cli/kit"
mkdir scratch
count() { sed -n "s/^$1 //p" err; }

cat >straight.dfg <<'P'
input x: f32[16384]
input n: i32[]
output y = sum(loop (v = x) for i in 0..n { next tanh(v) * exp(-v) + sigmoid(v * v) })
P
cat >nested.dfg <<'P'
input x: f32[16384]
input n: i32[]
output y = sum(loop (v = x) for i in 0..n // 4 {
    next loop (u = v) for j in 0..i {
        next if j % 2 == 0 { tanh(u) * exp(-u) } else { sigmoid(u * u) }
    }
})
P
for graph in straight nested; do
	"$DFG" build -q $graph.dfg -o built.pb
	"$DFG" grad -q built.pb --of y --wrt x -o $graph.pbtxt
	for window in 1 32; do
		sed "s/^  op: \"Enter\"/&\\
  attr { key: \"parallel_iterations\" value { i: $window } }/" $graph.pbtxt >window.pbtxt
		[ "$(grep -c parallel_iterations window.pbtxt)" -gt 3 ]
		set -- window.pbtxt --feed x=ones:'f32[16384]' --feed n=100 --fetch y,grad/x
		"$DFG" run "$@" >wanted
		for how in '--threads 1' '--threads 2' '--threads 1 --schedule random:1' '--threads 2 --schedule random:2' \
			'--threads 2 --schedule random:3'; do
			# In any order, many iterations of many frames hold what they have not saved yet, which does not go to the file.
			limit=13M
			case $graph-$window-$how in
			nested-32-*random*) limit=56M ;;
			nested-*) limit=20M ;;
			esac
			[ $limit = 56M ] || status 71 "$DFG" run "$@" $how --memory-limit $limit
			status 0 "$DFG" run "$@" $how --memory-limit $limit --swap scratch --stats
			cmp wanted out
			[ "$(count swapped_out)" -gt 10 ]
			[ "$(count swapped_out)" -le "$(count saves)" ]
			[ "$(count swapped_in)" -ge "$(count swapped_out)" ]
		done
	done
done

# Memory is short from the beginning: of n values all but the newest go, which the loop itself still has; none of 2048
# bytes or fewer, and none where there is enough.
for size in 512 513; do
	cat >many.dfg <<P
input x: f32[$size]
input n: i32[]
input z: f32[5000000]
output y = sum(loop (v = x) for i in 0..n { next tanh(v) })
output w = z[0]
P
	"$DFG" build -q many.dfg -o built.pb
	"$DFG" grad -q built.pb --of y --wrt x -o many.pb
	for n in 0 1 2 3 200; do
		for how in '--threads 1' '--threads 2 --schedule random:3'; do
			set -- many.pb --feed x=ones:"f32[$size]" --feed z=zeros:'f32[5000000]' --feed n=$n --fetch y,grad/x $how
			status 0 "$DFG" run "$@" --memory-limit 25M --swap scratch --stats
			wanted=$((size > 512 && n > 0 ? n - 1 : 0))
			[ "$(count saves)" = $n ]
			[ "$(count swapped_out)" = $wanted ]
			[ "$(count swapped_in)" = $wanted ]
			[ "$(count swapped_out_bytes)" = $((wanted * size * 4)) ]
			status 0 "$DFG" run "$@" --memory-limit 1G --swap scratch --stats
			[ "$(count swapped_out)" = 0 ]
		done
	done
done

# --swap without a use for it, a full disk, and a killed run.
set -- straight.pbtxt --feed x=ones:'f32[16384]' --feed n=100 --fetch y,grad/x
status 0 "$DFG" run "$@" --memory-limit 13M --swap scratch --stats --json
has out '"swapped_out_bytes"'
status 2 "$DFG" run "$@" --swap scratch
has err '--swap requires --memory-limit'
status 2 "$DFG" run "$@" --memory-limit 13M --swap scratch --hosts local:2
status 73 "$DFG" run "$@" --memory-limit 13M --swap nowhere
has err 'nowhere: '
trap '' XFSZ
(
	ulimit -f 1000
	status 74 "$DFG" run "$@" --memory-limit 13M --swap scratch
	has err 'cannot write the scratch file in scratch: '
	has err 'Dfg>Save'
)
trap - XFSZ
"$DFG" run straight.pbtxt --feed x=ones:'f32[16384]' --feed n=20000 --fetch grad/x --memory-limit 13M --swap scratch \
	>out 2>err &
sleep 0.3
kill -9 $! 2>/dev/null || true
wait $! || true
"$DFG" test -q --memory-limit 1G --swap scratch "$ROOT"/tests/cases/flow/while-*
[ -z "$(ls -A scratch)" ]
