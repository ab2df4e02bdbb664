# A run when a machine stops, vanishes, loses its network now and then or restarts, and when the launcher is ended.
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

start() { # TRIPS, of a tenth of a second
	begin 3 slow.dfg --hosts ./hosts --place '*=w0' --place y/a=w1 --feed "n=$1"
	sleep 1.5
}

# A worker is stopped, and could continue later.
start 100
stopped=$(pgrep -f '[s]erve --worker --number 1')
kill -STOP "$stopped"
ends 69 'beta.*silent for' 8
kill -CONT "$stopped"
nothing_left alpha beta

# Packets to the launcher vanish.
start 100
ip netns exec beta ip route add blackhole 10.77.0.1/32
ends 69 'beta.*silent for' 8
ip netns exec beta ip route del blackhole 10.77.0.1/32
nothing_left alpha beta

# Nobody minds half a second.
start 30
ip link set to-beta down
sleep 0.5
ip link set to-beta up
wait $pid
grep -q '^last: f32' out
nothing_left alpha beta

# The machine goes down with its sshd, and comes again.
start 100
kill -KILL "$(cat beta/pid)"
pkill -KILL -f '[s]erve --worker --number [12]'
ends 69 'beta' 8
nothing_left alpha beta
rm -f beta/pid
daemon beta 10.77.0.12
start 10
wait $pid

# The launcher is told to end.
start 100
kill -TERM $pid
ends 143 '' 8
nothing_left alpha beta

# The launcher's machine vanishes: nobody is told, and yet nobody stays.
start 100
ip link set hub down
kill -KILL $pid
nothing_left alpha beta
