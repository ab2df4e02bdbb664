# Sparse tensors combined; results of TensorFlow 2.21.
SparseAdd(i64([[0], [2]]), [1, 2], i64([4]), i64([[2], [3]]), [-2, 5], i64([4]), 1) = i64([[0], [3]]), [1, 5], i64([4])
SparseAdd(i64([[0]]), [1], i64([4]), i64([[2]]), [-2], i64([5]), 0) : the dense shapes have 4 and 5 in dimension 0
SparseAddGrad([1, 2, 3], i64([[0], [2]]), i64([[2], [3]]), i64([[0], [2], [3]])) = [1, 2], [2, 3]
SparseAddGrad([1, 2], i64([[0]]), i64([[2]]), i64([[0], [2], [3]])) : the gradient has shape [2], expected a value for each of the sum's 3 entries
SparseSparseMaximum(i64([[0], [2]]), [-1, 2], i64([4]), i64([[2], [3]]), [3, 5], i64([4])) = i64([[0], [2], [3]]), [0, 3, 5]
SparseSparseMinimum(i64([[0], [2]]), [-1, 2], i64([4]), i64([[2], [3]]), [3, 5], i64([4])) = i64([[0], [2], [3]]), [-1, 2, 0]
SparseSoftmax(i64([[0, 0], [0, 2], [1, 1]]), f32([1, 1, 3]), i64([2, 3])) = f32([0.5, 0.5, 1])
SparseSoftmax(i64([[0]]), f32([1]), i64([2]))                : the dense shape has 1 dimensions, expected at least 2
