# Finding 45: a command that has too few descriptors ends with 71, or does its work; whichever file or socket it misses.
. "$ROOT/tests/cli/kit"
cat >a.dfg <<'PROGRAM'
param w: f64[4] = zeros
input x: f64[4]
output y = x + w
target go { set w = w + x }
PROGRAM
"$DFG" build a.dfg -o a.pb
feed=x=f64[4]:1,2,3,4
"$DFG" run a.pb --feed "$feed" --target go --steps 2 --checkpoint ck --save w.npz >/dev/null
"$DFG" run a.pb --feed "$feed" --fetch y -o y.npz

few() { # COMMAND... (with 3 no library can be loaded)
	for most in 4 5 6 8 10; do
		got=0
		bash -c 'ulimit -n "$0"; exec "$@"' "$most" "$DFG" "$@" >/dev/null 2>err || got=$?
		case $got in 0 | 71) ;; *) echo "status $got with $most descriptors: $*"; cat err; exit 1; ;; esac
	done
}
few run a.pb --feed "$feed" --fetch y -o z.npz --load w.npz
few run a.pb --feed "$feed" --target go --steps 2 --checkpoint ck2 --force --metrics m.jsonl
few run a.pb --feed "$feed" --target go --steps 4 --checkpoint ck --resume --metrics m.jsonl
few show ck
few show y.npz
few build a.dfg -o b.pb -MD
few diff y.npz y.npz
# A library that no descriptor is left for is not a missing package.
got=0
bash -c 'ulimit -n 4; exec "$0" serve a.pb --listen 127.0.0.1:0' "$DFG" >/dev/null 2>err || got=$?
[ "$got" = 71 ] || { echo "status $got of a server with 4 descriptors"; cat err; exit 1; }
# Workers have as few: at 16 the memory that a peer shares, or the socket to it, is what no descriptor is left for.
for transport in shm libcurl; do
	for most in 12 16 18; do
		got=0
		bash -c 'ulimit -n "$0"; exec "$@"' "$most" "$DFG" run a.pb --feed "$feed" --fetch y --hosts local:2 \
			--transport "$transport" >/dev/null 2>err || got=$?
		case $got in 0 | 71) ;; *) echo "status $got with $most descriptors over $transport"; cat err; exit 1; ;; esac
	done
done
