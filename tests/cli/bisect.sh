# dfg bisect: the node at which two builds or machines differ, and the pass that changes results.
. "$ROOT/tests/cli/kit"
cat >net.dfg <<'END'
input x: f32[batch, 4]
h = dense(3)(x)
g = tanh(h)
k = batch_norm()(dense(2)(g))
output y = softmax(k)
output s = sum(g)
END
"$DFG" build net.dfg -o net.pb
"$DFG" run -q net.pb --feed x=ones:f32[2,4] --save w.safetensors >/dev/null

# Another build: one that computes tanh of another number. It is this one, on a graph that it changes first.
cat >other <<'END'
#!/bin/sh
# run -q G OPTIONS...
graph=$3
shift 3
sed 's/tanh(h)/tanh(h * 1.01)/' "${graph%.pb}.dfg" >changed.dfg
exec "$DFG" run -q changed.dfg "$@"
END
chmod +x other
export DFG
status 0 "$DFG" bisect net.pb --with "$DFG"
[ ! -s out ]
status 0 "$DFG" bisect net.pb --with "$DFG" --load w.safetensors --seed 4 --feed x=normal:f32[3,4]:seed=1
status 1 "$DFG" bisect net.pb --with ./other
[ "$(sed -n 1p out)" = 'the programs differ' ]
sed -n 2p out | grep -q "^node 'g' (Tanh): " || { cat out; exit 1; }
has out "result 'y': "
status 0 "$DFG" bisect net.pb --with ./other --rtol 0.5 --atol 0.5

# Both run under the same options.
cat >same <<'END'
#!/bin/sh
printf '%s\n' "$*" >>words
exec "$DFG" "$@"
END
chmod +x same
given='--threads 1 --seed 4 --denormals keep --no-opt --no-compiled-loops --exact-conv --max-iterations 9 --schedule random:3'
# shellcheck disable=SC2086
status 0 "$DFG" bisect net.pb --with ./same $given
for option in '--threads 1' '--seed 4' '--denormals keep' --no-opt --no-compiled-loops --exact-conv '--max-iterations 9' \
	'--schedule random:3'; do
	has words " $option "
done

# A worker is another machine.
status 0 "$DFG" bisect net.pb --hosts local:1

# Passes: folding keeps every bit; folding a batch norm into weights does not, and its tolerance decides.
"$DFG" opt net.pb --freeze --load w.safetensors -o frozen.pb 2>/dev/null
status 0 "$DFG" bisect frozen.pb --passes all
status 1 "$DFG" bisect frozen.pb --passes fold,batch-norm,prune
[ "$(sed -n 1p out)" = "pass 'batch-norm' changes the results" ]
status 0 "$DFG" bisect frozen.pb --passes fold,batch-norm,prune --rtol 1e-4 --atol 1e-6

# A node that sets the variables is kept by each pass, and so are the results beside it.
cat >init.dfg <<'END'
param w: f32[2] = ones([2])
input x: f32[2]
output y = w * x + (1 + 2)
output z = w - x
END
"$DFG" build init.dfg -o init.pb
"$DFG" convert init.pb --to pbtxt | sed 's/_dfg_output/_other/' >undeclared.pbtxt
"$DFG" convert undeclared.pbtxt -o undeclared.pb
for graph in init.pb undeclared.pb; do
	status 0 "$DFG" bisect $graph --passes all --init w/assign
	status 0 "$DFG" bisect $graph --passes prune,fold --init w/assign -f y
done
status 65 "$DFG" bisect init.pb --passes prune --init w/assing
has err "--init w/assing: init.pb: no node 'w/assing'; did you mean 'w/assign'?"

status 2 "$DFG" bisect net.pb
status 2 "$DFG" bisect net.pb --passes fold --hosts local:1
status 2 "$DFG" bisect net.pb --passes nothing
has err "unknown pass 'nothing'"
status 66 "$DFG" bisect net.pb --with ./no-such-program
status 69 "$DFG" bisect net.pb --with false
# Another program than dfg may write nothing, or anything.
status 69 "$DFG" bisect net.pb --with true
has err 'true run net.pb: ended with status 0, but did not write the file that -o names'
writes() { # FILE: a program that writes it to the path after -o
	printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncat %s >"$2"\n' "$PWD/$1" >writer
	chmod +x writer
}
"$DFG" convert w.safetensors -o others.npz
echo noise >noise.txt
writes others.npz
status 69 "$DFG" bisect net.pb --with ./writer
has err "./writer run net.pb: its results do not include 'y'"
writes noise.txt
status 65 "$DFG" bisect net.pb --with ./writer
has err './writer run net.pb: its results: '
mkdir temporary
TMPDIR=$PWD/temporary "$DFG" bisect frozen.pb --passes all
TMPDIR=$PWD/temporary "$DFG" bisect net.pb --with "$DFG"
[ -z "$(ls temporary)" ]

# A signal that ends it ends the other program, and no file is left.
cat >waits <<'END'
#!/bin/sh
echo $$ >waiting
exec sleep 600
END
chmod +x waits
for signal in INT TERM HUP; do
	rm -f waiting
	# A command in the background has INT ignored, unless something sets it back.
	TMPDIR=$PWD/temporary python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$DFG" bisect net.pb --with ./waits &
	pid=$!
	within test -s waiting
	kill -$signal $pid
	got=0
	wait $pid || got=$?
	[ $got = $((128 + $(kill -l $signal))) ]
	within gone "$(cat waiting)"
	[ -z "$(ls temporary)" ]
done
