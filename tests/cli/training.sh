# The output of a training: evaluations by step and name, times that continue across a resume, the time that remains (finding 22).
. "$ROOT/tests/cli/kit"

cat >m.dfg <<'.'
input x: f32[?]
param w: f32[2] = zeros
slow = Dfg>Sleep(sum(w * w), ms = 100)
output loss = slow + mean(x)
.
"$DFG" build m.dfg -o m.pb
"$DFG" grad m.pb --loss loss --optimizer 'sgd(lr=0.1)' -o t.pb
"$DFG" run m.pb --feed x=zeros:f32[9] --fetch x -o x.npy
train() { # OPTIONS...
	"$DFG" run t.pb --data x=@x.npy --batch 4 --target train --fetch loss "$@"
}
status 0 train --epochs 2 --eval-data x=@x.npy --eval-fetch loss --metrics m.jsonl
has err 'epoch 2: loss 0 (evaluation)'
[ "$(grep eval m.jsonl)" = '{"epoch":1,"eval":{"loss":0},"step":3}
{"epoch":2,"eval":{"loss":0},"step":6}' ]
status 0 "$DFG" show m.jsonl
has out 'eval loss'

# A run that resumes continues the times, too; a file of an older version, whose evaluations have no step, is continued.
status 0 train --epochs 1 --times --metrics t.jsonl --checkpoint ck
status 0 train --epochs 2 --times --metrics t.jsonl --checkpoint ck --resume
sed -n 's/.*"seconds":\([0-9.e-]*\)}/\1/p' t.jsonl >times
[ "$(wc -l <times)" = 6 ]
sort -g times | cmp - times
awk 'NR == 6 && $1 < 0.5 { exit 1 }' times
{ head -3 t.jsonl; echo '{"epoch":1,"eval":{"loss":0}}'; } >old.jsonl
status 0 train --epochs 3 --metrics old.jsonl --checkpoint ck --resume
[ "$(sed -n 4p old.jsonl)" = '{"epoch":1,"eval":{"loss":0}}' ]
[ "$(wc -l <old.jsonl)" = 7 ]

# The end is known by --epochs as well as by --steps, whichever is earlier.
command -v script >/dev/null || exit 0
seen() { # OPTIONS...: what a terminal is sent
	TERM=xterm script -qec "$DFG run t.pb --data x=@x.npy --batch 4 --target train --fetch loss $*" /dev/null </dev/null
}
seen --epochs 3 >out
grep -q 'step [0-9]*/9 .* 0:0[0-9] left' out
seen --epochs 4 --drop-last >out
grep -q 'step [0-9]*/8 ' out
