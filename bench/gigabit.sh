# Workers on two machines, each at the end of a cable of 1 Gb/s to one switch: 64 MB from one to the other; a loop whose body
# has one op on the other, an iteration; and a step that does next to nothing on both. Next to the first two, a bare TCP
# connection of the same machines: 64 MB, and 4 bytes there and back. Medians, from feeds bound to fetches ready.
absent() {
	echo "no rows of a link of 1 Gb/s: $1"
	exit 0
}
[ "$(id -u)" = 0 ] || absent "needs root"
for tool in ip tc unshare python3 /usr/sbin/sshd ssh-keygen ssh-keyscan; do
	command -v $tool >/dev/null || absent "needs $tool"
done
unshare --net --mount --pid --fork true 2>/dev/null || absent "namespaces are not permitted here"
ROOT=${ROOT:-$PWD}
DFG=$(realpath "${DFG:-build/dfg}")
CASE=$ROOT/bench/gigabit.sh
export ROOT DFG CASE
[ -n "${DFG_RIG-}" ] || cd "$(mktemp -d "$SCRATCH/gigabit.XXXXXX")" || exit 1
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

limit() { # TC OPTIONS...: what leaves through that interface
	local why
	why=$(tc "$@" root tbf rate 1gbit burst 256kb latency 50ms 2>&1) || absent "tc: $why"
}
at=11
for host in alpha beta; do
	machine $host 10.77.0.$at
	limit qdisc add dev to-$host
	limit -n $host qdisc add dev eth0
	at=$((at + 1))
done

row() { # ROW OF OPTIONS...: microseconds, over OF
	local name=$1 of=$2
	shift 2
	run "$@" --hosts alpha,beta --threads 1 --json --quiet >said.json
	sed 's/.*"median_us":\([0-9.e+]*\).*/\1/' said.json | awk -v of="$of" -v name="$name" '{printf "%s\t%g\n", name, $1 / of}'
}

# A part of the received values is compared, not all of them.
cat >far.dfg <<'.'
input v: f32[]
big = fill([16777216], v)
output y = big[7] + 1.0
.
row '1 Gb/s: 64 MB' 1000 far.dfg --feed v=1 --place '*=w1' --place 'big*=w0' --warmup 1 --repeat 5

# 64 MB until the other has it all and says so; 4 bytes there and back.
cat >tcp.py <<'.'
import socket, statistics, sys, time

ADDRESS, ROOM = ("10.77.0.12", 7000), bytearray(1 << 20)
ROWS = ("1 Gb/s: 64 MB", 64 << 20, 6, 1e3), ("1 Gb/s: loop, an iteration", 4, 1000, 1e6)


def hear(peer, count):
    while count:
        got = peer.recv_into(ROOM, min(count, len(ROOM)))
        if not got:
            sys.exit("the connection ended early")
        count -= got


if sys.argv[1] == "take":
    listener = socket.create_server(ADDRESS)
    print("listens", flush=True)
    peer = listener.accept()[0]
    for _, count, times, _ in ROWS:
        for _ in range(times):
            hear(peer, count)
            peer.sendall(b"have")
else:
    peer = socket.create_connection(ADDRESS)
    for name, count, times, unit in ROWS:
        data, took = bytes(count), []
        for _ in range(times):
            begin = time.perf_counter()
            peer.sendall(data)
            hear(peer, 4)
            took.append(time.perf_counter() - begin)
        print(name, statistics.median(took[1:]) * unit, "TCP", sep="\t")
.
ip netns exec beta python3 tcp.py take >taker &
for _ in $(seq 100); do
	[ ! -s taker ] || break
	sleep 0.05
done
ip netns exec alpha python3 tcp.py give

cat >loop.dfg <<'.'
input n: i32[]
_, total = loop (i = 0, s = 0.0) while i < n {
    far = s * 0.5
    next i + 1, far + 1.0
}
output sum = total
.
row '1 Gb/s: loop, an iteration' 1000 loop.dfg --feed n=1000 --place '*=w0' --place '*far*=w1' --warmup 2 --repeat 10

cat >null.dfg <<'.'
input x: f32[]
input z: f32[]
output y = x + 1.0
output w = z + 1.0
.
row '1 Gb/s: null step, workers: 2' 1 null.dfg --feed x=1 --feed z=1 --place x=w0 --place y=w0 --place z=w1 --place w=w1 \
	--warmup 100 --repeat 1000
