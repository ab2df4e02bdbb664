"""Draws of ops that parse tensorflow.Example messages: tests/tensorflow/ops.py."""
import numpy
import tensorflow

train = tensorflow.train
KINDS = {"S": tensorflow.string, "f": tensorflow.float32, "i": tensorflow.int64}
KEYS = ["age", "", "tags", "a", "b", "words"]


def texts(items, shape=None):
    made = numpy.empty(len(items), object)
    for at, item in enumerate(items):
        made[at] = item
    return made if shape is None else made.reshape(shape)


def some(r, kind, count):
    """Values of a kind, as an array."""
    if kind == "S":
        return texts([b"x" * int(r.integers(1, 4)) + b"\xff" * int(r.integers(0, 2)) + b"y" for _ in range(count)])
    return (r.normal(size=count) * 5).astype("f4") if kind == "f" else r.integers(-2**40, 2**40, count)


def feature(values, kind):
    if kind == "S":
        return train.Feature(bytes_list=train.BytesList(value=list(values)))
    if kind == "f":
        return train.Feature(float_list=train.FloatList(value=values))
    return train.Feature(int64_list=train.Int64List(value=values))


def unpacked(kind, values, key):
    """An Example with the values as separate fields, as proto2 writes them; None for strings."""
    def varint(n):
        n, made = n % 2**64, b""
        while n >= 128:
            made, n = made + bytes([n % 128 + 128]), n // 128
        return made + bytes([n])

    def field(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content
    if kind == "S":
        return None
    items = [b"\x0d" + numpy.float32(v).tobytes() if kind == "f" else b"\x08" + varint(int(v)) for v in values]
    found = field(2 if kind == "f" else 3, b"".join(items))
    return field(1, field(1, field(1, key.encode()) + field(2, found)))


class Columns:
    """Columns of random forms, types and keys, and features for them."""

    def __init__(self, r, ragged, fixed=False):
        keys = [str(k) for k in r.permutation(KEYS)]
        count = [int(r.integers(0, 3)), int(r.integers(0, 3)), int(r.integers(0, 3)) if ragged else 0]
        count[0] += sum(count) == 0
        self.keys = [keys[:count[0]], keys[count[0]:count[0] + count[1]], keys[count[0] + count[1]:sum(count)]]
        self.kinds = [[str(r.choice(list(KINDS))) for _ in form] for form in self.keys]
        self.shapes, self.defaults = [], []
        for kind in self.kinds[1]:
            shape = [int(n) for n in r.integers(1 if r.random() < 0.9 else 0, 3, int(r.integers(0, 3)))]
            variable = not fixed and len(shape) > 0 and r.random() < 0.4
            self.shapes.append([-1, *shape[1:]] if variable else shape)
            given = variable or r.random() < 0.7
            total = 1 if variable else int(numpy.prod(shape))
            self.defaults.append(some(r, kind, total).reshape([] if variable else shape) if given else some(r, kind, 0))

    def types(self, form):
        return [KINDS[k] for k in self.kinds[form]]

    def features(self, r):
        """The features of one example; few do not fit."""
        made = {}
        for form in range(3):
            for at, (key, kind) in enumerate(zip(self.keys[form], self.kinds[form])):
                if r.random() < 0.15:
                    continue
                n = int(r.integers(0, 4))
                if form == 1:
                    shape = self.shapes[at]
                    stride = int(numpy.prod([d for d in shape if d >= 0]))
                    n = stride * (n if -1 in shape else 1)
                if r.random() < 0.01:
                    n, kind = n + 1, str(r.choice(list(KINDS)))
                made[key] = train.Feature() if r.random() < 0.05 else feature(some(r, kind, n), kind)
        made["other"] = feature(some(r, "i", 2), "i")
        return train.Features(feature=made)


def messages(r, make, single):
    count = 1 if single else int(r.integers(0, 5))
    made = [make().SerializeToString() for _ in range(count)]
    if r.random() < 0.02 and count and len(made[0]) > 2:
        made[0] = made[0][:-1]
    return texts(made, [] if single else [count])


def names(keys):
    return texts([k.encode() for k in keys])


def example_v2(r):
    c = Columns(r, True)
    single = bool(r.random() < 0.3)
    return {"inputs": [messages(r, lambda: train.Example(features=c.features(r)), single), texts([]), *map(names, c.keys), c.defaults],
            "attrs": {"num_sparse": len(c.keys[0]), "sparse_types": c.types(0), "ragged_value_types": c.types(2),
                      "ragged_split_types": [str(r.choice(["int32", "int64"])) for _ in c.keys[2]], "dense_shapes": c.shapes},
            "base64": True}


def example(r):
    c = Columns(r, False)
    scalars = [[texts([k.encode()], []) for k in form] for form in c.keys[:2]]
    return {"inputs": [messages(r, lambda: train.Example(features=c.features(r)), False), texts([]), *scalars, c.defaults],
            "attrs": {"sparse_types": c.types(0), "dense_shapes": c.shapes}, "base64": True}


def single(r):
    c = Columns(r, False)
    message = messages(r, lambda: train.Example(features=c.features(r)), True)
    if c.keys[0] and r.random() < 0.3:
        plain = unpacked(c.kinds[0][0], some(r, c.kinds[0][0], 3), c.keys[0][0])
        message = texts([plain], []) if plain else message
    return {"inputs": [message, c.defaults],
            "attrs": {"num_sparse": len(c.keys[0]), "sparse_keys": c.keys[0], "dense_keys": c.keys[1], "sparse_types": c.types(0),
                      "dense_shapes": c.shapes}, "base64": True}


class Lists:
    """Feature lists of random forms, types and keys."""

    def __init__(self, r):
        keys, count = [str(k) for k in r.permutation(KEYS)], [int(n) for n in r.integers(0, 3, 3)]
        self.keys = [keys[:count[0]], keys[count[0]:count[0] + count[1]], keys[count[0] + count[1]:sum(count)]]
        self.kinds = [[str(r.choice(list(KINDS))) for _ in form] for form in self.keys]
        self.shapes = [[int(n) for n in r.integers(1, 3, int(r.integers(0, 3)))] for _ in self.keys[1]]
        self.missing = [bool(r.random() < 0.6) for _ in self.keys[1]]

    def lists(self, r):
        made = {}
        for form in range(3):
            for at, (key, kind) in enumerate(zip(self.keys[form], self.kinds[form])):
                if r.random() < (0.05 if form == 1 else 0.2):
                    continue
                sizes = [int(numpy.prod(self.shapes[at])) if form == 1 and r.random() < 0.995 else int(r.integers(0, 4))
                         for _ in range(int(r.integers(0, 4)))]
                made[key] = train.FeatureList(feature=[feature(some(r, kind, n), kind) for n in sizes])
        return train.FeatureLists(feature_list=made)


def sequence(r):
    c, lists, one = Columns(r, True, True), Lists(r), bool(r.random() < 0.3)
    while one and (c.keys[2] or lists.keys[2]):  # TensorFlow does not set all splits of a single example
        c, lists = Columns(r, True, True), Lists(r)
    count = [len(lists.keys[0]), len(lists.keys[1])]
    types = [[KINDS[k] for k in kinds] for kinds in lists.kinds]
    splits = lambda keys: [str(r.choice(["int32", "int64"])) for _ in keys]
    make = lambda: train.SequenceExample(context=c.features(r), feature_lists=lists.lists(r))
    return {"inputs": [messages(r, make, one), texts([]), *map(names, c.keys), *map(names, lists.keys),
                       numpy.array(lists.missing, bool), c.defaults],
            "attrs": {"Ncontext_sparse": len(c.keys[0]), "context_sparse_types": c.types(0), "context_dense_shapes": c.shapes,
                      "context_ragged_value_types": c.types(2), "context_ragged_split_types": splits(c.keys[2]),
                      "Nfeature_list_sparse": count[0], "Nfeature_list_dense": count[1], "feature_list_sparse_types": types[0],
                      "feature_list_dense_types": types[1], "feature_list_dense_shapes": lists.shapes,
                      "feature_list_ragged_value_types": types[2], "feature_list_ragged_split_types": splits(lists.keys[2])},
            "base64": True, "lenient": True}  # an empty feature of the context has no default in TensorFlow


DRAWS = {"ParseSequenceExampleV2": sequence, "ParseExample": example, "ParseExampleV2": example_v2, "ParseSingleExample": single}
