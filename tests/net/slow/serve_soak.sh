# dfg serve for minutes (MINUTES, or the first argument; 2), under requests, streams that are left, bytes that are not HTTP, more
# requests than the queue takes, and reloads: its memory and descriptors do not grow, and no answer is wrong.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"
minutes=${1:-${MINUTES:-2}}

cat >both.dfg <<'X'
input x: f32[batch, 64]
input n: i32[]
param w: f32[64, 64] = glorot
output y = tanh(x @ w)
ys = loop for t in 0..n {
	yield fill([100], f32(t))
}
output ys = ys
X
"$DFG" build both.dfg -o both.pb
"$DFG" run both.pb --feed x=zeros:f32[1,64] --fetch y --seed 1 --save w.safetensors >out
start both.pb:w.safetensors --queue 8 --max-streams 4 --max-delay 1
"$DFG" run both.pb --load w.safetensors --feed x=ones:f32[3,64] --fetch y -o wanted.npy
"$DFG" run both.pb --feed x=ones:f32[3,64] --fetch x -o x.npy
cat >soak.py <<'X'
import collections, http.client, os, random, signal, socket, sys, threading, time

host, port = sys.argv[1].split("//")[1].split(":")
pid, seconds = int(sys.argv[2]), 60 * float(sys.argv[3])
end = time.monotonic() + seconds
x, wanted = open("x.npy", "rb").read(), open("wanted.npy", "rb").read()
count = collections.Counter()
wrong = []


def stream(n):
    return b'{"inputs":[{"name":"n","datatype":"INT32","shape":[],"data":[%d]}]}' % n


def run(connection, random):
    connection.request("POST", "/run?feed=x&fetch=y", x)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status not in (200, 429) or (answer.status == 200 and body != wanted):
        wrong.append((answer.status, body[:200]))
    count[answer.status] += 1


def whole_stream(connection, random):
    n = random.randrange(200)
    connection.request("POST", "/stream", stream(n))
    answer = connection.getresponse()
    body = answer.read()
    if answer.status not in (200, 429) or (answer.status == 200 and body.count(b"data: ") != n + 1):
        wrong.append((answer.status, body[-200:]))
    count["stream", answer.status] += 1


def left_stream(connection, random):
    with socket.create_connection((host, int(port))) as s:
        body = stream(100000)
        s.sendall(b"POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        s.recv(random.randrange(1, 10000))
    count["left"] += 1


def rubbish(connection, random):
    with socket.create_connection((host, int(port))) as s:
        s.sendall(random.choice([b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]) + random.randbytes(random.randrange(300)))
    count["rubbish"] += 1


def client(i):
    chance = random.Random(i)
    connection = http.client.HTTPConnection(host, int(port))
    while time.monotonic() < end:
        try:
            chance.choices([run, whole_stream, left_stream, rubbish], [20, 2, 1, 1])[0](connection, chance)
        except (ConnectionError, http.client.HTTPException):
            count["ended"] += 1
            connection.close()
        if chance.random() < 0.02:
            connection.close()


def look():
    pages = int(open(f"/proc/{pid}/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGESIZE"), len(os.listdir(f"/proc/{pid}/fd"))


idle = look()
threads = [threading.Thread(target=client, args=(i,)) for i in range(24)]
for thread in threads:
    thread.start()
samples = []
while time.monotonic() < end:
    time.sleep(1)
    os.kill(pid, signal.SIGHUP)
    samples.append(look()[0])
for thread in threads:
    thread.join()
for _ in range(100):
    if look()[1] <= idle[1]:
        break
    time.sleep(0.1)
warm, last = max(samples[: len(samples) // 2]), max(samples[len(samples) // 2 :])
print(f"{dict(count)}; memory {idle[0]} when idle, at most {warm} in the first half and {last} in the second; "
      f"descriptors {idle[1]} before, {look()[1]} after")
assert not wrong, wrong[:3]
assert count[200] and count[429] and count["stream", 200] and count["left"] and count["rubbish"]
assert last < 1.1 * warm + (4 << 20), "memory grows"
assert look()[1] <= idle[1], "descriptors are not closed"
X
python3 soak.py "$url" "$server" "$minutes"
curl -sS "$url/metrics" | grep -q '^dfg_streams 0$'
stop
