# Finding 22: evaluations every N steps, early stopping and the best variables. A step makes w smaller by 1, so the evaluation
# after step k is (3.5 - k)^2: 6.25, 2.25, 0.25, 0.25, 2.25, 6.25, ...
. "$ROOT/tests/cli/kit"
cat >m.dfg <<'.'
input x: f32[?]
param w: f32[] = 0
output loss = w + mean(0 * x)
output gap = (w + 3.5) ** 2
output near = -gap
output pair = total([w, w])
.
"$DFG" build m.dfg -o m.pb
"$DFG" grad m.pb --loss loss --optimizer 'sgd(lr=1)' -o t.pb
printf '0\n0\n0\n0\n' >x.csv
train() { # OPTIONS...
	"$DFG" run t.pb --data 'x=@x.csv' --eval-data 'x=@x.csv' --batch 4 --target train --fetch loss "$@"
}
is() { # FILE VALUE: the variable w in it
	"$DFG" run m.pb --load "$1" --fetch w/read >w
	[ "$(cat w)" = "w/read: f32[] $2" ] || { cat w; exit 1; }
}

# The third evaluation is the best; an equal one is not better.
status 0 train --epochs 20 --eval-fetch gap --stop-early gap:2 --keep-best best.npz --save end.npz --metrics m.jsonl
has err "stopped early after step 5: no better 'gap' in 2 evaluations"
has err "the best 'gap' is 0.25, after step 3: best.npz"
is best.npz -3
is end.npz -5
[ "$(grep -c eval m.jsonl)" = 5 ]
status 0 train --epochs 20 --eval-fetch loss,near --stop-early eval_near:2:max --keep-best best.npz
has err "stopped early after step 5: no better 'near' in 2 evaluations"
is best.npz -3
# Without an end the best is kept all the same.
status 0 train --epochs 4 --eval-fetch gap --keep-best best.safetensors
never grep -q early err
has err "the best 'gap' is 0.25, after step 3: best.safetensors"
is best.safetensors -3

# Every two steps, and at the end: after steps 2, 4, 6, 7.
status 0 train --epochs 7 --eval-every 2 --eval-fetch gap --metrics m.jsonl
[ "$(grep eval m.jsonl | tail -2 | tr '\n' ' ')" = '{"epoch":6,"eval":{"gap":6.25},"step":6} {"epoch":7,"eval":{"gap":12.25},"step":7} ' ]
[ "$(grep -c eval m.jsonl)" = 4 ]
has err 'epoch 4, step 4: gap 0.25 (evaluation)'
status 0 train --epochs 20 --eval-every 2 --eval-fetch gap --stop-early gap:1 --keep-best best.npz
has err "stopped early after step 6: no better 'gap' in 1 evaluation"
is best.npz -4

# A run that is interrupted and resumed ends where an uninterrupted one does, and an ended one takes no further step.
status 0 train --epochs 4 --eval-fetch gap --stop-early gap:2 --checkpoint ck
status 0 train --epochs 20 --eval-fetch gap --stop-early gap:2 --checkpoint ck --resume --save resumed.npz
has err 'stopped early after step 5'
has err "the best 'gap' is 0.25, after step 3"
is resumed.npz -5
status 0 train --epochs 20 --eval-fetch gap --stop-early gap:2 --checkpoint ck --resume --save resumed.npz
has err 'stopped early after step 5'
is resumed.npz -5

# A value that is nan is never better.
cat >nan.dfg <<'.'
input x: f32[?]
param w: f32[] = 0
output loss = w + mean(0 * x)
output root = sqrt(w + 1.5)
.
"$DFG" build nan.dfg | "$DFG" grad - --loss loss --optimizer 'sgd(lr=1)' -o n.pb
status 0 "$DFG" run n.pb --data 'x=@x.csv' --eval-data 'x=@x.csv' --batch 4 --target train --fetch loss --epochs 9 \
	--eval-fetch root --stop-early root:3
has err "stopped early after step 4: no better 'root' in 3 evaluations"

status 2 train --eval-fetch gap --stop-early gap
has err '--stop-early must be NAME:K'
status 2 train --eval-fetch gap --stop-early gap:0
status 2 train --eval-fetch gap --stop-early loss:2
has err "'loss' is not in --eval-fetch"
status 2 train --eval-fetch gap --keep-best best.csv
has err '--keep-best best.csv'
status 2 train --eval-fetch gap --keep-best same.npz --save same.npz
status 2 "$DFG" run t.pb --data 'x=@x.csv' --target train --stop-early gap:2
has err '--stop-early requires --eval-data'
status 65 train --eval-fetch pair --stop-early pair:2
has err "'pair', by which the best evaluation is found, is not a scalar"
