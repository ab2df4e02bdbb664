# dfg serve runs short steps on the thread that moves bytes; a step that a value can make long is not one of them, however short earlier
# ones were, so other requests are answered while it runs.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cat >count.dfg <<'D'
input n: i32[]
output y = loop (i = 0) while i < n { next (i + 1) % 1024 } # of 1024 or more: for ever
output z = sum(fill([n], 1.0))
output w = n * 2
D
start count.dfg --threads 1
predict() { # TENSORS
	ask 200 "$url/v2/models/count/infer" -d '{"inputs":[{"name":"n","datatype":"INT32","shape":[],"data":['"$1"']}],"outputs":[{"name":"'"$2"'"}]}'
	has answer "\"data\":[$3]"
}
for i in 1 2 3 4 5 6 7 8; do
	predict $i y $i
	predict $i z $i
	predict $i w $((2 * i))
done
curl -sS -o long "$url/v2/models/count/infer" \
	-d '{"inputs":[{"name":"n","datatype":"INT32","shape":[],"data":[1024]}],"outputs":[{"name":"y"}]}' &
client=$!
running() { # COUNT
	curl -sS "$url/metrics" | grep -q "^dfg_steps_running $1\$"
}
within running 1
ask 200 "$url/v2"
[ ! -s long ]
kill "$client"
within running 0
predict 9 w 18
stop
