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
has err "three.npz: no array for 1 variable that the step needs: 'y/dense/b'; rename arrays by --map"
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
has err '--partial requires --load'

# State of the optimizer is initialised again, with one line; a counter of the program is not.
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
has err "other.pb: the evaluation needs variable 'z/dense/w', but t.pb does not have it; did you mean 'h/dense/w'?"
[ ! -e m.jsonl ]
status 0 "$DFG" run t.pb $data --target train $eval --eval-graph g.pb

# A checkpoint of a network that lacks a layer is not continued with a layer of random numbers.
status 0 "$DFG" run t.pb $data --target train --checkpoint ck
"$DFG" grad other.pb --loss loss --optimizer 'adam(lr=0.1)' -o ot.pb
status 65 "$DFG" run ot.pb $data --epochs 2 --target train --checkpoint ck --resume
has err "ck: no array for 2 variables that the step needs: 'z/dense/w' (nearest is 'h/dense/w')"
status 0 "$DFG" run ot.pb $data --epochs 2 --target train --checkpoint ck --resume --partial
set +f

# 5: what a run with a larger --keep has kept is not for a later one to remove.
train() { # OPTIONS...
	"$DFG" run t.pb --data x=@x.npy --data t=@t.npy --batch 2 --target train --every 1 --resume "$@"
}
kept() { # DIR
	(cd "$1" && echo step-*)
}
train -q --epochs 2 --checkpoint all --keep 0
status 0 train --epochs 5 --checkpoint all --keep 2
has err 'all: 4 checkpoints of an earlier run with a larger --keep will stay; this run keeps its 2 newest'
[ "$(kept all)" = 'step-1 step-10 step-2 step-3 step-4 step-9' ]
status 0 train --epochs 6 --checkpoint all --keep 1
[ "$(kept all)" = 'step-1 step-10 step-12 step-2 step-3 step-4 step-9' ]
train -q --epochs 2 --checkpoint few --keep 3
status 0 train --epochs 3 --checkpoint few --keep 3
never grep -q keep err
[ "$(kept few)" = 'step-4 step-5 step-6' ]
status 0 train --epochs 4 --checkpoint few --keep 4
never grep -q keep err
[ "$(kept few)" = 'step-5 step-6 step-7 step-8' ]
status 0 train --epochs 5 --checkpoint few
never grep -q keep err
[ "$(kept few)" = 'step-10 step-6 step-7 step-8 step-9' ]

# Checkpoints that do not say how many were kept: more than now means that all were.
for step in all/step-*; do
	python3 - "$step/manifest.json" <<'P'
import re, sys, zlib
text = re.sub(rb',"keep":\d+', b"", open(sys.argv[1], "rb").read().rpartition(b',"crc32":')[0])
open(sys.argv[1], "wb").write(text + b',"crc32":%d}\n' % zlib.crc32(text))
P
done
status 0 train --epochs 7 --checkpoint all --keep 5
has err 'all: 7 checkpoints of an earlier run'
[ "$(kept all)" = 'step-1 step-10 step-12 step-13 step-14 step-2 step-3 step-4 step-9' ]

# 7: a file is what its suffix says, or is not written.
for suffix in onnx json txt dfg pb.gz PB tmp; do
	for command in 'build net.dfg' 'convert g.pb' 'opt g.pb' 'grad g.pb --of loss --wrt x' 'bench graph --nodes 4 --edges 4'; do
		status 2 "$DFG" $command -o "no.$suffix"
		has err "no.$suffix: .${suffix##*.} is not the suffix of a graph format"
		[ ! -e "no.$suffix" ]
	done
done
status 2 "$DFG" convert all.npz -o no.txt
has err 'for arrays .npy .npz .safetensors .idx .csv'
for name in net .net v1.5/net named.onnx; do
	mkdir -p v1.5
	status 0 "$DFG" build net.dfg -o "$name" --to pb
	cmp "$name" g.pb
done
status 0 "$DFG" build net.dfg -o v1.5/net --if-changed
cmp v1.5/net g.pb
status 2 "$DFG" bench graph --nodes 4 --edges 4 -o no.pbtxt
status 2 "$DFG" build net.dfg -o new.pb -MD -MF rule.pb
has err '-MF rule.pb: the file would hold a make rule'
step='run g.pb --feed x=f32[1,2]:1,2 --fetch prediction'
status 2 "$DFG" run t.pb --data x=@x.npy --data t=@t.npy --target train --metrics no.csv
has err '--metrics no.csv: the file would hold lines of JSON'
for option in '--trace no.npz' '--save no.csv' '--save no.txt' '--save no' '-o no.txt' '-o no'; do
	status 2 "$DFG" $step $option
done
[ "$(echo no.* new.pb rule.pb)" = 'no.* new.pb rule.pb' ]

