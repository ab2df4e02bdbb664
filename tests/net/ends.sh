# How soon a run ends whose machines are lost: all of them have the same moment, not one after the other.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
machine beta 10.77.0.12
printf 'alpha slots=2\nbeta slots=6\n' >hosts
printf 'input x: f64[n]\ny = Dfg>Sleep(x, ms = 100000)\noutput z = y + 1.0\n' >slow.dfg

# STATUS WORDS MS: the run ends so within this time.
ends() {
	local got=0 began took
	began=$(date +%s%3N)
	wait $pid || got=$?
	took=$(($(date +%s%3N) - began))
	if [ "$got" != "$1" ] || ! grep -q -- "$2" err || [ -s out ] || [ $took -gt "$3" ]; then
		echo "status $got after $took ms, not $1 within $3 ms with '$2':"
		cat err
		return 1
	fi
}
begin() {
	"$DFG" run --ssh-config ssh_config slow.dfg --hosts ./hosts --lease 1 --place 'x=w0' --place y=w2 --place z=w0 \
		--feed 'x=f64[1]:1' >out 2>err &
	pid=$!
	for _ in $(seq 200); do
		[ "$(workers)" = 8 ] && break
		sleep 0.05
	done
	sleep 1.5
}

# The wire of a machine with six workers is cut: a second until that is known, and the rest for the end.
begin
ip link set to-beta down
ends 69 'beta: ' 6000
reconnect beta 10.77.0.11
none_left 10

# They are stopped, and their sshd is not.
begin
pkill -STOP -f '[s]erve --worker --number [2-7]'
ends 69 'beta: ' 6000
none_left 10 # finding 32: sshd passes no signal to what root started, and stopped workers end all the same
