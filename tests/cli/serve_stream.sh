# dfg serve: what a loop yields arrives while the loop runs, as server-sent events.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >count.dfg <<'X'
input n: i32[]
const pause = 0
const most = 40
input x: f32[2]
h, _, squares, twice = loop (h = 0, now = 0.0) for t in 0..n {
	rested = Dfg>Sleep(now, ms = pause)
	assert t < most, "too far"
	yield t * t
	yield rested * x
	next h + t, rested + 1
}
output squares = squares
output twice = twice
output total = h
output plain = x + 1
X
"$DFG" build count.dfg -o count.pb
"$DFG" build count.dfg -D pause=20 -D most=2000000000 -o slow.pb
start count.pb slow.pb --max-streams 2
n() { # N
	echo "{\"inputs\":[{\"name\":\"n\",\"datatype\":\"INT32\",\"shape\":[],\"data\":[$1]},{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[2],\"data\":[1,2]}]}"
}
# The events are the rows of the stacks, in order; the outputs of one loop come together, the others at the end.
cat >wanted <<'X'
data: {"outputs":[{"name":"squares","datatype":"INT32","shape":[],"data":[0]},{"name":"twice","datatype":"FP32","shape":[2],"data":[0,0]}]}

data: {"outputs":[{"name":"squares","datatype":"INT32","shape":[],"data":[1]},{"name":"twice","datatype":"FP32","shape":[2],"data":[1,2]}]}

data: {"outputs":[{"name":"squares","datatype":"INT32","shape":[],"data":[4]},{"name":"twice","datatype":"FP32","shape":[2],"data":[2,4]}]}

event: done
data: {"model_name":"count","model_version":"1","outputs":[{"name":"total","datatype":"INT32","shape":[],"data":[3]},{"name":"plain","datatype":"FP32","shape":[2],"data":[2,3]}]}

X
ask 200 -D head "$url/stream/count" -d "$(n 3)"
cmp answer wanted
has head 'content-type: text/event-stream'
has head 'transfer-encoding: chunked'
ask 200 --http2-prior-knowledge "$url/stream/count" -d "$(n 3)"
cmp answer wanted
ask 200 --http1.0 -D head "$url/stream/count" -d "$(n 3)"
cmp answer wanted
never grep -q chunked head
# A connection carries the next request after a stream.
curl -sS -o first "$url/stream/count" -d "$(n 3)" --next -sS -o second -w '%{num_connects}' "$url/stream/count" -d "$(n 3)" >connects
cmp first wanted
cmp second wanted
[ "$(cat connects)" = 0 ]
# No iteration: only the end.
ask 200 "$url/stream/count" -d "$(n 0)"
[ "$(grep -c '^data' answer)" = 1 ]
ask 200 "$url/stream/count" -d "$(n 30)"
[ "$(sed -n 's/.*"squares"[^[]*\[\],"data":\[\([0-9]*\)\].*/\1/p' answer | tr '\n' ' ')" = "$(for i in $(seq 0 29); do printf '%d ' $((i * i)); done)" ]

# Events arrive while the loop runs, and a client that goes away ends the step, all of which would take a year.
running() { # STREAMS STEPS
	curl -sS "$url/metrics" >metrics
	grep -q "^dfg_streams $1\$" metrics && grep -q "^dfg_steps_running $2\$" metrics
}
for protocol in --http1.1 --http2-prior-knowledge; do
	rm -f slow
	curl -sSN "$protocol" "$url/stream/slow" -d "$(n 2000000000)" >slow &
	client=$!
	within grep -q '"data":\[1\]' slow
	kill "$client"
	wait "$client" || true
	within running 0 0
done

# More streams than allowed at once are refused; other requests are answered meanwhile.
curl -sSN "$url/stream/slow" -d "$(n 2000000000)" >one &
first=$!
curl -sSN --http2-prior-knowledge "$url/stream/slow" -d "$(n 2000000000)" >two &
second=$!
within running 2 2
ask 429 "$url/stream/count" -d "$(n 1)"
has answer 'there are already 2 streams'
ask 200 "$url/v2/models/count/infer" -d "$(n 2)"
kill "$first" "$second"
wait "$first" || true
wait "$second" || true
within running 0 0

# A failure before the first event has its status, one after it is an event.
ask 422 "$url/stream/count" -d '{"inputs":[]}'
has answer "is missing"
ask 422 "$url/stream/count" -d "$(n 2 | sed 's/}]}$/}],"outputs":[{"name":"plain"}]}/')"
has answer "no requested output of model 'count' stacks what a loop yields"
ask 422 "$url/stream/count" -d "$(n 2 | sed 's/}]}$/}],"parameters":{"binary_data_output":true}}/')"
has answer 'events are text'
ask 400 "$url/stream/count" -d '{'
ask 404 "$url/stream" -d "$(n 2)"
has answer 'give a model: /stream/NAME; the models are: count, slow'
ask 404 "$url/stream/other" -d "$(n 2)"
ask 405 "$url/stream/count"
ask 200 "$url/stream/count" -d "$(n 50)"
has answer 'event: error'
tail -n 2 answer >end
has end 'too far'
ask 200 -H 'X-Timeout: 2' "$url/stream/slow" -d "$(n 2000000000)"
tail -n 2 answer >end
has end 'the deadline of the request passed'
curl -sS "$url/metrics" >metrics
has metrics 'dfg_requests_total{model="count",protocol="stream",code="200"}'
has metrics 'dfg_requests_total{model="count",protocol="stream",code="422"}'
has metrics 'dfg_requests_total{model="slow",protocol="stream",code="504"} 1'
never grep -q '^dfg_stream_events_total{model="count"} 0' metrics

# TERM waits for the end of a stream, as for other answers.
curl -sSN "$url/stream/slow" -d "$(n 50)" >rest &
client=$!
within grep -q '"data":\[1\]' rest
stop
wait "$client"
has rest 'event: done'

# A client that does not read: the step waits, its events are bounded, and the stream ends; over either protocol.
cat >wide.dfg <<'X'
input n: i32[]
ys = loop for t in 0..n {
	yield fill([20000], f32(t) + 0.123456)
}
output ys = ys
X
start wide.dfg --timeout 1
cat >client.py <<'X'
import socket, struct, sys, time

host, port, http2 = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "2"
body = b'{"inputs":[{"name":"n","datatype":"INT32","shape":[],"data":[5000]}]}'
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
s.connect((host, port))
if http2:
    def frame(kind, flags, stream, data):
        return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data
    head = b"\x83\x86\x04\x07/stream\x01\x09localhost"
    s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, head) + frame(0, 1, 1, body))
else:
    s.sendall(b"POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
print("read" if s.recv(100) else "ended", flush=True)
time.sleep(60)
X
resident() {
	curl -sS "$url/metrics" | sed -n 's/^process_resident_memory_bytes //p'
}
for protocol in 1 2; do
	python3 client.py 127.0.0.1 "${url##*:}" "$protocol" >reads &
	client=$!
	within grep -q read reads
	within running 0 0
	[ "$(resident)" -lt 300000000 ] || { echo "the server holds what the client does not read: $(resident)"; exit 1; }
	kill "$client"
	wait "$client" || true
done
stop
