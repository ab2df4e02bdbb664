# One checkpoint, by its own folder (finding 18); names of folders; what a run says while it trains.
. "$ROOT/tests/cli/kit"

cat >m.dfg <<'.'
input x: f32[?]
state count: i64[] = 0
set count = count + 1
param w: f32[2] = zeros
output loss = sum(w * w) + mean(x)
.
"$DFG" build m.dfg -o m.pb
"$DFG" grad m.pb --loss loss --optimizer 'sgd(lr=0.1)' -o t.pb
"$DFG" run m.pb --feed x=zeros:f32[24] --fetch x -o x.npy
train() { # OPTIONS...
	"$DFG" run t.pb --data x=@x.npy --batch 2 --target train "$@"
}
count() { # SRC: the step that its variables are of
	"$DFG" run t.pb --load "$1" --feed x=f32[1]:0 --fetch count/read
}
train -q --epochs 1 --checkpoint ck --every 1 --keep 14

# A folder of checkpoints is its newest; step-12 comes after step-9.
status 0 count ck
has out 'i64[] 12'
for path in ck/step-9 ck/step-9/ ./ck/step-9; do
	status 0 count $path
	has out 'i64[] 9'
done
ln -s step-3 ck/best
status 0 count ck/best
has out 'i64[] 3'
status 0 "$DFG" show ck/step-9
has out 'checkpoint of step 9; next is sample 18 of epoch 1'
status 0 "$DFG" show ck/step-9 --node count
has out 'count: i64[] 9'
status 0 "$DFG" show --json ck/step-9 --node count
has out '"value":9'
status 0 "$DFG" diff ck/step-12 ck
status 0 "$DFG" diff ck/step-9 ck/step-9/data.safetensors
status 1 "$DFG" diff ck/step-9 ck/step-10
has out "count: is 10, not 9"
status 66 "$DFG" check ck/step-9
never grep -q plan err

# One that is damaged is not replaced by another without a word.
cp -r ck/step-9 one
printf x | dd of=one/data.safetensors bs=1 seek=200 conv=notrunc 2>/dev/null
status 65 count one
has err one
rm one/manifest.json
status 65 count one
has err 'one: has no manifest.json'
mkdir two
cp ck/step-9/manifest.json two
status 65 "$DFG" show two
has err 'two: has no data.safetensors'

# Training does not begin inside of one.
status 73 train --epochs 2 --checkpoint ck/step-9 --resume
has err 'ck/step-9 is a single checkpoint'
[ ! -e ck/step-9/.lock ]

# Folders whose numbers have leading zeros are read, in the order of their numbers, and go when they are old.
rm ck/best
for i in 1 2 3 4 5 6 7 8 9 10 11; do
	mv ck/step-$i "ck/step-$(printf %08d $i)"
done
mv ck/step-12 ck/step-0012
status 0 count ck
has out 'i64[] 12'
status 0 train --epochs 2 --checkpoint ck --every 1 --keep 14 --resume
has err 'resumed at step 12'
status 0 count ck
has out 'i64[] 24'
[ "$(cd ck && echo step-*)" = "step-00000011 step-0012 step-13 step-14 step-15 step-16 step-17 step-18 step-19 step-20 step-21 step-22 step-23 step-24" ]

# A checkpoint, or the newest of a folder, becomes a file of arrays; it is not a graph.
for path in ck ck/step-20/; do
	status 0 "$DFG" convert $path -o arrays.npz
	status 0 "$DFG" diff $path arrays.npz
	status 65 "$DFG" convert $path -o arrays.pb
	has err "$path: a checkpoint holds arrays, not a graph"
done
status 0 "$DFG" run t.pb --load arrays.npz --feed x=f32[1]:0 --fetch count/read
has out 'i64[] 20'
status 65 "$DFG" convert . -o arrays.npz
