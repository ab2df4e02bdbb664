# Arithmetic of sparse tensors; results of TensorFlow 2.21.
SparseReduceSum(i64([[0, 0], [0, 2], [1, 1]]), [1, 2, 4], i64([2, 3]), 1) = [3, 4]
SparseReduceSum(i64([[0, 0], [0, 2], [1, 1]]), [1, 2, 4], i64([2, 3]), [0, -1], keep_dims = true) = [[7]]
SparseReduceSum(i64([[0, 0]]), [1], i64([2, 3]), 2)          : axis
SparseReduceSum(i64([[0, 0, 0, 0, 0, 0, 0, 0, 0]]), [1], i64([1, 1, 1, 1, 1, 1, 1, 1, 1]), 0) : the dense shape has 9 dimensions, expected at most 8
SparseReduceMax(i64([[0, 0], [0, 2]]), [-1, -2], i64([2, 3]), [1]) = [-1, 0]
SparseTensorDenseAdd(i64([[0, 1]]), [5], i64([1, 2]), [[1, 2]]) = [[1, 7]]
SparseTensorDenseAdd([[0, 2]], [5], [1, 2], [[1, 2]])        : index 2 of entry 0 is outside [0,2)
SparseTensorDenseAdd([[0, 1]], [5], [1, 3], [[1, 2]])        : dimension 1 of the dense shape is 3, but the dense tensor has shape [1,2]
SparseDenseCwiseMul(i64([[0, 1], [1, 0]]), [5, 6], i64([2, 2]), [10, 100]) = [500, 60]
SparseDenseCwiseMul(i64([[0, 1]]), [5], i64([2, 2]), [1, 2, 3]) : dense has shape [3], which does not broadcast
SparseDenseCwiseDiv(i64([[0, 1]]), f32([6]), i64([2, 2]), f32([[2], [3]])) = f32([3])
SparseDenseCwiseDiv(i64([[0, 1]]), i32([6]), i64([2, 2]), i32([[0], [3]])) : element 0 of dense is 0
SparseDenseCwiseAdd(i64([[0, 1]]), [6], i64([2, 2]), 1)      = [7]
SparseTensorDenseMatMul(i64([[0, 1], [1, 0]]), [2, 3], i64([2, 2]), [[1, 10], [100, 1000]]) = [[200, 2000], [3, 30]]
SparseTensorDenseMatMul(i64([[0, 1]]), [2], i64([2, 2]), [[1, 10], [100, 1000]], adjoint_a = true, adjoint_b = true) = [[0, 0], [2, 200]]
SparseTensorDenseMatMul(i64([[0, 2]]), [2], i64([2, 2]), [[1], [2]]) : entry 0 is at (0, 2), outside of a's shape
SparseTensorDenseMatMul(i64([[0, 1]]), [2], i64([2, 3]), [[1], [2]]) : 3
