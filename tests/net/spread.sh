# Whole runs on other machines: loops and training give the same bits as here, the program may be brought along, and a
# worker ends with its stdin.
# shellcheck source=tests/net/rig
. "$ROOT/tests/net/rig"

machine alpha 10.77.0.11
machine beta 10.77.0.12
beyond alpha gamma 10.78.0

# A worker ends with its stdin.
mkfifo lifeline
ssh -F ssh_config alpha dfg serve --worker <lifeline >hello &
exec 7>lifeline
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >&7
echo >&7
for _ in $(seq 100); do
	[ -s hello ] && break
	sleep 0.1
done
grep -q '^{"dfg":"' hello
[ "$(workers)" != 0 ]
exec 7>&-
none_left 10

# A loop whose body is on three workers.
cat >loop.dfg <<'.'
input n: i32
input x: f32[k]
y, _ = loop (y = x, i = 0) while i < n {
	a = sin(y)
	b = cos(y * 2.0)
	next a + b, i + 1
}
output last = y
.
printf 'alpha\nbeta slots=2\n' >hosts
place='--place *=w0 --place y/a=w1 --place y/b*=w2'
"$DFG" run loop.dfg --feed n=20 --feed x=f32[3]:1,2,3 -o here.npy
# shellcheck disable=SC2086
expect 0 '' run loop.dfg --hosts ./hosts $place --feed n=20 --feed x=f32[3]:1,2,3 -o there.npy
cmp here.npy there.npy
none_left 10

# A plan that was cut before, by names of hosts.
# shellcheck disable=SC2086
"$DFG" partition loop.dfg --hosts ./hosts $place -o plan/
expect 0 '' run plan/ --hosts ./hosts --feed n=20 --feed x=f32[3]:1,2,3 -o there.npy
cmp here.npy there.npy

# Training, with random numbers.
"$DFG" build "$ROOT/examples/mlp.dfg" -D training=true -D hidden=8 -o mlp.pb
"$DFG" grad mlp.pb --loss loss --optimizer 'adam(lr=0.01)' -o train.pb
python3 - <<'.'
import struct, random
random.seed(1)
def put(path, shape, values):
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }" % ', '.join(map(str, shape))
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    open(path, 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + bytes(values))
put('images.npy', [64, 28, 28], [random.randrange(256) for _ in range(64 * 784)])
put('labels.npy', [64], [random.randrange(10) for _ in range(64)])
.
train='--data images=@images.npy --data labels=@labels.npy --batch 16 --epochs 2 --target train --fetch loss'
# shellcheck disable=SC2086
"$DFG" run train.pb $train --metrics here.jsonl --save here.safetensors 2>/dev/null
# shellcheck disable=SC2086
expect 0 '' run train.pb --hosts ./hosts --place '*=w0' --place '*logits*=w1' $train --metrics there.jsonl --save there.safetensors
cmp here.jsonl there.jsonl
cmp here.safetensors there.safetensors
none_left 10

# The program is brought along, and nothing of it stays.
rm alpha/bin/dfg beta/bin/dfg
# shellcheck disable=SC2086
expect 0 '' run --push loop.dfg --hosts ./hosts $place --feed n=20 --feed x=f32[3]:1,2,3 -o there.npy
cmp here.npy there.npy
none_left 10
[ -z "$(find alpha/tmp beta/tmp -type f)" ]
ln -s "$DFG" alpha/bin/dfg
ln -s "$DFG" beta/bin/dfg
