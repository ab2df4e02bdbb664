# A graph of 1 M nodes and 10 M edges, cut into 8 parts: read, checked, placed, cut and written as a plan. Each part gets a
# run of layers, so that as many edges are cut as a partitioner that balances its parts would cut.
: "${DFG:=build/dfg}"
"$DFG" bench graph --nodes 1000000 --edges 10000000 --seed 1 -o "$SCRATCH/cut.pb" --json >"$SCRATCH/cut.json"
start=$(date +%s.%N)
"$DFG" partition "$SCRATCH/cut.pb" --hosts local:8 --place 'layer_1??/*=w1' --place 'layer_2??/*=w2' \
	--place 'layer_3??/*=w3' --place 'layer_4??/*=w4' --place 'layer_5??/*=w5' --place 'layer_6??/*=w6' \
	--place 'layer_[789]??/*=w7' -o "$SCRATCH/cut"
date +"%s.%N $start" | awk '{printf "cut of 1 M nodes into 8\t%f\n", $1 - $2}'
rm -r "$SCRATCH/cut" "$SCRATCH/cut.pb"
