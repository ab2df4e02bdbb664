# Models of textbooks, each written from dfg-std(7) in less than a page, trained for a short time, and compared with what is
# known of its data: the line that it is on, classes that can be told apart, the rank of a matrix.
. "$ROOT/tests/cli/kit"

# made NAME...: arrays that the program on stdin makes.
made() {
	cat >data.dfg
	for name; do "$DFG" run data.dfg --seed 1 --fetch "$name" -o "$name.npy"; done
}
# learn MODEL OPTIMIZER EPOCHS BATCH NAME...: trains MODEL.dfg by its loss on these arrays.
learn() {
	model=$1 optimizer=$2 epochs=$3 batch=$4 data=
	shift 4
	for name; do data="$data --data $name=@$name.npy"; done
	"$DFG" grad "$model.dfg" --loss loss --optimizer "$optimizer" -o "$model.pb"
	status 0 "$DFG" run "$model.pb" $data --batch "$batch" --epochs "$epochs" --seed 1 --target train --fetch loss --save "$model.npz"
	never grep -q warning err
}
# value MODEL OUTPUT: of the trained model on all samples.
value() { "$DFG" run "$1.pb" $data --batch 1000 --seed 1 --load "$1.npz" --fetch "$2" | sed 's/.* //'; }
below() { # WHAT VALUE BOUND
	awk -v x="$2" -v most="$3" 'BEGIN { exit !(x < most) }' || { echo "$1 is $2, not below $3"; exit 1; }
}
above() { below "$1" "-$2" "-$3"; }

# Linear regression: the plane on which the samples are.
made x y <<'P'
output x = reshape(sin(f32(range(120)) * 1.7), [40, 3])
output y = x @ f32([[2], [-1], [0.5]]) + 3
P
cat >linear.dfg <<'P'
input x: f32[n, 3]
input y: f32[n, 1]
output guess = dense(1)(x)
output loss = mean(squared_error(guess, y))
P
learn linear 'adam(lr=0.1)' 150 40 x y
below 'loss of the plane' "$(value linear loss)" 1e-2

# Logistic regression: the side of a line on which a point is.
made x y <<'P'
output x = reshape(sin(f32(range(200)) * 2.3), [100, 2])
output y = f32(x[:, 0] * 2 > x[:, 1])
P
cat >logistic.dfg <<'P'
input x: f32[n, 2]
input y: f32[n]
logits = dense(1)(x)[:, 0]
output accuracy = mean(f32((logits > 0) == (y > 0.5)))
output loss = mean(sigmoid_cross_entropy(logits, y))
P
learn logistic 'adam(lr=0.1)' 40 25 x y
above 'accuracy of the line' "$(value logistic accuracy)" 0.95

# A multilayer perceptron with dropout and batch norm: a ring, which no line cuts out.
made x y <<'P'
output x = reshape(sin(f32(range(400)) * 1.3), [200, 2])
output y = i64(sum(square(x), axis = 1) > 0.8)
P
cat >mlp.dfg <<'P'
input x: f32[n, 2]
input y: i64[n]
h = dropout(relu(batch_norm(momentum = 0.9)(dense(24)(x))), rate = 0.1)
logits = dense(2)(relu(dense(24)(h)))
output right = accuracy(logits, y)
output loss = mean(cross_entropy(logits, y))
P
learn mlp 'adam(lr=0.01)' 30 25 x y
above 'accuracy of the ring' "$(value mlp right)" 0.93

# A convolutional network, and one of residual blocks: strokes across or down.
made x y <<'P'
y_ = range(64) % 2
place = range(64) * 5 % 7
across = f32(range(8)[new, :, new] == place[:, new, new]) * ones([64, 8, 8])
down = transpose(across, [0, 2, 1])
output x = expand_dims(where(y_[:, new, new] == 1, across, down) + 0.2 * random_normal([64, 8, 8]), -1)
output y = i64(y_)
P
cat >cnn.dfg <<'P'
input x: f32[n, 8, 8, 1]
input y: i64[n]
h = max_pool(relu(conv(6, size = 3)(x)))
h = max_pool(relu(conv(12, size = 3)(h)))
logits = dense(2)(flatten(h))
output right = accuracy(logits, y)
output loss = mean(cross_entropy(logits, y))
P
learn cnn 'adam(lr=0.01)' 10 16 x y
above 'accuracy of the strokes' "$(value cnn right)" 0.99
cat >resnet.dfg <<'P'
input x: f32[n, 8, 8, 1]
input y: i64[n]
layer block(filters: int, stride: int = 1)(x) {
    h = relu(batch_norm(momentum = 0.8)(conv(filters, strides = stride, bias = false)(x)))
    h = batch_norm(momentum = 0.8)(conv(filters, bias = false)(h))
    static if stride != 1 { x = conv(filters, size = 1, strides = stride, bias = false)(x) }
    relu(x + h)
}
h = block(8)(conv(8)(x))
h = block(12, stride = 2)(h)
logits = dense(2)(global_avg_pool(h))
output right = accuracy(logits, y)
output loss = mean(cross_entropy(logits, y))
P
learn resnet 'adam(lr=0.01)' 15 16 x y
above 'accuracy of residual blocks' "$(value resnet right)" 0.99

