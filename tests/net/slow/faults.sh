# What becomes of a run when a machine stops, vanishes, flaps or is started again, and when the launcher is ended.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
machine beta 10.77.0.12
printf 'alpha\nbeta slots=2\n' >hosts
cat >slow.dfg <<'.'
input n: i32
y, _ = loop (y = f32(1), i = 0) while i < n {
	a = Dfg>Sleep(y, ms = 100)
	next a * 0.5, i + 1
}
output last = y
.

begin() { # TRIPS, of a tenth of a second
	"$DFG" run --ssh-config ssh_config slow.dfg --hosts ./hosts --place '*=w0' --place y/a=w1 --feed "n=$1" >out 2>err &
	pid=$!
	for _ in $(seq 100); do
		[ "$(workers)" = 3 ] && break
		sleep 0.1
	done
	sleep 1.5
}

# STATUS WORDS SECONDS: the run ends so, and says so, with nothing on stdout.
ends() {
	local got=0 since=$SECONDS
	wait $pid || got=$?
	if [ "$got" != "$1" ] || { [ -n "$2" ] && ! grep -q -- "$2" err; } || [ -s out ] || [ $((SECONDS - since)) -gt "$3" ]; then
		echo "status $got after $((SECONDS - since)) s, not $1 after $3 s with '$2':"
		cat err
		return 1
	fi
}

# A worker is stopped, and could go on later.
begin 100
stopped=$(pgrep -f '[s]erve --worker --number 1')
kill -STOP "$stopped"
ends 69 'beta.*silent for' 8
kill -CONT "$stopped"
none_left 10

# Packets to the launcher vanish.
begin 100
ip netns exec beta ip route add blackhole 10.77.0.1/32
ends 69 'beta.*silent for' 8
ip netns exec beta ip route del blackhole 10.77.0.1/32
none_left 10

# Nobody minds half a second.
begin 30
ip link set to-beta down
sleep 0.5
ip link set to-beta up
wait $pid
grep -q '^last: f32' out
none_left 10

# The machine goes down with its sshd, and comes again.
begin 100
kill -KILL "$(cat beta/pid)"
pkill -KILL -f '[s]erve --worker --number [12]'
ends 69 'beta' 8
none_left 10
rm -f beta/pid
daemon beta 10.77.0.12
begin 10
wait $pid

# The launcher is told to end.
begin 100
kill -TERM $pid
ends 143 '' 8
none_left 10

# The launcher's machine vanishes: nobody is told, and yet nobody stays.
begin 100
ip link set hub down
kill -KILL $pid
none_left 10
