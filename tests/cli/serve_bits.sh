# Answers of dfg serve have the bits of `dfg run`, for 1, 7 and 64 clients whose requests share steps, while weights are replaced
# and more requests come than the queue takes.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >mlp.dfg <<'D'
input x: f32[batch, 40]
h = relu(dense(70)(x))
output y = softmax(dense(10)(h))
output least = min(h, axis = 1)
D
"$DFG" build mlp.dfg -o mlp.pb
"$DFG" run mlp.pb --feed 'x=normal:f32[150,40]:seed=3' --fetch x -o x.npy
for seed in 1 2; do
	"$DFG" run mlp.pb --feed x=@x.npy --fetch y --seed $seed --save w$seed.safetensors >out
	"$DFG" run mlp.pb --feed x=@x.npy --fetch y --load w$seed.safetensors -o y$seed.npy
done
cp w1.safetensors live.safetensors
start mlp.pb:live.safetensors --max-batch 8 --max-delay 0.5 --queue 12
cat >clients.py <<'D'
import collections, http.client, os, random, signal, shutil, struct, sys, threading, time

host, pid = sys.argv[1].split("//")[1], int(sys.argv[2])
rows = {name: open(name + ".npy", "rb").read() for name in ("x", "y1", "y2")}
x, y = rows["x"][-150 * 40 * 4 :], [rows[name][-150 * 10 * 4 :] for name in ("y1", "y2")]
wrong = []


def npy(data, count):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 40), }" % count
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def client(number, requests, seen):
    chance = random.Random(number)
    connection = http.client.HTTPConnection(host)
    answered = 0
    while answered < requests and not wrong and time.monotonic() < end:
        first, count = chance.randrange(140), chance.randrange(1, 6)
        connection.request("POST", "/run?fetch=y", npy(x[160 * first : 160 * (first + count)], count))
        answer = connection.getresponse()
        body = answer.read()
        is_of = [answer.status == 200 and body[-40 * count :] == all[40 * first : 40 * (first + count)] for all in y]
        if answer.status == 429:
            seen["refused"] += 1
        elif any(is_of):
            seen[is_of.index(True)] += 1
            answered += 1
        else:
            wrong.append((answer.status, first, count, body[:200]))


def replace(stop):
    turn = 0
    while not stop.wait(0.02):
        turn += 1
        shutil.copy(f"w{1 + turn % 2}.safetensors", "next")
        os.rename("next", "live.safetensors")
        os.kill(pid, signal.SIGHUP)


for count in 1, 7, 64:
    seen, stop, end = collections.Counter(), threading.Event(), time.monotonic() + 120
    other = threading.Thread(target=replace, args=(stop,))
    other.start()
    # Until answers of both sets of weights, and with many clients a refusal, have been seen.
    while (len(seen) < (3 if count == 64 else 2)) and not wrong and time.monotonic() < end:
        threads = [threading.Thread(target=client, args=(i, 280 // count, seen)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    stop.set()
    other.join()
    assert not wrong, (count, wrong[:3])
    assert seen[0] and seen[1] and (count < 64 or seen["refused"]), (count, seen)
D
python3 clients.py "$url" "$server"
curl -sS "$url/metrics" >metrics
awk '/^dfg_batch_size_sum/ {rows = $2} /^dfg_batch_size_count/ {steps = $2} END {exit !(rows > steps)}' metrics
stop
