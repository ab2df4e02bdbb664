# Whatever order ready nodes run in, on one thread or two: every recorded case gives the same. `make fuzz-programs` tries more orders.
. "$ROOT/tests/cli/kit"
ordered_flow
for seed in $(seq 1 "${SCHEDULES:-15}"); do
	for threads in 1 2; do
		"$DFG" test -q --schedule "random:$seed" --threads "$threads" flow >said ||
			{ echo "seed $seed, $threads threads"; cat said; exit 1; }
	done
done
