# 39. 10000 steps of three replicas over HTTP/2, of which every hundredth loses one that is started again, with rows among the
# gradients: the results are those of an undisturbed run, and no process grows. $STEPS sets another number of steps.
. "$ROOT/tests/cli/kit"
STEPS=${STEPS:-10000}

cat >fit.dfg <<'X'
input x: f32[n, 2]
input y: f32[n]
input ids: i32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param table: f32[1000, 8] = normal([1000, 8], deviation = 0.1)
param m: f32[64, 64] = normal([64, 64], deviation = 0.1)
guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + sum(Gather(table, ids), axis = 1)
output loss = mean((guess - y) ** 2) + 0.001 * sum(m * m) * mean(x[:, 0] ** 2)
X
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adagrad(lr=0.01)' -o train.pb 2>notes
has notes 'gradients kept as rows: table'
awk 'BEGIN { print "x,z,y,id"; for (i = 0; i < 210; i++) printf "%.5g,%.5g,%.5g,%d\n", (i * 5 + 1) % 97 / 7.3 - 3, (i * 11 + 3) % 89 / 7.1 - 3, (i * 31 + 1) % 97 / 8 - 3, i * 31 % 40 * 25 }' >data.csv
printf 'input a: f64[n]\ninput b: f64[n]\noutput x = f32(Pack([a, b], axis = 1))\n' >pair.dfg
"$DFG" run pair.dfg --data 'a=@data.csv[x]' --data 'b=@data.csv[z]' --fetch x -o x.npy
training="train.pb --data x=@x.npy --data y=@data.csv[y] --data ids=@data.csv[id] --target train --fetch loss --batch 16 --seed 7"
training="$training --steps $STEPS --epochs 99999 --shards 6"
# shellcheck disable=SC2086
status 0 "$DFG" run $training --metrics undisturbed.jsonl --save undisturbed.safetensors

memory() { # PID: resident kB; nothing if it has ended
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status" 2>/dev/null || true
}
at_step() { # N: that step is done, or the run has ended
	[ ! -e "/proc/$run" ] || grep -qs "\"step\":$1," metrics.jsonl
}
# Replica 0 stays, so that two processes live as long as the run: its worker and the launcher.
worker() { # NUMBER: its process, if it is there
	for pid in $(cat /proc/$run/task/*/children 2>/dev/null); do
		# shellcheck disable=SC2016
		if { tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -- "--number $1 "; } 2>/dev/null; then echo "$pid"; fi
	done
}
# shellcheck disable=SC2086
"$DFG" run $training --metrics metrics.jsonl --save soaked.safetensors --hosts local:3 --replicas 3 --min-replicas 1 --restarts "$STEPS" \
	--transport libcurl >out 2>err &
run=$!
within at_step 1
first=$(worker 0)
kills=0
step=100
early=
late=
while [ $step -lt "$STEPS" ]; do
	within at_step $step
	[ -e "/proc/$run" ] || break
	lost=$(worker $((kills % 2 + 1)))
	[ -z "$lost" ] || { kill -KILL "$lost" && kills=$((kills + 1)); }
	[ $step != $((STEPS / 5 / 100 * 100)) ] || early="$(memory $run) $(memory "$first")"
	now="$(memory $run) $(memory "$first")"
	case $now in [0-9]*\ [0-9]*) late=$now ;; esac # else the run has just ended
	step=$((step + 100))
done
wait $run || { echo "status $?, after $kills kills:"; tail -n 20 err; exit 1; }
cmp undisturbed.jsonl metrics.jsonl
cmp undisturbed.safetensors soaked.safetensors
[ $kills -ge $((STEPS / 200)) ]
echo "$kills kills; launcher and replica 0: $early kB after a fifth of the steps, $late kB at the end"
# shellcheck disable=SC2086
set -- $early $late
[ $# = 4 ]
[ $(($3 - $1)) -lt 8192 ]
[ $(($4 - $2)) -lt 8192 ]
