# Unstage and StagePeek report a deadlock where no other node could put an element.
. "$ROOT/tests/cli/kit"
for op in 'Unstage(dtypes = [f32])' 'StagePeek(i32(0), dtypes = [f32])'; do
	echo "output x = $op" >wait.dfg
	status 65 timeout 60 "$DFG" run wait.dfg --fetch x
	has err 'deadlock'
done
