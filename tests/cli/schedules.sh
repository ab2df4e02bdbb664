# Whatever order ready nodes run in, on one thread or two: every recorded case gives the same. Not while-prune, whose
# iterations overlap and read a variable that the next one changes: its order is not fixed. `make fuzz` tries more orders.
cp -r "$ROOT/tests/cases/flow" flow
rm -r flow/while-prune
for seed in $(seq 1 "${SCHEDULES:-15}"); do
	for threads in 1 2; do
		"$DFG" test -q --schedule "random:$seed" --threads "$threads" flow >said ||
			{ echo "seed $seed, $threads threads"; cat said; exit 1; }
	done
done
