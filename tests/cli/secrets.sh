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
tree() { # PID: it, and all that it has started
	local child
	echo "$1"
	for child in $(cat /proc/"$1"/task/*/children); do
		tree "$child"
	done
}
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
	# Nor does a worker that crashes leave an image of its memory.
	workers=0
	: >processes
	for process in $(tree $pid); do
		cat "/proc/$process/cmdline" "/proc/$process/environ" >>processes
		tr '\0' '\n' <"/proc/$process/cmdline" | sed -n 3p | grep -qx -e --worker || continue
		grep -q '^Max core file size *0 *0 ' "/proc/$process/limits"
		workers=$((workers + 1))
	done
	[ $workers = 2 ]
	never grep -qaF "$secret" processes
	wait $pid
	grep -q 'launcher and w0' err
	never grep -qF "$secret" out err trace.json
done
never grep -rqE '[0-9a-f]{64}' trace.json err

# One run's secret is not another's.
[ "$(sort -u told)" != "$(
	rm told
	# shellcheck disable=SC2086
	"$DFG" run slow.dfg --hosts ./hosts $slow >/dev/null
	sort -u told
)" ]
