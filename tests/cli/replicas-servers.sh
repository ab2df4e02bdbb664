# Parameter servers: `--sync ps` keeps the variables on the hosts of job=ps. The bits are those of --shards in one process.
. "$ROOT/tests/cli/kit"

cat >fit.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = normal([2], deviation = 0.5)
param b: f32[] = zeros
state average: f32[2] = zeros
set average = 0.5 * average + 0.5 * mean(x, axis = 0)
output guess = sum(dropout(x, rate = 0.25, training = true) * w, axis = 1) + b
output loss = mean((guess - y) ** 2)
output least = sum(i32(guess < y))
.
"$DFG" build fit.dfg -o fit.pb
for rule in sgd momentum adam; do "$DFG" grad fit.pb --loss loss --optimizer "$rule(lr=0.125)" -o "$rule.pb"; done
numbers() { # COUNT FACTOR
	awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%.9g", i ? "," : "", (i * f + 1) % 97 / 7.3 - 3 }'
}
"$DFG" run fit.pb --feed "x=f32[42,2]:$(numbers 84 5)" --fetch x -o x.npy
"$DFG" run fit.pb --feed "y=f32[42]:$(numbers 42 31)" --fetch y -o y.npy
printf 'local:1\nlocal:1 job=ps\n' >one
printf 'local:2\nlocal:1 job=ps\n' >two
printf 'local:3\nlocal:2 job=ps\n' >three
train() { # GRAPH NAME OPTIONS...
	graph=$1
	name=$2
	shift 2
	status 0 timeout 100 "$DFG" run "$graph.pb" --data x=@x.npy --data y=@y.npy --target train --fetch loss,guess,least --batch 16 \
		--epochs 2 --metrics "$name.jsonl" --save "$name.safetensors" -o "$name.npz" --seed 7 "$@"
}
same() { # NAME NAME
	cmp "$1.jsonl" "$2.jsonl"
	cmp "$1.safetensors" "$2.safetensors"
	cmp "$1.npz" "$2.npz"
}

# 26. The same bits for every number of replicas and servers, transport and algorithm; dropout, moving averages, slots.
for rule in sgd momentum adam; do
	train "$rule" six --shards 6
	train "$rule" servers --shards 6 --hosts ./two --sync ps --replicas 2
	same six servers
done
train adam servers --shards 6 --hosts ./one --sync ps --replicas 1
same six servers
train adam servers --shards 6 --hosts ./three --sync ps
has err "3 replicas; --shards 6 computes the same with any number of them"
same six servers
train adam servers --shards 6 --hosts ./two --sync ps --replicas 2 --transport libcurl --bucket 0
same six servers
train adam servers --shards 6 --hosts ./two --sync ps --replicas 2 --algorithm direct --threads 1
same six servers

# A checkpoint of servers is resumed without them, and evaluation reads the servers' variables.
train adam whole --shards 2 --eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss
train adam part --shards 2 --steps 3 --checkpoint ck --hosts ./two --sync ps
train adam part --shards 2 --checkpoint ck --resume
cmp whole.safetensors part.safetensors
train adam servers --hosts ./two --sync ps --eval-data x=@x.npy --eval-data y=@y.npy --eval-fetch loss
same whole servers
train adam one --shards 2 --load part.safetensors
train adam servers --hosts ./two --sync ps --load part.safetensors
same one servers

# Variables are on the servers, each with its slots and its update; --place moves them to another server.
status 0 "$DFG" partition adam.pb --hosts ./three --sync ps --shards 6 --explain
on() { # NODE...: the devices
	for name; do awk -v n="$name" '$1 == n { print $2 }' out; done | sort -u
}
[ "$(on w train/w/m train/w/v train/w/update)" = w1 ] || { cat out; exit 1; }
[ "$(on b train/b/m train/b/v train/b/update)" = w2 ] || { cat out; exit 1; }
has out '6 shards on 3 replicas: servers add the gradients of the shards and update the variables'
status 0 "$DFG" partition adam.pb --hosts ./three --sync ps --shards 6 --explain --replicas 3 --place 'w=ps1'
[ "$(on w)" = w2 ]
train adam servers --shards 6 --hosts ./three --sync ps --replicas 3 --place 'b=ps0'
same six servers

