# The time of a request to a model server at full load: an MLP 784-4096-4096-10, 64 clients, whose requests share steps of up to 64 rows or
# have one each.
DFG=$(realpath "${DFG:-build/dfg}")
cd "$(mktemp -d "${SCRATCH:-/tmp}/serve.XXXXXX")" || exit 1
cat >mlp.dfg <<'X'
input x: f32[batch, 784]
h = relu(dense(4096)(x))
g = relu(dense(4096)(h))
output y = dense(10)(g)
X
"$DFG" build mlp.dfg -o mlp.pb
"$DFG" run mlp.pb --feed x=zeros:f32[1,784] --save w.safetensors >zeros.txt
"$DFG" run mlp.pb --feed x=normal:f32[1,784]:seed=1 --fetch x -o x.npy
cat >clients.py <<'X'
import http.client, sys, threading, time
host, seconds, body = sys.argv[1].split("//")[1], float(sys.argv[2]), open("x.npy", "rb").read()
count, end, begin = [0] * 64, [0.0] * 64, time.monotonic()
def client(i):
    connection = http.client.HTTPConnection(host)
    while time.monotonic() < begin + seconds:
        connection.request("POST", "/run", body)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        count[i] += 1
        end[i] = time.monotonic()
threads = [threading.Thread(target=client, args=(i,)) for i in range(64)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(1000 * (max(end) - begin) / sum(count))
X
each() { # MOST-ROWS: milliseconds a request
	"$DFG" serve mlp.pb --load w.safetensors --port 0 --max-batch "$1" >hello &
	server=$!
	while [ ! -s hello ]; do sleep 0.1; done
	url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' hello)
	python3 clients.py "$url" 1 >warm
	python3 clients.py "$url" 4
	kill "$server"
	wait "$server"
	rm hello
}
alone=$(each 1)
shared=$(each 64)
printf 'serve MLP, steps of 1 row\t%s\nserve MLP, up to 64 rows\t%s\nserve MLP, shared to alone\t%s\n' "$alone" "$shared" \
	"$(awk "BEGIN {print $shared / $alone}")"
