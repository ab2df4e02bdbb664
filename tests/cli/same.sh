# The same numbers, bit for bit, for every example: on any number of threads, with and without optimisation, after
# `dfg opt`, and cut in two by a checkpoint.
. "$ROOT/tests/cli/kit"
python3 - <<'PY'
import random, struct
random.seed(1)
def npy(name, descr, form, shape, draw):
    count = 1
    for n in shape:
        count *= n
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    head += " " * (117 - len(head)) + "\n"
    with open(name + ".npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack("<%d%s" % (count, form), *(draw() for _ in range(count))))
def whole(below):
    return lambda: random.randrange(below)
npy("images", "|u1", "B", (20, 28, 28), whole(256))
npy("digits", "|u1", "B", (20,), whole(10))
npy("words", "<i4", "i", (20, 11), whole(5000))
npy("kinds", "<i4", "i", (20,), whole(4))
npy("user", "<i4", "i", (20,), whole(9))
npy("item", "<i4", "i", (20,), whole(9))
npy("rating", "<f4", "f", (20,), lambda: random.uniform(1, 5))
npy("sequences", "<f4", "f", (20, 16, 12), lambda: random.gauss(0, 1))
npy("tokens", "<i4", "i", (20, 9), whole(1000))
npy("wanted", "<i4", "i", (20, 9), whole(1000))
PY

train() { # GRAPH RESULT OPTIONS, with the data in $data
	graph=$1
	result=$2
	shift 2
	# The data are words.
	# shellcheck disable=SC2086
	status 0 "$DFG" run "$graph" $data --batch 6 --epochs 2 --target train --fetch loss --seed 5 \
		--metrics $result.jsonl --save $result.safetensors "$@"
}
same() { # RESULT: as the first
	for file in jsonl safetensors; do
		cmp first.$file "$1.$file" || { echo "$name: $1 differs"; exit 1; }
	done
}

while read -r name optimizer data; do
	status 0 "$DFG" build "$ROOT/examples/$name.dfg" -D training=true -o g.pb
	status 0 "$DFG" grad g.pb --loss loss --optimizer "$optimizer" -o train.pb
	train train.pb first
	[ "$(wc -l <first.jsonl)" = 8 ]
	train train.pb one --threads 1
	same one
	train train.pb five --threads 5
	same five
	train train.pb plain --no-opt
	same plain
	status 0 "$DFG" opt train.pb --fetch loss --target train,init -o opt.pb
	train opt.pb opt --no-opt
	same opt
	train train.pb cut --steps 3 --checkpoint ck
	train train.pb cut --checkpoint ck --resume
	same cut
	rm -r ck
done <<'END'
mlp adam(lr=0.001) --data images=@images.npy --data labels=@digits.npy
lenet momentum(lr=0.01) --data images=@images.npy --data labels=@digits.npy
autoencoder rmsprop(lr=0.001) --data images=@images.npy
embedding adagrad(lr=0.1) --data words=@words.npy --data labels=@kinds.npy
factorisation sgd(lr=0.1) --data user=@user.npy --data item=@item.npy --data rating=@rating.npy
lstm adamw(lr=0.001) --data sequences=@sequences.npy --data labels=@kinds.npy
transformer nesterov(lr=0.01) --data tokens=@tokens.npy --data wanted=@wanted.npy
END
