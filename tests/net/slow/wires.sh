# A slow wire makes a run slow, and nothing else; a broken one ends it, and when it works again the next run continues.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
far beta 10.80.0
wire() {
	echo "$*" >beta/wire
}

# Bits as in one process, over 0.2 s each way and over half a megabit a second; nobody takes that for silence.
cat >large.dfg <<'.'
input x: f32[n]
y = x * 2.0
z = y + 1.0
output out = z * y
.
"$DFG" run large.dfg --feed x=normal:f32[75000]:seed=1 -o here.npy
for state in 'delay 0.2' 'rate 60000'; do
	wire "$state"
	for hosts in alpha,beta beta,alpha; do
		expect 0 '' run large.dfg --lease 4 --hosts $hosts --place x=w0 --place y=w1 --place z=w0 --place out=w1 \
			--feed x=normal:f32[75000]:seed=1 -o there.npy
		cmp here.npy there.npy
		rm there.npy
	done
	wire pass
	nothing_left alpha beta
done

cat >slow.dfg <<'.'
input n: i32
y, _ = loop (y = f32(1), i = 0) while i < n {
	a = Dfg>Sleep(y, ms = 100)
	next a * 0.5, i + 1
}
output last = y
.
start() { # TRIPS, of a tenth of a second
	begin 2 slow.dfg --lease 4 --hosts alpha,beta --place '*=w0' --place y/a=w1 --feed "n=$1"
	sleep 1
}
goes_on() {
	wait "$pid"
	grep -q '^last: f32' out
	nothing_left alpha beta
}

# It is whole for a while, and then it is not, again and again.
start 40
for _ in 1 2 3 4; do
	wire drop
	sleep 0.3
	wire pass
	sleep 0.7
done
goes_on

# The network is down for longer than the lease, then works again: no worker that was given up returns, and the next run
# continues.
start 200
wire drop
ends 69 'beta' 12
wire pass
none_left 12
start 5
goes_on

# Every connection is reset on its way.
for _ in 1 2; do
	start 100
	wire reset
	ends 69 'beta' 6
	wire pass
	nothing_left alpha beta
done
start 5
goes_on
