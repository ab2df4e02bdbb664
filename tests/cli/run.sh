# dfg run: feeds, results, training, checkpoints, signals. Its numbers come from the closed form of linear regression.
. "$ROOT/tests/cli/kit"
same() { # FILE, then its text on stdin
	cat >want
	cmp -s "$1" want || { echo "$1 differs:"; diff "$1" want; exit 1; }
}

g=$ROOT/tests/graphs/linear.pbtxt

# Results. b begins as 0.5 and w as 2 b, so y = x1 + x2 + 0.5.
status 0 "$DFG" run "$g" --feed 'x=f32[2,2]:1,2,3,4'
same out <<'END'
prediction: f32[2,1]
3.5
7.5
END
status 0 "$DFG" run "$g" --feed 'x=f32[1,2]:1,2' --fetch y:0,b/read --json
same out <<'END'
{"results":{"y:0":{"dtype":"f32","shape":[1,1],"value":[[3.5]]},"b/read":{"dtype":"f32","shape":[],"value":0.5}}}
END
status 0 "$DFG" run "$g" --feed y=zeros:f32[3,1] --feed t=ones:f32[3,1] --fetch loss
same out <<'END'
loss: f32[] 1
END
status 0 "$DFG" run "$g" --feed 'x=f32[1,2]:1,2' -o r.npz
status 0 "$DFG" run "$g" --feed 'x=f32[1,2]:1,2' -o -
cp out r.npy
status 0 "$DFG" run "$g" --feed 'x=f32[1,2]:1,2' --feed y=@r.npy --fetch d --feed t=@r.npz[prediction]
same out <<'END'
d: f32[1,1]
0
END

# Wrong options and values are refused by name.
status 2 "$DFG" run "$g" --fetch y -o r.txt --feed 'x=f32[1,2]:1,2'
status 65 "$DFG" run "$g"
has err "'x'"
status 65 "$DFG" run "$g" --fetch predicton
has err "did you mean 'prediction'?"
status 65 "$DFG" run "$g" --fetch y:1
has err "there is no tensor 'y:1': the number of outputs of node 'y' (Add) is 1"
status 65 "$DFG" run "$g" --feed 'x=f32[2]:1,2'
has err "'x' is f32[2], must be f32[?,2]"
status 65 "$DFG" run "$g" --feed 'x=i32[1,2]:1,2'
has err "'x' is i32[1,2], must be f32[?,2]"
status 65 "$DFG" run "$g" --feed train/lr=fast --target train
has err "feed 'train/lr': f32 cannot hold 'fast'"
status 66 "$DFG" run "$g" --feed x=@missing.npy
status 66 "$DFG" run missing.pb
status 2 "$DFG" run "$g" --resume
has err "--resume requires --checkpoint"
status 78 "$DFG" run "$g" --device cuda:0 --feed 'x=f32[1,2]:1,2'
status 74 sh -c '"$0" run "$1" --feed x=ones:f32[1,2] >/dev/full' "$DFG" "$g"

# Data: t = 3 x1 - x2 + 1, without noise.
awk 'BEGIN { srand(1); for (i = 0; i < 100; i++) { a = rand() - 0.5; b = rand() - 0.5; print a "," b >"x.csv"; print 3 * a - b + 1 >"t.csv" } }'
python3 - <<'END'
import struct
def npy(name, rows, shape):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (117 - len(head)) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in rows:
            f.write(struct.pack("<%df" % len(row), *row))
for name, width in (("x", 2), ("t", 1)):
    rows = [[float(v) for v in line.split(",")] for line in open(name + ".csv")]
    npy(name + ".npy", rows, (len(rows), width))
