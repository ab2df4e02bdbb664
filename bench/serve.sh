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
command -v wrk >which || { echo "serve: wrk is absent: apt-get install wrk"; exit 0; }
printf 'wrk.method = "POST"\nwrk.body = io.open("x.npy"):read("*a")\n' >post.lua
ticks() { # of the server's processor time
	awk '{print $14 + $15}' "/proc/$server/stat"
}
each() { # MOST-ROWS: milliseconds a request, those of the server's processors, and the 99th percentile of the latency
	"$DFG" serve mlp.pb --load w.safetensors --port 0 --max-batch "$1" >hello &
	server=$!
	while [ ! -s hello ]; do sleep 0.1; done
	url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' hello)
	wrk -t1 -c64 -d1s -s post.lua "$url/run" >warm
	before=$(ticks)
	wrk -t1 -c64 -d4s --latency -s post.lua "$url/run" >seen
	after=$(ticks)
	kill "$server"
	wait "$server"
	rm hello
	awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '/requests in/ {n = $1}
		/^Requests.sec/ {rate = $2}
		$1 == "99%" {p99 = $2 * ($2 ~ /us$/ ? 0.001 : $2 ~ /ms$/ ? 1 : 1000)}
		END {print 1000 / rate, 1000 * ticks / hz / n, p99}' seen
}
set -- $(each 1) $(each 64)
ratio() {
	awk "BEGIN {print $1 / $2}"
}
printf '%s\t%s\n' 'serve MLP, steps of 1 row' "$1" 'serve MLP, up to 64 rows' "$4" \
	'serve MLP, shared to alone' "$(ratio "$4" "$1")" 'serve MLP, CPU, shared to alone' "$(ratio "$5" "$2")" \
	'serve MLP, p99, shared to alone' "$(ratio "$6" "$3")"
