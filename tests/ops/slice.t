# Parts of tensors. The strided cases are NumPy's.
Slice([1, 2, 3, 4], [1], [2])                               = [2, 3]
Slice([[1, 2, 3], [4, 5, 6]], [0, 1], [-1, 2])              = [[2, 3], [5, 6]]
Slice([1, 2], [2], [0])                                     = []
Slice(5, [], [])                                            = 5
Slice([1, 2, 3], [2], [2])                                  : cannot take 2 elements from index 2 of dimension 0 of [3]
Slice([1, 2, 3], [-1], [1])                                 : begin is -1 in dimension 0, expected at least 0
Slice([1, 2, 3], [0], [-2])                                 : size is -2 in dimension 0
Slice([1, 2, 3], [0, 0], [1, 1])                            : begin has shape [2], expected a number for each dimension of [3]
StridedSlice([1, 2, 3, 4, 5], [1], [4], [2])                = [2, 4]
StridedSlice([1, 2, 3, 4, 5], [-2], [-6], [-1])             = [4, 3, 2, 1]
StridedSlice([1, 2, 3], [0], [0], [-1], begin_mask = 1, end_mask = 1) = [3, 2, 1]
StridedSlice([1, 2, 3], [5], [9], [1])                      = []
StridedSlice([1, 2, 3], [-9], [9], [1])                     = [1, 2, 3]
StridedSlice([[1, 2], [3, 4]], [1], [2], [1], shrink_axis_mask = 1) = [3, 4]
StridedSlice([[1, 2], [3, 4]], [0, -1], [0, 0], [1, 1], ellipsis_mask = 1, shrink_axis_mask = 2) = [2, 4]
StridedSlice([1, 2], [0, 0], [0, 2], [1, 1], new_axis_mask = 1) = [[1, 2]]
StridedSlice([1, 2], [0, 0], [2, 0], [1, 1], new_axis_mask = 2) = [[1], [2]]
StridedSlice(["a", "b", "c"], [1], [3], [1])                = ["b", "c"]
StridedSlice([1, 2, 3], [0], [3], [0])                      : stride 0 is 0
StridedSlice([1, 2, 3], [3], [4], [1], shrink_axis_mask = 1) : index 3 is out of range for dimension 0 of [3]
StridedSlice([1, 2, 3], [0], [1], [-1], shrink_axis_mask = 1) : the stride of an index is -1, expected a positive number
StridedSlice([1, 2, 3], [0, 0], [1, 1], [1, 1])             : 2 indices for the 1 dimensions
StridedSlice([1, 2, 3], [0, 0], [1, 1], [1, 1], ellipsis_mask = 3) : ellipsis_mask has 2 bits
StridedSlice([1, 2, 3], i64([4611686018427387904]), i64([-4611686018427387904]), i64([-4611686018427387904])) = [3]
StridedSliceGrad([5], [1], [4], [2], [10, 20])              = [0, 10, 0, 20, 0]
StridedSliceGrad([2, 2], [1], [2], [1], [7, 8], shrink_axis_mask = 1) = [[0, 0], [7, 8]]
StridedSliceGrad([5], [1], [4], [2], [1, 2, 3])             : dy has shape [3], expected the slice's [2]
