# Input that is mistaken or malicious: numbers out of range, malformed files, full disks, kills.
# Allocations that are too large fail under a sanitizer as they do without it.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}allocator_may_return_null=1"
. "$ROOT/tests/cli/kit"
status() { # WANTED COMMAND...
	wanted=$1
	shift
	got=0
	timeout 20 "$@" >out 2>err </dev/null || got=$?
	[ "$got" = "$wanted" ] || { echo "status $got, not $wanted: $*"; cat err; exit 1; }
	[ "$wanted" = 0 ] || [ ! -s out ] || { echo "a run that fails printed: $*"; cat out; exit 1; }
}
g=$ROOT/tests/graphs/linear.pbtxt
run() { # STATUS OPTIONS...: a graph that is fed
	wanted=$1
	shift
	status "$wanted" "$DFG" run "$g" --feed 'x=f32[1,2]:1,2' "$@"
}

# Options: values that are not numbers or are out of range, and options without the one that they require.
for option in '--batch 0' '--batch -1' '--steps -1' '--epochs -1' '--epochs 0' '--keep -1' '--repeat 0' '--repeat -1' \
	'--warmup -1' '--threads -1' '--threads 99999' '--seed -1' '--seed 99999999999999999999' '--timeout -1' '--timeout nan' \
	'--max-iterations -1' '--memory-limit -1' '--memory-limit nan' '--memory-limit 1Zi' '--schedule random:' \
	'--schedule often' '--color maybe' '--map a=b' '--eval-fetch loss' '--eval-data x=@x.npy' '--eval-graph g.pb' \
	'--every 3' '--resume' '--force' '--each y=@x.npy' '-o x.txt' '--save x.txt' '--data x=3' '-o'; do
	# shellcheck disable=SC2086
	run 2 $option
done
for every in 0 -1 x 0s 5m nans; do
	run 2 --every "$every" --checkpoint ck --steps 1
done
run 71 --memory-limit 1
run 71 --memory-limit 100K
run 0 --timeout 1e300
[ ! -e ck ]

# Values of the options of a distributed run that are refused.
for option in '--hosts local:0' '--hosts local:x' '--hosts ,' '--hosts local:2 --transport tcp' '--hosts local:2 --lease -1' \
	'--hosts local:2 --lease 1e9' '--restarts -1' '--transport shm' '--lease 3' '--push' '--ssh-config x' '--place y=w0'; do
	# shellcheck disable=SC2086
	run 2 $option
done
run 65 --hosts local:2 --place '*=w2'
run 66 --hosts ./nowhere

# Feeds and fetches: type, shape, name, size.
for feed in y= 'y=f32[2,1]:1' 'y=f32[-1,1]:1' 'y=zeros:f99[1]' 'y=f32[1,1]:abc' 'y=zeros:f32[1]' 'y=zeros:i32[1,1]' =3; do
	run 65 --feed "$feed"
done
run 65 --feed yy=3
has err "did you mean 'y'?"
run 66 --feed y=@
run 65 --feed 'y=zeros:f32[4294967296,4294967296]'
run 71 --feed 'y=zeros:f32[1000000000000,1]'
for fetch in y:-1 y:1 y:99999999999999 ^y nope; do
	run 65 --fetch "$fetch"
done
run 65 --fetch loss
has err "node 't' (Placeholder): must be fed"
run 65 --init nope
run 65 --feed 'y=f32[1,1]:nan' --feed 'x=f32[1,2]:nan,1' --check-numerics --fetch d --feed 't=zeros:f32[1,1]'
run 0 --feed 'x=f32[1,2]:nan,-inf'
has out nan

# Outputs that cannot be made or written; nothing is left, and stdout is empty.
run 73 -o none/y.npz
run 73 --save none/w.npz
run 73 --trace none/t.json
run 74 --trace /dev/full
mkdir folder.npz
run 73 -o folder.npz
[ "$(find . -name '*.npz' ! -name folder.npz | wc -l)" = 0 ]
for line in "run $g --feed x=ones:f32[1,2]" "show $g" "ops" "help" "version" "convert $g" "fmt $ROOT/examples/mlp.dfg" \
	"build $ROOT/examples/mlp.dfg" "grad $g --of loss --wrt x" "opt $g --fetch loss" "test $ROOT/tests/cases/ops/Any"; do
	# shellcheck disable=SC2086
	status 74 bash -c '"$DFG" "$@" >/dev/full' _ $line
	# shellcheck disable=SC2086
	status 74 bash -c '"$DFG" "$@" >&-' _ $line
done

# Inputs: pipes are read like stdin; directories and files that cannot be read are errors that name them.
convert=$(mktemp -u ./pipe.XXXX)
mkfifo "$convert"
for command in show 'check' 'convert -o p.pb' 'show --json' 'run --feed x=ones:f32[1,2]'; do
	cat "$g" >"$convert" &
	# shellcheck disable=SC2086
	status 0 "$DFG" $command "$convert"
	wait
done
status 0 bash -c '"$DFG" diff <(cat "$0") "$0"' "$g"
: >empty
for command in show check convert run 'opt --fetch y' 'grad --of y --wrt x'; do
	# shellcheck disable=SC2086
	status 65 "$DFG" $command empty
	# shellcheck disable=SC2086
	status 66 "$DFG" $command missing
