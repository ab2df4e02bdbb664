# Sparse tensors; results of TensorFlow 2.21.
SparseReorder(i64([[1, 0], [0, 1]]), [7, 8], i64([2, 2]))    = i64([[0, 1], [1, 0]]), [8, 7]
SparseReorder(i64([[1, 0], [0, 2]]), [7, 8], i64([2, 2]))    : index 2 of entry 1 is outside [0,2) in dimension 1
SparseReorder(i64([[1, 0]]), [7, 8], i64([2, 2]))            : values have shape [2], expected one for each of 1 indices
SparseReorder(i64([[1, 0]]), [7], i64([2]))                  : indices have shape [1,2] and dense_shape [1], expected [n,rank] and [rank]
SparseReorder(i64([[0, 0]]), [7], i64([-2, 1]))              : the dense shape has dimension -2
SparseReorder(i64([[0, 0]]), [7], i64([4611686018427387904, 4])) : the dense shape has more than
SparseReshape(i64([[0, 1], [1, 0]]), i64([2, 3]), i64([3, -1])) = i64([[0, 1], [1, 1]]), i64([3, 2])
SparseReshape(i64([[0, 1]]), i64([2, 3]), i64([4]))          : new_shape has 4 elements, but the dense shape has 6
SparseReshape(i64([[0, 1]]), i64([2, 3]), i64([-1, -1]))     : dimension 1 of new_shape is -1, expected one -1 at most
SparseSlice(i64([[0, 1], [1, 0], [1, 2]]), [7, 8, 9], i64([2, 3]), i64([1, 0]), i64([1, 2])) = i64([[0, 0]]), [8], i64([1, 2])
SparseSlice(i64([[0, 1]]), [7], i64([2, 3]), i64([-1, 0]), i64([1, 2])) : start is -1 and size 1 in dimension 0
SparseSliceGrad([5], i64([[0, 1], [1, 0]]), i64([1, 0]), i64([[0, 0]])) = [0, 5]
SparseSliceGrad([5], i64([[0, 1], [1, 0]]), i64([1, 0]), i64([[0, 2]])) : output_indices are not those of a slice
SparseFillEmptyRows(i64([[0, 1], [2, 0]]), [7, 8], i64([4, 2]), 9) = i64([[0, 1], [1, 0], [2, 0], [3, 0]]), [7, 9, 8, 9], [false, true, false, true], i64([0, 2])
SparseFillEmptyRowsGrad(i64([0, 2]), f32([1, 2, 4, 8]))      = f32([1, 4]), f32(10)
SparseFillEmptyRowsGrad(i64([0, 4]), f32([1, 2, 4, 8]))      : element 1 of reverse_index_map is 4, outside [0,4)