# 8: what is trained was built for training, and what is evaluated was not, if -D chooses (else variants.sh).
sed 's/^h = .*/h = dropout(tanh(dense(3)(x)), rate = 0.5)/' net.dfg >drop.dfg
"$DFG" build drop.dfg -D training=false -o use.pb
"$DFG" build drop.dfg -D training=true -o draft.pb
status 0 "$DFG" grad use.pb --loss loss --optimizer 'sgd(lr=0.1)' -o wrong.pb
has err 'warning: use.pb has no variant for training: dropout'
status 0 "$DFG" grad use.pb --of loss --wrt x -o slope.pb
never grep -q warning err
status 0 "$DFG" grad draft.pb --loss loss --optimizer 'sgd(lr=0.1)' -o dt.pb
never grep -q warning err
status 0 "$DFG" run dt.pb $data --target train $eval
has err 'warning: the evaluation runs dt.pb, which was built with -D training=true'
status 0 "$DFG" run dt.pb $data --target train $eval --eval-graph use.pb
never grep -q warning err
status 0 "$DFG" run dt.pb $data --fetch loss
has err 'warning: dt.pb was built with -D training=true, and no --target trains'
status 0 "$DFG" run dt.pb --feed x=f32[1,2]:1,2 --fetch prediction
has err 'warning: dt.pb was built with -D training=true, and no --target trains'
status 0 "$DFG" run wrong.pb $data --target train --fetch loss
has err 'warning: --target trains wrong.pb, which was built with -D training=false'
status 0 "$DFG" run wrong.pb --feed x=f32[1,2]:1,2 --fetch prediction
never grep -q warning err
status 0 "$DFG" serve --explain draft.pb
has err 'warning: draft.pb was built with -D training=true'
status 0 "$DFG" serve --explain use.pb
never grep -q warning err
status 0 "$DFG" run use.pb $data --fetch loss
never grep -q warning err
status 0 "$DFG" run t.pb $data --target train $eval
never grep -q warning err

# 9: a number is rounded to a half once, to the nearest and at the middle to the even: 65520 is the first that overflows, and
# 1 + 2^-11 lies in the middle. A cast of f64 rounds to f32 first, as TensorFlow's does.
printf 'input x: f16[2]\ninput z: bf16\ninput d: f64\noutput y = x * 1\noutput n = x + 1.00048828126\noutput c = f16(d)\n' >half.dfg
status 0 "$DFG" run half.dfg --feed x=f16[2]:65519.999,1.00048828125000001 --fetch y --feed z=0
grep -qx '65504 1' out
status 0 "$DFG" run half.dfg --feed x=f16[2]:1.000488281250001,-1.00048828124999 --fetch y
grep -qx '1.001 -1' out
status 65 "$DFG" run half.dfg --feed x=f16[2]:65520,0 --fetch y
has err "f16 cannot hold '65520'"
status 0 "$DFG" run half.dfg --feed z=1.00390625000001 --fetch z
grep -qx 'z: bf16\[\] 1.01' out
status 0 "$DFG" run half.dfg --feed x=zeros:f16[2] --fetch n
grep -qx '1.001 1.001' out
status 0 "$DFG" run half.dfg --feed d=1.000488281250001 --fetch c
grep -qx 'c: f16\[\] 1' out

# Narrow types, as dfg-lang(5) says: integers wrap; a cast of a float drops the fraction and saturates, one between integers keeps
# the low bits; sums of halves are of f32 and rounded once. 2048 is the last integer at which f16 still counts by ones.
cat >narrow.dfg <<'END'
input i: i8[2]
input u: u8[2]
input f: f32[4]
input n: i32[2]
ones = f16(Fill([3000], f32(1)))
output wrapped = i + 1
output doubled = u * 2
output low = u8(n)
output small = i8(f)
output large = u16(f)
output total = sum(ones)
output product = Reshape(ones, [1, 3000]) @ Reshape(ones, [3000, 1])
END
status 0 "$DFG" run narrow.dfg --feed i=i8[2]:127,-128 --feed u=u8[2]:255,100 --feed f=f32[4]:2.9,-2.9,1e9,-inf --feed n=i32[2]:300,-1
[ "$(paste -sd' ' out)" = 'wrapped: i8[2] -128 -127 doubled: u8[2] 254 200 low: u8[2] 44 255 small: i8[4] 2 -2 127 -128 large: u16[4] 2 0 65535 0 total: f16[] 3000 product: f16[1,1] 3000' ]
for e in '-x' 'abs(x)' 'x ** x'; do
	printf 'input x: u8[2]\noutput y = %s\n' "$e" >unsigned.dfg
	status 65 "$DFG" check unsigned.dfg
	has err "attribute 'T' is u8, must be one of "
done
printf 'input x: i8\ninput y: i16\noutput z = x + y\n' >mixed.dfg
status 65 "$DFG" check mixed.dfg
has err '`+` of i8[...] and i16[...]: cast one of them'
