# Elements and rows stored at indices.
ScatterNd([[1], [3], [1]], [9, 8, 7], [4])                  = [0, 16, 0, 8]
ScatterNd([[0]], [[1, 2]], [2, 2])                          = [[1, 2], [0, 0]]
ScatterNd([[1]], ["a"], [2])                                = ["", "a"]
ScatterNd([[4]], [1], [4])                                  : indices[0,0] is 4, outside [0,4)
ScatterNd([[-1]], [1], [4])                                 : indices[0,0] is -1
ScatterNd([[0]], [1, 2], [4])                               : updates have shape [2], which does not fit indices of shape [1,1] into a tensor of shape [4]
ScatterNd([1], 9, [4])                                         : indices have shape [1], expected at least a matrix
ScatterNd([[0]], [[]], [2, 0])                                 : indices have shape [1,1], updates [1,0] and the output [2,0]: only some of them have elements
TensorScatterUpdate([1, 2, 3], [[1], [1]], [8, 9])          = [1, 9, 3]
TensorScatterUpdate(["a", "b"], [[0]], ["c"])               = ["c", "b"]
TensorScatterUpdate([1], [[1]], [2])                        : indices[0,0] is 1, outside [0,1)
TensorScatterUpdate([1, 2], [1], 3)                            : indices have shape [1], expected at least a matrix
TensorScatterAdd([1, 2, 3], [[1], [1]], [4, 5])             = [1, 11, 3]
TensorScatterAdd([[1, 2], [3, 4]], [[1]], [[1, 1]])         = [[1, 2], [4, 5]]
TensorScatterAdd([1], [[1]], [2])                           : outside [0,1)
TensorScatterSub([9, 9], [[1], [1]], [4, 5])                = [9, 0]
TensorScatterSub([1], [[1]], [2])                           : outside [0,1)
TensorScatterMax([1, 5], [[0], [1]], [3, 3])                = [3, 5]
TensorScatterMax(f32([1, nan]), [[0], [1]], f32([nan, 1]))  = [nan, nan]
TensorScatterMax([1], [[1]], [2])                           : outside [0,1)
TensorScatterMin([1, 5], [[0], [1]], [3, 3])                = [1, 3]
TensorScatterMin([1], [[1]], [2])                           : outside [0,1)
SparseToDense([1, 3], [4], [7, 8], 0)                       = [0, 7, 0, 8]
SparseToDense([[0, 1], [1, 0]], [2, 2], 5, 1)               = [[1, 5], [5, 1]]
SparseToDense(2, [3], 5, 1)                                 = [1, 1, 5]
SparseToDense([3, 1], [4], [7, 8], 0)                       : row 1 of the indices is smaller than the row before it
SparseToDense([1, 1], [4], [7, 8], 0)                       : row 1 of the indices repeats the row before it
SparseToDense([3, 1], [4], [7, 8], 0, validate_indices = false) = [0, 8, 0, 7]
SparseToDense([4], [4], [7], 0)                             : outside [0,4)
SparseToDense([1, 2], [4], [7], 0)                          : 1 values for 2 indices
ScatterNd([[0]], [f32(nan)], [2])                           = [nan, 0]
TensorScatterUpdate([[1, 2], [3, 4]], [[1, 0]], [9])        = [[1, 2], [9, 4]]
TensorScatterMin(f32([inf, 2]), [[0]], f32([5]))            = [5, 2]
TensorScatterSub([5], [[0]], [[1, 2]])                      : updates have shape [1,2], which does not fit indices of shape [1,1] into a tensor of shape [1]
SparseToDense([], [2], [], 3)                               = [3, 3]