npy("short.npy", [[0.0]] * 99, (99, 1))
END
train() { # OPTIONS: what all trainings share
	"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --batch 16 --target train --fetch loss --feed train/lr=0.05 "$@"
}
status 0 train --epochs 60 --metrics m.jsonl --save w.safetensors
[ "$(wc -l <m.jsonl)" = 420 ]
has m.jsonl '{"step":1,"epoch":1,"loss":'
has m.jsonl '{"step":420,"epoch":60,"loss":'
cp m.jsonl whole.jsonl
cp w.safetensors whole.safetensors
status 0 "$DFG" run "$g" --load w.safetensors --feed 'x=f32[2,2]:1,0,0,1' --fetch y,count/read
awk 'NR == 2 && ($1 < 3.99 || $1 > 4.01) || NR == 3 && ($1 * $1 > 0.0001) { exit 1 }' out
has out 'count/read: i64[] 420'
status 0 train --epochs 60 --no-shuffle --save other.safetensors
status 1 cmp w.safetensors other.safetensors
status 0 train --steps 3 --metrics m.jsonl
[ "$(wc -l <m.jsonl)" = 3 ]
status 0 train --drop-last --metrics m.jsonl
[ "$(wc -l <m.jsonl)" = 6 ]

status 65 "$DFG" run "$g" --data x=@x.npy --data t=@short.npy --target train
has err "x.npy has 100 samples, but short.npy has 99"
status 65 "$DFG" run "$g" --data x=@t.npy --data t=@t.npy --target train
has err "t.npy holds samples of f32[?,1], but 'x' is f32[?,2]"
status 65 "$DFG" run "$g" --data x=@x.csv --data t=@t.npy --target train
has err "x.csv holds samples of f64[?,2], but 'x' is f32[?,2]"
status 65 train --batch 101 --drop-last
has err "--drop-last leaves no batch: the number of samples is 100, the batch size 101"
status 2 "$DFG" run "$g" --target train --steps
status 73 train --metrics /nonexistent/m.jsonl
status 74 train --metrics /dev/full
status 73 train --metrics never.jsonl --save /nonexistent/w.safetensors
[ ! -e never.jsonl ]

# Inference over a file: joined along axis 0, scalars as their mean.
status 0 "$DFG" run "$g" --load w.safetensors --data x=@x.npy --data t=@t.npy --batch 7 --fetch prediction,loss -o p.npz
status 0 "$DFG" run "$g" --load w.safetensors --feed x=@x.npy -o q.npz
status 0 "$DFG" run "$g" --feed y=@p.npz[prediction] --feed t=@q.npz[prediction] --fetch loss
has out 'loss: f32[] 0'

# Evaluation after each epoch.
status 0 train --epochs 2 --metrics m.jsonl --eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss
has err 'epoch 2: loss '
[ "$(grep -c '{"epoch":[12],"eval":{"loss":' m.jsonl)" = 2 ]
[ "$(wc -l <m.jsonl)" = 16 ]
status 0 train --epochs 1 --metrics m.jsonl --eval-graph "$g" --eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss
one=$(tail -1 m.jsonl)
status 0 train --epochs 1 --metrics m.jsonl --eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss
[ "$one" = "$(tail -1 m.jsonl)" ]
status 2 train --eval-data x=@x.npy

# Checkpoints: cut anywhere, the same command with --resume ends bit for bit where the whole run did.
for stop in 1 7 8 100 419; do
	rm -rf ck m.jsonl
	status 0 train --steps $stop --checkpoint ck --every 5 --metrics m.jsonl
	status 73 train --epochs 60 --checkpoint ck
	has err 'ck holds checkpoints'
	status 0 train --epochs 60 --checkpoint ck --resume --metrics m.jsonl --save w.safetensors
	has err "resumed at step $stop"
	cmp w.safetensors whole.safetensors
	cmp m.jsonl whole.jsonl
