# The way of a model to its clients: LeNet is built and trained for two steps, and each form of request gets the bits of `dfg run`.
# A newer checkpoint is taken under load, and TERM ends the server after all that had been sent to it is answered.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

python3 -c '
import random, struct
random.seed(1)
open("images.idx", "wb").write(struct.pack(">4I", 0x803, 32, 28, 28) + random.randbytes(32 * 784))
open("labels.idx", "wb").write(struct.pack(">2I", 0x801, 32) + bytes(i % 10 for i in range(32)))'
"$DFG" build "$ROOT/examples/lenet.dfg" -o lenet.pb
"$DFG" build "$ROOT/examples/lenet.dfg" -D training=true | "$DFG" grad - --loss loss --optimizer 'adam(lr=0.001)' -o step.pb
train() { # STEPS
	"$DFG" run step.pb --data images=@images.idx --data labels=@labels.idx --batch 16 --steps "$1" --epochs 9 --target train \
		--fetch loss --checkpoint ck/ --resume >loss.txt 2>train.err
}
train 2
"$DFG" run lenet.pb --load ck/ --feed images=zeros:u8[1,28,28] --fetch images -o zeros.npy
"$DFG" run lenet.pb --data images=@images.idx --batch 1 --steps 1 --load ck/ --fetch images -o x.npy
"$DFG" run lenet.pb --load ck/ --feed images=@x.npy --fetch probabilities -o p2.npy

start lenet.pb --load ck/
ask 200 "$url/v2/models/lenet"
equals '{"name":"lenet","versions":["2"],"platform":"dfg_graphdef","inputs":[{"name":"images","datatype":"UINT8","shape":[-1,28,28]},{"name":"labels","datatype":"UINT8","shape":[-1]}],"outputs":[{"name":"probabilities","datatype":"FP32","shape":[-1,10]},{"name":"loss","datatype":"FP32","shape":[]},{"name":"accuracy","datatype":"FP32","shape":[]}]}'

# npy, npz and safetensors, in and out; images are the only input that an output is computed from by itself.
ask 200 --data-binary @x.npy "$url/run?feed=images&fetch=probabilities"
cmp answer p2.npy
ask 200 --data-binary @x.npy "$url/run"
cmp answer p2.npy
"$DFG" run lenet.pb --load ck/ --feed images=@x.npy --fetch probabilities -o p2.npz
"$DFG" run lenet.pb --load ck/ --feed images=@x.npy --fetch images -o x.npz
ask 200 --data-binary @x.npz "$url/run"
status 0 "$DFG" diff answer p2.npz
ask 200 -H 'Accept: application/x-safetensors' --data-binary @x.npz "$url/run"
mv answer p.safetensors
"$DFG" convert p.safetensors -o p.npz
status 0 "$DFG" diff p.npz p2.npz

# KServe and TensorFlow Serving in JSON, by instances that name their inputs and by those that do not.
cat >json_forms.py <<'D'
import json, struct, sys, urllib.request

url = sys.argv[1]
pixels = list(open("x.npy", "rb").read()[-784:])
wanted = open("p2.npy", "rb").read()[-40:]
rows = [pixels[28 * i : 28 * i + 28] for i in range(28)]


def ask(path, body):
    with urllib.request.urlopen(url + path, json.dumps(body).encode()) as answer:
        return json.load(answer)


def check(values):
    assert struct.pack("<10f", *values) == wanted, values


answer = ask("/v2/models/lenet/infer", {"inputs": [{"name": "images", "datatype": "UINT8", "shape": [1, 28, 28], "data": pixels}]})
assert [(o["name"], o["shape"]) for o in answer["outputs"]] == [("probabilities", [1, 10])], answer
check(answer["outputs"][0]["data"])
predict = "/v1/models/lenet:predict"
labelled = {"images": rows, "labels": 3}  # with labels there are loss and accuracy, too, which are scalars
for body in {"instances": [rows]}, {"instances": [{"images": rows}]}, {"instances": [rows, rows]}, {"instances": [labelled]}:
    predictions = ask(predict, body)["predictions"]
    assert len(predictions) == len(body["instances"])
    for row in predictions:
        check(row)
for body in {"inputs": [rows]}, {"inputs": {"images": [rows]}}:
    (row,) = ask(predict, body)["outputs"]
    check(row)
D
python3 json_forms.py "$url"
ask 200 "$url/metrics"
grep -q '^dfg_requests_total{model="lenet",protocol="tensorflow-rest",code="200"} 6$' answer
ask 200 "$url/"
has answer '<form id="form"'
if /sbin/ldconfig -p | grep -q libgvc.so.6; then
	ask 200 "$url/graph"
	has answer '<svg'
else # the answer says which package draws it
	ask 501 "$url/graph"
	has answer graph6
fi

# Under load, HUP takes the newest checkpoint without a lost request; TERM then answers what was sent before it.
cat >signals.py <<'D'
import collections, http.client, os, signal, socket, subprocess, sys, threading, time

host, pid, train = sys.argv[1].split("//")[1], int(sys.argv[2]), sys.argv[3:]
x, wanted = open("x.npy", "rb").read(), [open("p2.npy", "rb").read()]
seen, wrong, stop = collections.Counter(), [], threading.Event()


def client():
    connection = http.client.HTTPConnection(host)
    while not stop.is_set():
        try:
            connection.request("POST", "/run?feed=images&fetch=probabilities", x)
            answer = connection.getresponse()
            body = answer.read()
        except OSError as error:
            wrong.append(error)
            return
        (seen.update([body]) if answer.status == 200 else wrong.append((answer.status, body)))


threads = [threading.Thread(target=client) for i in range(4)]
for thread in threads:
    thread.start()
subprocess.run(train, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
os.kill(pid, signal.SIGHUP)
end = time.monotonic() + 60
while len(seen) < 2 and not wrong and time.monotonic() < end:
    time.sleep(0.01)
stop.set()
for thread in threads:
    thread.join()
assert not wrong, wrong[:3]
assert len(seen) == 2 and wanted[0] in seen, seen.values()
open("p4.npy", "wb").write(next(body for body in seen if body != wanted[0]))

# While the server is stopped, a request comes on an open connection, and one on a connection that it has not accepted.
request = b"POST /run?feed=images&fetch=probabilities HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(x) + x
address = (host.split(":")[0], int(host.split(":")[1]))
opened = socket.create_connection(address)
opened.sendall(request)
assert opened.recv(65536).startswith(b"HTTP/1.1 200")
os.kill(pid, signal.SIGSTOP)
opened.sendall(request)
waiting = socket.create_connection(address)
waiting.sendall(request)
idle = socket.create_connection(address)
os.kill(pid, signal.SIGTERM)
os.kill(pid, signal.SIGCONT)
for s in opened, waiting, idle:
    s.settimeout(60)
    got = b""
    while piece := s.recv(65536):
        got += piece
    assert s is idle or got.startswith(b"HTTP/1.1 200"), got[:300]
assert not got, got
D
python3 signals.py "$url" "$server" "$DFG" run step.pb --data images=@images.idx --data labels=@labels.idx --batch 16 --steps 4 \
	--epochs 9 --target train --fetch loss --checkpoint ck/ --resume
wait "$server"
"$DFG" run lenet.pb --load ck/ --feed images=@x.npy --fetch probabilities -o wanted.npy
cmp p4.npy wanted.npy
