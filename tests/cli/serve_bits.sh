# Answers of dfg serve have the bits of `dfg run`, for 1, 7 and 64 clients whose requests share steps, while weights are replaced;
# then while all threads are busy, so that more requests come than the queue takes.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >mlp.dfg <<'D'
input x: f32[batch, 40]
h = relu(dense(70)(x))
output y = softmax(dense(10)(h))
output least = min(h, axis = 1)
# The same numbers by a step that is not quick, since it has a loop, so that it waits for a thread.
output late = y * Reshape(loop (s = 0.0) while s < 1 { next s + 1 }, [])
input z: f32[]
output held = loop (s = z) while s < 1 { next s * 0.5 } # of 0: for ever
D
"$DFG" build mlp.dfg -o mlp.pb
"$DFG" run mlp.pb --feed 'x=normal:f32[150,40]:seed=3' --fetch x -o x.npy
for seed in 1 2; do
	"$DFG" run mlp.pb --feed x=@x.npy --fetch y --seed $seed --save w$seed.safetensors >out
	"$DFG" run mlp.pb --feed x=@x.npy --fetch y --load w$seed.safetensors -o y$seed.npy
done
cp w1.safetensors live.safetensors
start mlp.pb:live.safetensors --max-batch 8 --max-delay 0.5 --queue 12 --threads 2
cat >arrays.py <<'D'
import http.client, os, shutil, signal, struct, sys, time

url, pid = sys.argv[1], int(sys.argv[2])
host = url.split("//")[1]
rows = {name: open(name + ".npy", "rb").read() for name in ("x", "y1", "y2")}
x, y = rows["x"][-150 * 40 * 4 :], [rows[name][-150 * 10 * 4 :] for name in ("y1", "y2")]


def npy(data, shape):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def ask(connection, output, first, count):
    connection.request("POST", "/run?feed=x&fetch=" + output, npy(x[160 * first : 160 * (first + count)], (count, 40)))


def read(connection, first, count):
    """(status, the body, the index in y of the weights by which it is right or -1)"""
    answer = connection.getresponse()
    body = answer.read()
    is_of = [answer.status == 200 and body[-40 * count :] == all[40 * first : 40 * (first + count)] for all in y]
    return answer.status, body, is_of.index(True) if any(is_of) else -1


def replace(turn):
    shutil.copy(f"w{1 + turn % 2}.safetensors", "next")
    os.rename("next", "live.safetensors")
    os.kill(pid, signal.SIGHUP)
D
cat >clients.py <<'D'
import collections, random, threading
from arrays import *

wrong = []


def client(number, requests, seen):
    chance = random.Random(number)
    connection = http.client.HTTPConnection(host)
    answered = 0
    while answered < requests and not wrong and time.monotonic() < end:
        first, count = chance.randrange(140), chance.randrange(1, 6)
        ask(connection, chance.choice(["y", "late"]), first, count)
        status, body, weights = read(connection, first, count)
        if weights >= 0:
            seen[weights] += 1
            answered += 1
        elif status != 429:
            wrong.append((status, first, count, body[:200]))


def replace_often(stop):
    turn = 0
    while not stop.wait(0.02):
        turn += 1
        replace(turn)


for count in 1, 7, 64:
    seen, stop, end = collections.Counter(), threading.Event(), time.monotonic() + 120
    other = threading.Thread(target=replace_often, args=(stop,))
    other.start()
    # Until answers of both sets of weights have been seen.
    while len(seen) < 2 and not wrong and time.monotonic() < end:
        threads = [threading.Thread(target=client, args=(i, 280 // count, seen)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    stop.set()
    other.join()
    assert not wrong, (count, wrong[:3])
    assert seen[0] and seen[1], (count, seen)
D
python3 clients.py "$url" "$server"

# Two steps that do not end occupy both threads. Of 40 requests 12 wait, half of them for older weights, and 28 are refused. When
# the clients of the two steps are gone, those that waited are answered, and share steps with those for the same weights.
cat >overload.py <<'D'
from serve_kit import *
from arrays import *


def load(weights):
    """The server says when it has read them; the first time it says so, it may have begun to read before they were there."""
    replace(weights)
    said = open("talk").read().count("\n")
    until(lambda: os.kill(pid, signal.SIGHUP) or open("talk").read().count("\n") >= said + 2)


until(lambda: metric(url, "dfg_steps_running") == 0)
load(0)
holders = hold(url, 2, "/run?feed=z&fetch=held", npy(bytes(4), ()))
steps = metric(url, "dfg_batch_size_count")
waiting = [http.client.HTTPConnection(host) for i in range(40)]
for i, connection in enumerate(waiting):
    if i == 6:
        until(lambda: metric(url, "dfg_queue_length") == 6)
        load(1)
    ask(connection, "late", i, 1)
    if i >= 12:
        until(lambda: metric(url, "dfg_queue_length") == 12)
        status, body, weights = read(connection, i, 1)
        assert status == 429, (i, status, body)
release(holders)
got = [read(connection, i, 1) for i, connection in enumerate(waiting[:12])]
assert [weights for status, body, weights in got] == [0] * 6 + [1] * 6, got
steps = metric(url, "dfg_batch_size_count") - steps
assert 2 <= steps < 12, steps # more than two where the same weights were read again meanwhile
D
python3 overload.py "$url" "$server"
stop
