# Results that would be wrong without a word: what is loaded, kept, written and trained is what was asked for.
. "$ROOT/tests/cli/kit"

cat >net.dfg <<'.'
input x: f32[batch, 2]
input t: f32[batch, 1]
h = tanh(dense(3)(x))
y = dense(1)(h)
state seen: i64[] = 0
output prediction = y
output loss = mean((y - t) ** 2)
target look { set seen = seen + 1 }
.
"$DFG" build net.dfg -o g.pb
"$DFG" grad g.pb --loss loss --optimizer 'adam(lr=0.1)' -o t.pb
"$DFG" run g.pb --feed x=f32[4,2]:1,2,3,4,5,6,7,8 --fetch x -o x.npy
"$DFG" run g.pb --feed t=f32[4,1]:1,2,3,4 --fetch t -o t.npy
data='--data x=@x.npy --data t=@t.npy --batch 2'
status 0 "$DFG" run g.pb --feed x=@x.npy --fetch prediction --save weights.npz
status 0 "$DFG" run g.pb --load weights.npz --fetch h/dense/w/read,h/dense/b/read,y/dense/w/read -o three.npz
status 0 "$DFG" run t.pb $data --target train --save all.npz

# 4: without an array for what the step needs there is no result; --partial initialises it and says so.
one='--feed x=f32[1,2]:1,2'
three="--load three.npz --map */read=*"
set -f
status 65 "$DFG" run g.pb $three $one --fetch prediction
has err "three.npz: no array for 1 variable that the step needs: 'y/dense/b'; --map"
status 0 "$DFG" run g.pb $three --partial $one --fetch prediction
has err "no array for 1 variable that the step needs, initialised (--partial): 'y/dense/b'"
status 0 "$DFG" run g.pb $three --fetch h $one
has err "no array for 2 variables that the step does not read: 'y/dense/b', 'seen'"
status 65 "$DFG" run t.pb $three --steps 1 --target train $one --feed t=f32[1,1]:1 --checkpoint none
has err "'y/dense/b'"
[ ! -e none ]
status 65 "$DFG" run t.pb $three $data --epochs 1
status 65 "$DFG" run g.pb $three --each x=@- --fetch prediction <x.npy
status 0 "$DFG" run g.pb $three --init y/dense/b/assign $one --fetch prediction
status 2 "$DFG" run g.pb --partial $one --fetch prediction
has err '--partial needs --load'

# What the optimizer keeps begins anew, with one line; a counter of the program does not.
status 0 "$DFG" run t.pb --load weights.npz $data --target train --save again.npz
[ "$(grep -c 'of the optimizer' err)" = 1 ]
has err "weights.npz: no array for 9 variables of the optimizer, initialised as in a new training: 'train/step', "
has err ' and 4 more'
status 0 "$DFG" run t.pb --load all.npz $data --target train
never grep -q 'optimizer' err
has err "all.npz: no array for 1 variable that the step does not read: 'seen'"
status 65 "$DFG" run g.pb --load all.npz --target look
has err "'seen'"

# An evaluation needs its variables too, before the first step; one of another graph takes those of its names.
sed 's/^y = /z = /; s/(y - t)/(z - t)/; s/= y$/= z/' net.dfg >other.dfg
"$DFG" build other.dfg -o other.pb
eval='--eval-data x=@x.npy --eval-data t=@t.npy --eval-fetch loss --metrics m.jsonl'
status 65 "$DFG" run t.pb $data --target train $eval --eval-graph other.pb
has err "other.pb: the evaluation needs variable 'z/dense/w', and t.pb has none of that name; did you mean 'h/dense/w'?"
[ ! -e m.jsonl ]
status 0 "$DFG" run t.pb $data --target train $eval --eval-graph g.pb

# A checkpoint of a network that lacks a layer is not continued with a layer of random numbers.
status 0 "$DFG" run t.pb $data --target train --checkpoint ck
"$DFG" grad other.pb --loss loss --optimizer 'adam(lr=0.1)' -o ot.pb
status 65 "$DFG" run ot.pb $data --epochs 2 --target train --checkpoint ck --resume
has err "ck: no array for 2 variables that the step needs: 'z/dense/w' (nearest is 'h/dense/w')"
status 0 "$DFG" run ot.pb $data --epochs 2 --target train --checkpoint ck --resume --partial
set +f
