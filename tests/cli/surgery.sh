# Graph surgery by dfg opt: the values of runs before and after are those of the same graph, and what would break it is 65.
. "$ROOT/tests/cli/kit"

cat >net.dfg <<'END'
input x: f32[batch, 6, 6, 2]
h = relu(batch_norm()(conv(4, [3, 3])(x)))
h = reshape(h, [batch, 144])
h = batch_norm()(dense(3)(h))
words = embedding(10, 3)(argmax(h))
z = loop (s = h) for i in 0..3 { next tanh(dense(3)(s)) + words }
output y = softmax(z)
output kind = argmax(z)
END
"$DFG" build net.dfg -o net.pb
# Weights that a training has left: means and variances are not 0 and 1.
sed 's/^output y = .*/&\noutput loss = mean(square(z - 0.3))/' net.dfg >loss.dfg
"$DFG" build -D training=true loss.dfg | "$DFG" grad - --loss loss --optimizer 'sgd(lr=0.1)' -o t.pb
"$DFG" run -q t.pb --feed x=normal:f32[8,6,6,2]:seed=3 --target train --steps 5 --save w.safetensors >/dev/null
"$DFG" run -q net.pb --load w.safetensors --feed x=normal:f32[4,6,6,2]:seed=1 -o before.npz

# Freezing keeps every bit, and needs no weights afterwards.
"$DFG" opt net.pb --freeze --load w.safetensors -o frozen.pb 2>log
has log 'freeze: made constants of 15 variables'
"$DFG" run -q frozen.pb --feed x=normal:f32[4,6,6,2]:seed=1 -o after.npz
"$DFG" diff before.npz after.npz
"$DFG" show --text frozen.pb >text
never grep -q 'VarHandleOp\|Assign' text

# A variable without a value is named, as is one of another shape.
"$DFG" run -q net.pb --feed x=zeros:f32[1,6,6,2] --fetch y --save all.npz >/dev/null
python3 - <<'END'
import zipfile
with zipfile.ZipFile("all.npz") as a, zipfile.ZipFile("less.npz", "w") as b:
    for name in a.namelist():
        if "embedding" not in name:
            b.writestr(name, a.read(name))
END
status 65 "$DFG" opt net.pb --freeze --load less.npz -o no.pb
has err "no value for variable 'words/embedding/table'"
status 2 "$DFG" opt net.pb --freeze -o no.pb
has err 'requires --load'
printf 'input x: f32[3]\nparam w: f32[2] = zeros\noutput y = sum(w) + sum(x)\n' | "$DFG" build - -o two.pb
printf 'input x: f32[3]\nparam w: f32[3] = zeros\noutput y = sum(w) + sum(x)\n' | "$DFG" build - -o three.pb
"$DFG" run -q two.pb --feed x=zeros:f32[3] --save two.npz >/dev/null
status 65 "$DFG" opt three.pb --freeze --load two.npz -o no.pb
has err "variable 'w' is f32[3], but its value is f32[2]"

# An output that writes a variable cannot do so any more.
printf 'input x: f32[]\nstate n: f32[] = 0\nAssignAddVariableOp(n, x)\noutput y = ReadVariableOp(n, dtype = f32)\n' | "$DFG" build - -o state.pb
"$DFG" run -q state.pb --feed x=1 --save n.npz >/dev/null
status 65 "$DFG" opt state.pb --freeze --load n.npz -o no.pb
has err "writes variable 'n'"

# Ops that take the variable itself have counterparts on values, and a reference is read where it was.
cat >rows.dfg <<'END'
input i: i32[2]
param w: f32[5, 3] = glorot
output y = ResourceGather(w, i, dtype = f32)
output s = VariableShape(w)
output n = ResourceGatherNd(w, [[1, 2], [0, 1]], dtype = f32)
output z = loop (s = 0.0) for t in 0..3 { next s + sum(ResourceGather(w, i, dtype = f32)) + w[t, 0] }
END
"$DFG" build rows.dfg -o rows.pb
"$DFG" run -q rows.pb --feed i=i32[2]:1,4 --save rows.npz >a
"$DFG" opt rows.pb --freeze --load rows.npz -o frozen-rows.pb 2>/dev/null
"$DFG" run -q frozen-rows.pb --feed i=i32[2]:1,4 >b
cmp a b
"$DFG" run -q "$ROOT/tests/graphs/store.pb" --fetch ref/read --save ref.npz >a
"$DFG" opt "$ROOT/tests/graphs/store.pb" --freeze --load ref.npz --fetch ref/read -o ref.pb 2>/dev/null
"$DFG" run -q ref.pb --fetch ref/read >b
cmp a b
status 65 "$DFG" opt "$ROOT/tests/graphs/store.pb" --freeze --load ref.npz --fetch read -o no.pb
has err "node 'Assign' (Assign) writes variable 'ref'"