done
status 0 train --epochs 60 --checkpoint ck --resume --save w.safetensors
cmp w.safetensors whole.safetensors
ls -d ck/step-420 >/dev/null
[ "$(find ck -name 'step-*' | wc -l)" -le 5 ]
status 0 "$DFG" run "$g" --load ck/ --feed 'x=f32[1,2]:1,0' --fetch count/read
has out 'count/read: i64[] 420'
mkdir ck/step-7
echo precious >ck/step-7/notes.txt
ls -R ck >before
status 73 train --steps 2 --checkpoint ck --force
has err "ck/step-7: holds 'notes.txt', which is not part of a checkpoint"
ls -R ck | cmp - before
[ "$(cat ck/step-7/notes.txt)" = precious ]
rm -r ck/step-7
mkdir ck/step-7.tmp-1
echo precious >ck/step-7.tmp-1/notes.txt
status 73 train --steps 2 --checkpoint ck --force
[ "$(cat ck/step-7.tmp-1/notes.txt)" = precious ]
rm -r ck/step-7.tmp-1
status 0 train --steps 2 --checkpoint ck --force
status 0 "$DFG" run "$g" --load ck --feed 'x=f32[1,2]:1,0' --fetch count/read
has out 'count/read: i64[] 2'
status 0 train --steps 5 --checkpoint new --resume --keep 0 --every 1
[ "$(find new -name 'step-*' | wc -l)" = 5 ]
printf x | dd of=new/step-5/data.safetensors bs=1 seek=200 conv=notrunc 2>/dev/null
status 0 "$DFG" run "$g" --load new --feed 'x=f32[1,2]:1,0' --fetch count/read
has out 'count/read: i64[] 4'
has err 'step-5'

# Loading under other names, and what is missing.
status 65 "$DFG" run "$g" --load w.safetensors --map 'w=b' --feed 'x=f32[1,2]:1,0' --fetch y
has err "'b'"
status 65 "$DFG" run "$g" --load x.npy --feed 'x=f32[1,2]:1,0'
has err "has no array for any variable of the graph"

# A signal: the step is finished, the checkpoint written.
"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --target train --epochs 100000000 --checkpoint long --every 1000000000 >out 2>err &
pid=$!
sleep 1
kill -TERM $pid
got=0
wait $pid || got=$?
[ $got = 75 ]
has err 'stopped by SIGTERM after step'
ls -d long/step-* >/dev/null
"$DFG" run "$g" --data x=@x.npy --data t=@t.npy --target train --epochs 100000000 >out 2>err &
pid=$!
sleep 1
kill -TERM $pid
got=0
wait $pid || got=$?
[ $got = 143 ]

# A stream: one result for each array, at once.
cat r.npy r.npy | "$DFG" run "$g" --each y=@- --feed t=zeros:f32[1,1] --fetch d2 >out
same out <<'END'
d2: f32[1,1]
12.25
d2: f32[1,1]
12.25
END

# Events go to the file as they come: 20,000 iterations are more than the memory. A run that fails leaves no file.
cat >count.dfg <<'END'
input n: i32
y = loop (h = 0.0) for i in 0..n { next h + 1.0 }
output y
END
status 0 "$DFG" run count.dfg --feed n=20000 --fetch y --trace many.json --memory-limit 8Mi
[ "$(wc -c <many.json)" -gt 8388608 ]
tail -c 30 many.json | grep -q '"displayTimeUnit"'
status 65 "$DFG" run count.dfg --feed n=20000 --fetch y --trace none.json --max-iterations 100
[ ! -e none.json ]

# A yield of scalars needs little more than the scalars.
cat >yields.dfg <<'END'
input n: i32
h, all = loop (h = 0.0) for i in 0..n {
	yield h
	next h + 1.0
}
output last = all[n - 1]
END
status 0 "$DFG" run yields.dfg --feed n=100000 --fetch last --memory-limit 16Mi
has out 'last: f32[] 99999'

# Timing and traces.
status 0 "$DFG" run "$g" --feed 'x=f32[1,2]:1,0' --repeat 3 --warmup 2 --stats --json
has err 'median_us '
has err 'peak_bytes '
python3 -c 'import json; d = json.load(open("out")); assert set(d) == {"results", "timing", "stats"}, d'
status 0 "$DFG" run "$g" --feed 'x=f32[1,2]:1,0' --trace t.json
python3 - <<'END'
import json
events = json.load(open("t.json"))["traceEvents"]
assert any(e["name"] == "y" and e["args"] == {"op": "Add", "frame": "", "iteration": [], "dead": False} for e in events), events
END