done
status 65 "$DFG" diff empty "$g"
run 65 --feed y=@empty
run 65 --load empty
status 66 "$DFG" -C missing ops
if [ "$(id -u)" != 0 ]; then
	cp "$g" closed.pbtxt
	chmod 0 closed.pbtxt
	status 66 "$DFG" show closed.pbtxt
fi

# Limits: the deadline names the node, memory what was asked for; neither leaves a file.
printf 'input x: f32[n, n]\noutput y = %s\n' "x$(printf ' @ x%.0s' 1 2 3 4 5 6 7 8 9)" >big.dfg
status 0 "$DFG" build big.dfg -o big.pb
status 124 "$DFG" run big.pb --feed x=zeros:f32[1500,1500] --timeout 0.01 -o y.npy
has err '(MatMul): the step took longer than 0.01 s'
status 71 "$DFG" run big.pb --feed x=zeros:f32[1500,1500] --memory-limit 20M -o y.npy
has err 'no memory for a step of'
[ ! -e y.npy ]
mkdir hollow
run 65 --load hollow
has err 'holds no checkpoint'

# Names are said without signs that would steer a terminal.
printf 'node { name: "a\\033[31mb" op: "NoOp" }' >red.pbtxt
status 65 "$DFG" check red.pbtxt
never grep -q "$(printf '\033')" err
run 65 --fetch "$(printf '\033[31m')"
never grep -q "$(printf '\033')" err

# Training: kills at any moment leave checkpoints that resume to the end that an unbroken run has.
status 0 "$DFG" run "$g" --feed x=normal:f32[64,2]:seed=1 --feed t=normal:f32[64,1]:seed=2 --fetch x,t -o d.npz
training=("$DFG" run "$g" --data 'x=@d.npz[x]' --data 't=@d.npz[t]' --batch 8 --target train --fetch loss)
"${training[@]}" --steps 4000 --save whole.safetensors >/dev/null
mkdir ck
"${training[@]}" --steps 1 --checkpoint ck --resume >/dev/null 2>&1
for pause in 0.02 0.05 0.08 0.1 0.13; do
	"${training[@]}" --steps 4000 --checkpoint ck --every 1 --resume >/dev/null 2>&1 &
	pid=$!
	sleep $pause
	kill -9 $pid 2>/dev/null || true
	wait $pid 2>/dev/null || true
done
"${training[@]}" --steps 4000 --checkpoint ck --every 1000 --resume --save w.safetensors >/dev/null 2>err
cmp w.safetensors whole.safetensors
[ "$(find ck -name 'step-*' | wc -l)" -le 5 ]
got=0
"${training[@]}" --steps 4 --checkpoint ck >out 2>err || got=$?
[ $got = 73 ]
got=0
"${training[@]}" --steps 4 --checkpoint /proc/none >out 2>err || got=$?
[ $got = 73 ]

# The second signal ends at once; a signal that was ignored stays ignored.
for signal in INT TERM; do
	env --default-signal=INT "$DFG" run "$g" --data 'x=@d.npz[x]' --data 't=@d.npz[t]' --target train --steps 1000000000 >out 2>err &
	pid=$!
	sleep 0.3
	kill -$signal $pid
	kill -$signal $pid 2>/dev/null || true
	got=0
	wait $pid || got=$?
	[ $got = 130 ] || [ $got = 143 ] || { echo "SIG$signal: status $got"; exit 1; }
	[ ! -s out ]
done

# A file of data that is emptied while a run has it mapped.
printf 'input x: f32[n]\nparam w: f32[] = zeros\noutput loss = mean((w - x) ** 2)\n' >m.dfg
status 0 "$DFG" grad m.dfg --loss loss --optimizer 'sgd(lr=0.1)' -o t.pb
"$DFG" run - -o x.npy <<'.'
output x = zeros([100000])
.
"$DFG" run t.pb --data x=@x.npy --batch 100 --target train --fetch loss --epochs 1000000 -q >cut 2>err &
sleep 1
: >x.npy
got=0
wait $! || got=$?
[ "$got" = 74 ] || { echo "status $got, not 74"; cat err; exit 1; }
has err 'was truncated while it was read'

# A case with a member that nobody knows tests nothing, nor does one that expects nothing or lets all pass.
mkdir -p odd/one
"$DFG" build m.dfg -o odd/one/graph.pb
while read -r json; do
	echo "$json" >odd/one/case.json
	got=0
	"$DFG" test -q odd >said || got=$?
	[ "$got" = 1 ] && grep -q 'case.json: ' said || { echo "$json: status $got, not 1"; cat said; exit 1; }
done <<'.'
{}
[]
{"steps": []}
{"steps": [{"fetch": ["loss"], "expects": "out.npz"}]}
{"steps": [{"feeds": "in.npz"}]}
{"steps": [{"fetch": ["loss"]}]}
{"steps": [{"fetch": [], "expect": "out.npz"}]}
{"steps": [{"fetch": ["loss"], "expect": "out.npz", "rtol": 1e999}]}
{"steps": [{"fetch": ["loss"], "expect": "out.npz", "atol": -1}]}
{"steps": [{"targets": ["loss"]}], "error": {"at": "nowhere"}}
.
