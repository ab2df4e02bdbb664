# Faults of the network between two machines, and of one of them: one fault at a time, with its message.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
machine beta 10.77.0.12
cat >slow.dfg <<'.'
input n: i32
y, _ = loop (y = f32(1), i = 0) while i < n {
	a = Dfg>Sleep(y, ms = 100)
	next a * 0.5, i + 1
}
output last = y
.
start() { # TRIPS, of a tenth of a second
	begin 2 slow.dfg --hosts alpha,beta --place '*=w0' --place y/a=w1 --feed "n=$1"
	sleep 1
}

# Connections of a worker are reset: whoever notices first, the other machine is named.
start 100
hang_up beta
ends 69 'beta: ' 6
nothing_left alpha beta

# Two workers do not hear each other any more; the launcher hears both.
start 100
ip netns exec alpha ip route add blackhole 10.77.0.12/32
ends 69 'silent for' 8
grep -q 'alpha.*worker 1\|beta.*worker 0' err
ip netns exec alpha ip route del blackhole 10.77.0.12/32
nothing_left alpha beta

# The same, for four seconds, with restarts: no run begins while the network is down; the next waits until it is up.
begin 2 slow.dfg --hosts alpha,beta --place '*=w0' --place y/a=w1 --feed n=20 --restarts 4
sleep 1
ip netns exec alpha ip route add blackhole 10.77.0.12/32
sleep 4
ip netns exec alpha ip route del blackhole 10.77.0.12/32
wait "$pid"
grep -q '^last: f32' out
grep -q 'restarting' err
nothing_left alpha beta

# A worker is stopped and continues within the lease: it was only slow.
start 15
stopped=$(pgrep -f '[s]erve --worker --number 1')
kill -STOP "$stopped"
sleep 1
kill -CONT "$stopped"
wait "$pid"
grep -q '^last: f32' out
nothing_left alpha beta
