# The secret of a run is told to workers on their stdin, and stands nowhere else: no argument, no environment, no log, no
# file.
. "$ROOT/tests/cli/kit"
cat >teller <<'.'
#!/bin/sh
read -r secret
echo "$secret" >>told
{ echo "$secret"; exec cat; } | "$DFG" "$@"
.
chmod +x teller
echo "local:2 dfg=$PWD/teller" >hosts
printf 'input x: f64[n]\ny = Dfg>Sleep(x, ms = 3000)\noutput z = y + 1.0\n' >slow.dfg
slow="--feed x=f64[1]:1 --place x=w0 --place y=w1 --place z=w0"
# shellcheck disable=SC2086
"$DFG" partition slow.dfg --hosts ./hosts --place x=w0 --place y=w1 --place z=w0 -o plan/
for transport in shm libcurl; do
	rm -f told
	# shellcheck disable=SC2086
	"$DFG" run slow.dfg --hosts ./hosts $slow --transport $transport -v -v --trace trace.json --stats --json >out 2>err &
	pid=$!
	for _ in $(seq 100); do
		[ ! -s told ] || [ "$(wc -l <told)" -lt 2 ] || break
		sleep 0.02
	done
	sleep 0.5
	secret=$(sort -u told)
	[ "${#secret}" = 64 ]
	for process in /proc/[0-9]*; do
		cat "$process/cmdline" "$process/environ" 2>/dev/null || true
	done | tr '\0' '\n' >processes
	grep -q -- '--worker' processes
	never grep -qF "$secret" processes
	# A worker that crashes leaves no image of its memory.
	count=0
	for teller in $(pgrep -P $pid); do
		for child in $(pgrep -P "$teller"); do
			grep -q -- --worker "/proc/$child/cmdline" || continue
			grep -q '^Max core file size *0 *0 ' "/proc/$child/limits"
			count=$((count + 1))
		done
	done
	[ $count = 2 ]
	wait $pid
	grep -q 'launcher and w0' err
	never grep -qF "$secret" out err trace.json
done
never grep -qE '[0-9a-f]{64}' trace.json err

# One run's secret is not another's.
[ "$(sort -u told)" != "$(
	rm told
	# shellcheck disable=SC2086
	"$DFG" run slow.dfg --hosts ./hosts $slow >/dev/null
	sort -u told
)" ]
