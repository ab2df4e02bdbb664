"""Draws of random numbers with parameters: tests/tensorflow/ops.py. Equal seeds give TensorFlow's numbers."""
import numpy


def shape(r, most=2):
    return [*map(int, r.integers(0 if r.random() < 0.05 else 1, 5, r.integers(0, most + 1)))]


def part(r, of):
    """A shape that broadcasts to another."""
    cut = list(of[int(r.integers(0, len(of) + 1)):])
    return [1 if r.random() < 0.2 else d for d in cut]


def seeds(r):
    return {"seed": int(r.integers(1, 2**40)), "seed2": int(r.integers(0, 2**40))}


def seed(r):
    return r.integers(-2**31, 2**31, 2).astype(r.choice(["i4", "i8"]))


def index(r, sizes):
    return numpy.array(sizes, r.choice(["i4", "i8"]))


def alphas(r, of, kinds=("f2", "f4", "f8")):
    values = numpy.where(r.random(of) < 0.2, 1, numpy.exp(r.normal(0, 1.5, of)))
    return numpy.asarray(values, r.choice(list(kinds)))


def rates(r, of):
    values = numpy.exp(r.normal(1.5, 1.5, of))
    if r.random() < 0.1:
        values = numpy.where(r.random(of) < 0.5, 0, values)  # no others: TensorFlow does not return from rates that are not finite
    return numpy.asarray(values, r.choice(["f2", "f4", "f8", "i4", "i8"]))


def number(r):
    return str(r.choice(["float16", "float32", "float64", "int32", "int64"]))


def stream(parameter, typed):
    def draw(r):
        x = parameter(r, shape(r))
        attrs = seeds(r)
        if typed:
            attrs["dtype"] = number(r)
        return {"inputs": [index(r, shape(r)), x], "attrs": attrs, "rtol": 2e-3 if x.dtype.itemsize == 2 else 1e-5}
    return draw


def gamma_v2(r):
    x = alphas(r, shape(r))
    return {"inputs": [index(r, shape(r) + list(x.shape)), seed(r), x], "grad": [2] if x.dtype.itemsize > 2 else [], "rtol": 2e-3 if x.dtype.itemsize == 2 else 1e-5,
            "grad_rtol": 1e-3, "grad_atol": 1e-4}


def gamma_v3(r):
    draw = gamma_v2(r)
    sizes, _, x = draw["inputs"]
    draw["inputs"] = [sizes, r.integers(0, 2**63, 1).astype("u8"), r.integers(0, 2**63, 2).astype("u8"), numpy.array(1, "i4"), x]
    return {**draw, "grad": [4] if draw["grad"] else []}


def gamma_grad(r):
    x = alphas(r, shape(r), ["f4", "f8"])
    return {"inputs": [x, numpy.asarray(r.gamma(x) + 1e-3, x.dtype)], "rtol": 1e-4, "atol": 1e-5}


def poisson_by_seed(r):
    x = rates(r, shape(r))
    return {"inputs": [index(r, shape(r) + list(x.shape)), seed(r), x], "attrs": {"dtype": number(r)}}


def binomial_by_seed(r):
    batch = shape(r)
    kind = r.choice(["f4", "f8"])
    counts = numpy.asarray(r.choice([0, 1, 3, 20, 500, 10000], part(r, batch)), kind)
    probs = numpy.asarray(r.choice([0, 0.01, 0.2, 0.5, 0.7, 0.99, 1], part(r, batch)), kind)
    full = list(numpy.broadcast_shapes(counts.shape, probs.shape))
    return {"inputs": [index(r, shape(r) + full), seed(r), counts, probs], "attrs": {"dtype": str(r.choice(["float32", "float64", "int32", "int64"]))}}


def ends(r, of, kind, shapes):
    mean = numpy.asarray(r.normal(0, 2, shapes[0]), kind)
    deviation = numpy.asarray(r.uniform(0.3, 3, shapes[1]), kind)
    low = numpy.asarray(r.normal(-1, 2, shapes[2]), kind)
    high = numpy.asarray(r.uniform(5, 9, shapes[3]), kind)
    if r.random() < 0.2:
        low, high = numpy.asarray(numpy.full(shapes[2], -numpy.inf), kind), high - 6
    elif r.random() < 0.3:
        high = numpy.asarray(numpy.full(shapes[3], numpy.inf), kind)
    if r.random() < 0.05:
        deviation = -deviation
    return [mean, deviation, low, numpy.asarray(high, kind)]


def truncated(r):
    sizes = [int(n) for n in r.integers(1, 9, r.integers(1, 4))]
    shapes = [[[], [1], sizes[:1]][int(r.integers(0, 3))] for _ in range(4)]
    if r.random() < 0.3:
        shapes, sizes = [[], [], [], []], [150, 3]
    return {"inputs": [index(r, sizes), *ends(r, sizes, r.choice(["f4", "f8"]), shapes)], "attrs": seeds(r)}


def truncated_by_seed(r):
    batch = shape(r)
    parameters = ends(r, batch, r.choice(["f4", "f8"]), [part(r, batch) for _ in range(4)])
    full = list(numpy.broadcast_shapes(*[p.shape for p in parameters]))
    return {"inputs": [index(r, shape(r) + full), seed(r), *parameters], "grad": [4, 5], "grad_rtol": 1e-3, "grad_atol": 1e-4}


DRAWS = {"RandomGamma": stream(alphas, False), "StatelessRandomGammaV2": gamma_v2, "StatelessRandomGammaV3": gamma_v3,
         "RandomGammaGrad": gamma_grad, "RandomPoissonV2": stream(rates, True), "StatelessRandomPoisson": poisson_by_seed,
         "StatelessRandomBinomial": binomial_by_seed, "ParameterizedTruncatedNormal": truncated,
         "StatelessParameterizedTruncatedNormal": truncated_by_seed}
