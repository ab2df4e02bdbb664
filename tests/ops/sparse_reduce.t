# Sparse reductions; results of TensorFlow 2.21.
SparseReduceSumSparse(i64([[0, 0], [0, 2], [1, 2]]), [1, 2, 4], i64([2, 3]), [0]) = i64([[0], [2]]), [1, 6], i64([3])
SparseReduceSumSparse(i64([[0, 0], [0, 2], [1, 2]]), [1, 2, 4], i64([2, 3]), 1, keep_dims = true) = i64([[0, 0], [1, 0]]), [3, 4], i64([2, 1])
SparseReduceMaxSparse(i64([[0, 0], [0, 2]]), [-1, -2], i64([2, 3]), [1]) = i64([[0]]), [-1], i64([2])
SparseReduceSumSparse(i64([[0, 0]]), [1], i64([2, 3]), 2)    : axis
