# Rows and elements by index.
Gather([[1, 2], [3, 4], [5, 6]], [2, 0])                    = [[5, 6], [1, 2]]
Gather([1, 2, 3], [[0, 1], [2, 2]])                         = [[1, 2], [3, 3]]
Gather([1, 2, 3], 1)                                        = 2
Gather(["a", "b"], [1, 1])                                  = ["b", "b"]
Gather([1, 2, 3], [3])                                      : indices[0] is 3, outside [0,3)
Gather([1, 2, 3], [0, -1])                                  : indices[1] is -1, outside [0,3)
Gather(1, [0])                                              : params is a scalar
GatherV2([[1, 2, 3], [4, 5, 6]], [2, 0], 1)                 = [[3, 1], [6, 4]]
GatherV2([[1, 2, 3], [4, 5, 6]], [2, 0], -1)                = [[3, 1], [6, 4]]
GatherV2([[1, 2, 3], [4, 5, 6]], [[0, 1], [2, 2]], 1, batch_dims = 1) = [[1, 2], [6, 6]]
GatherV2([1, 2], i32([]), 0)                                = []
GatherV2([[1, 2, 3]], [3], 1)                               : indices[0] is 3, outside [0,3)
GatherV2([1], [0], 1)                                       : axis 1 is out of range
GatherV2([[1, 2], [3, 4]], [[0], [1], [0]], 1, batch_dims = 1) : differ in batch dimension 0
GatherV2([[1, 2], [3, 4]], [[0], [1]], 0, batch_dims = 1)   : more than axis 0
GatherNd([[1, 2], [3, 4]], [[1, 0], [0, 1]])                = [3, 2]
GatherNd([[1, 2], [3, 4]], [[1]])                           = [[3, 4]]
GatherNd([1, 2], [1])                                       = 2
GatherNd([[1, 2]], [[0, 2]])                                : indices[0,1] is 2, outside [0,2)
GatherNd([1, 2], [[0, 0]])                                  : the last dimension of indices is 2, more than the rank of params [2]
GatherNd([1, 2], [[2], [1]], bad_indices_policy = "IGNORE") = [0, 2]
GatherNd([[], []], [[1]])                                      : params [2,0] have no elements
GatherNd(1, [[]])                                              : params are a scalar, expected at least a vector
Gather([[], []], [1])                                       = [[]]
GatherV2(5, [0], 0)                                         : axis 0 is out of range for rank 0
