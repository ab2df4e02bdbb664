# The parallel loops of the examples, serially, in blocks and over two workers, against a plain C program on made-up data.
. "$ROOT/tests/cli/kit"
cp -r "$ROOT/examples/parallel" parallel
rm -rf parallel/build
make -s -C parallel DFG="$DFG" HOSTS=local:2 2>err >out
for name in mf kmeans histogram align lda word2vec slr; do
	has out "$name: the values of the reference"
done
for name in mf kmeans histogram align; do
	[ -s parallel/build/$name.workers.safetensors ] # which make has compared with those of blocks in one process
done
# Integers of the accumulators do not depend on blocks, nor does anything where rows are kept apart.
for name in histogram kmeans; do
	"$DFG" diff parallel/build/$name.safetensors parallel/build/$name.blocks.safetensors --rtol 1e-5 >/dev/null
done
cmp parallel/build/align.safetensors parallel/build/align.blocks.safetensors
