# Sparse tensors joined and cut; results of TensorFlow 2.21.
SparseConcat([i64([[0, 1]]), i64([[1, 0]])], [[7], [8]], [i64([2, 2]), i64([2, 1])], concat_dim = -1) = i64([[0, 1], [1, 2]]), [7, 8], i64([2, 3])
SparseConcat([i64([[0, 1]]), i64([[1, 0]])], [[7], [8]], [i64([2, 2]), i64([2, 1])], concat_dim = 0) : dimension 1 of tensor 1 is 1, but that of tensor 0 is 2
SparseConcat([i64([[0, 1]]), i64([[1, 0]])], [[7], [8]], [i64([2, 2]), i64([2, 1])], concat_dim = 2) : axis
SparseSplit(i64(1), i64([[0, 1], [1, 2]]), [7, 8], i64([2, 3]), num_split = 2) = i64([[0, 1]]), i64([[1, 0]]), [7], [8], i64([2, 2]), i64([2, 1])
SparseSplit(i64(0), i64([[0, 1]]), [7], i64([2, 3]), num_split = 3) : cannot split dimension 0, which is 2, into 3 parts
