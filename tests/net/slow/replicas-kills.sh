# 51 kills of replicas at random moments, with a minimum of one: weights and metrics are those of an undisturbed run.
# $SEED repeats a run of this script; the moments depend on the machine all the same.
. "$ROOT/tests/cli/kit"

cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param b: f32[] = zeros
param m: f32[64, 64] = normal([64, 64], deviation = 0.1)
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + b
output loss = mean((Dfg>Sleep(guess, ms = 5) - y) ** 2) + 0.001 * sum(m * m) * mean(x[:, 0] ** 2)
.
"$DFG" build fit.dfg -o fit.pb
"$DFG" grad fit.pb --loss loss --optimizer 'adam(lr=0.01)' -o train.pb
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 7.3 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[42,2]:$(numbers 84 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[42]:$(numbers 42 31)" --fetch y -o y.npy
training="train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss --batch 16 --seed 7 --steps 200 --epochs 999 --shards 4"
training="$training --eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss"
# shellcheck disable=SC2086
status 0 "$DFG" run $training --metrics undisturbed.jsonl --save undisturbed.safetensors
RANDOM=${SEED:-1}
kills=0
wanted=0
for how in '--transport shm' '--transport libcurl' '--transport shm --checkpoint ck --every 3 --keep 2 --force'; do
	wanted=$((wanted + 17))
	while [ $kills -lt $wanted ]; do
		rm -f metrics.jsonl
		# shellcheck disable=SC2086
		"$DFG" run $training --metrics metrics.jsonl --save lost.safetensors --hosts local:4 --replicas 4 --min-replicas 1 $how >out 2>err &
		run=$!
		within grep -qs '"step":1,' metrics.jsonl
		left="0 1 2 3"
		for _ in 1 2 3; do
			sleep "0.$(printf %03d $((RANDOM % 300)))" # the random moment, for which nothing waits
			# shellcheck disable=SC2086
			number=$(printf '%s\n' $left | sed -n "$((RANDOM % $(echo $left | wc -w) + 1))p")
			# shellcheck disable=SC2086
			left=$(printf '%s\n' $left | grep -v "$number")
			for pid in $(cat /proc/$run/task/*/children 2>/dev/null); do
				# shellcheck disable=SC2016
				if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q -- "--number $number "; then
					kill -KILL "$pid" && kills=$((kills + 1))
				fi
			done
		done
		wait $run || { echo "status $?, after $kills kills:"; cat err; exit 1; }
		cmp undisturbed.jsonl metrics.jsonl
		cmp undisturbed.safetensors lost.safetensors
	done
done
echo "$kills kills"