# An autoencoder, and one that draws from a distribution of codes: samples of rank two.
made x <<'P'
output x = reshape(sin(f32(range(128)) * 1.9), [64, 2]) @ reshape(cos(f32(range(12))), [2, 6])
P
cat >autoencoder.dfg <<'P'
input x: f32[n, 6]
code = dense(2)(x)
output loss = mean(squared_error(dense(6)(code), x))
P
learn autoencoder 'adam(lr=0.02)' 60 16 x
below 'error of the code' "$(value autoencoder loss)" 0.01
cat >vae.dfg <<'P'
input x: f32[n, 6]
h = tanh(dense(16)(x))
centre, spread = dense(2)(h), dense(2)(h)
code = centre + exp(spread / 2) * random_normal(shape(centre))
error_ = sum(squared_error(dense(6)(tanh(dense(16)(code))), x), axis = -1)
prior = -0.5 * sum(1 + spread - square(centre) - exp(spread), axis = -1)
output error = mean(error_)
output distance = mean(prior)
output loss = mean(error_ + 0.05 * prior)
P
learn vae 'adam(lr=0.02)' 60 16 x
below 'error of the drawn code' "$(value vae error)" 0.5
above 'distance from the prior' "$(value vae distance)" 0.5

# An LSTM that reads text: the next letter of words that repeat.
made x <<'P'
text = [0, 1, 2, 0, 3, 1, 4]
begin = range(28)
output x = take(text, (begin[:, new] + range(15)) % 7)
P
cat >text.dfg <<'P'
input x: i32[n, 15]
letters = transpose(embedding(5, 8)(x), [1, 0, 2])
zero = zeros([n, 24])
_, _, all = lstm_steps(lstm(24), letters[:14], zero, zero)
logits = dense(5)(all)
next_ = transpose(x, [1, 0])[1:]
output right = accuracy(logits[3:], next_[3:])
output loss = mean(cross_entropy(logits, next_))
P
learn text 'adam(lr=0.02)' 40 7 x
above 'accuracy of the next letter' "$(value text right)" 0.99

# word2vec with negative samples: words of the same sentences are nearer than others.
made word near <<'P'
pair = range(240)
output word = pair % 6
output near = where(pair % 6 < 3, (pair + pair // 6) % 3, 3 + (pair + pair // 6) % 3)
P
cat >word2vec.dfg <<'P'
input word: i32[n]
input near: i32[n]
table, context = embedding(6, 4), embedding(6, 4)
w = table(word)
other = i32(random_uniform([n, 3]) * 6)
good = sum(w * context(near), axis = -1)
bad = sum(expand_dims(w, 1) * context(other), axis = -1)
output loss = mean(sigmoid_cross_entropy(good, ones([n]))) + mean(sum(sigmoid_cross_entropy(bad, zeros([n, 3])), axis = -1))
e = l2_normalize(table(range(6)))
alike = e @ transpose(e, [1, 0])
output within_ = min(alike[:3, :3])
output across_ = max(alike[:3, 3:])
P
learn word2vec 'adam(lr=0.05)' 15 24 word near
above 'likeness within sentences' "$(value word2vec within_)" "$(value word2vec across_)"

# Matrix factorisation: ratings that are a product of two.
made user item rating <<'P'
pair = range(120)
output user = pair // 12
output item = pair % 12
a, b = sin(f32(pair // 12) + 1), cos(f32(pair % 12) * 2)
output rating = 3 + a * b
P
cat >factors.dfg <<'P'
input user: i32[n]
input item: i32[n]
input rating: f32[n]
param mean_rating: f32[] = 0
guess = mean_rating + sum(embedding(10, 3)(user) * embedding(12, 3)(item), axis = -1)
output error = root_mean_squared_error(guess, rating)
output loss = mean(squared_error(guess, rating))
P
learn factors 'adam(lr=0.05)' 40 20 user item rating
below 'error of the ratings' "$(value factors error)" 0.1

# A transformer: the token before the last one of its kind.
made x y <<'P'
n = range(64)
output x = i32(sin(f32(n[:, new] * 6 + range(6)) * 3.7) * 2 + 2)
output y = reverse(x, [1])
P
cat >transformer.dfg <<'P'
input x: i32[n, 6]
input y: i32[n, 6]
h = embedding(4, 16)(x) + embedding(6, 16)(range(6))
static for i in 0..2 {
    h = layer_norm()(h + attention(2)(h))
    h = layer_norm()(h + dense(16)(relu(dense(32)(h))))
}
logits = dense(4)(h)
output right = accuracy(logits, y)
output loss = mean(cross_entropy(logits, y))
P
learn transformer 'adam(lr=0.01)' 40 16 x y
above 'accuracy of the reversed sequence' "$(value transformer right)" 0.95

# A generative adversarial network: numbers around 3. The generator ascends what the discriminator descends.
made x <<'P'
output x = 3 + 0.5 * random_normal([256, 1])
P
cat >gan.dfg <<'P'
input x: f32[n, 1]
made = dense(1)(relu(dense(16)(random_normal([n, 4]))))
hidden, judge = dense(16), dense(1)
fn real(x) { judge(tanh(hidden(x))) }
output centre = mean(made)
output loss = mean(sigmoid_cross_entropy(real(x), ones([n, 1]))) + mean(sigmoid_cross_entropy(real(reverse_gradient(made)), zeros([n, 1])))
P
learn gan 'adam(lr=0.01, beta1=0.5)' 12 32 x
below 'distance of the mean' "$(value gan centre | awk '{ print ($1 - 3) ^ 2 }')" 0.36

# A loss of inputs whose rank is not known is that of a matrix and a vector.
printf 'input x: f32\ninput y: i32\noutput loss = mean(cross_entropy(x, y))\noutput axes_ = rank(x, 7)\n' >any.dfg
status 0 "$DFG" run any.dfg --feed x=zeros:f32[2,2] --feed y=i32[2]:0,1 --fetch loss,axes_
[ "$(sed 's/.* //' out | cut -c1-7 | tr '\n' ' ')" = '0.69314 7 ' ] || { cat out; exit 1; }