# Thawing is the opposite.
"$DFG" opt frozen.pb --thaw '*/w' --thaw '*/table' -o thawed.pb 2>log
has log 'thaw: made variables of 4 constants'
"$DFG" run -q thawed.pb --feed x=normal:f32[4,6,6,2]:seed=1 -o after.npz
"$DFG" diff before.npz after.npz
"$DFG" grad thawed.pb --of y -o thawed-grad.pb 2>/dev/null && "$DFG" show --text thawed-grad.pb | grep -q '_dfg_trainable'
status 65 "$DFG" opt frozen.pb --thaw 'nothing*' -o no.pb
has err "no constant of floats has such a name"

# Batch norms go into the weights, in convolutions and products; values change by rounding.
"$DFG" opt frozen.pb --passes fold,batch-norm,prune -o folded.pb 2>log
has log 'batch-norm: scaled 2 weights'
"$DFG" run -q folded.pb --feed x=normal:f32[4,6,6,2]:seed=1 -o after.npz
"$DFG" diff --rtol 1e-5 --atol 1e-6 before.npz after.npz
"$DFG" show --text folded.pb >text
never grep -q 'Rsqrt' text

# The same of TensorFlow's op, with an activation that stops the chain; y = 2 * ((3 x - 1) / sqrt(3 + 1)) + 5 = 3 x + 4.
cat >fused.dfg <<'END'
input x: f32[1, 1, 1, 1]
c = Conv2D(x, f32([[[[3.0]]]]), strides = [1, 1, 1, 1], padding = "SAME")
n, _, _, _, _, _ = FusedBatchNormV3(c, [2.0], [5.0], [1.0], [3.0], epsilon = 1.0, is_training = false)
output y = relu(n) * 2
END
"$DFG" build fused.dfg -o fused.pb
"$DFG" opt fused.pb --passes batch-norm,prune -o f.pb 2>log
has log 'scaled 1 weight, '
test "$("$DFG" run -q f.pb --feed x=f32[1,1,1,1]:7 | tail -1)" = 50
"$DFG" show --text f.pb >text
never grep -q FusedBatchNorm text
# A product that something else reads stays as it is.
printf 'input x: f32[2,2]\nh = x @ [[1.0, 2.0], [3.0, 4.0]]\noutput a = h * 2\noutput b = h\n' | "$DFG" build - -o shared.pb
"$DFG" opt shared.pb --passes batch-norm -o s.pb 2>log
has log 'scaled 0 weights'

# Strip for inference: checks and identities go, values stay, also in branches and loops.
cat >checks.dfg <<'END'
input x: f32[3]
Assert(sum(x) > 0, [x])
h = CheckNumerics(x, message = "h")
h = StopGradient(h)
k = if sum(h) > 5 { CheckNumerics(h * 2, message = "k") } else { h - 1 }
output y = loop (s = k) for i in 0..2 { next CheckNumerics(s + h, message = "s") }
END
"$DFG" build checks.dfg -o checks.pb
"$DFG" opt checks.pb --passes strip,prune -o stripped.pb 2>log
has log 'strip: removed'
"$DFG" show --text stripped.pb >text
never grep -q 'CheckNumerics\|StopGradient\|Assert(' text
for feed in 1,2,3 1,1,1; do
	"$DFG" run -q checks.pb --feed x=f32[3]:$feed >a
	"$DFG" run -q stripped.pb --feed x=f32[3]:$feed >b
	cmp a b
done

