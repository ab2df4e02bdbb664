# Whatever order ready nodes run in, on one thread or two: every recorded case gives the same. Iterations of while-prune
# overlap and read a variable that the next one changes: its order is fixed one at a time. `make fuzz` tries more orders.
. "$ROOT/tests/cli/kit"
cp -r "$ROOT/tests/cases/flow" flow
"$DFG" convert flow/while-prune/graph.pb --to pbtxt | sed '/key: "parallel_iterations"/,/}/s/i: 10/i: 1/' >one.pbtxt
"$DFG" convert one.pbtxt -o flow/while-prune/graph.pb
never grep -q 'i: 10$' one.pbtxt
for seed in $(seq 1 "${SCHEDULES:-15}"); do
	for threads in 1 2; do
		"$DFG" test -q --schedule "random:$seed" --threads "$threads" flow >said ||
			{ echo "seed $seed, $threads threads"; cat said; exit 1; }
	done
done
