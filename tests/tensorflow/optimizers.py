#!/usr/bin/env python3
"""Optimizers of the library, step by step as those of Keras.

    tests/tensorflow/optimizers.py

Prints the lines of tests/cli/optimizers.sh: an optimizer, and the sum of sin(i) w[i] of a matrix and a vector after five
steps by Keras in f64, in which the gradient of w[i] is cos(w[i]) sin(i). Exits 77, with a message, where Keras is not installed.
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
    import keras
    import numpy as np
except ImportError:
    print("Keras is not installed")
    sys.exit(77)
keras.backend.set_floatx("float64")
O = keras.optimizers

OPTIMIZERS = {
    "adamax(lr = 0.125)": O.Adamax(0.125),
    "nadam(lr = 0.125)": O.Nadam(0.125),
    "lion(lr = 0.125)": O.Lion(0.125),
    "lion(lr = 0.125, decay = 0.25)": O.Lion(0.125, weight_decay=0.25),
    "lamb(lr = 0.125)": O.Lamb(0.125),
    "adadelta(lr = 0.5)": O.Adadelta(0.5),
    "ftrl(lr = 0.125)": O.Ftrl(0.125),
    "ftrl(lr = 0.125, l1 = 0.5, l2 = 0.25, beta = 0.5)": O.Ftrl(
        0.125, l1_regularization_strength=0.5, l2_regularization_strength=0.25, beta=0.5),
    "adafactor(lr = 0.125)": O.Adafactor(0.125),
}


def wave(*shape):
    return np.sin(np.arange(np.prod(shape)) + 1.0).reshape(shape)


for text, optimizer in OPTIMIZERS.items():
    shapes = [(2, 3), (4,)]
    variables = [keras.Variable(wave(*shape)) for shape in shapes]
    for _ in range(5):
        optimizer.apply([np.cos(np.array(v)) * wave(*s) for v, s in zip(variables, shapes)], variables)
    sums = [float((wave(*s) * np.array(v)).sum()) for v, s in zip(variables, shapes)]
    print(f"{text}: {sums[0]:.6f} {sums[1]:.6f}")