# A plan of servers. Replicas send each other nothing.
"$DFG" partition adam.pb --hosts ./two --sync ps --shards 6 -o plan 2>err
status 0 timeout 100 "$DFG" run plan --data x=@x.npy --data y=@y.npy --target train --fetch loss,guess,least --batch 16 \
	--epochs 2 --metrics servers.jsonl --save servers.safetensors -o servers.npz --seed 7 --hosts ./two --sync ps --stats
same six servers
has err 'messages w2>w0'
has err 'messages w1>w2'
never grep -qE 'messages (w0>w1|w1>w0|w2>w2)' err

# A plan for these hosts that was not made for servers: its variable would not be that of all replicas.
"$DFG" partition adam.pb --hosts ./one --shards 6 --place '*=w1' --place 'w=w0' -o other
status 65 "$DFG" run other --data x=@x.npy --data y=@y.npy --target train --batch 16 --hosts ./two --sync ps
has err "node 'w' (VarHandleOp) is placed on w0, but with --sync ps the variables"

# A server that is killed ends the run.
cat >slow.dfg <<'.'
input x: f32[n, 2]
input y: f32[n]
param w: f32[2] = 0.5
output loss = mean((Dfg>Sleep(sum(x * w, axis = 1), ms = 20) - y) ** 2)
.
"$DFG" build slow.dfg -o slow.pb
"$DFG" grad slow.pb --loss loss --optimizer 'sgd(lr=0.001)' -o slow-train.pb
timeout 60 "$DFG" run slow-train.pb --data x=@x.npy --data y=@y.npy --target train --fetch loss --batch 10 --steps 1000 --epochs 1000 \
	--sync ps --hosts ./two --metrics slow.jsonl >out 2>err &
run=$!
within grep -qs '"step":3' slow.jsonl
launcher=$(cat "/proc/$run/task/$run/children")
for worker in $(cat "/proc/${launcher% }/task/"*/children); do
	! { tr '\0' ' ' <"/proc/$worker/cmdline"; } 2>gone | grep -q -- '--lanes 2' || kill -9 "$worker"
done
ended=0
wait "$run" || ended=$?
[ "$ended" = 69 ] || { echo "status $ended"; cat err; exit 1; }
grep -q 'w2: ended by signal 9' err

# Options and hosts that do not fit.
run() { # STATUS OPTIONS...
	wanted=$1
	shift
	status "$wanted" "$DFG" run adam.pb --data x=@x.npy --data y=@y.npy --target train --batch 16 "$@"
}
run 65 --hosts local:2 --sync ps
has err 'no host in --hosts has job=ps'
run 65 --hosts ./two --sync ps --replicas 3
has err '--hosts has 2 workers that are not parameter servers, expected a multiple of --replicas 3'
printf 'local:2 job=ps\n' >only
run 65 --hosts ./only --sync ps
has err 'all hosts in --hosts have job=ps: the replicas require hosts without it'
run 65 --hosts ./two --sync ps --replicas 2 --place 'w=w0'
has err "is placed on w0, but with --sync ps the variables"
run 2 --sync ps
has err '--sync ps requires --hosts'
run 2 --hosts ./two --sync fast
has err "--sync must be allreduce, quorum, ps, async or ssp, not 'fast'"
run 2 --hosts ./two --sync ps --replicas 2 --min-replicas 1
has err '--min-replicas cannot be used with --sync ps'

# Without --replicas: the hosts other than servers, divided by the workers that --place names.
printf 'local:4\nlocal:1 job=ps\n' >four
train adam two --shards 2
train adam servers --hosts ./four --sync ps --place 'guess*=w1'
has err '2 replicas; --shards 2 computes the same with any number of them'
same two servers
