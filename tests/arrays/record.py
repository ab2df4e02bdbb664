"""Records the arrays of this directory with NumPy: python3 record.py (NumPy 2). The tests know what is in them."""
import numpy as np

grid = np.arange(6, dtype="<f4").reshape(2, 3)
np.save("c-order.npy", grid)
np.save("fortran-big-endian.npy", np.asfortranarray(grid.astype(">i4")))
np.save("cube-fortran.npy", np.asfortranarray(np.arange(24, dtype="<i2").reshape(2, 3, 4)))
for dtype in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "c8", "c16"]:
    np.save(f"dtype-{dtype}.npy", np.array([0, 1], dtype=dtype))
np.save("complex-big-endian.npy", np.array([1 + 2j, 3 - 4j], dtype=">c8"))
np.save("strings.npy", np.array([[b"a", b"bcd"], [b"", b"x\0y"]]))
np.save("raw-two-bytes.npy", np.array([0x3F80, 0x4000], dtype="u2").view("V2"))
np.save("object.npy", np.array([None, 1], dtype=object), allow_pickle=True)
np.save("unicode.npy", np.array(["a", "b"]))
np.save("structured.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
np.save("scalar.npy", np.float64(0.1))
np.save("empty.npy", np.zeros((0, 3), "f4"))
np.savez("stored.npz", **{"x:0": grid, "y": np.arange(3)})
np.savez_compressed("deflated.npz", **{"x:0": grid, "y": np.arange(3)})
np.savez_compressed("thousandfold.npz", zeros=np.zeros(80 * 1024 * 1024, "u1"))
