"""Draws of the ops that compute a recurrent cell, or all steps of a sequence, at once: tests/tensorflow/ops.py."""
import numpy


def array(r, *size, scale=0.5):
    return (scale * r.normal(size=size)).astype("f4")


def sizes(r):
    return map(int, r.integers(1, 5, 4))


def lstm_inputs(r, batch, inputs, cells, steps=None):
    x = [batch, inputs] if steps is None else [steps, batch, inputs]
    return [array(r, *x), array(r, batch, cells), array(r, batch, cells), array(r, inputs + cells, 4 * cells),
            array(r, cells), array(r, cells), array(r, cells), array(r, 4 * cells)]


TOLERANCE = {"rtol": 1e-4, "atol": 1e-5, "grad_rtol": 2e-3, "grad_atol": 1e-4}


def attributes(r, version=1):
    clip = float(r.choice([0.2, 3] if version == 1 else [-1, 0, 0.2, 3]))
    return {"cell_clip": clip, "use_peephole": bool(r.integers(2)), **({"forget_bias": float(r.normal())} if version == 1 else {})}


def cell(r):
    batch, inputs, cells, _ = sizes(r)
    return {"inputs": lstm_inputs(r, batch, inputs, cells), "attrs": attributes(r), **TOLERANCE}


def sequence(version):
    def draw(r):
        batch, inputs, cells, steps = sizes(r)
        length = numpy.array(steps, "i8")  # TensorFlow leaves what is beyond it as it finds it
        attrs = {**attributes(r, version), "cell_clip": 30.0} if r.random() < 0.7 else attributes(r, version)
        # TensorFlow's own gradient of BlockLSTMV2 takes the gates in the order of BlockLSTM.
        return {"inputs": [length, *lstm_inputs(r, batch, inputs, cells, steps)], "attrs": attrs, "of": [1, 6],
                "grad": list(range(1, 9)) if version == 1 else [], **TOLERANCE}
    return draw


def kept(r, size, n):
    return [numpy.tanh(array(r, *size)) for _ in range(n)]


def cell_grad(r):
    batch, inputs, cells, _ = sizes(r)
    return {"inputs": [*lstm_inputs(r, batch, inputs, cells), *kept(r, (batch, cells), 8)],
            "attrs": {"use_peephole": bool(r.integers(2))}, **TOLERANCE}


def sequence_grad(r):
    batch, inputs, cells, steps = sizes(r)
    return {"inputs": [numpy.array(r.integers(0, steps + 1), "i8"), *lstm_inputs(r, batch, inputs, cells, steps),
                       *kept(r, (steps, batch, cells), 9)], "attrs": {"use_peephole": bool(r.integers(2))}, **TOLERANCE}


def gru_inputs(r, batch, inputs, cells):
    return [array(r, batch, inputs), array(r, batch, cells), array(r, inputs + cells, 2 * cells),
            array(r, inputs + cells, cells), array(r, 2 * cells), array(r, cells)]


def gru(r):
    batch, inputs, cells, _ = sizes(r)
    return {"inputs": gru_inputs(r, batch, inputs, cells), "attrs": {}, **TOLERANCE}


def gru_grad(r):
    batch, inputs, cells, _ = sizes(r)
    return {"inputs": [*gru_inputs(r, batch, inputs, cells), *kept(r, (batch, cells), 4)], "attrs": {}, **TOLERANCE}


DRAWS = {"LSTMBlockCell": cell, "LSTMBlockCellGrad": cell_grad, "BlockLSTM": sequence(1), "BlockLSTMV2": sequence(2),
         "BlockLSTMGrad": sequence_grad, "BlockLSTMGradV2": sequence_grad, "GRUBlockCell": gru, "GRUBlockCellGrad": gru_grad}
