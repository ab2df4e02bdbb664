#!/usr/bin/env python3
"""Layers and losses of the library compute what those of Keras do.

    tests/tensorflow/layers.py [--record]

The outputs of tests/programs/layers.dfg are compared with Keras, in f64, with the weights that dfg's initialisers make.
--record writes what dfg prints, once it is right, into the program as its claims. DFG is the program (build/dfg). Exits
77, with a message, where Keras is not installed.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DFG = os.path.abspath(os.environ.get("DFG", os.path.join(ROOT, "build", "dfg")))
PROGRAM = os.path.join(ROOT, "tests", "programs", "layers.dfg")

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
    import keras
    import numpy as np
except ImportError:
    print("Keras is not installed")
    sys.exit(77)
keras.backend.set_floatx("float64")
L, losses, activations = keras.layers, keras.losses, keras.activations


def wave(*shape):
    return np.sin(np.arange(np.prod(shape)) + 1.0).reshape(shape)


def share(*shape):
    return (wave(*shape) + 1) / 2


def applied(layer, weights, *inputs, **options):
    """The layer on the inputs, with these weights."""
    layer(*inputs, **options)
    layer.set_weights(weights)
    return np.array(layer(*inputs, **options))


def convolved(layer, x, *shapes):
    """With weights by wave, and a bias of zeros."""
    layer(x)
    return applied(layer, [*(wave(*shape) for shape in shapes), np.zeros(shapes[-1][-1])], x)


def transposed(layer, x, shape):
    return applied(layer, [wave(*shape), np.zeros(shape[2])], x)


def heads(w, count):
    """The weights of a dense layer, w and b, for a layer whose output is split into heads."""
    return [w[0].reshape(w[0].shape[0], count, -1), w[1].reshape(count, -1)]


def joined(w, count):
    return [w[0].reshape(count, -1, w[0].shape[1]), w[1]]


def dense(weights, name):
    return [[weights[f"{name}/{part}dense/{of}"] for of in "wb"] for part in ("q/", "k/", "v/", "")]


def cross(weights, name, mask=None):
    q, k, v, out = dense(weights, name)
    layer = L.MultiHeadAttention(2, 1)
    parts = [*heads(q, 2), *heads(k, 2), *heads(v, 2), *joined(out, 2)]
    # The order of Keras: query, key, value, output.
    x, memory = wave(2, 5, 3)[..., :2], wave(2, 4, 6)
    options = {"query": x, "value": memory, "key": memory}
    if mask is not None:
        options["attention_mask"] = np.broadcast_to(mask, (2, 5, 4))
    return applied(layer, parts, **options)


def grouped(weights, name):
    q, k, v, out = dense(weights, name)
    x = wave(2, 3, 8)
    return applied(L.GroupQueryAttention(2, 4, 2), [*heads(q, 4), *heads(k, 2), *heads(v, 2), *joined(out, 4)],
                   query=x, value=x, use_causal_mask=True)


def rotated(x):
    angle = np.arange(3)[:, None] * 10000.0 ** (-2 * np.arange(2) / 4)
    a, b = x[..., :2], x[..., 2:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def gru(weights, name):
    """dfg's gates are r, z; those of Keras z, r and the candidate."""
    w, b = weights[f"{name}/w"], weights[f"{name}/bias"]
    c, cb = weights[f"{name}/candidate_w"], weights[f"{name}/candidate_bias"]
    kernel = np.concatenate([w[:, 2:], w[:, :2], c], 1)
    return [kernel[:2], kernel[2:], np.concatenate([b[2:], b[:2], cb])]


def lstm(weights, name):
    """dfg's gates are i, j, f, o, with 1 added to f; those of Keras i, f, j, o."""
    w, b = weights[f"{name}/w"], weights[f"{name}/bias"].copy()
    b[4:6] += 1
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    return [w[:2][:, order], w[2:][:, order], b[order]]


def recurrent(weights, mask=None):
    """Time comes first in dfg."""
    layer = L.Bidirectional(L.GRU(2, return_sequences=True, reset_after=False),
                            backward_layer=L.GRU(2, return_sequences=True, reset_after=False, go_backwards=True))
    options = {} if mask is None else {"mask": mask}
    y = applied(layer, gru(weights, "forward") + gru(weights, "backward"), wave(3, 2, 2).transpose(1, 0, 2), **options)
    if mask is not None:  # Keras repeats the last output where a sequence has ended, dfg has zeros
        y = y * mask[..., None]
    return y.transpose(1, 0, 2)


def above(weights):
    x = applied(L.GRU(2, return_sequences=True, reset_after=False), gru(weights, "forward"),
                wave(3, 2, 2).transpose(1, 0, 2))
    w, b = weights["above/w"], weights["above/bias"]
    return applied(L.SimpleRNN(2, return_sequences=True), [w[:2], w[2:], b], x).transpose(1, 0, 2)


