# Rows of models: products alone, a block of a transformer, an LSTM that learns, and blocks of convolutions on one thread
# and on two.
dfg=${DFG:-build/dfg}
row() { # NAME OPTIONS
	name=$1
	shift
	"$dfg" bench "$@" --json | sed "s/.*\"median_us\": \([0-9.]*\).*/\1/" | awk -v name="$name" '{ print name "\t" $1 / 1000 }'
}
product() { # TYPE ROWS
	printf 'input a: %s[%s, 1024]\ninput b: %s[1024, 1024]\noutput y = a @ b\n' "$1" "$2" "$1" >"$SCRATCH/product.dfg"
	row "product of $1, ${2}x1024x1024" "$SCRATCH/product.dfg" --threads 1 --repeat 20
}
for rows in 1 1024; do
	product f32 $rows
	product bf16 $rows
done

cat >"$SCRATCH/block.dfg" <<'END'
input x: f32[batch, 128, 256]
h = x + attention(4, causal = true)(layer_norm()(x))
y = h + dense(256)(gelu(dense(1024)(layer_norm()(h))))
output loss = mean(y * y)
END
row 'transformer block 8x128x256' "$SCRATCH/block.dfg" -f loss --batch 8 --threads 1 --repeat 20
"$dfg" grad "$SCRATCH/block.dfg" --loss loss --optimizer 'adam(lr=0.01)' -q -o "$SCRATCH/block.pb"
row 'transformer block, step' "$SCRATCH/block.pb" --target train --batch 8 --threads 1 --repeat 10

cat >"$SCRATCH/lstm.dfg" <<'END'
input xs: f32[50, batch, 128]
cell = lstm(128)
h, c = zeros([batch, 128]), zeros([batch, 128])
h, c = loop (h = h, c = c) for x in xs { next cell(x, h, c) }
output loss = mean(h * h)
END
"$dfg" grad "$SCRATCH/lstm.dfg" --loss loss --optimizer 'sgd(lr=0.01)' -q -o "$SCRATCH/lstm.pb"
row 'LSTM 32x128, step' "$SCRATCH/lstm.pb" --target train --batch 32 --threads 1 --repeat 20

cat >"$SCRATCH/separable.dfg" <<'END'
input images: f32[batch, 56, 56, 24]
fn swish(x) { x * sigmoid(x) }
layer inverted(out: int, size: int, stride: int)(x: f32[b, h, w, c]) {
    y = swish(batch_norm()(conv(6 * c, size = 1)(x)))
    y = swish(batch_norm()(depthwise_conv(size = size, strides = stride)(y)))
    batch_norm()(conv(out, size = 1)(y))
}
h = inverted(40, 5, 2)(images)
h = h + inverted(40, 5, 1)(h)
h = inverted(80, 3, 2)(h)
h = h + inverted(80, 3, 1)(h)
output loss = mean(h * h)
END
cat >"$SCRATCH/branches.dfg" <<'END'
input images: f32[batch, 17, 17, 192]
layer block()(x: f32[b, h, w, c]) {
    one = relu(conv(64, size = 1)(x))
    two = relu(conv(64)(relu(conv(48, size = 1)(x))))
    three = relu(conv(48)(relu(conv(48)(relu(conv(32, size = 1)(x))))))
    concat([one, two, three, relu(conv(32, size = 1)(max_pool(x, size = 3, strides = 1, padding = "SAME")))], axis = 3)
}
h = block()(block()(images))
output loss = mean(h * h)
END
for threads in 1 2; do
	row "separable convolutions, threads $threads" "$SCRATCH/separable.dfg" -f loss --threads $threads --repeat 50
	row "Inception blocks, threads $threads" "$SCRATCH/branches.dfg" -f loss --threads $threads --repeat 50
done
