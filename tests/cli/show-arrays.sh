# dfg show of arrays in several files, of one of many, of a large one; one count of messages (finding 21).
. "$ROOT/tests/cli/kit"

printf 'input x: f32[?]\noutput y = x\n' >p.dfg
"$DFG" run p.dfg --feed x=f32[2]:1,2 -o a.npy
"$DFG" run p.dfg --feed x=f32[3]:3,4,5 -o b.npy
"$DFG" run p.dfg --feed x=zeros:f32[100] -o c.npy
"$DFG" run p.dfg --feed x=f32[2]:1,2 --fetch y,x -o d.npz
status 0 "$DFG" show a.npy b.npy
[ "$(cat out)" = "a.npy: f32[2]
1 2
b.npy: f32[3]
3 4 5" ]
status 0 "$DFG" show a.npy
[ "$(head -1 out)" = 'array: f32[2]' ]
status 0 "$DFG" show d.npz a.npy
[ "$(head -1 out)" = 'd.npz: 2 arrays' ]
status 0 "$DFG" show 'd.npz[x]' a.npy
[ "$(head -2 out)" = 'd.npz[x]: f32[2]
1 2' ]
status 65 "$DFG" show 'd.npz[z]'
has err "no array 'z'"
status 65 "$DFG" show 'a.npy[z]'
has err "no array 'z': the file holds one array, which has no name; leave out [z]"
printf 'a,b,c\n1,2,x\n3,4,y\n' >t.csv
status 65 "$DFG" show 't.csv[zebra]'
has err "no column 'zebra'; the first is 'a'"
status 0 "$DFG" show 't.csv[a,b]'
[ "$(cat out)" = 't.csv[a,b]: i64[2,2]
1 2
3 4' ]

# A file has all elements, a terminal some.
status 0 "$DFG" show c.npy
[ "$(tail -1 out | wc -w)" = 100 ]
if command -v script >/dev/null; then
	script -qec "$DFG show c.npy" /dev/null </dev/null >out
	[ "$(tail -1 out | wc -w)" -lt 20 ]
fi

# A plan says of a step what partition has said: messages that set variables at first are not of a step.
cat >w.dfg <<'.'
input x: f32[4]
param w: f32[4] = ones
output y = x * w
.
"$DFG" build w.dfg -o w.pb
status 0 "$DFG" partition w.pb --hosts local:2 --place '*=w0' --place w=w1 --place w/read=w1 --place w/assign=w1 --explain -o plan
grep '^a step' out err | cut -d: -f2- >said
[ "$(cat said)" = 'a step: 1 message, 16 bytes' ]
status 0 "$DFG" show plan
grep '^a step' out | cmp - said
has out '3 transfers'
