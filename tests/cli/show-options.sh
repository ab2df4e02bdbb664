# dfg show: an option that a file's content has no use for is an error, never ignored; of the forms one can be given.
. "$ROOT/tests/cli/kit"

cp "$ROOT/examples/line.csv" "$ROOT/examples/line.dfg" .
"$DFG" build line.dfg -o line.pb
"$DFG" grad line.pb --loss loss --optimizer 'sgd(lr=0.1)' -o step.pb
"$DFG" run step.pb -q --data 'x=@line.csv[x]' --data 'y=@line.csv[y]' --batch 2 --steps 2 --target train --checkpoint ck \
	--metrics m.jsonl --save w.npz --fetch loss >loss
"$DFG" run line.pb -q --load w.npz --feed x=f64[2]:1,2 --fetch guess -o a.npy
"$DFG" partition line.pb --hosts local:2 -o plan
is_refused() { # FILE CONTENT OPTION...
	file=$1 content=$2
	shift 2
	status 65 "$DFG" show "$file" "$@"
	has err "$file: $1 does not apply to $content"
}

for file in a.npy w.npz 'w.npz[slope]' line.csv; do is_refused "$file" 'a file of arrays' --svg; done
is_refused 'w.npz[slope]' 'a file of arrays' --tree
for option in --tree --text --dot --svg; do
	is_refused ck 'a checkpoint' $option
	is_refused ck/step-2 'a checkpoint' $option
	is_refused std:nn 'text of the library' $option
done
is_refused std:nn 'text of the library' --node relu
is_refused std:nn 'text of the library' --head 3
for file in line.pb line.dfg - /dev/stdin; do is_refused $file 'a graph' --head 3 <line.pb; done
is_refused plan 'a plan' --head 3
is_refused m.jsonl 'a file of metrics' --head 3
is_refused m.jsonl 'a file of metrics' --node loss

# Nothing is printed for any file if an option does not apply to one of them.
status 65 "$DFG" show a.npy line.pb --head 1
has err 'line.pb: --head does not apply to a graph'

# Two forms at once.
for pair in '--tree --text' '--text --dot' '--dot --svg' '--tree --node guess' '--svg --node guess'; do
	# shellcheck disable=SC2086
	status 2 "$DFG" show line.pb $pair
	has err "$(echo "${pair% guess}" | sed "s, --, and --,") cannot be combined"
done
