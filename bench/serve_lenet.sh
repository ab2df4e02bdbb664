# LeNet in a model server: 32 clients send an image each as bytes. The same network in LitServe with ONNX Runtime is the peer
# (bench/peers.txt). Both have two threads. Milliseconds a request, and the 99th percentile of the latency.
DFG=$(realpath "${DFG:-build/dfg}")
here=$(realpath "$(dirname "$0")")
python=$(realpath "${PEERS:-build/peers}" 2>/dev/null)/bin/python
cd "$(mktemp -d "${SCRATCH:-/tmp}/serve_lenet.XXXXXX")" || exit 1
command -v wrk >which || { echo "serve_lenet: wrk is absent: apt-get install wrk"; exit 0; }
sed '/labels/d; /^logits/s/^logits = \(.*\)/output probabilities = softmax(\1)/' "$here/lenet.dfg" >lenet.dfg
"$DFG" build lenet.dfg -o lenet.pb
"$DFG" run lenet.pb --feed images=zeros:f32[1,28,28] --save w.npz >zeros
"$DFG" run lenet.pb --load w.npz --feed images=normal:f32[1,28,28]:seed=1 --fetch images -o image.npy
"$DFG" run lenet.pb --load w.npz --feed images=@image.npy --fetch probabilities -o wanted.npy
cat >binary.lua <<'X'
local bytes = io.open("image.npy", "rb"):read("*a"):sub(-3136)
local head = '{"inputs":[{"name":"images","datatype":"FP32","shape":[1,28,28],"parameters":{"binary_data_size":3136}}],' ..
	'"parameters":{"binary_data_output":true}}'
wrk.method = "POST"
wrk.body = head .. bytes
wrk.headers["Inference-Header-Content-Length"] = tostring(#head)
X
cat >form.lua <<'X'
local bytes = io.open("image.npy", "rb"):read("*a"):sub(-3136)
wrk.method = "POST"
wrk.body = '--frontier\r\nContent-Disposition: form-data; name="request"; filename="x"\r\n' ..
	'Content-Type: application/octet-stream\r\n\r\n' .. bytes .. '\r\n--frontier--\r\n'
wrk.headers["Content-Type"] = "multipart/form-data; boundary=frontier"
X
load() { # SCRIPT URL [WHO]
	wrk -t1 -c32 -d1s -s "$1" "$2" >warm
	wrk -t1 -c32 -d4s --latency -s "$1" "$2" >seen
	! grep -q 'Non-2xx' seen || { cat seen; exit 1; }
	awk -v who="${3:+\t$3}" '/99%/ {p99 = $2 ~ /us$/ ? $2 / 1000 : $2 ~ /ms$/ ? $2 + 0 : 1000 * $2}
		/^Requests\/sec/ {printf "serve LeNet, 32 clients\t%s%s\nserve LeNet, 99th percentile\t%s%s\n", 1000 / $2, who, p99, who}' seen
}
"$DFG" serve lenet.pb --load w.npz --port 0 --threads 2 >hello &
server=$!
while [ ! -s hello ]; do sleep 0.05; done
load binary.lua "$(sed 's/.*"url":"\([^"]*\)".*/\1/' hello)/v2/models/lenet/infer"
kill "$server"
wait "$server"
if [ -x "$python" ] && "$python" -c 'import litserve, onnxruntime, onnx' 2>missing; then
	setsid "$python" "$here/peers/litserve_lenet.py" 18199 >litserve.log 2>&1 &
	server=$!
	until curl -fsS -o answer -F 'request=@image.npy' http://127.0.0.1:18199/predict 2>curl.err; do
		sleep 0.2
		kill -0 "$server" 2>gone || { tail -n 3 litserve.log; exit 1; }
	done
	load form.lua http://127.0.0.1:18199/predict LitServe
	kill -- "-$server"
	wait "$server"
else
	echo "serve_lenet: LitServe is absent: make bench-peers installs it"
fi
