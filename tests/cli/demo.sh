# `make demo` is the first command of the README: its own script, on a few made-up pictures, several times, with readers
# that stop early. It must end with 0 each time (findings 1 and 48: `show --tree | head` ended it with 141).
. "$ROOT/tests/cli/kit"

python3 - <<'PY'
import gzip, random, struct
random.seed(1)
for name, count in ("train", 192), ("t10k", 60):
    with gzip.open(name + "-images-idx3-ubyte.gz", "wb", 1) as f:
        f.write(struct.pack(">4I", 0x803, count, 28, 28) + random.randbytes(count * 784))
    with gzip.open(name + "-labels-idx1-ubyte.gz", "wb", 1) as f:
        f.write(struct.pack(">2I", 0x801, count) + bytes(random.randrange(10) for _ in range(count)))
PY
export DATA=$PWD OUT=$PWD/made EPOCHS=1 STEPS=2
set -o pipefail
demo() {
	"$ROOT/examples/demo"
}
demo >whole 2>talk
has whole 'test accuracy 0.'
has whole 'this is a '
has whole 'one process: loss: f32[] '
has talk ' --replicas 2 '
tail -1 whole | grep -q '^one replica: accuracy \(0[.][0-9]*\); two: accuracy \1$'
has talk '$ dfg run '
[ "$(grep -c . whole)" -gt 100 ]

for _ in 1 2 3; do demo 2>err | head -n 1 >line; done
[ "$(wc -l <line)" = 1 ]
for _ in 1 2 3; do demo 2>&1 | head -c 1 >line; done
demo 2>err | true
demo 2>&1 | true
(trap '' PIPE && demo 2>err | head -n 3 >line)

# A step that fails is still the demo's failure, whoever reads.
rm t10k-labels-idx1-ubyte.gz
never demo >out 2>err