def wanted(weights):
    sequence, image, volume = wave(2, 5, 3), wave(2, 4, 5, 4), wave(1, 3, 4, 3, 2)
    ones, zeros = np.ones, np.zeros
    x = wave(7) * 4
    logits, labels = wave(3, 4) * 2, np.array([1, 3, 0])
    targets = np.array([[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1.0]])
    p, q = np.array(activations.softmax(logits)), np.array(activations.softmax(targets))
    hot = np.eye(4)[labels]
    angle = np.arange(3)[:, None] * 10000.0 ** (-2 * np.arange(2) / 4)
    ragged = np.arange(3) < np.array([1, 3])[:, None]
    return {
        "conv1d_same": convolved(L.Conv1D(2, 3, padding="same"), sequence, (3, 3, 2)),
        "conv1d_valid": convolved(L.Conv1D(2, 2, 2), sequence, (2, 3, 2)),
        "conv1d_causal": convolved(L.Conv1D(2, 3, dilation_rate=2, padding="causal"), sequence, (3, 3, 2)),
        "conv3d_same": convolved(L.Conv3D(2, 3, (1, 2, 1), padding="same"), volume, (3, 3, 3, 2, 2)),
        "transposed_same": transposed(L.Conv2DTranspose(2, 3, 2, padding="same"), image, (3, 3, 2, 4)),
        "transposed_valid": transposed(L.Conv2DTranspose(2, (2, 3), (3, 2)), image, (2, 3, 2, 4)),
        "separable": convolved(L.SeparableConv2D(3, 3, 2, padding="same", depth_multiplier=2), image, (3, 3, 4, 2),
                               (1, 1, 8, 3)),
        "upsampled": np.array(L.UpSampling2D((2, 3))(image[:, :2, :2, :1])),
        "groups": applied(L.GroupNormalization(2), [ones(4), zeros(4)], image),
        "instances": applied(L.GroupNormalization(-1), [ones(4), zeros(4)], image),
        "rms": applied(L.RMSNormalization(), [ones(3)], sequence),
        "unit": np.array(L.UnitNormalization()(sequence)),
        "cross": cross(weights, "cross/cross_attention"),
        "masked": cross(weights, "masked/cross_attention", np.arange(4) < np.array([2, 4])[:, None, None]),
        "shared": grouped(weights, "shared/grouped_attention"),
        "turned": rotated(wave(2, 3, 4)),
        "places": np.concatenate([np.sin(angle), np.cos(angle)], 1),
        "activations": np.array([activations.gelu(x, approximate=True), activations.mish(x), activations.hard_sigmoid(x),
                                 np.where(x > 0, x, x / 4)]),
        "both": recurrent(weights),
        "both_ragged": recurrent(weights, ragged),
        "twice": above(weights),
        "steps": applied(L.LSTM(2, return_sequences=True), lstm(weights, "long"),
                         wave(3, 2, 2).transpose(1, 0, 2)).transpose(1, 0, 2),
        "margin": np.maximum(0, 1 - logits * (targets * 2 - 1)) ** 2,
        "cosh_": np.log(np.cosh(logits - targets)),
        "counts": share(4) - np.arange(4) * np.log(share(4)),
        "quantile": np.where(targets > logits, 0.3, -0.7) * (targets - logits),
        "smooth": np.array(losses.categorical_crossentropy(hot, logits, from_logits=True, label_smoothing=0.1)),
        "divergence": np.array(losses.kl_divergence(q, p)),
        "focal_two": np.stack([losses.binary_focal_crossentropy(targets[:, i:i + 1], logits[:, i:i + 1],
                                                                apply_class_balancing=True, from_logits=True)
                               for i in range(4)], 1),
        "focal_many": np.array(losses.categorical_focal_crossentropy(hot, logits, from_logits=True)),
        "overlap": np.array([losses.dice(t, y) for t, y in zip(targets, p)]),
        "pairs": np.where([0, 1, 0, 1], (share(4) * 2) ** 2, np.maximum(1 - share(4) * 2, 0) ** 2),
        "threes": np.maximum(((logits - targets) ** 2).sum(1) - ((logits - wave(3, 4)) ** 2).sum(1) + 1, 0),
        "angle": 1 + np.array(losses.cosine_similarity(targets, logits)),
    }


def dfg(*words):
    return subprocess.run([DFG, *words], check=True, capture_output=True, text=True).stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        graph, weights, results = (os.path.join(folder, name) for name in ("p.pb", "w.npz", "r.npz"))
        dfg("build", PROGRAM, "-o", graph)
        dfg("run", graph, "--target", "init", "--save", weights)
        dfg("run", graph, "-o", results)
        text = dfg("run", graph)
        of_keras, got = wanted(np.load(weights)), np.load(results)
    assert sorted(of_keras) == sorted(got), set(of_keras) ^ set(got.files)
    for name in got:
        np.testing.assert_allclose(got[name], of_keras[name], rtol=0, atol=2e-4 if name == "places" else 1.1e-5, err_msg=name)
    if "--record" in sys.argv:
        with open(PROGRAM, encoding="utf-8") as file:
            kept = [line for line in file if not line.startswith("#: ")]
        items = text.replace("\n", " ").strip()
        for name in got:
            items = items.replace(f" {name}: ", f"\n{name}: ")
        with open(PROGRAM, "w", encoding="utf-8") as file:
            file.writelines(kept)
            file.writelines(f"#: --fetch {item.partition(':')[0]} = {item.strip()}\n" for item in items.split("\n"))
    print(f"{len(got.files)} layers and losses agree with Keras")


main()
