# The time of a character of a story (examples/story.dfg): streamed by a model server to one client, and by `dfg run`. The
# weights do not matter. Both are the best of five rounds, in turn.
DFG=$(realpath "${DFG:-build/dfg}")
examples=$(realpath "$(dirname "$0")/../examples")
cd "$(mktemp -d "${SCRATCH:-/tmp}/stream.XXXXXX")" || exit 1
characters=4000
"$DFG" build "$examples/story.dfg" -o story.pb
feeds="--feed prompt=string[]:This --feed characters_wanted=$characters --feed temperature=1 --feed top_k=10 --feed seed=i64[]:1"
"$DFG" run story.pb $feeds --fetch story --save w.safetensors >first
sed "s/\[500\]/[$characters]/; s/This License/This/" "$examples/serve/story.json" >request.json
"$DFG" serve story.pb --load w.safetensors --fetch story --threads 1 --port 0 >hello &
server=$!
while [ ! -s hello ]; do sleep 0.1; done
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' hello)
for round in 1 2 3 4 5; do
	curl -sSN -o events -w '%{time_total}\n' "$url/stream" -d @request.json >>streamed
	[ "$(grep -c '^data' events)" = $((characters + 1)) ] || exit 1
	"$DFG" run story.pb --load w.safetensors $feeds --fetch story --threads 1 --repeat 3 --json >run.json 2>stats
	sed 's/.*"p10_us":\([0-9.]*\).*/\1/' run.json >>run
done
kill "$server"
wait "$server"
stream=$(sort -g streamed | awk -v n=$characters 'NR == 1 {print 1e6 * $1 / n}')
run=$(sort -g run | awk -v n=$characters 'NR == 1 {print $1 / n}')
printf 'story, a character of a stream\t%s\nstory, a character of dfg run\t%s\nstory, stream to run\t%s\n' "$stream" "$run" \
	"$(awk "BEGIN {print $stream / $run}")"
