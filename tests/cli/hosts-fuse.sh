# Across workers an optimizer's step is one op too, wherever its variable stands, and the bits are those of one process.
status() { # WANTED COMMAND...
	wanted=$1
	shift
	got=0
	"$@" >out 2>err || got=$?
	[ "$got" = "$wanted" ] || { echo "status $got, not $wanted: $*"; cat err; exit 1; }
}
cat >net.dfg <<'P'
input x: f32[batch, 6]
input t: f32[batch, 3]
h = tanh(dense(16)(x))
y = dense(3)(h)
output loss = mean((y - t) ** 2)
P
cat >data.dfg <<'P'
x = sin(f32(reshape(range(192), [32, 6])))
output x = x
output t = cos(x[:, 0:3] * 2.0)
P
status 0 "$DFG" build net.dfg -o net.pb
status 0 "$DFG" run data.dfg --fetch x,t -o data.npz
train() { # WEIGHTS OPTIONS...
	saved=$1
	shift
	status 0 "$DFG" run train.pb --data x=@data.npz[x] --data t=@data.npz[t] --batch 8 --epochs 3 --target train --fetch loss \
		--save "$saved" "$@"
}
ops() { # OP: how often the trace has it
	grep -o "\"$1\"" trace.json | wc -l
}
for rule in 'sgd(lr=0.05) GradientDescent' 'momentum(lr=0.05) Momentum' 'adam(lr=0.01) Adam' 'rmsprop(lr=0.01) RMSProp'; do
	op=ResourceApply${rule#* }
	status 0 "$DFG" grad net.pb --loss loss --optimizer "${rule% *}" -o train.pb
	train one.npz --trace trace.json
	once=$(ops "$op")
	[ "$once" -ge 4 ] || { echo "$op is not run in one process"; exit 1; }
	for place in 'y/*=w1' 'h/*=w1' random:3; do
		train two.npz --hosts local:2 --place "$place" --trace trace.json
		cmp one.npz two.npz || { echo "$rule, $place"; exit 1; }
		[ "$place" = random:3 ] || [ "$(ops "$op")" = "$once" ] || { echo "$rule, $place: $op $(ops "$op") of $once times"; exit 1; }
	done
	train two.npz --hosts local:2 --place 'y/*=w1' --no-opt --trace trace.json
	cmp one.npz two.npz
	[ "$(ops "$op")" = 0 ]
done
