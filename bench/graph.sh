# A graph of 1 M nodes and 10 M edges: loaded, checked, and the memory that took.
"${DFG:-build/dfg}" bench graph --nodes 1000000 --edges 10000000 --seed 1 -o "$SCRATCH/graph.pb" --json |
	sed 's/.*"file_bytes": \([0-9]*\), "load_s": \([0-9.]*\), "check_s": \([0-9.]*\).*"peak_bytes": \([0-9]*\).*/\1 \2 \3 \4/' |
	awk '{printf "load and check, 1 M nodes\t%f\npeak memory, times the file\t%f\n", $2 + $3, $4 / $1}'