# Names, edges, attributes and devices.
printf 'input x: f32[3]\na = x + 1\nb = Neg(a)\nc = Identity(b)\noutput y = c * 2\noutput z = a * 3\n' | "$DFG" build - -o edges.pb
status 65 "$DFG" opt edges.pb --remove c -o no.pb
has err "has input 'c', which --remove would take away"
status 65 "$DFG" opt edges.pb --remove 'y*' -o no.pb
has err "is an output"
"$DFG" opt edges.pb --replace c=a --remove c --remove b --rename a=first/sum --rename x=in -o edited.pb 2>log
has log "replace: 1 input reads 'a' instead of 'c'"
has log 'remove: removed 2 of'
has log 'rename: renamed 2 nodes'
test "$("$DFG" run -q edited.pb --feed in=f32[3]:1,2,3 --fetch y | tail -1)" = '4 6 8'
"$DFG" opt edges.pb --rename '*=net/*' --fetch y -o scoped.pb 2>/dev/null
test "$("$DFG" run -q scoped.pb --feed net/x=f32[3]:1,2,3 --fetch net/y | tail -1)" = '-4 -6 -8'
status 65 "$DFG" opt edges.pb --rename a=b -o no.pb
has err "nodes 'a' and 'b' would both have the name 'b'"
status 65 "$DFG" opt edges.pb --rename 'a=b c' -o no.pb
has err "is not a valid node name"
status 65 "$DFG" opt edges.pb --rename nothing=b -o no.pb
status 65 "$DFG" opt edges.pb --remove nothing -o no.pb
status 65 "$DFG" opt edges.pb --replace y=nothing -o no.pb
status 65 "$DFG" opt edges.pb --replace a=a:0 -o no.pb
has err "--replace a=a:0: both are the same tensor, so nothing would change"
# A node on the way from OLD to NEW still reads OLD, so that a node can be inserted.
"$DFG" opt edges.pb --replace a=b -o behind.pb 2>/dev/null
test "$("$DFG" run -q behind.pb --feed x=f32[3]:1,2,3 --fetch z | tail -1)" = '-6 -9 -12'
status 65 "$DFG" opt net.pb --replace y/missing=x -o no.pb

norm=$("$DFG" show --text fused.pb | sed -n 's/^"\([^"]*\)" = FusedBatchNormV3.*/\1/p')
"$DFG" opt fused.pb --set "$norm:epsilon=6" -o set.pb 2>/dev/null
"$DFG" show --text set.pb | grep -q 'epsilon = 6'
status 65 "$DFG" opt edges.pb --set 'b:T=f64' -o no.pb
has err 'after these changes'
status 65 "$DFG" opt edges.pb --set 'b:nothing=1' -o no.pb
has err "has no attribute 'nothing'"
status 65 "$DFG" opt edges.pb --set 'x:shape=[2,x]' -o no.pb
has err 'is not a value'
status 2 "$DFG" opt edges.pb --set 'b=1' -o no.pb
"$DFG" opt edges.pb --set 'x:shape=[?]' -o any.pb 2>/dev/null
test "$("$DFG" run -q any.pb --feed x=f32[2]:1,2 --fetch y | tail -1)" = '-4 -6'
"$DFG" opt edges.pb --set-device 'a=/job:worker/task:1' --set-device 'b=' -o dev.pb 2>/dev/null
"$DFG" convert dev.pb --to pbtxt -o - | grep -q 'device: "/job:worker/task:1"'
# A device that no file of a graph can hold.
status 2 "$DFG" opt edges.pb --set-device "$(printf 'a=b\001')" -o dev.pb
has err "--set-device a: 'b\x01' is not a valid device name"
status 2 "$DFG" opt edges.pb --set-device "$(printf 'a=\377')" -o dev.pb
status 2 "$DFG" opt edges.pb --set-device "a=$(printf '%4097s' '' | tr ' ' x)" -o dev.pb

# Obfuscation: the values stay, the words are gone.
"$DFG" opt frozen.pb --obfuscate -o hidden.pb 2>log
has log 'obfuscate: renamed'
"$DFG" run -q hidden.pb --feed x=normal:f32[4,6,6,2]:seed=1 -o after.npz
"$DFG" diff before.npz after.npz
never grep -qa 'dense\|embedding\|batch_norm' hidden.pb
"$DFG" opt net.pb --obfuscate -o hidden.pb 2>/dev/null
"$DFG" run -q hidden.pb --load w.safetensors --feed x=normal:f32[4,6,6,2]:seed=1 -o after.npz
"$DFG" diff before.npz after.npz
