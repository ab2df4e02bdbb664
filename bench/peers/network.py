"""The tensors of bench/network.c from server to server in a distributed session of TensorFlow, over gRPC: 64 MB one way in a
step of their own, 4 bytes there and back in an iteration of a loop."""
from hosts import ITERATIONS, far, measure


def bulk(v1, on):
    with on(0):
        x = v1.get_variable("x", [1 << 24], initializer=v1.ones_initializer())
    with on(1):
        return v1.identity(x).op


if __name__ == "__main__":
    measure("64 MB to another process", 2, bulk, 1000, 20)
    measure("4 bytes there and back, asleep", 2, far, ITERATIONS, 3)
