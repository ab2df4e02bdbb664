# examples/story.dfg: a transformer that continues a text, trained by make, and streamed a character an event.
. "$ROOT/tests/cli/kit"
. "$ROOT/tests/cli/serve_kit"

cp -r "$ROOT/examples" here
make -s -C here story STEPS=40 DFG="$DFG" TEXT="$ROOT/ARCHITECTURE.md" >made 2>&1 || { cat made; exit 1; }
[ -z "$(make -s -C here story STEPS=40 DFG="$DFG" TEXT="$ROOT/ARCHITECTURE.md" 2>&1)" ] || { echo "made again"; exit 1; }
# It has learned something: as many characters as possible, all equally probable, would be 4.85.
awk '/^loss/ {exit !($NF < 4)}' made || { cat made; exit 1; }


tell() { # PROMPT COUNT TEMPERATURE SEED: the story of `dfg run`, a character a line, as in JSON
	"$DFG" run here/build/story.pb --load here/build/story.safetensors --feed prompt="string[]:$1" --feed characters_wanted="$2" \
		--feed temperature="$3" --feed top_k=5 --feed seed="$4" --fetch story --json >story.json
	python3 -c 'import json; print(*map(repr, json.load(open("story.json"))["results"]["story"]["value"]), sep="\n")'
}
request() { # COUNT TEMPERATURE SEED
	cat <<-J
		{"inputs":[{"name":"prompt","datatype":"BYTES","shape":[],"data":["Permission"]},
		{"name":"characters_wanted","datatype":"INT32","shape":[],"data":[$1]},
		{"name":"temperature","datatype":"FP32","shape":[],"data":[$2]},
		{"name":"top_k","datatype":"INT32","shape":[],"data":[5]},
		{"name":"seed","datatype":"INT64","shape":[],"data":[$3]}]}
	J
}
heard() { # the same of the events in the file answer
	sed -n 's/^data: //p' answer | python3 -c 'import json, sys
for line in sys.stdin:
    for output in json.loads(line)["outputs"]:
        print(repr(output["data"][0]))'
}

# The stream has the characters of `dfg run`, of which there may be more than the cache holds.
start here/build/story.pb --load here/build/story.safetensors --fetch story
ask 200 "$url/stream" -d "$(request 150 0 1)"
heard >streamed
tell Permission 150 0 1 >run
cmp streamed run
[ "$(wc -l <run)" = 150 ]
# With a temperature the seed decides.
ask 200 --http2-prior-knowledge "$url/stream" -d "$(request 60 1 7)"
heard >seven
tell Permission 60 1 7 | cmp - seven
ask 200 "$url/stream" -d "$(request 60 1 8)"
heard >eight
never cmp -s seven eight
stop

# The cache holds what the model would compute again: a prompt with the first characters continues in the same way.
story=$(python3 -c 'import ast; print("".join(ast.literal_eval(line) for line in open("seven"))[:30], end="x")')
tell "Permission${story%x}" 20 1 7 >rest
sed -n 31,50p seven | cmp - rest
[ "$(sort -u rest | wc -l)" -gt 4 ]
